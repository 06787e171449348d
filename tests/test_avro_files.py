"""Avro files of other projects: the rows or the refusal that are written down for each, value for value."""

from __future__ import annotations

import gzip
import json
import uuid
from datetime import datetime
from pathlib import Path
from typing import Any

import fastavro
import pyarrow as pa
import pytest
from raising import raises
from varints import zigzag

from lakebed import avro
from lakebed.errors import CorruptError, LakebedError, UnsupportedError
from shared_data import SHARED_DATA

ROOT = SHARED_DATA / "avro"


def _files() -> list[dict[str, Any]]:
    index = ROOT / "index.json"
    if not index.is_file():
        return []
    parsed = json.loads(index.read_text("utf-8"))
    assert parsed["format"] == "lakebed-avro-files/1", f"{index}: unknown form {parsed['format']!r}"
    return [file for file in parsed["files"] if (ROOT / file["file"]).is_file()]


FILES = _files()
CONTAINERS = [file for file in FILES if file["kind"] == "object-container"]
OTHERS = [file for file in FILES if file["kind"] != "object-container"]
SCHEMAS = [file for file in OTHERS if "schema_tests" in file["file"] or file["file"].endswith(".avsc")]

needs_files = pytest.mark.skipif(not FILES, reason=f"no Avro files: {ROOT} is absent (LAKEBED_SHARED)")


def each(files: list[dict[str, Any]]) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("file", files, ids=[file["file"] for file in files])


@needs_files
@each(CONTAINERS)
def test_rows_are_those_that_three_readers_found(file: dict[str, Any]):
    path = ROOT / file["file"]
    if (refusal := _documented_refusal(file, path)) is not None:
        error, kind = refusal
        with raises(error, kind=kind):
            avro.read(path).to_arrow()
        return
    table = avro.read(path).to_arrow()
    table.validate(full=True)
    readers = (file["rows_fastavro"], file["rows_avro_java"], file["rows_strict"])
    assert {table.num_rows} == {count for count in readers if isinstance(count, int)}
    if (first := file.get("first_row")) is not None and table.num_rows:
        assert _json(_rows(path, table)[0], first) == first


@needs_files
@each(CONTAINERS)
def test_every_value_is_that_of_fastavro(file: dict[str, Any]):
    path = ROOT / file["file"]
    if not isinstance(file["rows_fastavro"], int) or _documented_refusal(file, path) is not None:
        pytest.skip("fastavro does not read it, or lakebed refuses it")
    with path.open("rb") as stream:
        expected = list(fastavro.reader(stream))
    found = _rows(path, avro.read(path).to_arrow())
    assert len(found) == len(expected)
    for number, (row, wanted) in enumerate(zip(found, expected, strict=True)):
        assert _same(row, wanted), f"row {number}: {row!r}, fastavro has {wanted!r}"


@needs_files
@each(CONTAINERS)
def test_the_schema_is_the_headers(file: dict[str, Any]):
    """Of whatever form, and also where the records have no Arrow form."""
    path = ROOT / file["file"]
    schema = avro.read_schema(path)
    assert schema == json.loads(avro.read_metadata(path)["avro.schema"])
    assert isinstance(schema, (dict, list, str))
    if _documented_refusal(file, path) is None:
        # A file's own schema as the reader's changes nothing.
        assert avro.read(path, schema=schema).to_arrow().equals(avro.read(path).to_arrow())


@needs_files
@each(OTHERS)
def test_what_is_no_container_is_refused(file: dict[str, Any]):
    with pytest.raises((CorruptError, UnsupportedError)) as refused:
        avro.read(ROOT / file["file"]).to_arrow()
    assert refused.value.kind in ("magic", "truncated")


@needs_files
@each(SCHEMAS)
def test_schemas_are_parsed_or_refused(file: dict[str, Any]):
    """As those of a file without blocks."""
    header = _header((ROOT / file["file"]).read_bytes())
    path = Path(file["file"])
    if path.parent.name == "fail":
        with raises(CorruptError, kind="schema"):
            avro.read(header).to_arrow()
    elif _contains_itself(avro.read_schema(header), ()):
        with pytest.raises(UnsupportedError, match="contains itself"):
            avro.read(header).to_arrow()
    else:
        assert avro.read(header).to_arrow().num_rows == 0


@needs_files
def test_a_general_union_is_a_dense_union_of_its_branches():
    path = ROOT / "arrow-rs/union_fields.avro"
    if not path.is_file():
        pytest.skip(f"{path} is absent")
    fields = {field["name"]: field["type"] for field in avro.read_schema(path)["fields"]}
    unions = {name: kind for name, kind in fields.items() if isinstance(kind, list)}
    schema = avro.read(path).schema
    general = {name: kind for name, kind in unions.items() if len(kind) != 2 or "null" not in kind}
    assert general
    for name, branches in general.items():
        kind = schema.field(name).type
        assert pa.types.is_union(kind)
        assert kind.mode == "dense"
        assert [kind.field(at).name for at in range(kind.num_fields)] == [
            f"member{at}" for at in range(len(branches))
        ]


