"""Views that the driver reads: small ones, whose rows it sends along with the plan."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from lakebed.limits import LIMITS, Limits
from lakebed.spark.frames import At, TablePath, from_driver, table_at

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from lakebed.predicates import Predicate


def manifests(
    spark: SparkSession,
    path: TablePath,
    *,
    where: str | Predicate | None = None,
    columns: Sequence[str] | None = None,
    at: At = None,
    limits: Limits = LIMITS,
) -> DataFrame:
    """One row per manifest of the snapshot; the rows and columns of `Table.manifests`, in its order.

    Args: as `Table.manifests`; path and at, which table and snapshot; limits, what one metadata file may
        cost.
    Raises: what `open_table` and `Table.manifests` raise, here, errors of reading included.
    Cost: the driver reads the manifest lists.
    """
    return from_driver(spark, table_at(path, at, limits).manifests(columns=columns, where=where))


def snapshots(
    spark: SparkSession,
    path: TablePath,
    *,
    where: str | Predicate | None = None,
    columns: Sequence[str] | None = None,
    at: At = None,
    limits: Limits = LIMITS,
) -> DataFrame:
    """One row per snapshot; the rows and columns of `Table.snapshots`, in its order.

    Args, Raises: as `manifests`. Cost: the driver reads every snapshot file.
    """
    return from_driver(spark, table_at(path, at, limits).snapshots(columns=columns, where=where))


def refs(
    spark: SparkSession,
    path: TablePath,
    *,
    where: str | Predicate | None = None,
    columns: Sequence[str] | None = None,
    at: At = None,
    limits: Limits = LIMITS,
) -> DataFrame:
    """One row per branch and tag; the rows and columns of `Table.refs`, in its order.

    Args, Raises: as `manifests`. Cost: the driver reads one snapshot per branch, and every tag.
    """
    return from_driver(spark, table_at(path, at, limits).refs(columns=columns, where=where))


def changelogs(
    spark: SparkSession,
    path: TablePath,
    *,
    where: str | Predicate | None = None,
    columns: Sequence[str] | None = None,
    at: At = None,
    limits: Limits = LIMITS,
) -> DataFrame:
    """One row per long-lived changelog; the rows and columns of `Table.changelogs`, in its order.

    Args, Raises: as `manifests`. Cost: the driver reads every changelog file.
    """
    return from_driver(spark, table_at(path, at, limits).changelogs(columns=columns, where=where))


def schemas(
    spark: SparkSession,
    path: TablePath,
    *,
    where: str | Predicate | None = None,
    columns: Sequence[str] | None = None,
    at: At = None,
    limits: Limits = LIMITS,
) -> DataFrame:
    """One row per version of the schema; the rows and columns of `Table.schemas`, in its order.

    Args, Raises: as `manifests`. Cost: the driver reads every schema file.
    """
    return from_driver(spark, table_at(path, at, limits).schemas(columns=columns, where=where))


def indexes(
    spark: SparkSession,
    path: TablePath,
    *,
    where: str | Predicate | None = None,
    columns: Sequence[str] | None = None,
    at: At = None,
    limits: Limits = LIMITS,
) -> DataFrame:
    """One row per index file; the rows and columns of `Table.indexes`, in its order.

    Args, Raises: as `manifests`. Cost: the driver reads the index manifest.
    """
    return from_driver(spark, table_at(path, at, limits).indexes(columns=columns, where=where))


def metadata_table(
    spark: SparkSession,
    path: TablePath,
    name: str,
    *,
    where: str | Predicate | None = None,
    columns: Sequence[str] | None = None,
    at: At = None,
    limits: Limits = LIMITS,
) -> DataFrame:
    """One of the engine's own metadata tables; the rows and columns of `Table.metadata_table`, in its order.

    Args: name, one of `Table.metadata_tables`, such as "options"; the others as in `manifests`.
    Raises: as `manifests`.
    Cost: the driver reads what the metadata table is made of, for "files" every manifest: `files` lets the
        executors do that.
    """
    return from_driver(spark, table_at(path, at, limits).metadata_table(name, columns=columns, where=where))
