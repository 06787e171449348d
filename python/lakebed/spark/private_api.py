"""What lakebed uses of PySpark that is not its public interface: all of it is here.

| of PySpark | what for | versions |
|---|---|---|
| `SparkSession._jsparkSession` | whether a JVM is beside this process | 3.5, 4.0 to 4.3; not Connect |
| `_serialize_to_jvm`, `PythonSQLUtils` | rows of Arrow as a DataFrame | 3.5; public from 4.0 on |
| `DataFrame._jdf` | how many files a scan will read | 3.5, 4.0 to 4.3; with Connect a job counts |
| `SparkContext._jsc` | Hadoop's default file system | 3.5, 4.0 to 4.3; not Connect |
| `SparkContext.pythonExec` | the Python of local workers | 3.5, 4.0 to 4.3; not Connect |
| the text of `DataFrame.explain` | whether rows are made by functions in Python | 3.5, 4.0 to 4.3 |
| `zipimporter` in the cache of `sys` | archives that are read again | 3.5, 4.0 to 4.3 |
"""

from __future__ import annotations

import os
import re
import shutil
import sys
from contextlib import contextmanager, redirect_stdout
from io import StringIO
from typing import TYPE_CHECKING, Any, cast
from zipimport import zipimporter

if TYPE_CHECKING:
    from collections.abc import Iterator

    import pyarrow as pa
    from pyspark import SparkContext
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.types import StructType


def is_classic(spark: SparkSession) -> bool:
    """Whether the session is in a JVM beside this process, and not one of Spark Connect."""
    return hasattr(spark, "_jsparkSession")


def _context(spark: SparkSession) -> SparkContext | None:
    """What runs the jobs of a session; None where the client cannot know of it, as in Spark Connect."""
    return spark.sparkContext if is_classic(spark) else None


def frame_of_arrow(spark: SparkSession, rows: pa.Table, types: StructType) -> DataFrame | None:
    """Rows that Spark holds; None where PySpark does not give them: 3.5 to Spark Connect."""
    from pyspark import __version__

    if int(__version__.partition(".")[0]) >= 4:
        return spark.createDataFrame(rows, types)
    if not is_classic(spark):
        return None
    # What `createDataFrame` of PySpark 3.5 does once it has made Arrow of pandas.
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
    """How many files Spark will read of those that a source was given."""
    if not is_classic(files.sparkSession):
        # Spark Connect does not show its plans: the files are counted, none is opened for that.
        return files.select("path").count()
    relation = files._jdf.queryExecution().analyzed().collectLeaves().head().relation()
    nothing = files.sparkSession._jvm.PythonUtils.toSeq([])  # type: ignore[union-attr]
    folders = relation.location().listFiles(nothing, nothing)
    return sum(folders.apply(number).files().size() for number in range(folders.size()))


# How plans show them in all versions: of `mapInArrow`, a table function, and a source in Python.
_MADE = re.compile(r"MapInArrow|PythonUDTF|BatchScan lakebed")


def computes_anew(frame: DataFrame) -> bool:
    """Whether a DataFrame has rows that functions in Python make each time, as those of lakebed's views are.

    A cached one may lose them, and make them again.
    """
    with redirect_stdout(StringIO()) as shown:
        frame.explain(extended=True)
    return _MADE.search(shown.getvalue()) is not None


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
    """How many tasks run at the same time; 1 where the client cannot know."""
    context = _context(spark)
    return 1 if context is None else context.defaultParallelism


def local_python(spark: SparkSession) -> str | None:
    """The Python of workers that run where the driver does, as children of its process; None where they do
    not, or the client cannot know.
    """
    context = _context(spark)
    if context is None or not re.match(r"local(\[|$)", context.master or ""):
        return None
    # Of a venv its link.
    return os.path.abspath(shutil.which(context.pythonExec) or context.pythonExec)  # noqa: PTH100


def default_files(spark: SparkSession) -> str | None:
    """The root of Hadoop's default file system; None where the client cannot know."""
    context: Any = _context(spark)
    return None if context is None else str(context._jsc.hadoopConfiguration().get("fs.defaultFS"))


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
