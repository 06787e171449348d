"""Faults of a cluster in jobs whose rows cross a shuffle; run as a program by a test.

Usage: python faults.py KIND VIEW,VIEW,… FOLDER, of which the last is for what is made: Spark's event log in
its folder `events`. Prints one JSON object for each job: whether its rows are those without Spark, which
stage the fault was meant for, and which tasks it struck.

Every function that a frame gives to `mapInArrow` is wrapped in one that makes the fault in the executor
itself. Stages are numbered by the shuffles before them.
"""

from __future__ import annotations

import json
import os
import re
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from cluster import Killer, session, standalone_cluster
from faulty import Faulty

import lakebed
import lakebed.spark as ls
from iceberg_golden import golden_iceberg_tables
from lakebed.view import Bounds
from shared_data import SAMPLE_TABLE, golden_paimon_tables
from spark_rows import actual, expected

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.types import StructType

MOMENTS = 4
"""Of a job in which executors are killed by time."""
SETTINGS = {
    "spark.sql.shuffle.partitions": "6",
    "spark.sql.autoBroadcastJoinThreshold": "-1",
    # Both executors are there before the first task.
    "spark.cores.max": "2",
    "spark.scheduler.minRegisteredResourcesRatio": "1.0",
    "spark.locality.wait": "0",
    "spark.shuffle.io.maxRetries": "1",
    "spark.shuffle.io.retryWait": "1s",
    "spark.ui.showConsoleProgress": "false",
    "spark.eventLog.enabled": "true",
    "spark.eventLog.compress": "false",
    "spark.eventLog.rolling.enabled": "false",
}
TWICE = {
    "spark.executor.memory": "1g",
    "spark.speculation": "true",
    "spark.speculation.interval": "100ms",
    "spark.speculation.quantile": "0.5",
    "spark.speculation.multiplier": "3",
    # A task that is alone in its stage is begun once more too.
    "spark.speculation.task.duration.threshold": "2s",
}


