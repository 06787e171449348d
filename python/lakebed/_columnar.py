"""ORC and Parquet files of a table's metadata, through pyarrow's own readers.

The compiled core calls this for files that are not Avro. Imports stand inside the functions: a table whose
manifests are Avro, as nearly all are, never waits for these readers.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from lakebed import _arrow

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    import pyarrow as pa

    from lakebed._native import Batch


@dataclass(frozen=True)
class ColumnarFile:
    """An open file: its whole schema, what its footer says of rows and bytes, and the rows asked for.

    Attributes:
        schema: of the file, columns that were not asked for included.
        rows: number of rows.
        bytes: size of the rows when they are not compressed; None where the footer does not say.
        batches: the rows, read as they are asked for: a stripe (ORC) or some thousand rows (Parquet) at a
            time.
    """

    schema: pa.Schema
    rows: int
    bytes: int | None
    batches: Iterator[pa.RecordBatch]


def open_file(kind: str, data: Batch, columns: Sequence[str]) -> ColumnarFile:
    """Opens the bytes of an ORC or Parquet file.

    Args:
        kind: "ORC" or "Parquet".
        data: the file as the only value of a binary array; it is not copied.
        columns: dotted paths of the columns wanted; those that the file lacks are left out.
    Raises: pyarrow's errors (OSError, ValueError, NotImplementedError), here and while rows are read.
    Cost: reads the footer.
    """
    import pyarrow as pa

    (value,) = _arrow.array(data)
    source = pa.BufferReader(value.as_buffer())
    return _open_orc(source, columns) if kind == "ORC" else _open_parquet(source, columns)


def _open_orc(source: pa.BufferReader, columns: Sequence[str]) -> ColumnarFile:
    from pyarrow import orc

    file = orc.ORCFile(source)
    schema = file.schema
    present = [path for path in columns if _has(schema, path)]
    stripes = (file.read_stripe(number, present) for number in range(file.nstripes))
    return ColumnarFile(schema, file.nrows, None, stripes)


def _open_parquet(source: pa.BufferReader, columns: Sequence[str]) -> ColumnarFile:
    from pyarrow import parquet

    file = parquet.ParquetFile(source, page_checksum_verification=True)
    schema, footer = file.schema_arrow, file.metadata
    present = [path for path in columns if _has(schema, path)]
    size = sum(footer.row_group(number).total_byte_size for number in range(footer.num_row_groups))
    # One thread: callers that want several read several files.
    batches = file.iter_batches(columns=present, use_threads=False)
    return ColumnarFile(schema, footer.num_rows, size, batches)


def _has(schema: pa.Schema, path: str) -> bool:
    """Whether there is a field at a dotted path."""
    import pyarrow as pa

    name, *inner = path.split(".")
    index = schema.get_field_index(name)
    if index < 0 or not inner:
        return bool(index >= 0)
    kind = schema.field(index).type
    return pa.types.is_struct(kind) and _has(pa.schema(list(kind)), ".".join(inner))
