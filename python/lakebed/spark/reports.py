"""A report of many tables, whose numbers executors gather."""

from __future__ import annotations

import os
import pickle
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from lakebed._arguments import positive
from lakebed._verdict import SMALL_BYTES
from lakebed.limits import LIMITS, Limits
from lakebed.opening import open_table
from lakebed.spark.health import tasks_of_tables
from lakebed.spark.mappers import prefix_error_kind
from lakebed.spark.reach import check_pickled
from lakebed.spark.session import spare_archives, task_numbers
from lakebed.storage.paths import absolute

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def report(
    spark: SparkSession,
    paths: Sequence[str | os.PathLike[str]],
    output: str | os.PathLike[str] | None = None,
    *,
    small_bytes: int = SMALL_BYTES,
    storage: object | None = None,
    format: str | None = None,
    relocate: Mapping[str, str | os.PathLike[str]] | None = None,
    limits: Limits = LIMITS,
) -> str:
    """A page about tables: that of `lakebed.report`, whose numbers executors gather table by table.

    Args: paths, of tables or URIs; output and small_bytes, as `lakebed.report`, output a file of the driver;
        storage, format, relocate and limits, as `open_table` has them, storage to be pickled.
    Returns: the page, which is that of `lakebed.report` for the same tables.
    Raises: ImportError without matplotlib, which the driver alone needs; TypeError for a storage that cannot
        be pickled; what `open_table` and the views raise, as errors of Spark.
    Cost: each table is one task's, with the cost of `lakebed.report`; the driver holds what the page shows.
    """
    from lakebed.reporting import written
    from lakebed.reporting.page import page

    check_pickled(storage)
    small = positive("small_bytes", small_bytes, least=0) or 0
    names = [os.fspath(path) for path in paths]
    how: dict[str, Any] = {"storage": storage, "format": format, "relocate": relocate, "limits": limits}
    gatherer = _Gatherer(tuple(names if storage else map(absolute, names)), how, small)
    numbers = task_numbers(spark, len(names), tasks_of_tables(spark, len(names)))
    rows = numbers.mapInArrow(gatherer, "number long, numbers binary").collect()
    found = [pickle.loads(row.numbers) for row in sorted(rows, key=lambda row: row.number)]
    return written(page(found, small), output)


@dataclass(frozen=True)
class _Gatherer:
    """Gathers the numbers of tables; made for `mapInArrow` over the tables' numbers."""

    paths: tuple[str, ...] = field(repr=False)
    how: dict[str, Any] = field(repr=False)
    small: int

    @property
    def __name__(self) -> str:
        """What plans show."""
        return "executors_gather_reports"

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Gives the numbers of each table, pickled."""
        from lakebed.reporting.numbers import gather

        spare_archives()
        for batch in batches:
            for number in batch.column(0).to_pylist():
                with prefix_error_kind():
                    table = open_table(self.paths[number], **self.how)
                    numbers = pickle.dumps(gather(table, table.location, self.small, 1))
                columns = [pa.array([number], pa.int64()), pa.array([numbers], pa.binary())]
                yield pa.RecordBatch.from_arrays(columns, ["number", "numbers"])
