"""What PySpark does once a session and once a task, and how less of it is waited for."""

from __future__ import annotations

import contextlib
import importlib
import sys
from collections.abc import Iterator
from threading import Thread
from typing import TYPE_CHECKING
from zipimport import zipimporter

from lakebed.spark.workers import check_workers

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


def task_numbers(spark: SparkSession, count: int, tasks: int | None = None) -> DataFrame:
    """The numbers from 0, one for each task unless there are fewer tasks, for functions of lakebed.

    `mapInArrow` imports pandas, which takes Python a second; the first DataFrame of a session takes the JVM
    as long. Here they work side by side. Raises: as `check_workers`.
    """
    check_workers(spark)
    importing = Thread(target=_import_pandas, daemon=True)
    if "pandas" not in sys.modules:
        importing.start()
    made = spark.range(count, numPartitions=tasks or count)
    if importing.ident is not None:
        importing.join()
    return made


def is_classic(spark: SparkSession) -> bool:
    """Whether the session is in a JVM beside this process, and not one of Spark Connect."""
    return hasattr(spark, "_jsparkSession")


@contextlib.contextmanager
def setting(spark: SparkSession, name: str, most: int) -> Iterator[None]:
    """Has a setting of the session be a number, unless it is a smaller one already."""
    before = str(spark.conf.get(name))
    if before.isdecimal() and int(before) <= most:
        yield
        return
    spark.conf.set(name, str(most))
    try:
        yield
    finally:
        spark.conf.set(name, before)


def _import_pandas() -> None:
    # Without it `mapInArrow` says what is missing.
    with contextlib.suppress(ImportError):
        importlib.import_module("pandas")


def spare_archives() -> None:
    """Has a worker's next task begin a tenth of a second sooner.

    PySpark calls `importlib.invalidate_caches` before each task, which reads the directories of all archives
    that Python imported from: PySpark's own, and a jar of 5,000 files. An importer that is not in the cache
    has nothing to invalidate; the next import that looks for it makes it again.
    """
    importers = sys.path_importer_cache
    for path in [path for path, found in importers.items() if isinstance(found, zipimporter)]:
        importers.pop(path, None)
