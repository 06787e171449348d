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


def changes(*every: SchemaChange) -> dict[str, Any]:
    return {"changes": [json.loads(text) for change in every for text in change.json("iceberg")]}


STRUCT = pa.struct([pa.field("a", pa.int32(), nullable=False), pa.field("b", pa.list_(pa.string()))])
DONE: list[Sequence[SchemaChange]] = [
    [SchemaChange.add_column("note", pa.string(), "what was said"), SchemaChange.add_column("more", STRUCT)],
    [
        SchemaChange.add_column(["point", "z"], "double"),
        SchemaChange.add_column(["points", "z"], "decimal(3, 1)"),
    ],
    [
        SchemaChange.add_column(["named", "z"], pa.map_(pa.string(), STRUCT)),
        SchemaChange.move_column(["named", "value", "z"], first=True),
    ],
    [
        SchemaChange.rename_column("n", "number"),
        SchemaChange.update_type("n", "long"),
        SchemaChange.update_doc("n", "N"),
    ],
    [SchemaChange.rename_column("point.x", "east"), SchemaChange.move_column("point.x", after="point.y")],
    [
        SchemaChange.update_type("price", "decimal(11, 2)"),
        SchemaChange.update_type("points.element.y", "double"),
    ],
    [
        SchemaChange.drop_column("ts"),
        SchemaChange.add_column("ts", pa.date32()),
        SchemaChange.move_column("ts", before="id"),
    ],
    [
        SchemaChange.update_required("region", required=False),
        SchemaChange.set_identifier_fields(["id", "point.y"][:1]),
    ],
    [SchemaChange.drop_column("points"), SchemaChange.rename_column("named", "points")],
    [SchemaChange.rename_column("id", "key"), SchemaChange.move_column("id", after="more")],
    [
        SchemaChange.move_column("key", first=True),
        SchemaChange.move_column("note", first=True),
        SchemaChange.move_column("number", before="note"),
    ],
    [SchemaChange.set_identifier_fields([]), SchemaChange.drop_column("note")],
    [
        SchemaChange.add_column("u", pa.uuid() if hasattr(pa, "uuid") else "uuid"),
        SchemaChange.rename_column("point", "at"),
    ],
    [SchemaChange.drop_column("more.a"), SchemaChange.add_column(["more", "a"], "string")],
    [SchemaChange.update_doc("number", None)],
]
"""One commit each, one after the other."""
REFUSED: list[Sequence[SchemaChange]] = [
    [SchemaChange.add_column("id", "int")],
    [SchemaChange.add_column(["point", "x"], "int")],
    [SchemaChange.add_column(["none", "x"], "int")],
    [SchemaChange.add_column(["n", "x"], "int")],
    [SchemaChange.add_column("must", "int", required=True)],
    [SchemaChange.add_column("twice", "int"), SchemaChange.add_column("twice", "int")],
    [SchemaChange.drop_column("none")],
    [SchemaChange.drop_column("region")],
    [SchemaChange.drop_column("id")],
    [SchemaChange.drop_column("n"), SchemaChange.rename_column("n", "m")],
    [SchemaChange.rename_column("n", "m"), SchemaChange.drop_column("n")],
    [SchemaChange.drop_column("point"), SchemaChange.add_column(["point", "z"], "int")],
    [SchemaChange.drop_column("points.element")],
    [SchemaChange.drop_column("named.key")],
    [SchemaChange.rename_column("none", "m")],
    [SchemaChange.rename_column("n", "price")],
    [SchemaChange.rename_column("n", "id_bucket")],
    [SchemaChange.update_type("n", "string")],
    [SchemaChange.update_type("id", "int")],
    [SchemaChange.update_type("price", "decimal(12, 3)")],
    [SchemaChange.update_type("price", "decimal(8, 2)")],
    [SchemaChange.update_type("point", "int")],
    [SchemaChange.update_required("n", required=True)],
    [SchemaChange.add_column(["named", "key", "k2"], "int")],
    [SchemaChange.update_type("named.key.k", "long")],
    [SchemaChange.move_column("none", first=True)],
    [SchemaChange.move_column("n", after="n")],
    [SchemaChange.move_column("n", after="point.x")],
    [SchemaChange.move_column("points.element", before="id")],
    [SchemaChange.set_identifier_fields(["n"])],
    [SchemaChange.set_identifier_fields(["none"])],
    [SchemaChange.set_identifier_fields(["point.y"])],
    [SchemaChange.set_identifier_fields(["points.element.y"])],
    [SchemaChange.set_identifier_fields(["id"]), SchemaChange.drop_column("id")],
]


def test_schemas_change_as_javas(both: Both):
    for some in REFUSED:
        assert not both.step("schema", changes(*some)), some
    assert both.step(
        "schema", changes(SchemaChange.update_required("n", required=True)), allow_incompatible_changes=True
    )
    assert both.step("schema", changes(SchemaChange.update_required("n", required=False)))
    # The schema is one that the table had.
    assert len(metadata(lakebed.open_table(both.ours))["schemas"]) == 2
    for some in DONE:
        assert both.step("schema", changes(*some)), some
    assert both.step("schema", changes())
    # The specification would have these in version 3; Java's library does not.
    for wider in ("timestamp", *["timestamp_ns"][: both.version // 3]):
        assert not both.step("schema", changes(SchemaChange.update_type("ts", wider))), wider


DEFAULTS: list[tuple[Sequence[SchemaChange], bool]] = [
    (
        [SchemaChange.add_column("a", "int", required=True, default=7), SchemaChange.add_column("b", "date")],
        True,
    ),
    ([SchemaChange.update_default("b", "2024-02-29"), SchemaChange.update_default("a", 8)], True),
    ([SchemaChange.update_default("b", None), SchemaChange.update_type("a", "long")], True),
    (
        [
            SchemaChange.add_column("c", "decimal(5, 2)", default="1.50"),
            SchemaChange.update_required("c", required=True),
        ],
        True,
    ),
    ([SchemaChange.add_column("d", "timestamptz", default="2024-02-29T01:02:03+00:00")], True),
    ([SchemaChange.add_column("e", "string", default="é")], True),
    ([SchemaChange.add_column("f", "timestamp_ns"), SchemaChange.add_column("g", "unknown")], True),
    ([SchemaChange.add_column("h", "int", default="x")], False),
    ([SchemaChange.update_default("a", "x")], False),
    ([SchemaChange.add_column("h", "unknown", required=True)], False),
    # As above: the specification would have these.
    ([SchemaChange.update_type("g", "int")], False),
    ([SchemaChange.update_type("g", "string")], False),
]


def test_defaults_are_of_version_3(both: Both):
    for some, is_done in DEFAULTS:
        if both.version == 3:
            assert both.step("schema", changes(*some)) == is_done, some
    if both.version < 3:
        table = lakebed.open_table(both.ours)
        for change in (
            SchemaChange.add_column("a", "int", default=1),
            SchemaChange.update_default("n", 1),
            SchemaChange.add_column("f", "timestamp_ns"),
        ):
            with pytest.raises(UnsupportedError, match="need format version 3"):
                table.update_schema(change)


def test_what_sorts_a_table_stays(both: Both):
    for path in (both.ours, both.theirs):
        both.java.ask("manage", table=path, steps=[["sort", "price"]])
    assert not both.step("schema", changes(SchemaChange.drop_column("price")))
    assert both.step("schema", changes(SchemaChange.rename_column("price", "cost")))


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
    both.step("schema", changes(SchemaChange.drop_column("region")))
