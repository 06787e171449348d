"""The numbers of a report: what a table's views say, gathered once."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, replace
from math import fsum
from typing import TYPE_CHECKING, Any, NamedTuple

from lakebed import _display
from lakebed._overview import total
from lakebed._pyarrow import pa, pc
from lakebed._values import to_json_values, to_records
from lakebed.advice import SMALL_BYTES, Finding, TableName, Thresholds, findings
from lakebed.advice.calls import ENGINES
from lakebed.advice.thresholds import size_of
from lakebed.errors import LakebedError
from lakebed.storage.secrets import error_text

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from lakebed.table import Table

# Bounds of file sizes [bytes]: each class ends at its own, the last one has none.
SIZES = tuple(2**power for power in range(16, 34))
MOST_MANIFEST_BYTES = 64 << 20
"""Bytes of manifests, of all snapshots together, up to which they are read where nobody asks for totals."""
MOST_BOUNDS = 1_000_000
"""Bounds of columns in data files up to which it is found out which files overlap."""

_CONTENT_DATA = 0


@dataclass(frozen=True)
class ReportOptions:
    """What a report is asked for.

    Attributes: small_bytes, totals, orphans and engine, of `lakebed.report`; limits, which says a table's
        thresholds, None for those of the table with these small_bytes.
    """

    small_bytes: int = SMALL_BYTES
    totals: bool | None = None
    orphans: bool = False
    engine: str = ENGINES[0]
    limits: Callable[[Table], Thresholds] | None = None

    def limits_of(self, table: Table) -> Thresholds:
        """The thresholds of a table."""
        if self.limits is not None:
            return self.limits(table)
        given = {"small_bytes": self.small_bytes}
        return Thresholds.of(table.format, table.properties, ("small_bytes", given))


@dataclass(frozen=True)
class Storage:
    """The files of a table by kind.

    Attributes: kinds, rows of `totals`, None where they were left out; note, what is to be said of them;
        has_orphans, whether orphans were looked for.
    """

    kinds: list[dict[str, Any]] | None
    note: str = ""
    has_orphans: bool = False


@dataclass(frozen=True)
class Target:
    """The size of data files that writers are told to write.

    Attributes: size [bytes], None where the table's option is no size; words, where it is from.
    """

    size: int | None
    words: str


class Overlap(NamedTuple):
    """How many data files of a partition a value of a column meets, over all partitions.

    Attributes: average, and sorted_, that if the files of each partition were sorted by the column; most.
    """

    column: str
    average: float
    sorted_: float
    most: int


class Writer(NamedTuple):
    """Who wrote a snapshot; None for what it does not say. Attributes: engine, with its version."""

    engine: str | None
    application: str | None
    user: str | None

    @staticmethod
    def of(row: dict[str, Any]) -> Writer:
        """Of a row of `snapshots`."""
        engine = " ".join(filter(None, (row["engine"], row["engine_version"])))
        return Writer(engine or None, row["application"], row["user"])


@dataclass(frozen=True)
class Commit:
    """A snapshot. Attributes: committed_at, as JSON has it."""

    snapshot_id: int
    committed_at: str | None
    operation: str | None
    writer: Writer


@dataclass(frozen=True)
class Numbers:
    """What a report shows of a table.

    Attributes: name, what it is called, and the catalog that calls it so; location; health, the row of that
        view; small_bytes, below which data files are small; findings, the problems; engine, whose calls are
        shown; growth, rows of that view as JSON values, and snapshots, both the oldest first; sizes, how
        many data files each class of `SIZES` has, and how many are larger; target, of their sizes;
        partitions, rows of that view, the largest first, with `label`, the partition in words; overlaps, of
        columns in data files, what sorting would change most first, None where they were left out; storage,
        its files by kind.
    """

    name: str
    catalog: str | None
    location: str
    health: dict[str, Any]
    small_bytes: int
    findings: list[Finding]
    engine: str
    growth: list[dict[str, Any]]
    snapshots: list[Commit]
    sizes: list[int]
    target: Target
    partitions: list[dict[str, Any]]
    overlaps: list[Overlap] | None
    storage: Storage


@dataclass(frozen=True)
class UnreadableTable:
    """A table that cannot be read. Attributes: name; error, its kind and its text, without secrets."""

    name: str
    error: str


def gather(
    table: Table, asked: ReportOptions, threads: int | None = None, opened: str | None = None
) -> Numbers:
    """The numbers of a table at its snapshot.

    Args: opened, the table as commands have it, with the options that open it; None for its location.
    Raises: as its views. Cost: that of each view once.
    """
    limits = asked.limits_of(table)
    row = table.health(small_bytes=limits.small_bytes, threads=threads).to_arrow()
    health = {name: _value(row[name]) for name in row.schema.names}
    growth = ("snapshot_id", "committed_at", "file_count", "file_size_in_bytes", "delete_file_count")
    called = TableName.of(table, opened)
    return Numbers(
        name=str(called),
        catalog=called.catalog,
        location=table.location,
        health=health,
        small_bytes=limits.small_bytes,
        findings=findings(health, limits, called),
        engine=asked.engine,
        growth=to_records(table.growth(columns=growth, threads=threads).to_arrow()),
        snapshots=_snapshots(table),
        sizes=_sizes(table, threads),
        target=_target(table),
        partitions=_partitions(table, threads),
        overlaps=_overlaps(table, health["file_count"], threads),
        storage=_storage(table, asked, threads),
    )


def _value(column: pa.ChunkedArray) -> Any:
    """The one value of a column; a time that Python's calendar lacks is the text that JSON has."""
    try:
        return column[0].as_py()
    except (OverflowError, ValueError):
        return to_json_values(column.combine_chunks())[0]


