"""Changes of schemas and partition specs, by lakebed and by Iceberg Java on tables of the same content: the
metadata must come out the same, and what one refuses the other does.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from file_rows import file_rows
from iceberg_commits import metadata
from java_engine import EngineError, JavaEngine
from trust import long_or

import lakebed
from lakebed import SchemaChange
from lakebed.errors import LakebedError, UnsupportedError

pytestmark = pytest.mark.jvm

INNER = pa.struct([pa.field("x", pa.int32()), pa.field("y", pa.float32(), nullable=False)])
SCHEMA = pa.schema(
    [
        pa.field("id", pa.int64(), nullable=False),
        pa.field("n", pa.int32()),
        pa.field("region", pa.string(), nullable=False),
        pa.field("ts", pa.timestamp("us")),
        pa.field("price", pa.decimal128(9, 2)),
        pa.field("point", INNER, nullable=False),
        pa.field("points", pa.list_(INNER)),
        pa.field("named", pa.map_(pa.struct([("k", pa.int32())]), INNER)),
    ]
)
MAPPING = json.dumps(
    [
        {"field-id": 1, "names": ["id", "key"]},
        {"field-id": 2, "names": ["n"]},
        {"field-id": 6, "names": ["point"], "fields": [{"field-id": 9, "names": ["x"]}]},
    ]
)
PROPERTIES = {
    "schema.name-mapping.default": MAPPING,
    "write.metadata.metrics.column.n": "none",
    "write.metadata.metrics.column.point.x": "counts",
    "write.parquet.bloom-filter-enabled.column.price": "true",
}
KEYS = (
    "current-schema-id",
    "schemas",
    "schema",
    "last-column-id",
    "default-spec-id",
    "partition-specs",
    "partition-spec",
    "last-partition-id",
    "sort-orders",
    "properties",
)


@dataclass
class Both:
    """Two tables: what is done is done to both, and comes to the same or is refused by both."""

    ours: Path
    theirs: Path
    java: JavaEngine
    version: int

    def step(self, name: str, given: dict[str, Any], **more: Any) -> bool:
        """Whether it was done. Java says so by its metadata, or by what it throws."""
        table = lakebed.open_table(self.ours)
        before = metadata(table)
        refused = []
        try:
            if name == "schema":
                changes = SchemaChange("as Java is told", lambda: given["changes"], None)
                table.update_schema(changes, **more)
            else:
                add = {called: text for text, called in given.get("add", ()) if called}
                plain = [text for text, called in given.get("add", ()) if not called]
                assert not (add and plain)
                rename = dict(given.get("rename", ()))
                table.update_spec(add=add or plain, remove=given.get("remove", ()), rename=rename)
        except LakebedError as error:
            refused.append(f"{error.field}: {error}")
        if refused:
            assert not refused[0].startswith("None: ")
            assert metadata(table) == before
        asked = {**given, **more}
        if name == "spec":
            asked["add"] = [[*term(text), called] for text, called in given.get("add", ())]
        try:
            self.java.ask("manage", table=self.theirs, steps=[[name, asked]])
        except EngineError as error:
            refused.append(str(error).splitlines()[0])
        assert len(refused) in (0, 2), (given, refused)
        self.check()
        return not refused

    def check(self) -> None:
        ours, theirs = (self.state(path) for path in (self.ours, self.theirs))
        assert ours == theirs

    def state(self, path: Path) -> dict[str, Any]:
        table = lakebed.open_table(path)
        found = {key: value for key, value in metadata(table).items() if key in KEYS}
        properties = dict(found["properties"])
        mapping = properties.pop("schema.name-mapping.default", None)
        found["properties"] = properties
        found["mapping"] = mapping and unordered(json.loads(mapping))
        table.plan().to_arrow()
        return found


def unordered(fields: Sequence[dict[str, Any]]) -> list[Any]:
    """A name mapping, of which names are in no order."""
    return [
        (field.get("field-id"), sorted(field["names"]), unordered(field.get("fields", ())))
        for field in fields
    ]


def term(text: str) -> list[str]:
    """A transform and its column, as Java takes them."""
    name, _, rest = text.rstrip(")").partition("(")
    number, _, column = rest.rpartition(",")
    if not rest:
        return ["identity", name]
    return [f"{name}[{number.strip()}]" if number else name, column.strip()]


# Of the versions, 1 keeps partition fields that are removed, and 3 has defaults; 2 has neither.
@pytest.fixture(params=long_or([1, 3], [1, 2, 3]), ids="v{}".format)
def both(request: pytest.FixtureRequest, tmp_path: Path, iceberg_java: JavaEngine) -> Both:
    made = []
    for name in ("ours", "java"):
        table = lakebed.create_table(
            tmp_path / name,
            SCHEMA,
            "iceberg",
            partition_by=["region", "bucket(4, id)"],
            format_version=request.param,
            properties=PROPERTIES,
        )
        table.append_files(file_rows("data/a.parquet", partition={"region": "emea", "id_bucket": 1}))
        made.append(tmp_path / name)
    ours, theirs = made
    return Both(ours, theirs, iceberg_java, request.param)


add, drop, rename = SchemaChange.add_column, SchemaChange.drop_column, SchemaChange.rename_column
retype, redoc, default = SchemaChange.update_type, SchemaChange.update_doc, SchemaChange.update_default
require, move = SchemaChange.update_required, SchemaChange.move_column
identify = SchemaChange.set_identifier_fields


def changes(*every: SchemaChange) -> dict[str, Any]:
    return {"changes": [json.loads(text) for change in every for text in change.json("iceberg")]}


STRUCT = pa.struct([pa.field("a", pa.int32(), nullable=False), pa.field("b", pa.list_(pa.string()))])
DONE: list[Sequence[SchemaChange]] = [
    [add("note", pa.string(), "what was said"), add("more", STRUCT)],
    [add(["point", "z"], "double"), add(["points", "z"], "decimal(3, 1)")],
    [add(["named", "z"], pa.map_(pa.string(), STRUCT)), move(["named", "value", "z"], first=True)],
    [rename("n", "number"), retype("n", "long"), redoc("n", "N")],
    [rename("point.x", "east"), move("point.x", after="point.y")],
    [retype("price", "decimal(11, 2)"), retype("points.element.y", "double")],
    [drop("ts"), add("ts", pa.date32()), move("ts", before="id")],
    [require("region", required=False), identify(["id", "point.y"][:1])],
    [drop("points"), rename("named", "points")],
    [rename("id", "key"), move("id", after="more")],
    [move("key", first=True), move("note", first=True), move("number", before="note")],
    [identify([]), drop("note")],
    [add("u", pa.uuid() if hasattr(pa, "uuid") else "uuid"), rename("point", "at")],
    [drop("more.a"), add(["more", "a"], "string")],
    [redoc("number", None)],
]
"""One commit each, one after the other."""
REFUSED: list[Sequence[SchemaChange]] = [
    [add("id", "int")],
    [add(["point", "x"], "int")],
    [add(["none", "x"], "int")],
    [add(["n", "x"], "int")],
    [add("must", "int", required=True)],
    [add("twice", "int"), add("twice", "int")],
    [drop("none")],
    [drop("region")],
    [drop("id")],
    [drop("n"), rename("n", "m")],
    [rename("n", "m"), drop("n")],
    [drop("point"), add(["point", "z"], "int")],
    [drop("points.element")],
    [drop("named.key")],
    [rename("none", "m")],
    [rename("n", "price")],
    [rename("n", "id_bucket")],
    [retype("n", "string")],
    [retype("id", "int")],
    [retype("price", "decimal(12, 3)")],
    [retype("price", "decimal(8, 2)")],
    [retype("point", "int")],
    [require("n", required=True)],
    [add(["named", "key", "k2"], "int")],
    [retype("named.key.k", "long")],
    [move("none", first=True)],
    [move("n", after="n")],
    [move("n", after="point.x")],
    [move("points.element", before="id")],
    [identify(["n"])],
    [identify(["none"])],
    [identify(["point.y"])],
    [identify(["points.element.y"])],
    [identify(["id"]), drop("id")],
]


def test_schemas_change_as_javas(both: Both):
    for some in REFUSED:
        assert not both.step("schema", changes(*some)), some
    assert both.step("schema", changes(require("n", required=True)), allow_incompatible_changes=True)
    assert both.step("schema", changes(require("n", required=False)))
    # The schema is one that the table had.
    assert len(metadata(lakebed.open_table(both.ours))["schemas"]) == 2
    for some in DONE:
        assert both.step("schema", changes(*some)), some
    assert both.step("schema", changes())
    # The specification would have these in version 3; Java's library does not.
    for wider in ("timestamp", *["timestamp_ns"][: both.version // 3]):
        assert not both.step("schema", changes(retype("ts", wider))), wider


DEFAULTS: list[tuple[Sequence[SchemaChange], bool]] = [
    ([add("a", "int", required=True, default=7), add("b", "date")], True),
    ([default("b", "2024-02-29"), default("a", 8)], True),
    ([default("b", None), retype("a", "long")], True),
    (
        [
            add("c", "decimal(5, 2)", default="1.50"),
            require("c", required=True),
        ],
        True,
    ),
    ([add("d", "timestamptz", default="2024-02-29T01:02:03+00:00")], True),
    ([add("e", "string", default="é")], True),
    ([add("f", "timestamp_ns"), add("g", "unknown")], True),
    ([add("h", "int", default="x")], False),
    ([default("a", "x")], False),
    ([add("h", "unknown", required=True)], False),
    # As above: the specification would have these.
    ([retype("g", "int")], False),
    ([retype("g", "string")], False),
]


def test_defaults_are_of_version_3(both: Both):
    for some, is_done in DEFAULTS:
        if both.version == 3:
            assert both.step("schema", changes(*some)) == is_done, some
    if both.version < 3:
        table = lakebed.open_table(both.ours)
        for change in (
            add("a", "int", default=1),
            default("n", 1),
            add("f", "timestamp_ns"),
        ):
            with pytest.raises(UnsupportedError, match="need format version 3"):
                table.update_schema(change)


def test_what_sorts_a_table_stays(both: Both):
    for path in (both.ours, both.theirs):
        both.java.ask("manage", table=path, steps=[["sort", "price"]])
    assert not both.step("schema", changes(drop("price")))
    assert both.step("schema", changes(rename("price", "cost")))


SPECS: list[tuple[dict[str, Any], bool]] = [
    ({"remove": ["none"]}, False),
    ({"rename": [["none", "some"]]}, False),
    ({"rename": [["region", "id_bucket"]]}, False),
    ({"rename": [["id_bucket", "price"]]}, False),
    ({"remove": ["region"], "rename": [["region", "area"]]}, False),
    ({"add": [["region", None]]}, False),
    ({"add": [["bucket(4, id)", "other"]]}, False),
    ({"add": [["none", None]]}, False),
    ({"add": [["day(n)", None]]}, False),
    ({"add": [["bucket(0, id)", None]]}, False),
    ({"add": [["points.element.x", None]]}, False),
    ({"add": [["truncate(3, price)", "n"]]}, False),
    ({"add": [["day(ts)", None], ["hour(ts)", None]]}, False),
    ({"add": [["truncate(3, region)", "region"]]}, False),
    ({"remove": ["region"], "add": [["region", None]]}, True),
    ({"add": [["day(ts)", None], ["truncate(3, price)", None]]}, True),
    ({"remove": ["id_bucket"], "rename": [["ts_day", "day"]]}, True),
    ({"add": [["bucket(8, id)", "id_bucket"]]}, True),
    ({"add": [["point.x", None]]}, True),
    ({"remove": ["region", "day", "point.x", "price_trunc_3"]}, True),
    ({"add": [["region", None], ["month(ts)", None]]}, True),
    ({"remove": ["ts_month"], "add": [["hour(ts)", "ts_month"]]}, True),
    ({"remove": ["region"], "add": [["region", "area"]]}, True),
]
"""Changes of the spec of (region, id_bucket), one commit each, and whether they are made."""


def test_specs_change_as_javas(both: Both):
    for given, is_done in SPECS:
        assert both.step("spec", given) == is_done, given
    assert both.step("spec", {"remove": ["id_bucket", "ts_month", "area"]})
    # What partitioned the table once may go where both say so.
    both.step("schema", changes(drop("region")))
