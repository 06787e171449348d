"""What every view and reader returns: rows that are not read yet."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol, cast

from lakebed import _arrow, _display, _html, _native
from lakebed._arguments import needing
from lakebed._kept import kept
from lakebed._pyarrow import pa
from lakebed._text import printable
from lakebed.errors import LakebedError, UnsupportedError
from lakebed.predicates import to_sql

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    import pandas as pd
    import polars as pl

    from lakebed._native import BatchStream
    from lakebed.predicates import Predicate

_PREVIEW_ROWS = 10
_PREVIEW_COLUMNS = 12


class StreamSource(Protocol):
    """What a scan reads from: a schema, and as many streams of batches as are asked for."""

    def __arrow_c_schema__(self) -> object: ...
    def stream(self) -> BatchStream:
        """A stream from the first row on."""


class Scan:
    """Rows of metadata that are read when they are asked for, and again each time they are asked for.

    Anything that implements the Arrow PyCapsule interface takes it as it is: `pa.table(scan)`,
    `pl.DataFrame(scan)`, `duckdb.sql("from scan")`. Building one reads no manifest; errors of the data are
    raised when it is read.
    """

    def __init__(
        self, source: StreamSource, name: str, view: str | None = None, first: Sequence[str] = ()
    ) -> None:
        """Rows of a source.

        Args: name, what they are, in words; view, the view that they are of, if any; first, the columns that
            people look at first.
        """
        self._source = source
        self._name = name
        self._view_name = view
        self._first = first

    @kept
    def schema(self) -> pa.Schema:
        """Names and types of the columns, without reading entries."""
        return pa.schema(self._source)

    def to_arrow(self) -> pa.Table:
        """All rows as a `pa.Table`.

        Raises: CorruptError and its kin, LimitError, UnsupportedError; OSError where storage fails.
        Cost: one pass; memory is that of the result.
        """
        return self.to_arrow_batch_reader().read_all()

    def to_arrow_batch_reader(self) -> pa.RecordBatchReader:
        """The rows batch by batch, as a `pa.RecordBatchReader`.

        Raises: as `to_arrow`, while it is read.
        Cost: one pass; memory is that of a batch and of what is read ahead, whatever the number of rows.
        """
        return _arrow.reader(self._source.stream())

    def to_pandas(self) -> pd.DataFrame:
        """All rows as a pandas DataFrame. Cost: that of `to_arrow`, and the copy that pandas makes.

        Raises: as `to_arrow`; UnsupportedError for dates after the year 9999 or before 1, which pandas has no
            objects for; ImportError without pandas.
        """
        rows = self.to_arrow()
        with needing("pandas"):
            try:
                return rows.to_pandas()
            except (OverflowError, ValueError) as error:
                message = f"pandas has not all values of these columns, which to_arrow() has: {error}"
                raise UnsupportedError(message, kind="unsupported") from error

    def to_polars(self) -> pl.DataFrame:
        """All rows as a Polars DataFrame. Cost: that of `to_arrow`; buffers are shared where Polars can.

        Raises: as `to_arrow`; ImportError without polars.
        """
        with needing("polars"):
            import polars as pl

        # By way of the table: out of the C stream, polars would raise errors of its own.
        return pl.DataFrame(self.to_arrow())

    def head(self, count: int = _PREVIEW_ROWS) -> pa.Table:
        """The first `count` rows as a `pa.Table`. Cost: reads no further than it takes.

        Raises: as `to_arrow`.
        """
        stream = self._source.stream()
        batches: list[pa.RecordBatch] = []
        for batch in _arrow.batches(stream):
            batches.append(batch.slice(0, count))
            count -= batches[-1].num_rows
            if count <= 0:
                break
        return pa.Table.from_batches(batches, self.schema)

    def filter(self, condition: str | Predicate) -> Scan:
        """The rows that match a condition on the scan's own columns: `file_size_in_bytes > 1000` of `files`.

        A view's own `where` is on the table's columns where rows are manifests or files, and saves reading;
        this one looks at every row.
        Args: condition, SQL-like text or a condition made with `lakebed.col`.
        Raises: PredicateError for what cannot be bound to these columns, at once.
        Cost: none; reading costs what this scan does.
        """
        return Scan(_Filtered(self._source, to_sql(condition)), self._name, self._view_name, self._first)

    def __iter__(self) -> Iterator[pa.RecordBatch]:
        return _arrow.batches(self._source.stream())

    def __arrow_c_schema__(self) -> object:
        return self._source.__arrow_c_schema__()

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        return self._source.stream().__arrow_c_stream__(requested_schema)

    def __repr__(self) -> str:
        try:
            schema = self.schema
        except (LakebedError, OSError) as error:
            # What prints itself, in a debugger or a log, must not raise.
            return (
                f"<lakebed {self._name}: {type(error).__name__}: {printable(' '.join(str(error).split()))}>"
            )
        columns = "\n".join(printable(f"  {field.name}: {field.type}") for field in schema)
        return f"<lakebed {self._name}>\n{columns}"

    def _preview(self, count: int) -> pa.Table:
        """The first rows as people read them."""
        return self.head(count)

    def _repr_html_(self) -> str:
        """The first rows, a line each, with bytes and times as people read them.

        Of a view whose columns were not chosen, the columns that are looked at first; the others are named.
        The one row of `health` is upright, a line for each column that has a value.
        Cost: as `head`.
        """
        rows = self._preview(_PREVIEW_ROWS + 1)
        if self._view_name == "health" and rows.num_rows == 1:
            (cells,) = _display.cells(rows, self._view_name)
            lines = [line for line in zip(rows.schema.names, cells, strict=True) if line[1] != "null"]
            return _html.table(["", ""], lines, caption=self._name, numbers=[1])
        more = rows.num_rows > _PREVIEW_ROWS
        rows = rows.slice(0, _PREVIEW_ROWS)
        names = _display.shown(rows, self._first) or rows.schema.names[:_PREVIEW_COLUMNS]
        hidden = [name for name in rows.schema.names if name not in names]
        picked = rows.select(names)
        size = f"first {rows.num_rows} rows" if more else _display.count(rows.num_rows, "row")
        return _html.table(
            names,
            _display.cells(picked, self._view_name),
            caption=f"{self._name}: {size}",
            numbers=_display.numbers(picked.schema, self._view_name),
            types=[str(field.type) for field in picked.schema],
            note=f"{_display.count(len(hidden), 'more column')}: {', '.join(hidden)}" if hidden else "",
        )


class FileScan(Scan):
    """The records of one file, opened anew for every reading."""

    def __init__(self, open_stream: Callable[[], BatchStream], name: str) -> None:
        super().__init__(_File(open_stream), name)


class _Filtered:
    def __init__(self, source: StreamSource, where: str | None) -> None:
        self._source = source
        self._filter = _native.Filter(source, where or "")

    def __arrow_c_schema__(self) -> object:
        return self._source.__arrow_c_schema__()

    def stream(self) -> BatchStream:
        return self._source.stream().filter(self._filter)


class _File:
    def __init__(self, open_stream: Callable[[], BatchStream]) -> None:
        self.stream = open_stream

    def __arrow_c_schema__(self) -> object:
        return self.stream().__arrow_c_schema__()


class ReadRows:
    """Rows that are there already, as what a scan reads."""

    def __init__(self, rows: pa.Table) -> None:
        self._rows = rows

    def __arrow_c_schema__(self) -> object:
        return self._rows.schema.__arrow_c_schema__()

    def stream(self) -> BatchStream:
        """A stream from the first row on."""
        return cast("BatchStream", _ReadStream(self._rows.to_reader()))


class _ReadStream:
    """Batches of such rows, with the methods of a stream of the compiled core."""

    def __init__(self, reader: pa.RecordBatchReader) -> None:
        self._reader = reader

    def __arrow_c_schema__(self) -> object:
        return self._reader.schema.__arrow_c_schema__()

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        return self._reader.__arrow_c_stream__(requested_schema)

    def next_batch(self) -> pa.RecordBatch | None:
        """The next batch; None after the last."""
        return next(self._reader, None)

    def filter(self, condition: _native.Filter) -> _ReadStream:
        """The rows that match."""
        kept = (pa.record_batch(condition.matching(batch)) for batch in self._reader)
        return _ReadStream(pa.RecordBatchReader.from_batches(self._reader.schema, kept))
