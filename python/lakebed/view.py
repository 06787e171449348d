"""One view of a table as a scan."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, TypedDict

from lakebed import _arrow, _display, _native
from lakebed._arguments import names, positive, version
from lakebed.errors import PredicateError
from lakebed.explain import Explain
from lakebed.predicates import to_sql
from lakebed.scan import Scan

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    import pyarrow as pa

    from lakebed.predicates import Predicate


@dataclass(frozen=True)
class Options:
    """The keywords of `Table`'s views, whose attributes the compiled core reads."""

    columns: list[str] | None
    where: str | None
    stats: list[str] | None
    limit: int | None
    threads: int | None
    row_limit: int | None = None
    small_bytes: int | None = None
    delete_ids: bool = False


def options(
    columns: Sequence[str] | None = None,
    where: str | Predicate | None = None,
    stats: Sequence[str] | None = None,
    limit: int | None = None,
    threads: int | None = None,
    **more: Any,
) -> Options:
    """The keywords of a view, checked. Raises: PredicateError, SchemaError, TypeError, ValueError."""
    return Options(
        names("columns", columns),
        to_sql(where),
        names("stats", stats),
        positive("limit", limit, least=0),
        positive("threads", threads),
        **more,
    )


def place_of(argument: str, value: int | str) -> _native.Place:
    """A snapshot by its id, or a tag or branch by its name. Raises: TypeError, SchemaError."""
    known = version(argument, value)
    return _native.Place.named(known) if isinstance(known, str) else _native.Place.snapshot(known)


def place(table: _native.Table) -> str:
    """Which state a table is at: "at snapshot 3, tag 'v1', branch 'dev'", without what does not apply."""
    snapshot = "without a snapshot" if table.snapshot_id is None else f"at snapshot {table.snapshot_id}"
    tag = "" if table.tag is None else f", tag {table.tag!r}"
    return snapshot + tag + ("" if table.branch == "main" else f", branch {table.branch!r}")


class Manifest(TypedDict):
    """A manifest that is to be read: its location, its size in bytes, its numbers of ADD and DELETE
    entries, and whether workers may read ranges of it.
    """

    path: str
    size: int
    added: int
    deleted: int
    divisible: bool


@dataclass(frozen=True)
class Exchange:
    """Work on manifests whose entries are combined.

    `sides`: the manifests of each side; one may be of several. `together`: whether entries must come
    together, or may be gathered manifest by manifest. `task`: the work as JSON text for `_native.Exchange`.
    `made`: rows that are made already, of no manifest. `seen`: what planning has read of the table, for
    `ViewScan.looked_again`; None where rows need no later look.
    """

    sides: list[list[Manifest]]
    together: bool
    task: str
    made: list[pa.RecordBatch]
    seen: str | None


