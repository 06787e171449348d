"""Changes of schemas and specs of Iceberg tables, as callers see them; `tests/engines` asks Java of them."""

from __future__ import annotations

import datetime as dt
import decimal
import uuid
from pathlib import Path

import pyarrow as pa
import pytest
from file_rows import file_rows
from iceberg_commits import metadata
from raising import raises

import lakebed
from lakebed import SchemaChange
from lakebed.errors import SchemaError, UnsupportedError

SCHEMA = pa.schema(
    [
        pa.field("id", pa.int64(), nullable=False),
        pa.field("n", pa.int32()),
        pa.field("at", pa.struct([("x", pa.int32())])),
    ]
)


@pytest.fixture(params=[1, 2, 3], ids="v{}".format)
def table(request: pytest.FixtureRequest, tmp_path: Path) -> lakebed.Table:
    return lakebed.create_table(
        tmp_path / "t", SCHEMA, "iceberg", format_version=request.param, partition_by=["id"]
    )


def columns(table: lakebed.Table) -> dict[str, tuple[int, str]]:
    found = metadata(table)
    (schema,) = (one for one in found["schemas"] if one["schema-id"] == found["current-schema-id"])
    return {field["name"]: (field["id"], str(field["type"])) for field in schema["fields"]}


def test_columns_come_go_and_change(table: lakebed.Table) -> None:
    table = table.append_files(file({"id": 1}))
    changed = table.update_schema(
        [
            SchemaChange.add_column("tags", pa.list_(pa.field("element", pa.string()))),
            SchemaChange.add_column(["at", "y"], pa.int32()),
            SchemaChange.update_type("n", pa.int64()),
            SchemaChange.rename_column("n", "number"),
            SchemaChange.move_column("tags", first=True),
        ]
    )
    found = columns(changed)
    assert list(found) == ["tags", "id", "number", "at"]
    assert (found["id"][0], found["number"]) == (1, (2, "long"))
    assert found["tags"][0] == 5
    assert metadata(changed)["last-column-id"] == 7
    assert changed.files(stats=["number"]).to_arrow().num_rows == 1
    # What goes gives its id to nobody.
    changed = changed.update_schema(SchemaChange.drop_column("number"))
    changed = changed.update_schema(SchemaChange.add_column("number", "int"))
    assert columns(changed)["number"] == (8, "int")
    assert changed.update_schema([]).snapshot_id == changed.snapshot_id
    assert len(metadata(changed)["schemas"]) == 4
    if changed.format_version == 1:
        assert metadata(changed)["schema"]["schema-id"] == 3


def test_refusals_name_the_column(table: lakebed.Table) -> None:
    refused = {
        "n": SchemaChange.update_type("n", pa.string()),
        "none": SchemaChange.drop_column("none"),
        "id": SchemaChange.drop_column("id"),
        "at.x": SchemaChange.add_column(["at", "x"], "int"),
    }
    for field, change in refused.items():
        with raises(SchemaError, field=field):
            table.update_schema([SchemaChange.add_column("other", "int"), change])
    assert list(columns(table)) == ["id", "n", "at"]
    with pytest.raises(TypeError, match="sequence of names"):
        table.update_schema(SchemaChange.add_column("a.b", "int"))
    table.update_schema(SchemaChange.add_column(["a.b"], "int"))
    assert "a.b" in columns(table)
    with pytest.raises(SchemaError, match="is not a type"):
        table.update_schema(SchemaChange.add_column("c", "integer"))


DEFAULTS = [
    ("date", dt.date(2024, 2, 29), "2024-02-29"),
    ("time", dt.time(1, 2, 3, 40), "01:02:03.00004"),
    ("timestamp", dt.datetime(2024, 2, 29, 1, 2, 3), "2024-02-29T01:02:03"),
    ("decimal(5, 2)", decimal.Decimal("1.50"), "1.50"),
    ("uuid", uuid.UUID(int=1), str(uuid.UUID(int=1))),
    ("binary", b"\x01\xff", "01ff"),
    ("boolean", False, False),
    ("double", 1.5, 1.5),
]


def test_defaults_are_values_of_their_type(tmp_path: Path) -> None:
    table = lakebed.create_table(tmp_path / "t", SCHEMA, "iceberg", format_version=3)
    changes = [SchemaChange.add_column(kind, kind, default=value) for kind, value, _ in DEFAULTS]
    table = table.update_schema(changes)
    fields = metadata(table)["schemas"][-1]["fields"][3:]
    assert [(field["initial-default"], field["write-default"]) for field in fields] == [
        (json, json) for *_, json in DEFAULTS
    ]
    with pytest.raises(SchemaError, match="the default is not of the type decimal"):
        table.update_schema(SchemaChange.add_column("d", "decimal(3, 2)", default="10.123"))


def test_what_a_version_does_not_have_is_refused(tmp_path: Path) -> None:
    table = lakebed.create_table(tmp_path / "t", SCHEMA, "iceberg")
    for change in (
        SchemaChange.add_column("v", pa.timestamp("ns")),
        SchemaChange.add_column("v", "int", default=1),
    ):
        with pytest.raises(UnsupportedError, match="format version 3"):
            table.update_schema(change)


def test_specs_change_and_files_stay(table: lakebed.Table) -> None:
    table = table.append_files(file({"id": 1}))
    table = table.update_spec(remove=["id"], add=["bucket(4, id)", "truncate(10, n)"])
    spec = metadata(table)["partition-specs"][-1]["fields"]
    names = [field["name"] for field in spec]
    assert names == [*(["id"] if table.format_version == 1 else []), "id_bucket_4", "n_trunc_10"]
    assert metadata(table)["last-partition-id"] == 1002
    table = table.append_files(file({"id_bucket_4": 2, "n_trunc_10": 0}, "b"))
    rows = table.files(columns=["file_path", "spec_id", "partition"]).to_arrow().to_pylist()
    assert sorted(row["spec_id"] for row in rows) == [0, 1]
    table = table.update_spec(add={"shard": "n"}, rename={"id_bucket_4": "part"})
    found = [field["name"] for field in metadata(table)["partition-specs"][-1]["fields"]][-3:]
    assert found == ["part", "n_trunc_10", "shard"]
    with raises(SchemaError, match="no partition field", field="none"):
        table.update_spec(remove=["none"])
    assert table.plan(where="n = 3").to_arrow().num_rows == 2


def file(partition: dict[str, int], name: str = "a") -> pa.Table:
    return file_rows(f"data/{name}.parquet", partition=partition)
