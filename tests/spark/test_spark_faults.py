"""Whatever a cluster does to tasks before a shuffle and after one, the rows are those without Spark."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from spark_runtimes import require_python_for_spark
from spark_sessions import program_lines
from trust import not_in_check

pytest.importorskip("pyspark")

pytestmark = [pytest.mark.spark, pytest.mark.timeout(3000)]

PROGRAM = Path(__file__).with_name("faults.py")
SHUFFLES = {
    "plan": 1,
    "plan of Paimon": 1,
    "diff": 1,
    "files": 1,
    "files together": 1,
    "reachable": 1,
    "expire_plan": 2,
    "verify": 2,
    "partitions": 2,
    "partitions of Iceberg": 1,
    "health": 3,
    "health of many": 2,
}
"""The views, and how many shuffles are between their manifests and their rows."""
MOMENTS = 4
"""At which executors are killed by time, in jobs of their own."""


@dataclass
class Stage:
    """What Spark's event log tells of a stage.

    Attributes: depth, how many shuffles are before it; attempts, how often the stage was begun; ends, how
        many tasks ended for which reason; again, which were begun while another attempt still ran.
    """

    depth: int
    attempts: int = 0
    ends: Counter[str] = field(default_factory=Counter)
    again: set[int] = field(default_factory=set)


def log(folder: Path) -> Iterator[Any]:
    """The events of a session."""
    (file,) = (folder / "events").iterdir()
    yield from map(json.loads, file.read_text("utf-8").splitlines())


def stages(folder: Path, group: str) -> dict[int, Stage]:
    """The stages of the jobs of a group."""
    found = dict[int, Stage]()
    for event in log(folder):
        match event["Event"]:
            case "SparkListenerJobStart" if event["Properties"].get("spark.jobGroup.id") == group:
                parents = {info["Stage ID"]: info["Parent IDs"] for info in event["Stage Infos"]}
                found.update({one: Stage(depth(one, parents)) for one in parents})
            case "SparkListenerStageSubmitted" if event["Stage Info"]["Stage ID"] in found:
                found[event["Stage Info"]["Stage ID"]].attempts += 1
            case "SparkListenerTaskEnd" if event["Stage ID"] in found:
                stage = found[event["Stage ID"]]
                stage.ends[event["Task End Reason"]["Reason"]] += 1
                if event["Task Info"]["Speculative"]:
                    stage.again.add(event["Task Info"]["Index"])
    return found


def depth(stage: int, parents: dict[int, list[int]]) -> int:
    return max((1 + depth(parent, parents) for parent in parents[stage]), default=0)


class Job(NamedTuple):
    """A job with a fault that is meant for the stages after so many shuffles; by time for any.

    Attributes: struck, the tasks that the fault struck, as "stage.partition.attempt"; stages, of the job.
    """

    view: str
    meant: int | None
    struck: list[str]
    stages: dict[int, Stage]

    @property
    def stage(self) -> Stage:
        """The one that the fault struck, which is of those that were meant."""
        (number,) = {int(task.split(".")[0]) for task in self.struck}
        assert self.stages[number].depth == self.meant, self
        return self.stages[number]

    def ends(self, reason: str, depth: int | None = None) -> int:
        """How many tasks ended for a reason, of all stages or of those after so many shuffles."""
        return sum(one.ends[reason] for one in self.stages.values() if depth in (None, one.depth))


def jobs(kind: str, views: Iterable[str], folder: Path) -> list[Job]:
    """What came of each job; all have given the rows that there are without Spark."""
    require_python_for_spark()
    lines = program_lines(PROGRAM, kind, ",".join(views), folder, timeout=2900)
    answers = [json.loads(line) for line in lines if line.startswith("{")]
    assert {answer["view"] for answer in answers} == {*views}
    wrong = [answer for answer in answers if not answer["right"] or not answer["rows"]]
    assert not wrong, wrong
    return [Job(one["view"], one["stage"], one["struck"], stages(folder, one["group"])) for one in answers]


def struck_in(found: list[Job]) -> dict[str, list[int | None]]:
    """Of each view the stages whose faults were made, by the shuffles before them."""
    return {job.view: [other.meant for other in found if other.view == job.view] for job in found}


EVERY_STAGE = {view: [*range(shuffles + 1)] for view, shuffles in SHUFFLES.items()}


@not_in_check
def test_what_was_lost_of_a_shuffle_is_made_again(tmp_path):
    made_again(jobs("lost", ["diff"], tmp_path))


@pytest.mark.long
def test_what_was_lost_of_any_shuffle_is_made_again(tmp_path):
    found = jobs("lost", SHUFFLES, tmp_path)
    # A task that is alone has what it needs when it begins.
    alone = {"expire_plan": [1], "verify": [1], "health": [1, 2], "health of many": [1]}
    assert struck_in(found) == {view: alone.get(view, every[1:]) for view, every in EVERY_STAGE.items()}
    made_again(found)


def made_again(found: list[Job]) -> None:
    for job in found:
        assert job.stage.ends["FetchFailed"] > 0, job
        assert job.stage.attempts > 1, job
        before = [one for one in job.stages.values() if one.depth == job.stage.depth - 1]
        assert any(one.attempts > 1 for one in before), job


@pytest.mark.long
def test_executors_that_die_in_any_stage_change_no_row(tmp_path):
    found = jobs("killed", SHUFFLES, tmp_path)
    assert struck_in(found) == EVERY_STAGE
    for job in found:
        assert len(job.struck) == 1, job
        assert job.stage.ends["ExecutorLostFailure"] > 0, job


@pytest.mark.long
def test_executors_that_die_at_any_time_change_no_row(tmp_path):
    found = jobs("killed by time", ["plan", "reachable", "verify"], tmp_path)
    assert struck_in(found) == dict.fromkeys(("plan", "reachable", "verify"), [None] * MOMENTS)
    removed = [event for event in log(tmp_path) if event["Event"] == "SparkListenerExecutorRemoved"]
    assert len(removed) >= len(found)
    # Tasks before shuffles, whose output was lost too, and after them.
    assert sum(job.ends("ExecutorLostFailure", 0) + job.ends("Resubmitted", 0) for job in found) > 0
    assert sum(job.ends("ExecutorLostFailure") - job.ends("ExecutorLostFailure", 0) for job in found) > 0


@pytest.mark.long
def test_tasks_that_fail_in_any_stage_are_tried_again(tmp_path):
    found = jobs("tried again", SHUFFLES, tmp_path)
    assert struck_in(found) == EVERY_STAGE
    for job in found:
        assert len(job.struck) > 0, job
        # Of the stage, and of no other.
        assert job.ends("ExceptionFailure") == job.ends("ExceptionFailure", job.meant) == len(job.struck), job


@pytest.mark.long
def test_tasks_of_any_stage_that_run_twice_change_no_row(tmp_path):
    found = jobs("twice", SHUFFLES, tmp_path)
    assert struck_in(found) == EVERY_STAGE
    for job in found:
        # It waited for the other attempt, which came.
        assert len(job.struck) == 1, job
        (task,) = job.struck
        assert int(task.split(".")[1]) in job.stage.again, job
