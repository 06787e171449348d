"""What readers of Iceberg must do, a test a rule: values, bounds and partitions."""

from __future__ import annotations

import datetime as dt
import math
import struct
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from iceberg_made import MadeTable, avro_type, decimal, entry, entry_schema, field, fixed, optional
from iceberg_shared import shared_table

from lakebed import iceberg

# Tables of catalogs have no version hint, of which is warned.
pytestmark = pytest.mark.filterwarnings("ignore::lakebed.errors.LakebedWarning")

UTC = dt.timezone.utc


def partitions(
    folder: Path, kind: str, written: list[Any], avro: Any = None, transform: str = "identity"
) -> pa.Array:
    """The partition values of a table of one partition field, of values in the form that Avro stores."""
    spec = [{"name": "p", "transform": transform, "source-id": 1, "field-id": 1000}]
    table = MadeTable(folder / "t", (1, "c", kind), spec=spec, version=3)
    schema = entry_schema(3, [field(1000, "p", optional(avro or avro_type(kind)))])
    entries = [entry(path=str(number), partition={"p": value}) for number, value in enumerate(written)]
    table.commit(table.manifest(*entries, schema=schema))
    return table.open().entries().to_arrow()["partition"].combine_chunks().field("p")


def real_partitions(name: str, column: str | None = None) -> list[Any]:
    """The partition values of a real table's live files, of its only column or of one."""
    read = shared_table(name).open().files().to_arrow()["partition"].combine_chunks()
    values: list[Any] = read.field(column or read.type.field(0).name).to_pylist()
    return values


def test_void_is_null():
    opened = shared_table("made_pyiceberg012_v1").open()
    specs = opened.files(columns=["partition", "spec_id"]).to_arrow().to_pylist()
    assert {row["spec_id"] for row in specs} >= {0}
    assert len(opened.files().to_arrow()) == len(opened.metadata_table("files").to_arrow())


@pytest.mark.parametrize("kind", ["int", "string"])
def test_void_fields_of_any_type(tmp_path: Path, kind: str):
    read = partitions(tmp_path, "string", [None, None], avro=avro_type(kind), transform="void")
    assert read.to_pylist() == [None, None]


def test_a_spec_of_void_fields_alone_has_one_partition(tmp_path: Path):
    spec = [{"name": "p", "transform": "void", "source-id": 1, "field-id": 1000}]
    table = MadeTable(tmp_path / "t", (1, "c", "string"), spec=spec)
    schema = entry_schema(2, [field(1000, "p", optional("string"))])
    table.commit(table.manifest(*(entry(path=p, partition={"p": None}) for p in "ab"), schema=schema))
    (row,) = table.open().partitions().to_arrow().to_pylist()
    assert (row["file_count"], row["record_count"]) == (2, 2)


@pytest.mark.parametrize("precision", range(1, 39))
def test_decimals_of_every_precision(tmp_path: Path, precision: int):
    kind = decimal(precision, 1)
    most = 10**precision - 1
    numbers = [0, 1, -1, most, -most]
    written = [number.to_bytes(kind["size"], "big", signed=True) for number in numbers]
    read = partitions(tmp_path, f"decimal({precision}, 1)", written, kind)
    assert read.type == pa.decimal128(precision, 1)
    assert [int(str(value).replace(".", "")) for value in read.to_pylist()] == numbers


@pytest.mark.parametrize("size", [1, 4, 12, 16])
def test_decimals_of_other_sizes(tmp_path: Path, size: int):
    kind = {**decimal(2, 2), "size": size, "name": "d"}
    read = partitions(tmp_path, "decimal(9, 2)", [(-5).to_bytes(size, "big", signed=True)], kind)
    assert read.to_pylist() == [Decimal("-0.05")]


def test_decimals_as_bytes(tmp_path: Path):
    kind = {"type": "bytes", "logicalType": "decimal", "precision": 9, "scale": 2}
    found = partitions(tmp_path, "decimal(9, 2)", [b"\xff\x7f", b"\0"], kind).to_pylist()
    assert found == [Decimal("-1.29"), Decimal("0.00")]


def test_real_decimals():
    values = real_partitions("java_identity_decimal16")
    assert Decimal("1E-11") in values
    assert min(values) < 0


FLOATS = [1.5, -0.0, 0.0, math.nan, math.inf, -math.inf, None, 5e-324]


@pytest.mark.parametrize("kind", ["float", "double"])
def test_floats_bit_by_bit(tmp_path: Path, kind: str):
    written = [0.0 if kind == "float" and value == 5e-324 else value for value in FLOATS]
    read = partitions(tmp_path, kind, written).to_pylist()
    bits = [None if value is None else struct.pack(">d", value) for value in read]
    assert bits == [None if value is None else struct.pack(">d", value) for value in written]


def test_real_floats():
    values = real_partitions("java_identity_float")
    assert values
    assert all(isinstance(value, float) for value in values)


