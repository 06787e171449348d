"""A table committed by PyIceberg: the files, partitions and statistics that the Java generator makes.

So what differs between two tables of the benches is their writer alone. Columns: `id` BIGINT, `region`
STRING, `event_ts` TIMESTAMPTZ, then INT, DOUBLE, STRING, DECIMAL(18, 2), DATE, BIGINT, BOOLEAN, FLOAT, STRING
in turn; partitioned by `region` and the day of `event_ts`. Random numbers are those of `java.util.Random`.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import date, timedelta
from decimal import Decimal
from itertools import islice
from pathlib import Path
from typing import Any
from uuid import UUID

from pyiceberg import types
from pyiceberg.catalog.memory import InMemoryCatalog
from pyiceberg.conversions import to_bytes
from pyiceberg.manifest import DataFile, DataFileContent, FileFormat
from pyiceberg.partitioning import PartitionField, PartitionSpec
from pyiceberg.schema import Schema
from pyiceberg.transforms import DayTransform, IdentityTransform
from pyiceberg.typedef import Record

SEED = 5
REGIONS, DAYS, FIRST_DAY = 20, 50, 20_000
DAY_MICROS = 86_400_000_000
CYCLE: list[types.IcebergType] = [
    *(types.IntegerType(), types.DoubleType(), types.StringType(), types.DecimalType(18, 2)),
    *(types.DateType(), types.LongType(), types.BooleanType(), types.FloatType(), types.StringType()),
]
PARTITIONED = PartitionSpec(
    PartitionField(source_id=2, field_id=1000, transform=IdentityTransform(), name="region"),
    PartitionField(source_id=3, field_id=1001, transform=DayTransform(), name="event_ts_day"),
)


def schema(columns: int) -> Schema:
    """The table's columns; field ids count from 1."""
    others = range(4, columns + 1)
    return Schema(
        types.NestedField(1, "id", types.LongType(), required=True),
        types.NestedField(2, "region", types.StringType(), required=False),
        types.NestedField(3, "event_ts", types.TimestamptzType(), required=True),
        *(types.NestedField(i, f"c{i}", CYCLE[(i - 4) % len(CYCLE)], required=False) for i in others),
    )


def write(folder: Path, entries: int, columns: int, commits: int) -> None:
    """Commits them to a table in that folder, one manifest a commit: about 1 ms an entry."""
    catalog = InMemoryCatalog("bench", warehouse=str(folder.parent))
    catalog.create_namespace("bench")
    options = {"location": str(folder), "properties": {"format-version": "2"}}
    table = catalog.create_table("bench.table", schema(columns), partition_spec=PARTITIONED, **options)
    files = data_files(entries, columns)
    while part := list(islice(files, -(-entries // commits))):
        with table.transaction() as transaction, transaction.update_snapshot().fast_append() as append:
            for file in part:
                append.append_data_file(file)


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


def _data_file(number: int, total: int, fields: list[types.NestedField], random: JavaRandom) -> DataFile:
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
    fields: list[types.NestedField],
    rows: int,
    day: int,
    known: dict[str, tuple[Any, Any]],
    random: JavaRandom,
) -> dict[str, Any]:
    """The six maps of a data file, each by field id."""
    counts = ("column_sizes", "value_counts", "null_value_counts", "nan_value_counts")
    found: dict[str, dict[int, Any]] = {name: {} for name in (*counts, "lower_bounds", "upper_bounds")}
    sizes, values, nulls, nans, lower, upper = found.values()
    for field in fields:
        id_: int = field.field_id
        type_: Any = field.field_type
        sizes[id_], values[id_] = 500 + random.below(100_000), rows
        nulls[id_] = 0 if field.required or field.name == "region" else random.below(50)
        low = random.below(1_000_000)
        high = low + 1 + random.below(1000)
        if isinstance(type_, types.DoubleType | types.FloatType):
            nans[id_] = random.below(2) if isinstance(type_, types.FloatType) else 0
        bounds = known.get(field.name) or _bounds(type_, low, high, day)
        lower[id_], upper[id_] = (to_bytes(type_, bound) for bound in bounds)
    return found


def _path(number: int, region: str, day: int) -> str:
    wide = (1 << 64) - 1
    unique = UUID(int=(number * 0x9E3779B97F4A7C15 & wide) << 64 | (number * 0xC2B2AE3D27D4EB4F & wide))
    folder = f"region={region}/event_ts_day={date(1970, 1, 1) + timedelta(days=day)}"
    name = f"{number % 1000:05}-{number}-{unique}-00001.parquet"
    return f"s3://bench-bucket/warehouse/db/events/data/{folder}/{name}"


def _bounds(type_: types.IcebergType, low: int, high: int, day: int) -> tuple[Any, Any]:
    match type_:
        case types.IntegerType():
            return low, high
        case types.LongType():
            return low * 7919, high * 7919
        case types.DoubleType():
            return low / 7.0, high / 7.0
        case types.FloatType():
            return low / 4.0, high / 4.0
        case types.DecimalType():
            return Decimal(low).scaleb(-2), Decimal(high * 100).scaleb(-2)
        case types.BooleanType():
            return False, True
        case types.DateType():
            return 18_000 + low % 900, 19_000 + high % 900
        case types.TimestamptzType():
            return day * DAY_MICROS + low, day * DAY_MICROS + 80_000_000_000 + high
        case _:
            return f"key-{low:012}", f"key-{high:011}~"
