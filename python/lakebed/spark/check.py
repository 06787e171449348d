"""Whether the executors have what they need."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from lakebed.limits import LIMITS

if TYPE_CHECKING:
    from collections.abc import Callable

    from pyspark.sql import Column, DataFrame, SparkSession

    from lakebed.spark.frames import TablePath

# As many as there may be cores, so that every task has a row.
_ROWS = 1_000
_PROBE_COLUMNS = "host string, python string, lakebed string, pyarrow string, problem string, unread string"


def check(spark: SparkSession, path: TablePath | None = None) -> DataFrame:
    """One row per executor host and Python, and whether it can decode manifests and read those of a table.

    Args: path, the table; with it the next frame of the session finds out again who reads manifests.
    Returns: `host`, `python`, `lakebed`, `pyarrow` strings (versions; null where it cannot be imported), `ok`
        boolean (imports work, and lakebed is the driver's version), `problem` string; with a table that has
        manifests `read` string ("executors" or "spark": who is to read them, for what this host finds), and
        `unread` string: what keeps Python there from reading one, null where nothing does.
    Raises: with a table what `open_table` and `Table.manifests` raise, and TypeError for a storage that
        cannot be pickled.
    Cost: two small tasks per core; with a table each reads a range of a manifest, the driver manifest lists.
    """
    from pyspark.sql import functions as F  # noqa: N812 - the name everyone knows

    import lakebed
    from lakebed.spark.reach import forget

    reading = None if path is None else _reading(path)
    if reading is not None:
        forget(spark)
    # Ranges have a partition per core unless `range_bytes` says otherwise; Spark Connect does not give the
    # number of cores.
    once = spark.range(_ROWS)
    # A plain UDF, not an Arrow one: it must run where pyarrow is what is missing.
    probe = F.udf(_probe(reading), _PROBE_COLUMNS, useArrow=False)
    rows = once.union(once).select(probe("id").alias("probe")).select("probe.*").distinct()
    same = F.col("lakebed") == lakebed.__version__
    differs = F.concat(F.lit(f"the driver has lakebed {lakebed.__version__}, here is "), F.col("lakebed"))
    problem = F.coalesce("problem", F.when(~same, differs))
    checked = rows.withColumn("ok", F.col("problem").isNull() & same)
    columns: list[str | Column] = ["host", "python", "lakebed", "pyarrow", "ok", problem.alias("problem")]
    if reading is not None:
        reader = F.when(F.col("unread").isNull(), "executors").otherwise("spark")
        columns += [reader.alias("read"), "unread"]
    asked: DataFrame = checked.select(*columns)
    return asked


def _reading(path: TablePath) -> bytes | None:
    """What reads a range of a table's smallest manifest in a task, pickled; None where it has no manifest."""
    from lakebed.spark.reach import probe_of
    from lakebed.spark.table import table_at

    table = table_at(path, None, LIMITS)
    manifests = table.entries(columns=[]).planned_manifests()
    return probe_of(table.opening.storage, manifests, LIMITS).pickled() if manifests else None


def _probe(reading: bytes | None) -> Callable[[Any], tuple[str | None, ...]]:
    found: list[tuple[str | None, ...]] = []

    # A nested function is sent by value: it runs where lakebed cannot be imported.
    def look() -> tuple[str | None, ...]:
        import importlib
        import pickle
        import platform
        import socket

        versions: list[str | None] = []
        problems: list[str] = []
        for name in ("lakebed", "pyarrow"):
            try:
                versions.append(importlib.import_module(name).__version__)
            except Exception as error:  # noqa: BLE001, PERF203 - whatever importing raises is the answer
                versions.append(None)
                problems.append(f"{name}: {type(error).__name__}: {error}")
        problem = "; ".join(problems) or None
        unread = problem if problem or reading is None else pickle.loads(reading).answer()[0]
        return socket.gethostname(), platform.python_version(), *versions, problem, unread

    def probe(_: Any) -> tuple[str | None, ...]:
        if not found:
            found.append(look())
        return found[0]

    return probe
