"""How Python workers live and die, in sessions of several settings; run as a program by a test.

Usage: python workers.py TABLE FOLDER, of which the latter is for what is made. Prints one JSON object.
"""

from __future__ import annotations

import json
import os
import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pyspark.errors import PythonException
from spark_sessions import begun, sent_by_value

import lakebed
import lakebed.spark as ls
from lakebed.spark import frames
from spark_rows import actual, expected

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

# What is tried here are executors.
frames.SMALL_BYTES = None
SETTINGS: dict[str, dict[str, str]] = {
    "workers are used again": {"spark.python.worker.reuse": "true"},
    "workers are used once": {"spark.python.worker.reuse": "false"},
    "a task takes both cores": {"spark.task.cpus": "2"},
}


@contextmanager
def session(master: str, settings: dict[str, str]) -> Iterator[SparkSession]:
    spark = begun(master, settings)
    yield spark
    spark.stop()


def same(spark: SparkSession, table: lakebed.Table) -> dict[str, bool]:
    """Whether views are those without Spark, job after job."""
    found = {}
    for view in ("files", "partitions", "plan"):
        for ranges in (None, 8000):
            frame = getattr(ls, view)(spark, table, range_bytes=ranges)
            found[f"{view}, {ranges}"] = actual(frame) == expected(getattr(table, view)())
    return found


def failing_once(folder: str) -> Any:
    """The local file system, whose files fail each worker the first time."""
    driver = os.getpid()

    def fail(path: str) -> None:
        if "manifest-list" not in path and "manifest-" in path and os.getpid() != driver:
            try:
                os.close(os.open(f"{folder}/{path.rpartition('/')[2]}", os.O_CREAT | os.O_EXCL))
            except FileExistsError:
                pass
            else:
                raise OSError("try again")

    return sent_by_value(fail)


def retried(spark: SparkSession, path: str, folder: Path) -> dict[str, Any]:
    """What comes of reads that fail once: how many did, and whether the rows are right."""
    folder.mkdir()
    table = lakebed.open_table(path, storage=failing_once(str(folder)))
    # A task has a part of one manifest or two, each of which fails once: fewer times than it may.
    right = actual(ls.entries(spark, table, range_bytes=2000)) == expected(table.entries())
    return {"failures": len(list(folder.iterdir())), "right": right}


def corrupt(spark: SparkSession, path: str, folder: Path) -> dict[str, Any]:
    """What comes of a damaged manifest, and who works afterwards."""
    copy = Path(shutil.copytree(path, folder))
    manifest = Path(lakebed.open_table(copy).manifests().to_arrow()["path"][0].as_py())
    content = bytearray(manifest.read_bytes())
    content[-1] ^= 1
    manifest.write_bytes(content)
    before = daemons(spark)
    spark.sparkContext.setJobGroup("corrupt", "a job that fails")
    try:
        ls.files(spark, copy).collect()
    except PythonException as error:
        told = str(error)
    else:
        told = ""
    tracker = spark.sparkContext.statusTracker()
    jobs = [tracker.getJobInfo(job) for job in tracker.getJobIdsForGroup("corrupt")]
    stages = [tracker.getStageInfo(stage) for job in jobs if job for stage in job.stageIds]
    failures = sum(stage.numFailedTasks for stage in stages if stage)
    right = actual(ls.files(spark, path)) == expected(lakebed.open_table(path).files())
    alive = before == daemons(spark)
    return {"manifest": manifest.name, "told": told, "failures": failures, "right": right, "alive": alive}


def daemons(spark: SparkSession) -> list[int]:
    """The processes that workers are forked from."""
    rows = spark.range(4, numPartitions=4).mapInArrow(parents, "pid int").distinct().collect()
    return [row.pid for row in rows]


def parents(batches: Any) -> Any:
    import pyarrow as pa

    for _ in batches:
        yield pa.RecordBatch.from_pydict({"pid": pa.array([os.getppid()], pa.int32())})


def main(path: str, folder: str) -> None:
    os.environ["PYSPARK_PYTHON"] = sys.executable
    answer: dict[str, Any] = {}
    for name, settings in SETTINGS.items():
        with session("local[2]", settings) as spark:
            answer[name] = same(spark, lakebed.open_table(path))
    with session("local[2,3]", {}) as spark:
        answer["retried"] = retried(spark, path, Path(folder, "failed"))
        answer["corrupt"] = corrupt(spark, path, Path(folder, "corrupt"))
    sys.stdout.write("\n" + json.dumps(answer) + "\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
