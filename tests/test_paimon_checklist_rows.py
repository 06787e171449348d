"""What readers of Paimon must do, a test a rule: BinaryRows, and the folders of partitions."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from paimon_made import ADD, MadeTable, entry

import lakebed
from lakebed import paimon
from paimon_answers import arrow_type

Values = tuple[Any, ...]


def both_ways(types: list[Any], values: Values, stored: str) -> None:
    """Encoding gives the bytes, decoding gives the values; bytes are hex, with spaces and bars anywhere."""
    kinds = [arrow_type(kind) if isinstance(kind, str) else kind for kind in types]
    schema = pa.schema([(f"f{number}", kind) for number, kind in enumerate(kinds)])
    columns = [pa.array([value], kind) for value, kind in zip(values, kinds, strict=True)]
    row = (
        pa.StructArray.from_arrays(columns, fields=list(schema)) if columns else pa.array([{}], pa.struct([]))
    )
    wanted = bytes.fromhex(stored.replace("|", ""))
    (encoded,) = paimon.encode_rows(row, schema).to_pylist()
    assert encoded.hex() == wanted.hex()
    assert paimon.decode_rows(pa.array([wanted]), schema).equals(row)


def decoded(types: list[str], stored: str) -> list[Any]:
    schema = pa.schema([(f"f{number}", arrow_type(kind)) for number, kind in enumerate(types)])
    (row,) = paimon.decode_rows(pa.array([bytes.fromhex(stored.replace("|", ""))]), schema).to_pylist()
    return list(row.values())


ONE = "00000001 0000000000000000"


def test_a_row_without_fields_is_twelve_zero_bytes():
    both_ways([], (), "00000000 0000000000000000")


@pytest.mark.parametrize(
    ("kind", "value", "slot"),
    [
        ("INT", -1, "ffffffff00000000"),
        ("SMALLINT", -1, "ffff000000000000"),
        ("TINYINT", -1, "ff00000000000000"),
        ("BOOLEAN", True, "0100000000000000"),
        ("BOOLEAN", False, "0000000000000000"),
        ("DATE", dt.date(1969, 12, 31), "ffffffff00000000"),
        ("BIGINT", -1, "ffffffffffffffff"),
    ],
)
def test_narrow_values_have_zeros_above(kind: str, value: Any, slot: str):
    both_ways([kind], (value,), f"{ONE} {slot}")


@pytest.mark.parametrize(
    ("value", "stored"),
    [
        ("my_file", "6d795f66696c6587"),
        ("20240725", "0800000010000000 3230323430373235"),
        ("min_value", "0900000010000000 6d696e5f76616c75 6500000000000000"),
        ("", "0000000000000080"),
        (" ", "2000000000000081"),
        ("aéïñ", "61c3a9c3afc3b187"),
        ("éïñó", "0800000010000000 c3a9c3afc3b1c3b3"),
    ],
)
def test_strings_of_up_to_seven_bytes_stand_in_the_slot(value: str, stored: str):
    both_ways(["STRING"], (value,), f"{ONE} {stored}")
    both_ways(["BYTES"], (value.encode(),), f"{ONE} {stored}")


@pytest.mark.parametrize(("arity", "width"), [(56, 8), (57, 16), (64, 16), (120, 16), (121, 24)])
def test_null_bits_grow_with_the_arity(arity: int, width: int):
    values = tuple(range(arity))
    slots = "".join(value.to_bytes(8, "little").hex() for value in values)
    both_ways(["BIGINT"] * arity, values, f"{arity:08x} {'00' * width} {slots}")


@pytest.mark.parametrize("position", [0, 7, 8, 63])
def test_the_null_bit_of_a_column_stands_eight_further(position: int):
    bits = (1 << position + 8).to_bytes(16, "little").hex()
    values = tuple(None if number == position else 1 for number in range(64))
    slots = "".join((value or 0).to_bytes(8, "little").hex() for value in values)
    both_ways(["BIGINT"] * 64, values, f"00000040 {bits} {slots}")


MOST = 10**38 - 1


@pytest.mark.parametrize(
    ("kind", "value", "stored"),
    [
        ("DECIMAL(18, 2)", Decimal("9999999999999999.99"), "ffff63a7b3b6e00d"),
        ("DECIMAL(18, 2)", Decimal("-0.01"), "ffffffffffffffff"),
        ("DECIMAL(19, 2)", Decimal("0.00"), "0100000010000000 00" + "00" * 15),
        ("DECIMAL(19, 2)", Decimal("-1.28"), "0100000010000000 80" + "00" * 15),
        ("DECIMAL(19, 2)", Decimal("1.28"), "0200000010000000 0080" + "00" * 14),
        ("DECIMAL(38, 0)", Decimal(MOST), f"1000000010000000 {MOST.to_bytes(16, 'big').hex()}"),
        (
            "DECIMAL(38, 0)",
            Decimal(-MOST),
            f"1000000010000000 {(-MOST).to_bytes(16, 'big', signed=True).hex()}",
        ),
    ],
)
def test_decimals(kind: str, value: Decimal, stored: str):
    both_ways([kind], (value,), f"{ONE} {stored}")


@pytest.mark.parametrize(
    ("kind", "units", "stored"),
    [
        (pa.timestamp("ms"), -1, "ffffffffffffffff"),
        (pa.timestamp("us"), -1, "583e0f0010000000 ffffffffffffffff"),
        (pa.timestamp("us"), 1_704_164_645_678_901, "88bf0d0010000000 2edb20c88c010000"),
        (pa.timestamp("ns"), -1, "3f420f0010000000 ffffffffffffffff"),
        (pa.timestamp("us", "UTC"), -1_000_001, "583e0f0010000000 17fcffffffffffff"),
    ],
)
def test_timestamps_before_1970_take_the_millisecond_below(kind: pa.DataType, units: int, stored: str):
    value = pa.array([units], pa.int64()).cast(kind)
    schema = pa.schema([("f0", kind)])
    row = pa.StructArray.from_arrays([value], fields=list(schema))
    wanted = bytes.fromhex(ONE + stored)
    assert paimon.encode_rows(row, schema).to_pylist() == [wanted]
    assert paimon.decode_rows(pa.array([wanted]), schema).equals(row)


def test_null_decimals_and_timestamps_keep_their_place():
    types = ["DECIMAL(20, 2)", "TIMESTAMP(6)"]
    both_ways(types, (None, None), f"00000002 0003000000000000 0000000018000000 0000000028000000 {'00' * 24}")
    assert decoded(types, f"00000002 0003000000000000 {'00' * 16}") == [None, None]


def test_inside_an_array_they_do_not():
    # One slot: the array's bytes at 16; two elements, both null.
    array = "02000000 03000000" + "00" * 16
    both_ways([pa.list_(pa.decimal128(20, 2))], ([None, None],), f"{ONE} 1800000010000000 {array}")


EXAMPLES: dict[str, tuple[list[str], Values, str]] = {
    "partition of two": (
        ["INT", "INT"],
        (0, 1),
        "00000002 0000000000000000 0000000000000000 0100000000000000",
    ),
    "null partition": (["STRING"], (None,), "00000001 0001000000000000 0000000000000000"),
    "text and number": (
        ["STRING", "INT"],
        ("2025-04-14", 10),
        "00000002 0000000000000000 0a00000018000000 0a00000000000000 323032352d30342d 3134000000000000",
    ),
    "nine types": (
        [
            "DATE",
            "DECIMAL(10, 2)",
            "DECIMAL(20, 2)",
            "TIMESTAMP(3)",
            "TIMESTAMP(6)",
            "BOOLEAN",
            "TINYINT",
            "BIGINT",
            "STRING",
        ],
        (
            *(dt.date(1969, 12, 31), Decimal("-0.01"), Decimal("0.00")),
            *(dt.datetime(1969, 12, 31, 23, 59, 59, 999_000), dt.datetime(1969, 12, 31, 23, 59, 59, 999_999)),
            *(False, 127, 2**63 - 1, "longer than seven é"),
        ),
        "00000009 0000000000000000 ffffffff00000000 ffffffffffffffff 0100000050000000 ffffffffffffffff"
        "583e0f0060000000 0000000000000000 7f00000000000000 ffffffffffffff7f 1400000068000000"
        "0000000000000000 0000000000000000 ffffffffffffffff 6c6f6e6765722074"
        "68616e2073657665 6e20c3a900000000",
    ),
    "stats with nulls": (
        ["INT", "INT", "DATE", "TIMESTAMP(6)", "DECIMAL(23, 5)", "BYTES"],
        (20, 0, dt.date(1969, 9, 23), None, Decimal("0.00000"), None),
        "00000006 | 0028000000000000 | 1400000000000000 | 0000000000000000 | 9cffffff00000000"
        "0000000038000000 | 0100000040000000 | 0000000000000000 | 0000000000000000"
        "0000000000000000 | 0000000000000000",
    ),
    "stats of a key": (
        ["STRING", "INT", "INT", "DOUBLE"],
        ("Alice", 10, 1, 11.0),
        "00000004 0000000000000000 416c696365000085 0a00000000000000 0100000000000000 0000000000002640",
    ),
}


@pytest.mark.parametrize("name", EXAMPLES)
def test_worked_examples(name: str):
    both_ways(*EXAMPLES[name])


TEXTS = {
    None: "__DEFAULT_PARTITION__",
    "": "__DEFAULT_PARTITION__",
    " ": "__DEFAULT_PARTITION__",
    "a/b": "a%2Fb",
    "k=v": "k%3Dv",
    "é": "é",
    "50%": "50%25",
}


def folder(root: Path, kind: str, value: Any, **options: str) -> str:
    """The folder of a file in the partition of one value, with a column named by a sign to be escaped."""
    made = MadeTable(root, ("p:", kind), ("v", "INT"), partitionKeys=["p:"], options=options)
    schema = pa.schema([("p:", arrow_type(kind))])
    (partition,) = paimon.encode_rows(pa.array([{"p:": value}], pa.struct(list(schema))), schema).to_pylist()
    made.commit(entry(ADD, "f", partition))
    (path,) = lakebed.open_table(root).files().to_arrow()["file_path"].to_pylist()
    return str(path).removeprefix(f"{root}/p%3A=").removesuffix("/bucket-0/f")


@pytest.mark.parametrize("value", TEXTS)
def test_folders_of_texts(tmp_path: Path, value: str | None):
    assert folder(tmp_path / "t", "STRING", value) == TEXTS[value]


@pytest.mark.parametrize(
    ("legacy", "kind", "value", "name"),
    [
        ("true", "DATE", dt.date(2024, 2, 29), "19782"),
        ("false", "DATE", dt.date(2024, 2, 29), "2024-02-29"),
        ("true", "TIMESTAMP(3)", dt.datetime(2024, 1, 2, 3, 4), "2024-01-02T03%3A04"),
        ("false", "TIMESTAMP(3)", dt.datetime(2024, 1, 2, 3, 4), "2024-01-02 03%3A04%3A00.000"),
        ("true", "DECIMAL(10, 2)", Decimal("12.30"), "12.30"),
        ("true", "BOOLEAN", True, "true"),
        ("true", "DOUBLE", 1e10, "1.0E10"),
    ],
)
def test_folders_of_other_types(tmp_path: Path, legacy: str, kind: str, value: Any, name: str):
    assert folder(tmp_path / "t", kind, value, **{"partition.legacy-name": legacy}) == name


def test_the_name_of_null_is_an_option(tmp_path: Path):
    options = {"partition.default-name": "__HIVE_DEFAULT_PARTITION__"}
    assert folder(tmp_path / "t", "STRING", None, **options) == "__HIVE_DEFAULT_PARTITION__"