class ViewScan(Scan):
    """A scan of a table's view; it can explain itself."""

    def __init__(self, table: _native.Table, kind: str, view: _native.View, options: Options) -> None:
        self._table = table
        self._view = view
        self._options = options
        try:
            self._native = table.scan(view, options)
        except PredicateError as error:
            if error.kind == "unknown-column":
                shown = table.scan(view, replace(options, columns=None, where=None, stats=None))
                if error.field in _arrow.schema(shown).names:
                    error.message += (
                        "; for columns of the view itself there is .filter(…), on the command line --filter"
                    )
            raise
        name = f"{kind} of {_native.location_of(table.location)!r} {place(table)}"
        # The name of a difference names both sides.
        word = kind.partition(" ")[0]
        super().__init__(self._native, name, word, options.columns or _display.FIRST[word])

    def explain(self) -> Explain:
        """The funnel: manifests, entries, files and their bytes after each step, and why.

        Cost: reads the manifest lists and, for the later steps, the manifests.
        """
        return Explain.from_json(self._native.explain())

    def planned_manifests(self) -> list[Manifest]:
        """The manifests that `where` leaves, for engines that read them themselves. Cost: reads the lists."""
        planned: list[Manifest] = json.loads(self._native.manifests())
        return planned

    def task(self, part: str) -> str:
        """What an engine's workers are to do with each planned manifest, as JSON text for `_native.Task`.

        Args: part: "rows"; for `files` "added" (rows of additions, last column `_identity` binary) or
            "deleted" (`_identity` of deletions), to be anti-joined.
        """
        return self._native.task(part)

    @property
    def decides_together(self) -> bool:
        """Whether a file may be left out for what other files are, so that entries must come together by
        `exchange`, not by an anti-join alone.
        """
        return self._native.decides_together

    def exchange(self, equality_ids: Sequence[int] = ()) -> Exchange:
        """What an engine is to do where entries of several manifests make rows together.

        Args: equality_ids, of an Iceberg plan: the columns that its equality deletes compare.
        Cost: reads the manifest lists, for `reachable` and `expire_plan` those of all snapshots.
        """
        sides, together, task, made, seen = self._native.exchange(list(equality_ids))
        batches = [_arrow.record_batch(rows) for rows in made]
        return Exchange(json.loads(sides), together, task, batches, seen)

    def looked_again(self, rows: pa.RecordBatchReader, seen: str) -> Iterator[pa.RecordBatch]:
        """The rows of `exchange` without files that the table keeps by now: the last step of jobs by whose
        rows people delete.

        Args: rows, with all columns; seen, that of the `Exchange`.
        Cost: none without rows; else the newest metadata is read again, and what is new in it.
        """
        return _arrow.batches(self._native.looked_again(rows, seen))

    def side(self, side: int) -> list[pa.RecordBatch]:
        """The entries of one side of `exchange`, in the core's own columns. Cost: reads its manifests."""
        return [_arrow.record_batch(batch) for batch in self._native.side(side)]

    def listed(self, parts: int) -> Iterator[tuple[int, pa.RecordBatch]]:
        """Files that no manifest names, distributed to `parts` parts beside the entries of `exchange`: listed
        files, among which orphans are found, and Paimon's index files, which are verified. The side, and rows
        whose last column is their part. Cost: lists, or reads the listing, while it is iterated.
        """
        pieces = self._native.listed(parts)
        while (piece := pieces.next_piece()) is not None:
            yield piece[0], _arrow.record_batch(piece[1])

    def group_task(self) -> str:
        """What an engine's workers need to sum up the planned manifests, as JSON text for `_native.Grouping`.

        Cost: reads the lists; for `health` the snapshots too.
        """
        return self._native.group_task()

    def known(self, what: str) -> pa.RecordBatch:
        """(Paimon) What must be known of all files where some are summed up.

        Args: what: "deleted", identities of the files that entries delete, or "vectors", counts of deletion
            vectors by partition and bucket.
        Cost: reads the manifests that have DELETE entries; or the index manifest, if columns ask for it.
        """
        return _arrow.record_batch(self._native.known(what))

    def head(self, count: int = 10) -> pa.Table:
        """The first rows, the limit pushed down to the scan. Raises: as `to_arrow`."""
        limit = count if self._options.limit is None else min(count, self._options.limit)
        return self._with(limit=limit).to_arrow()

    def _with(self, **changed: Any) -> Scan:
        """The same view with other keywords."""
        return Scan(self._table.scan(self._view, replace(self._options, **changed)), self._name)


class PlanScan(ViewScan):
    """A scan of a table's plan, and of the deletes that it names."""

    @property
    def deletes(self) -> Scan:
        """The deletes that the plan's files may have, a row each.

        Returns: `delete_id` int32, which `delete_ids` names, then the columns of `deletes`.
        Cost: as `deletes`, when it is read.
        """
        return Scan(self._native.deletes(), f"deletes of the {self._name}")

    def to_rest(self) -> dict[str, Any]:
        """(Iceberg) What a REST catalog answers an engine that asks for a plan, ready for `json.dumps`.

        Returns: a `CompletedPlanningResult`: `status` "completed"; `file-scan-tasks`, each with its
            `data-file`, `delete-file-references` (numbers into `delete-files`; absent: none) and
            `residual-filter` (an expression; `true`: nothing is left to test); `delete-files`, those that
            some task names. Files are without metrics of columns: there is nothing left to prune by them.
            Partitions are lists in the order of their spec's fields. A server adds `plan-id` and
            `storage-credentials`; without `status` it is a `FetchScanTasksResult`.
        Raises: UnsupportedError (a Paimon table, a `LIKE` in `where` for which Iceberg has no expression, a
            partition or filter with NaN or an infinity, which JSON does not have); else as `to_arrow`.
        Cost: as the plan with `deletes="ids"`, and `deletes` where a file has some; memory is that of the
            answer.
        Source: Iceberg's REST catalog specification, `planTableScan` and `fetchScanTasks`; Iceberg's
            `TableScanResponseParser.java`.
        """
        answer: dict[str, Any] = json.loads(self._native.scan_tasks())
        return answer
