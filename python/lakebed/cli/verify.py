"""`lakebed verify`: what is wrong with a table, for people and for cron."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import click

from lakebed._display import FIRST
from lakebed.cli import options

if TYPE_CHECKING:
    from lakebed.table import Table


@click.command("verify")
@options.table
@click.option("--data-files", is_flag=True, help="Look for the data files too: one request for each.")
@options.where
@options.columns
@options.limit
@options.output
def command(
    open_table: Callable[[], Table],
    data_files: bool,
    where: str | None,
    columns: list[str] | None,
    limit: int | None,
    output: str,
    output_file: str | None,
) -> None:
    """What is wrong with a table, a row for each finding; no rows if nothing is.

    Exits with 0 where nothing is wrong or all findings are warnings, and with 1 where one is an error, or the
    table cannot be opened.
    """
    from lakebed.cli import render
    from lakebed.cli.output import write
    from lakebed.cli.rows import Read

    table = open_table()
    # Of columns that are not there nothing is read.
    table.verify(columns=columns)
    with render.progress("reading"):
        found = table.verify(data_files=data_files, where=where, limit=limit).to_arrow()
    rows = found if columns is None else found.select(columns)
    first = () if columns else FIRST["findings"]
    write(Read(rows), output, output_file, all_rows=True, first=first, view="verify")
    if "error" in found["severity"].to_pylist():
        raise click.exceptions.Exit(1)
