"""Health as the text that Prometheus and its kin read.

Source: the OpenMetrics specification, 1.0.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from lakebed._pyarrow import pa

if TYPE_CHECKING:
    from collections.abc import Iterator

_PER_SECOND = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}
_LABELS = ("location", "format")
# Labels that identify the table and its version, and measure nothing.
_NO_MEASURES = frozenset({*_LABELS, "format_version", "snapshot_id", "schema_id"})


def lines(rows: pa.Table) -> Iterator[str]:
    """A gauge for each number and time of `health`, with a sample for each table that has it.

    Names are `lakebed_table_` and the column; times are seconds since 1970, `…_timestamp_seconds`.
    """
    times = [(i, field) for i, field in enumerate(rows.schema) if pa.types.is_timestamp(field.type)]
    for i, field in times:
        # Python's calendar ends with the year 9999.
        rows = rows.set_column(i, field.name, rows[i].cast(pa.int64()))
    kinds = {field.name: field.type for _, field in times}
    tables = rows.to_pylist()
    for field in rows.schema:
        if field.name in _NO_MEASURES:
            continue
        is_time = field.name in kinds
        name = f"lakebed_table_{field.name}{'_timestamp_seconds' if is_time else ''}"
        yield f"# TYPE {name} gauge"
        if unit := "seconds" if is_time else "bytes" if name.endswith("_bytes") else "":
            yield f"# UNIT {name} {unit}"
        for table in tables:
            value: float | None = table[field.name]
            if value is not None:
                number = value / _PER_SECOND[kinds[field.name].unit] if is_time else value
                yield f"{name}{{{_labels(table)}}} {number}"
    yield "# EOF"


def _labels(table: dict[str, str]) -> str:
    return ",".join(f'{label}="{_escaped(table[label])}"' for label in _LABELS if label in table)


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace("\n", "\\n").replace('"', '\\"')