def _snapshots(table: Table) -> list[Commit]:
    columns = ["snapshot_id", "committed_at", "operation", "engine", "engine_version", "application", "user"]
    rows = to_records(table.snapshots(columns=columns).to_arrow())
    return [Commit(row["snapshot_id"], row["committed_at"], row["operation"], Writer.of(row)) for row in rows]


def _sizes(table: Table, threads: int | None) -> list[int]:
    """Data files by the class of their size."""
    counts = [0] * (len(SIZES) + 1)
    columns = ("content", "file_size_in_bytes")
    for batch in table.files(columns=columns, threads=threads).to_arrow_batch_reader():
        is_data = pc.equal(batch["content"], pa.scalar(_CONTENT_DATA, pa.int32()))
        sizes = batch["file_size_in_bytes"].filter(is_data)
        below = [pc.sum(pc.less(sizes, bound)).as_py() or 0 for bound in SIZES]
        for number, (lower, upper) in enumerate(zip([0, *below], [*below, len(sizes)], strict=True)):
            counts[number] += upper - lower
    return counts


def _target(table: Table) -> Target:
    """Source: Iceberg's `TableProperties.java`; Paimon's `CoreOptions.java`."""
    if table.format == "iceberg":
        option, default = "write.target-file-size-bytes", 512 << 20
    else:
        has_keys = len(pa.schema(table.core.key_schema)) > 0
        option, default = "target-file-size", (128 if has_keys else 256) << 20
    text = table.properties.get(option)
    if text is None:
        return Target(default, f"the default of {option}")
    size = size_of(text) if table.format == "paimon" or text.isdecimal() else None
    return Target(size, option if size is not None else f"none, for {option} is no size")


def _partitions(table: Table, threads: int | None) -> list[dict[str, Any]]:
    columns = ("partition", "spec_id", "file_count", "record_count", "file_size_in_bytes", "small_file_count")
    partitions = table.partitions(columns=columns, threads=threads)
    rows: pa.Table = partitions.specs.shown(partitions.to_arrow())
    labels = [cells[0] for cells in _display.cells(rows.select(["partition"]), "partitions")]
    found = [{**row, "label": label or "all"} for row, label in zip(to_records(rows), labels, strict=True)]
    return sorted(found, key=lambda row: (-(row["file_size_in_bytes"] or 0), row["label"]))


def _overlaps(table: Table, files: int, threads: int | None) -> list[Overlap] | None:
    if files * len(pa.schema(table.schema)) > MOST_BOUNDS:
        return None
    rows = table.overlap(filter="average_depth IS NOT NULL", threads=threads).to_arrow()
    found = defaultdict[str, list[dict[str, Any]]](list)
    for row in to_records(rows):
        found[row["column"]].append(row)

    def average(rows: Sequence[dict[str, Any]], name: str) -> float:
        files = sum(row["file_count"] for row in rows)
        return fsum(row[name] * row["file_count"] / files for row in rows)

    overlaps = [
        Overlap(
            column,
            average(own, "average_depth"),
            average(own, "sorted_depth"),
            max(row["max_depth"] for row in own),
        )
        for column, own in found.items()
    ]
    return sorted(overlaps, key=lambda one: one.sorted_ - one.average)


def _storage(table: Table, asked: ReportOptions, threads: int | None) -> Storage:
    """What `totals` says, where that is asked for or cheap.

    Raises: as `totals` without orphans; what is wrong with the folders is a note.
    """
    if asked.totals is False and not asked.orphans:
        return Storage(None, "Left out, as was asked for.")
    if asked.totals is None and not asked.orphans:
        manifests = table.reachable(
            columns=["file_size_in_bytes"], filter="kind = 'manifest'", threads=threads
        )
        size = total(manifests.to_arrow(), "file_size_in_bytes")
        if size > MOST_MANIFEST_BYTES:
            manifests_of = f"the manifests of all snapshots have {_display.size(size)}"
            return Storage(None, f"Left out, for {manifests_of}: `totals=True` or `--totals` reads them.")
    if asked.orphans:
        try:
            return Storage(to_records(table.totals(orphans=True, threads=threads).to_arrow()), "", True)
        except (LakebedError, OSError) as error:
            found = _storage(table, replace(asked, totals=True, orphans=False), threads)
            return replace(found, note=f"Orphans are not known: {error_text(error, table.location)}.")
    return Storage(to_records(table.totals(threads=threads).to_arrow()))
