"""Schemas that are changed: by Paimon's rules, whole or not at all, and no table loses what it had."""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from paimon_commits import FIRST, SCHEMA, files, metadata, names, stored

import lakebed
from lakebed import SchemaChange, Table, paimon
from lakebed.errors import LakebedError, SchemaError, UnsupportedError

NESTED = pa.schema(
    [
        pa.field("id", pa.int32()),
        pa.field("inner", pa.struct([("a", pa.int32()), ("b", pa.list_(pa.struct([("c", pa.float32())])))])),
        pa.field("ints", pa.list_(pa.int32())),
        pa.field("map", pa.map_(pa.string(), pa.int32())),
        pa.field("key", pa.int64(), nullable=False),
    ]
)


@pytest.fixture
def nested(tmp_path: Path) -> Table:
    return lakebed.create_table(
        tmp_path / "n",
        NESTED,
        "paimon",
        primary_key=["key"],
        properties={"bucket": "1", "fields.id.ignore-retract": "true"},
    )


def columns(table: Table) -> list[tuple[str, Any]]:
    schema = stored(table, f"schema/{max(Path(table.location, 'schema').iterdir()).name}")
    return [(field["name"], field["type"]) for field in schema["fields"]]


def test_columns_come_and_go_without_losing_ids(nested: Table) -> None:
    before = stored(nested, "schema/schema-0")
    with nested.transaction() as tx:
        tx.update_schema(
            [
                SchemaChange.add_column("first", pa.decimal128(9, 2), "noted", first=True),
                SchemaChange.add_column(
                    ["inner", "b", "element", "d"], {"type": "ROW", "fields": [{"name": "e", "type": "INT"}]}
                ),
                SchemaChange.add_column(
                    "late", pa.field("late", pa.string(), metadata={"paimon.type": "CHAR(3)"}), after="id"
                ),
                SchemaChange.rename_column("id", "number"),
                SchemaChange.rename_column(["inner", "a"], "z"),
                SchemaChange.drop_column("map"),
                SchemaChange.update_type(["ints", "element"], pa.int64()),
                SchemaChange.update_type(["inner", "b", "element", "c"], "DOUBLE"),
                SchemaChange.update_doc(["inner", "z"], "nested"),
                SchemaChange.update_default("number", "7"),
                SchemaChange.move_column("key", before="number"),
                SchemaChange.update_comment("of the table"),
            ]
        )
        tx.update_properties({"snapshot.time-retained": "2 h"})
    changed = tx.table
    schema = stored(changed, "schema/schema-1")
    found = [field["name"] for field in schema["fields"]]
    assert found == ["first", "key", "number", "late", "inner", "ints"]
    ids = {field["name"]: field["id"] for field in schema["fields"]}
    old = {field["name"]: field["id"] for field in before["fields"]}
    assert (ids["number"], ids["inner"], ids["ints"]) == (old["id"], old["inner"], old["ints"])
    highest = before["highestFieldId"]
    # As Paimon numbers: a column, then what is in it from the inside out.
    assert (ids["first"], ids["late"]) == (highest + 1, highest + 4)
    inner = next(field for field in schema["fields"] if field["name"] == "inner")["type"]["fields"]
    assert (inner[0]["name"], inner[0]["description"]) == ("z", "nested")
    assert inner[1]["type"]["element"]["fields"][1] == {
        "id": highest + 2,
        "name": "d",
        "type": {"type": "ROW", "fields": [{"id": highest + 3, "name": "e", "type": "INT"}]},
    }
    assert inner[1]["type"]["element"]["fields"][0]["type"] == "DOUBLE"
    number = schema["fields"][2]
    assert (number["defaultValue"], schema["fields"][0]["description"]) == ("7", "noted")
    assert schema["fields"][5]["type"] == {"type": "ARRAY", "element": "BIGINT"}
    got = schema["options"]
    assert got == {"bucket": "1", "fields.number.ignore-retract": "true", "snapshot.time-retained": "2 h"}
    assert (schema["id"], schema["comment"], schema["highestFieldId"]) == (1, "of the table", highest + 4)
    assert (stored(changed, "schema/schema-0"), changed.properties["snapshot.time-retained"]) == (
        before,
        "2 h",
    )
    assert paimon.write_schema(schema) == Path(changed.location, "schema/schema-1").read_bytes()


