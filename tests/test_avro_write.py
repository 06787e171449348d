"""Arrow as Avro files: other readers read what is written, and so does lakebed."""

from __future__ import annotations

import datetime as dt
import io
import json
from decimal import Decimal
from pathlib import Path
from typing import Any

import fastavro
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lakebed import Limits, avro, errors
from shared_data import OWN_DATA

SYNC = bytes(range(16))
CODECS = ["null", "deflate", "snappy", "zstandard", "bzip2", "xz"]
UTC = dt.timezone.utc
TABLE = pa.table(
    {
        "id": pa.array([1, 2, 3], pa.int64()),
        "name": pa.array(["a", None, "é"]),
        "price": pa.array([Decimal("1.50"), Decimal("-0.01"), None], pa.decimal128(9, 2)),
        "at": pa.array([dt.datetime(2026, 1, 1, tzinfo=UTC), None, None], pa.timestamp("us", "UTC")),
        "tags": pa.array([["x", None], [], None], pa.list_(pa.string())),
        "sizes": pa.array([[(1, 10)], None, []], pa.map_(pa.int32(), pa.int64())),
        "point": pa.array([{"x": 1.5, "y": None}, None, {"x": None, "y": 2}]),
    }
)


def records(data: bytes) -> list[Any]:
    return list(fastavro.reader(io.BytesIO(data)))


@pytest.mark.parametrize("codec", CODECS)
def test_fastavro_reads_what_is_written(codec: str):
    data = avro.write(TABLE, codec=codec, verify=True, block_bytes=1)
    assert data is not None
    expected = [
        row | {"sizes": row["sizes"] and [{"key": key, "value": value} for key, value in row["sizes"]]}
        for row in TABLE.to_pylist()
    ]
    assert records(data) == expected
    assert avro.read(data).to_arrow().equals(TABLE)


def fixtures() -> list[Path]:
    return sorted(OWN_DATA.rglob("*.avro"))[::7]


@pytest.mark.parametrize("path", fixtures(), ids=lambda path: path.stem[-12:])
def test_files_of_the_engines_are_written_again(path: Path):
    try:
        table, schema = avro.read(path).to_arrow(), avro.read_schema(path)
    except errors.LakebedError:
        pytest.skip("not a file that is read")
    data = avro.write(table, schema=schema, sync=SYNC, verify=True)
    assert data is not None
    assert data == avro.write(table, schema=schema, sync=SYNC)
    assert avro.read(data).to_arrow().equals(table)
    assert avro.read_schema(data) == schema
    assert records(data) == records(path.read_bytes())


VALUES: dict[str, tuple[pa.DataType, st.SearchStrategy[Any]]] = {
    "flag": (pa.bool_(), st.booleans()),
    "int": (pa.int32(), st.integers(-(2**31), 2**31 - 1)),
    "long": (pa.int64(), st.integers(-(2**63), 2**63 - 1)),
    "double": (pa.float64(), st.floats(allow_nan=False)),
    "text": (pa.string(), st.text(st.characters(exclude_categories=["Cs"]))),
    "bytes": (pa.binary(), st.binary()),
    "decimal": (pa.decimal128(20, 3), st.decimals(-(10**16), 10**16, places=3)),
    "texts": (pa.list_(pa.string()), st.lists(st.none() | st.text(st.characters(exclude_categories=["Cs"])))),
}


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_random_tables_come_back(data: st.DataObject):
    count = data.draw(st.integers(0, 8))
    columns = {
        name: pa.array(data.draw(st.lists(st.none() | values, min_size=count, max_size=count)), kind)
        for name, (kind, values) in VALUES.items()
    }
    table = pa.table(columns)
    codec = data.draw(st.sampled_from(CODECS))
    written = avro.write(table, codec=codec, block_bytes=data.draw(st.integers(1, 200)))
    assert written is not None
    assert avro.read(written).to_arrow().equals(table)
    assert records(written) == table.to_pylist()


def test_paths_files_and_readers(tmp_path: Path):
    path = tmp_path / "a.avro"
    assert avro.write(TABLE.to_reader(), path, metadata={"k": "v", "b": b"\xff"}) is None
    assert avro.read_metadata(path)["b"] == b"\xff"
    with pytest.raises(FileExistsError):
        avro.write(TABLE, path)
    avro.write(TABLE.slice(1), path, overwrite=True)
    assert avro.read(path).to_arrow().num_rows == 2
    sink = io.BytesIO()
    assert avro.write(avro.read(path), sink, sync=SYNC) is None
    assert sink.getvalue() == avro.write(TABLE.slice(1), sync=SYNC)
    assert [file.name for file in tmp_path.iterdir()] == ["a.avro"]


def test_views_and_dictionaries_are_written_as_what_they_stand_for():
    table = pa.table(
        {"a": pa.array(["x", None]).dictionary_encode(), "b": pa.array(["y", "z"], pa.string_view())}
    )
    data = avro.write(table)
    assert data is not None
    assert records(data) == table.to_pylist()


@pytest.mark.parametrize(
    ("field", "column", "record", "kind"),
    [
        ("long", pa.array([1, None]), 1, "required"),
        ("int", pa.array([1], pa.int64()), None, "type"),
        ({"type": "enum", "name": "e", "symbols": ["x"]}, pa.array(["x", "y"]), 1, "enum"),
        ({"type": "fixed", "name": "f", "size": 2}, pa.array([b"ab", b"a"]), 1, "length"),
        (
            {"type": "bytes", "logicalType": "decimal", "precision": 4, "scale": 1},
            pa.array([Decimal("1.25")], pa.decimal128(4, 2)),
            None,
            "type",
        ),
    ],
)
def test_what_does_not_fit_leaves_no_file(
    tmp_path: Path, field: Any, column: pa.Array, record: int | None, kind: str
):
    schema = {"type": "record", "name": "r", "fields": [{"name": "a", "type": field}]}
    with pytest.raises(errors.SchemaError) as caught:
        avro.write(pa.table({"a": column}), tmp_path / "f", schema=schema)
    assert (caught.value.field, caught.value.record, caught.value.kind) == ("a", record, kind)
    for columns in ({"b": column}, {"a": column, "b": column}, {}):
        with pytest.raises(errors.SchemaError):
            avro.write(pa.table(columns), tmp_path / "f", schema=json.dumps(schema))
    assert list(tmp_path.iterdir()) == []


def test_bad_arguments():
    refused: list[tuple[dict[str, Any], type[Exception]]] = [
        ({"codec": "lz4"}, errors.UnsupportedError),
        ({"codec": "deflate", "level": 99}, errors.LakebedError),
        ({"sync": b"short"}, ValueError),
        ({"block_bytes": 0}, ValueError),
        ({"schema": "{}"}, errors.SchemaError),
        ({"metadata": {"avro.codec": b"null"}}, errors.LakebedError),
        ({"limits": Limits(max_rows=1)}, errors.LimitError),
    ]
    for words, error in refused:
        with pytest.raises(error):
            avro.write(TABLE, **words)
    with pytest.raises(TypeError, match="Arrow"):
        avro.write([{"a": 1}])


class Full(io.BytesIO):
    def write(self, data: Any) -> int:
        raise TimeoutError("the sink is full")


def test_what_a_sink_raises_comes_back():
    with pytest.raises(TimeoutError, match="full"):
        avro.write(TABLE, Full())
