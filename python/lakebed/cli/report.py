"""`lakebed report`: a page about tables."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import click

import lakebed
from lakebed.cli import options, render

if TYPE_CHECKING:
    from lakebed.table import Table


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
def command(open_tables: list[tuple[str, Callable[[], Table]]], small_bytes: int, output: str) -> None:
    """One HTML page about tables: growth, files, partitions, deletes, problems and what to do about them.

    The page is self-contained: it loads nothing and runs no scripts. Pictures are drawn by matplotlib:
    pip install 'lakebed[report]'.
    """
    with render.progress("reading"):
        lakebed.report([open_table() for _, open_table in open_tables], output, small_bytes=small_bytes)
