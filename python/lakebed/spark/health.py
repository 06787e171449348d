"""Health of one large table, or of many tables at once."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, cast

import pyarrow as pa

from lakebed import _arrow, _native, opening
from lakebed._arguments import names, positive
from lakebed._verdict import SMALL_BYTES
from lakebed.catalogs import is_of_catalog
from lakebed.errors import LakebedError
from lakebed.spark.binary_files import at_once
from lakebed.spark.large_tables import Tables, divided
from lakebed.spark.mappers import gathered_batches
from lakebed.spark.reach import check_pickled
from lakebed.spark.read_ahead import in_order
from lakebed.spark.session import task_numbers
from lakebed.spark.table import open_table
from lakebed.spark.types import cast_batch, spark_schema, to_spark
from lakebed.storage import resolve
from lakebed.storage.paths import URI, absolute
from lakebed.storage.secrets import without_secrets
from lakebed.table import Table

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from typing_extensions import Unpack

    from lakebed._keywords import TableKeywords
    from lakebed.limits import Limits
    from lakebed.spark.frames import TablePath
    from lakebed.spark.reach import Read
    from lakebed.storage import Storage
    from lakebed.version import AnyVersion
    from lakebed.view import ViewScan

# Tasks for each core: tables are of many sizes, and a task costs a tenth of a second before it begins.
_TASKS_PER_CORE = 16
_UNTOLD_TASKS = 200
# Tables of a remote storage that a task reads at once: it waits for most of them.
_REMOTE_TABLES = 4


def health(
    spark: SparkSession,
    path: TablePath | Sequence[str | os.PathLike[str]],
    *,
    small_bytes: int = SMALL_BYTES,
    at: AnyVersion | None = None,
    storage: object | None = None,
    format: str | None = None,
    relocate: Mapping[str, str | os.PathLike[str]] | None = None,
    limits: Limits | None = None,
    range_bytes: int | None = None,
    read: Read | None = None,
    large_bytes: int | None = None,
    **given: Unpack[TableKeywords],
) -> DataFrame:
    """One row about how a table is, or one for each of many tables.

    Args: path, one table, whose manifests are spread over the executors, or a list of paths or URIs, which
        are spread: an executor opens and reads whole tables; storage, format and relocate, as
        `lakebed.open_table` has them, storage to be pickled if it is for a list; at, limits, range_bytes and
        read, as `open_table` of this module has them, the last two for one table only; large_bytes, of a
        list: the manifests of a table that has more bytes of them are divided among several tasks; the others
        are those of `Table.health`.
    Returns: the columns of `Table.health`; for a list, in its order, then `error` utf8: the kind of what is
        wrong and its text, null where nothing is. A table in error has its path as `location`, without
        credentials, and nulls.
    Raises: what `open_table` and `Table.health` raise, for one table here or when the DataFrame is computed;
        for a list only SchemaError for a column that is not there, TypeError for a storage that cannot be
        pickled.
    Cost: one table: as `partitions`; the driver reads the snapshots too. A list: nothing on the driver; paths
        and storage travel in the function, so that plans do not show them. A task has several tables where
        there are many more than cores, remote ones side by side. With large_bytes tasks read tables one after
        the other and two exchanges follow; of Paimon's a table with very many deletions stays one task's.
    """
    how: dict[str, Any] = {"storage": storage, "format": format, "relocate": relocate}
    if limits is not None:
        how["limits"] = limits
    if isinstance(path, str | os.PathLike) or is_of_catalog(path):
        path = opening.open_table(path, **how)
    if isinstance(path, Table):
        table = open_table(spark, path, at=at, limits=limits, range_bytes=range_bytes, read=read)
        return table.health(small_bytes=small_bytes, **given)
    check_pickled(storage)
    paths = (os.fspath(one) for one in cast("Sequence[str | os.PathLike[str]]", path))
    columns = names("columns", given.get("columns"))
    selection = {**given, "columns": columns, "small_bytes": small_bytes}
    tables = _Tables(tuple(paths if storage else map(absolute, paths)), how, at, selection)
    return _of_tables(spark, tables, positive("large_bytes", large_bytes, least=0))


@dataclass(frozen=True)
class _Tables:
    """Tables of one request. Their `repr` hides paths and storages."""

    paths: tuple[str, ...]
    how: dict[str, Any]
    at: AnyVersion | None
    selection: dict[str, Any]

    def __repr__(self) -> str:
        return f"<{len(self.paths)} tables>"

    @property
    def schema(self) -> pa.Schema:
        """The columns, before they get the types of Spark."""
        schema = _arrow.schema(_native.health_schema(self.selection["columns"]))
        return schema.append(pa.field("error", pa.string()))

    def row(self, number: int) -> pa.RecordBatch:
        """The row of a table, whatever it is like."""
        try:
            row = self.opened(number)[1].to_arrow()
            row = row.append_column(self.schema.field("error"), pa.nulls(1, pa.string())).to_batches()[0]
        except Exception as error:  # noqa: BLE001 - other tables are to answer all the same
            return self.failed(number, error)
        return cast_batch(row, to_spark(self.schema))

    def opened(self, number: int) -> tuple[Table, ViewScan]:
        """A table, and its health. Raises: what these raise."""
        table = opening.open_table(self.paths[number], **self.how)
        table = table if self.at is None else table.at(self.at)
        return table, table.health(threads=1, **self.selection)

    def failed(self, number: int, error: Exception) -> pa.RecordBatch:
        """The row of a table that has an error."""
        path = self.paths[number]
        location = _native.without_credentials(path)
        if isinstance(error, LakebedError):
            text = f"{error.kind}: {error}".replace(path, location)
        else:
            words = str(error).replace(path, location)
            text = f"{type(error).__name__}: {without_secrets(words, path, self.how['storage'])}"
        values = {"location": location, "error": text}
        return cast_batch(pa.RecordBatch.from_pylist([values], schema=self.schema), to_spark(self.schema))

    def storage(self, number: int) -> Storage | None:
        """What reads a table's manifests."""
        return resolve(self.paths[number], self.how["storage"])[1]


def tasks_of_tables(spark: SparkSession, count: int) -> int:
    """In how many tasks so many tables are read."""
    cores = at_once(spark)
    most = cores * _TASKS_PER_CORE if cores > 1 else _UNTOLD_TASKS
    return max(1, min(count, most))


def _of_tables(spark: SparkSession, tables: _Tables, large_bytes: int | None) -> DataFrame:
    count = len(tables.paths)
    numbers = task_numbers(spark, count, tasks_of_tables(spark, count))
    if large_bytes is not None:
        asked = (tables.opened, tables.row, tables.failed, tables.storage)
        return divided(numbers, Tables(*asked, tables.schema, large_bytes))
    return numbers.mapInArrow(partial(_map_tables, tables=tables), spark_schema(tables.schema))


def _map_tables(batches: Iterator[pa.RecordBatch], tables: _Tables) -> Iterator[pa.RecordBatch]:
    for batch in batches:
        numbers = batch.column("id").to_pylist()
        reads = 1 if all(URI.match(tables.paths[number]) is None for number in numbers) else _REMOTE_TABLES
        rows = (row for _, row in in_order(numbers, tables.row, reads, lambda _: 0))
        yield from gathered_batches(rows)
