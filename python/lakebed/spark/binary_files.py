"""Manifests as rows of Spark's own source `binaryFile`: whole, with the cluster's credentials."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING
from urllib.parse import unquote

from lakebed import _native
from lakebed.errors import LakebedError, MissingFileError, TruncatedError, UnsupportedError
from lakebed.spark.session import setting
from lakebed.storage.paths import SCHEME, absolute

if TYPE_CHECKING:
    from pyspark.errors import AnalysisException
    from pyspark.sql import DataFrame, SparkSession

    from lakebed.view import Manifest

_LISTING_TASKS = "spark.sql.sources.parallelPartitionDiscovery.parallelism"
# What opening a file costs, in bytes that could be decoded meanwhile.
_OPENING = 256 << 10
# What a task is to have of files, in bytes; as much as Spark's own packing gives.
_TASK = 128 << 20
# What Hadoop's file systems expand in a path, and the backslash that keeps them from it.
_GLOB = re.compile(r"[{}\[\]*?\\]")
_ESCAPE = re.compile(r"\\(?=[{}\[\]*?\\])")


def at_once(spark: SparkSession) -> int:
    """How many tasks run at the same time; 1 where the client cannot know, as in Spark Connect."""
    from pyspark.errors import PySparkException

    try:
        return spark.sparkContext.defaultParallelism
    except PySparkException:
        return 1


def binary_files(spark: SparkSession, paths: Sequence[str]) -> DataFrame:
    """`path` and `content` of each file.

    Raises: MissingFileError for one that is not there; TruncatedError for one without bytes, and
        UnsupportedError for one whose name begins with `_` or `.`: Spark reads neither.
    """
    from pyspark.errors import AnalysisException

    reader = spark.read.format("binaryFile")
    # Sessions may be set to pass over such files, and a manifest passed over is rows lost in silence.
    reader = reader.option("ignoreMissingFiles", "false").option("ignoreCorruptFiles", "false")
    try:
        with _listing(spark):
            files = reader.load([_spark_path(path) for path in paths]).select("path", "content")
            # Spark Connect looks at nothing until it is asked.
            _ = files.schema
    except AnalysisException as error:
        if _condition(error) != "PATH_NOT_FOUND":
            raise
        missing = _ESCAPE.sub("", (error.getMessageParameters() or {}).get("path", ""))
        message = f"a manifest that the manifest list names is not there: {missing}"
        raise MissingFileError(message, kind="missing", path=missing) from error
    if _given(files) < len(set(paths)):
        raise _passed_over(files, paths)
    return files


def _given(files: DataFrame) -> int:
    """How many files Spark is going to read of those that it was given."""
    from pyspark.errors import PySparkException

    try:
        relation = files._jdf.queryExecution().analyzed().collectLeaves().head().relation()
        nothing = files.sparkSession._jvm.PythonUtils.toSeq([])  # type: ignore[union-attr]
    except PySparkException:
        # Spark Connect does not show its plans: the files are counted, none is opened for that.
        return files.select("path").count()
    folders = relation.location().listFiles(nothing, nothing)
    return sum(folders.apply(number).files().size() for number in range(folders.size()))


def _passed_over(files: DataFrame, paths: Sequence[str]) -> LakebedError:
    """Spark passes over files without bytes, and over those of certain names, and says nothing: rows lost."""
    given = {_place(unquote(row.path)) for row in files.select("path").collect()}
    path = next((path for path in paths if _place(absolute(path)) not in given), paths[0])
    shown = _native.without_credentials(path)
    if path.rstrip("/").rsplit("/", 1)[-1].startswith(("_", ".")):
        message = f'Spark does not read a file of that name, executors do with read="executors": {shown}'
        return UnsupportedError(message, kind="unsupported", path=shown)
    return TruncatedError(f"manifest has 0 bytes: {shown}", kind="truncated", path=shown)


def _place(path: str) -> str:
    """A path as both Spark and metadata spell it: without its scheme."""
    return SCHEME.sub("", path).strip("/")


def packed(files: DataFrame, manifests: Sequence[Manifest]) -> DataFrame:
    """The same files in fewer tasks, where these are small.

    Spark counts a small file as 4 MiB, and each task costs Python a tenth of a second before it begins.
    """
    cores = at_once(files.sparkSession)
    cost = sum(manifest["size"] + _OPENING for manifest in manifests)
    return files.coalesce(max(-(-cost // _TASK), 2 * cores)) if cores > 1 else files


@contextlib.contextmanager
def _listing(spark: SparkSession) -> Iterator[None]:
    """Has Spark list files in some tasks for each core, where it would make a task for each file."""
    cores = at_once(spark)
    with setting(spark, _LISTING_TASKS, 4 * cores) if cores > 1 else contextlib.nullcontext():
        yield


def _condition(error: AnalysisException) -> str | None:
    """The name of Spark's error condition, which PySpark 3.5 calls an error class."""
    named = getattr(error, "getCondition", None) or error.getErrorClass
    condition: str | None = named()
    return condition


def _spark_path(path: str) -> str:
    """A path or URI as Spark's file sources take it: absolute, with its scheme, nothing to be expanded."""
    uri = path if SCHEME.match(path) else f"file://{absolute(path)}"
    return _GLOB.sub(r"\\\g<0>", uri)
