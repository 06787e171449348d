"""Manifests in ORC and Parquet, encoded by pyarrow."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa

if TYPE_CHECKING:
    from lakebed._native import Batch

_ORC_CODECS = {
    "none": "uncompressed",
    "snappy": "snappy",
    "deflate": "zlib",
    "lz4": "lz4",
    "zstd": "zstd",
}
_PARQUET_CODECS = {
    "none": "NONE",
    "snappy": "SNAPPY",
    "deflate": "GZIP",
    "lz4": "LZ4",  # pyarrow writes it without Hadoop's frames
    "zstd": "ZSTD",
}

# What a row group of Parquet holds in memory at most, of which readers take a whole one.
_GROUP_BYTES = 64 << 20


def orc(rows: Batch, codec: str) -> bytes:
    """An ORC file of the rows. pyarrow has no levels of Zstandard for it.

    Raises: ImportError where pyarrow was built without ORC; pyarrow's errors.
    """
    from pyarrow.orc import ORCWriter  # not in every build of pyarrow

    sink = pa.BufferOutputStream()
    with ORCWriter(sink, compression=_ORC_CODECS[codec]) as writer:
        writer.write(_table(rows))
    return bytes(sink.getvalue())


def parquet(rows: Batch, codec: str, level: int | None) -> bytes:
    """A Parquet file of the rows, with lists as the format's specification has them.

    Raises: NotImplementedError for UUIDs where this pyarrow would write bytes; pyarrow's errors.
    """
    import pyarrow.parquet as pq

    sink = pa.BufferOutputStream()
    table = _table(rows)
    pq.write_table(
        table,
        sink,
        row_group_size=max(1, table.num_rows * _GROUP_BYTES // max(1, table.nbytes)),
        compression=_PARQUET_CODECS[codec],
        compression_level=level,
        store_schema=False,
        # All of a manifest is read, so that bounds of its columns would help nobody.
        write_statistics=False,
        use_compliant_nested_type=True,
    )
    content = sink.getvalue()
    wanted = sum(map(_uuids, table.schema))
    if wanted:
        columns = pq.read_metadata(pa.BufferReader(content)).schema
        kinds = [columns.column(number).logical_type.type for number in range(len(columns))]
        if kinds.count("UUID") < wanted:
            raise NotImplementedError(f"pyarrow {pa.__version__} writes UUIDs as mere bytes, 21 does not")
    return bytes(content)


def _uuids(field: pa.Field) -> int:
    """How many UUIDs there are in the type of a field."""
    # Of pyarrow before 18 they are no type.
    names = (
        getattr(field.type, "extension_name", ""),
        (field.metadata or {}).get(b"ARROW:extension:name", b""),
    )
    if names[0] == "arrow.uuid" or names[1] == b"arrow.uuid":
        return 1
    parts = [field.type.field(number) for number in range(field.type.num_fields)]
    return sum(map(_uuids, parts))


def _table(rows: Batch) -> pa.Table:
    return pa.Table.from_batches([pa.record_batch(rows)])
