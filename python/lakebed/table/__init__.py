"""A table: where it is, which snapshot it is at, and its views.

`history`, `contents` and `jobs` have the views, a function each; `opening` has how a table was opened.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from lakebed import _html, _native, _overview
from lakebed._pyarrow import pa
from lakebed.commits.adding import add_files
from lakebed.commits.change import Freed
from lakebed.commits.changes import Changes
from lakebed.commits.transaction import Staging, Transaction, commit
from lakebed.errors import UnsupportedError
from lakebed.table import contents, history, jobs
from lakebed.version import AnyVersion, Version, place_of
from lakebed.view import place

if TYPE_CHECKING:
    from datetime import datetime

    from lakebed.commits.change import Change
    from lakebed.table.opening import Opening


class Table(Changes["Table", Freed]):
    """A table that is at one snapshot. `open_table` opens one; `at` gives the same table at another.

    The views return a lazy `Scan`. All take `columns`, `filter`, a condition on the view's own columns,
    `limit` and `threads`; those whose rows are files, manifests, entries or sums of them also `where`, a
    condition on the table's columns; those whose rows are files or entries also `stats`.

    They raise SchemaError for a column that is not there and PredicateError for a `where` or `filter` that
    cannot be bound, at once; errors of the data are raised when the scan is read.

    Attributes: core, the table of the compiled core; opening, how it was opened. Both are for lakebed's own
    modules.
    """

    core: _native.Table
    opening: Opening

    def __init__(self, *_: object, **__: object) -> None:
        raise TypeError("lakebed.open_table(path) opens tables, lakebed.create_table(…) makes them")

    snapshots = history.snapshots
    refs = history.refs
    schemas = history.schemas
    changelogs = history.changelogs
    growth = history.growth
    diff = history.diff
    appends = history.appends
    file_history = history.file_history
    changes = history.changes

    manifests = contents.manifests
    entries = contents.entries
    files = contents.files
    deletes = contents.deletes
    indexes = contents.indexes
    partitions = contents.partitions
    buckets = contents.buckets
    columns = contents.columns
    overlap = contents.overlap
    compaction_plan = contents.compaction_plan
    health = contents.health
    plan = contents.plan
    metadata_table = contents.metadata_table

    reachable = jobs.reachable
    totals = jobs.totals
    orphans = jobs.orphans
    expire_plan = jobs.expire_plan
    dangling_deletes = jobs.dangling_deletes
    repair_plan = jobs.repair_plan
    verify = jobs.verify

    add_files = add_files

    @property
    def format(self) -> str:
        """The table format: "paimon" or "iceberg"."""
        return self.core.format

    @property
    def format_version(self) -> int | None:
        """Iceberg: 1, 2 or 3; None for Paimon, whose files have versions of their own."""
        return self.core.format_version

    @property
    def location(self) -> str:
        """Where the table is, without credentials."""
        return _native.location_of(self.core.location)

    @property
    def snapshot_id(self) -> int | None:
        """The snapshot the table is at; None for a table without one."""
        return self.core.snapshot_id

    @property
    def branch(self) -> str:
        """The branch the table is on, "main" for the table itself."""
        return self.core.branch

    @property
    def tag(self) -> str | None:
        """The tag that `at` asked for, or None."""
        return self.core.tag

    @property
    def schema(self) -> pa.Schema:
        """The columns of the table's rows, in the Arrow types that views show their values in.

        The latest schema, or that of the snapshot that `at` asked for. Cost: none, it was read when the
        table was opened.
        """
        return pa.schema(self.core.data_schema)

    @property
    def properties(self) -> dict[str, str]:
        """Paimon: the options of the schema; Iceberg: the table's properties."""
        return self.core.properties

    @property
    def metadata_tables(self) -> list[str]:
        """The names of the engine's own metadata tables: "options" means `orders$options`."""
        return self.core.metadata_tables

    def at(
        self,
        version: AnyVersion | None = None,
        *,
        snapshot: int | None = None,
        tag: str | None = None,
        branch: str | None = None,
        timestamp: datetime | int | None = None,
        watermark: int | None = None,
    ) -> Table:
        """The same table at another snapshot; snapshots, tags and times are those of the branch it is on.

        Args:
            version: a `Version`, a snapshot's id, the name of a tag (or, where there is none of that name, of
                a branch), a time, or the keywords of a `Version` in a dict; in its place exactly one of the
                others.
            snapshot: an id. A snapshot that expired is not found by it, even if a tag has it: ask for that.
            tag: a name. Paimon's tags hold their snapshot, so that may have expired.
            branch: a name; "main" is the table itself. Gives the branch's latest snapshot (none
                where nothing was committed to it) and latest schema; the others, their snapshot's schema.
            timestamp: the snapshot that was the latest then. An int counts milliseconds since 1970 UTC; a
                datetime without zone is local time of this machine, as everywhere in Python. Iceberg reads
                the log of `main`.
            watermark: (Paimon) the earliest snapshot with this watermark or a later one, in the writer's own
                unit.
        Raises: SnapshotNotFoundError (naming what is there); UnsupportedError for a watermark of Iceberg's;
            TypeError for none or several.
        Cost: Paimon: reads one snapshot and one schema; by `timestamp` lists the snapshots and reads some of
            them, by `watermark` all of them up to the one found. Iceberg: reads the metadata file again.
        Source: Paimon's `TimeTravelUtil.java`, `SnapshotManager.java`; Iceberg's `SnapshotUtil.java`.
        """
        given = (snapshot, tag, branch, timestamp, watermark)
        if version is None:
            version = Version(*given)
        elif given != (None,) * len(given):
            raise TypeError("at() takes a version or its keywords, not both")
        return table_of(self.core.at(place_of("version", version)), self.opening)

    def refresh(self) -> Table:
        """The same table at what is newest now, on the branch it is on; this one stays where it is.

        Of a catalog's table the catalog is asked which version is current, and for new credentials. Of a
        table that was opened by a metadata file, without a catalog, that file stays the newest.
        Raises: as `open_table`; UnsupportedError for PyIceberg's `StaticTable`, which has no catalog;
            TableNotFoundError where the catalog has it no more; SnapshotNotFoundError for a branch that
            does not exist any more; OSError from the catalog.
        Cost: Iceberg: the hint, or the question to the catalog, and the metadata file if it is another than
            before. Paimon: the hint, one snapshot and one schema.
        """
        return table_of(*self.opening.refreshed(self.core))

    def __reduce__(self) -> tuple[Reopening, tuple[()]]:
        try:
            return Reopening.of(self, asks=True), ()
        except UnsupportedError:
            # Of a catalog's table that was given without the catalog, which then nobody asks, or whose
            # catalog this process alone can ask.
            reopening, entry = Reopening.of(self), self.opening.entry
            pointer = None if entry is None else entry.elsewhere()
            return replace(reopening, opening=replace(reopening.opening, pointer=pointer)), ()

    def transaction(self) -> Transaction:
        """Begins several changes that are made in one commit.

        >>> with table.transaction() as tx:
        ...     tx.update_properties({"owner": "etl"})
        ...     tx.append_files(files)
        >>> table = tx.table
        """
        return Transaction(self)

    def stage(self) -> Staging:
        """(Iceberg) Writes the files of a change for a catalog to commit:
        `table.stage().append_files(files)`.

        Raises: UnsupportedError for a Paimon table, whose snapshots are files themselves.
        """
        return Staging(self)

    def _changed(self, change: Change) -> Table:
        table, _ = commit(self, change)
        return table if change.then is None else change.then(table)

    def _freed(self, change: Change) -> Freed:
        table, freed = commit(self, change)
        return Freed(table, freed())

    def __repr__(self) -> str:
        return f"<lakebed {self.format} table {self.location!r} {place(self.core)}>"

    def _repr_html_(self) -> str:
        """What the table is, and its live files, rows and bytes.

        Cost: reads the manifest lists, and the manifests where those are at most 64 and have 16 MiB together;
        of a larger table it says so in place of the numbers.
        """
        # Names alone: values may be keys to a storage, and notebooks are shown around.
        named = ", ".join(sorted(self.properties))
        return _html.table(
            ("", ""),
            _overview.lines(self),
            caption=f"{self.format} table {place(self.core)}",
            note=f"options: {named}" if named else "",
        )


