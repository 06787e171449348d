"""Apache Iceberg: single files of metadata, read and written, and commits to local tables."""

from lakebed.iceberg.commits import (
    StagedCommit,
    append_files,
    create_table,
    delete_files,
    rewrite_manifests,
)
from lakebed.iceberg.reading import (
    decode_values,
    encode_values,
    read_deletion_vector,
    read_manifest,
    read_manifest_list,
    read_metadata,
)
from lakebed.iceberg.writing import write_manifest, write_manifest_list, write_metadata

__all__ = [
    "StagedCommit",
    "append_files",
    "create_table",
    "decode_values",
    "delete_files",
    "encode_values",
    "read_deletion_vector",
    "read_manifest",
    "read_manifest_list",
    "read_metadata",
    "rewrite_manifests",
    "write_manifest",
    "write_manifest_list",
    "write_metadata",
]
