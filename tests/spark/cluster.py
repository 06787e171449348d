"""Runs on a local cluster, whose executors are processes of their own; run as a program by a test.

Usage, each printing one JSON object:
    python cluster.py packed TABLE ENVIRONMENT.tar.gz    executors have the environment of an archive
    python cluster.py killed TABLE COUNT                 so many times, one is killed while files are read
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

from pyspark.find_spark_home import _find_spark_home
from pyspark.sql import SparkSession

import lakebed
import lakebed.spark as ls
from spark_rows import actual, expected


def session(settings: dict[str, str]) -> SparkSession:
    settings = {
        **settings,
        "spark.ui.enabled": "false",
        "spark.sql.session.timeZone": "UTC",
        "spark.sql.shuffle.partitions": "4",
        "spark.task.maxFailures": "8",
        "spark.executor.maxNumFailures": "1000",
        "spark.speculation": "true",
        "spark.pyspark.driver.python": sys.executable,
    }
    builder = SparkSession.builder.master("local-cluster[2,1,1024]").appName("lakebed on a cluster")
    for name, value in settings.items():
        builder = builder.config(name, value)
    spark = builder.getOrCreate()
    spark.sparkContext.setLogLevel("OFF")
    return spark


def executors() -> list[int]:
    """The processes of this cluster's executors."""
    listed = subprocess.run(["ps", "-eo", "pid,ppid,args"], capture_output=True, text=True, check=True)
    lines = [line.split(None, 2) for line in listed.stdout.splitlines()[1:]]
    parents = {int(pid): int(parent) for pid, parent, _ in lines}

    def is_ours(pid: int) -> bool:
        while pid in parents and pid != os.getpid():
            pid = parents[pid]
        return pid == os.getpid()

    named = [int(pid) for pid, _, args in lines if "CoarseGrainedExecutorBackend" in args]
    return [pid for pid in named if is_ours(pid)]


class Killer(threading.Thread):
    """Kills an executor at a moment in the middle of a job."""

    def __init__(self, delay: float) -> None:
        super().__init__()
        self.delay = delay
        self.killed = 0

    def run(self) -> None:
        time.sleep(self.delay)
        for pid in executors()[:1]:
            os.kill(pid, signal.SIGKILL)
            self.killed += 1


def packed(table: lakebed.Table, archive: str) -> dict[str, Any]:
    """Which Python the executors run, and which views give the rows of one process."""
    os.environ["PYSPARK_PYTHON"] = "./environment/bin/python"
    spark = session({"spark.archives": f"{archive}#environment"})
    prefixes = spark.range(4, numPartitions=4).mapInArrow(prefix, "prefix string").distinct().collect()
    same = {"ranges": actual(ls.files(spark, table, range_bytes=2000)) == expected(table.files())}
    for view in ("files", "entries", "partitions", "plan"):
        same[view] = actual(getattr(ls, view)(spark, table)) == expected(getattr(table, view)())
    checked = [row.asDict() for row in ls.check(spark).collect()]
    return {"prefixes": [row.prefix for row in prefixes], "check": checked, "same": same}


def killed(table: lakebed.Table, count: str) -> dict[str, int]:
    """How many executors were killed in jobs, and how many of the jobs gave the right rows."""
    os.environ["PYSPARK_PYTHON"] = sys.executable
    spark, rows = session({}), expected(table.files())
    frame = ls.files(spark, table, range_bytes=500)
    assert actual(frame) == rows
    started = time.monotonic()
    assert actual(frame) == rows
    took = time.monotonic() - started
    answer = {"killed": 0, "right": 0}
    for number in range(int(count)):
        killer = Killer(took * (number + 1) / (int(count) + 1))
        killer.start()
        answer["right"] += actual(frame) == rows
        killer.join()
        answer["killed"] += killer.killed
    return answer


def main(what: str, path: str, argument: str) -> None:
    answer = {"packed": packed, "killed": killed}[what](lakebed.open_table(path), argument)
    sys.stdout.write(json.dumps(answer) + "\n")
    spark = SparkSession.active()
    # What executors unpacked stays where Spark is installed.
    left = Path(_find_spark_home(), "work", spark.sparkContext.applicationId)
    spark.stop()
    shutil.rmtree(left, ignore_errors=True)


def prefix(batches: Any) -> Any:
    import sys

    import pyarrow as pa

    for _ in batches:
        yield pa.RecordBatch.from_pydict({"prefix": [sys.prefix]})


if __name__ == "__main__":
    main(*sys.argv[1:])
