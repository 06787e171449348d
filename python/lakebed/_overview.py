"""What a table is, in a few lines, at a bounded cost."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from lakebed import _display as display
from lakebed._pyarrow import pa, pc
from lakebed._text import printable
from lakebed.errors import LakebedError

if TYPE_CHECKING:
    from lakebed.table import Table

_MOST_MANIFESTS, _MOST_BYTES = 64, 16 * 2**20
_SUMS = ("file_count", "record_count", "file_size_in_bytes", "delete_file_count")


def lines(table: Table) -> list[tuple[str, str]]:
    """Names and values: location, partitions, columns, manifests, live files and deletes. What cannot be read
    is said in place of its value, since what prints itself must not raise.

    Cost: reads the manifest lists, and the manifests where those are at most 64 and have 16 MiB together.
    """
    rows = [("location", table.location)]
    if table.format_version is not None:
        rows.append(("format version", str(table.format_version)))
    try:
        rows += _content(table)
    except (LakebedError, OSError) as error:
        rows.append(("not read", printable(f"{type(error).__name__}: {' '.join(str(error).split())}")))
    return rows


def _content(table: Table) -> list[tuple[str, str]]:
    kind = table.partitions(columns=["partition"]).schema.field("partition").type
    partitioned = ", ".join(field.name for field in kind)
    manifests = table.manifests(columns=["length"]).to_arrow()
    size, many = total(manifests, "length"), manifests.num_rows
    rows = [("partitioned by", partitioned)] if partitioned else []
    rows += [
        ("columns", display.count(len(table.schema), "column")),
        ("manifests", f"{many:,} ({display.size(size)})"),
    ]
    if many > _MOST_MANIFESTS or size > _MOST_BYTES:
        return [*rows, ("live files", "not counted, for so many manifests: partitions() and health() do")]
    sums = table.partitions(columns=_SUMS).to_arrow()
    files, records, size, deletes = (total(sums, name) for name in _SUMS)
    amount = f"{display.size(size)}, {display.count(records, 'row')}"
    rows.append(("live files", f"{files:,} ({amount}) in {display.count(sums.num_rows, 'partition')}"))
    return [*rows, ("deletes", f"{deletes:,}")] if deletes else rows


def total(table: pa.Table, column: str) -> int:
    """The sum of a column; 0 where there are no rows."""
    summed: Any = pc.sum(table[column]).as_py()
    return summed or 0
