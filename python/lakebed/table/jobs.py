"""Views for those who clean up and repair: which files are reached, which are orphans, what an expiry would
free, and what is wrong. Rows only: `lakebed.apply` acts on those that were reviewed.
"""

from __future__ import annotations

from datetime import datetime, timedelta, timezone
from typing import TYPE_CHECKING, Any

from lakebed._arguments import MOST_RETAINED, age, milliseconds, names, positive
from lakebed._keywords import Keywords
from lakebed._listing import listing_of
from lakebed._native import View
from lakebed.view import ViewScan, view

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from typing_extensions import Unpack

    from lakebed.cleaning.described import Contradictions
    from lakebed.table import Table

THREE_DAYS = timedelta(days=3)
"""How long a commit may be under way before its files are taken for orphans."""


@view(Keywords)
def reachable(self: Table, **given: Unpack[Keywords]) -> ViewScan:
    """One row per file that anything of the table still reaches, whichever snapshot the table is at:
    snapshots, tags, branches, changelogs, and the table itself.

    A snapshot reaches the files that are live in it, not those that its entries only say are deleted.

    Returns: `file_path` utf8 (full, as written), `kind` utf8 ("data", "manifest", "manifest list",
        "statistics", "extra" for files beside data files and manifests; Iceberg's "metadata", "position
        deletes", "equality deletes", "deletion vectors", "partition statistics"; Paimon's "snapshot",
        "tag", "changelog", "changelog data", "schema", "consumer", "index manifest", "index"; "hint"),
        `file_size_in_bytes` int64 (as recorded; null where nothing records it), `first_snapshot_id` and
        `last_snapshot_id` int64 (in the order of commits; null for what the table itself keeps),
        `first_reached_by` and `last_reached_by` utf8 ("snapshot 3", "tag v1", "changelog 2", with "of
        branch b" after on a branch of Paimon's; "table", "branch b", "metadata log"), `is_current` bool
        (whether the table itself or its snapshot reaches it). Files of the metadata are first, the others in
        no order that means anything.
    Raises: SchemaError, PredicateError, at once; when it is read, CorruptError and its kin for a list or
        manifest that is damaged, OSError for one that is missing.
    Cost: Iceberg: the metadata file and each manifest list; Paimon: the snapshots, tags and changelogs of
        every branch, their lists and index manifests. Then each manifest once, however many snapshots
        have it. With a condition on `kind` only lists and manifests that may name such files are read.
        Memory: some 200 bytes a file and manifest, up to 256 MiB; past that, what is known of files is on
        disk, in the system's folder for temporary files, and is read back in 64 parts.
    Source: Iceberg's `ReachableFileUtil.java`; Paimon's `OrphanFilesClean.java`.
    """
    return ViewScan(self, "reachable", View.REACHABLE, given)


@view(Keywords)
def totals(
    self: Table,
    orphans: bool = False,
    *,
    older_than: timedelta | datetime | None = THREE_DAYS,
    **given: Unpack[Keywords],
) -> ViewScan:
    """One row per kind of file that the table has: how many there are, how large they are, and how much of
    that its snapshot reaches, only others reach, and nothing reaches.

    Args:
        orphans: look also for files that nothing reaches.
        older_than: with `orphans`, only files last modified longer ago than this, or before this instant;
            None for all.
    Returns: `kind` utf8, of `reachable` ("data", "position deletes", "deletion vectors", "equality deletes",
        "manifest", "manifest list", "metadata", "statistics", "index" …), in the order of its letters, last
        "unknown", orphans, whose kind nothing says; then int64 `file_count` and `file_size_in_bytes` (as
        recorded: null where nothing records it), `current_file_count` and `current_file_size_in_bytes` of
        what the table's snapshot or the table itself reaches, `older_file_count` and
        `older_file_size_in_bytes` of what only other snapshots, tags, branches, changelogs or the metadata
        log reach, `orphan_file_count` and `orphan_file_size_in_bytes` of what nothing reaches (null where
        that is not asked for).
    Raises: when read, what `reachable` raises, and with orphans what `orphans` raises.
    Cost: that of `reachable`, and with orphans that of `orphans` besides. Memory is theirs.
    Source: Iceberg's `ReachableFileUtil.java`; Paimon's `OrphanFilesClean.java`.
    """
    lying = None
    if orphans:
        before = None if older_than is None else age("older_than", older_than)
        lying = View.orphans(before, _now(), None, self.opening.newest(self.core), [], [])
    return ViewScan(self, "totals", View.totals(lying), given)


