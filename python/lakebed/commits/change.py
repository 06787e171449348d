"""A change of a table, as each format takes it, and its result."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from lakebed.errors import UnsupportedError
from lakebed.storage.paths import local_path

if TYPE_CHECKING:
    from lakebed._native import IcebergAction, PaimonChange
    from lakebed.scan import Scan
    from lakebed.table import Table


@dataclass(frozen=True)
class CommitOptions:
    """What a snapshot records of its commit.

    Attributes:
        properties: pairs of texts that the new snapshot keeps: more keys of Iceberg's summary, Paimon's
            properties.
        user: (Paimon) who commits; None for a new UUID.
        identifier: (Paimon) the user's number of this commit. If a snapshot of the same user, number and kind
            exists, nothing is committed and the table is returned at that snapshot; all snapshots are read to
            find it. None for batch writers.
        watermark: (Paimon) the event time before which all rows have arrived; the snapshot has the larger of
            this and the previous one.
    """

    properties: Mapping[str, str] = field(default_factory=dict)
    user: str | None = None
    identifier: int | None = None
    watermark: int | None = None

    @property
    def of_paimon(self) -> dict[str, Any]:
        """What only Paimon's snapshots keep, as far as it is given."""
        given = {"user": self.user, "identifier": self.identifier, "watermark": self.watermark}
        return {name: value for name, value in given.items() if value is not None}


PLAIN = CommitOptions()
"""Of a commit that says nothing of itself."""


class Freed(NamedTuple):
    """What is left of a table after a commit, and what nothing of it reaches any more."""

    table: Table
    """The table after the commit, at the head of its branch."""
    files: Scan
    """The files that the commit has freed, in the columns of `Table.reachable`; of Iceberg also a row without
    a path for each snapshot, branch and tag that was removed. Of Iceberg a lazy scan, which asks for the
    newest version of the table when its rows are read; of Paimon they were found before anything was removed.
    The files are there still: delete them, or leave them to `Table.orphans`."""


@dataclass(frozen=True)
class StagedCommit:
    """A commit to an Iceberg table whose files are written, for the table's catalog to make.

    Attributes:
        files: the manifests and manifest lists that were written, as the metadata names them.
        metadata: the table's metadata after the commit, as `lakebed.iceberg.write_metadata` takes it.
        requirements: what must still hold of the table, and
        updates: what changes, both as the REST catalog specification spells them in JSON
            (`CommitTableRequest`), and as PyIceberg's `TableRequirement` and `TableUpdate` are made of it.
    Source: Apache Iceberg's `open-api/rest-catalog-open-api.yaml`.
    """

    files: tuple[str, ...]
    metadata: dict[str, Any]
    requirements: list[dict[str, Any]]
    updates: list[dict[str, Any]]
    _storage: Any = field(default=None, repr=False, compare=False)

    @property
    def snapshot_id(self) -> int | None:
        """The id of the last snapshot that the commit makes; None where it makes none."""
        added = [one["snapshot"] for one in self.updates if one["action"] == "add-snapshot"]
        return int(added[-1]["snapshot-id"]) if added else None

    def discard(self) -> None:
        """Removes the files, where the catalog has refused the commit; those that are already removed are no
        error.
        """
        for file in self.files:
            if self._storage is None:
                # Paths are in the metadata as they are: nothing in them is escaped.
                Path(local_path(file) or file).unlink(missing_ok=True)
            else:
                with contextlib.suppress(FileNotFoundError):
                    self._storage.remove(file)


@dataclass(frozen=True)
class Change:
    """A change, as the core of each format takes it.

    Attributes: name, of the method that makes it; iceberg and paimon, the change of a table of that format,
        or what makes it, None where the format has none; options, what its commit says of itself; then, the
        table that is returned, of the one after the commit; on, the branch that it changes, where that need
        not be the table's; off, the branch that it removes.
    """

    name: str
    iceberg: IcebergAction | Callable[[Table], IcebergAction] | None = None
    paimon: PaimonChange | Callable[[Table], PaimonChange] | None = None
    options: CommitOptions = PLAIN
    then: Callable[[Table], Table] | None = None
    on: str | None = None
    off: str | None = None

    def __post_init__(self) -> None:
        given: object = self.options
        if not isinstance(given, CommitOptions):
            raise TypeError(f"options takes CommitOptions, not {given!r}")

    def table(self, table: Table) -> Table:
        """The table to commit to: on the branch that is changed, and not on one that Iceberg is to remove."""
        if self.on is not None and self.on != table.branch:
            return table.at(branch=self.on)
        is_off = self.off == table.branch and table.format == "iceberg"
        return table.at(branch="main") if is_off and self.off != "main" else table

    def of_iceberg(self, table: Table) -> IcebergAction:
        """The change of an Iceberg table. Raises: UnsupportedError where Iceberg has none."""
        if self.iceberg is None:
            raise unsupported(f"{self.name} is of Paimon's tables", table)
        if self.options.of_paimon:
            raise unsupported(f"commits of Iceberg tables have no {', '.join(self.options.of_paimon)}", table)
        return self.iceberg(table) if callable(self.iceberg) else self.iceberg

    def of_paimon(self, table: Table) -> PaimonChange:
        """The change of a Paimon table. Raises: UnsupportedError where Paimon has none, and for a table of a
        format that is only read.
        """
        if table.format != "paimon":
            raise unsupported(f"{table.format} tables take no {self.name}", table)
        if self.paimon is None:
            raise unsupported(f"{self.name} is of Iceberg's tables", table)
        return self.paimon(table) if callable(self.paimon) else self.paimon


def unsupported(message: str, table: Table) -> UnsupportedError:
    """The error of what the table's format does not have."""
    return UnsupportedError(f"{message} ({table.location})", kind="unsupported", path=table.location)


def only(name: str, table: Table, **given: tuple[Any, Any]) -> None:
    """Refuses arguments that the table's format does not have.

    Args: given, of each argument its value and its default.
    Raises: UnsupportedError with the argument as `.field`.
    """
    for argument, (value, default) in given.items():
        # Values of other types, such as data frames, compare to something that is neither true nor false.
        if value is not default and not (type(value) is type(default) and value == default):
            error = unsupported(f"{name} of {table.format} tables takes no {argument}", table)
            error.field = argument
            raise error
