"""Runs on clusters whose executors are processes of their own; run as a program by a test.

Usage, each printing one JSON object:
    python cluster.py packed TABLE ENVIRONMENT.tar.gz    executors have the environment of an archive
    python cluster.py killed TABLE COUNT                 so many times, one is killed while files are read
    python cluster.py speculated TABLE FOLDER            a task that waits is begun once more elsewhere
    python cluster.py s3a TABLE HOST:PORT;JARS           Spark or executors read a table on a server of S3
"""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from object_store import KEY, SECRET, Proxy, client, proxy
from pyspark.find_spark_home import _find_spark_home
from spark_sessions import begun, sent_by_value
from trust import long_or

import lakebed
import lakebed.spark as ls
from lakebed.spark import frames
from spark_rows import actual, expected

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

# What is tried here are executors.
frames.SMALL_BYTES = None


@contextmanager
def session(settings: dict[str, str], master: str = "local-cluster[2,1,1024]") -> Iterator[SparkSession]:
    settings = {
        "spark.sql.shuffle.partitions": "4",
        "spark.task.maxFailures": "8",
        "spark.executor.maxNumFailures": "1000",
        "spark.pyspark.driver.python": sys.executable,
        **settings,
    }
    spark = begun(master, settings)
    # What executors of a local cluster unpacked stays where Spark is installed.
    left = Path(_find_spark_home(), "work", spark.sparkContext.applicationId)
    yield spark
    spark.stop()
    shutil.rmtree(left, ignore_errors=True)


def executors() -> list[int]:
    """The processes of this cluster's executors."""
    command = ["ps", "-ww", "-eo", "pid=,ppid=,args="]
    listed = subprocess.run(command, capture_output=True, text=True, check=True)
    # One that is ending may have no arguments.
    lines = [(*line.split(None, 2), "")[:3] for line in listed.stdout.splitlines()]
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


def packed(path: str, archive: str) -> dict[str, Any]:
    """Which Python the executors run, and which views give the rows of one process."""
    os.environ["PYSPARK_PYTHON"] = "./environment/bin/python"
    table = lakebed.open_table(path)
    # SQL is analysed on the driver by an interpreter of the same path.
    os.chdir(Path(archive).parent)
    Path("environment").symlink_to(sys.prefix)
    master = long_or("local-cluster[1,2,1024]", "local-cluster[2,1,1024]")
    with session({"spark.archives": f"{archive}#environment"}, master) as spark:
        prefixes = spark.range(4, numPartitions=4).mapInArrow(prefix, "prefix string").distinct().collect()
        same = {"ranges": actual(ls.files(spark, table, range_bytes=2000)) == expected(table.files())}
        for view in ("files", "entries", "partitions", "plan"):
            same[view] = actual(getattr(ls, view)(spark, table)) == expected(getattr(table, view)())
        if hasattr(spark, "dataSource"):
            ls.register(spark, registered=table)
            for view in ("files", "partitions"):
                frame = spark.sql(f"SELECT * FROM lakebed('registered', '{view}')")
                same[f"{view} of SQL"] = actual(frame) == expected(getattr(table, view)())
            spark.sql("CREATE TABLE of_sql USING lakebed OPTIONS (path 'registered', range_bytes '2000')")
            same["a table of SQL"] = actual(spark.table("of_sql")) == expected(table.files())
            spark.sql("DROP TABLE of_sql")
        checked = [row.asDict() for row in ls.check(spark, table).collect()]
    return {"prefixes": [row.prefix for row in prefixes], "check": checked, "same": same}


def killed(path: str, count: str) -> dict[str, int]:
    """How many executors were killed in jobs, and how many of the jobs gave the right rows."""
    os.environ["PYSPARK_PYTHON"] = sys.executable
    table = lakebed.open_table(path)
    rows, answer = expected(table.files()), {"killed": 0, "right": 0}
    with session({}) as spark:
        frame = ls.files(spark, table, range_bytes=2000)
        assert actual(frame) == rows
        started = time.monotonic()
        assert actual(frame) == rows
        took = time.monotonic() - started
        for number in range(int(count)):
            killer = Killer(took * (number + 1) / (int(count) + 1))
            killer.start()
            answer["right"] += actual(frame) == rows
            killer.join()
            answer["killed"] += killer.killed
    return answer


