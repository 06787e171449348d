"""Schemas that are changed: by Paimon's rules, whole or not at all, and no table loses what it had."""

from __future__ import annotations

import json
import threading
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from paimon_commits import FIRST, SCHEMA, files, metadata, names, stored

import lakebed
from lakebed import Table, paimon
from lakebed.errors import SchemaError, UnsupportedError

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
    changed = nested.update_schema(
        [
            lakebed.SchemaChange.add_column("first", pa.decimal128(9, 2), "noted", first=True),
            lakebed.SchemaChange.add_column(
                ["inner", "b", "element", "d"], {"type": "ROW", "fields": [{"name": "e", "type": "INT"}]}
            ),
            lakebed.SchemaChange.add_column(
                "late", pa.field("late", pa.string(), metadata={"paimon.type": "CHAR(3)"}), after="id"
            ),
            lakebed.SchemaChange.rename_column("id", "number"),
            lakebed.SchemaChange.rename_column(["inner", "a"], "z"),
            lakebed.SchemaChange.drop_column("map"),
            lakebed.SchemaChange.update_type(["ints", "element"], pa.int64()),
            lakebed.SchemaChange.update_type(["inner", "b", "element", "c"], "DOUBLE"),
            lakebed.SchemaChange.update_doc(["inner", "z"], "nested"),
            lakebed.SchemaChange.update_default("number", "7"),
            lakebed.SchemaChange.move_column("key", before="number"),
            lakebed.SchemaChange.update_comment("of the table"),
            lakebed.SchemaChange.set_option("snapshot.time-retained", "2 h"),
        ]
    )
    schema = stored(changed, "schema/schema-1")
    assert [field["name"] for field in schema["fields"]] == [
        "first",
        "key",
        "number",
        "late",
        "inner",
        "ints",
    ]
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
    assert schema["options"] == {
        "bucket": "1",
        "fields.number.ignore-retract": "true",
        "snapshot.time-retained": "2 h",
    }
    assert (schema["id"], schema["comment"], schema["highestFieldId"]) == (1, "of the table", highest + 4)
    assert (stored(changed, "schema/schema-0"), changed.properties["snapshot.time-retained"]) == (
        before,
        "2 h",
    )
    assert paimon.write_schema(schema) == Path(changed.location, "schema/schema-1").read_bytes()


def test_what_changes_nothing_makes_no_schema(nested: Table) -> None:
    there = metadata(nested)
    nothing: Any
    for nothing in (
        [],
        lakebed.SchemaChange.update_comment(None),
        lakebed.SchemaChange.set_option("bucket", "1"),
    ):
        nested.update_schema(nothing)
    assert metadata(nested) == there


FORBIDDEN = {
    "unknown": (lakebed.SchemaChange.drop_column("colour"), "no column", "colour"),
    "unknown nested": (lakebed.SchemaChange.drop_column(["inner", "b", "c"]), "no column", "inner.b.c"),
    "twice": (lakebed.SchemaChange.add_column("id", "INT"), "already", "id"),
    "twice nested": (lakebed.SchemaChange.rename_column(["inner", "a"], "b"), "already", "inner.a"),
    "not null": (lakebed.SchemaChange.add_column("new", "INT NOT NULL"), "must be nullable", "new"),
    "no type": (lakebed.SchemaChange.add_column("new", "NUMBER"), "NUMBER", "new"),
    "key dropped": (lakebed.SchemaChange.drop_column("key"), "primary key", "key"),
    "key of another type": (lakebed.SchemaChange.update_type("key", "STRING"), "primary key", "key"),
    "key null": (lakebed.SchemaChange.update_required("key", required=False), "primary key", "key"),
    "null to not null": (lakebed.SchemaChange.update_required("id", required=True), "null-to-not-null", "id"),
    "no cast": (lakebed.SchemaChange.update_type("ints", "INT"), "cannot become", "ints"),
    "no cast of times": (lakebed.SchemaChange.update_type("id", "DATE"), "cannot become", "id"),
    "no default": (lakebed.SchemaChange.update_default("id", "seven"), "default", "id"),
    "own name": (lakebed.SchemaChange.add_column("_KEY_id", "INT"), "Paimon reserves", "_KEY_id"),
    "moved to itself": (lakebed.SchemaChange.move_column("id", first=True), "exists already", "id"),
    "beside nothing": (lakebed.SchemaChange.add_column("new", "INT", after="colour"), "no column", "colour"),
    "option of a dropped column": (lakebed.SchemaChange.drop_column("id"), "fields.id.ignore-retract", None),
    "buckets": (lakebed.SchemaChange.set_option("bucket", "0"), "0 buckets", "bucket"),
    "no column of sequence": (
        lakebed.SchemaChange.set_option("sequence.field", "when"),
        "when",
        "sequence.field",
    ),
    "retention": (lakebed.SchemaChange.set_option("snapshot.num-retained.min", "0"), "at least", None),
    "what a table is": (lakebed.SchemaChange.set_option("primary-key", "id"), "kind of table", "primary-key"),
}


