"""Apache Paimon's metadata: single files and bytes, read and written, and commits."""

from lakebed.paimon.commits import (
    append_files,
    compact_manifests,
    create_table,
    create_tag,
    delete_files,
    overwrite_partition,
)
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
    "append_files",
    "compact_manifests",
    "create_table",
    "create_tag",
    "decode_rows",
    "delete_files",
    "encode_rows",
    "overwrite_partition",
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
