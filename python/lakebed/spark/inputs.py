"""How manifests reach the executors: in ranges that they read themselves, or whole, as rows of Spark's source
`binaryFile` with the cluster's credentials.
"""

from __future__ import annotations

import contextlib
import heapq
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import unquote

from lakebed import _native
from lakebed._arguments import positive
from lakebed._text import printable
from lakebed._threads import in_order
from lakebed.errors import LakebedError, MissingFileError, TruncatedError, UnsupportedError
from lakebed.file_io import FileIOStorage
from lakebed.spark.access import map_in_arrow, numbers_of, pickled, reached, task_numbers
from lakebed.spark.private_api import at_once, count_files, setting, spare_archives
from lakebed.storage.paths import SCHEME, absolute
from lakebed.storage.protocols import abilities
from lakebed.storage.secrets import without_secrets

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.types import StructType

    from lakebed._arguments import UnwrapKey
    from lakebed.limits import Limits
    from lakebed.spark.access import Read
    from lakebed.spark.mappers import JobMap, ManifestContents
    from lakebed.storage import Storage
    from lakebed.table import Table
    from lakebed.view import Manifest

# What opening a file costs, in bytes that could be decoded meanwhile.
_OPENING = 256 << 10
# What a task has at least, in bytes: it costs a tenth of a second before it begins.
_LEAST_TASK = 8 << 20
# What one has at most, some second and a half of decoding; less where it is not known how many run at once.
_MOST_TASK = 256 << 20
_UNTOLD_TASK = 32 << 20
# What one reads at once, which is its memory.
_MOST_RANGE = 64 << 20
# How many files a task reads at once at most; each task does so.
_READS = 8
# What a task of Spark's own reader is to have of files, in bytes; as much as Spark's own packing gives.
_PACKED = 128 << 20
_LISTING_TASKS = "spark.sql.sources.parallelPartitionDiscovery.parallelism"
# What Hadoop's file systems expand in a path, and the backslash that keeps them from it.
_GLOB = re.compile(r"[{}\[\]*?\\]")
_ESCAPE = re.compile(r"\\(?=[{}\[\]*?\\])")


class Piece(NamedTuple):
    """A range [bytes] of a manifest with its header, or all of one without; and the columns that it needs of
    the entries in front of it.
    """

    path: str
    length: int
    start: int
    end: int
    header: bytes | None = None
    counted: tuple[str, ...] = ()


