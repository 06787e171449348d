"""Avro files of other projects: as many rows as three readers found, and the same first row."""

from __future__ import annotations

import json
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from lakebed import avro
from lakebed.errors import CorruptError, UnsupportedError
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

needs_files = pytest.mark.skipif(not FILES, reason=f"no Avro files: {ROOT} is absent (LAKEBED_SHARED)")


@needs_files
@pytest.mark.parametrize("file", CONTAINERS, ids=[file["file"] for file in CONTAINERS])
def test_rows(file: dict[str, Any]):
    path, counts = ROOT / file["file"], _counts(file)
    if not counts:
        with pytest.raises((CorruptError, UnsupportedError)) as refused:
            avro.read(path).to_arrow()
        assert refused.value.kind is not None
        return
    if file["rows_strict"] == "refused: schema" and (refusal := _refusal(path)) is not None:
        assert "recursive" in str(refusal)  # it has no Arrow form
        return
    rows = avro.read(path).to_arrow()
    assert {rows.num_rows} == counts
    if (first := file.get("first_row")) is not None:
        row = rows.slice(0, 1).to_pylist()[0]
        assert _json(row if isinstance(first, dict) else row["value"], first) == first


@needs_files
@pytest.mark.parametrize("file", OTHERS, ids=[file["file"] for file in OTHERS])
def test_what_is_no_container_is_refused(file: dict[str, Any]):
    with pytest.raises((CorruptError, UnsupportedError)) as refused:
        avro.read(ROOT / file["file"]).to_arrow()
    assert refused.value.kind in ("magic", "truncated")


def _refusal(path: Path) -> UnsupportedError | None:
    try:
        avro.read(path).to_arrow()
    except UnsupportedError as error:
        return error
    return None


def _counts(file: dict[str, Any]) -> set[int]:
    """Numbers of rows that readers found; none where the strict one says that a file is damaged."""
    readers = [file[reader] for reader in ("rows_fastavro", "rows_avro_java", "rows_strict")]
    damaged = isinstance(readers[-1], str) and readers[-1] != "refused: schema"
    return set() if damaged else {count for count in readers if isinstance(count, int)}


def _json(value: Any, expected: Any) -> Any:
    """A value as the index spells it: bytes as hex, and the rest of what JSON lacks as Python's text."""
    if isinstance(value, dict):
        assert isinstance(expected, dict), f"{value} where {expected} is expected"
        return {name: _json(item, expected.get(name)) for name, item in value.items()}
    if isinstance(value, list):
        if isinstance(expected, dict):  # a map
            return {key: _json(item, expected.get(key)) for key, item in value}
        return [_json(*pair) for pair in zip(value, expected, strict=True)]
    if isinstance(value, tuple):  # a duration: months, days, nanoseconds
        months, days, nanoseconds = value
        parts = (months, days, nanoseconds // 1_000_000)
        return b"".join(part.to_bytes(4, "little") for part in parts).hex()
    if isinstance(value, datetime) and isinstance(expected, int):
        # A logical type that the index's reader does not know: the number as stored.
        return value.value if hasattr(value, "value") else int(value.timestamp())
    if isinstance(value, bytes):
        return value.hex()
    return value if isinstance(value, (bool, int, float, str, type(None))) else str(value)
