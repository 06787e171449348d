"""`lakebed report`: a page about tables."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import click

from lakebed.cli import options, render, thresholds
from lakebed.cli.failures import Failure
from lakebed.reporting import collect, written
from lakebed.reporting.numbers import ReportOptions, UnreadableTable

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from lakebed.advice import Thresholds
    from lakebed.fleet import NamedTable
    from lakebed.table import Table


@click.command("report")
@options.tables
@thresholds.thresholds
@options.engine
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
    tables: Sequence[NamedTable],
    is_fleet: bool,
    limits_of: Callable[[Table], Thresholds],
    totals: bool,
    orphans: bool,
    engine: str,
    output: str,
) -> None:
    """One HTML page about tables: storage, growth, files, partitions, deletes, who wrote what, problems and
    what to do about them.

    TABLE may also be a folder of tables, with --catalog a namespace too, or nothing for all that the catalog
    has. The page is self-contained: it loads nothing and runs no scripts. Of several tables, one that cannot
    be read is a line of the page with its error, and the exit code is 1.
    """
    asked = ReportOptions(totals=totals or None, orphans=orphans, engine=engine, limits=limits_of)
    opened = {one.given: options.as_opened(one.given) for one in tables}
    with render.progress("reading"):
        found = collect(tables, asked, opened=opened, raises=not is_fleet)
        written(found, output)
    unread = [one for one in found if isinstance(one, UnreadableTable)]
    for one in unread:
        Failure(f"{one.name}: {one.error}").show()
    if unread:
        sys.exit(1)
