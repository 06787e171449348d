"""Problems in a row of `health`, and what to do about them."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field, replace
from itertools import chain
from typing import TYPE_CHECKING, Any, NamedTuple

from lakebed._display import count, size
from lakebed._display import thresholds as thresholds_of
from lakebed.advice.calls import ENGINES, Procedures
from lakebed.advice.names import TableName
from lakebed.advice.thresholds import SMALL_BYTES

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from lakebed.advice.calls import Calls
    from lakebed.advice.thresholds import Thresholds

KINDS = (
    *("small_file_count", "max_partition_file_count", "level_0_file_count", "position_delete_file_count"),
    *("equality_delete_file_count", "deleted_record_ratio", "dangling_delete_file_count"),
    *("small_manifest_count", "deleted_entry_count", "snapshot_count", "unused_key_count"),
)
"""The columns of `health` that may show a problem."""


class Instruction(NamedTuple):
    """One thing to do: a command to type between words, or words alone."""

    before: str
    command: str = ""
    after: str = ""

    def __str__(self) -> str:
        return f"{self.before}{self.quoted}{self.after}"

    @property
    def quoted(self) -> str:
        """The command in back quotes, whatever is within it; nothing where there is none."""
        return f"`{self.command}`" if self.command else ""


@dataclass(frozen=True)
class Finding:
    """A problem.

    Attributes: column, of `health`, that shows it; what, in words; action, what to do about it; calls, of
        each engine that can do it the statements to type, in their order; looks, what shows more.
    """

    column: str
    what: str
    action: str
    calls: Calls = field(default_factory=dict)
    looks: tuple[Instruction, ...] = ()

    @property
    def next_step(self) -> str:
        """What to do, in words, with the calls of the first engine that can do it."""
        return self.step()

    def step(self, engine: str = ENGINES[0]) -> str:
        """What to do, in words, with the calls of this engine, or of the first one where it has none."""
        return "; ".join(map(str, self.steps(engine)))

    def steps(self, engine: str = ENGINES[0]) -> list[Instruction]:
        """The same, one after the other."""
        chosen = engine if engine in self.calls else next((one for one in ENGINES if one in self.calls), None)
        if chosen is None:
            return [Instruction(self.action), *self.looks]
        first, *others = self.calls[chosen]
        begin = Instruction(f"{self.action}, in {chosen.capitalize()}: ", first)
        return [begin, *(Instruction("", call) for call in others), *self.looks]

    def to_dict(self) -> dict[str, Any]:
        """`column`, `what`, `next_step` and `calls`, as JSON has them."""
        return {"column": self.column, "what": self.what, "next_step": self.next_step, "calls": self.calls}


def findings(row: dict[str, Any], thresholds: Thresholds, name: TableName | None = None) -> list[Finding]:
    """The problems, in the order of the columns. Numbers that the row does not have say nothing.

    Each number is one that the calls change: where they would not, it is no problem.

    Args: row, of `health`; thresholds, with whose `small_bytes` it was made; name, of the table.
    """
    return list(_Row(row, thresholds, name or TableName()).findings())


def verdict(found: Sequence[Finding]) -> str:
    """All findings in one line."""
    return count(len(found), "problem") if found else "no problems found"


class _Row:
    """A row of `health` that is looked through."""

    def __init__(self, row: dict[str, Any], thresholds: Thresholds, name: TableName) -> None:
        numbers = {key: value for key, value in row.items() if isinstance(value, int | float)}
        self._of = defaultdict[str, Any](int, numbers)
        self._row, self._limits, self._table = row, thresholds, name.command
        self._on_branch = name.on_branch
        self._calls = Procedures.of(row.get("format", ""), name, thresholds, self._of)

    def findings(self) -> Iterator[Finding]:
        found = chain(
            *(self._small_files(), self._uneven(), self._waiting(), self._position_deletes()),
            *(self._deleted_rows(), self._dangling(), self._manifests(), self._snapshots(), self._keys()),
        )
        for one in found:
            # Engines would change another branch than this one.
            only = {"python": one.calls.get("python", [])} if self._on_branch else one.calls
            yield replace(one, calls={engine: typed for engine, typed in only.items() if typed})

    def _small_files(self) -> Iterator[Finding]:
        files, small, limits = self._of["file_count"], self._of["small_file_count"], self._limits
        # One file per bucket or partition is the least there can be.
        least = max(self._of.get("bucket_count", self._of["partition_count"]), 1)
        if small <= limits.small_files * least or 2 * small <= files:
            return
        asked = "" if limits.small_bytes == SMALL_BYTES else f" --small-bytes {limits.small_bytes}"
        is_said = limits.rewrite_bytes is not None and not self._of["max_level"]
        below, *rest = thresholds_of(limits.small_bytes, *((limits.rewrite_bytes or 0,) if is_said else ()))
        taken = "".join(f" (rewrites take those below {one})" for one in rest)
        yield Finding(
            "small_file_count",
            f"{small:,} of {files:,} data files are below {below}{taken}",
            "compact them",
            self._calls.compact(),
            (
                _look(
                    f"lakebed partitions {self._table} --sort -small_file_count{asked}",
                    "shows where they are",
                ),
            ),
        )

    def _uneven(self) -> Iterator[Finding]:
        """A partition that a compaction makes even: for certain at least half of its files are small."""
        files, partitions = self._of["file_count"], self._of["partition_count"]
        most, limits = self._of["max_partition_file_count"], self._limits
        small = most - (files - self._of["small_file_count"])
        is_uneven = partitions > 1 and most * partitions > limits.uneven * files
        if is_uneven and most > limits.uneven_files and 2 * small > most:
            average = files / partitions
            yield Finding(
                "max_partition_file_count",
                f"one partition has {most:,} of {files:,} data files, the average one {average:,.0f}",
                "compact it",
                self._calls.compact(),
                (_look(f"lakebed partitions {self._table} --sort -file_count", "names it"),),
            )

    def _waiting(self) -> Iterator[Finding]:
        waiting, buckets = self._of["level_0_file_count"], self._of["bucket_count"]
        # Tables without primary keys have no other level.
        if self._of["max_level"] > 0 and waiting > self._limits.waiting_files * max(buckets, 1):
            yield Finding(
                "level_0_file_count",
                f"{waiting:,} files in {buckets:,} buckets wait for compaction",
                "see whether compaction runs, or run it",
                self._calls.compact(),
            )

    def _position_deletes(self) -> Iterator[Finding]:
        dangling = self._of["dangling_delete_file_count"] - self._of["dangling_equality_delete_file_count"]
        position, files = self._of["position_delete_file_count"] - dangling, self._of["file_count"]
        if position > self._limits.position_deletes * files and files > 0:
            yield Finding(
                "position_delete_file_count",
                f"{position:,} position delete files for {files:,} data files",
                "merge them",
                # One for each data file is the least that merging leaves, whatever fewer are asked for.
                self._calls.merge_position_deletes()
                if self._limits.position_deletes >= 1
                else self._calls.apply_deletes(),
            )

    def _deleted_rows(self) -> Iterator[Finding]:
        dangling, files = self._of["dangling_equality_delete_file_count"], self._of["file_count"]
        equality = self._of["equality_delete_file_count"] - dangling
        calls = self._calls.apply_deletes()
        if equality > self._limits.equality_deletes * files:
            yield Finding(
                "equality_delete_file_count",
                f"{equality:,} equality delete files for {files:,} data files; readers compare every older "
                "row with them",
                "rewrite the data files that have deletes",
                calls,
            )
        if self._of["deleted_record_ratio"] > self._limits.deleted_ratio:
            yield Finding(
                "deleted_record_ratio",
                f"{self._of['deleted_record_ratio']:.0%} of the rows in data files are deleted",
                "rewrite the data files that have deletes",
                calls,
            )

    def _dangling(self) -> Iterator[Finding]:
        dangling, files = self._of["dangling_delete_file_count"], self._of["file_count"]
        if dangling <= self._limits.dangling_deletes * files:
            return
        amount = size(self._of["dangling_delete_size_in_bytes"])
        shown = f"lakebed verify {self._table}"
        if self._row.get("format") == "iceberg":
            shown = (
                f"lakebed deletes {self._table} --columns file_path,data_file_count --filter "
                "'data_file_count = 0'"
            )
        yield Finding(
            "dangling_delete_file_count",
            f"{dangling:,} of {self._of['delete_file_count']:,} delete files and vectors ({amount}) apply to "
            "no live data file",
            "remove them",
            self._calls.remove_dangling(),
            (_look(shown, "names them"),),
        )

    def _manifests(self) -> Iterator[Finding]:
        small, manifests = self._of["small_manifest_count"], self._of["manifest_count"]
        entries, gone = self._of["entry_count"], self._of["deleted_entry_count"]
        # Paimon's say that a file is deleted beside the entry that added it, Iceberg's in place of it.
        gone *= 2 if self._row.get("format") == "paimon" else 1
        of_deletes = self._of["delete_manifest_count"]
        calls = self._calls.rewrite_manifests()
        if small > self._limits.manifests:
            yield Finding(
                "small_manifest_count",
                f"{small:,} of {manifests:,} manifests are below 1 MiB",
                "merge them",
                calls,
            )
        # What is one manifest already no engine writes anew.
        one_each = manifests - of_deletes <= 1 and of_deletes <= 1
        if entries > self._limits.entries and 2 * gone > entries and not one_each:
            yield Finding(
                "deleted_entry_count",
                f"{gone:,} of {entries:,} manifest entries are of deleted files",
                "rewrite the manifests",
                calls,
            )

    def _snapshots(self) -> Iterator[Finding]:
        snapshots, newest = self._of["snapshot_count"], self._row.get("newest_snapshot_at")
        if snapshots <= self._limits.snapshots or newest is None:
            return
        # Half, so that the next commits are no problem again.
        keep, before = max(self._limits.snapshots // 2, 1), _time(newest)
        calls = self._calls.expire_snapshots(keep, before)
        yield Finding(
            "snapshot_count",
            f"{snapshots:,} snapshots are kept, with each file that only an older one has",
            f"expire all but the newest {keep:,}",
            calls,
            (
                _look(
                    f"lakebed expire-plan {self._table} --older-than {before} --retain-last {keep}",
                    "shows what that would free",
                ),
            ),
        )

    def _keys(self) -> Iterator[Finding]:
        keys = self._of["unused_key_count"]
        if keys:
            yield Finding(
                "unused_key_count",
                f"{count(keys, 'key')} of the encrypted metadata {'is' if keys == 1 else 'are'} used by "
                "nothing",
                "expiry leaves them behind; the update `remove-encryption-key` of REST catalogs removes them",
            )


def _look(command: str, what: str) -> Instruction:
    """A command of lakebed, and what it does."""
    return Instruction("", command, f" {what}")


def _time(time: Any) -> str:
    """A time in UTC as ISO 8601 has it, with `Z`."""
    text = time if isinstance(time, str) else time.isoformat()
    return text.replace("+00:00", "Z")
