"""Problems in a row of `health`, and what to do about them."""

from __future__ import annotations

import shlex
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from lakebed._display import count, threshold

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

# What writers do by themselves is not a finding: Iceberg merges manifests from 100 on
# (`commit.manifest.min-count-to-merge`), Paimon from 30 on (`manifest.merge-min-count`), and Paimon compacts
# a bucket that has 5 sorted runs (`num-sorted-run.compaction-trigger`).
_MANIFESTS = {"iceberg": 100, "paimon": 30}
_RUNS = 5
_SNAPSHOTS = 500
_DELETED = 0.1
_UNEVEN = 10

SMALL_BYTES = 32 * 2**20
"""Data files with fewer bytes are small, unless another number is asked for."""


@dataclass(frozen=True)
class Finding:
    """A problem.

    Attributes: column, of `health`, that shows it; what, in words; next_step, what to do about it.
    """

    column: str
    what: str
    next_step: str

    def to_dict(self) -> dict[str, str]:
        """The attributes by their names."""
        return asdict(self)


def findings(row: dict[str, Any], small_bytes: int, opened: str | None = None) -> list[Finding]:
    """The problems, in the order of the columns. Numbers that the row does not have say nothing.

    Args: row, of `health`; small_bytes, with which it was made; opened, the table as a command has it, with
        the options that open it.
    """
    known: dict[str, Any] = {name: value for name, value in row.items() if isinstance(value, int | float)}
    known["table"] = opened or (shlex.quote(row["location"]) if row.get("location") else "TABLE")
    checks = (_small_files, _uneven, _level_0, _deletes, _manifests, _snapshots)
    return [finding for check in checks for finding in check(known, row.get("format", ""), small_bytes)]


def verdict(found: Sequence[Finding]) -> str:
    """All findings in one line."""
    if not found:
        return "no problems found"
    return count(len(found), "problem")


def _small_files(row: dict[str, Any], table_format: str, small_bytes: int) -> Iterator[Finding]:
    small, files = row.get("small_file_count", 0), row.get("file_count", 0)
    # One file per bucket or partition is the least there can be.
    least = row.get("bucket_count", row.get("partition_count", 0))
    if small > 2 * max(least, 1) and 2 * small > files:
        yield Finding(
            "small_file_count",
            f"{small:,} of {files:,} data files are below {threshold(small_bytes)}",
            f"compact them: {_call(table_format, 'compact', 'rewrite_data_files')}; "
            f"`lakebed partitions {row['table']} --sort -small_file_count{_small(small_bytes)}` shows where "
            "they are",
        )


def _uneven(row: dict[str, Any], _format: str, _small_bytes: int) -> Iterator[Finding]:
    files, partitions = row.get("file_count", 0), row.get("partition_count", 0)
    most = row.get("max_partition_file_count", 0)
    if partitions > 1 and most > 100 and most * partitions > _UNEVEN * files:
        yield Finding(
            "max_partition_file_count",
            f"one partition has {most:,} of {files:,} data files, the average one {files / partitions:,.0f}",
            f"`lakebed partitions {row['table']} --sort -file_count` names it",
        )


def _level_0(row: dict[str, Any], table_format: str, _small_bytes: int) -> Iterator[Finding]:
    waiting, buckets = row.get("level_0_file_count", 0), row.get("bucket_count", 0)
    # Tables without primary keys have no other level.
    if row.get("max_level", 0) > 0 and waiting > _RUNS * max(buckets, 1):
        yield Finding(
            "level_0_file_count",
            f"{waiting:,} files in {buckets:,} buckets wait for compaction",
            f"see whether compaction runs, or run it: {_call(table_format, 'compact', '')}",
        )


def _deletes(row: dict[str, Any], table_format: str, _small_bytes: int) -> Iterator[Finding]:
    files, ratio = row.get("file_count", 0), row.get("deleted_record_ratio", 0)
    equality, position = (row.get(f"{kind}_delete_file_count", 0) for kind in ("equality", "position"))
    rewrite = _call(table_format, "compact", "rewrite_data_files")
    if position > files > 0:
        yield Finding(
            "position_delete_file_count",
            f"{position:,} position delete files for {files:,} data files",
            f"bring them together: {_call(table_format, '', 'rewrite_position_delete_files')}",
        )
    if 10 * equality > files:
        yield Finding(
            "equality_delete_file_count",
            f"{equality:,} equality delete files for {files:,} data files; readers compare every older row "
            "with them",
            f"rewrite the data files: {rewrite}",
        )
    if ratio > _DELETED:
        yield Finding(
            "deleted_record_ratio",
            f"{ratio:.0%} of the rows in data files are deleted",
            f"rewrite the data files: {rewrite}",
        )


def _manifests(row: dict[str, Any], table_format: str, _small_bytes: int) -> Iterator[Finding]:
    small, entries = row.get("small_manifest_count", 0), row.get("entry_count", 0)
    own = {
        "iceberg": "`table.rewrite_manifests()`",
        "paimon": "`table.rewrite_manifests()`",
    }
    step = f"{own.get(table_format)}, or {_call(table_format, 'compact_manifest', 'rewrite_manifests')}"
    if small > _MANIFESTS.get(table_format, 0):
        yield Finding(
            "small_manifest_count",
            f"{small:,} of {row.get('manifest_count', 0):,} manifests are below 1 MiB",
            f"merge them: {step}",
        )
    gone = row.get("deleted_entry_count", 0)
    if entries > 1000 and 2 * gone > entries:
        yield Finding(
            "deleted_entry_count",
            f"{gone:,} of {entries:,} manifest entries are of files that are gone",
            f"rewrite the manifests: {step}",
        )


def _snapshots(row: dict[str, Any], table_format: str, _small_bytes: int) -> Iterator[Finding]:
    snapshots = row.get("snapshot_count", 0)
    if snapshots > _SNAPSHOTS:
        yield Finding(
            "snapshot_count",
            f"{snapshots:,} snapshots hold on to files that the table no longer has",
            f"`lakebed expire-plan {row['table']}` shows what expiry would free; expire old ones: "
            f"{_call(table_format, 'expire_snapshots', 'expire_snapshots')}",
        )


def _small(small_bytes: int) -> str:
    return "" if small_bytes == SMALL_BYTES else f" --small-bytes {small_bytes}"


def _call(table_format: str, paimon: str, iceberg: str) -> str:
    """The procedure of the format's runtime for Spark."""
    name = f"sys.{paimon}" if table_format == "paimon" else f"system.{iceberg}"
    return f"`CALL {name}(table => 'db.table')` in Spark"
