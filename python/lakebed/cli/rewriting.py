"""`lakebed rewrite-paths`: a table's metadata for another place."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import click

import lakebed
from lakebed._display import FIRST
from lakebed.cli import options
from lakebed.cli.output import write

if TYPE_CHECKING:
    from lakebed.cli.rows import Order
    from lakebed.table import Table


@click.command("rewrite-paths")
@options.table
@click.option(
    "--prefix",
    "prefixes",
    multiple=True,
    required=True,
    callback=options.prefixes,
    metavar="OLD=NEW",
    help="Paths in the metadata that begin with OLD begin with NEW. May be repeated.",
)
@click.option("--to", required=True, metavar="FOLDER", help="Where the metadata is written: a folder or URI.")
@click.option(
    "--since",
    metavar="N|FILE",
    help="Only what is newer than snapshot N, or than a metadata file of Iceberg's log.",
)
@options.filter
@options.no_where
@options.columns
@options.order
@options.output
def command(
    open_table: Callable[[], Table],
    prefixes: dict[str, str],
    to: str,
    since: str | None,
    order: Order,
    output: str,
    output_file: str | None,
    **selection: Any,
) -> None:
    """Write the metadata anew for another place, and list the files to copy.

    One row per file: where it is and where it is to be. Data files stay where they are until you copy them.
    """
    state = int(since) if since is not None and since.isdecimal() else since
    files = lakebed.rewrite_paths(
        open_table(), prefixes, to=to, since=state, limit=order.view_limit, **selection
    )
    first = () if selection["columns"] else (*order.columns, *FIRST["rewrite_paths"])
    rows = order.read(files) if order.sort else files
    write(rows, output, output_file, all_rows=order.limit is not None, first=first)
