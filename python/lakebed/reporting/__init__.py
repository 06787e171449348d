"""Reports of tables: one HTML page that needs nothing from elsewhere."""

from __future__ import annotations

import os
from datetime import datetime, timezone
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING

from lakebed import _native
from lakebed._arguments import one_of, positive
from lakebed._native import ReadLimit
from lakebed.advice import SMALL_BYTES
from lakebed.advice.calls import ENGINES
from lakebed.fleet import READS, NamedTable, each
from lakebed.opening import open_table
from lakebed.storage.secrets import error_text
from lakebed.table import Table

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from lakebed.reporting.numbers import Numbers, ReportOptions, UnreadableTable


def report(
    tables: Table | str | os.PathLike[str] | Sequence[Table | str | os.PathLike[str]],
    output: str | os.PathLike[str] | None = None,
    *,
    small_bytes: int = SMALL_BYTES,
    totals: bool | None = None,
    orphans: bool = False,
    engine: str = ENGINES[0],
    threads: int | None = None,
    now: datetime | None = None,
) -> str:
    """A page about one table or several: how each grew and how it is, its problems and what to do
    about it.

    The page is one HTML file without scripts, which loads nothing: storage by kind, growth, sizes of data
    files against the table's target, partitions by bytes and files, small files, deletes, how many manifests
    a query of one partition reads, now and after `rewrite_manifests`, how many data files one of a column's
    values reads, now and if files were sorted by it, and who wrote the snapshots. It is
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
        engine: whose calls are shown, where it has some for a problem: "spark", "trino", "flink" or "python".
        threads: of each table; None for all cores where it is one table, one for each of several, which
            are read side by side.
        now: when the page says that it was made; None for now. A datetime without zone is local time.
    Returns: the page. For the same tables and the same `now` it is the same text.
    Raises: for one table that is not in a list what `open_table` and the views raise; of several only the
        TypeError of what is no table and no path. ValueError for another engine, OSError where the page
        cannot be written.
    Cost: for each table that of `health`, `growth`, `snapshots`, `files`, `partitions`, `totals` and, of up
        to a million bounds, `overlap`; local tables one a core at once, others 48, with 64 reads in flight
        at most.

    >>> lakebed.report(lakebed.open_table("warehouse/db.db/orders"), "report.html")
    >>> lakebed.report(["warehouse/db.db/orders", "s3://lake/db.db/clicks"], "report.html")
    """
    from lakebed.reporting.numbers import ReportOptions

    small = positive("small_bytes", small_bytes, least=0) or 0
    asked = ReportOptions(small, totals, orphans, one_of("engine", engine, ENGINES))
    reads = ReadLimit(READS)
    if isinstance(tables, Table | str | os.PathLike):
        found = collect([_named(tables, reads)], asked, threads, raises=True)
    else:
        found = collect([_named(one, reads) for one in tables], asked, threads)
    return written(found, output, now)


def collect(
    tables: Sequence[NamedTable],
    asked: ReportOptions,
    threads: int | None = None,
    *,
    opened: Mapping[str, str] = MappingProxyType({}),
    raises: bool = False,
) -> list[Numbers | UnreadableTable]:
    """The numbers of each table, in their order; what is wrong with one is in its place.

    Args: threads, of each; None for all cores where it is one table, else one; opened, each table as commands
        have it, with the options that open it, by what it is given as; raises, whether what is wrong with
        the first one is raised.
    """
    from lakebed.reporting.numbers import UnreadableTable, gather

    own = threads if len(tables) == 1 else threads or 1

    def numbers(named: NamedTable, table: Table) -> Numbers:
        return gather(table, asked, own, opened.get(named.given))

    found: list[Numbers | UnreadableTable] = []
    for named, answer in each(tables, numbers):
        if not isinstance(answer, Exception):
            found.append(answer)
        elif raises:
            raise answer
        else:
            name = _native.without_credentials(named.name)
            found.append(UnreadableTable(name, error_text(answer, named.given, named.storage)))
    return found


def _named(given: Table | str | os.PathLike[str], reads: ReadLimit) -> NamedTable:
    """Raises: TypeError for what is neither a table nor a path."""
    if isinstance(given, Table):
        return NamedTable.of_table(given)
    path = os.fspath(given)
    return NamedTable.of_path(path, lambda: open_table(path, concurrent_reads=reads))


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
