"""Single files of Apache Iceberg's metadata, read and written without a table around them."""

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
    "decode_values",
    "encode_values",
    "read_deletion_vector",
    "read_manifest",
    "read_manifest_list",
    "read_metadata",
    "write_manifest",
    "write_manifest_list",
    "write_metadata",
]