def test_what_changes_nothing_makes_no_schema(nested: Table) -> None:
    there = metadata(nested)
    nested.update_schema([])
    nested.update_schema(SchemaChange.update_comment(None))
    nested.update_properties({})
    nested.update_properties({"bucket": "1"})
    assert metadata(nested) == there


FORBIDDEN = {
    "unknown": (SchemaChange.drop_column("colour"), "no column", "colour"),
    "unknown nested": (SchemaChange.drop_column(["inner", "b", "c"]), "no column", "inner.b.c"),
    "twice": (SchemaChange.add_column("id", "INT"), "already", "id"),
    "twice nested": (SchemaChange.rename_column(["inner", "a"], "b"), "already", "inner.a"),
    "not null": (SchemaChange.add_column("new", "INT NOT NULL"), "must be nullable", "new"),
    "no type": (SchemaChange.add_column("new", "NUMBER"), "NUMBER", "new"),
    "key dropped": (SchemaChange.drop_column("key"), "primary key", "key"),
    "key of another type": (SchemaChange.update_type("key", "STRING"), "primary key", "key"),
    "key null": (SchemaChange.update_required("key", required=False), "primary key", "key"),
    "null to not null": (SchemaChange.update_required("id", required=True), "null-to-not-null", "id"),
    "no cast": (SchemaChange.update_type("ints", "INT"), "cannot become", "ints"),
    "no cast of times": (SchemaChange.update_type("id", "DATE"), "cannot become", "id"),
    "no default": (SchemaChange.update_default("id", "seven"), "default", "id"),
    "own name": (SchemaChange.add_column("_KEY_id", "INT"), "Paimon reserves", "_KEY_id"),
    "moved to itself": (SchemaChange.move_column("id", first=True), "exists already", "id"),
    "beside nothing": (SchemaChange.add_column("new", "INT", after="colour"), "no column", "colour"),
    "option of a dropped column": (SchemaChange.drop_column("id"), "fields.id.ignore-retract", None),
}
FORBIDDEN_OPTIONS = {
    "buckets": ("bucket", "0", "0 buckets"),
    "no column of sequence": ("sequence.field", "when", "when"),
    "retention": ("snapshot.num-retained.min", "0", "at least"),
    "what a table is": ("primary-key", "id", "kind of table"),
}


@pytest.mark.parametrize(("change", "words", "field"), FORBIDDEN.values(), ids=FORBIDDEN)
def test_what_paimon_forbids_is_refused(
    change: SchemaChange, words: str, field: str | None, nested: Table
) -> None:
    there = metadata(nested)
    with pytest.raises(LakebedError, match=words) as refused:
        nested.update_schema([SchemaChange.update_comment("lost"), change])
    assert field is None or refused.value.field == field
    assert metadata(nested) == there


@pytest.mark.parametrize(("key", "value", "words"), FORBIDDEN_OPTIONS.values(), ids=FORBIDDEN_OPTIONS)
def test_options_that_paimon_forbids_are_refused(key: str, value: str, words: str, nested: Table) -> None:
    there = metadata(nested)
    tx = nested.transaction()
    tx.update_schema(SchemaChange.update_comment("lost"))
    tx.update_properties({key: value})
    with pytest.raises(LakebedError, match=words) as refused:
        tx.commit()
    assert key == "snapshot.num-retained.min" or refused.value.field == key
    assert metadata(nested) == there


