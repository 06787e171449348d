"""Plans that are made while their client waits, or asks for them later."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Mapping
from concurrent.futures import CancelledError, Future, ThreadPoolExecutor
from concurrent.futures import TimeoutError as NotYet
from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING, Any

from lakebed._arguments import duration, positive
from lakebed.errors import PlanNotFoundError
from lakebed.iceberg.answers import busy, error_answer
from lakebed.iceberg.requests import ScanRequest

if TYPE_CHECKING:
    from typing_extensions import Self

    from lakebed.iceberg.planning import Planner
    from lakebed.table import Table


@dataclass
class _Plan:
    answer: Future[str]
    since: float


class SubmittedPlans:
    """Plans of a planner that take longer than their clients wait: `planTableScan`, `fetchPlanningResult` and
    `cancelPlanning` of a REST catalog that has one process, or sends a client to the same one again.

    Plan tasks need none of this: each process answers them. `close`, or the end of a `with`, ends the
    threads.

    Attributes: planner, that makes the plans.
    """

    def __init__(
        self,
        planner: Planner,
        *,
        workers: int = 2,
        most: int = 100,
        max_age: timedelta = timedelta(minutes=10),
    ) -> None:
        """Args: workers, threads that plan; most, plans that are kept, each with its answer; max_age, after
            which an answer that nobody fetched is dropped.

        Raises: ValueError, TypeError. Cost: none; threads start with plans.
        """
        positive("workers", workers)
        positive("most", most)
        self.planner = planner
        self._most, self._age = most, duration("max_age", max_age).total_seconds()
        self._pool = ThreadPoolExecutor(workers, thread_name_prefix="lakebed-plan")
        self._plans: dict[str, _Plan] = {}
        self._turn = threading.Lock()

    def plan(self, table: Table, request: Mapping[str, Any], wait: float) -> str:
        """Answers `planTableScan`.

        Args: as `Planner.plan`; wait [s], for which the plan may take before it is told to be submitted.
        Returns: JSON text: that of `Planner.plan_text`, or a `plan-id` with the `status` "submitted".
        Raises: as `Planner.plan`, of plans that fail while the client waits; LimitError, which is retryable,
            where as many plans are kept as may be.
        """
        ScanRequest.of(request)
        plan_id = self.planner.new_plan_id(table)
        since = time.monotonic()
        with self._turn:
            self._forget_old()
            if len(self._plans) >= self._most:
                raise busy(self._most)
            answer = self._pool.submit(self.planner.plan_text, table, request, plan_id)
            self._plans[plan_id] = _Plan(answer, since)
        try:
            text = answer.result(wait)
        except NotYet:
            return json.dumps({"status": "submitted", "plan-id": plan_id})
        except BaseException:
            self._forget(plan_id)
            raise
        self._forget(plan_id)
        return text

    def poll(self, table: Table, plan_id: str) -> str:
        """Answers `fetchPlanningResult`, as JSON text.

        Raises: PlanNotFoundError for a plan that this object does not have, or no longer.
        """
        plan = self._found(table, plan_id)
        try:
            return plan.answer.result(0)
        except NotYet:
            return json.dumps({"status": "submitted"})
        except CancelledError:
            return json.dumps({"status": "cancelled"})
        except Exception as error:  # noqa: BLE001 - whatever planning raised is the answer
            return json.dumps({"status": "failed", **error_answer(error)[1]})

    def cancel(self, table: Table, plan_id: str) -> None:
        """Answers `cancelPlanning`: a plan that has not begun is not made, the answer of another is dropped.
        For one that is not kept nothing is to be done.

        Raises: PlanNotFoundError for the id of a plan that no planner with this secret gave for this table.
        """
        self.planner.check_plan_id(table, plan_id)
        with self._turn:
            plan = self._plans.get(plan_id)
            if plan is not None and not plan.answer.cancel():
                # It is being made, or is: another future is cancelled, and nobody has its answer.
                plan.answer = Future()
                plan.answer.cancel()

    def close(self) -> None:
        """Waits for plans that are being made; what has not begun is not made."""
        self._pool.shutdown(cancel_futures=True)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _found(self, table: Table, plan_id: str) -> _Plan:
        self.planner.check_plan_id(table, plan_id)
        with self._turn:
            self._forget_old()
            plan = self._plans.get(plan_id)
        if plan is None:
            raise PlanNotFoundError("this plan is not kept, or no longer: plan again", kind="plan-id")
        return plan

    def _forget(self, plan_id: str) -> None:
        with self._turn:
            self._plans.pop(plan_id, None)

    def _forget_old(self) -> None:
        before = time.monotonic() - self._age
        for plan_id in [known for known, plan in self._plans.items() if plan.since < before]:
            self._plans.pop(plan_id).answer.cancel()
