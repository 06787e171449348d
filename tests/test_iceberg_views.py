"""A view's metadata has the name and the folder of a table's: it is told apart by what is in it."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest
from command_line import run
from iceberg_made import MadeTable

import lakebed
from lakebed import iceberg
from lakebed.errors import CorruptError, UnsupportedError

UUID = "0b6e36c4-7f0d-4f0e-9f7c-3c1b2a4d5e6f"


def view(location: Path, **changed: Any) -> dict[str, Any]:
    """The metadata of a view (Iceberg's view specification)."""
    sql = {"type": "sql", "sql": "SELECT id FROM shop.orders WHERE paid", "dialect": "spark"}
    version = {
        "version-id": 2,
        "schema-id": 0,
        "timestamp-ms": 1_700_000_000_000,
        "summary": {"engine-name": "Spark", "engine-version": "3.5.0"},
        "default-namespace": ["shop"],
        "representations": [sql],
    }
    fields = [{"id": 1, "name": "id", "required": False, "type": "long"}]
    whole = {
        "view-uuid": UUID,
        "format-version": 1,
        "location": str(location),
        "schemas": [{"type": "struct", "schema-id": 0, "fields": fields}],
        "current-version-id": 2,
        "versions": [version],
        "version-log": [{"timestamp-ms": 1_700_000_000_000, "version-id": 2}],
        "properties": {"comment": "paid orders"},
    }
    return {key: value for key, value in (whole | changed).items() if value is not None}


def write(location: Path, content: dict[str, Any], name: str = f"00001-{UUID}.metadata.json") -> Path:
    file = location / "metadata" / name
    file.parent.mkdir(parents=True, exist_ok=True)
    text = json.dumps(content).encode()
    file.write_bytes(gzip.compress(text) if ".gz" in name else text)
    return file


@pytest.mark.parametrize(
    "name", [f"00001-{UUID}.metadata.json", "v3.gz.metadata.json", f"00002-{UUID}.gz.metadata.json"]
)
@pytest.mark.parametrize(
    "changed", [{}, {"properties": None}, {"schemas": []}, {"versions": [], "version-log": []}, {"more": 1}]
)
def test_a_view_is_said_to_be_one(tmp_path: Path, name: str, changed: dict[str, Any]):
    location = tmp_path / "paid"
    file = write(location, view(location, **changed), name)
    for place in (location, file):
        for read in (lakebed.open_table, iceberg.read_metadata):
            if read is iceberg.read_metadata and place is location:
                continue
            with pytest.raises(UnsupportedError, match="a view") as refused:
                read(place)
            assert str(file) in str(refused.value)


def test_views_are_no_tables_to_be_found(tmp_path: Path):
    table = MadeTable(tmp_path / "orders", (1, "id", "long"))
    write(tmp_path / "paid", view(tmp_path / "paid"))
    write(tmp_path / "deep" / "down", view(tmp_path), "v1.gz.metadata.json")
    # What cannot be read is a row like any other: it may be a table.
    broken = write(tmp_path / "broken", {})
    broken.write_bytes(b"{")
    rows = lakebed.find_tables(tmp_path).to_arrow().to_pylist()
    assert [row["name"] for row in rows] == ["broken", "orders"]
    done = run("find", tmp_path, "-o", "csv", "--columns", "name")
    assert (done.exit_code, done.stdout.split()) == (0, ["name", "broken", "orders"])
    done = run("files", tmp_path / "paid")
    assert done.exit_code != 0
    assert "the metadata of a view" in done.stderr
    assert lakebed.open_table(table.root).files().to_arrow().num_rows == 0


def test_what_is_neither_is_corrupt(tmp_path: Path):
    write(tmp_path / "t", view(tmp_path, **{"view-uuid": None}))
    with pytest.raises(CorruptError, match="there is no `current-schema-id`"):
        lakebed.open_table(tmp_path / "t")
    made = MadeTable(tmp_path / "both", (1, "id", "long"))
    made.set(view_uuid=UUID)
    assert lakebed.open_table(made.root).schema.names == ["id"]
