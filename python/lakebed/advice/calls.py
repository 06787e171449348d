"""The calls that mend a table, as they are typed in each engine.

What they give in options is where the engines' defaults would leave a table as it is: Iceberg's
`rewrite_data_files` takes groups of 5 files (`min-input-files`) and files of which 30 % are deleted
(`delete-ratio-threshold`), keeps position deletes of files that it rewrote, and its `expire_snapshots` keeps
what is younger than five days.

Source: Iceberg's `RewriteDataFilesSparkAction.java`, `BinPackRewriteFilePlanner.java`,
`RewritePositionDeletesProcedure.java`, Flink's `RewriteDataFiles.java`; Trino's documentation of its Iceberg
connector; Paimon's `CompactProcedure.java`, `AppendCompactCoordinator.java`, `ExpireSnapshotsProcedure.java`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from lakebed.advice.names import identifier

if TYPE_CHECKING:
    from collections.abc import Mapping

    from lakebed.advice.names import TableName
    from lakebed.advice.thresholds import Thresholds

ENGINES: tuple[str, ...] = ("spark", "trino", "flink", "python")
"""Where calls are typed. `flink` is SQL for Paimon, for Iceberg Java, which has them in Flink alone."""

Calls = dict[str, list[str]]
"""Of each engine that can do it the statements, in their order."""

_TRINO_SMALL = 100 * 2**20  # its own default of `file_size_threshold`


@dataclass(frozen=True)
class Procedures(ABC):
    """The calls of a table format for one table."""

    name: TableName
    thresholds: Thresholds
    counts: Mapping[str, Any]
    """What of `health`'s row is a number; 0 for what it does not have."""

    @staticmethod
    def of(table_format: str, *what: Any) -> Procedures:
        """Those of a format. Args: what, the attributes."""
        return (_Paimon if table_format == "paimon" else _Iceberg)(*what)

    @abstractmethod
    def compact(self) -> Calls:
        """Small files become few."""

    @abstractmethod
    def apply_deletes(self) -> Calls:
        """Data files are written without their deleted rows."""

    @abstractmethod
    def merge_position_deletes(self) -> Calls:
        """Position delete files become few, and there are none of deleted files."""

    @abstractmethod
    def remove_dangling(self) -> Calls:
        """Deletes that apply to no live data file are gone."""

    @abstractmethod
    def rewrite_manifests(self) -> Calls:
        """Manifests become few, without entries of deleted files."""

    @abstractmethod
    def expire_snapshots(self, keep: int, before: str) -> Calls:
        """Only the newest stay. Args: keep, how many; before, when the newest of all was committed."""

    @abstractmethod
    def sort(self, column: str) -> Calls:
        """The data files of each partition are written again in the order of a column."""

    @abstractmethod
    def record_bounds(self, column: str) -> str:
        """What to set so that writers record the bounds of a column, in words."""

    def _call(self, procedure: str, arguments: str = "", mark: str = "") -> str:
        # Flink's identifiers have no quotes.
        name = _text(str(self.name) if mark else self.name.quoted("`"))
        catalog = self.name.quoted_catalog("`")
        return f"CALL {catalog}{procedure}({mark}table{mark} => {name}{arguments})"

    def _python(self, *statements: str) -> Calls:
        return {"python": [*self.name.python, *statements]} if self.name.python else {}


