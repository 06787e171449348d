"""Random entries, with partition tuples of every type and metrics of any column, written and read again."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pyarrow as pa
from hypothesis import given, settings
from hypothesis import strategies as st

from lakebed import iceberg

LONG = st.integers(-(2**63), 2**63 - 1)
INT = st.integers(-(2**31), 2**31 - 1)
DATES = st.integers(-700_000, 2_900_000)
UTC = "UTC"
# Iceberg type → Arrow type, values.
TYPES: dict[str, tuple[pa.DataType, st.SearchStrategy[Any]]] = {
    "boolean": (pa.bool_(), st.booleans()),
    "int": (pa.int32(), INT),
    "long": (pa.int64(), LONG),
    "float": (pa.float32(), st.floats(width=32)),
    "double": (pa.float64(), st.floats()),
    "decimal(5, 5)": (pa.decimal128(5, 5), st.decimals("-0.99999", "0.99999", places=5)),
    "decimal(38, 10)": (
        pa.decimal128(38, 10),
        st.integers(-(10**38) + 1, 10**38 - 1).map(lambda unscaled: Decimal(f"{unscaled}E-10")),
    ),
    "date": (pa.date32(), DATES),
    "time": (pa.time64("us"), st.integers(0, 86_399_999_999)),
    "timestamp": (pa.timestamp("us"), LONG),
    "timestamptz": (pa.timestamp("us", UTC), LONG),
    "timestamp_ns": (pa.timestamp("ns"), LONG),
    "timestamptz_ns": (pa.timestamp("ns", UTC), LONG),
    "string": (pa.string(), st.text(max_size=40)),
    "uuid": (pa.string(), st.uuids().map(str)),
    "fixed[3]": (pa.binary(), st.binary(min_size=3, max_size=3)),
    "binary": (pa.binary(), st.binary(max_size=40)),
}
# Arrow's C interface ends names with NUL.
LETTERS = st.characters(exclude_categories=["Cs"], exclude_characters="\0")
NAMES = st.text(LETTERS, min_size=1, max_size=8)
COUNTS = st.none() | st.lists(st.tuples(INT, LONG), max_size=4, unique_by=lambda pair: pair[0])
BOUNDS = st.none() | st.lists(
    st.tuples(INT, st.binary(max_size=9)), max_size=4, unique_by=lambda pair: pair[0]
)


@st.composite
def manifests(draw: st.DrawFn) -> tuple[pa.Table, dict[str, Any], list[dict[str, Any]], int]:
    """Entries, schema, spec and version."""
    kinds = draw(st.lists(st.sampled_from(sorted(TYPES)), max_size=6))
    names = draw(st.lists(NAMES, min_size=len(kinds), max_size=len(kinds), unique_by=spelled))
    count = draw(st.integers(0, 5))
    columns = [(n, i + 1, kind) for i, (n, kind) in enumerate(zip(names, kinds, strict=True))]
    schema = {
        "type": "struct",
        "schema-id": 0,
        "fields": [{"id": i, "name": n, "required": False, "type": kind} for n, i, kind in columns],
    }
    spec = [{"name": n, "transform": "identity", "source-id": i, "field-id": 999 + i} for n, i, _ in columns]
    tuples = [
        pa.array(draw(st.lists(st.none() | TYPES[kind][1], min_size=count, max_size=count)), TYPES[kind][0])
        for kind in kinds
    ]
    fields = [pa.field(n, TYPES[kind][0]) for n, _, kind in columns]
    partition = (
        pa.StructArray.from_arrays(tuples, fields=fields) if kinds else pa.array([{}] * count, pa.struct([]))
    )

    def rows(values: st.SearchStrategy[Any], kind: pa.DataType) -> pa.Array:
        return pa.array(draw(st.lists(values, min_size=count, max_size=count)), kind)

    counts = st.integers(0, 2**63 - 1)
    table = {
        "status": rows(st.integers(0, 2), pa.int32()),
        "snapshot_id": rows(st.none() | LONG, pa.int64()),
        "file_path": rows(st.text(), pa.string()),
        "file_format": rows(st.sampled_from(["PARQUET", "ORC"]), pa.string()),
        "partition": partition,
        "record_count": rows(counts, pa.int64()),
        "file_size_in_bytes": rows(counts, pa.int64()),
        "column_sizes": rows(COUNTS, pa.map_(pa.int32(), pa.int64())),
        "upper_bounds": rows(BOUNDS, pa.map_(pa.int32(), pa.binary())),
        "split_offsets": rows(st.none() | st.lists(LONG, max_size=3), pa.list_(pa.int64())),
        "key_metadata": rows(st.none() | st.binary(max_size=5), pa.binary()),
    }
    return pa.table(table), schema, spec, draw(st.sampled_from([1, 2, 3]))


def spelled(name: str) -> str:
    """What of a name Avro keeps, so that no two fields are written as one."""
    return name.encode("ascii", "replace").decode().lower()


@settings(max_examples=150, deadline=None)
@given(manifests(), st.sampled_from(["null", "deflate", "snappy", "zstandard"]), st.integers(1, 2000))
def test_what_is_written_is_read(
    manifest: tuple[pa.Table, dict[str, Any], list[dict[str, Any]], int], codec: str, block_bytes: int
):
    rows, schema, spec, version = manifest
    data = iceberg.write_manifest(
        rows,
        schema=schema,
        spec=spec,
        format_version=version,
        codec=codec,
        block_bytes=block_bytes,
        verify=True,
    )
    assert data is not None
    read = iceberg.read_manifest(data, columns=rows.schema.names).to_arrow()
    assert read.num_rows == rows.num_rows
    for name in rows.schema.names:
        found, wanted = (bits(table[name].combine_chunks()) for table in (read, rows))
        assert found == wanted, name


def bits(values: pa.Array) -> list[Any]:
    """Values of any type as what tells them apart: NaN is itself, -0.0 no other zero."""
    if pa.types.is_struct(values.type):
        return [[bits(child) for child in values.flatten()]]
    if pa.types.is_timestamp(values.type) or pa.types.is_time(values.type):
        values = values.cast(pa.int64())
    rows = values.to_pylist()
    return [sorted(row) if pa.types.is_map(values.type) and row else repr(row) for row in rows]
