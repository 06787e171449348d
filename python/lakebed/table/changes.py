"""What changed in a table's files: views of two snapshots, and of all."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lakebed._native import View
from lakebed.table.state import TableState
from lakebed.view import ViewScan, options, place_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from lakebed.predicates import Predicate


class ChangeViews(TableState):
    """Views of what came and went between snapshots, a row for each file."""

    def diff(
        self,
        snapshot_a: int | str,
        snapshot_b: int | str,
        *,
        columns: Sequence[str] | None = None,
        where: str | Predicate | None = None,
        stats: Sequence[str] | None = None,
        limit: int | None = None,
        threads: int | None = None,
    ) -> ViewScan:
        """One row per file that is live in exactly one of two snapshots: those removed, then those added.

        A file is the same in both if its path is, for Iceberg with its content and, of a deletion vector, its
        offset; for Paimon with the other parts of its identity, the level among them. That a manifest was
        rewritten is not a difference, nor is which of the two snapshots is the older. A file that a snapshot
        names twice counts twice.

        Args: snapshot_a, snapshot_b, ids, or names of tags or branches (of a tag, where there are both), as
            `at` finds them; the others as in `files`.
        Returns: `change` utf8 ("removed": live in `snapshot_a` only, "added": in `snapshot_b` only), then the
            columns of `files`, in the types of the schema of this table. Iceberg's delete files
            and deletion vectors are among them. A file of Paimon's that only an entry of the kind DELETE
            names is shown as that entry has it: it may lack statistics that `files` has, and give other
            sequence numbers.
        Raises: SnapshotNotFoundError (naming what is there); when read, MissingFileError for a snapshot whose
            manifest lists expired.
        Cost: the manifest lists of both; manifests that both have are not read. The others are read once for
            the identities of their files, and those in which something differs once more for the rows. Memory
            grows with the files that they name.
        Source: Paimon's `FileEntry.java` (merge); Iceberg's `DataFileSet.java`, `DeleteFileSet.java`.
        """
        view = View.diff(place_of("snapshot_a", snapshot_a), place_of("snapshot_b", snapshot_b))
        name = f"diff of {snapshot_a!r} and {snapshot_b!r}"
        return ViewScan(self._native, name, view, options(columns, where, stats, limit, threads))

    def appends(
        self,
        after: int | str | None = None,
        *,
        columns: Sequence[str] | None = None,
        where: str | Predicate | None = None,
        stats: Sequence[str] | None = None,
        limit: int | None = None,
        threads: int | None = None,
    ) -> ViewScan:
        """One row per data file that appends added after a snapshot, up to the one the table is at: what
        an incremental read has to read. The oldest append comes first.

        Compactions, overwrites and deletes are passed over, so a file may be gone by now; `diff` says what is
        there.

        Args: after, a snapshot's id, or the name of a tag or branch; what that snapshot itself appended is
            left out. It may have expired, as long as the next one has not. None for all appends that are
            still known. The others as in `files`.
        Returns: the columns of `files`.
        Raises: SnapshotNotFoundError where the table's snapshot was not made from `after`, or one in between
            is gone, naming what is there.
        Cost: Paimon: reads the snapshots in between and the delta lists of appends; Iceberg: reads the
            metadata file again, and one manifest list per append. Then the manifests of the appends that
            `where` leaves.
        Source: Paimon's `IncrementalDeltaStartingScanner.java`; Iceberg's `BaseIncrementalAppendScan.java`.
        """
        view = View.appends(None if after is None else place_of("after", after))
        name = "appends" if after is None else f"appends after {after!r}"
        return ViewScan(self._native, name, view, options(columns, where, stats, limit, threads))

    def file_history(
        self,
        *,
        columns: Sequence[str] | None = None,
        where: str | Predicate | None = None,
        stats: Sequence[str] | None = None,
        limit: int | None = None,
        threads: int | None = None,
    ) -> ViewScan:
        """One row for each file that the commit of a snapshot added or removed, of all snapshots that led to
        the table's snapshot, oldest first.

        Which snapshot added a file, and which removed it: `where="file_path = '…'"`. What a commit did is
        what its own manifests say; where they do not account for what the lists count, it is what `diff` of
        the snapshot before and this one says. Files of snapshots that expired have no row.

        Args: where, on the columns of this view and, joined by AND, on the table's columns as in `files`
            (Paimon: on its partition columns). A name that both have is the view's. The others as in `files`.
        Returns: `change` utf8 ("added" | "removed"), `snapshot_id` int64, `committed_at` timestamp[us, UTC],
            `operation` utf8, then the columns of `files` but for Iceberg's `snapshot_id`, in the types of the
            schema of this table. An entry that removes a file may lack statistics.
        Raises: PredicateError for one OR over columns of the view and of the table; when read, as `files`.
        Cost: the snapshots and the manifest lists of each; once each manifest that a commit wrote and that
            what is asked of partitions leaves. Memory is bounded.
        Source: as `growth`.
        """
        keywords = options(columns, where, stats, limit, threads)
        return ViewScan(self._native, "file_history", View.FILE_HISTORY, keywords)