@dataclass(frozen=True)
class Reading:
    """How a table's manifests are read: what one may cost, who reads them and in ranges of how many bytes, as
    far as that was said, how many a task reads at once, and what keeps them decoded on executors' hosts.
    """

    limits: Limits
    range_bytes: int | None = None
    read: Read | None = None
    # It may hold credentials, which plans, logs and texts do not show.
    storage: Storage | None = field(default=None, repr=False)
    reads: int = 1
    keys: UnwrapKey | None = field(default=None, repr=False)
    cache: _native.Cache | None = None

    @staticmethod
    def of(table: Table, limits: Limits, range_bytes: int | None, read: Read | None) -> Reading:
        """Of a table: `range_bytes` are ranges that executors read.

        Raises: ValueError for ranges of no bytes, ranges that Spark is to read, and another reader.
        """
        if read not in (None, "executors", "spark"):
            raise ValueError(f'read is "executors", "spark" or None, not {read!r}')
        if positive("range_bytes", range_bytes) is not None:
            if read == "spark":
                raise ValueError('range_bytes= is for executors, with read="spark" manifests are read whole')
            read = "executors"
        storage = table.opening.storage
        own = table.opening.reads
        reads = min(
            own.reads if isinstance(own, _native.ReadLimit) else own or _READS, reads_at_once(storage)
        )
        keys, cache = table.opening.keys, shared_cache(table.opening.cache)
        return Reading(limits, range_bytes, read, storage, reads, keys, cache)

    def frame(
        self, spark: SparkSession, manifests: Sequence[Manifest], job: JobMap, types: StructType
    ) -> DataFrame:
        """What executors make of manifests by the map of a job.

        Raises: MissingFileError, TruncatedError and UnsupportedError for a manifest that Spark does not read;
            TypeError for a storage that does not reach the executors, where these are to read.
        Cost: one small job where it is not known yet whether executors reach the storage.
        """
        if not manifests:
            return spark.createDataFrame([], types)
        # A catalog's credentials are its own: without them nobody reads.
        if self.read == "executors" or (self.read is None and isinstance(self.storage, FileIOStorage)):
            pickled(self.storage)
        if self.storage is None:
            manifests = [{**manifest, "path": absolute(manifest["path"])} for manifest in manifests]
        why = reached(spark, self.storage, manifests, self.limits) if self.read is None else None
        if self.read == "spark" or why is not None:
            return _by_spark(spark, manifests, ContentReader(job, why), types)
        cores = at_once(spark)
        share, cores = (self.range_bytes, cores) if self.range_bytes else task_bytes(manifests, cores)
        ranges = self.range_bytes or min(share, _MOST_RANGE)
        tasks = spread(self.pieces(manifests, ranges), share, at_once=cores)
        reader = RangeReader(tasks, self.storage, self.reads, job)
        return map_in_arrow(task_numbers(spark, len(tasks)), reader, types)

    def pieces(self, manifests: Sequence[Manifest], step: int) -> list[Piece]:
        """Manifests, those of more than `step` bytes in ranges of that, as far as they can be divided.

        Reads the headers of those that are divided, of Parquet their footers, so that a task reads nothing
        but its range: two requests for each, of Parquet three, side by side.
        """
        large = [one for one in manifests if one["divisible"] and one["size"] > step]
        headers = _native.divisible(self.storage, large, self.limits) if large else []
        of_path = dict(zip((one["path"] for one in large), headers, strict=True))
        pieces: list[Piece] = []
        for manifest in manifests:
            path, length = manifest["path"], manifest["size"]
            header, whole = of_path.get(path), max(length, 1)
            own = whole if header is None else step
            counted = () if header is None else tuple(manifest["counted"])
            pieces += [
                Piece(path, length, start, min(start + own, length), header, counted)
                for start in range(0, whole, own)
            ]
        return pieces


@dataclass(frozen=True)
class RangeReader:
    """Reads the pieces of a task and maps them; made for `mapInArrow` over the numbers of the tasks."""

    __name__ = "executors_read_manifests"  # what plans show
    tasks: list[list[Piece]] = field(repr=False)
    storage: Storage | None = field(repr=False)
    reads: int
    job: JobMap

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Gives what is made for the tasks whose numbers the rows have."""
        spare_archives()
        try:
            for task in numbers_of(batches):
                yield from mapped(self.job, self.tasks[task], self.storage, self.reads)
        except OSError as error:
            # Who else may read the file: Spark, unless a catalog gave the credentials.
            if isinstance(self.storage, FileIOStorage):
                raise
            way_out = 'executors read manifests, with read="spark" Spark does'
            if isinstance(error, LakebedError):
                error.message = f"{error.message}; {way_out}"
                raise
            raise OSError(f"{type(error).__name__}: {error}; {way_out}") from error


@dataclass(frozen=True)
class ContentReader:
    """Maps manifests that Spark reads; made for `mapInArrow` over rows of its source `binaryFile`.

    Attributes: why, what kept executors from reading them; None where Spark was asked to.
    """

    job: JobMap
    why: str | None = None

    @property
    def __name__(self) -> str:
        """What plans show."""
        return "spark_reads_manifests" + (f" [executors do not: {self.why}]" if self.why else "")

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Gives what is made of the manifests in the rows: `path` utf8 and `content` binary, by name."""
        spare_archives()
        return self.job.of_contents(
            (batch["path"][row].as_py(), batch["content"].slice(row, 1))
            for batch in batches
            for row in range(batch.num_rows)
        )


def reads_at_once(storage: Storage | None) -> int:
    """How many files a task reads at once: each task does so."""
    return 1 if storage is None else min(_READS, abilities(storage).concurrent_reads or _READS)


def mapped(
    job: JobMap, pieces: list[Piece], storage: Storage | None, reads: int | None = None
) -> Iterator[pa.RecordBatch]:
    """What the map of a job makes of pieces: so many requests at once, or as many as the storage serves.

    Raises: as `JobMap.of_contents`; the storage's errors.
    """
    reads = reads or reads_at_once(storage)
    if job.reads:
        return job.of_paths([piece.path for piece in pieces], storage, reads)
    return job.of_contents(contents(pieces, storage, job.limits, reads, job.cache))


