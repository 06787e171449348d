"""Problems in a row of `health`, and what to do about them."""

from __future__ import annotations

import shlex
from collections import defaultdict
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
    numbers = {name: value for name, value in row.items() if isinstance(value, int | float)}
    of = defaultdict[str, Any](int, numbers)
    table = opened or (shlex.quote(row["location"]) if row.get("location") else "TABLE")
    table_format = row.get("format", "")
    return [*_of_files(of, table_format, table, small_bytes), *_of_metadata(of, table_format, table)]


def verdict(found: Sequence[Finding]) -> str:
    """All findings in one line."""
    return count(len(found), "problem") if found else "no problems found"


def _of_files(of: dict[str, Any], table_format: str, table: str, small_bytes: int) -> Iterator[Finding]:
    files, small, partitions = of["file_count"], of["small_file_count"], of["partition_count"]
    # One file per bucket or partition is the least there can be.
    least = max(of.get("bucket_count", partitions), 1)
    rewrite = _call(table_format, "compact", "rewrite_data_files")
    asked = "" if small_bytes == SMALL_BYTES else f" --small-bytes {small_bytes}"
    if small > 2 * least and 2 * small > files:
        yield Finding(
            "small_file_count",
            f"{small:,} of {files:,} data files are below {threshold(small_bytes)}",
            f"compact them: {rewrite}; `lakebed partitions {table} --sort -small_file_count{asked}` shows "
            "where they are",
        )
    most, average = of["max_partition_file_count"], files / max(partitions, 1)
    if partitions > 1 and most > 100 and most * partitions > _UNEVEN * files:
        yield Finding(
            "max_partition_file_count",
            f"one partition has {most:,} of {files:,} data files, the average one {average:,.0f}",
            f"`lakebed partitions {table} --sort -file_count` names it",
        )
    waiting, buckets = of["level_0_file_count"], of["bucket_count"]
    # Tables without primary keys have no other level.
    if of["max_level"] > 0 and waiting > _RUNS * max(buckets, 1):
        yield Finding(
            "level_0_file_count",
            f"{waiting:,} files in {buckets:,} buckets wait for compaction",
            f"see whether compaction runs, or run it: {_call(table_format, 'compact', '')}",
        )
    position, equality = of["position_delete_file_count"], of["equality_delete_file_count"]
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
    if of["deleted_record_ratio"] > _DELETED:
        yield Finding(
            "deleted_record_ratio",
            f"{of['deleted_record_ratio']:.0%} of the rows in data files are deleted",
            f"rewrite the data files: {rewrite}",
        )


def _of_metadata(of: dict[str, Any], table_format: str, table: str) -> Iterator[Finding]:
    small, entries, gone = of["small_manifest_count"], of["entry_count"], of["deleted_entry_count"]
    rewrite = _call(table_format, "compact_manifest", "rewrite_manifests")
    if small > _MANIFESTS.get(table_format, 0):
        yield Finding(
            "small_manifest_count",
            f"{small:,} of {of['manifest_count']:,} manifests are below 1 MiB",
            f"merge them: `table.rewrite_manifests()`, or {rewrite}",
        )
    if entries > 1000 and 2 * gone > entries:
        yield Finding(
            "deleted_entry_count",
            f"{gone:,} of {entries:,} manifest entries are of files that are gone",
            f"rewrite the manifests: `table.rewrite_manifests()`, or {rewrite}",
        )
    snapshots = of["snapshot_count"]
    if snapshots > _SNAPSHOTS:
        yield Finding(
            "snapshot_count",
            f"{snapshots:,} snapshots hold on to files that the table no longer has",
            f"`lakebed expire-plan {table}` shows what expiry would free; expire old ones: "
            f"{_call(table_format, 'expire_snapshots', 'expire_snapshots')}",
        )

    keys = of["unused_key_count"]
    if keys:
        yield Finding(
            "unused_key_count",
            f"{count(keys, 'key')} of the encrypted metadata {'is' if keys == 1 else 'are'} used by nothing",
            "expiry leaves them behind; the update `remove-encryption-key` of REST catalogs removes them",
        )


def _call(table_format: str, paimon: str, iceberg: str) -> str:
    """The procedure of the format's runtime for Spark."""
    name = f"sys.{paimon}" if table_format == "paimon" else f"system.{iceberg}"
    return f"`CALL {name}(table => 'db.table')` in Spark"
