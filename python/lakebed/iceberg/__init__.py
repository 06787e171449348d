"""Apache Iceberg: single files of metadata, read and written, and commits to local tables."""

from lakebed._commits import Freed
from lakebed.iceberg._commit import StagedCommit, stage
from lakebed.iceberg.commits import append_files, create_table, delete_files, rewrite_manifests
from lakebed.iceberg.file_changes import overwrite_files, replace_files, row_delta
from lakebed.iceberg.reading import (
    decode_values,
    encode_values,
    read_deletion_vector,
    read_manifest,
    read_manifest_list,
    read_metadata,
)
from lakebed.iceberg.refs import (
    cherry_pick,
    create_branch,
    create_tag,
    delete_branch,
    delete_tag,
    expire_snapshots,
    fast_forward,
    rollback_to,
    set_current_snapshot,
    set_retention,
)
from lakebed.iceberg.schemas import SchemaChange, update_schema, update_spec
from lakebed.iceberg.settings import remove_statistics, set_properties, set_statistics, upgrade
from lakebed.iceberg.writing import write_manifest, write_manifest_list, write_metadata

__all__ = [
    "Freed",
    "SchemaChange",
    "StagedCommit",
    "append_files",
    "cherry_pick",
    "create_branch",
    "create_table",
    "create_tag",
    "decode_values",
    "delete_branch",
    "delete_files",
    "delete_tag",
    "encode_values",
    "expire_snapshots",
    "fast_forward",
    "overwrite_files",
    "read_deletion_vector",
    "read_manifest",
    "read_manifest_list",
    "read_metadata",
    "remove_statistics",
    "replace_files",
    "rewrite_manifests",
    "rollback_to",
    "row_delta",
    "set_current_snapshot",
    "set_properties",
    "set_retention",
    "set_statistics",
    "stage",
    "update_schema",
    "update_spec",
    "upgrade",
    "write_manifest",
    "write_manifest_list",
    "write_metadata",
]
