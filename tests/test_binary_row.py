"""BinaryRow, both ways: cases from Paimon's own tests, malformed rows, and pypaimon's serializer."""

from __future__ import annotations

import datetime as dt
from decimal import Context, Decimal
from typing import Any

import pyarrow as pa
from case_values import ticks
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from lakebed import paimon
from lakebed.errors import LakebedError
from paimon_answers import arrow_type, canonical
from shared_data import Case, each_case

SQL_TYPES = [
    "BOOLEAN",
    "TINYINT",
    "SMALLINT",
    "INT",
    "BIGINT",
    "FLOAT",
    "DOUBLE",
    "STRING",
    "CHAR(9)",
    "VARCHAR(30)",
    "BYTES",
    "BINARY(9)",
    "VARBINARY(30)",
    "DATE",
    "TIME(3)",
    "TIMESTAMP(0)",
    "TIMESTAMP(3)",
    "TIMESTAMP(6)",
    "TIMESTAMP(9)",
    "TIMESTAMP_LTZ(3)",
    "TIMESTAMP_LTZ(6)",
    "DECIMAL(5,2)",
    "DECIMAL(18,0)",
    "DECIMAL(19,3)",
    "DECIMAL(38,10)",
]

# Encoding cannot give these back: the struct has no place for them.
UNSTORED = {"row_kind"}


def schema_of(types: list[str], row: list[Any] | None = None) -> pa.Schema:
    """The Arrow types of SQL types, with nanoseconds where a case's row has them."""
    kinds = [arrow_type(kind.removesuffix(" NOT NULL")) for kind in types]
    for position, value in enumerate(row or []):
        if isinstance(value, dict) and value["nanos_of_milli"] % 1000:
            kinds[position] = pa.timestamp("ns", kinds[position].tz)
    return pa.schema([(f"f{number}", kind) for number, kind in enumerate(kinds)])


def struct_of(rows: list[list[Any]], schema: pa.Schema) -> pa.StructArray:
    """Rows of Python values, timestamps as whole units, as a struct array."""
    columns = [_column([row[number] for row in rows], field.type) for number, field in enumerate(schema)]
    if not columns:
        return pa.array([{}] * len(rows), pa.struct([]))
    return pa.StructArray.from_arrays(columns, fields=list(schema))


def _column(values: list[Any], kind: pa.DataType) -> pa.Array:
    if values and any(isinstance(value, int) for value in values) and pa.types.is_temporal(kind):
        storage = pa.int32() if kind.bit_width == 32 else pa.int64()
        return pa.array(values, storage).cast(kind)
    return pa.array(values, kind)


def _value(value: Any, kind: pa.DataType) -> Any:
    """A value of a case: decimals as text, bytes as hex, timestamps in milliseconds and nanoseconds, or all
    times as text, and floats that JSON has not.
    """
    if isinstance(value, dict):
        nanos = value["millis"] * 1_000_000 + value["nanos_of_milli"]
        whole, rest = divmod(nanos, {"ms": 1_000_000, "us": 1_000, "ns": 1}[kind.unit])
        assert rest == 0
        return whole
    if isinstance(value, str) and pa.types.is_decimal(kind):
        return Decimal(value)
    if isinstance(value, str) and pa.types.is_binary(kind):
        return bytes.fromhex(value)
    if isinstance(value, str) and pa.types.is_temporal(kind):
        return ticks(value, kind)
    if isinstance(value, str) and pa.types.is_floating(kind):
        return float(value)
    return value


def test_values_of_cases_may_be_text():
    given = {
        "DATE": ("1970-01-02", 1),
        "TIME(3)": ("00:00:01.002", 1002),
        "TIMESTAMP(6)": ("1970-01-01T00:00:00.000002", 2),
        "TIMESTAMP_LTZ(3)": ("1970-01-01T01:00:00.001+01:00", 1),
        "DOUBLE": ("-Infinity", float("-inf")),
    }
    for sql, (text, value) in given.items():
        (kind,) = schema_of([sql]).types
        assert _value(text, kind) == value, sql


def _struct_of_case(row: list[Any], schema: pa.Schema) -> pa.StructArray:
    return struct_of([[_value(value, field.type) for value, field in zip(row, schema, strict=True)]], schema)


@each_case("paimon_binary_row")
def test_cases_both_ways(case: Case):
    assert case["expect"] == "bytes"
    schema = schema_of(case["fields"], case["row"])
    struct = _struct_of_case(case["row"], schema)
    stored = bytes.fromhex(case["bytes"])
    (row,) = canonical(paimon.decode_rows(pa.array([stored]), schema))
    assert [row] == canonical(struct)
    if not UNSTORED & case.body.keys():
        (encoded,) = paimon.encode_rows(struct, schema).to_pylist()
        assert encoded.hex() == case["bytes"]


@each_case("paimon_binary_row_hostile")
def test_malformed_rows(case: Case):
    expect = case["expect"]
    schema = schema_of(case["fields"])
    decoded, error = _decoded([bytes.fromhex(case["bytes"])], schema)
    if decoded is None:
        assert case.error_kinds is not None, f"refused: {error!r}"
        assert error.kind in case.error_kinds, error
        assert error.record == 0
    else:
        assert "row" in expect or "row_or_error" in expect, f"read as {decoded.to_pylist()}, not refused"
        wanted = expect.get("row", expect.get("row_or_error"))
        assert canonical(decoded) == canonical(_struct_of_case(wanted, schema))


