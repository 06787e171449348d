"""`lakebed report`: a page about tables."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

import lakebed
from lakebed.cli import options, render

if TYPE_CHECKING:
    from collections.abc import Sequence

    from lakebed.fleet import NamedTable


@click.command("report")
@options.tables
@options.small_bytes
@click.option(
    "-o",
    "--output",
    type=click.Path(dir_okay=False),
    required=True,
    metavar="FILE",
    help="The HTML file, which is replaced.",
)
def command(tables: Sequence[NamedTable], small_bytes: int, output: str, **_others: Any) -> None:
    """One HTML page about tables: growth, files, partitions, deletes, problems and what to do about them.

    The page is self-contained: it loads nothing and runs no scripts. Pictures are drawn by matplotlib:
    pip install 'lakebed[report]'.
    """
    with render.progress("reading"):
        lakebed.report([table.open() for table in tables], output, small_bytes=small_bytes)