@dataclass(frozen=True)
class Reopening:
    """Opens a table again, in another process too, at the same snapshot, tag or branch; its `repr` shows
    nothing that may be secret.

    Attributes: version, None for the newest version of the branch.
    """

    opening: Opening
    format: str
    branch: str
    version: Version | None

    @staticmethod
    def of(table: Table, *, newest: bool = False, asks: bool = False) -> Reopening:
        """Of a table that is open.

        Args: newest, whether its newest version is wanted, whichever snapshot it is at; asks, whether a
            catalog is to be asked which version that is.
        Raises: UnsupportedError for a table of PyIceberg's without a catalog, if that is to be asked.
        """
        version = None
        if not newest and table.snapshot_id is not None:
            version = Version(snapshot=table.snapshot_id) if table.tag is None else Version(tag=table.tag)
        return Reopening(table.opening.for_workers(asks=asks), table.format, table.branch, version)

    def __call__(self) -> Table:
        """The table. Raises: as `open_table` and `Table.at`."""
        table = table_of(self.opening.core(self.format, self.branch), self.opening)
        return table if self.version is None else table.at(self.version)


def table_of(core: _native.Table, opening: Opening) -> Table:
    """The table that the core has opened."""
    table: Any = object.__new__(Table)
    table.core, table.opening = core, opening
    made: Table = table
    return made
