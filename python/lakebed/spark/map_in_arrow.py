"""`DataFrame.mapInArrow` as views need it: rows without columns stay rows."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

import pyarrow as pa

if TYPE_CHECKING:
    from pyspark.sql import DataFrame
    from pyspark.sql.types import StructType

Mapper: TypeAlias = Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]
"""A function for `DataFrame.mapInArrow`."""


def map_in_arrow(frame: DataFrame, mapper: Mapper, types: StructType) -> DataFrame:
    """The rows that a function makes of a frame's.

    PySpark 3.5 forgets how many rows there are in a batch without columns, so there they come with one.
    """
    if types.names:
        return frame.mapInArrow(mapper, types)
    return frame.mapInArrow(_OneColumn(mapper), "row boolean").select()


@dataclass(frozen=True)
class _OneColumn:
    mapper: Mapper

    @property
    def __name__(self) -> str:
        """What plans show."""
        return getattr(self.mapper, "__name__", type(self.mapper).__name__)

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in self.mapper(batches):
            yield pa.RecordBatch.from_arrays([pa.nulls(batch.num_rows, pa.bool_())], ["row"])
