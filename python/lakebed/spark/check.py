"""Whether the executors have what they need."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

    from pyspark.sql import DataFrame, SparkSession

# As many as there may be cores, so that every task has a row.
_ROWS = 1_000
_PROBE_COLUMNS = "host string, python string, lakebed string, pyarrow string, problem string"


def check(spark: SparkSession) -> DataFrame:
    """One row per executor host and Python, and whether it can decode manifests.

    Returns: `host`, `python`, `lakebed`, `pyarrow` strings (versions; null where it cannot be imported), `ok`
        boolean (imports work, and lakebed is the driver's version), `problem` string.
    Cost: two small tasks per core.
    """
    from pyspark.sql import functions as F  # noqa: N812 - the name everyone knows

    import lakebed

    # Ranges have a partition per core unless told otherwise; Spark Connect tells no number of cores.
    once = spark.range(_ROWS)
    # A plain UDF, not an Arrow one: it must run where pyarrow is what is missing.
    probe = F.udf(_probe(), _PROBE_COLUMNS, useArrow=False)
    rows = once.union(once).select(probe("id").alias("probe")).select("probe.*").distinct()
    same = F.col("lakebed") == lakebed.__version__
    differs = F.concat(F.lit(f"the driver has lakebed {lakebed.__version__}, here is "), F.col("lakebed"))
    problem = F.coalesce("problem", F.when(~same, differs))
    return rows.withColumn("ok", F.col("problem").isNull() & same).select(
        "host", "python", "lakebed", "pyarrow", "ok", problem.alias("problem")
    )


def _probe() -> Callable[[Any], tuple[str | None, ...]]:
    # A nested function is sent by value: it runs where lakebed cannot be imported.
    def probe(_: Any) -> tuple[str | None, ...]:
        import importlib
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
        return socket.gethostname(), platform.python_version(), *versions, "; ".join(problems) or None

    return probe
