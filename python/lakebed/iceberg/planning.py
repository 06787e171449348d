"""Plans that a REST catalog makes for its clients, in parts that any process of the catalog answers."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from typing import TYPE_CHECKING, Any, NamedTuple

from lakebed import _native
from lakebed._arguments import duration, one_of, positive
from lakebed.errors import (
    CorruptError,
    PlanNotFoundError,
    PlanTaskNotFoundError,
    SnapshotNotFoundError,
    UnsupportedError,
)
from lakebed.iceberg.requests import ScanRequest, text_of

if TYPE_CHECKING:
    from lakebed.iceberg.tokens import Content
    from lakebed.predicates import ExpressionForm
    from lakebed.table import Table

_LEAST_SECRET = 16
_EVERYTHING = 2**63 - 1
_TASK, _PLAN = "plan-task 1", "plan-id 1"
_MOST_PLAN_ID = 256
# By which later tasks of a plan may be longer than its first ones: they have higher numbers.
_SLACK = 256


class _Share(NamedTuple):
    """Manifests by their places, into how many shares their files are divided, and which of them."""

    first: int
    end: int
    of: int
    nth: int


@dataclass(frozen=True)
class _Scan:
    """What is planned; the compiled core reads the attributes."""

    after: int | None
    where: str | None
    stats: list[int]
    row_limit: int | None
    form: str
    threads: int | None


@dataclass(frozen=True)
class Planner:
    """Answers `planTableScan` and `fetchScanTasks` of Iceberg's REST catalogs, for a catalog that calls it.

    It keeps nothing: a plan task says all that is needed to answer it (the snapshot, the schema, the filter
    and a share of the manifests), and is signed, so that each process that has the secret answers the tasks
    of the others, of the same table. A plan of few files is answered at once; of a larger one each part reads
    its own manifests, when it is fetched, and the deletes that may apply to its files.

    Attributes:
        secret: signs what clients bring back; 16 bytes or more, the same in all processes.
        tasks_per_part: scan tasks of one answer at most, where manifests record how many files they have.
        parts_per_answer: plan tasks of one answer at most; the last one stands for all that follow.
        max_age: how long plan tasks are answered; None for as long as their snapshot is there.
        max_token_chars: the longest plan task, which has the filter in it. Where a filter makes it longer,
            the plan is answered at once, however large it is.
        form: of residual filters, as of `PlanScan.to_rest`.
        threads: of one call; None for one per processor.
    Raises: ValueError for a shorter secret or a number that is too low, TypeError for other types.

    >>> planner = lakebed.iceberg.Planner(secret)
    >>> answer = planner.plan(table, {"filter": {"type": "eq", "term": "region", "value": "emea"}})
    >>> parts = [planner.fetch(table, {"plan-task": task}) for task in answer.get("plan-tasks", [])]
    """

    secret: bytes = field(repr=False)
    tasks_per_part: int = 2_000
    parts_per_answer: int = 500
    max_age: timedelta | None = timedelta(days=1)
    max_token_chars: int = 16_384
    form: ExpressionForm = "term"
    threads: int | None = None

    def __post_init__(self) -> None:
        given: object = self.secret
        if not isinstance(given, bytes):
            raise TypeError(f"secret takes bytes, not {type(given).__name__}")
        if len(given) < _LEAST_SECRET:
            raise ValueError(f"secret has {_LEAST_SECRET} bytes or more, not {len(given)}")
        positive("tasks_per_part", self.tasks_per_part)
        positive("parts_per_answer", self.parts_per_answer, least=2)
        positive("max_token_chars", self.max_token_chars)
        positive("threads", self.threads)
        if self.max_age is not None:
            duration("max_age", self.max_age)
        one_of("form", self.form, ("term", "operand"))

    def plan(self, table: Table, request: Mapping[str, Any]) -> dict[str, Any]:
        """Answers `planTableScan`.

        Args:
            table: an Iceberg table at the state that a request without a snapshot means, such as the newest.
            request: a `PlanTableScanRequest`, as `json.loads` gives it. `filter` may be of both forms of
                expressions. `stats-fields` names columns whose metrics data files have; without it they have
                none. Names in `filter` and `stats-fields` are compared as `case-sensitive` says. With
                `start-snapshot-id` (exclusive) and `end-snapshot-id` the files are those that appends added,
                without deletes. `min-rows-requested` ends each part with the file that reaches it. `select`
                changes no plan.
        Returns: a `CompletedPlanningResult` with a `plan-id`: all as `delete-files` and `file-scan-tasks`, or
            `plan-tasks` alone. Bounds of `stats-fields` are the bytes of single values, as hex, which
            Iceberg's Java writes and reads.
        Raises: PlanRequestError for what is no such request; PredicateError for a filter that does not fit
            the table; SchemaError for a column of `stats-fields` that there is not; SnapshotNotFoundError,
            also for a start that is no ancestor of the end; UnsupportedError for a table of another format,
            and as `PlanScan.to_rest`; else as `plan`. `error_answer` makes of each what a catalog answers.
        Cost: the manifest list, for appends those of each; of a plan that is answered at once the
            plan as well. Memory is that of the answer.
        Source: Iceberg's REST catalog specification, `planTableScan`; Iceberg's `CatalogHandlers.java`,
            whose start is inclusive where the specification's is not.
        """
        answer: dict[str, Any] = json.loads(self.plan_text(table, request))
        return answer

    def plan_text(self, table: Table, request: Mapping[str, Any], plan_id: str | None = None) -> str:
        """The same as JSON text, which a server sends as it is.

        Args: plan_id, of `new_plan_id`; None for a new one. Raises, Cost: as `plan`.
        """
        asked = ScanRequest.of(request)
        state = _state(table, asked)
        where = None if asked.filter is None else _where(state, asked)
        stats = _native.ScanTasks.field_ids(state, asked.stats_fields or [], asked.case_sensitive)
        scan = self._scan(asked.start_snapshot_id, where, stats, asked.min_rows_requested)
        told: Content = {
            "table": _identity(state),
            "snapshot": state.snapshot_id,
            "schema": _native.ScanTasks.schema_id(state),
            "after": scan.after,
            "where": where,
            "stats": stats,
            "rows": scan.row_limit,
            "most": self.tasks_per_part,
            "until": self._until(),
            "share": _Share(0, _EVERYTHING, 1, 0),
            "skip": 0,
        }
        tasks = _native.ScanTasks(state, scan)
        parts = self._parts(tasks, told)
        is_short = all(len(part) <= self.max_token_chars for part in parts)
        answer = json.dumps({"plan-tasks": parts}) if len(parts) > 1 and is_short else tasks.text(None)
        head = json.dumps({"status": "completed", "plan-id": plan_id or self.new_plan_id(table)})
        return f"{head[:-1]}, {answer[1:]}"

    def fetch(self, table: Table, request: Mapping[str, Any]) -> dict[str, Any]:
        """Answers `fetchScanTasks`.

        Args: table, the one that was planned, at its newest state or a later one than it was planned at;
            request, a `FetchScanTasksRequest`, with a `plan-task` that `plan` or `fetch` gave.
        Returns: a `FetchScanTasksResult`: the part's `delete-files` and `file-scan-tasks`; or `plan-tasks`,
            for one that stands for several parts.
        Raises: PlanRequestError for a request without a plan task; PlanTaskNotFoundError for one that this
            secret did not sign, that was changed, is of another table or too old, and for one whose snapshot
            or schema is gone; else as `plan`.
        Cost: the manifest list, and the manifests of the part; where the snapshot has deletes those twice,
            and the manifests of deletes that are not older than the part's files. Memory is that of the
            answer, of the part's paths, and of the deletes that may apply to its files.
        Source: Iceberg's REST catalog specification, `fetchScanTasks`.
        """
        answer: dict[str, Any] = json.loads(self.fetch_text(table, request))
        return answer

    def fetch_text(self, table: Table, request: Mapping[str, Any]) -> str:
        """The same as JSON text, which a server sends as it is. Raises, Cost: as `fetch`."""
        token, most = text_of(request, "plan-task"), self.max_token_chars + _SLACK
        told = self._verified(_TASK, _identity(table.core), token, most)
        if told is None:
            raise PlanTaskNotFoundError("this plan task is none of the table's", kind="plan-task")
        if told["until"] is not None and told["until"] < time.time():
            raise PlanTaskNotFoundError("the plan task is too old: plan again", kind="plan-task")
        try:
            at = table.core.at(_native.Place.snapshot(told["snapshot"]))
            state = _native.ScanTasks.with_schema(at, told["schema"])
            tasks = _native.ScanTasks(
                state, self._scan(told["after"], told["where"], told["stats"], told["rows"])
            )
        except (SnapshotNotFoundError, CorruptError) as error:
            message = f"what the plan task was made of is gone: {error}"
            raise PlanTaskNotFoundError(message, kind="plan-task") from error
        if told["skip"] is None:
            return tasks.text(_Share(*told["share"]))
        return json.dumps({"plan-tasks": self._parts(tasks, told)})

    def new_plan_id(self, table: Table) -> str:
        """The id of a plan of this table, which every process with the secret knows for its own."""
        return self._signed(_PLAN, _identity(table.core), {"id": os.urandom(12).hex()})

    def check_plan_id(self, table: Table, plan_id: str) -> None:
        """Raises: PlanNotFoundError for an id that no planner with this secret gave for this table."""
        if self._verified(_PLAN, _identity(table.core), plan_id, _MOST_PLAN_ID) is None:
            raise PlanNotFoundError("this plan is none of the table's", kind="plan-id")

    def _scan(self, after: int | None, where: str | None, stats: list[int], rows: int | None) -> _Scan:
        return _Scan(after, where, stats, rows, self.form, self.threads)

    def _parts(self, tasks: _native.ScanTasks, told: Content) -> list[str]:
        """Plan tasks for the manifests of a share, after as many as were told before."""
        first, end, _, _ = told["share"]
        shares = [_Share(*share) for share in tasks.shares(first, end, told["most"])][told["skip"] :]
        most = self.parts_per_answer
        if len(shares) > most:
            shares, left = shares[: most - 1], shares[most - 1 :]
            # The next ones begin with the manifest that these end with, where its files are divided.
            rest = [{**told, "share": _Share(left[0].first, left[-1].end, 1, 0), "skip": left[0].nth}]
        else:
            rest = []
        parts = [{**told, "share": share, "skip": None} for share in shares]
        return [self._signed(_TASK, told["table"], part) for part in parts + rest]

    def _signed(self, purpose: str, identity: str, content: Content) -> str:
        # Whoever only imports lakebed needs no cryptography.
        from lakebed.iceberg.tokens import signed

        return signed(self.secret, f"{purpose} {identity}", content)

    def _verified(self, purpose: str, identity: str, token: str, most_chars: int) -> Content | None:
        from lakebed.iceberg.tokens import verified

        return verified(self.secret, f"{purpose} {identity}", token, most_chars)

    def _until(self) -> int | None:
        return None if self.max_age is None else int(time.time() + self.max_age.total_seconds())


def _state(table: Table, asked: ScanRequest) -> _native.Table:
    """The table at the snapshot, and with the schema, that a request asks for."""
    core = table.core
    if core.format != "iceberg":
        message = f"REST catalogs plan Iceberg tables, not those of {core.format}"
        raise UnsupportedError(message, kind="unsupported")
    wanted = asked.snapshot_id if asked.end_snapshot_id is None else asked.end_snapshot_id
    if asked.use_snapshot_schema and wanted is None:
        wanted = core.snapshot_id
    if wanted is not None:
        core = core.at(_native.Place.snapshot(wanted))
    return core if asked.use_snapshot_schema else _native.ScanTasks.with_schema(core, None)


def _where(state: _native.Table, asked: ScanRequest) -> str:
    return f"({_native.iceberg_filter(state, asked.filter or 'true', asked.case_sensitive)})"


def _identity(core: _native.Table) -> str:
    """What tells the table from others: of a version 1 that has no id, where it is."""
    return core.identity() or core.location
