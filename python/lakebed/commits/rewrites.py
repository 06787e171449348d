"""Changes of the files that hold a table's rows, and of the manifests that hold its files."""

from __future__ import annotations

from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

from lakebed import _arrow
from lakebed._arguments import integer, names, positive
from lakebed._native import FileChangeKind, IcebergAction, PaimonChange
from lakebed.commits import paimon
from lakebed.commits.change import PLAIN, Change, CommitOptions, only
from lakebed.commits.iceberg import file_change
from lakebed.commits.inputs import deletes_of, pairs_of, paths_of, rows_of
from lakebed.predicates import Predicate, to_sql

if TYPE_CHECKING:
    from collections.abc import Sequence

    from lakebed.commits.changes import Changes, F, R
    from lakebed.table import Table


def replace_files(
    self: Changes[R, F],
    removed: Any,
    files: Any = None,
    *,
    deletes: Any = None,
    removed_deletes: Any = (),
    data_sequence_number: int | None = None,
    changelog: Any = None,
    options: CommitOptions = PLAIN,
) -> R:
    """Puts the same rows of the table into other data files, as a compaction has written them, in one
    snapshot: of Iceberg's operation `replace`, of Paimon's kind COMPACT.

    Args:
        removed: the files that were read: paths, as the table names them or relative to its location, or
            Arrow data with the column `file_path` utf8. Of Paimon, a file that only moves to another level is
            in `removed` and in `files`. Rows that deletes have taken out of them are in none of the new ones.
        files: the files that were written, as `append_files` takes them: `file_path`, `record_count`,
            `file_size_in_bytes`, and where the table has them `partition`, `bucket` and keys; of Paimon
            `level` is that of the table's merge tree, `file_source` is 1 by default, and `first_row_id` may
            be given.
        deletes: (Paimon) new index files of deletion vectors, in columns of
            `lakebed.paimon.read_index_manifest`, with `partition` as a struct.
        removed_deletes: delete files of which nothing is left, likewise by their paths; of Paimon, names or
            paths of the index files that `deletes` replace. Vectors of removed files are removed with them;
            rows with `content_offset` int64 are single vectors of files that are not live, as
            `dangling_deletes` has them.
        data_sequence_number: (Iceberg) that of the new files; of the snapshot that was read, equality deletes
            that others have added since still apply, and are not a conflict. None for the commit's own.
        changelog: (Paimon) files that record what changed, for readers of changes; only for tables with
            primary keys.
        options: `CommitOptions`, what the new snapshot records of its commit.
    Returns: the table at its new snapshot, opened as it was; at the latest one where nothing changes
        (Paimon).
    Raises: CommitConflictError (Iceberg: others have added deletes since the table's snapshot that apply to
        the removed files: their rows would be read again; Paimon: a removed file that is no longer live, an
        index file that another has replaced, a data file that another has given a vector, keys that another
        has added to the same level); before anything is written: SchemaError (a path that is not of a live
        data file, or that appears twice, with `.record`; more rows than those removed; a number that the
        table does not have; what `append_files` refuses of files), UnsupportedError (of Paimon a table with
        data evolution, rows that a global index covers).
    Cost: reads the paths of every live entry. Iceberg: manifests that have some of the files are written
        again, and the manifests of each snapshot since are read. Paimon: writes a manifest, two lists, a
        snapshot, and an index manifest where index files change.
    Source: Iceberg's `BaseRewriteFiles.java`, `MergingSnapshotProducer.java`; Paimon's
        `FileStoreCommitImpl.java`, `ConflictDetection.java`, `CompactIncrement.java`.
    """
    if removed is None:
        raise TypeError("replace_files takes paths, or Arrow data with them, as removed, not None")
    removed_deletes = () if removed_deletes is None else removed_deletes
    if data_sequence_number is not None:
        data_sequence_number = integer("data_sequence_number", data_sequence_number)

    def of_iceberg(table: Table) -> IcebergAction:
        only("replace_files", table, deletes=(deletes, None), changelog=(changelog, None))
        return file_change(
            FileChangeKind.REPLACE,
            options,
            data=files,
            removed=removed,
            removed_deletes=removed_deletes,
            data_sequence_number=data_sequence_number,
            since=table.snapshot_id,
        )

    def of_paimon(table: Table) -> PaimonChange:
        only("replace_files", table, data_sequence_number=(data_sequence_number, None))
        gone, dangling = deletes_of(removed_deletes)
        if deletes is None and gone:
            raise TypeError("removed_deletes need deletes, which may be empty")
        added = paimon.no_files() if files is None else _arrow.writable(files)
        return PaimonChange.replace_files(
            paths_of(removed), added, rows_of(changelog), rows_of(deletes), paths_of(gone), dangling
        )

    return self._changed(Change("replace_files", of_iceberg, of_paimon, options))