@view(Keywords)
def orphans(
    self: Table,
    older_than: timedelta | datetime | None = THREE_DAYS,
    listing: Any = None,
    *,
    equal_schemes: Mapping[str, str] | None = None,
    equal_authorities: Mapping[str, str] | None = None,
    **given: Unpack[Keywords],
) -> ViewScan:
    """One row per file that is in the table's folders and that nothing of the table reaches.

    Files are listed first. Then the newest version of the table is read, whatever its snapshot, and
    before the first row snapshots, refs, tags, branches, changelogs and the catalog's pointer are read
    again, until nothing is new: what happens in the meantime takes rows out. All this happens when the
    rows are read. Of a table opened by a metadata file without a catalog that file stays the newest: what
    later commits added would be an orphan.

    Looked at is what the format's engine looks at. Iceberg: everything below the table's location whose
    path has no name that begins with `_` or `.`, but for partition fields called so. Paimon: the folders
    `manifest`, `index` and `statistics`, those of buckets at the depth of the partition keys, also below
    `data-file.path-directory`, and what is neither snapshot nor changelog nor hint beside those; files
    are told apart by their names alone, and whatever a manifest names, also as deleted, is none. Of both
    what a killed lakebed process left. Folders of other tables in the table's own, and folders outside it
    that `data-file.external-paths` names, are passed over with a warning.

    Args:
        older_than: only files last modified longer ago than this, or before this instant; younger ones may be
            of a commit that is under way. None for all, which is safe only while nobody writes.
        listing: what is there, where you know: anything with `__arrow_c_stream__` or a Dataset of pyarrow,
            with the columns `path` (full: scheme, bucket and key), `size` [bytes] (may be absent) and
            `modified` (a timestamp; one without zone is UTC), as an inventory of a bucket has them, with
            decoded paths. Of rows whose `is_latest` is false or `is_delete_marker` true (may be absent) none
            counts. Files that are not the table's are passed over; a RecordBatchReader is read once. None
            lists the folders.
        equal_schemes: which schemes mean the same: `{"oss": "s3"}`; s3, s3a and s3n are one, gs and gcs, the
            names of Azure's, `file:` and no scheme.
        equal_authorities: which buckets or hosts mean the same: `{"old-bucket": "bucket"}`.
    Returns: `file_path` utf8, as listed; `file_size_in_bytes` int64 and `modified_at` timestamp[us, UTC]
        (null where the listing does not say); `kind` utf8 ("unknown": nothing says it); what `lakebed.apply`
        needs, the same in all rows: `table_id` utf8 (Iceberg's UUID; of Paimon the id of the earliest schema
        and when it was made; null where nothing tells the table from others), `planned_at`
        timestamp[us, UTC], when the view was asked for, and `plan` utf8, the view and its rules as JSON.
    Raises: UnsupportedError for an Iceberg table with `gc.enabled` false, and for a storage that lists
        names alone; LocationError where metadata and listing name a file at the same path of different
        schemes or authorities that nobody said are equal: it is never an orphan; for an Iceberg table
        whose `location` is not where it was opened, and for a file that `relocate` leaves out; for a
        listing that spells a file of the table in another way, or has none; CorruptError for an Iceberg
        table whose refs contradict its snapshots; UnsupportedError for a
        table of PyIceberg's that has no catalog, which would know what is newest; CorruptError for a
        branch of Paimon's without a schema; SchemaError for a listing without these columns; as
        `reachable`.
    Cost: a listing of each folder, those of one level side by side; then that of `reachable`, and its
        memory for listed files too. On a local disk only files that nothing reaches are asked for their
        size and age.
    Source: Iceberg's `DeleteOrphanFilesSparkAction.java`; Paimon's `LocalOrphanFilesClean.java`.
    """
    before = None if older_than is None else age("older_than", older_than)
    opened = None if listing is None else listing_of(listing, self.location)
    schemes, authorities = list((equal_schemes or {}).items()), list((equal_authorities or {}).items())
    lying = View.orphans(before, _now(), opened, self.opening.newest(self.core), schemes, authorities)
    return ViewScan(self, "orphans", lying, given)


