"""How manifests reach the executors: in ranges that they read themselves, or whole through Spark's reader."""

from __future__ import annotations

import contextlib
import heapq
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

from lakebed import _native
from lakebed._arguments import positive
from lakebed._text import printable
from lakebed.errors import LakebedError, MissingFileError, UnsupportedError
from lakebed.file_io import FileIOStorage
from lakebed.spark.binary_files import at_once, binary_files, packed
from lakebed.spark.map_in_arrow import map_in_arrow
from lakebed.spark.mappers import Decoder, ManifestContents, map_contents, prefix_error_kind
from lakebed.spark.reach import check_pickled, reached
from lakebed.spark.read_ahead import in_order
from lakebed.spark.session import spare_archives, task_numbers
from lakebed.storage.paths import absolute
from lakebed.storage.protocols import abilities
from lakebed.storage.secrets import without_secrets

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.types import StructType

    from lakebed.limits import Limits
    from lakebed.spark.reach import Read
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


class Piece(NamedTuple):
    """A range [bytes] of a manifest with its header, or all of one without."""

    path: str
    length: int
    start: int
    end: int
    header: bytes | None = None


@dataclass(frozen=True)
class Reading:
    """How a table's manifests are read: what one may cost, who reads them and in ranges of how many bytes, as
    far as that was said, and how many a task reads at once.
    """

    limits: Limits
    range_bytes: int | None = None
    read: Read | None = None
    # It may hold credentials, which plans, logs and texts do not show.
    storage: Storage | None = field(default=None, repr=False)
    reads: int = 1

    @staticmethod
    def of(table: Table, limits: Limits, range_bytes: int | None, read: Read | None) -> Reading:
        """Of a table: `range_bytes` are ranges that executors read.

        Raises: ValueError for ranges of no bytes, ranges that Spark is to read, and another reader; TypeError
            for a storage that does not reach the executors, where these are to read.
        """
        if read not in (None, "executors", "spark"):
            raise ValueError(f'read is "executors", "spark" or None, not {read!r}')
        if positive("range_bytes", range_bytes) is not None:
            if read == "spark":
                raise ValueError('range_bytes= is for executors, with read="spark" manifests are read whole')
            read = "executors"
        # A catalog's credentials are its own: without them nobody reads.
        if read == "executors" or (read is None and isinstance(table.opening.storage, FileIOStorage)):
            check_pickled(table.opening.storage)
        asked = table.opening.reads
        reads = min(asked or _READS, reads_at_once(table.opening.storage))
        return Reading(limits, range_bytes, read, table.opening.storage, reads)

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
        Cost: one small job where it is not known yet whether executors reach the storage.
        """
        if not manifests:
            return spark.createDataFrame([], types)
        if self.storage is None:
            manifests = [{**manifest, "path": absolute(manifest["path"])} for manifest in manifests]
        why = reached(spark, self.storage, manifests, self.limits) if self.read is None else None
        if self.read == "spark" or why is not None:
            return _by_spark(spark, manifests, ContentReader(decode, why), types)
        cores = at_once(spark)
        share, cores = (self.range_bytes, cores) if self.range_bytes else task_bytes(manifests, cores)
        ranges = self.range_bytes or min(share, _MOST_RANGE)
        tasks = spread(self.pieces(manifests, ranges, divided=divided), share, at_once=cores)
        reader = RangeReader(tasks, self.limits, self.storage, self.reads, decode)
        return map_in_arrow(task_numbers(spark, len(tasks)), reader, types)

    def pieces(self, manifests: Sequence[Manifest], step: int, *, divided: bool = True) -> list[Piece]:
        """Manifests, those of more than `step` bytes in ranges of that, as far as they can be divided.

        Reads the headers of those that are divided, so that a task reads nothing but its range: two requests
        for each, side by side.
        """
        large = [
            (manifest["path"], manifest["size"])
            for manifest in manifests
            if divided and manifest["divisible"] and manifest["size"] > step
        ]
        with prefix_error_kind():
            headers = _native.divisible(self.storage, large, self.limits) if large else []
        of_path = {path: header for (path, _), header in zip(large, headers, strict=True)}
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
    reads: int
    decode: Decoder

    @property
    def __name__(self) -> str:
        """What plans show."""
        return "executors_read_manifests"

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Gives the rows of the tasks whose numbers come."""
        spare_archives()
        with _with_hint(self.storage):
            for batch in batches:
                for task in batch.column(0).to_pylist():
                    yield from self.decode(contents(self.tasks[task], self.storage, self.limits, self.reads))


@dataclass(frozen=True)
class ContentReader:
    """Decodes manifests that Spark reads; made for `mapInArrow` over rows of its source `binaryFile`.

    Attributes: why, what kept executors from reading them; None where Spark was asked to.
    """

    decode: Decoder
    why: str | None

    @property
    def __name__(self) -> str:
        """What plans show."""
        return "spark_reads_manifests" + (f" [executors do not: {self.why}]" if self.why else "")

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Gives the rows of the manifests that come."""
        spare_archives()
        return map_contents(batches, self.decode)


def reads_at_once(storage: Storage | None) -> int:
    """How many files a task reads at once: each task does so."""
    served = 1 if storage is None else abilities(storage).concurrent_reads
    return min(_READS, served or _READS)


def contents(
    pieces: list[Piece], storage: Storage | None, limits: Limits, reads: int = 1
) -> ManifestContents:
    """What is there of manifests, in their order: one request each, so many at once.

    Raises: the storage's errors.
    """

    def share(piece: Piece) -> Any:
        with prefix_error_kind():
            return _native.read_share(storage, piece, limits)

    for piece, found in in_order(pieces, share, reads, lambda piece: piece.end - piece.start):
        if found is not None:
            yield piece.path, found


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


def _pieces(manifest: Manifest, step: int, header: bytes | None) -> Iterator[Piece]:
    path, length = manifest["path"], manifest["size"]
    if header is None:
        yield Piece(path, length, 0, length)
        return
    for start in range(0, length, step):
        yield Piece(path, length, start, min(start + step, length), header)


def _by_spark(
    spark: SparkSession, manifests: Sequence[Manifest], reader: ContentReader, types: StructType
) -> DataFrame:
    try:
        files = packed(binary_files(spark, [manifest["path"] for manifest in manifests]), manifests)
    except MissingFileError as error:
        if reader.why is not None:
            error.message = f"{error.message} (executors do not read it either: {reader.why})"
        raise
    except Exception as error:
        if reader.why is None or isinstance(error, LakebedError):
            raise
        # Java's own words stand below those of the bridge to it.
        shown = printable(without_secrets("\n".join(str(error).split("\n")[:2])))
        message = f"neither executors nor Spark read the manifests: executors: {reader.why}; Spark: {shown}"
    else:
        return map_in_arrow(files, reader, types)
    raise UnsupportedError(message, kind="unsupported")


@contextlib.contextmanager
def _with_hint(storage: Storage | None) -> Iterator[None]:
    """Says of a file that was not read who else may read it: Spark, unless a catalog gave the credentials."""
    try:
        yield
    except OSError as error:
        if isinstance(storage, FileIOStorage):
            raise
        way_out = 'executors read manifests, with read="spark" Spark does'
        if isinstance(error, LakebedError):
            error.message = f"{error.message}; {way_out}"
            raise
        raise OSError(f"{type(error).__name__}: {error}; {way_out}") from error
