"""Which rows of a scan are printed, and in which order."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

import click

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    import pyarrow as pa

    from lakebed.scan import Scan


class Batches(Protocol):
    """Batches of one schema, one after the other."""

    @property
    def schema(self) -> pa.Schema:
        """That of all batches."""
        ...

    def __iter__(self) -> Iterator[pa.RecordBatch]: ...


class Rows(Protocol):
    """What is written: a `Scan`, or rows that were read."""

    def to_arrow(self) -> pa.Table:
        """All of them."""
        ...

    def to_arrow_batch_reader(self) -> pa.RecordBatchReader:
        """All of them, batch by batch."""
        ...

    def head(self, count: int, /) -> pa.Table:
        """The first ones."""
        ...


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


@dataclass(frozen=True)
class Picking:
    """Attributes: filter, a condition on the rows' own columns; sort, columns, with a minus before those
    whose largest value comes first; limit, the most rows.
    """

    filter: str | None = None
    sort: Sequence[str] = ()
    limit: int | None = None

    @property
    def view_limit(self) -> int | None:
        """How many rows the view need give: what is filtered or sorted must be there as a whole."""
        return None if self.filter or self.sort else self.limit

    def of(self, scan: Scan) -> Rows:
        """The rows of a scan.

        Raises: PredicateError; click.UsageError for a column to sort by that the rows do not have.
        Cost: none, or where rows are sorted, that of reading all.
        """
        picked = scan.filter(self.filter) if self.filter else scan
        if self.sort:
            _check(self.sort, scan.schema.names)
            rows = _sorted(picked.to_arrow(), self.sort)
            return Read(rows if self.limit is None else rows.slice(0, self.limit))
        return Read(picked.head(self.limit)) if self.filter and self.limit is not None else picked


def _check(sort: Sequence[str], known: Sequence[str]) -> None:
    from difflib import get_close_matches

    for name in sort:
        name = name.removeprefix("-")
        if name not in known:
            near = get_close_matches(name, known, 1)
            meant = f" (did you mean {near[0]!r}?)" if near else ""
            raise click.UsageError(f"--sort: no column {name!r}{meant}; there are {', '.join(known)}")


def _sorted(rows: pa.Table, sort: Sequence[str]) -> pa.Table:
    import pyarrow as pa
    import pyarrow.compute as pc

    from lakebed._values import to_json_values, to_text

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
