"""The jobs on Spark, over the random histories of `tests/model`: what lives is never named there either."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest
from model.histories import Rows
from model.test_histories import counted
from trust import long_or

import lakebed
import lakebed.spark as ls
from lakebed import errors

pytest.importorskip("pyspark")
from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

pytestmark = [
    pytest.mark.spark,
    pytest.mark.filterwarnings("ignore::lakebed.errors.LakebedWarning"),
    # By PySpark 3.5, of pandas.
    pytest.mark.filterwarnings("ignore:is_datetime64tz_dtype:DeprecationWarning"),
]

EACH = long_or(5, 15)
"""Of each format and run: so many histories."""


def collected(frame: DataFrame) -> Rows:
    """The rows of a frame. Raises: the error of an executor, which comes in words, as the driver's own."""
    try:
        return [row.asDict() for row in frame.collect()]
    except (PySparkException, Py4JJavaError) as error:
        named = re.findall(r"lakebed\.errors\.(\w+): (.*)", str(error))
        if not named:
            raise
        raise getattr(errors, named[0][0])(named[0][1]) from error


@pytest.mark.parametrize("run", range(long_or(1, 10)))
@pytest.mark.parametrize("kind", ["iceberg", "paimon"])
@pytest.mark.timeout(1500)
def test_what_lives_is_never_named(spark: Any, kind: str, run: int):
    def on_spark(table: lakebed.Table, retain: int | None, listing: pa.Table | None) -> Callable[[], Rows]:
        """The job of executors."""
        if retain is None:
            there = None if listing is None else spark.createDataFrame(listing.to_pandas())
            frame = ls.orphans(spark, table, listing=there)
        else:
            frame = ls.expire_plan(spark, table, timedelta(0), retain)
        return lambda: collected(frame)

    seen = counted(
        kind, range(run * EACH, (run + 1) * EACH), on_spark, on_storage=False, walks_when_asked=True
    )
    assert seen["answers"] >= 0.4 * seen["histories"], seen
    assert seen["rows"] >= 0.2 * seen["histories"], seen
