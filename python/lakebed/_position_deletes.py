"""Iceberg's position delete files in Parquet, written anew with other paths."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.parquet as pq

if TYPE_CHECKING:
    from lakebed._native import PathMover

# The field that names data files (Iceberg's `MetadataColumns.java`).
_FILE_PATH_ID = b"2147483546"


def rewritten(data: bytes, mover: PathMover) -> bytes:
    """The file with the paths that the mover gives; all else stays, field ids and metadata too.

    Raises: pyarrow's errors for a damaged file; ValueError for one without paths; LocationError for a path
        that no prefix covers.
    Cost: memory is that of both files and one row group.
    """
    file = pq.ParquetFile(pa.BufferReader(data))
    schema = file.schema_arrow
    place = _place(schema)
    sink = pa.BufferOutputStream()
    compression = file.metadata.row_group(0).column(0).compression if file.num_row_groups else "ZSTD"
    codec = "NONE" if compression == "UNCOMPRESSED" else compression
    with pq.ParquetWriter(sink, schema, compression=codec, store_schema=False) as writer:
        for group in range(file.num_row_groups):
            rows = file.read_row_group(group)
            paths = [pa.array(mover.moved(chunk)) for chunk in rows.column(place).chunks]
            writer.write_table(
                rows.set_column(place, schema.field(place), pa.chunked_array(paths, pa.utf8()))
            )
    return bytes(sink.getvalue())


def _place(schema: pa.Schema) -> int:
    """The column of paths, by its field id, else by its name."""
    for place, field in enumerate(schema):
        if (field.metadata or {}).get(b"PARQUET:field_id") == _FILE_PATH_ID:
            return place
    named: int = schema.names.index("file_path")
    return named
