"""One view of a table as a scan."""

from __future__ import annotations

import inspect
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, TypedDict, TypeVar

from lakebed import _arrow, _display, _native
from lakebed._arguments import names, positive
from lakebed._keywords import TEXTS, described
from lakebed._values import to_records
from lakebed._verdict import SMALL_BYTES, findings
from lakebed.explain import Explain
from lakebed.predicates import to_sql
from lakebed.scan import Scan

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    import pyarrow as pa

    from lakebed.table import Table


KEYWORDS: dict[str, frozenset[str]] = {}
"""The keywords of each view, by its name: what `view` has seen."""

ViewFunction = TypeVar("ViewFunction", bound="Callable[..., ViewScan]")


def view(keywords: type) -> Callable[[ViewFunction], ViewFunction]:
    """Makes a function a view of a table: its signature and its docstring have each of the keywords."""

    def decorate(function: ViewFunction) -> ViewFunction:
        annotations = keywords.__annotations__
        # Of a TypedDict its own come last: those that all views take are at the end of the signature.
        names = [name for name in TEXTS if name in annotations]
        KEYWORDS[function.__name__] = frozenset(names)
        signature = inspect.signature(function)
        itself, *own, _ = signature.parameters.values()
        kind = inspect.Parameter.KEYWORD_ONLY
        shown = [
            inspect.Parameter(name, kind, default=None, annotation=annotations[name].__forward_arg__)
            for name in names
        ]
        signature = signature.replace(parameters=[itself, *own, *shown])
        function.__signature__ = signature  # type: ignore[attr-defined]
        function.__doc__ = function.__doc__ and described(function.__doc__, names)
        return function

    return decorate


@dataclass(frozen=True)
class Options:
    """The keywords of a view, checked; the compiled core reads the attributes."""

    columns: list[str] | None = None
    where: str | None = None
    filter: str | None = None
    stats: list[str] | None = None
    limit: int | None = None
    threads: int | None = None
    row_limit: int | None = None
    small_bytes: int | None = None
    delete_ids: bool = False

    @classmethod
    def of(cls, name: str, given: Mapping[str, Any], **own: Any) -> Options:
        """The keywords that a view was given, and what only it takes.

        Raises: TypeError for a keyword that the view does not take; PredicateError, SchemaError, ValueError.
        """
        for keyword in given.keys() - KEYWORDS.get(name, TEXTS):
            message = f"{name}() got an unexpected keyword argument {keyword!r}"
            if keyword == "where":
                message += (
                    ": its rows are not made of the table's files; filter= tests the columns of the view"
                )
            raise TypeError(message)
        return cls.checked(given, **own)

    @classmethod
    def checked(cls, given: Mapping[str, Any], **own: Any) -> Options:
        """The keywords, whoever takes them. Raises: PredicateError, SchemaError, TypeError, ValueError."""
        return cls(
            names("columns", given.get("columns")),
            to_sql(given.get("where")),
            to_sql(given.get("filter")),
            names("stats", given.get("stats")),
            positive("limit", given.get("limit"), least=0),
            positive("threads", given.get("threads")),
            **own,
        )


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

    def __init__(
        self, table: Table, name: str, view: _native.View, given: Any, *, of: str = "", **own: Any
    ) -> None:
        """A view of a table.

        Args: name, of the view; given, its keywords; of, what of the table, for people; own, what only it
            takes, as `Options` has it.
        Raises: TypeError, PredicateError, SchemaError, ValueError.
        """
        self._table, self._view = table.core, view
        self._options = Options.of(name, given, **own)
        self._native = self._table.scan(view, self._options)
        shown = f"{name} {of}".rstrip() + f" of {table.location!r} {place(self._table)}"
        super().__init__(self._native, shown, name, self._options.columns or _display.FIRST.get(name, ()))

    @property
    def name(self) -> str:
        """The name of the view."""
        return self._view_name or ""

    @property
    def filter_text(self) -> str | None:
        """The filter on the view's own columns, as SQL."""
        return self._options.filter

    def columns_and_filtered(self) -> list[str] | None:
        """The columns asked for, and those that the filter tests; None for all."""
        if (columns := self._options.columns) is None:
            return None
        whole = self._table.scan(self._view, replace(self._options, columns=None, filter=None))
        tested = _native.Filter(whole, self._options.filter or "").columns
        return list(dict.fromkeys((*columns, *tested)))

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


class HealthScan(ViewScan):
    """A scan of a table's health, and of the problems that it shows."""

    def findings(self) -> list[dict[str, str]]:
        """The problems, and what to do about them, as `lakebed health` prints them.

        Returns: of each `column`, of `health`, that shows it; `what`, in words; `next_step`. Which columns
            the scan has does not matter.
        Raises, Cost: as `to_arrow` of all columns.
        """
        (row,) = to_records(self._with(columns=None, filter=None, limit=None).to_arrow())
        small_bytes = self._options.small_bytes
        return [
            finding.to_dict()
            for finding in findings(row, SMALL_BYTES if small_bytes is None else small_bytes)
        ]


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
