"""The rows of the Iceberg tables: the same files, partitions and statistics that the Java generator makes.

So what differs between two tables of the benches is their writer alone. Columns: `id` BIGINT, `region`
STRING, `event_ts` TIMESTAMPTZ, then INT, DOUBLE, STRING, DECIMAL(18, 2), DATE, BIGINT, BOOLEAN, FLOAT, STRING
in turn; partitioned by `region` and the day of `event_ts`. Random numbers are those of `java.util.Random`.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import date, timedelta
from decimal import Decimal
from typing import Any
from uuid import UUID

from pyiceberg.conversions import to_bytes
from pyiceberg.manifest import DataFile, DataFileContent, FileFormat
from pyiceberg.partitioning import PartitionField, PartitionSpec
from pyiceberg.schema import Schema
from pyiceberg.transforms import DayTransform, IdentityTransform
from pyiceberg.typedef import Record
from pyiceberg.types import (
    BooleanType,
    DateType,
    DecimalType,
    DoubleType,
    FloatType,
    IcebergType,
    IntegerType,
    LongType,
    NestedField,
    StringType,
    TimestamptzType,
)

SEED = 5
REGIONS, DAYS, FIRST_DAY = 20, 50, 20_000
DAY_MICROS = 86_400_000_000
CYCLE: list[IcebergType] = [
    IntegerType(),
    DoubleType(),
    StringType(),
    DecimalType(18, 2),
    DateType(),
    LongType(),
    BooleanType(),
    FloatType(),
    StringType(),
]
PARTITIONED = PartitionSpec(
    PartitionField(source_id=2, field_id=1000, transform=IdentityTransform(), name="region"),
    PartitionField(source_id=3, field_id=1001, transform=DayTransform(), name="event_ts_day"),
)


def schema(columns: int) -> Schema:
    """The table's columns; field ids count from 1."""
    others = range(4, columns + 1)
    return Schema(
        NestedField(1, "id", LongType(), required=True),
        NestedField(2, "region", StringType(), required=False),
        NestedField(3, "event_ts", TimestamptzType(), required=True),
        *(NestedField(i, f"c{i}", CYCLE[(i - 4) % len(CYCLE)], required=False) for i in others),
    )


class JavaRandom:
    """The linear congruential generator of `java.util.Random`."""

    def __init__(self, seed: int) -> None:
        self._state = (seed ^ 0x5DEECE66D) & ((1 << 48) - 1)

    def below(self, bound: int) -> int:
        """`nextInt(bound)`."""
        while True:
            self._state = (self._state * 0x5DEECE66D + 0xB) & ((1 << 48) - 1)
            bits = self._state >> 17
            if bound & (bound - 1) == 0:
                return (bound * bits) >> 31
            if bits - bits % bound + bound - 1 < 1 << 31:
                return bits % bound


def data_files(total: int, columns: int) -> Iterator[DataFile]:
    """The files of a table, one by one; they exist nowhere."""
    random, fields = JavaRandom(SEED), schema(columns).fields
    for number in range(total):
        yield _data_file(number, total, list(fields), random)


def _data_file(number: int, total: int, fields: list[NestedField], random: JavaRandom) -> DataFile:
    day, region = FIRST_DAY + number * DAYS // total, f"region-{(number * 2654435761 >> 7) % REGIONS:03}"
    rows = 1000 + random.below(9000)
    known = {"id": (number * 10_000, number * 10_000 + rows - 1), "region": (region, region)}
    metrics = _metrics(fields, rows, day, known, random)
    file = DataFile.from_args(
        content=DataFileContent.DATA,
        file_path=_path(number, region, day),
        file_format=FileFormat.PARQUET,
        partition=Record(region, day),
        record_count=rows,
        file_size_in_bytes=4 + sum(metrics["column_sizes"].values()),
        key_metadata=None,
        split_offsets=[4],
        equality_ids=None,
        sort_order_id=0,
        **metrics,
    )
    file.spec_id = 0
    return file


def _metrics(
    fields: list[NestedField], rows: int, day: int, known: dict[str, tuple[Any, Any]], random: JavaRandom
) -> dict[str, Any]:
    """The six maps of a data file, each by field id."""
    maps: list[dict[int, Any]] = [{} for _ in range(6)]
    sizes, values, nulls, nans, lower, upper = maps
    for field in fields:
        id_: int = field.field_id
        type_: Any = field.field_type
        sizes[id_], values[id_] = 500 + random.below(100_000), rows
        nulls[id_] = 0 if field.required or field.name == "region" else random.below(50)
        low = random.below(1_000_000)
        high = low + 1 + random.below(1000)
        if isinstance(type_, DoubleType | FloatType):
            nans[id_] = random.below(2) if isinstance(type_, FloatType) else 0
        bounds = known.get(field.name) or _bounds(type_, low, high, day)
        lower[id_], upper[id_] = (to_bytes(type_, bound) for bound in bounds)
    return {
        "column_sizes": sizes,
        "value_counts": values,
        "null_value_counts": nulls,
        "nan_value_counts": nans,
        "lower_bounds": lower,
        "upper_bounds": upper,
    }


def _path(number: int, region: str, day: int) -> str:
    wide = (1 << 64) - 1
    unique = UUID(int=(number * 0x9E3779B97F4A7C15 & wide) << 64 | (number * 0xC2B2AE3D27D4EB4F & wide))
    folder = f"region={region}/event_ts_day={date(1970, 1, 1) + timedelta(days=day)}"
    name = f"{number % 1000:05}-{number}-{unique}-00001.parquet"
    return f"s3://bench-bucket/warehouse/db/events/data/{folder}/{name}"


def _bounds(type_: IcebergType, low: int, high: int, day: int) -> tuple[Any, Any]:
    match type_:
        case IntegerType():
            return low, high
        case LongType():
            return low * 7919, high * 7919
        case DoubleType():
            return low / 7.0, high / 7.0
        case FloatType():
            return low / 4.0, high / 4.0
        case DecimalType():
            return Decimal(low).scaleb(-2), Decimal(high * 100).scaleb(-2)
        case BooleanType():
            return False, True
        case DateType():
            return 18_000 + low % 900, 19_000 + high % 900
        case TimestamptzType():
            return day * DAY_MICROS + low, day * DAY_MICROS + 80_000_000_000 + high
        case _:
            return f"key-{low:012}", f"key-{high:011}~"
