"""What every view and reader returns: rows that are not read yet."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any, Protocol

from lakebed import _arrow, _html
from lakebed._text import printable
from lakebed._values import to_rows, to_text
from lakebed.errors import LakebedError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    import pandas as pd
    import polars as pl
    import pyarrow as pa

    from lakebed._native import BatchStream

_PREVIEW_ROWS = 10


class StreamSource(Protocol):
    """What a scan reads from: a schema, and as many streams of batches as are asked for."""

    def __arrow_c_schema__(self) -> object: ...
    def stream(self) -> BatchStream:
        """A stream from the first row on."""
        ...


class Scan:
    """Rows of metadata that are read when they are asked for, and again each time they are asked for.

    Anything that speaks the Arrow PyCapsule interface takes it as it is: `pa.table(scan)`,
    `pl.DataFrame(scan)`, `duckdb.sql("from scan")`. Building one reads no manifest; errors of the data come
    when it is read.
    """

    def __init__(self, source: StreamSource, name: str) -> None:
        self._source = source
        self._name = name

    @cached_property
    def schema(self) -> pa.Schema:
        """Names and types of the columns, without reading entries."""
        return _arrow.schema(self._source)

    def to_arrow(self) -> pa.Table:
        """All rows as a `pa.Table`.

        Raises: CorruptError and its kin, LimitError, UnsupportedError; OSError where storage fails.
        Cost: one pass; memory is that of the result.
        """
        return self.to_arrow_batch_reader().read_all()

    def to_arrow_batch_reader(self) -> pa.RecordBatchReader:
        """The rows batch by batch, in bounded memory. Raises: as `to_arrow`, while it is read."""
        return _arrow.reader(self._source.stream())

    def to_pandas(self) -> pd.DataFrame:
        """All rows as a pandas DataFrame. Raises: as `to_arrow`; ImportError without pandas."""
        return self.to_arrow().to_pandas()

    def to_polars(self) -> pl.DataFrame:
        """All rows as a Polars DataFrame. Raises: as `to_arrow`; ImportError without polars."""
        import polars as pl

        # By way of the table: out of the C stream, polars would raise errors of its own.
        return pl.DataFrame(self.to_arrow())

    def head(self, count: int = _PREVIEW_ROWS) -> pa.Table:
        """The first rows, reading no further than it takes. Raises: as `to_arrow`."""
        import pyarrow as pa

        stream = self._source.stream()
        batches: list[pa.RecordBatch] = []
        for batch in _arrow.batches(stream):
            batches.append(batch.slice(0, count))
            count -= batches[-1].num_rows
            if count <= 0:
                break
        return pa.Table.from_batches(batches, self.schema)

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

    def _repr_html_(self) -> str:
        header = [f"{field.name}: {_short(field.type)}" for field in self.schema]
        rows = ([to_text(value) for value in row] for row in to_rows(self.head()))
        return _html.table(header, rows, caption=f"{self._name}: first rows")


class FileScan(Scan):
    """The records of one file, opened anew for every reading."""

    def __init__(self, open_stream: Callable[[], BatchStream], name: str) -> None:
        super().__init__(_File(open_stream), name)


class _File:
    def __init__(self, open_stream: Callable[[], BatchStream]) -> None:
        self.stream = open_stream

    def __arrow_c_schema__(self) -> object:
        return self.stream().__arrow_c_schema__()


def _short(kind: Any) -> str:
    text = str(kind)
    return text if len(text) <= 24 else f"{text.partition('<')[0]}<…>"
