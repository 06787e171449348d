"""Apache Paimon's metadata: single files and bytes, read and written."""

from lakebed.paimon.reading import (
    decode_rows,
    encode_rows,
    read_deletion_vector,
    read_hash_index,
    read_index_manifest,
    read_manifest,
    read_manifest_list,
    read_schema,
    read_snapshot,
)
from lakebed.paimon.writing import (
    write_index_manifest,
    write_manifest,
    write_manifest_list,
    write_schema,
    write_snapshot,
)

__all__ = [
    "decode_rows",
    "encode_rows",
    "read_deletion_vector",
    "read_hash_index",
    "read_index_manifest",
    "read_manifest",
    "read_manifest_list",
    "read_schema",
    "read_snapshot",
    "write_index_manifest",
    "write_manifest",
    "write_manifest_list",
    "write_schema",
    "write_snapshot",
]
