"""Which rows of a scan are printed, and in which order."""

from __future__ import annotations

import re
from dataclasses import dataclass
from itertools import chain
from typing import TYPE_CHECKING, TypeAlias

import click

from lakebed import _native
from lakebed._pyarrow import pa, pc
from lakebed._specs import SPEC
from lakebed._values import to_json_values, to_text

if TYPE_CHECKING:
    from collections.abc import Sequence

    from lakebed._specs import Specs
    from lakebed.scan import Scan


@dataclass(frozen=True)
class Read:
    """Rows that were read."""

    rows: pa.Table

    def to_arrow(self) -> pa.Table:
        """All of them."""
        return self.rows

    def to_arrow_batch_reader(self) -> pa.RecordBatchReader:
        """All of them, batch by batch."""
        return self.rows.to_reader()

    def head(self, count: int, /) -> pa.Table:
        """The first ones."""
        return self.rows.slice(0, count)

    def select(self, columns: list[str]) -> Read:
        """Some of their columns."""
        return Read(self.rows.select(columns))


@dataclass(frozen=True)
class ShownRows:
    """Rows whose partitions have the fields of their specs alone, for what people and JSON get.

    Attributes: rows; specs, of their table; hides_spec, whether the rows have their specs only for this.
    """

    rows: Scan | Read
    specs: Specs
    hides_spec: bool = False

    def to_arrow(self) -> pa.Table:
        """All of them."""
        return self._shown(self.rows.to_arrow())

    def to_arrow_batch_reader(self) -> pa.RecordBatchReader:
        """All of them, batch by batch."""
        reader = self.rows.to_arrow_batch_reader()
        schema = self._shown(reader.schema.empty_table()).schema
        batches = (self._shown(pa.Table.from_batches([batch])).to_batches() for batch in reader)
        return pa.RecordBatchReader.from_batches(schema, chain.from_iterable(batches))

    def head(self, count: int, /) -> pa.Table:
        """The first ones."""
        return self._shown(self.rows.head(count))

    def _shown(self, rows: pa.Table) -> pa.Table:
        rows = self.specs.shown(rows)
        return rows.drop_columns([SPEC]) if self.hides_spec else rows


Rows: TypeAlias = "Scan | Read | ShownRows"
"""What is written."""


@dataclass(frozen=True)
class Order:
    """The order in which rows are printed, and how many.

    Attributes: sort, columns, with a minus before those whose largest value is first; limit, the most
        rows.
    """

    sort: Sequence[str] = ()
    limit: int | None = None

    @property
    def view_limit(self) -> int | None:
        """How many rows the view need give: what is sorted must be there as a whole."""
        return None if self.sort else self.limit

    @property
    def columns(self) -> list[str]:
        """The columns to sort by, which a terminal shows first."""
        return [name.removeprefix("-") for name in self.sort]

    def needed(self, columns: list[str] | None, *more: str) -> list[str] | None:
        """The columns that are read where some are printed: those, and others that rows are sorted by."""
        if columns is None:
            return None
        return list(dict.fromkeys((*columns, *self.columns, *more)))

    def read(self, scan: Scan) -> Read:
        """The rows of a scan in this order.

        Raises: click.UsageError for a column to sort by that the rows do not have.
        Cost: that of reading all.
        """
        _check(self.sort, scan.schema.names)
        rows = scan.to_arrow()
        if self.sort:
            rows = _sorted(rows, self.sort)
            rows = rows if self.limit is None else rows.slice(0, self.limit)
        return Read(rows)


def matching(rows: pa.Table, filter: str) -> pa.Table:
    """The rows that meet a condition on their columns. Raises: SchemaError, PredicateError."""
    condition = _native.Filter(rows.schema, filter)
    kept = [pa.record_batch(condition.matching(batch)) for batch in rows.to_batches()]
    return pa.Table.from_batches(kept, rows.schema)


def is_named(name: str, text: str) -> bool:
    """Whether a condition names a column."""
    return re.search(rf"\b{re.escape(name)}\b", text) is not None


def _check(sort: Sequence[str], known: Sequence[str]) -> None:
    from difflib import get_close_matches

    for name in sort:
        name = name.removeprefix("-")
        if name not in known:
            near = get_close_matches(name, known, 1)
            meant = f" (did you mean {near[0]!r}?)" if near else ""
            raise click.UsageError(f"--sort: no column {name!r}{meant}; there are {', '.join(known)}")


def _sorted(rows: pa.Table, sort: Sequence[str]) -> pa.Table:
    keys = {}
    for number, name in enumerate(sort):
        column = rows[name.removeprefix("-")]
        if pa.types.is_nested(column.type):
            texts = map(to_text, to_json_values(column.combine_chunks()))
            column = pa.array(texts, pa.string())
        keys[str(number)] = column
    orders = ["descending" if name.startswith("-") else "ascending" for name in sort]
    order = pc.sort_indices(pa.table(keys), sort_keys=list(zip(keys, orders, strict=True)))
    return rows.take(order)