@view(Keywords)
def expire_plan(
    self: Table,
    older_than: timedelta | datetime | None = None,
    retain_last: int | None = None,
    **given: Unpack[Keywords],
) -> ViewScan:
    """What an expiry of snapshots would free: those that the table's own rules of retention expire, and
    the files that nothing that stays reaches.

    Iceberg: `history.expire.max-snapshot-age-ms`, `history.expire.min-snapshots-to-keep`,
    `history.expire.max-ref-age-ms`, and what branches and tags say for themselves, which wins. Paimon:
    `snapshot.num-retained.min` and `.max`, `snapshot.time-retained`, `snapshot.expire.limit`, consumers
    and, where changelogs are kept for longer, `changelog.*`, of the table's branch; tags
    and other branches keep what they reach. Tags and consumers that are overdue themselves stay.

    Snapshots are those of the newest version when the rows are read, whatever the table's snapshot.
    Before the first row that version is read again, until nothing is new: what the table keeps by then is
    no row.

    Args:
        older_than: snapshots older than this, or before this instant, are old, whatever the table says.
        retain_last: so many are kept however old they are, whatever the table says.
    Returns: the columns of `reachable`, of files that would be freed: what reached them expires. With
        `relocate` the paths are where files are now. After them `modified_at` timestamp[us, UTC] (null:
        no metadata says it) and the columns `table_id`, `planned_at` and `plan` of `orphans`. For Iceberg,
        whose snapshots and refs are not files, also a row of kind "snapshot", "branch" or "tag" without a
        path for each that expires. Old metadata files are not among them: those are removed by the metadata
        log.
    Raises: UnsupportedError for an Iceberg table with `gc.enabled` false; LocationError for one whose
        `location` is not where it was opened, and for a file that `relocate` leaves out; CorruptError for
        one whose refs contradict its snapshots, and for a rule that is no number or duration; ValueError
        for a `retain_last` below 1, SchemaError for one above `snapshot.num-retained.max`; as
        `reachable`.
    Cost: that of `reachable`.
    Source: Iceberg's `RemoveSnapshots.java`, `ReachableFileCleanup.java`; Paimon's
        `ExpireSnapshotsImpl.java`, `ExpireChangelogImpl.java`.
    """
    before = None if older_than is None else age("older_than", older_than)
    retained = positive("retain_last", retain_last, most=MOST_RETAINED)
    freed = View.expire_plan(before, retained, _now(), self.opening.newest(self.core))
    return ViewScan(self, "expire_plan", freed, given)


@view(Keywords)
def dangling_deletes(self: Table, **given: Unpack[Keywords]) -> ViewScan:
    """One row per delete file and deletion vector of the snapshot that applies to no live data file.

    Readers open them for nothing, or keep them in every plan's index. Those of which it cannot be said what
    they apply to are none, nor are those that plans refuse. `health` has their sums.

    Returns: `file_path` utf8, `kind` utf8 ("position deletes", "equality deletes", "deletion vectors"),
        `content_offset` and `content_size_in_bytes` int64 of a vector within its file, `record_count` int64
        [rows] that it deletes, `file_size_in_bytes` int64 of the file, in which other vectors may be live;
        then `modified_at` and the columns `table_id`, `planned_at` and `plan` of `orphans`. `lakebed.apply`
        takes those that were reviewed out of the table's snapshot.
    Raises: SchemaError, PredicateError, at once; when read, as `files` and `deletes`.
    Cost: the manifests of deletes twice, and the paths, partitions and, for equality deletes, bounds of all
        live data files. Memory grows by some 30 bytes for each delete.
    Source: Iceberg's `RemoveDanglingDeletesSparkAction.java`, `DeleteFileIndex.java`.
    """
    return ViewScan(self, "dangling_deletes", View.dangling_deletes(_now()), given)


