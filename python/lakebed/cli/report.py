"""`lakebed report`: a page about tables."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import TYPE_CHECKING

import click

from lakebed.cli import options, render
from lakebed.cli.failures import Failure
from lakebed.reporting import Source, collect, written
from lakebed.reporting.numbers import ReportOptions, UnreadableTable

if TYPE_CHECKING:
    from lakebed.table import Table


@click.command("report")
@options.tables
@options.small_bytes
@click.option(
    "--totals",
    is_flag=True,
    help="Sum up all files by kind, however many manifests that reads; without it where they have 64 MiB at "
    "most.",
)
@click.option(
    "--orphans", is_flag=True, help="Look also for files that nothing reaches, which lists folders."
)
@click.option(
    "-o",
    "--output",
    type=click.Path(dir_okay=False),
    required=True,
    metavar="FILE",
    help="The HTML file, which is replaced.",
)
def command(
    open_tables: list[tuple[str, Callable[[], Table]]],
    small_bytes: int,
    totals: bool,
    orphans: bool,
    output: str,
) -> None:
    """One HTML page about tables: storage, growth, files, partitions, deletes, who wrote what, problems and
    what to do about them.

    The page is self-contained: it loads nothing and runs no scripts. Of several tables, one that cannot be
    read is a line of the page with its error, and the exit code is 1.
    """
    asked = ReportOptions(small_bytes, totals or None, orphans)
    sources = [Source(name, open_table, options.as_opened(name)) for name, open_table in open_tables]
    with render.progress("reading"):
        found = collect(sources, asked, raises=len(sources) == 1)
        written(found, asked, output)
    unread = [one for one in found if isinstance(one, UnreadableTable)]
    for one in unread:
        Failure(f"{one.name}: {one.error}").show()
    if unread:
        sys.exit(1)
