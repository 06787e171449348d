"""The numbers of a report: what a table's views say, gathered once."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from lakebed import _display
from lakebed._pyarrow import pa, pc
from lakebed._values import to_json_values, to_records
from lakebed.advice import Finding, TableName, Thresholds, findings

if TYPE_CHECKING:
    from lakebed.table import Table

# Bounds of file sizes [bytes]: each class ends at its own, the last one has none.
SIZES = tuple(2**power for power in range(16, 34))
_CONTENT_DATA = 0


@dataclass(frozen=True)
class Numbers:
    """What a report shows of a table.

    Attributes: name, what it is called; health, the row of that view; findings, its problems; growth and
        snapshots, rows of those views as JSON values, the oldest first; sizes, how many data files each class
        of `SIZES` has, and how many are larger; partitions, rows of that view, the largest first, with
        `label`, the partition in words.
    """

    name: str
    health: dict[str, Any]
    findings: list[Finding]
    growth: list[dict[str, Any]]
    snapshots: list[dict[str, Any]]
    sizes: list[int]
    partitions: list[dict[str, Any]]


def gather(table: Table, name: str, small_bytes: int, threads: int | None) -> Numbers:
    """The numbers of a table at its snapshot. Raises: as its views. Cost: that of each view once."""
    row = table.health(small_bytes=small_bytes, threads=threads).to_arrow()
    limits = Thresholds.of(table.format, table.properties, ("small_bytes", {"small_bytes": small_bytes}))
    health = {name: _value(row[name]) for name in row.schema.names}
    growth = ("snapshot_id", "committed_at", "file_count", "record_count", "file_size_in_bytes")
    snapshots = ("snapshot_id", "committed_at", "operation")
    return Numbers(
        name=name,
        health=health,
        findings=findings(health, limits, TableName.of(table)),
        growth=to_records(table.growth(columns=growth, threads=threads).to_arrow()),
        snapshots=to_records(table.snapshots(columns=snapshots).to_arrow()),
        sizes=_sizes(table, threads),
        partitions=_partitions(table, threads),
    )


def _value(column: pa.ChunkedArray) -> Any:
    """The one value of a column; a time that Python's calendar lacks is the text that JSON has."""
    try:
        return column[0].as_py()
    except (OverflowError, ValueError):
        return to_json_values(column.combine_chunks())[0]


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


def _partitions(table: Table, threads: int | None) -> list[dict[str, Any]]:
    columns = ("partition", "file_count", "record_count", "file_size_in_bytes", "small_file_count")
    rows: pa.Table = table.partitions(columns=columns, threads=threads).to_arrow()
    labels = [cells[0] for cells in _display.cells(rows.select(["partition"]), "partitions")]
    found = [{**row, "label": label or "all"} for row, label in zip(to_records(rows), labels, strict=True)]
    return sorted(found, key=lambda row: (-(row["file_size_in_bytes"] or 0), row["label"]))
