"""Single values as Iceberg stores them in bounds, against case tables of Java's and PyIceberg's own tests."""

from __future__ import annotations

import re
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest

from iceberg_answers import arrow_type
from lakebed import iceberg
from lakebed.errors import LakebedError
from shared_data import Case, each_case


def stored_type(text: str) -> pa.DataType:
    """The Arrow type of a type; those of a fixed size are bytes of that size."""
    sizes = re.findall(r"fixed\[(\d+)\]", text) or (["16"] if text == "uuid" else [])
    return pa.binary(int(sizes[0])) if sizes else arrow_type(text)


def value(case: Case, kind: pa.DataType) -> pa.Array:
    """The value of a case: times are numbers of units, decimals texts, fixed hex."""
    written: Any = case["value"]
    if pa.types.is_decimal(kind):
        return pa.array([Decimal(written)], kind)
    if pa.types.is_binary(kind) or pa.types.is_fixed_size_binary(kind):
        return pa.array([bytes.fromhex(written.replace("-", ""))], kind)
    if pa.types.is_temporal(kind):
        number = pa.int32() if pa.types.is_date(kind) else pa.int64()
        return pa.array([written], number).cast(kind)
    return pa.array([float(written) if pa.types.is_floating(kind) else written], kind)


@each_case("iceberg_single_value_binary")
def test_binary_single_values(case: Case):
    kind = stored_type(case["type"])
    if case.error_kinds is not None:
        # Arrow itself has no value of that type.
        with pytest.raises((pa.ArrowInvalid, LakebedError)):
            iceberg.encode_values(value(case, kind))
        return
    stored = pa.array([bytes.fromhex(case["bytes"])])
    assert iceberg.decode_values(stored, kind).equals(value(case, kind))
    if case["direction"] == "both":
        assert iceberg.encode_values(value(case, kind)).to_pylist() == stored.to_pylist()
