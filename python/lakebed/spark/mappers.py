"""What runs in the executors: module-level classes, so that Spark sends their names and not their code."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import chain
from typing import TYPE_CHECKING, Any, TypeAlias

import pyarrow as pa

from lakebed import _arrow, _native
from lakebed.errors import LakebedError
from lakebed.spark.private_api import spare_archives
from lakebed.spark.types import cast_batch, to_spark

if TYPE_CHECKING:
    from lakebed._arguments import UnwrapKey
    from lakebed.limits import Limits
    from lakebed.storage import Storage
    from lakebed.table import Reopening, Table
    from lakebed.view import ViewScan

Mapper: TypeAlias = Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]
"""A function for `DataFrame.mapInArrow`."""

ManifestContents: TypeAlias = Iterator[tuple[str, Any]]
"""The paths of manifests with their bytes as `_native.Job.map` takes them: all, or a share."""

PIECES = pa.schema([("part", pa.int32()), ("side", pa.int32()), ("rows", pa.binary())])
"""What crosses a shuffle. Spark moves it by `part`, and sorts it by `side`; the core knows what these are."""

# Rows of small batches that are put together.
_GATHERED_ROWS = 4096


@dataclass(frozen=True)
class JobMap:
    """The map of a job.

    Attributes: job, as `_native.JobPlan.to_bytes`; limits, what a manifest may cost; reads, whether the job
        reads manifests itself; keys, what unwraps keys of encrypted manifests; cache, what keeps decoded
        ones on the executors' hosts.
    """

    job: bytes = field(repr=False)
    limits: Limits
    reads: bool = False
    keys: UnwrapKey | None = field(default=None, repr=False)
    cache: _native.Cache | None = None

    @staticmethod
    def of(
        planned: _native.JobPlan, limits: Limits, keys: UnwrapKey | None, cache: _native.Cache | None = None
    ) -> JobMap:
        """That of a job that is planned."""
        return JobMap(planned.to_bytes(), limits, planned.reads_manifests, keys, cache)

    def of_contents(self, contents: ManifestContents) -> Iterator[pa.RecordBatch]:
        """Maps manifests, one after the other.

        Returns: batches of the view, or of `PIECES`, in the types of Spark, bounded in rows and bytes.
        Raises: CorruptError and its kin; a manifest with fewer entries than its list records is an error.
        Cost: one pass on one thread; memory is one manifest, or one share, and what is sent together.
        """
        return rows_of(self.opened().map(contents))

    def of_paths(self, paths: list[str], storage: Storage | None, reads: int) -> Iterator[pa.RecordBatch]:
        """The same of a job that reads manifests itself, so many at once."""
        return rows_of(self.opened().map_paths(paths, storage, reads))

    def opened(self) -> _native.Job:
        """The job of the compiled core. Raises: UnsupportedError where the driver has another lakebed."""
        with prefix_error_kind():
            return _native.Job(self.job, self.limits, self.keys, self.cache)


@dataclass(frozen=True)
class Reducer:
    """Reduces the pieces of parts; made for `mapInArrow` over pieces that are sorted by part and side.

    Attributes: stage, which of the job's; storage, of the table's files, for a job that reads some; again,
        what opens the table that rows are compared with, for a job that looks at it again.
    """

    job: JobMap
    stage: int
    storage: Storage | None = field(default=None, repr=False)
    again: Reopening | None = None

    @property
    def __name__(self) -> str:
        """What plans show."""
        return "executors_reduce_parts" if self.again is None else "one_task_looks_again"

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Gives rows of the view, or pieces for the next stage."""
        spare_archives()
        pieces = as_reader(batches)
        if pieces is None:
            return
        job = self.job.opened()
        with prefix_error_kind():
            table = None if self.again is None else self.again()
            core, newest = (None, None) if table is None else (table.core, table.opening.newest(table.core))
            reduced = job.reduce(self.stage, pieces, self.storage, core, newest)
        yield from rows_of(reduced)


