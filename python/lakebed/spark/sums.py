"""What the columns of `partitions` and `buckets` are made of: Spark's SQL over the columns of `files`."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Sum:
    """A column of groups. `made_of`: the columns of `files` that `sql` names."""

    sql: str
    made_of: tuple[str, ...] = ()


def _of(column: str, condition: str) -> Sum:
    """The sum over the files that a condition on `content` picks; 0 where there are none."""
    return Sum(f"coalesce(sum({column}) FILTER (WHERE {condition}), 0)", ("content", column))


def _files(condition: str) -> Sum:
    return Sum(f"count(*) FILTER (WHERE {condition})", ("content",))


_ABSENT = Sum("NULL")

PAIMON = {
    "file_count": Sum("count(*)"),
    "record_count": Sum("sum(record_count)", ("record_count",)),
    "file_size_in_bytes": Sum("sum(file_size_in_bytes)", ("file_size_in_bytes",)),
    "last_updated_at": Sum("max(created_at)", ("created_at",)),
    "bucket_count": Sum("count(DISTINCT bucket)", ("bucket",)),
    "total_buckets": Sum(
        "max(struct(created_at, total_buckets)).total_buckets", ("created_at", "total_buckets")
    ),
    "min_level": Sum("min(level)", ("level",)),
    "max_level": Sum("max(level)", ("level",)),
    "delete_row_count": Sum(
        "CASE WHEN count(delete_row_count) = count(*) THEN sum(delete_row_count) END", ("delete_row_count",)
    ),
    "spec_id": _ABSENT,
    "last_updated_snapshot_id": _ABSENT,
}

PAIMON_DELETES = {"delete_file_count": "count", "delete_record_count": "sum"}
"""Sums over `record_count` of `deletes`, which the driver makes, as pyarrow names them."""

# Files come with `committed_at` of their snapshot, null where it expired.
_UPDATED = "max(CASE WHEN committed_at IS NOT NULL THEN struct(committed_at, snapshot_id) END)"

ICEBERG = {
    "file_count": _files("content = 0"),
    "record_count": _of("record_count", "content = 0"),
    "file_size_in_bytes": _of("file_size_in_bytes", "content = 0"),
    "delete_file_count": _files("content <> 0"),
    "delete_record_count": _of("record_count", "content <> 0"),
    "last_updated_at": Sum(f"{_UPDATED}.committed_at", ("snapshot_id",)),
    "last_updated_snapshot_id": Sum(f"{_UPDATED}.snapshot_id", ("snapshot_id",)),
    "position_delete_file_count": _files("content = 1"),
    "position_delete_record_count": _of("record_count", "content = 1"),
    "deletion_vector_count": Sum(
        "count(content_offset) FILTER (WHERE content = 1)", ("content", "content_offset")
    ),
    "equality_delete_file_count": _files("content = 2"),
    "equality_delete_record_count": _of("record_count", "content = 2"),
    **dict.fromkeys(("bucket", "total_buckets", "min_level", "max_level"), _ABSENT),
}
