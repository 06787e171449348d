"""From which number on something is a problem: asked for, configured, said by the table, or by default."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING, Any

from lakebed._native import paimon_memory_size

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

SMALL_BYTES = 32 * 2**20
"""Data files with fewer bytes are small, unless another number is asked for."""

_MIB = 2**20
_NUMBER = re.compile(r"\d{1,18}", re.ASCII)


@dataclass(frozen=True)
class Thresholds:
    """From which numbers on a table has problems. The defaults are those of no table in particular.

    What writers do by themselves is not a problem, so the defaults of a table are those of its format:
    `Thresholds.of` has them.

    Attributes:
        small_bytes: data files with fewer bytes are small.
        small_files: small files per partition (Iceberg) or bucket (Paimon) that are none too many.
        uneven: how many times the average a partition's data files may be,
        uneven_files: and how many of them are none too many.
        waiting_files: (Paimon) files of level 0 per bucket that are none too many.
        position_deletes: (Iceberg) position delete files per data file.
        equality_deletes: (Iceberg) equality delete files per data file.
        dangling_deletes: delete files and vectors that apply to no live data file, per data file.
        deleted_ratio: deleted rows of all rows in data files.
        manifests: manifests below 1 MiB.
        entries: entries of manifests, of which half may then be of deleted files.
        snapshots: snapshots.
        rewrite_bytes: below so many bytes the table's own rewrite takes a file; None where nothing says it.
        origins: where a value is from that is not a default: a file, a property, the command line.
    """

    small_bytes: int = SMALL_BYTES
    small_files: float = 2
    uneven: float = 10
    uneven_files: int = 100
    waiting_files: float = 5
    position_deletes: float = 1
    equality_deletes: float = 0.1
    dangling_deletes: float = 0.1
    deleted_ratio: float = 0.1
    manifests: int = 100
    entries: int = 1000
    snapshots: int = 500
    rewrite_bytes: int | None = field(default=None, metadata={"known": True})
    origins: Mapping[str, str] = field(default_factory=dict, compare=False, metadata={"known": True})

    @classmethod
    def of(
        cls,
        table_format: str,
        properties: Mapping[str, str],
        *given: tuple[str, Mapping[str, Any]],
    ) -> Thresholds:
        """Those of a table.

        Args: table_format and properties, the table's; given, where values are from and what they are, the
            first to count first.
        Source: Iceberg's `TableProperties.java`, `SizeBasedFileRewritePlanner.java`; Paimon's
            `CoreOptions.java`.
        """
        says = _Properties(properties)
        rewrite = says.paimon() if table_format == "paimon" else says.iceberg()
        values: dict[str, Any] = {"manifests": _MANIFESTS.get(table_format, cls.manifests), **says.values}
        origins = dict(says.origins)
        for origin, asked in reversed(given):
            for name, value in asked.items():
                values[name], origins[name] = value, origin
        return cls(**values, rewrite_bytes=rewrite, origins=origins)

    def in_force(self) -> list[tuple[str, float, str]]:
        """Each threshold: its name, its value and where that is from."""
        return [(name, getattr(self, name), self.origins.get(name, "default")) for name in NAMES]


NAMES: Sequence[str] = tuple(one.name for one in fields(Thresholds) if not one.metadata.get("known"))
"""The thresholds that may be set."""

WHOLE = frozenset({"small_bytes", "uneven_files", "manifests", "entries", "snapshots"})
"""Those that are whole numbers."""

# Iceberg merges manifests from 100 on, Paimon from 30 on.
_MANIFESTS = {"iceberg": 100, "paimon": 30}


class _Properties:
    """What a table's properties say of thresholds. What an engine would refuse says nothing."""

    def __init__(self, properties: Mapping[str, str]) -> None:
        self._properties = properties
        self.values: dict[str, float] = {}
        self.origins: dict[str, str] = {}

    def iceberg(self) -> int:
        """Those of Iceberg; the result is below how many bytes `rewrite_data_files` takes a file."""
        self._least("snapshots", "history.expire.min-snapshots-to-keep")
        self._set("manifests", "commit.manifest.min-count-to-merge")
        name = "write.target-file-size-bytes"
        return self._rewrite(name, self._number(name), 512 * _MIB, 0.75)

    def paimon(self) -> int:
        """Those of Paimon; the result is below how many bytes a compaction takes a file."""
        self._least("snapshots", "snapshot.num-retained.min")
        self._set("manifests", "manifest.merge-min-count")
        self._set("waiting_files", "num-sorted-run.compaction-trigger")
        try:
            ratio = float(self._properties.get("compaction.small-file-ratio", "0.7"))
        except ValueError:
            ratio = 0.7
        name = "target-file-size"
        return self._rewrite(name, size_of(self._properties.get(name, "")), 256 * _MIB, ratio)

    def _rewrite(self, name: str, found: int | None, default: int, ratio: float) -> int:
        """Of the target size of files. Where even those count as small, no rewrite could end that."""
        rewrite = math.floor((found or default) * ratio)
        if found and rewrite < SMALL_BYTES:
            self.values["small_bytes"], self.origins["small_bytes"] = rewrite, name
        return rewrite

    def _set(self, threshold: str, name: str) -> None:
        if (found := self._number(name)) is not None:
            self.values[threshold], self.origins[threshold] = found, name

    def _least(self, threshold: str, name: str) -> None:
        """Of what the table keeps by itself, which is no problem however much it is."""
        found = self._number(name)
        if found is not None and found > getattr(Thresholds, threshold):
            self.values[threshold], self.origins[threshold] = found, name

    def _number(self, name: str) -> int | None:
        text = self._properties.get(name, "")
        return int(text) if _NUMBER.fullmatch(text) else None


def size_of(text: str) -> int | None:
    """The bytes of an option as Paimon writes them; None where it is no size above 0."""
    return paimon_memory_size(text) or None