def shared_cache(cache: _native.Cache | None) -> _native.Cache | None:
    """What executors have of a cache: its folder on their host, and no memory, which ends with a task."""
    if cache is None or cache.folder is None:
        return None
    return _native.Cache(memory_bytes=0, folder=absolute(cache.folder), disk_bytes=cache.disk_bytes)


def contents(
    pieces: list[Piece],
    storage: Storage | None,
    limits: Limits,
    reads: int = 1,
    cache: _native.Cache | None = None,
) -> ManifestContents:
    """What is there of manifests, in their order: one request each, so many at once, but of what a cache has.

    Raises: the storage's errors.
    """
    read = lambda piece: _native.read_share(storage, piece, limits, cache)  # noqa: E731
    shares = in_order(pieces, read, reads, lambda piece: piece.end - piece.start)
    return ((piece.path, found) for piece, found in shares if found is not None)


def task_bytes(manifests: Sequence[Manifest], cores: int) -> tuple[int, int]:
    """What a task is to read, and how many tasks are to run at once: each core has as much as any other, but
    for few bytes one does, and tasks stay short.
    """
    cost = sum(manifest["size"] + _OPENING for manifest in manifests)
    busy = max(1, min(cores, -(-cost // _LEAST_TASK)))
    most = _MOST_TASK if cores > 1 else _UNTOLD_TASK
    return min(max(-(-cost // busy), _LEAST_TASK), most), busy


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


def _by_spark(
    spark: SparkSession, manifests: Sequence[Manifest], reader: ContentReader, types: StructType
) -> DataFrame:
    try:
        files = binary_files(spark, [manifest["path"] for manifest in manifests])
    except MissingFileError as error:
        if reader.why is not None:
            error.message = f"{error.message} (executors do not read it either: {reader.why})"
        raise
    except Exception as error:
        if reader.why is None or isinstance(error, LakebedError):
            raise
        # Java's own words are below those of the bridge to it.
        shown = printable(without_secrets("\n".join(str(error).split("\n")[:2])))
        message = f"neither executors nor Spark read the manifests: executors: {reader.why}; Spark: {shown}"
    else:
        cores, cost = at_once(spark), sum(manifest["size"] + _OPENING for manifest in manifests)
        # Spark counts a small file as 4 MiB, and each task costs Python a tenth of a second before it begins.
        packed = files.coalesce(max(-(-cost // _PACKED), 2 * cores)) if cores > 1 else files
        return map_in_arrow(packed, reader, types)
    raise UnsupportedError(message, kind="unsupported")


def binary_files(spark: SparkSession, paths: Sequence[str]) -> DataFrame:
    """`path` and `content` of each file.

    Raises: MissingFileError for one that is not there; TruncatedError for one without bytes, and
        UnsupportedError for one whose name begins with `_` or `.`: Spark reads neither.
    """
    from pyspark.errors import AnalysisException

    reader = spark.read.format("binaryFile")
    # Sessions may be set to pass over such files, and a manifest passed over is rows lost in silence.
    reader = reader.option("ignoreMissingFiles", "false").option("ignoreCorruptFiles", "false")
    # Absolute, with a scheme, and nothing to be expanded.
    uris = (path if SCHEME.match(path) else f"file://{absolute(path)}" for path in paths)
    places, cores = [_GLOB.sub(r"\\\g<0>", uri) for uri in uris], at_once(spark)
    try:
        # Spark lists files in some tasks for each core, where it would make a task for each file.
        with setting(spark, _LISTING_TASKS, 4 * cores) if cores > 1 else contextlib.nullcontext():
            files = reader.load(places).select("path", "content")
            # Spark Connect looks at nothing until it is asked.
            _ = files.schema
    except AnalysisException as error:
        # PySpark 3.5 calls the condition an error class.
        condition = getattr(error, "getCondition", None) or error.getErrorClass
        if condition() != "PATH_NOT_FOUND":
            raise
        missing = _ESCAPE.sub("", (error.getMessageParameters() or {}).get("path", ""))
        message = f"a manifest that the manifest list names is not there: {missing}"
        raise MissingFileError(message, kind="missing", path=missing) from error
    if count_files(files) < len(set(paths)):
        raise _passed_over(files, paths)
    return files


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
