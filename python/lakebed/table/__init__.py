"""A table: where it is, which snapshot it is at, and its views.

`standing` holds what it is and `opening` how it was opened; `history`, `content`, `groups`, `changes`,
`planning`, `verifying` and `jobs` its views, each kind by itself.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from lakebed import _html
from lakebed._arguments import bounded, encodable, milliseconds, snapshot_id
from lakebed._native import Place, View
from lakebed.scan import Scan
from lakebed.table import overview
from lakebed.table.changes import ChangeViews
from lakebed.table.content import ContentViews
from lakebed.table.groups import GroupViews
from lakebed.table.history import HistoryViews
from lakebed.table.jobs import JobViews
from lakebed.table.planning import PlanViews
from lakebed.table.verifying import VerifyViews
from lakebed.view import options, place

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    from lakebed.predicates import Predicate


class Table(HistoryViews, ContentViews, GroupViews, ChangeViews, PlanViews, VerifyViews, JobViews):
    """A table that is at one snapshot. `open_table` makes one; `at` gives the same table at another.

    The views take the same keywords and return a lazy `Scan`:

        columns: names of the columns wanted, in this order; what is not asked for is not decoded.
        where: SQL-like text, or a condition made with `lakebed.col`: on the table's columns where rows are
            manifests, files or sums of them, else on the view's own.
        stats: (`entries`, `files`, `plan`, `diff`, `appends`, `file_history`) names of table columns whose
            typed bounds and counts are wanted.
        limit: rows at most.
        threads: None for all cores.

    They raise SchemaError for a column that is not there and PredicateError for a `where` that cannot be
    bound, at once; errors of the data come when the scan is read.
    """

    def at(
        self,
        *,
        snapshot: int | None = None,
        tag: str | None = None,
        branch: str | None = None,
        timestamp: datetime | int | None = None,
        watermark: int | None = None,
    ) -> Table:
        """The same table at another snapshot; snapshots, tags and times are those of the branch it is on.

        Args: exactly one of
            snapshot: an id. A tag does not stand in for a snapshot that expired: ask for the tag.
            tag: a name. Paimon's tags hold their snapshot, so that may have expired.
            branch: a name; "main" goes back to the table itself. Gives the branch's latest snapshot (none
                where nothing was committed to it) and latest schema; the others, their snapshot's schema.
            timestamp: the snapshot that was the latest then. An int counts milliseconds since 1970 UTC; a
                datetime without zone is local time of this machine, as everywhere in Python. Iceberg goes by
                the log of `main`.
            watermark: (Paimon) the earliest snapshot with this watermark or a later one, in the writer's own
                unit.
        Raises: SnapshotNotFoundError (naming what is there); UnsupportedError for a watermark of Iceberg's;
            TypeError for none or several.
        Cost: Paimon: reads one snapshot and one schema; by `timestamp` lists the snapshots and reads some of
            them, by `watermark` all of them up to the one found. Iceberg: reads the metadata file again.
        Source: Paimon's `TimeTravelUtil.java`, `SnapshotManager.java`; Iceberg's `SnapshotUtil.java`.
        """
        places = [
            None if snapshot is None else Place.snapshot(snapshot_id(snapshot)),
            None if tag is None else Place.tag(encodable("tag", tag)),
            None if branch is None else Place.branch(encodable("branch", branch)),
            None if timestamp is None else Place.timestamp(milliseconds(timestamp)),
            None if watermark is None else Place.watermark(bounded(watermark)),
        ]
        given = [place for place in places if place is not None]
        if len(given) != 1:
            raise TypeError("at() takes exactly one of snapshot, tag, branch, timestamp, watermark")
        return Table(self._native.at(given[0]), self._storage, self._opening)

    def refresh(self) -> Table:
        """The same table at what is newest now, on the branch it is on; this one stays where it is.

        Of a catalog's table the catalog is asked which version is current, and for new credentials. Of a
        table that was opened by a metadata file, without a catalog, that file stays the newest.
        Raises: as `open_table`; UnsupportedError for PyIceberg's `StaticTable`, which has no catalog;
            TableNotFoundError where the catalog has it no more; SnapshotNotFoundError for a branch that is
            gone; OSError from the catalog.
        Cost: Iceberg: the hint, or the question to the catalog, and the metadata file if it is another than
            before. Paimon: the hint, one snapshot and one schema.
        """
        if self._opening is None:
            return Table(self._native.refreshed(), self._storage)
        native, opening = self._opening.refreshed(self._native, self._storage)
        return Table(native, self._storage, opening)

    @property
    def metadata_tables(self) -> list[str]:
        """The names of the engine's own metadata tables: "options" means `orders$options`."""
        return self._native.metadata_tables

    def metadata_table(
        self,
        name: str,
        *,
        columns: Sequence[str] | None = None,
        where: str | Predicate | None = None,
        limit: int | None = None,
        threads: int | None = None,
    ) -> Scan:
        """One of the engine's own metadata tables, with its column names, order, types and texts.

        Args: name, one of `metadata_tables`; where, on the metadata table's own columns; the others as in
            all views.
        Raises: SchemaError (no such metadata table or column), PredicateError; errors of the data when read.
        Units: Paimon's TIMESTAMP(3) columns are timestamp[us] without a zone; instants are printed in UTC,
            where the engine takes the zone of its machine.
        Cost: that of the view of the same kind.
        Source: Paimon's package `org.apache.paimon.table.system`; Iceberg's `MetadataTableType.java`.
        """
        view = View.metadata_table(encodable("name", name))
        scan = self._native.scan(view, options(columns, where, None, limit, threads))
        return Scan(scan, f"metadata table {name} of {self.location!r}")

    def __repr__(self) -> str:
        return f"<lakebed {self.format} table {self.location!r} {place(self._native)}>"

    def _repr_html_(self) -> str:
        """What the table is, and its live files, rows and bytes.

        Cost: reads the manifest lists, and the manifests where those are at most 64 and have 16 MiB together;
        of a larger table it says so in place of the numbers.
        """
        # Names alone: values may be keys to a storage, and notebooks are shown around.
        named = ", ".join(sorted(self.properties))
        return _html.table(
            ("", ""),
            overview.lines(self),
            caption=f"{self.format} table {place(self._native)}",
            note=f"options: {named}" if named else "",
        )
