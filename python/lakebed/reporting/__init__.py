"""Reports of tables: one HTML page that needs nothing from elsewhere."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from lakebed._arguments import positive
from lakebed.advice import SMALL_BYTES
from lakebed.table import Table

if TYPE_CHECKING:
    import os
    from collections.abc import Sequence


def report(
    tables: Table | Sequence[Table],
    output: str | os.PathLike[str] | None = None,
    *,
    small_bytes: int = SMALL_BYTES,
    threads: int | None = None,
) -> str:
    """A page about one table or several: how each grew and how it is, its problems and what to do
    about it.

    The page is one HTML file without scripts, which loads nothing: growth, sizes of data files, partitions
    by bytes and files, small files, deletes, snapshots on a time line, and how many manifests a plan of one
    partition reads, now and after `rewrite_manifests`. It is light or dark as its reader's system is, and is
    read on a phone as well.

    Args:
        tables: where they are; several follow a list of all, those with most findings first.
        output: a local file to write the page to, which is replaced; None for none.
        small_bytes: data files with fewer bytes are small. The numbers of small files
            of single partitions are those of `Table.partitions`.
        threads: None for all cores.
    Returns: the page. For the same tables it is the same text.
    Raises: ImportError without matplotlib (`pip install 'lakebed[report]'`); as the views; OSError.
    Cost: for each table that of `health`, `growth`, `snapshots`, `files` and `partitions`, one after another.

    >>> lakebed.report(lakebed.open_table("warehouse/db.db/orders"), "report.html")
    """
    from lakebed.reporting.numbers import gather
    from lakebed.reporting.page import page

    small = positive("small_bytes", small_bytes, least=0) or 0
    found = [tables] if isinstance(tables, Table) else list(tables)
    numbers = [gather(table, table.location, small, threads) for table in found]
    return written(page(numbers, small), output)


def written(text: str, output: str | os.PathLike[str] | None) -> str:
    """A page, which is written to a file where one is given."""
    if output is not None:
        Path(output).write_text(text, "utf-8")
    return text