@each_case("paimon_binary_row_hostile")
def test_a_malformed_row_among_others_is_named(case: Case):
    schema = schema_of(case["fields"])
    bad = bytes.fromhex(case["bytes"])
    nulls = paimon.encode_rows(struct_of([[None] * len(schema)], schema), schema)[0].as_py()
    decoded, error = _decoded([nulls, None, bad], schema)
    if decoded is None:
        assert case.error_kinds is not None
        assert error.record == 2
    else:
        assert decoded.is_valid().to_pylist() == [True, False, True]


def _decoded(rows: list[bytes | None], schema: pa.Schema) -> tuple[Any, Any]:
    """The struct array, or the typed error; of the two, the other is None."""
    try:
        return paimon.decode_rows(pa.array(rows, pa.binary()), schema), None
    except LakebedError as error:
        return None, error


# --- pypaimon -----------------------------------------------------------------------------------------------

_WIDE = Context(prec=100)


def _values(sql: str) -> st.SearchStrategy[Any]:
    """Values of a type in the form that both pyarrow and pypaimon take."""
    kind = arrow_type(sql)
    if pa.types.is_boolean(kind):
        return st.booleans()
    if pa.types.is_integer(kind):
        bound = 1 << kind.bit_width - 1
        return st.integers(-bound, bound - 1)
    if pa.types.is_floating(kind):
        return st.floats(width=kind.bit_width, allow_nan=False)
    if pa.types.is_string(kind):
        return st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
    if pa.types.is_binary(kind):
        return st.binary(max_size=20)
    if pa.types.is_decimal(kind):
        bound = 10**kind.precision - 1
        return st.integers(-bound, bound).map(lambda unscaled: Decimal(unscaled).scaleb(-kind.scale, _WIDE))
    if pa.types.is_date(kind):
        return st.dates()
    if pa.types.is_time(kind):
        return st.times().map(lambda time: time.replace(microsecond=time.microsecond // 1000 * 1000, fold=0))
    step = 1000 if kind.unit == "ms" else 1
    # Years that nanoseconds reach.
    moments = st.datetimes(dt.datetime(1700, 1, 1), dt.datetime(2250, 1, 1))
    zone = dt.timezone.utc if kind.tz else None
    return moments.map(
        lambda moment: moment.replace(microsecond=moment.microsecond // step * step, tzinfo=zone, fold=0)
    )


@st.composite
def _tables(draw: st.DrawFn) -> tuple[list[str], list[list[Any]]]:
    types = draw(st.lists(st.sampled_from(SQL_TYPES), min_size=1, max_size=70))
    rows = st.tuples(*(st.none() | _values(kind) for kind in types)).map(list)
    return types, draw(st.lists(rows, min_size=1, max_size=4))


def _fixed_part_only(sql: str) -> bool:
    """Whether a null of the type takes no room after the slots.

    Java reserves 16 bytes for a null decimal and 8 for a null timestamp that do not fit their slots;
    pypaimon does not, and Java reads both.
    """
    kind = arrow_type(sql)
    wide = pa.types.is_decimal(kind) and kind.precision > 18
    return not (wide or (pa.types.is_timestamp(kind) and kind.unit != "ms"))


@given(table=_tables())
@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
def test_pypaimon_writes_the_same_bytes(table: tuple[list[str], list[list[Any]]]):
    types, rows = table
    schema = schema_of(types)
    struct = struct_of(rows, schema)
    ours = paimon.encode_rows(struct, schema).to_pylist()
    theirs = [_pypaimon_bytes(row, types) for row in rows]
    for row, our, their in zip(rows, ours, theirs, strict=True):
        if all(value is not None or _fixed_part_only(kind) for value, kind in zip(row, types, strict=True)):
            assert our.hex() == their.hex()
    assert canonical(paimon.decode_rows(pa.array(theirs), schema)) == canonical(struct)
    assert canonical(paimon.decode_rows(pa.array(ours), schema)) == canonical(struct)
    assert [_pypaimon_values(our, types) for our in ours] == rows


def _pypaimon_bytes(row: list[Any], types: list[str]) -> bytes:
    from pypaimon.table.row.generic_row import GenericRow, GenericRowSerializer

    written: bytes = GenericRowSerializer.to_bytes(GenericRow(row, _pypaimon_fields(types)))
    return written


def _pypaimon_values(stored: bytes, types: list[str]) -> list[Any]:
    from pypaimon.table.row.generic_row import GenericRowDeserializer

    values: list[Any] = GenericRowDeserializer.from_bytes(stored, _pypaimon_fields(types)).values
    return values


def _pypaimon_fields(types: list[str]) -> list[Any]:
    from pypaimon.schema.data_types import AtomicType, DataField

    return [DataField(number, f"f{number}", AtomicType(kind)) for number, kind in enumerate(types)]
