"""Reports of tables: one HTML page that needs nothing from elsewhere."""

from __future__ import annotations

import os
from datetime import datetime, timezone
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from lakebed import _native
from lakebed._arguments import positive
from lakebed._threads import in_order
from lakebed.advice import SMALL_BYTES
from lakebed.opening import open_table
from lakebed.storage.paths import URI
from lakebed.storage.secrets import error_text
from lakebed.table import Table

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from lakebed.reporting.numbers import Numbers, ReportOptions, UnreadableTable

# Remote tables that are read side by side, of which most wait for answers.
_REMOTE_TABLES = 8


class Source(NamedTuple):
    """A table that a report is asked for.

    Attributes: path, what it is opened by; open, gives it; opened, the table as commands have it, with the
        options that open it; storage, what it is read through, whose secrets no error may show.
    """

    path: str
    open: Callable[[], Table]
    opened: str | None = None
    storage: object | None = None


def report(
    tables: Table | str | os.PathLike[str] | Sequence[Table | str | os.PathLike[str]],
    output: str | os.PathLike[str] | None = None,
    *,
    small_bytes: int = SMALL_BYTES,
    totals: bool | None = None,
    orphans: bool = False,
    threads: int | None = None,
    now: datetime | None = None,
) -> str:
    """A page about one table or several: how each grew and how it is, its problems and what to do
    about it.

    The page is one HTML file without scripts, which loads nothing: storage by kind, growth, sizes of data
    files against the table's target, partitions by bytes and files, small files, deletes, how many manifests
    a query of one partition reads, now and after `rewrite_manifests`, and who wrote the snapshots. It is
    light or dark as its reader's system is, and is read on a phone, on paper and by a screen reader as well.

    Args:
        tables: tables, or what `open_table` opens them by. Before several there is a list of
            all: those that cannot be read, each with its error, then those with most findings.
        output: a local file to write the page to, which is replaced; None for none.
        small_bytes: data files with fewer bytes are small. The numbers of small files
            of single partitions are those of `Table.partitions`.
        totals: whether to sum up all files by kind, which reads the manifests of all snapshots; None:
            where those have 64 MiB at most.
        orphans: look also for files that nothing reaches, last modified more than three days ago, which
            lists folders. Where they cannot be told, the page says why.
        threads: of each table; None for all cores where it is one table, one for each of several, which
            are read side by side.
        now: when the page says that it was made; None for now. A datetime without zone is local time.
    Returns: the page. For the same tables and the same `now` it is the same text.
    Raises: for one table that is not in a list what `open_table` and the views raise; of several only the
        TypeError of what is no table and no path. OSError where the page cannot be written.
    Cost: for each table that of `health`, `growth`, `snapshots`, `files`, `partitions` and `totals`; local
        tables one a core at once, others eight.

    >>> lakebed.report(lakebed.open_table("warehouse/db.db/orders"), "report.html")
    >>> lakebed.report(["warehouse/db.db/orders", "s3://lake/db.db/clicks"], "report.html")
    """
    from lakebed.reporting.numbers import ReportOptions

    asked = ReportOptions(positive("small_bytes", small_bytes, least=0) or 0, totals, orphans)
    if isinstance(tables, Table | str | os.PathLike):
        found = collect([_source(tables)], asked, threads, raises=True)
    else:
        found = collect([_source(one) for one in tables], asked, threads)
    return written(found, output, now)


def collect(
    sources: Sequence[Source], asked: ReportOptions, threads: int | None = None, *, raises: bool = False
) -> list[Numbers | UnreadableTable]:
    """The numbers of each table, in their order; what is wrong with one is in its place.

    Args: raises, whether that is raised instead.
    """
    if len(sources) == 1:
        return [read(sources[0], asked, threads, raises=raises)]
    at_once = _REMOTE_TABLES if any(URI.match(one.path) for one in sources) else os.cpu_count() or 1
    answers = in_order(sources, partial(read, asked=asked, threads=threads or 1), at_once)
    return [answer for _, answer in answers]


def read(
    source: Source, asked: ReportOptions, threads: int | None, *, raises: bool = False
) -> Numbers | UnreadableTable:
    """The numbers of a table, or what is wrong with it. Args: raises, as of `collect`."""
    from lakebed.reporting.numbers import UnreadableTable, gather

    try:
        return gather(source.open(), asked, threads, source.opened)
    except Exception as error:
        if raises:
            raise
        return UnreadableTable(
            _native.without_credentials(source.path), error_text(error, source.path, source.storage)
        )


def _source(given: Table | str | os.PathLike[str]) -> Source:
    """Raises: TypeError for what is neither a table nor a path."""
    if isinstance(given, Table):
        return Source(given.location, lambda: given, storage=given.opening.storage)
    path = os.fspath(given)
    return Source(path, lambda: open_table(path))


def written(
    found: Sequence[Numbers | UnreadableTable],
    output: str | os.PathLike[str] | None,
    now: datetime | None = None,
) -> str:
    """A page, which is written to a file where one is given."""
    from lakebed.reporting.page import page

    made = datetime.now(timezone.utc) if now is None else now.astimezone(timezone.utc)
    text = page(found, made)
    if output is not None:
        Path(output).write_text(text, "utf-8")
    return text