@view(Keywords)
def repair_plan(self: Table, kinds: Sequence[str] | None = None, **given: Unpack[Keywords]) -> ViewScan:
    """One row for each thing that can be done about what is wrong with the table; no rows where nothing is.

    Nothing is done: `lakebed.apply` does so with the rows that were reviewed. Engines return the same rows
    after the repairs of `kinds=None`. Others lose rows for good, or return deleted ones again: `rows_lost`
    and `rows_back` say how many at most, as metadata recorded them, and rows where one of them is null are
    never acted on.

    Args:
        kinds: of repairs; None for "hints" and "main". "hints": hints that name no version are written anew
            (Iceberg's `version-hint.text`, Paimon's `LATEST` and `EARLIEST`). "main": Iceberg's branch `main`
            is set to the snapshot that the metadata says is current. "lists": the snapshot's list, of Paimon
            its base or delta list, is gone or damaged, and a new snapshot lists what the one before has and
            what the commit changed, by manifests that are left; where the numbers that the snapshot records
            do not agree with it, nobody knows. "snapshots": those before the current one whose lists are gone
            or damaged are removed; nobody acts on one that a branch or tag names, and of Paimon on one that
            is not among the earliest, or that another branch or a consumer needs. "rollback": where the
            snapshot's list or a manifest cannot be read, the table goes back to the last snapshot that is
            whole, which Paimon has as a new one. "manifests": those that are not there or are damaged are
            left out of the list; of deletes nobody knows which rows they took out, and Paimon's manifests of
            a snapshot are one repair, since only the snapshot says how many rows there are. "duplicates":
            files that are listed more than once, whose rows are returned as often, are listed once.
            "vectors": those of a data file that has more than one become one with all their rows (Iceberg).
            "foreign_deletes": deletes of a single data file that are listed in another partition or spec are
            listed in its (Iceberg). "data_files": files that are not there are taken out of the table.
            "delete_files": likewise delete files and deletion vectors, whose rows are returned again; of
            equality deletes nobody knows how many. "sizes": sizes and numbers of rows that data files
            (Parquet, ORC, Avro) contradict are recorded as the files have them; where row ids follow from the
            numbers, only lower ones are. "metrics": likewise counts and bounds of columns that are missing,
            though the table keeps them, or that the footer contradicts: of the file's rows a filter may have
            left out any. Bounds that are wider than the file's are right. In Paimon only those of files of
            the table's schema, which statistics are kept by, and of tables with keys only missing ones.
    Returns: `file_path` utf8 of what is wrong or absent, `kind` utf8, `problem` utf8, `repair` utf8,
        `rows_lost` and `rows_back` int64 (null: nobody knows), `snapshot_id` int64 (where the table will be,
        of a rollback; of lists the one that names them), `content_offset` int64 of a vector within its file,
        `file_size_in_bytes` int64 as recorded; then `modified_at` and the columns `table_id`, `planned_at`
        and `plan` of `orphans`.
    Raises: SchemaError for kinds that there are not, and PredicateError, at once; when read, OSError where
        the storage does not say whether a file is there, and LocationError where none of several data files
        is: they may be on another storage; as `files` and `deletes`; UnsupportedError and EncryptionError for
        manifests, and for footers of data files, that only another version or another key reads: they are not
        damaged.
    Cost: "hints" a listing; "snapshots" all lists; "lists", where one is gone, these, the manifests of the
        snapshot before and those that no list names; "rollback" and "manifests" each manifest of the
        snapshot, and of those before it until one is whole; "duplicates" the manifests, twice where there are
        some, some bytes of memory for each file, and a plan where there are deletes too; "vectors" and
        "foreign_deletes" the manifests twice, and memory for each delete; "data_files" and "delete_files"
        their paths, and a request for each; "sizes" and "metrics" those of `describe_files`. Memory is that
        of the rows, and of metrics that are to be recorded.
    Source: Paimon's `RemoveUnexistingFilesAction.java`, `RemoveUnexistingManifestsAction.java`; Iceberg's
        `SnapshotSummary.java`, `ManageSnapshots.java`, `StreamingDelete.java`, `DeleteFileIndex.java`,
        `ParquetMetrics.java`.

    >>> rows = table.repair_plan(kinds=["hints", "data_files"]).to_arrow()
    """
    return repairs(self, kinds, contradictions(self, kinds), given)


