"""One view of a table as a scan."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, TypedDict, TypeVar

from lakebed import _display, _native
from lakebed._arguments import names, positive
from lakebed._kept import kept
from lakebed._keywords import VIEWS, spell_out
from lakebed._specs import PARTITIONS, SPEC, Specs
from lakebed._values import to_records
from lakebed.advice import TableName, Thresholds
from lakebed.advice.calls import Procedures
from lakebed.advice.findings import findings
from lakebed.advice.plans import OVERLAP, conclude
from lakebed.errors import SchemaError
from lakebed.explain import Explain
from lakebed.predicates import to_sql
from lakebed.scan import Scan

if TYPE_CHECKING:
    import pyarrow as pa

    from lakebed.predicates import ExpressionForm
    from lakebed.table import Table


KEYWORDS: dict[str, frozenset[str]] = {}
"""The keywords of each view, by its name: what `view` has seen."""

ViewFunction = TypeVar("ViewFunction", bound="Callable[..., ViewScan]")


def view(keywords: type) -> Callable[[ViewFunction], ViewFunction]:
    """Makes a function a view of a table: its signature and its docstring have each of the keywords."""

    def decorate(function: ViewFunction) -> ViewFunction:
        KEYWORDS[function.__name__] = frozenset(spell_out(function, keywords, VIEWS, {}))
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
        for keyword in given.keys() - KEYWORDS.get(name, VIEWS):
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
    entries, that of all entries where it is recorded, whether workers may read ranges of it, and the columns
    that a range needs of the entries in front of it.
    """

    path: str
    size: int
    added: int
    deleted: int
    entries: int | None
    divisible: bool
    counted: list[str]


@dataclass(frozen=True)
class Bounds:
    """By what a job is planned for an engine of many processes; the compiled core reads the attributes.

    `at_once`: how many tasks run at a time. `small_bytes`: manifests of no more bytes in all are no job;
    None: any are. `delete_bytes`: bytes of manifests of deletes that the driver reads, to send them along;
    `deleting_bytes` and `deletions`: of manifests of Paimon's that delete files, and their entries.
    `task_bytes`: bytes of manifests whose entries one task reduces; `sum_bytes`: the same where it merges
    sums of them, which are far fewer. `parts`: into how many parts keys are divided; None: some for each
    task. `groups`: groups that a task holds before it sends on what it has. `answer`: the rows of the job
    that planning asked for first.
    """

    at_once: int = 1
    small_bytes: int | None = None
    delete_bytes: int = 16 << 20
    deleting_bytes: int = 128 << 20
    deletions: int = 100_000
    task_bytes: int = 16 << 20
    sum_bytes: int = 256 << 20
    parts: int | None = None
    groups: int = 65_536
    answer: pa.Table | None = None


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

    def explain(self) -> Explain:
        """The funnel: manifests, entries, files and their bytes after each step, and why.

        Cost: reads the manifest lists and, for the later steps, the manifests.
        """
        return Explain.from_json(self._native.explain())

    def planned_manifests(self) -> list[Manifest]:
        """The manifests that `where` leaves, for engines that read them themselves; none of a view that one
        process makes. Cost: that of `job`.
        """
        planned = self.job(Bounds())
        return [] if planned is None else planned.manifests

    def job(self, bounds: Bounds) -> _native.JobPlan | None:
        """The work of making the rows in many processes; None where one process makes them.

        Cost: reads the manifest lists, for `reachable`, `orphans` and `expire_plan` those of all snapshots,
            and what `bounds` says is small enough to be sent along.
        """
        return self._native.job(bounds)

    @property
    def is_light(self) -> bool:
        """Whether the rows, where there is no job, are made of so little that the driver makes them."""
        return self._native.is_light

    @property
    def core(self) -> _native.Scan:
        """The scan of the compiled core."""
        return self._native

    @property
    def limit(self) -> int | None:
        """The most rows to return."""
        return self._options.limit

    @kept
    def specs(self) -> Specs:
        """By which partitions are shown: the table's specs, none for views whose rows do not say which they
        are of, and for the engine's own tables, which are shown as the engine does.

        Raises, Cost: as `Specs.of`.
        """
        if self.name == "metadata_table" or not set(PARTITIONS) & set(self.schema.names):
            return Specs({})
        specs = Specs.of(self._table)
        is_known = not specs.absent or SPEC in self._with(columns=None).schema.names
        return specs if is_known else Specs({})

    def preview(self, count: int) -> pa.Table:
        """The first rows as people and JSON get them: partitions have the fields of their spec alone.

        Raises: as `to_arrow`. Cost: as `head`.
        """
        columns = self._options.columns
        if columns is None or SPEC in columns or not self.specs.differ_in(self.schema):
            return self.specs.shown(self.head(count))
        limit = count if self._options.limit is None else min(count, self._options.limit)
        rows = self._with(columns=[*columns, SPEC], limit=limit).to_arrow()
        return self.specs.shown(rows).drop_columns([SPEC])

    def _preview(self, count: int) -> pa.Table:
        return self.preview(count)

    def head(self, count: int = 10) -> pa.Table:
        """The first rows, the limit pushed down to the scan. Raises: as `to_arrow`."""
        limit = count if self._options.limit is None else min(count, self._options.limit)
        return self._with(limit=limit).to_arrow()

    def _with(self, **changed: Any) -> Scan:
        """The same view with other keywords."""
        return Scan(self._table.scan(self._view, replace(self._options, **changed)), self._name)


