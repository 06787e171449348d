"""A view of a table that Spark is asked for, and what all ways to read one have in common."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any

from lakebed import _arrow, _native
from lakebed.spark.frames import from_driver
from lakebed.spark.map_in_arrow import map_in_arrow
from lakebed.spark.mappers import gathered_batches
from lakebed.spark.reading import Reading
from lakebed.spark.small_tables import read_by_driver
from lakebed.spark.types import spark_schema

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame

    from lakebed.spark.table import SparkTable
    from lakebed.table import Table
    from lakebed.view import Manifest, ViewScan


@dataclass(frozen=True)
class Request:
    """A view of a table that Spark is asked for.

    Attributes: of, the table; scan, the view as executors make it: without its filter where they test that
        afterwards, and then with all columns that it tests; whole, the view as it was asked for; keywords,
        those of `scan`.
    """

    of: SparkTable
    scan: ViewScan
    whole: ViewScan
    keywords: dict[str, Any]

    @property
    def table(self) -> Table:
        """The table."""
        return self.of.table

    @cached_property
    def reading(self) -> Reading:
        """How manifests are read. Raises: as `Reading.of`."""
        return Reading.of(self.table, self.of.limits, self.of.range_bytes, self.of.read)

    def by_driver(self) -> DataFrame:
        """The rows, read here."""
        return from_driver(self.of.spark, self.whole)

    def small(self, manifests: Iterable[Manifest]) -> DataFrame | None:
        """The rows, read here, of a table that is small enough; None of others. Args: as `read_by_driver`."""
        return read_by_driver(self.of.spark, self.whole, manifests, self.reading)

    def kept(self, rows: DataFrame) -> DataFrame:
        """Of the rows of `scan` those of `whole`."""
        if self.scan is self.whole:
            return rows
        keep = partial(keep_rows, condition=self.whole.filter_text or "", columns=self.whole.schema.names)
        return map_in_arrow(rows, keep, spark_schema(self.whole.schema))


def keep_rows(
    batches: Iterator[pa.RecordBatch], condition: str, columns: list[str]
) -> Iterator[pa.RecordBatch]:
    """Gives the rows that a condition keeps, in some of their columns; made for `mapInArrow`."""
    yield from gathered_batches(_kept(batches, condition, columns))


def _kept(batches: Iterator[pa.RecordBatch], condition: str, columns: list[str]) -> Iterator[pa.RecordBatch]:
    keeps: _native.Filter | None = None
    for batch in batches:
        keeps = keeps or _native.Filter(batch.schema, condition)
        yield _arrow.record_batch(keeps.matching(batch)).select(columns)