@pytest.mark.parametrize(("change", "words", "field"), FORBIDDEN.values(), ids=FORBIDDEN)
def test_what_paimon_forbids_is_refused(
    change: lakebed.SchemaChange, words: str, field: str | None, nested: Table
) -> None:
    there = metadata(nested)
    with pytest.raises(lakebed.errors.LakebedError, match=words) as refused:
        nested.update_schema([lakebed.SchemaChange.update_comment("lost"), change])
    assert field is None or refused.value.field == field
    assert metadata(nested) == there


def test_options_that_only_paimon_checks_are_refused_by_name(nested: Table) -> None:
    with pytest.raises(UnsupportedError, match=r"chain-table\.enabled"):
        nested.update_schema(lakebed.SchemaChange.set_option("chain-table.enabled", "true"))


def test_some_options_are_for_good_once_there_are_rows(tmp_path: Path) -> None:
    table = lakebed.create_table(tmp_path / "t", SCHEMA, "paimon", partition_by=["day"])
    table = table.update_schema(lakebed.SchemaChange.set_option("file-index.bloom-filter.columns", "id"))
    table = table.update_schema(lakebed.SchemaChange.set_option("data-file.path-directory", "data"))
    table = table.update_schema(lakebed.SchemaChange.remove_option("data-file.path-directory"))
    table = table.append_files(files(FIRST, "a"))
    for change, words in [
        (lakebed.SchemaChange.set_option("data-file.path-directory", "data"), "once there are snapshots"),
        (lakebed.SchemaChange.remove_option("bucket-key"), "once there are snapshots"),
        (lakebed.SchemaChange.set_option("bucket", "4"), "-1"),
        (lakebed.SchemaChange.remove_option("bucket"), "cannot be removed"),
        (lakebed.SchemaChange.set_option("deletion-vectors.enabled", "true"), "modifiable"),
        (lakebed.SchemaChange.set_option("manifest.format", "orc"), "engines read by it"),
        (lakebed.SchemaChange.rename_column("day", "date"), "partition column"),
    ]:
        with pytest.raises(SchemaError, match=words):
            table.update_schema(change)
    assert len(list(Path(table.location, "schema").iterdir())) == 4
    table = table.update_schema(lakebed.SchemaChange.add_column("more", pa.int16()))
    after = table.append_files(files(FIRST, "b"))
    assert (names(after), stored(after, "snapshot/snapshot-2")["schemaId"]) == (["a", "b"], 4)
    assert after.files(stats=["more"]).to_arrow()["schema_id"].to_pylist() == [0 + 3, 4]


def test_other_writers_keys_are_kept(nested: Table) -> None:
    path = Path(nested.location, "schema/schema-0")
    path.write_text(json.dumps({**json.loads(path.read_text()), "theirs": {"b": 1, "a": 2}}))
    changed = lakebed.open_table(nested.location).update_schema(lakebed.SchemaChange.update_comment("new"))
    assert stored(changed, "schema/schema-1")["theirs"] == {"b": 1, "a": 2}


def test_changes_that_meet_are_all_made(tmp_path: Path) -> None:
    table = lakebed.create_table(tmp_path / "t", SCHEMA, "paimon")

    def add(writer: str) -> None:
        for number in range(10):
            table.update_schema(lakebed.SchemaChange.add_column(f"{writer}{number}", "INT"))

    threads = [threading.Thread(target=add, args=(writer,)) for writer in "ab"]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    schema = stored(table, "schema/schema-20")
    added = [field["name"] for field in schema["fields"]][3:]
    assert sorted(added) == sorted(f"{writer}{number}" for writer in "ab" for number in range(10))
    assert len({field["id"] for field in schema["fields"]}) == 23


def test_a_type_is_named_in_arrows_words_or_paimons() -> None:
    assert json.loads(lakebed.SchemaChange.add_column("a", pa.list_(pa.date32())).json)["dataType"] == {
        "type": "ARRAY",
        "element": "DATE",
    }
    with pytest.raises(TypeError, match="one place"):
        lakebed.SchemaChange.move_column("a", first=True, after="b")
    with pytest.raises(TypeError, match="takes one of"):
        lakebed.SchemaChange.move_column("a")