def speculated(path: str, folder: str) -> dict[str, Any]:
    """How many read the manifest that the first reader waits at, and whether the rows are right."""
    os.environ["PYSPARK_PYTHON"] = sys.executable
    table = lakebed.open_table(path)
    settings = {
        "spark.executor.memory": "1g",
        "spark.speculation": "true",
        "spark.speculation.quantile": "0.5",
        "spark.speculation.multiplier": "1.1",
    }
    manifest = table.manifests().to_arrow()["path"][0].as_py()
    readers = Path(folder, "readers")
    readers.mkdir()
    slow = lakebed.open_table(path, storage=waiting_for_another(manifest, str(readers)))
    with standalone_cluster(Path(folder, "work")) as master, session(settings, master) as spark:
        right = actual(ls.entries(spark, slow, range_bytes=1 << 20)) == expected(table.entries())
    return {"readers": len(list(readers.iterdir())), "right": right}


def s3a(uri: str, argument: str) -> dict[str, Any]:
    """What gives the rows of one process, whoever reads manifests, and which of the two did; and the requests
    for manifests that each of the two made, beside how many manifests there are, and how many of these delete
    files.
    """
    os.environ["PYSPARK_PYTHON"] = sys.executable
    server, jars = argument.split(";")
    with proxy(server) as (address, proxied):
        return _by_both(uri, address, jars, proxied)


def _by_both(uri: str, address: str, jars: str, proxied: Proxy) -> dict[str, Any]:
    settings = {
        "spark.jars": jars,
        "spark.hadoop.fs.s3a.endpoint": f"http://{address}",
        "spark.hadoop.fs.s3a.path.style.access": "true",
        "spark.hadoop.fs.s3a.access.key": KEY,
        "spark.hadoop.fs.s3a.secret.key": SECRET,
    }
    table = lakebed.open_table(uri, storage=client("pyarrow", address))
    with session(settings, "local[2]") as spark:
        answer: dict[str, Any] = {}
        for read in ("spark", "executors"):
            for view in ("files", "entries", "partitions", "plan"):
                wanted = expected(getattr(table, view)())
                proxied.forget()
                frame = getattr(ls, view)(spark, table, read=read)
                plan = frame._jdf.queryExecution().toString()
                rows = actual(frame) == wanted
                answer[f"{view}, {read}"] = rows and ("binaryFile" in plan) == (read == "spark")
            # Of the last view.
            of_manifests = (one for one in proxied.asked if re.search("/manifest-(?!list-)", one.path))
            answer[f"requests, {read}"] = Counter(one.method for one in of_manifests)
        deleted = table.manifests().to_arrow()["deleted_files_count"].to_pylist()
        answer["manifests"], answer["deleting"] = len(deleted), sum(count > 0 for count in deleted)
    return answer


@contextmanager
def standalone_cluster(folder: Path) -> Iterator[str]:
    """A cluster of two hosts: Spark begins a task once more only on another, and a local cluster is one.

    Returns: the URL of its master.
    """
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = str(free.getsockname()[1])
    url = f"spark://127.0.0.1:{port}"
    worker = ("--cores", "1", "--memory", "1g", "--work-dir", str(folder), url)
    with ExitStack() as running:
        running.enter_context(daemon("master.Master", "127.0.0.1", "--port", port))
        for host in ("127.0.0.2", "127.0.0.3"):
            running.enter_context(daemon("worker.Worker", host, *worker))
        yield url


@contextmanager
def daemon(name: str, host: str, *arguments: str) -> Iterator[None]:
    """One of the processes that make a standalone cluster."""
    program = f"{_find_spark_home()}/bin/spark-class"
    command = [program, f"org.apache.spark.deploy.{name}", "--host", host, "--webui-port", "0", *arguments]
    variables = {**os.environ, "SPARK_LOCAL_IP": host, "SPARK_DAEMON_MEMORY": "512m"}
    with subprocess.Popen(command, env=variables, stderr=subprocess.DEVNULL) as process:
        try:
            yield
        finally:
            process.terminate()


def waiting_for_another(manifest: str, folder: str) -> Any:
    """The local file system, where whoever reads a manifest waits until another does."""

    def wait(path: str) -> None:
        if path == manifest:
            os.close(os.open(f"{folder}/{os.getpid()}", os.O_CREAT))
            for _ in range(600):
                if len(os.listdir(folder)) > 1:  # noqa: PTH208 - sent by value, with few names
                    break
                time.sleep(0.1)

    return sent_by_value(wait)


def main(what: str, path: str, argument: str) -> None:
    doing = {"packed": packed, "killed": killed, "speculated": speculated, "s3a": s3a}
    answer = doing[what](path, argument)
    sys.stdout.write(json.dumps(answer) + "\n")


def prefix(batches: Any) -> Any:
    import sys

    import pyarrow as pa

    for _ in batches:
        yield pa.RecordBatch.from_pydict({"prefix": [sys.prefix]})


if __name__ == "__main__":
    main(*sys.argv[1:])
