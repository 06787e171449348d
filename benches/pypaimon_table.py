"""A metadata-only table committed by pypaimon: fabricated data files, real commits.

The columns and their bounds are those of a common fact table: the partition `dt` STRING, `id` BIGINT, then
INT, STRING, DOUBLE, TIMESTAMP(6), DECIMAL(18, 2), BIGINT, STRING, DATE, BOOLEAN, DECIMAL(30, 4) in turn.
"""

from __future__ import annotations

import random
import uuid
from datetime import date, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa

SEED = 42
_CYCLE = [
    *(pa.int32(), pa.string(), pa.float64(), pa.timestamp("us"), pa.decimal128(18, 2), pa.int64()),
    *(pa.string(), pa.date32(), pa.bool_(), pa.decimal128(30, 4)),
]
_OPTIONS = {
    "bucket": "-1",
    "manifest.compression": "zstd",
    # Manifests stay as committed, and pypaimon's own Python code writes them.
    "manifest.merge-min-count": "1000000",
    "manifest.full-compaction-threshold-size": "100 gb",
    "commit.native.enabled": "false",
}


def fields(columns: int) -> list[tuple[str, pa.DataType]]:
    """The columns of a table: names and types."""
    types = [pa.string(), pa.int64(), *(_CYCLE[i % len(_CYCLE)] for i in range(columns - 2))]
    return list(zip(["dt", "id", *(f"c{i}" for i in range(2, columns))], types, strict=True))


def bounds(types: list[pa.DataType], random_: random.Random) -> list[Any]:
    """A lower bound of each column, as Python's own values."""
    return [_day(random_.randrange(500)), *(_bound(type_, random_.getrandbits(32)) for type_ in types[1:])]


def write(table_path: Path, entries: int, columns: int, partitions: int, commits: int) -> None:
    """Writes a table into a folder `<warehouse>/<database>.db/<name>`: about 0.6 ms an entry."""
    from pypaimon import CatalogFactory, Schema

    columns_of = fields(columns)
    types = [type_ for _, type_ in columns_of]
    schema = Schema.from_pyarrow_schema(pa.schema(columns_of), partition_keys=["dt"], options=_OPTIONS)
    database = table_path.parent.name.removesuffix(".db")
    catalog = CatalogFactory.create({"warehouse": str(table_path.parent.parent)})
    catalog.create_database(database, True)
    catalog.create_table(f"{database}.{table_path.name}", schema, False)
    table = catalog.get_table(f"{database}.{table_path.name}")
    random_ = random.Random(SEED)
    each = -(-entries // commits)
    for files in [min(each, entries - done) for done in range(0, entries, each)]:
        commit = table.new_batch_write_builder().new_commit()
        commit.commit(_messages(table, types, files, partitions, random_))
        commit.close()


def _messages(
    table: Any, types: list[pa.DataType], files: int, partitions: int, random_: random.Random
) -> list[Any]:
    from pypaimon.write.commit_message import CommitMessage

    by_day: dict[int, list[Any]] = {}
    for _ in range(files):
        day = random_.randrange(partitions)
        by_day.setdefault(day, []).append(_data_file(table.fields, types, _day(day), random_))
    return [CommitMessage(partition=(_day(day),), bucket=0, new_files=new) for day, new in by_day.items()]


def _day(number: int) -> str:
    return (date(2020, 1, 1) + timedelta(days=number)).isoformat()


def _data_file(fields: list[Any], types: list[pa.DataType], dt: str, random_: random.Random) -> Any:
    from pypaimon.manifest.schema.data_file_meta import DataFileMeta
    from pypaimon.manifest.schema.simple_stats import SimpleStats
    from pypaimon.table.row.generic_row import GenericRow

    base = [random_.getrandbits(40 if i == 1 else 32) for i in range(len(types))]
    high = [value + 1000 + (value & 0xFFFF) for value in base]
    rows = random_.randrange(10_000, 100_000)
    counts = [0 if i < 2 else (i * 7 + (base[1] & 31)) % 50 for i in range(len(types))]
    return DataFileMeta.create(
        file_name=f"data-{uuid.UUID(int=random_.getrandbits(128))}-0.parquet",
        file_size=rows * 90 + random_.randrange(5000),
        row_count=rows,
        min_key=GenericRow([], []),
        max_key=GenericRow([], []),
        key_stats=SimpleStats.empty_stats(),
        value_stats=SimpleStats(
            GenericRow([dt, *map(_bound, types[1:], base[1:])], fields),
            GenericRow([dt, *map(_bound, types[1:], high[1:])], fields),
            counts,
        ),
        min_sequence_number=0,
        max_sequence_number=rows - 1,
        schema_id=0,
        level=0,
        extra_files=[],
        file_source=0,
    )


def _bound(type_: pa.DataType, value: int) -> Any:
    """A bound of that type; two values that differ give two bounds that differ in the same direction."""
    if pa.types.is_int32(type_):
        return value % 1_000_000_000
    if pa.types.is_string(type_):
        return f"{value:012x}-cus"
    if pa.types.is_float64(type_):
        return value / 97.0
    if pa.types.is_timestamp(type_):
        return datetime(2020, 9, 13) + timedelta(microseconds=value * 1000 + value % 1000)
    if pa.types.is_decimal(type_):
        return Decimal(value).scaleb(-type_.scale)
    if pa.types.is_date(type_):
        return date(2019, 4, 14) + timedelta(days=value % 2000)
    if pa.types.is_boolean(type_):
        return bool(value & 1)
    return value
