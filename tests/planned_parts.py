"""All scan tasks that a planner answers a request with, whatever parts it gives them in."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import lakebed
from iceberg_golden import GoldenTable
from lakebed.errors import UnsupportedError
from lakebed.iceberg import Planner

SECRET = b"a secret of tests"
CONTENTS = {"position-deletes": 1, "equality-deletes": 2}


def whole(**options: Any) -> Planner:
    """A planner that answers at once."""
    return Planner(SECRET, tasks_per_part=1 << 60, **options)


def in_parts(tasks: int = 1, parts: int = 500, **options: Any) -> Planner:
    """A planner of parts of so many tasks."""
    return Planner(SECRET, tasks_per_part=tasks, parts_per_answer=parts, **options)


def answers(planner: Planner, table: lakebed.Table, request: dict[str, Any]) -> list[dict[str, Any]]:
    """Every answer that has tasks, or nothing at all."""
    asked = [planner.plan(table, request)]
    assert asked[0]["status"] == "completed"
    planner.check_plan_id(table, asked[0]["plan-id"])
    found = []
    while asked:
        answer = asked.pop(0)
        tasks = answer.get("plan-tasks", [])
        assert len(tasks) <= planner.parts_per_answer
        assert not tasks or not answer.get("file-scan-tasks")
        found += [] if tasks else [answer]
        asked += [planner.fetch(table, {"plan-task": task}) for task in tasks]
    return found


def tasks_of(answer: dict[str, Any]) -> list[dict[str, Any]]:
    """The scan tasks of an answer, each with its deletes in full."""
    deletes, used, tasks = answer["delete-files"], set(), []
    for task in answer["file-scan-tasks"]:
        numbers = task.get("delete-file-references", [])
        used |= set(numbers)
        tasks.append(
            {
                "data-file": task["data-file"],
                "residual-filter": task["residual-filter"],
                "deletes": sorted((deletes[number] for number in numbers), key=json.dumps),
            }
        )
    assert used == set(range(len(deletes))), "deletes that no task names"
    return tasks


def tasks(planner: Planner, table: lakebed.Table, request: dict[str, Any]) -> list[str]:
    """All scan tasks as JSON, sorted."""
    found = [task for answer in answers(planner, table, request) for task in tasks_of(answer)]
    return sorted(json.dumps(task, sort_keys=True) for task in found)


def paths(planner: Planner, table: lakebed.Table, request: dict[str, Any]) -> list[str]:
    """The names of all planned files, sorted."""
    found = [json.loads(task)["data-file"]["file-path"] for task in tasks(planner, table, request)]
    return sorted(path.rpartition("/")[2] for path in found)


def agreed(table: GoldenTable, lines: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Of the engine's plans those of which lakebed plans the same files: where it does not, and why,
    `test_iceberg_pruning.py` knows.
    """
    now, names = table.open(), {row["i"]: row["file_path"] for row in table.rows("plan_files")}
    found = []
    for line in lines:
        request = {"snapshot-id": line["snapshot_id"], "use-snapshot-schema": True, "filter": line["filter"]}
        try:
            plan = tasks(whole(), now, request)
        except UnsupportedError:
            continue  # JSON has no NaN, in partitions and residuals
        ours = {json.loads(task)["data-file"]["file-path"] for task in plan}
        found += [line] if ours == {names[number] for number in line["files"]} else []
    return found