BYTES_16 = bytes(range(16))
MORE_TYPES: list[tuple[str, Any, list[Any], list[Any]]] = [
    ("binary", None, [b"", b"\0\xff"], [b"", b"\0\xff"]),
    ("fixed[3]", fixed(3), [b"abc"], [b"abc"]),
    ("fixed[3]", "bytes", [b"abc"], [b"abc"]),
    ("uuid", None, [BYTES_16], ["00010203-0405-0607-0809-0a0b0c0d0e0f"]),
    ("uuid", "string", ["00010203-0405-0607-0809-0A0B0C0D0E0F"], ["00010203-0405-0607-0809-0a0b0c0d0e0f"]),
    ("time", None, [0, 86_399_999_999], [dt.time(0), dt.time(23, 59, 59, 999_999)]),
    ("timestamp", None, [-1], [dt.datetime(1969, 12, 31, 23, 59, 59, 999_999)]),
    ("timestamptz", None, [0], [dt.datetime(1970, 1, 1, tzinfo=UTC)]),
    (
        "timestamp",
        {"type": "long", "logicalType": "timestamp-millis"},
        [1001],
        [dt.datetime(1970, 1, 1, 0, 0, 1, 1000)],
    ),
    ("boolean", None, [True, False], [True, False]),
    ("long", "int", [-7], [-7]),
    ("double", "float", [0.5], [0.5]),
    ("string", {"type": "enum", "name": "e", "symbols": ["x", "y"]}, ["y"], ["y"]),
]


@pytest.mark.parametrize("case", MORE_TYPES, ids=lambda case: f"{case[0]} as {case[1] or 'itself'}")
def test_types_and_what_they_may_be_stored_as(tmp_path: Path, case: tuple[str, Any, list[Any], list[Any]]):
    kind, avro, written, expected = case
    assert partitions(tmp_path, kind, [*written, None], avro).to_pylist() == [*expected, None]


def test_nanoseconds(tmp_path: Path):
    kind = {"type": "long", "logicalType": "timestamp-nanos", "adjust-to-utc": True}
    read = partitions(tmp_path, "timestamptz_ns", [-1, 1_500_000_000_000_000_001], kind)
    assert read.type == pa.timestamp("ns", "UTC")
    assert read.cast(pa.int64()).to_pylist() == [-1, 1_500_000_000_000_000_001]


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("java_identity_binary", bytes),
        ("pyiceberg_identity_fixed", bytes),
        ("pyiceberg_identity_timestamptz", dt.datetime),
    ],
)
def test_real_tables(name: str, kind: type):
    values = real_partitions(name)
    assert values
    assert all(value is None or isinstance(value, kind) for value in values)


@pytest.mark.parametrize("avro", ["int", {"type": "int", "logicalType": "date"}], ids=["int", "date"])
def test_days_are_dates(tmp_path: Path, avro: Any):
    read = partitions(tmp_path, "timestamp", [0, -1, 17486], avro, transform="day")
    assert read.to_pylist() == [dt.date(1970, 1, 1), dt.date(1969, 12, 31), dt.date(2017, 11, 16)]


@pytest.mark.parametrize("transform", ["year", "month", "hour", "bucket[16]"])
def test_other_transforms_are_numbers(tmp_path: Path, transform: str):
    read = partitions(tmp_path, "timestamp", [-1, 3], "int", transform=transform)
    assert (read.type, read.to_pylist()) == (pa.int32(), [-1, 3])


NAMES = ["a.b", "9x", "ice/berg =%", "é", "😎", "a_x2Eb"]


@pytest.mark.parametrize("written", ["p", "_x2E", "r102"])
@pytest.mark.parametrize("name", NAMES)
def test_partition_fields_go_by_id_whatever_their_name(tmp_path: Path, name: str, written: str):
    spec = [{"name": name, "transform": "identity", "source-id": 1, "field-id": 1000}]
    table = MadeTable(tmp_path / "t", (1, name, "long"), spec=spec)
    schema = entry_schema(2, [field(1000, written, optional("long"))])
    table.commit(table.manifest(entry(partition={written: 7}), schema=schema))
    (row,) = table.open().files(columns=["partition"]).to_arrow().to_pylist()
    assert row == {"partition": {name: 7}}


@pytest.mark.parametrize("version", [1, 2])
def test_real_names(version: int):
    opened = shared_table(f"made_pyiceberg012_v{version}").open()
    files = opened.files(columns=["partition", "spec_id"]).to_arrow().to_pylist()
    rows = [row["partition"] for row in files if row["spec_id"] == 0]
    assert {"a.b", "9x"} <= set(rows[0])
    assert all(any(row[name] is not None for row in rows) for name in ("a.b", "9x"))


