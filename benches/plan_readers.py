"""What is timed of plans in Python. Run as a program this is the process of one reader."""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any

from paimon_readers import Condition, pypaimon_plan, pypaimon_rust_plan
from readers import Reader, Rows, Run, serve, tables

if TYPE_CHECKING:
    from corpus import Corpus

PARTITION = (
    "region = 'region-007' AND event_ts >= '2024-10-08T00:00:00+00:00'"
    " AND event_ts < '2024-10-09T00:00:00+00:00'"
)
FILTERS = {
    "iceberg": {"plan-partition": PARTITION, "plan-range": "id = 123450001"},
    "paimon": {"plan-partition": "dt = '2020-02-03'", "plan-range": "id < 100000000"},
}
"""The filters of each format's tasks; the others have none. `peers_java` has the same."""
CONDITIONS: dict[str, Condition] = {
    "plan-partition": ("dt", "equal", "2020-02-03"),
    "plan-range": ("id", "lessThan", 100_000_000),
}
"""Paimon's once more, as its predicates are built."""
STREAMED = "plan-stream"
TASKS = ("plan", STREAMED, "plan-partition", "plan-range")
_MATERIALIZED = tuple(task for task in TASKS if task != STREAMED)


def _lakebed(task: str, threads: int | None) -> Callable[[Corpus], Run]:
    def prepare(corpus: Corpus) -> Run:
        import lakebed

        where = FILTERS[corpus.format].get(task)

        def run() -> tuple[Rows, Any]:
            table = lakebed.open_table(corpus.path)
            if task == STREAMED:
                plan = table.plan(threads=threads).to_arrow_batch_reader()
                return sum(batch.num_rows for batch in plan), None
            return tables([table.plan(where=where, deletes="ids", threads=threads).to_arrow()])

        return run

    return prepare


def _pyiceberg(task: str) -> Callable[[Corpus], Run]:
    where = FILTERS["iceberg"].get(task)

    def prepare(corpus: Corpus) -> Run:
        from pyiceberg.table import StaticTable

        def run() -> tuple[Rows, Any]:
            table = StaticTable.from_metadata(corpus.path)
            scan = table.scan() if where is None else table.scan(row_filter=where)
            found = list(scan.plan_files())
            return len(found), found

        return run

    return prepare


def polars_iceberg_plan(
    filtered_by: str | None, properties_of: Callable[[Corpus], dict[str, str]] = lambda _: {}
) -> Callable[[Corpus], Run]:
    """The scan that Polars has planned before it reads: its text tells how many files are left.

    Polars 2 was the first to plan with polars-iceberg. It opens tables by PyIceberg, with those properties.
    """

    def prepare(corpus: Corpus) -> Run:
        # Else it would keep metadata from one run to the next, and plan by PyIceberg what it cannot itself.
        os.environ |= {"POLARS_ICEBERG_METADATA_FILE_CACHE_MB": "0", "POLARS_ICEBERG_PLANNER": "plugin"}
        import polars

        if int(polars.__version__.split(".")[0]) < 2:
            raise NotImplementedError(
                f"polars {polars.__version__} plans by PyIceberg; from 2.0 it has this one"
            )
        where = None if filtered_by is None else polars.sql_expr(filtered_by)
        if filtered_by == PARTITION:
            # Polars compares no time with a text.
            day, utc = datetime(2024, 10, 8), "UTC"
            ends = [polars.lit(day + timedelta(days=n), polars.Datetime("us", utc)) for n in (0, 1)]
            times = polars.col("event_ts").is_between(*ends, closed="left")
            where = (polars.col("region") == "region-007") & times
        options = properties_of(corpus)

        def run() -> tuple[Rows, Any]:
            scan = polars.scan_iceberg(corpus.path, reader_override="native", storage_options=options)
            text = (scan if where is None else scan.filter(where)).explain()
            others = re.search(r"\.\.\. (\d+) other sources\]", text)
            if others:
                return int(others[1]) + 1, text
            sources = re.search(r"Parquet SCAN \[(.*)\]", text)
            return len(sources[1].split(", ")) if sources and sources[1] else 0, text

        return run

    return prepare


_LAKEBED = [
    reader
    for task in TASKS
    for reader in (
        Reader("lakebed", task, "lakebed", "1", _lakebed(task, 1)),
        Reader("lakebed, all cores", task, "lakebed", "all", _lakebed(task, None)),
    )
]
# The others have no plan in batches: there they would do again what they do in `plan`.
_PYICEBERG = [Reader("pyiceberg", task, "pyiceberg", "all (GIL)", _pyiceberg(task)) for task in _MATERIALIZED]
_POLARS = [
    Reader("polars-iceberg", task, "polars-iceberg", "all", polars_iceberg_plan(FILTERS["iceberg"].get(task)))
    for task in _MATERIALIZED
]
_PYPAIMON = [
    reader
    for task in _MATERIALIZED
    for reader in (
        Reader("pypaimon-rust", task, "pypaimon-rust", "all", pypaimon_rust_plan(CONDITIONS.get(task))),
        Reader("pypaimon", task, "pypaimon", "8 (GIL)", pypaimon_plan(CONDITIONS.get(task))),
    )
]
READERS = {"iceberg": [*_LAKEBED, *_PYICEBERG, *_POLARS], "paimon": [*_LAKEBED, *_PYPAIMON]}
"""All of them by format, in the order in which they are reported."""

if __name__ == "__main__":
    serve([*READERS["iceberg"], *_PYPAIMON])
