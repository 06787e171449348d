"""Health as the text that Prometheus and its kin read.

Source: the OpenMetrics specification, 1.0.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from lakebed._pyarrow import pa
from lakebed.advice.findings import KINDS

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Sequence

    from lakebed.advice import TableName

_PER_SECOND = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}
# Labels that identify the table and its version, and measure nothing.
_NO_MEASURES = frozenset({"location", "format", "format_version", "snapshot_id", "schema_id"})


@dataclass(frozen=True)
class Measured:
    """A table that was looked at.

    Attributes: name, of the table; given, its path as it was given, nothing for a table of a catalog; row, of
        `health`, None where it cannot be read; findings, the columns that show problems; error, of which kind
        the error was.
    """

    name: TableName
    given: str = ""
    row: pa.Table | None = None
    findings: Collection[str] = ()
    error: str | None = None

    @property
    def labels(self) -> dict[str, str]:
        """What the table is called, which is the same whether it can be read or not."""
        *namespace, table = self.name.parts
        names = {"catalog": self.name.catalog or "", "namespace": ".".join(namespace), "table": table}
        return {**names, "location": self.given}


def lines(tables: Sequence[Measured]) -> Iterator[str]:
    """Gauges, with a sample for each table that has it: `lakebed_up`, 0 for a table that cannot be read,
    `lakebed_error` with the error's kind, `lakebed_findings` for each kind of problem, and one for each
    number and time of `health`.

    The names of these are `lakebed_table_` and the column; times are seconds since 1970,
    `…_timestamp_seconds`.
    """
    up = [(table.labels, int(table.row is not None)) for table in tables]
    yield from _gauge("lakebed_up", "Whether the table can be read.", up)
    errors = [({**table.labels, "kind": table.error}, 1) for table in tables if table.error]
    yield from _gauge("lakebed_error", "Of which kind the error is of a table that cannot be read.", errors)
    found = [
        ({**table.labels, "kind": kind}, int(kind in table.findings))
        for table in tables
        for kind in KINDS
        if table.row is not None
    ]
    yield from _gauge("lakebed_findings", "Whether the table has the problem that this column shows.", found)
    yield from _measures([(table, table.row) for table in tables if table.row is not None])
    yield "# EOF"


def _measures(tables: list[tuple[Measured, pa.Table]]) -> Iterator[str]:
    """The gauges of the columns, which are those of all rows."""
    rows = [(table.labels, row, _numbers(row)) for table, row in tables]
    for field in rows[0][1].schema if rows else ():
        if field.name in _NO_MEASURES:
            continue
        is_time = pa.types.is_timestamp(field.type)
        name = f"lakebed_table_{field.name}{'_timestamp_seconds' if is_time else ''}"
        samples = []
        for labels, _, numbers in rows:
            value: float | None = numbers.get(field.name)
            if value is not None:
                number = value / _PER_SECOND[field.type.unit] if is_time else value
                own: dict[str, str] = {
                    label: numbers[label] for label in ("location", "format") if label in numbers
                }
                samples.append(({**labels, **own}, number))
        unit = "seconds" if is_time else "bytes" if name.endswith("_bytes") else ""
        yield from _gauge(name, f"The column {field.name} of lakebed health.", samples, unit)


def _numbers(row: pa.Table) -> dict[str, Any]:
    for i, field in enumerate(row.schema):
        if pa.types.is_timestamp(field.type):
            # Python's calendar ends with the year 9999.
            row = row.set_column(i, field.name, row[i].cast(pa.int64()))
    # A filter on the row may leave none.
    rows: list[dict[str, Any]] = row.to_pylist()
    return rows[0] if rows else {}


def _gauge(
    name: str, text: str, samples: Sequence[tuple[dict[str, Any], float]], unit: str = ""
) -> Iterator[str]:
    yield f"# HELP {name} {text}"
    yield f"# TYPE {name} gauge"
    if unit:
        yield f"# UNIT {name} {unit}"
    for labels, number in samples:
        # An empty label is one that is not there.
        shown = ",".join(f'{label}="{_escaped(value)}"' for label, value in labels.items() if value)
        yield f"{name}{{{shown}}} {number}"


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace("\n", "\\n").replace('"', '\\"')
