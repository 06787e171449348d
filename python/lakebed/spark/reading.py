"""How manifests reach the executors: whole through Spark's reader, or in ranges that they read themselves."""

from __future__ import annotations

import contextlib
import heapq
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias
from urllib.parse import unquote

import pyarrow as pa

from lakebed import _native
from lakebed._arguments import positive
from lakebed.errors import LakebedError, MissingFileError, TruncatedError, UnsupportedError
from lakebed.file_io import FileIOStorage
from lakebed.spark.mappers import map_contents, prefix_error_kind

if TYPE_CHECKING:
    from pyspark.errors import AnalysisException
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.types import StructType

    from lakebed.limits import Limits
    from lakebed.storage import Storage
    from lakebed.table import Table
    from lakebed.view import Manifest

Contents: TypeAlias = Iterator[tuple[str, Any]]
"""The paths of manifests, and what is there of them, as `_native.Task.run` takes it: all, or a share."""

Decoder: TypeAlias = Callable[[Contents], Iterator[pa.RecordBatch]]
"""What makes rows of manifests."""

_LISTING_TASKS = "spark.sql.sources.parallelPartitionDiscovery.parallelism"
# What opening a file costs, in bytes that could be decoded meanwhile.
_OPENING = 256 << 10
# What a task is to have of files that Spark reads, in bytes; as much as its own packing gives.
_TASK = 128 << 20
# What the executors' Python reads at once, unless it is told how much, in bytes.
_RANGE = 32 << 20
_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+:/")
# What Hadoop's file systems expand in a path, and the backslash that keeps them from it.
_GLOB = re.compile(r"[{}\[\]*?\\]")
_ESCAPE = re.compile(r"\\(?=[{}\[\]*?\\])")


def check_pickled(storage: object) -> None:
    """Raises: TypeError for a storage that cannot be pickled, as a `MemoryStore`; Spark would fail later."""
    from pyspark import cloudpickle

    # It has no types of its own.
    pickle: Callable[[object], bytes] = cloudpickle.dumps
    try:
        pickle(storage)
    except Exception as error:
        message = "storage= is pickled for Spark's executors, which this one cannot be"
        raise TypeError(f"{message}: {error}") from error


class Piece(NamedTuple):
    """A range [bytes] of a manifest with its header, or all of one without."""

    path: str
    length: int
    start: int
    end: int
    header: bytes | None = None


@dataclass(frozen=True)
class Reading:
    """How the executors read a table's manifests: what one may cost, and in ranges of how many bytes; without
    these Spark reads them.
    """

    limits: Limits
    range_bytes: int | None = None
    # It may hold credentials, which plans, logs and texts do not show.
    storage: Storage | None = field(default=None, repr=False)

    @staticmethod
    def of(table: Table, limits: Limits, range_bytes: int | None) -> Reading:
        """Of a table that is read with a catalog's credentials in ranges always: Spark has none of them.

        Raises: ValueError for ranges of no bytes; TypeError for a storage that does not reach the executors.
        """
        if range_bytes is None and isinstance(table._storage, FileIOStorage):
            range_bytes = _RANGE
        if range_bytes is not None:
            check_pickled(table._storage)
        return Reading(limits, positive("range_bytes", range_bytes), table._storage)

    def frame(
        self,
        spark: SparkSession,
        manifests: Sequence[Manifest],
        decode: Decoder,
        types: StructType,
        *,
        divided: bool = True,
    ) -> DataFrame:
        """What executors make of manifests.

        Args: divided, whether what is made of the parts of one is what is made of it.
        Raises: MissingFileError, TruncatedError and UnsupportedError for a manifest that Spark does not read.
        """
        if not manifests:
            return spark.createDataFrame([], types)
        if self.range_bytes is None:
            files = _packed(_binary_files(spark, [manifest["path"] for manifest in manifests]), manifests)
            return files.mapInArrow(partial(map_contents, decode=decode), types)
        if self.storage is None:
            manifests = [{**manifest, "path": absolute(manifest["path"])} for manifest in manifests]
        pieces = self.pieces(manifests, divided=divided)
        tasks = spread(pieces, self.range_bytes, at_once=_at_once(spark))
        reader = RangeReader(tasks, self.limits, self.storage, decode)
        return spark.range(len(tasks), numPartitions=len(tasks)).mapInArrow(reader, types)

    def pieces(self, manifests: Sequence[Manifest], *, divided: bool = True) -> list[Piece]:
        """Manifests, those of more than `range_bytes` in ranges of that, as far as they can be divided.

        Reads the headers of those that are divided, so that a task reads nothing but its range.
        """
        step = self.range_bytes
        large = [
            manifest
            for manifest in manifests
            if divided and manifest["divisible"] and step is not None and manifest["size"] > step
        ]
        asked = [(manifest["path"], manifest["size"]) for manifest in large]
        with prefix_error_kind():
            headers = _native.divisible(self.storage, asked, self.limits) if asked else []
        of_path = {path: header for (path, _), header in zip(asked, headers, strict=True)}
        return [
            piece
            for manifest in manifests
            for piece in _pieces(manifest, step, of_path.get(manifest["path"]))
        ]