def contradictions(table: Table, kinds: Sequence[str] | None) -> Contradictions | None:
    """What looks into data files for these kinds of repairs; None where none of them is found there."""
    of_files = [kind for kind in names("kinds", kinds) or () if kind in ("sizes", "metrics")]
    if not of_files:
        return None
    # Most repairs are found without.
    from lakebed.cleaning.described import Contradictions

    return Contradictions(table, of_files)


def repairs(
    table: Table, kinds: Sequence[str] | None, described: Contradictions | None, given: Keywords
) -> ViewScan:
    """The view `repair_plan`, with what looks into data files."""
    looking = None if described is None else (described.stats, described)
    return ViewScan(table, "repair_plan", View.repair_plan(names("kinds", kinds), looking, _now()), given)


@view(Keywords)
def verify(self: Table, *, data_files: bool = False, **given: Unpack[Keywords]) -> ViewScan:
    """One row for each thing that is wrong with the table; no rows if nothing is.

    All snapshots that are there, of all branches and tags, their lists and manifests, each once, are read
    whole. Whatever is wrong with one, the next is read. Live files are those of the snapshot that the
    table is at.

    Args:
        data_files: look also whether data files, delete files and index files are there, and as long as
            recorded.
    Returns: `severity` utf8 ("error": rows are lost, doubled or not to be read; "warning": other than
        recorded, which readers can live with), `kind` utf8 (that of the error which reading raises, such
        as "missing", "truncated" and "mismatch"; "duplicate": twice in the table; "odd": what reading
        warns of), `message` utf8, `path` utf8 of the file that is wrong, `named_by` utf8 (the file
        that names it), `offset` int64 [bytes], `block` int64, `record` int64 and `field` utf8 within it,
        where they are known.
    Raises: when read, OSError where folders cannot be listed; the error of a metadata file that cannot be
        read, which opening raises too.
    Cost: every snapshot, list and manifest that the table has, whole, side by side, and of Iceberg the
        metadata files of its log, of Paimon hints and consumers. Memory grows by some
        50 bytes for each live file, and some 200 for each delete of a single data file. Where a file
        appears twice, and for `data_files`, the live manifests once more; for `data_files` one request
        for each of those files, as many at once as the storage serves.
    Source: Iceberg specification, "Manifests", "Manifest Lists" and "Scan Planning"; Paimon's
        `FileEntry.java` (mergeEntries).
    """
    return ViewScan(self, "verify", View.verify(bool(data_files)), given)


def _now() -> int:
    """The time of a plan [ms since 1970 UTC]."""
    return milliseconds(datetime.now(timezone.utc))


def freed(self: Table, before: str | None) -> ViewScan:
    """What commits to an Iceberg table have freed since a metadata file; nothing for None."""
    what = View.freed(before or "", self.opening.newest(self.core))
    return ViewScan(self, "freed", what, {"limit": 0 if before is None else None})
