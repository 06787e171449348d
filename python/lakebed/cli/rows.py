"""Which rows of a scan are printed, and in which order."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

import click

from lakebed.errors import PredicateError, SchemaError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    import pyarrow as pa

    from lakebed.scan import Scan


AnyScan = TypeVar("AnyScan", bound="Scan")


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
class Selected:
    """Some columns of rows."""

    rows: Rows
    columns: list[str]

    def to_arrow(self) -> pa.Table:
        """All rows."""
        return self.rows.to_arrow().select(self.columns)

    def to_arrow_batch_reader(self) -> pa.RecordBatchReader:
        """All rows, batch by batch."""
        import pyarrow as pa

        reader = self.rows.to_arrow_batch_reader()
        schema = pa.schema([reader.schema.field(name) for name in self.columns])
        return pa.RecordBatchReader.from_batches(schema, (batch.select(self.columns) for batch in reader))

    def head(self, count: int, /) -> pa.Table:
        """The first rows."""
        return self.rows.head(count).select(self.columns)


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

    def scan(
        self, view: Callable[..., AnyScan], *places: Any, columns: list[str] | None, **selection: Any
    ) -> AnyScan:
        """A view with the columns that are printed and those that rows are filtered and sorted by.

        Raises: what the view raises.
        """
        if columns and (self.filter or self.sort):
            whole = view(*places, **selection)
            if self.filter:
                # A column that is not there is not among all of them.
                self._filtered(whole)
            known = whole.schema.names
            columns = [*columns, *(name for name in known if name not in columns and self._names(name))]
        try:
            return view(*places, columns=columns, limit=self.view_limit, **selection)
        except SchemaError as error:
            table = getattr(view, "__self__", None)
            is_unknown = error.kind == "unknown-column"
            if is_unknown and table is not None and error.field in table.schema.names:
                error.message += (
                    "; values of the table's columns are in partition, and --stats has their bounds"
                )
            raise

    def _names(self, name: str) -> bool:
        sorting = [column.removeprefix("-") for column in self.sort]
        return name in sorting or is_named(name, self.filter or "")

    def of(self, scan: Scan, columns: list[str] | None) -> Rows:
        """The rows of a scan that `scan` made, with the columns that are printed; None for all.

        Raises: PredicateError; click.UsageError for a column to sort by that the rows do not have.
        Cost: none, or where rows are sorted, that of reading all.
        """
        rows = self._picked(scan)
        return rows if columns is None or columns == scan.schema.names else Selected(rows, columns)

    def _filtered(self, scan: Scan) -> Scan:
        from lakebed._display import words_of

        if not self.filter:
            return scan
        try:
            return scan.filter(self.filter)
        except PredicateError as error:
            if error.kind == "unknown-column":
                error.message += "; --filter goes by the columns of the output, --where by the table's"
            for field in scan.schema:
                words = words_of(field, scan._view_name) if is_named(field.name, self.filter) else None
                if words:
                    meant = ", ".join(f"{number} ({word})" for number, word in words.items())
                    error.message += f"; {field.name} is {meant}"
            raise

    def _picked(self, scan: Scan) -> Rows:
        picked = self._filtered(scan)
        if self.sort:
            _check(self.sort, scan.schema.names)
            rows = _sorted(picked.to_arrow(), self.sort)
            return Read(rows if self.limit is None else rows.slice(0, self.limit))
        return Read(picked.head(self.limit)) if self.filter and self.limit is not None else picked


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
