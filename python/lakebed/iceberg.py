"""Single files of Apache Iceberg's metadata, without a table around them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lakebed import _native
from lakebed._arguments import names
from lakebed._source import Source, named, resolve_source
from lakebed.limits import LIMITS, Limits
from lakebed.scan import FileScan, Scan

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["read_manifest_list"]


def read_manifest_list(
    source: Source, *, columns: Sequence[str] | None = None, limits: Limits = LIMITS
) -> Scan:
    """The records of one manifest list of any format version: one row per manifest, in file order.

    Fields are found by their ids, whatever a writer called them, and by their names where it gave no ids.

    Args:
        source: path or URI, anything with the buffer protocol (never copied), or an open binary file.
        columns: names of the columns wanted; others are skipped, not decoded.
        limits: what the file may cost.
    Returns: a `Scan`: `manifest_path` utf8, `manifest_length` int64 [bytes], `partition_spec_id` int32,
        `content` int32 (0 data, 1 deletes), `sequence_number`, `min_sequence_number` int64 (0 where the list
        has none), `added_snapshot_id` int64, `added_files_count`, `existing_files_count`,
        `deleted_files_count` int32 and `added_rows_count`, `existing_rows_count`, `deleted_rows_count` int64
        (entries and rows by status; null is unknown), `partitions` list<struct<contains_null bool,
        contains_nan bool, lower_bound binary, upper_bound binary>> (null: no summary), `key_metadata` binary,
        `first_row_id` int64.
    Raises: (when read) CorruptError, TruncatedError, UnsupportedError (codec, encrypted file), LimitError,
        SchemaError.
    Cost: one pass.
    Source: Iceberg specification, "Manifest Lists"; Iceberg's `ManifestFile.java`.
    """
    wanted = names("columns", columns)
    data = resolve_source(source)
    return FileScan(
        lambda: _native.iceberg_read_manifest_list(data, wanted, limits), named("manifest list", data)
    )
