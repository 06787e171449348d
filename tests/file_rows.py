"""Rows of data files, as commits take them."""

from __future__ import annotations

from typing import Any

import pyarrow as pa


def file_rows(*paths: str, **columns: Any) -> pa.Table:
    """Of files of one row and one byte. Args: columns, a value for all files, or an array of theirs."""
    given = {"file_path": pa.array(paths, pa.string()), "record_count": 1, "file_size_in_bytes": 1, **columns}
    arrays = {
        name: value if isinstance(value, pa.Array) else pa.array([value] * len(paths))
        for name, value in given.items()
    }
    return pa.table(arrays)


def with_column(table: pa.Table, name: str, values: pa.Array | pa.ChunkedArray) -> pa.Table:
    """A table with another column of this name, or with one more."""
    names = table.schema.names
    if name in names:
        return table.set_column(names.index(name), name, values)
    return table.append_column(name, values)


Vector = tuple[str, int, int, "int | None"]
"""The name of a data file, and of its deletion vector the offset, the length and the number of rows."""


def index_row(name: str, *vectors: Vector, **columns: Any) -> pa.Table:
    """The row of an index file of Paimon with deletion vectors. Args: columns, values or arrays of one."""
    members = [("f0", pa.string()), ("f1", pa.int32()), ("f2", pa.int32()), ("cardinality", pa.int64())]
    names = [member for member, _ in members]
    ranges = [dict(zip(names, vector, strict=True)) for vector in vectors]
    given = {"file_name": name, "file_size": 100, "row_count": len(vectors), "bucket": 0, **columns}
    arrays = {key: value if isinstance(value, pa.Array) else [value] for key, value in given.items()}
    return pa.table({**arrays, "deletions_vectors_ranges": pa.array([ranges], pa.list_(pa.struct(members)))})
