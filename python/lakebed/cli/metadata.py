"""`lakebed metadata`: the engine's own metadata tables."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import click

from lakebed.cli import options

if TYPE_CHECKING:
    from lakebed.table import Table


@click.command("metadata")
@options.table
@click.argument("name", required=False)
@options.where
@options.columns
@options.limit
@options.output
def command(
    open_table: Callable[[], Table],
    name: str | None,
    limit: int | None,
    output: str,
    output_file: str | None,
    **selection: Any,
) -> None:
    """One of the engine's own metadata tables, as the engine gives it.

    NAME is "files" for what the engine calls TABLE$files; without NAME, the names there are.
    """
    from lakebed.cli.output import write

    table = open_table()
    if name is None:
        click.echo("\n".join(table.metadata_tables))
        return
    scan = table.metadata_table(name.removeprefix("$"), limit=limit, **selection)
    write(scan, output, output_file, all_rows=limit is not None)
