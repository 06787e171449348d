"""The jobs on Spark, over the random histories of `tests/model`: what lives is never named there either."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, Phase, given, seed, settings
from model.histories import History, Rows, histories
from model.test_histories import checked
from trust import long_or

import lakebed
import lakebed.spark as ls

pytest.importorskip("pyspark")

pytestmark = [pytest.mark.spark, pytest.mark.filterwarnings("ignore::lakebed.errors.LakebedWarning")]

EACH = long_or(5, 15)
"""Of each format and run: so many histories."""


@pytest.mark.parametrize("run", range(long_or(1, 10)))
@pytest.mark.parametrize("kind", ["iceberg", "paimon"])
@pytest.mark.timeout(1500)
def test_what_lives_is_never_named(spark: Any, kind: str, run: int):
    seen: Counter[str] = Counter()

    def on_spark(table: lakebed.Table, retain: int | None, listing: pa.Table | None) -> Callable[[], Rows]:
        """The job of executors; errors of these come in words."""
        if retain is None:
            there = None if listing is None else spark.createDataFrame(listing.to_pandas())
            frame = ls.orphans(spark, table, listing=there)
        else:
            frame = ls.expire_plan(spark, table, timedelta(0), retain)
        return lambda: [row.asDict() for row in frame.collect()]

    @seed(run)
    @settings(
        max_examples=EACH,
        deadline=None,
        database=None,
        report_multiple_bugs=False,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(histories(kind, on_storage=False))
    def holds(history: History) -> None:
        checked(history, seen, on_spark)

    holds()
    assert seen["answers"] >= 0.6 * seen["histories"], seen
    assert seen["rows"] >= 0.4 * seen["histories"], seen
