"""Apache Paimon's metadata: single files and bytes, read and written, and commits."""

from lakebed.paimon._commit import Freed
from lakebed.paimon.commits import append_files, delete_files, overwrite_files, overwrite_partition
from lakebed.paimon.compactions import compact_files, compact_manifests, replace_deletion_vectors
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
from lakebed.paimon.refs import (
    create_branch,
    create_tag,
    delete_branch,
    delete_tag,
    expire_snapshots,
    fast_forward,
    rollback_to,
)
from lakebed.paimon.schemas import SchemaChange, alter_table, create_table
from lakebed.paimon.writing import (
    write_index_manifest,
    write_manifest,
    write_manifest_list,
    write_schema,
    write_snapshot,
)

__all__ = [
    "Freed",
    "SchemaChange",
    "alter_table",
    "append_files",
    "compact_files",
    "compact_manifests",
    "create_branch",
    "create_table",
    "create_tag",
    "decode_rows",
    "delete_branch",
    "delete_files",
    "delete_tag",
    "encode_rows",
    "expire_snapshots",
    "fast_forward",
    "overwrite_files",
    "overwrite_partition",
    "read_deletion_vector",
    "read_hash_index",
    "read_index_manifest",
    "read_manifest",
    "read_manifest_list",
    "read_schema",
    "read_snapshot",
    "replace_deletion_vectors",
    "rollback_to",
    "write_index_manifest",
    "write_manifest",
    "write_manifest_list",
    "write_schema",
    "write_snapshot",
]
