"""Views of a table as DataFrames: the driver plans, executors read and decode."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias, Union

import pyarrow as pa

from lakebed import _arrow, _native
from lakebed.errors import MissingFileError
from lakebed.limits import LIMITS, Limits
from lakebed.spark.mappers import map_manifests
from lakebed.spark.types import cast_batch, spark_schema, to_spark
from lakebed.table import Table, open_table

if TYPE_CHECKING:
    import os

    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.types import StructType

    from lakebed.predicates import Predicate
    from lakebed.view import Manifest, ViewScan

_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+:/")
# What Hadoop's file systems expand in a path, and the backslash that keeps them from it.
_GLOB = re.compile(r"[{}\[\]*?\\]")
_ESCAPE = re.compile(r"\\(?=[{}\[\]*?\\])")

TablePath: TypeAlias = Union[str, "os.PathLike[str]", Table]
"""A path or URI that the driver can open and the executors can reach, or a table that is open already."""

At: TypeAlias = int | Mapping[str, Any] | None
"""A snapshot id, or the keywords of `Table.at` such as `{"snapshot": 7}`; None for the latest."""

Mapper: TypeAlias = Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]


def files(
    spark: SparkSession,
    path: TablePath,
    *,
    where: str | Predicate | None = None,
    columns: Sequence[str] | None = None,
    stats: Sequence[str] | None = None,
    at: At = None,
    limits: Limits = LIMITS,
) -> DataFrame:
    """One row per live data file; the rows and columns of `Table.files`, in no order.

    Args: as `Table.files`; path and at, which table and snapshot; limits, what one manifest may cost.
    Raises: what `open_table` and `Table.files` raise, here; errors of a manifest when the DataFrame is
        computed.
    Cost: the driver reads the manifest lists; executors read the manifests that `where` leaves. Where
        manifests record deletions, they are read once more for these, and one join by identity takes them
        away.
    """
    scan = _table(path, at, limits).files(columns=columns, where=where, stats=stats)
    manifests = scan.planned_manifests()
    added = _decoded(spark, scan, manifests, "added", limits)
    deleting = [manifest for manifest in manifests if manifest["deleted"]]
    if deleting:
        deleted = _decoded(spark, scan, deleting, "deleted", limits)
        added = added.join(deleted, "_identity", "left_anti")
    return added.drop("_identity")


def entries(
    spark: SparkSession,
    path: TablePath,
    *,
    where: str | Predicate | None = None,
    columns: Sequence[str] | None = None,
    stats: Sequence[str] | None = None,
    at: At = None,
    limits: Limits = LIMITS,
) -> DataFrame:
    """One row per manifest entry, as stored; the rows and columns of `Table.entries`, in no order.

    Args, Raises: as `files`.
    Cost: the driver reads the manifest lists; executors read the manifests that `where` leaves.
    """
    scan = _table(path, at, limits).entries(columns=columns, where=where, stats=stats)
    return _decoded(spark, scan, scan.planned_manifests(), "rows", limits)


def manifests(
    spark: SparkSession,
    path: TablePath,
    *,
    where: str | Predicate | None = None,
    columns: Sequence[str] | None = None,
    at: At = None,
    limits: Limits = LIMITS,
) -> DataFrame:
    """One row per manifest of the snapshot; the rows and columns of `Table.manifests`.

    Args, Raises: as `files`.
    Cost: the driver reads the manifest lists.
    """
    scan = _table(path, at, limits).manifests(columns=columns, where=where)
    arrow = to_spark(scan.schema)
    rows = pa.Table.from_batches([cast_batch(batch, arrow) for batch in scan], arrow)
    return spark.createDataFrame(rows, spark_schema(scan.schema))


def manifest_mapper(
    fmt: str,
    path: TablePath,
    *,
    where: str | Predicate | None = None,
    columns: Sequence[str] | None = None,
    stats: Sequence[str] | None = None,
    at: At = None,
    limits: Limits = LIMITS,
) -> Mapper:
    """The function for `DataFrame.mapInArrow` that turns manifests into rows of `Table.entries`.

    It takes rows with `path` and `content`, those of Spark's `binaryFile` source for manifests of this
    snapshot, and goes with the schema `schema("entries", path, columns=…, stats=…, at=…)`.

    Args: fmt, the table format, "paimon"; the others as in `entries`.
    Raises: what `open_table` and `Table.entries` raise; ValueError where the table is of another format.
    Cost: the driver reads the manifest lists.
    """
    table = _table(path, at, limits)
    if table.format != fmt:
        raise ValueError(f"{table.location} is a {table.format} table, not {fmt}")
    task = table.entries(columns=columns, where=where, stats=stats).task("rows")
    return partial(map_manifests, task=task, limits=limits)


def schema(
    view: str,
    path: TablePath,
    *,
    columns: Sequence[str] | None = None,
    stats: Sequence[str] | None = None,
    at: At = None,
) -> StructType:
    """The Spark schema of a view: "files", "entries" or "manifests".

    Args: as in `files`. Raises: what `open_table` and the view raise; ValueError for another view.
    Cost: the driver opens the table.
    """
    if view not in ("files", "entries", "manifests"):
        raise ValueError(f'a view is "files", "entries" or "manifests", not {view!r}')
    selection = {"columns": columns} if view == "manifests" else {"columns": columns, "stats": stats}
    return spark_schema(getattr(_table(path, at, LIMITS), view)(**selection).schema)


def _table(path: TablePath, at: At, limits: Limits) -> Table:
    table = path if isinstance(path, Table) else open_table(path, limits=limits)
    if at is None:
        return table
    return table.at(snapshot=at) if isinstance(at, int) else table.at(**at)


def _decoded(
    spark: SparkSession, scan: ViewScan, manifests: Sequence[Manifest], role: str, limits: Limits
) -> DataFrame:
    task = scan.task(role)
    types = spark_schema(_arrow.schema(_native.task_schema(task)))
    if not manifests:
        return spark.createDataFrame([], types)
    contents = _binary_files(spark, [manifest["path"] for manifest in manifests])
    return contents.mapInArrow(partial(map_manifests, task=task, limits=limits), types)


def _binary_files(spark: SparkSession, paths: Sequence[str]) -> DataFrame:
    """`path` and `content` of each file. Raises: MissingFileError for one that is not there."""
    from pyspark.errors import AnalysisException

    reader = spark.read.format("binaryFile")
    # Sessions may be set to pass over such files, and a manifest passed over is rows lost in silence.
    reader = reader.option("ignoreMissingFiles", "false").option("ignoreCorruptFiles", "false")
    try:
        return reader.load([_spark_path(path) for path in paths]).select("path", "content")
    except AnalysisException as error:
        if error.getCondition() != "PATH_NOT_FOUND":
            raise
        missing = _ESCAPE.sub("", (error.getMessageParameters() or {}).get("path", ""))
        message = f"a manifest that the manifest list names is not there: {missing}"
        raise MissingFileError(message, kind="missing", path=missing) from error


def _spark_path(path: str) -> str:
    """A path or URI as Spark's file sources take it: absolute, with its scheme, nothing to be expanded."""
    uri = path if _SCHEME.match(path) else f"file://{Path(path).absolute()}"
    return _GLOB.sub(r"\\\g<0>", uri)