def rewrite_manifests(
    self: Changes[R, F],
    *,
    target_bytes: int | None = None,
    sort: bool | None = None,
    by: Sequence[str] | None = None,
    where: str | Predicate | None = None,
    memory_bytes: int = 256 << 20,
    codec: str | None = None,
    block_bytes: int | None = None,
    options: CommitOptions = PLAIN,
) -> R:
    """Writes the manifests of the latest snapshot anew, without entries of deleted files, in one snapshot: of
    Iceberg's operation `replace`, of Paimon's kind COMPACT. The table's files are the same before and after
    it.

    Iceberg: manifests of data files, whose entries keep their snapshots, sequence numbers and row ids;
    manifests of delete files stay.

    Args:
        target_bytes: how large a manifest is to be, about; None for 8 MiB, of Paimon for option
            `manifest.target-file-size`. Larger ones of Paimon's without deleted files are kept, unless they
            are sorted.
        sort: whether entries are sorted by partition (Paimon: and bucket; by bucket first in tables with
            fixed or postponed buckets whose option `manifest-sort.enabled` is true), so that plans read fewer
            manifests. None is what the format's engine does: Iceberg's are sorted always, Paimon's stay in
            their order.
        by: (Iceberg) what entries are sorted by, the first name first: partition fields, and columns of
            `lakebed.iceberg.read_manifest` with single values, such as `file_path`. None for all partition
            fields.
        where: (Iceberg) only manifests that may have files which match are rewritten, whole: those of
            `Table.manifests` with this condition.
        memory_bytes: of entries that are sorted, about how many bytes are held in memory; the others are on
            disk meanwhile, in the folder for temporary files.
        codec: (Iceberg) of the manifests that are written: "deflate", "null", "snappy", "zstandard", "bzip2"
            or "xz"; None for what the table's property `write.manifest.compression-codec` says.
        block_bytes: (Iceberg) bytes of entries, not compressed, at which a block ends; None for 64,000.
        options: `CommitOptions`, what the new snapshot records of its commit.
    Returns: the table at its new snapshot, opened as it was; as it is now where there is nothing to do.
    Raises: SchemaError (no such field or column), PredicateError, ValueError (a size below 1);
        UnsupportedError (of Paimon manifest lists in another format than `manifest.format`, ORC or Parquet
        that pyarrow cannot write).
    Cost: reads and writes all entries; sorting takes memory of about twice `memory_bytes`. Paimon: identities
        of all deleted files are held.
    Source: Iceberg's `BaseRewriteManifests.java`, `RewriteManifestsSparkAction.java`; Paimon's
        `ManifestFileMerger.java`, `CompactManifestProcedure.java`.
    """

    def of_iceberg(table: Table) -> IcebergAction:
        only("rewrite_manifests", table, sort=(True if sort is None else sort, True))
        rewrite = SimpleNamespace(
            target_bytes=positive("target_bytes", 8 << 20 if target_bytes is None else target_bytes),
            by=names("by", by),
            filter=to_sql(where),
            memory_bytes=positive("memory_bytes", memory_bytes),
            codec=codec,
            block_bytes=positive("block_bytes", 64_000 if block_bytes is None else block_bytes),
            properties=pairs_of(options.properties),
        )
        return IcebergAction.rewrite_manifests(rewrite)

    def of_paimon(table: Table) -> PaimonChange:
        only("rewrite_manifests", table, by=(by, None), where=(where, None), codec=(codec, None))
        only("rewrite_manifests", table, block_bytes=(block_bytes, None))
        size, memory = positive("target_bytes", target_bytes), positive("memory_bytes", memory_bytes)
        return PaimonChange.rewrite_manifests(size, bool(sort), memory)

    return self._changed(Change("rewrite_manifests", of_iceberg, of_paimon, options))
