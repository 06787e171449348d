"""`lakebed find`: which tables there are."""

from __future__ import annotations

from typing import Any

import click

import lakebed
from lakebed.cli import options
from lakebed.cli.output import write

_FIRST = ("name", "format", "location")


@click.command("find")
@click.argument("prefix")
@options.filter
@options.no_where
@options.columns
@options.limit
@options.output
def command(prefix: str, output: str, output_file: str | None, **selection: Any) -> None:
    """The tables of both formats at PREFIX, a folder or URI, and below it.

    One row per table: location, format and name. Folders are listed, no table is opened.
    """
    first = () if selection["columns"] else _FIRST
    write(lakebed.find_tables(prefix, **selection), output, output_file, all_rows=True, first=first)