@needs_files
def test_the_gzipped_file_is_read_once_it_is_unpacked():
    path = ROOT / "arrow-rs/bad-varint-bug.avro.gz"
    if not path.is_file():
        pytest.skip(f"{path} is absent")
    assert avro.read(gzip.decompress(path.read_bytes())).to_arrow().to_pylist() == [{"int_array": [1, 2]}]


def _documented_refusal(file: dict[str, Any], path: Path) -> tuple[type[LakebedError], str] | None:
    """The error that is right for this file; None where it has rows."""
    strict = file["rows_strict"]
    if isinstance(strict, int):
        return None
    kind = strict.removeprefix("refused: ")
    if kind != "schema":
        return CorruptError, kind
    # What the strict reader has no place for may have one here, but for what contains itself.
    return (UnsupportedError, "schema") if _contains_itself(avro.read_schema(path), ()) else None


def _contains_itself(schema: Any, around: tuple[str, ...]) -> bool:
    if isinstance(schema, str):
        return schema.rpartition(".")[2] in around
    if isinstance(schema, list):
        return any(_contains_itself(branch, around) for branch in schema)
    if "fields" in schema:
        around = (*around, schema["name"].rpartition(".")[2])
        return any(_contains_itself(field["type"], around) for field in schema["fields"])
    below = [schema[key] for key in ("type", "items", "values") if key in schema]
    return any(_contains_itself(kind, around) for kind in below)


def _rows(path: Path, table: pa.Table) -> list[Any]:
    """The records; a top that is no record is the value itself."""
    schema = avro.read_schema(path)
    branches = schema if isinstance(schema, list) else [schema]
    is_record = any(isinstance(kind, dict) and kind["type"] in ("record", "error") for kind in branches)
    rows: list[Any] = table.to_pylist() if is_record else table["value"].to_pylist()
    return rows


def _same(value: Any, wanted: Any) -> bool:
    """Whether a value of Arrow is fastavro's: the same type but where one of them has no such type."""
    if isinstance(wanted, dict):
        entries = value if isinstance(value, dict) else dict(value)
        return entries.keys() == wanted.keys() and all(_same(entries[key], wanted[key]) for key in wanted)
    if isinstance(wanted, list):
        if len(value) == len(wanted) and all(isinstance(item, tuple) and len(item) == 2 for item in value):
            # A map whose writer has no type for it, and writes its entries as records.
            value = [{"key": key, "value": item} for key, item in value]
        return len(value) == len(wanted) and all(map(_same, value, wanted))
    if isinstance(wanted, uuid.UUID):
        return value in (str(wanted), wanted.bytes)
    if isinstance(value, tuple) and isinstance(wanted, bytes):
        return _duration(value) == wanted
    if hasattr(value, "nanosecond"):  # pandas' timestamp, for nanoseconds, which fastavro leaves a number
        return bool(value.value == wanted)
    if isinstance(wanted, float) and wanted != wanted:
        return isinstance(value, float) and value != value
    return type(value) is type(wanted) and value == wanted


def _duration(value: tuple[int, int, int]) -> bytes:
    """Months, days and nanoseconds as Avro has them."""
    months, days, nanoseconds = value
    return b"".join(part.to_bytes(4, "little") for part in (months, days, nanoseconds // 1_000_000))


def _json(value: Any, expected: Any) -> Any:
    """A value as the index spells it: bytes as hex, and the rest of what JSON lacks as Python's text."""
    if isinstance(value, dict):
        assert isinstance(expected, dict), f"{value} where {expected} is expected"
        return {name: _json(item, expected.get(name)) for name, item in value.items()}
    if isinstance(value, list):
        if isinstance(expected, dict):  # a map
            return {key: _json(item, expected.get(key)) for key, item in value}
        return [_json(*pair) for pair in zip(value, expected, strict=True)]
    if isinstance(value, tuple):
        return _duration(value).hex()
    if isinstance(value, datetime) and isinstance(expected, int):
        # A logical type that the index's reader does not know: the number as stored.
        return value.value if hasattr(value, "value") else int(value.timestamp())
    if isinstance(value, bytes):
        return value.hex()
    return value if isinstance(value, (bool, int, float, str, type(None))) else str(value)


def _header(schema: bytes) -> bytes:
    """A file of no blocks: magic, a map of one entry, and the sync marker."""
    entry = zigzag(11) + b"avro.schema" + zigzag(len(schema)) + schema
    return b"Obj\x01" + zigzag(1) + entry + zigzag(0) + bytes(16)
