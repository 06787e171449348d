"""What a query must read of a table."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from lakebed._arguments import one_of, positive
from lakebed._native import View
from lakebed.table.state import TableState
from lakebed.view import PlanScan, options

if TYPE_CHECKING:
    from collections.abc import Sequence

    from lakebed.predicates import Predicate


class PlanViews(TableState):
    """Views that decide what an engine reads."""

    def plan(
        self,
        *,
        columns: Sequence[str] | None = None,
        where: str | Predicate | None = None,
        stats: Sequence[str] | None = None,
        deletes: Literal["list", "ids"] = "list",
        row_limit: int | None = None,
        limit: int | None = None,
        threads: int | None = None,
    ) -> PlanScan:
        """One row per data file that an engine must read, with the deletes that apply to it and what of
        `where` is left to test in its rows.

        Args: deletes, "list": each delete in full; "ids": as a number into `plan(…).deletes`, which costs
            four bytes where a file has the same deletes as many others. row_limit, rows of the table: the
            plan ends with the file by which those whose rows are all returned (no deletes, no residual) hold
            so many; Paimon's tables whose files are merged, or spread a row, are planned whole. The others
            as in `files`; `limit` counts files.
        Returns: the columns of `files`, of data files alone, then `delete_files`
            list<struct<content int32, file_path utf8, content_offset int64, content_size int64 [bytes],
            record_count int64 [rows], sequence_number int64>> or `delete_ids` list<int32>, and `residual`
            utf8 (SQL; null: nothing is left to test). A file without deletes has an empty list. A deletion
            vector, or position deletes by sequence number, come first, then equality deletes. Of a position
            delete file of several data files the rows decide; it is listed with each file of its partition.
            Iceberg: residuals are of its own logic, in which `<>`, `NOT IN`, `NOT LIKE` and the like match
            null; a filter that means SQL's says `IS NOT NULL` beside them. Deletes that, by their own
            partition and metrics, delete no row that matches are left out.
            Paimon: `files` as `where` leaves them, without those of level 0 of tables with deletion vectors
            or the merge engine `first-row`, and without those that wait for their bucket; files of a bucket
            that are to be merged stay together. The delete of a file is its deletion vector, `record_count`
            as recorded (null in old tables).
        Raises: ValueError for other `deletes`; when read, CorruptError (two deletion vectors of one file, one
            that is older than it, an equality delete without columns). A delete of one file alone whose spec
            or partition is not that of the file applies all the same, as in Iceberg's Java up to 1.11; 1.12
            refuses such a table. `verify` finds all of these.
        Cost: reads the delete manifests whole before the first row, unless `columns` leaves the deletes out,
            then data manifests as they are asked for. Memory is that of the deletes and one batch. Each file
            costs a binary search in the deletes of its partition.
            Paimon: the index manifest before the first row, then as `files`.
        Source: Iceberg specification, "Scan Planning"; Iceberg's `DeleteFileIndex.java`; Paimon's
            `SnapshotReaderImpl.java`.
        """
        by_id = one_of("deletes", deletes, ("list", "ids")) == "ids"
        rows = positive("row_limit", row_limit, least=0)
        keywords = options(columns, where, stats, limit, threads, delete_ids=by_id, row_limit=rows)
        return PlanScan(self._native, "plan", View.PLAN, keywords)