class HealthScan(ViewScan):
    """A scan of a table's health, and of the problems that it shows."""

    def __init__(self, table: Table, given: Any, small_bytes: int | None) -> None:
        """Args: given, keywords of views; small_bytes, None for what the table says.

        Raises: as `ViewScan`.
        """
        asked = {} if small_bytes is None else {"small_bytes": small_bytes}
        self._thresholds = Thresholds.of(table.format, table.properties, ("small_bytes", asked))
        self._name_of = TableName.of(table)
        super().__init__(
            table, "health", _native.View.HEALTH, given, small_bytes=self._thresholds.small_bytes
        )

    def findings(self, thresholds: Thresholds | None = None) -> list[dict[str, Any]]:
        """The problems, and what to do about them, as `lakebed health` prints them.

        Args: thresholds, in place of those that the table's properties and the defaults are; configuration
            files are read by commands alone.
        Returns: of each `column`, of `health`, that shows it; `what`, in words; `next_step`, in words and
            with the calls to type; `calls`, a list of these for each engine that can do it: "spark", "trino",
            "flink", "python". Which columns the scan has does not matter.
        Raises, Cost: as `to_arrow` of all columns.
        """
        limits = self._thresholds if thresholds is None else thresholds
        every = self._with(columns=None, filter=None, limit=None, small_bytes=limits.small_bytes)
        (row,) = to_records(every.to_arrow())
        return [finding.to_dict() for finding in findings(row, limits, self._name_of)]


class PlanScan(ViewScan):
    """A scan of a table's plan, and of the deletes that it names."""

    def __init__(self, table: Table, given: Any, **own: Any) -> None:
        """Args: given, keywords of views; own, what only a plan takes. Raises: as `ViewScan`."""
        super().__init__(table, "plan", _native.View.PLAN, given, **own)
        self._format, self._name_of = table.format, TableName.of(table)

    def explain(self) -> Explain:
        """The funnel: manifests, entries, files and their bytes after each step, and why; the same of
        deletes; then the reason that matters, and what would leave fewer files.

        Cost: reads the manifest lists and the manifests, and again with the statistics of the columns of
            `where` if more than one file is left.
        """
        steps = super().explain().steps
        found = conclude(steps, self._options.where, self._overlap, self._procedures)
        options = Options(where=self._options.where, threads=self._options.threads)
        deletes = Explain.from_json(self._table.scan(_native.View.DELETES, options).explain()).steps
        deletes = tuple(step for step in deletes if step.total)
        return Explain(steps, found.reason, found.advice, deletes, found.call)

    def _procedures(self) -> Procedures:
        """The calls of the table. Cost: reads its schemas."""
        schemas = Scan(self._table.scan(_native.View.SCHEMAS, Options()), self._name).to_arrow()
        keys = schemas["primary_keys"].to_pylist()[-1:] if "primary_keys" in schemas.schema.names else []
        counts = {"primary_key_count": sum(map(len, keys))}
        return Procedures.of(self._format, self._name_of, Thresholds(), counts)

    def _overlap(self, names: list[str] | None = None) -> list[dict[str, Any]]:
        """Rows of `overlap` of the columns of `where`, or of some of them, in the files that it leaves."""
        where = self._options.where
        asked = _native.columns_of(where or "") if names is None else names
        if not asked:
            return []
        options = Options(columns=list(OVERLAP), where=where, threads=self._options.threads)
        try:
            scan = self._table.scan(_native.View.overlap(asked), options)
        except SchemaError as error:
            if error.field not in asked:
                raise
            # `bucket` and what else files are found by is no column of the table.
            return self._overlap([name for name in asked if name != error.field])
        return to_records(Scan(scan, self._name).to_arrow())

    @property
    def deletes(self) -> Scan:
        """The deletes that the plan's files may have, a row each.

        Returns: `delete_id` int32, which `delete_ids` names, then the columns of `deletes`.
        Cost: as `deletes`, when it is read.
        """
        return Scan(self._native.deletes(), f"deletes of the {self._name}")

    def to_rest(self, *, form: ExpressionForm = "term") -> dict[str, Any]:
        """(Iceberg) What a REST catalog answers an engine that asks for a plan, ready for `json.dumps`.

        Args: form, of residual filters: "term", which clients of Iceberg Java until 1.12 read, or "operand",
            which Iceberg's specification of expressions has in its place.
        Returns: a `CompletedPlanningResult`: `status` "completed"; `file-scan-tasks`, each with its
            `data-file`, `delete-file-references` (numbers into `delete-files`; absent: none) and
            `residual-filter` (an expression; `true`: nothing is left to test); `delete-files`, those that
            some task names. Files are without metrics of columns: there is nothing left to prune by them.
            Partitions are lists in the order of their spec's fields. A server adds `plan-id` and
            `storage-credentials`; without `status` it is a `FetchScanTasksResult`.
        Raises: UnsupportedError (a Paimon table, a `LIKE` in `where` for which Iceberg has no expression, a
            partition or filter with NaN or an infinity, which JSON does not have); ValueError for another
            form; else as `to_arrow`.
        Cost: as the plan with `deletes="ids"`, and `deletes` where a file has some; memory is that of the
            answer.
        Source: Iceberg's REST catalog specification, `planTableScan` and `fetchScanTasks`; Iceberg's
            `TableScanResponseParser.java`.
        """
        return self._native.scan_tasks(form)