class _Iceberg(Procedures):
    def compact(self) -> Calls:
        options, target, java = {"min-input-files": "2"}, self._target(), ".minInputFiles(2)"
        if target is not None:
            options["target-file-size-bytes"] = str(target)
            java += f".targetFileSizeBytes({target}L)"
        below = -(-max(self.thresholds.small_bytes, _TRINO_SMALL) // 2**20)
        return {
            "spark": [self._rewrite(options), *self._without_dangling()],
            "trino": self._execute(f"optimize(file_size_threshold => '{below}MB')"),
            "flink": self._flink(f"RewriteDataFiles.builder().scheduleOnCommitCount(1){java}"),
        }

    def _target(self) -> int | None:
        """The size of files that do not count as small, where that of the table does not do."""
        small, taken = self.thresholds.small_bytes, self.thresholds.rewrite_bytes
        return None if taken is None or small <= taken else -(-small * 4 // 3)

    def apply_deletes(self) -> Calls:
        options = {"delete-file-threshold": "1", "remove-dangling-deletes": "true"}
        statements = [self._rewrite(options), *self._without_dangling()]
        if self.counts["equality_delete_file_count"] and self.counts["partition_count"] <= 1:
            # Tables without partitions keep those of the last commit; a second rewrite is newer than all.
            statements.append(self._rewrite({"rewrite-all": "true"}))
        return {"spark": statements, "trino": self._execute("optimize")}

    def merge_position_deletes(self) -> Calls:
        options = _map({"rewrite-all": "true"})
        spark = self._call("system.rewrite_position_delete_files", f", options => {options}")
        return {"spark": [spark], "trino": self._execute("optimize")}

    def remove_dangling(self) -> Calls:
        """Vectors and equality deletes go with a rewrite of data files alone, which must find some."""
        vectors = self.counts["dangling_deletion_vector_count"]
        equality = self.counts["dangling_equality_delete_file_count"]
        files = self.counts["dangling_delete_file_count"] - vectors
        rewrite = self._rewrite({"rewrite-all": "true", "remove-dangling-deletes": "true"})
        # Tables without partitions keep those of the last commit; a second rewrite is newer than all.
        rewrites = [rewrite] * (2 if self.counts["partition_count"] <= 1 else 1)
        spark = rewrites if vectors or equality else []
        if files > equality:
            spark = [*spark, *self.merge_position_deletes()["spark"]]
        return {"spark": spark, **self._python(*_REMOVE_DANGLING)}

    def _without_dangling(self) -> list[str]:
        """What is to follow a rewrite of data files: their position deletes outlive them, vectors do not."""
        has_files = self.counts["position_delete_file_count"] > self.counts["deletion_vector_count"]
        return self.merge_position_deletes()["spark"] if has_files else []

    def rewrite_manifests(self) -> Calls:
        # lakebed's leaves manifests of deletes as they are.
        of_deletes = self.counts["delete_manifest_count"] > 0
        return {
            "spark": [self._call("system.rewrite_manifests")],
            "trino": self._execute("optimize_manifests"),
            **({} if of_deletes else self._python("table.rewrite_manifests()")),
        }

    def expire_snapshots(self, keep: int, before: str) -> Calls:
        arguments = f", older_than => TIMESTAMP '{before}', retain_last => {keep}"
        session = self.name.quoted_catalog('"')
        age = f".maxSnapshotAge(Duration.ZERO).retainLast({keep})"
        return {
            "spark": [self._call("system.expire_snapshots", arguments)],
            "trino": [
                f"SET SESSION {session}expire_snapshots_min_retention = '0s'",
                *self._execute(f"expire_snapshots(retention_threshold => '0s', retain_last => {keep})"),
            ],
            "flink": self._flink(f"ExpireSnapshots.builder().scheduleOnCommitCount(1){age}"),
            **self._python(*_expire(before, keep)),
        }

    def sort(self, column: str) -> Calls:
        path = ".".join(identifier(part, "`") for part in column.split("."))
        order = f", strategy => 'sort', sort_order => {_text(path)}"
        options = f", options => {_map({'rewrite-all': 'true'})}"
        return {"spark": [self._call("system.rewrite_data_files", order + options)]}

    def record_bounds(self, column: str) -> str:
        return f"bounds of it are recorded by the property `write.metadata.metrics.column.{column}=full`"

    def _rewrite(self, options: Mapping[str, str]) -> str:
        return self._call("system.rewrite_data_files", f", options => {_map(options)}")

    def _execute(self, what: str) -> list[str]:
        name = self.name.quoted_catalog('"') + self.name.quoted('"')
        return [f"ALTER TABLE {name} EXECUTE {what}"]

    def _flink(self, task: str) -> list[str]:
        """A job of Flink's; the loader, the lock and the environment are those of the program."""
        return [f"TableMaintenance.forTable(env, tableLoader, lockFactory).add({task}).append()"]


class _Paimon(Procedures):
    def compact(self) -> Calls:
        return self._compact({})

    def apply_deletes(self) -> Calls:
        return self._compact({"compaction.delete-ratio-threshold": "0"})

    def merge_position_deletes(self) -> Calls:
        return self.apply_deletes()

    def remove_dangling(self) -> Calls:
        """Paimon's own procedures remove a vector with its data file alone."""
        return self._python(*_REMOVE_DANGLING)

    def rewrite_manifests(self) -> Calls:
        return {**self._both("sys.compact_manifest"), **self._python("table.rewrite_manifests()")}

    def expire_snapshots(self, keep: int, before: str) -> Calls:
        count = self.counts["snapshot_count"]
        arguments = f", retain_max => {keep}, retain_min => {keep}, max_deletes => {count}"
        return {**self._both("sys.expire_snapshots", arguments), **self._python(*_expire(before, keep))}

    def sort(self, column: str) -> Calls:
        """Of tables without primary keys; others are sorted by these."""
        if self.counts["primary_key_count"]:
            return {}
        order = f", order_strategy => 'order', order_by => {_text(column)}"
        return {"spark": [self._call("sys.compact", order)]}

    def record_bounds(self, column: str) -> str:
        return f"bounds of it are recorded by the option `fields.{column}.stats-mode=full`"

    def _compact(self, more: Mapping[str, str]) -> Calls:
        """A full compaction. Tables without buckets would wait for five files of a partition."""
        options = {"compaction.min.file-num": "2", **more}
        small, taken = self.thresholds.small_bytes, self.thresholds.rewrite_bytes
        if taken is not None and small > taken:
            options["target-file-size"] = f"{-(-small * 10 // 7)} b"
        return self._both("sys.compact", f", options => '{','.join(map('='.join, options.items()))}'")

    def _both(self, procedure: str, arguments: str = "") -> Calls:
        return {
            "spark": [self._call(procedure, arguments)],
            "flink": [self._call(procedure, arguments, "`")],
        }


_REMOVE_DANGLING = (
    "gone = table.dangling_deletes().to_arrow()  # look at them",
    'table = lakebed.apply(gone, table, log="dangling.log").table',
)


def _text(words: str) -> str:
    """A text of Spark's SQL."""
    escaped = words.replace("\\", "\\\\").replace("'", "\\'")
    return f"'{escaped}'"


def _map(options: Mapping[str, str]) -> str:
    """A map of Spark's SQL."""
    return f"map({', '.join(repr(word) for pair in options.items() for word in pair)})"


def _expire(before: str, keep: int) -> tuple[str, ...]:
    # Before 3.11 Python does not read the `Z`.
    instant = before.replace("Z", "+00:00")
    time = f'datetime.fromisoformat("{instant}")'
    return (
        "from datetime import datetime",
        f"table, freed = table.expire_snapshots({time}, retain_last={keep})  # freed: files to be deleted",
    )