def spread_out(table: lakebed.Table) -> None:
    """Has a small table be read by several tasks, and its rows cross shuffles to several: the constants of
    lakebed that decide so, all of them here.
    """
    from lakebed.spark import frames, inputs

    size = sum(manifest["size"] for manifest in table.files().planned_manifests())
    frames.SMALL_BYTES = None
    inputs._LEAST_TASK = 1
    share = max(1, size // 7)
    frames.BOUNDS = Bounds(delete_bytes=0, deletions=0, task_bytes=share, sum_bytes=share)


def iceberg() -> lakebed.Table:
    (found,) = (table for table in golden_iceberg_tables() if table.name == "dv_v3")
    return found.open()


def dangling() -> lakebed.Table:
    """A Paimon table that deletes many files."""
    (found,) = (table for table in golden_paimon_tables() if table.name == "pk_dangling")
    return lakebed.open_table(found.path)


def sample() -> lakebed.Table:
    return lakebed.open_table(SAMPLE_TABLE)


Asked = tuple[Callable[[], lakebed.Table], str, tuple[Any, ...], dict[str, Any]]

VIEWS: dict[str, Asked] = {
    "plan": (iceberg, "plan", (), {}),
    "plan of Paimon": (sample, "plan", (), {}),
    "diff": (sample, "diff", (4, 10), {}),
    "files": (dangling, "files", (), {}),
    "files together": (dangling, "files", (), {"where": "k2 BETWEEN 100 AND 182"}),
    "reachable": (sample, "reachable", (), {}),
    "expire_plan": (sample, "expire_plan", (timedelta(0), 1), {}),
    "verify": (sample, "verify", (), {"data_files": True}),
    "partitions": (dangling, "partitions", (), {}),
    "partitions of Iceberg": (iceberg, "partitions", (), {}),
    "health": (sample, "health", (), {}),
    "health of many": (sample, "health", (), {}),
}


def frame_of(spark: SparkSession, name: str) -> tuple[DataFrame, list[str]]:
    """A view that executors read, and its rows without Spark."""
    opens, view, places, keywords = VIEWS[name]
    table = opens()
    rows = expected(getattr(table, view)(*places, **keywords))
    spread_out(table)
    if name == "health of many":
        frame = ls.health(spark, [SAMPLE_TABLE] * 8, large_bytes=0)
        return frame.drop("error"), rows * 8
    frame = getattr(ls, view)(spark, table, *places, range_bytes=1 << 18, **keywords)
    if name == "files":
        # After the join no Python runs otherwise.
        frame = frame.mapInArrow(same, frame.schema)
    return frame, rows


def same(batches: Any) -> Any:
    return batches


@contextmanager
def faulty(
    spark: SparkSession, kind: str, stage: int | None, folder: Path, local: str
) -> Iterator[dict[int, bool]]:
    """Frames that are made meanwhile have a fault in one stage.

    Gives: the stages that Python runs in, and whether they have several tasks.
    """
    kept: Any = type(spark.range(1))
    stages = dict[int, bool]()
    given = kept.mapInArrow

    def wrapped(self: DataFrame, mapper: Any, types: StructType | str, *more: Any, **named: Any) -> DataFrame:
        plan = self._jdf.queryExecution().analyzed().toString()
        shuffles = re.findall(r"^\W*(Repartition \d+|RepartitionBy.*|Join)", plan, re.MULTILINE)
        # A reduce of few rows has a task of its own, by whatever they are grouped.
        alone = shuffles and re.fullmatch(r"Repartition 1|RepartitionBy.*, 1", shuffles[0])
        stages[len(shuffles)] = several = not alone
        if stage in (None, len(shuffles)):
            # Of several tasks of a reduce some are to end before: rows of both are to come together.
            after = 1 if shuffles and several else 0
            mapper = Faulty(mapper, kind, str(folder), after, local)
        made: DataFrame = given(self, mapper, types, *more, **named)
        return made

    kept.mapInArrow = wrapped
    try:
        yield stages
    finally:
        kept.mapInArrow = given


def ran(spark: SparkSession, kind: str, view: str, stage: int | None, folder: Path, **more: float) -> Any:
    """What comes of a job with a fault in one stage, by time in any."""
    number = len([*folder.glob("job *")])
    made = folder / f"job {number}"
    made.mkdir()
    with faulty(spark, kind, stage, made, str(folder / "local")) as stages:
        frame, rows = frame_of(spark, view)
    while cast("Any", spark)._jsc.sc().getExecutorMemoryStatus().size() < 3:
        time.sleep(0.1)
    spark.sparkContext.setJobGroup(made.name, view)
    (made / "armed").touch()
    killer = Killer(more["delay"]) if "delay" in more else None
    started = time.monotonic()
    if killer is not None:
        killer.start()
    right = actual(frame) == rows
    took = time.monotonic() - started
    if killer is not None:
        killer.join()
    spark.sparkContext.setJobGroup("", "")
    struck = sorted(file.name.removeprefix("struck ") for file in made.glob("struck *"))
    answer = {"group": made.name, "view": view, "stage": stage, "struck": struck, "right": right}
    return {**answer, "stages": stages, "rows": len(rows), "seconds": round(took, 1)}


def main(kind: str, views: str, argument: str) -> None:
    os.environ["PYSPARK_PYTHON"] = sys.executable
    folder = Path(argument)
    for name in ("local", "events"):
        (folder / name).mkdir()
    settings = {
        **SETTINGS,
        "spark.local.dir": f"{folder}/local",
        "spark.eventLog.dir": f"file://{folder}/events",
    }
    with ExitStack() as running:
        master = "local-cluster[2,1,1024]"
        if kind == "twice":
            master = running.enter_context(standalone_cluster(folder / "work"))
            settings.update(TWICE)
        spark = running.enter_context(session(settings, master))
        for view in views.split(","):
            for answer in answers(spark, kind, view, folder):
                sys.stdout.write("\n" + json.dumps(answer) + "\n")


def answers(spark: SparkSession, kind: str, view: str, folder: Path) -> Iterator[Any]:
    """A job for each stage that Python runs in; by time one for each of some moments."""
    if kind == "killed by time":
        # The first job of executors takes long.
        _, unharmed = (ran(spark, kind, view, None, folder) for _ in range(2))
        for number in range(MOMENTS):
            delay = unharmed["seconds"] * (number + 1) / (MOMENTS + 1)
            yield ran(spark, kind, view, None, folder, delay=delay)
        return
    # What comes after a shuffle misses its files, if tasks begin when others have ended.
    stage = 1 if kind == "lost" else 0
    while True:
        answer = ran(spark, kind, view, stage, folder)
        yield answer
        stage += 1
        if not answer["stages"].get(stage) and (kind == "lost" or stage not in answer["stages"]):
            return


if __name__ == "__main__":
    main(*sys.argv[1:])