def test_an_option_is_set_or_removed(nested: Table) -> None:
    there = metadata(nested)
    with pytest.raises(SchemaError, match="both set and removed") as refused:
        nested.update_properties({"snapshot.time-retained": "2 h"}, remove=["snapshot.time-retained"])
    assert refused.value.field == "snapshot.time-retained"
    with pytest.raises(SchemaError, match="lone surrogate"):
        nested.update_properties({"snapshot.time-retained": "\ud800"})
    assert metadata(nested) == there


def test_options_that_only_paimon_checks_are_refused_by_name(nested: Table) -> None:
    with pytest.raises(UnsupportedError, match=r"chain-table\.enabled"):
        nested.update_properties({"chain-table.enabled": "true"})


def test_some_options_are_for_good_once_there_are_rows(tmp_path: Path) -> None:
    table = lakebed.create_table(tmp_path / "t", SCHEMA, "paimon", partition_by=["day"])
    table = table.update_properties({"file-index.bloom-filter.columns": "id"})
    table = table.update_properties({"data-file.path-directory": "data"})
    table = table.update_properties(remove=["data-file.path-directory"])
    table = table.append_files(files(FIRST, "a"))
    for refuse, words in [
        (lambda: table.update_properties({"data-file.path-directory": "data"}), "once there are snapshots"),
        (lambda: table.update_properties(remove=["bucket-key"]), "once there are snapshots"),
        (lambda: table.update_properties({"bucket": "4"}), "-1"),
        (lambda: table.update_properties(remove=["bucket"]), "cannot be removed"),
        (lambda: table.update_properties({"deletion-vectors.enabled": "true"}), "modifiable"),
        (lambda: table.update_properties({"manifest.format": "orc"}), "engines read by it"),
        (lambda: table.update_schema(SchemaChange.rename_column("day", "date")), "partition column"),
    ]:
        with pytest.raises(SchemaError, match=words):
            refuse()
    assert len(list(Path(table.location, "schema").iterdir())) == 4
    table = table.update_schema(SchemaChange.add_column("more", pa.int16()))
    after = table.append_files(files(FIRST, "b"))
    assert (names(after), stored(after, "snapshot/snapshot-2")["schemaId"]) == (["a", "b"], 4)
    assert after.files(stats=["more"]).to_arrow()["schema_id"].to_pylist() == [0 + 3, 4]


def test_other_writers_keys_are_kept(nested: Table) -> None:
    path = Path(nested.location, "schema/schema-0")
    path.write_text(json.dumps({**json.loads(path.read_text()), "theirs": {"b": 1, "a": 2}}))
    changed = lakebed.open_table(nested.location).update_schema(SchemaChange.update_comment("new"))
    assert stored(changed, "schema/schema-1")["theirs"] == {"b": 1, "a": 2}


def test_changes_that_meet_are_all_made(tmp_path: Path) -> None:
    table = lakebed.create_table(tmp_path / "t", SCHEMA, "paimon")

    def add(writer: str) -> None:
        for number in range(10):
            table.update_schema(SchemaChange.add_column(f"{writer}{number}", "INT"))

    with ThreadPoolExecutor(2) as threads:
        list(threads.map(add, "ab"))
    schema = stored(table, "schema/schema-20")
    added = [field["name"] for field in schema["fields"]][3:]
    assert sorted(added) == sorted(f"{writer}{number}" for writer in "ab" for number in range(10))
    assert len({field["id"] for field in schema["fields"]}) == 23


def test_a_type_is_named_in_arrows_words_or_paimons() -> None:
    (text,) = SchemaChange.add_column("a", pa.list_(pa.date32())).json("paimon")
    assert json.loads(text)["dataType"] == {"type": "ARRAY", "element": "DATE"}
    with pytest.raises(TypeError, match="one place"):
        SchemaChange.move_column("a", first=True, after="b")
    with pytest.raises(TypeError, match="takes one of"):
        SchemaChange.move_column("a")