@dataclass(frozen=True)
class ViewReader:
    """Opens a table again and reads a view of it; made for `mapInArrow` over one row.

    Attributes: view, its name; table, what opens it; keywords, those of the view: they may hold credentials,
        which `repr` does not show.
    """

    view: str
    table: Reopening
    keywords: dict[str, Any] = field(repr=False)

    @property
    def __name__(self) -> str:
        """What plans show."""
        return f"one_task_reads_{self.view}"

    def scan(self, table: Table, **more: Any) -> ViewScan:
        """The view of a table."""
        scan: ViewScan = getattr(table, self.view)(**self.keywords, **more)
        return scan

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Gives the rows of the view."""
        for _ in batches:
            with prefix_error_kind():
                stream = self.scan(self.table()).core.stream()
            yield from rows_of(stream)


@dataclass(frozen=True)
class Lister:
    """Gives the pieces of listed files; made for `mapInArrow` over one row, or over rows of a listing.

    Attributes: reader, of the orphans of a table; has_listing, whether rows are those of a listing; job, that
        of finding them.
    """

    reader: ViewReader
    has_listing: bool
    job: JobMap

    __name__ = "executors_list_files"  # what plans show

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Gives pieces of the job."""
        rows = as_reader(batches)
        if rows is None:
            return
        with prefix_error_kind():
            scan = self.reader.scan(self.reader.table(), **({"listing": rows} if self.has_listing else {}))
            listed = self.job.opened().listed(scan.core)
        yield from rows_of(listed)


def as_reader(batches: Iterator[pa.RecordBatch]) -> pa.RecordBatchReader | None:
    """Batches as a stream; None where there are none."""
    first = next(batches, None)
    return None if first is None else pa.RecordBatchReader.from_batches(first.schema, chain([first], batches))


def rows_of(stream: _native.BatchStream) -> Iterator[pa.RecordBatch]:
    """The batches of a stream in the types of Spark, small ones put together."""
    types = to_spark(pa.schema(stream))
    with prefix_error_kind():
        yield from gathered_batches(cast_batch(batch, types) for batch in _arrow.batches(stream))


def gathered_batches(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """The same rows, small batches put together: each costs the JVM as much as some hundred rows.

    The first ones stay as small as they are, for whoever wants but a few rows.
    """
    waiting: list[pa.RecordBatch] = []
    rows = given = 0
    for batch in batches:
        waiting.append(batch)
        rows += batch.num_rows
        # Of pieces each row is as large as a batch of others.
        if rows >= min(_GATHERED_ROWS, given) or batch.schema == PIECES:
            yield from _together(waiting)
            given += rows
            waiting, rows = [], 0
    if waiting:
        yield from _together(waiting)


def _together(batches: list[pa.RecordBatch]) -> list[pa.RecordBatch]:
    if len(batches) == 1 or not batches[0].num_columns:
        return batches
    # Columns too long for one array stay several batches.
    together: list[pa.RecordBatch] = pa.Table.from_batches(batches).combine_chunks().to_batches()
    return together


@dataclass(frozen=True)
class RowsInFunction:
    """Gives the rows that the function holds; made for `mapInArrow` over a DataFrame of one row.

    Attributes: rows, an Arrow IPC stream in the types of Spark.
    """

    rows: bytes = field(repr=False)

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Gives the rows."""
        for _ in batches:
            yield from ipc_batches(self.rows)


def ipc_stream(batches: Sequence[pa.RecordBatch]) -> bytes:
    """Batches of one schema as an Arrow IPC stream; no bytes for none."""
    if not batches:
        return b""
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, batches[0].schema) as writer:
        for batch in batches:
            writer.write_batch(batch)
    stream: bytes = sink.getvalue().to_pybytes()
    return stream


def ipc_batches(stream: bytes) -> Iterator[pa.RecordBatch]:
    """What `ipc_stream` was given."""
    if stream:
        yield from pa.ipc.open_stream(stream)


@contextlib.contextmanager
def prefix_error_kind() -> Iterator[None]:
    """Puts the kind of an error into its text, which is all of it that Spark sends to the driver."""
    try:
        yield
    except LakebedError as error:
        # Once, wherever it passes.
        kind = f"{error.kind}: "
        error.message = kind + error.message.removeprefix(kind)
        raise