@dataclass(frozen=True)
class RangeReader:
    """Reads the pieces of a task and decodes them; made for `mapInArrow` over the numbers of the tasks."""

    tasks: list[list[Piece]] = field(repr=False)
    limits: Limits
    storage: Storage | None = field(repr=False)
    decode: Decoder

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Gives the rows of the tasks whose numbers come."""
        for batch in batches:
            for task in batch.column(0).to_pylist():
                yield from self.decode(contents(self.tasks[task], self.storage, self.limits))


def contents(pieces: list[Piece], storage: Storage | None, limits: Limits) -> Contents:
    """What is there of manifests, read now: one request each. Raises: the storage's errors."""
    for piece in pieces:
        with prefix_error_kind():
            share = _native.read_share(storage, *piece, limits)
        if share is not None:
            yield piece.path, share


def spread(pieces: Sequence[Piece], range_bytes: int, *, at_once: int = 1) -> list[list[Piece]]:
    """Pieces of at most about `range_bytes`, a list for each task.

    Tasks get about as many bytes each: small manifests share a task. They are as many as it takes for each to
    have `range_bytes`, and then some more until they are a multiple of those that run at once: else most
    cores would wait for the last tasks.
    """
    costs = [piece.end - piece.start + _OPENING for piece in pieces]
    waves = -(-sum(costs) // ((range_bytes + _OPENING) * at_once))
    count = min(len(pieces), waves * at_once)
    tasks: list[tuple[int, int, list[Piece]]] = [(0, number, []) for number in range(count)]
    for cost, piece in sorted(zip(costs, pieces, strict=True), reverse=True):
        spent, number, own = tasks[0]
        own.append(piece)
        heapq.heapreplace(tasks, (spent + cost, number, own))
    return [own for _, _, own in tasks]


def _pieces(manifest: Manifest, step: int | None, header: bytes | None) -> Iterator[Piece]:
    path, length = manifest["path"], manifest["size"]
    if header is None or step is None:
        yield Piece(path, length, 0, length)
        return
    for start in range(0, length, step):
        yield Piece(path, length, start, min(start + step, length), header)


def _at_once(spark: SparkSession) -> int:
    """How many tasks run at the same time; 1 where the client cannot know, as in Spark Connect."""
    from pyspark.errors import PySparkException

    try:
        return spark.sparkContext.defaultParallelism
    except PySparkException:
        return 1


def _binary_files(spark: SparkSession, paths: Sequence[str]) -> DataFrame:
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
    """How many files Spark is going to read of those that it was told to."""
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
        message = f"Spark does not read a file of that name, executors do with range_bytes=: {shown}"
        return UnsupportedError(message, kind="unsupported", path=shown)
    return TruncatedError(f"manifest has 0 bytes: {shown}", kind="truncated", path=shown)


def _place(path: str) -> str:
    """A path as both Spark and metadata spell it: without its scheme."""
    return _SCHEME.sub("", path).strip("/")


def _packed(files: DataFrame, manifests: Sequence[Manifest]) -> DataFrame:
    """The same files in fewer tasks, where these are small.

    Spark counts a small file as 4 MiB, and each task costs Python a tenth of a second before it begins.
    """
    cores = _at_once(files.sparkSession)
    cost = sum(manifest["size"] + _OPENING for manifest in manifests)
    return files.coalesce(max(-(-cost // _TASK), 2 * cores)) if cores > 1 else files


@contextlib.contextmanager
def _listing(spark: SparkSession) -> Iterator[None]:
    """Has Spark list files in some tasks for each core, where it would make a task for each file."""
    cores = _at_once(spark)
    before = spark.conf.get(_LISTING_TASKS) if cores > 1 else None
    if before is None:
        yield
        return
    spark.conf.set(_LISTING_TASKS, min(int(before), 4 * cores))
    try:
        yield
    finally:
        spark.conf.set(_LISTING_TASKS, before)


def _condition(error: AnalysisException) -> str | None:
    """The name of Spark's error condition, which PySpark 3.5 calls an error class."""
    named = getattr(error, "getCondition", None) or error.getErrorClass
    condition: str | None = named()
    return condition


def absolute(path: str) -> str:
    """A path as the driver means it; executors have folders of their own to work in."""
    return path if _SCHEME.match(path) else str(Path(path).absolute())


def _spark_path(path: str) -> str:
    """A path or URI as Spark's file sources take it: absolute, with its scheme, nothing to be expanded."""
    uri = path if _SCHEME.match(path) else f"file://{absolute(path)}"
    return _GLOB.sub(r"\\\g<0>", uri)