PROMOTED: list[tuple[str, bytes, Any]] = [
    ("long", (-5).to_bytes(4, "little", signed=True), -5),
    ("long", (2**40).to_bytes(8, "little"), 2**40),
    ("double", struct.pack("<f", 1.5), 1.5),
    ("decimal(20, 2)", b"\xff\x7f", Decimal("-1.29")),
    ("decimal(9, 2)", b"\0\0\0\0\0\x80", Decimal("1.28")),
    ("timestamp", (3).to_bytes(4, "little"), dt.datetime(1970, 1, 4)),
    ("timestamp", (-1).to_bytes(4, "little", signed=True), dt.datetime(1969, 12, 31)),
    ("int", (7).to_bytes(8, "little"), 7),
    ("int", (2**40).to_bytes(8, "little"), None),
    ("string", b"", ""),
    ("binary", b"", b""),
    # Of another length than the type can have: unknown.
    ("int", b"\1\2", None),
    ("long", b"", None),
    ("date", b"\1", None),
    ("double", b"\0" * 7, None),
    ("uuid", b"\0" * 15, None),
    ("boolean", b"", None),
    ("string", b"\xff\xfe", None),
]


@pytest.mark.parametrize(("kind", "stored", "expected"), PROMOTED)
def test_bounds_of_the_types_that_files_were_written_with(
    tmp_path: Path, kind: str, stored: bytes, expected: Any
):
    table = MadeTable(tmp_path / "t", (1, "c", kind), version=3)
    bounds: dict[str, Any] = {"lower_bounds": {1: stored}, "upper_bounds": {1: stored}}
    table.commit(table.manifest(entry(**bounds, value_counts={1: 5}, null_value_counts={1: 2})))
    (row,) = table.open().files(stats=["c"]).to_arrow()["stats"].to_pylist()
    assert (row["c"]["lower_bound"], row["c"]["upper_bound"]) == (expected, expected)
    assert (row["c"]["value_count"], row["c"]["null_count"]) == (5, 2)
    (raw,) = table.open().entries(columns=["lower_bounds"]).to_arrow()["lower_bounds"].to_pylist()
    assert raw == [(1, stored)]


def test_dates_that_became_nanoseconds(tmp_path: Path):
    table = MadeTable(tmp_path / "t", (1, "c", "timestamp_ns"), version=3)
    table.commit(table.manifest(entry(lower_bounds={1: (3).to_bytes(4, "little")})))
    stats = table.open().files(stats=["c"]).to_arrow()["stats"].combine_chunks()
    lower = stats.field("c").field("lower_bound")
    assert lower.cast(pa.int64()).to_pylist() == [3 * 86_400 * 10**9]


def timestamp(text: str, kind: pa.DataType) -> pa.Array:
    return pa.array([text]).cast(kind)


VALUES: list[tuple[pa.Array, str]] = [
    (pa.array([True]), "01"),
    (pa.array([False]), "00"),
    (pa.array([34], pa.int32()), "22000000"),
    (pa.array([-1], pa.int32()), "ffffffff"),
    (pa.array([dt.date(2017, 11, 16)]), "4e440000"),
    (pa.array([34], pa.int64()), "2200000000000000"),
    (pa.array([dt.time(22, 31, 8, 123456)]), "406509e012000000"),
    (timestamp("2017-11-16T22:31:08.123456", pa.timestamp("us")), "40a5282d215e0500"),
    (timestamp("2017-11-16T22:31:08.123456789", pa.timestamp("ns")), "1585c56698b1f714"),
    (pa.array([1.0], pa.float32()), "0000803f"),
    (pa.array([1.0], pa.float64()), "000000000000f03f"),
    (pa.array([-0.0], pa.float64()), "0000000000000080"),
    *(
        (pa.array([Decimal(text)], pa.decimal128(38, 2)), stored)
        for text, stored in {
            "0.00": "00",
            "1.27": "7f",
            "1.28": "0080",
            "-1.28": "80",
            "-1.29": "ff7f",
            "14.20": "058c",
            "-9969.53": "f0c9a7",
        }.items()
    ),
    (pa.array([Decimal(10**38 - 1)], pa.decimal128(38, 0)), "4b3b4ca85a86c47a098a223fffffffff"),
    (pa.array([Decimal(1 - 10**38)], pa.decimal128(38, 0)), "b4c4b357a5793b85f675ddc000000001"),
    (pa.array(["e"]), "65"),
    (pa.array([""]), ""),
    (pa.array([b"\0\1\2\3"]), "00010203"),
    (pa.array([b"\0\1\2\3"], pa.binary(4)), "00010203"),
]


@pytest.mark.parametrize("case", VALUES, ids=lambda case: f"{case[0].type} {case[1][:20]}")
def test_single_values_both_ways(case: tuple[pa.Array, str]):
    array, stored = case
    assert iceberg.encode_values(array).to_pylist() == [bytes.fromhex(stored)]
    read = iceberg.decode_values(pa.array([bytes.fromhex(stored), None]), array.type)
    assert read.type == array.type
    assert struct_of(read[0]) == struct_of(array[0])
    assert read[1].as_py() is None


def struct_of(value: pa.Scalar) -> Any:
    """A value of which -0.0 is not 0.0."""
    python = value.as_py() if not pa.types.is_timestamp(value.type) else value.value
    return struct.pack(">d", python) if isinstance(python, float) else python
