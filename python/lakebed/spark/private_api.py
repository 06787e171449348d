"""What lakebed uses of PySpark that is not its public interface: all of it is here.

| of PySpark | what for | versions |
|---|---|---|
| `SparkSession._jsparkSession` | whether a JVM is beside this process | 3.5, 4.0 to 4.3; not Connect |
| `_serialize_to_jvm`, `PythonSQLUtils` | rows of Arrow as a DataFrame | 3.5; public from 4.0 on |
| `DataFrame._jdf` | how many files a scan will read | 3.5, 4.0 to 4.3; with Connect a job counts |
| `zipimporter` in the cache of `sys` | archives that are read again | 3.5, 4.0 to 4.3 |
"""

from __future__ import annotations

import importlib
import sys
from contextlib import contextmanager, suppress
from threading import Thread
from typing import TYPE_CHECKING, Any, cast
from zipimport import zipimporter

if TYPE_CHECKING:
    from collections.abc import Iterator

    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.types import StructType


def is_classic(spark: SparkSession) -> bool:
    """Whether the session is in a JVM beside this process, and not one of Spark Connect."""
    return hasattr(spark, "_jsparkSession")


def takes_arrow() -> bool:
    """Whether `createDataFrame` takes tables of Arrow."""
    from pyspark import __version__

    return int(__version__.partition(".")[0]) >= 4


def frame_of_arrow(spark: SparkSession, rows: pa.Table, types: StructType) -> DataFrame:
    """What `createDataFrame` of PySpark 3.5 does once it has made Arrow of pandas."""
    from pyspark.sql import DataFrame as Frame
    from pyspark.sql.pandas.serializers import ArrowStreamSerializer

    jvm, context = cast("Any", spark)._jvm, cast("Any", spark)._sc
    batches = context._serialize_to_jvm(
        rows.to_batches(),
        ArrowStreamSerializer(),
        lambda file: jvm.PythonSQLUtils.readArrowStreamFromFile(file),
        lambda: jvm.ArrowIteratorServer(),
    )
    return Frame(jvm.PythonSQLUtils.toDataFrame(batches, types.json(), spark._jsparkSession), spark)


def count_files(files: DataFrame) -> int:
    """How many files Spark is going to read of those that a source was given."""
    from pyspark.errors import PySparkException

    try:
        relation = files._jdf.queryExecution().analyzed().collectLeaves().head().relation()
        nothing = files.sparkSession._jvm.PythonUtils.toSeq([])  # type: ignore[union-attr]
    except PySparkException:
        # Spark Connect does not show its plans: the files are counted, none is opened for that.
        return files.select("path").count()
    folders = relation.location().listFiles(nothing, nothing)
    return sum(folders.apply(number).files().size() for number in range(folders.size()))


def spare_archives() -> None:
    """Has a worker's next task begin a tenth of a second sooner.

    PySpark calls `importlib.invalidate_caches` before each task, which reads the directories of all archives
    that Python imported from: PySpark's own, and a jar of 5,000 files. An importer that is not in the cache
    has nothing to invalidate; the next import that looks for it makes it again.
    """
    importers = sys.path_importer_cache
    for path in [path for path, found in importers.items() if isinstance(found, zipimporter)]:
        importers.pop(path, None)


def at_once(spark: SparkSession) -> int:
    """How many tasks run at the same time; 1 where the client cannot know, as in Spark Connect."""
    from pyspark.errors import PySparkException

    try:
        return spark.sparkContext.defaultParallelism
    except PySparkException:
        return 1


def is_local(spark: SparkSession) -> bool:
    """Whether workers run where the driver does, as children of its process."""
    from pyspark.errors import PySparkException

    try:
        master = spark.sparkContext.master or ""
    except PySparkException:
        # Spark Connect does not tell.
        return False
    return master == "local" or master.startswith("local[")


def task_numbers(spark: SparkSession, count: int, tasks: int | None = None) -> DataFrame:
    """The numbers from 0, one for each task unless there are fewer tasks.

    `mapInArrow` imports pandas, which takes Python a second; the first DataFrame of a session takes the JVM
    as long. Here they work side by side.
    """
    importing = Thread(target=_import_pandas, daemon=True)
    if "pandas" not in sys.modules:
        importing.start()
    made = spark.range(count, numPartitions=tasks or count)
    if importing.ident is not None:
        importing.join()
    return made


@contextmanager
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
    with suppress(ImportError):
        importlib.import_module("pandas")
