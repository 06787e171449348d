"""Paimon's types in Arrow, and values in the canonical form of the golden answers.

In that form every scalar is a text and floats are compared bit by bit, so that equal means equal: no
tolerance, `-0.0` is not `0.0`, and `NaN` is `NaN`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
from arrow_values import canonical_by, float_bits, rows_by

import lakebed
from shared_data import GoldenTable

Row = dict[str, Any]

# By the numbers in brackets after the name; lengths and the precision of TIME change nothing.
_SCALARS: dict[str, Callable[..., pa.DataType]] = {
    "BOOLEAN": lambda: pa.bool_(),
    "TINYINT": lambda: pa.int8(),
    "SMALLINT": lambda: pa.int16(),
    "INT": lambda: pa.int32(),
    "INTEGER": lambda: pa.int32(),
    "BIGINT": lambda: pa.int64(),
    "FLOAT": lambda: pa.float32(),
    "DOUBLE": lambda: pa.float64(),
    "DECIMAL": lambda precision=10, scale=0: pa.decimal128(precision, scale),
    "CHAR": lambda *_: pa.string(),
    "VARCHAR": lambda *_: pa.string(),
    "STRING": lambda: pa.string(),
    "BINARY": lambda *_: pa.binary(),
    "VARBINARY": lambda *_: pa.binary(),
    "BYTES": lambda: pa.binary(),
    "BLOB": lambda: pa.binary(),
    "DATE": lambda: pa.date32(),
    "TIME": lambda *_: pa.time32("ms"),
    "TIMESTAMP": lambda precision=6: pa.timestamp(_unit(precision)),
    "TIMESTAMP_LTZ": lambda precision=6: pa.timestamp(_unit(precision), "UTC"),
    "TIMESTAMP WITH LOCAL TIME ZONE": lambda precision=6: pa.timestamp(_unit(precision), "UTC"),
}
_VARIANT = pa.struct(
    [pa.field("value", pa.binary(), nullable=False), pa.field("metadata", pa.binary(), nullable=False)]
)

# Columns of row tracking, which files may hold beside those of their schema.
_SYSTEM_FIELDS = [{"name": name, "type": "BIGINT"} for name in ("_ROW_ID", "_SEQUENCE_NUMBER")]


def arrow_type(paimon: str | dict[str, Any]) -> pa.DataType:
    """The Arrow type of what a BinaryRow stores for a type of the schema file (text, or object if nested).

    Raises: KeyError for a type this was not written for.
    """
    if isinstance(paimon, str):
        bare = paimon.removesuffix(" NOT NULL")
        if bare == "VARIANT":
            return _VARIANT
        numbers = [int(number) for number in re.findall(r"\d+", bare)]
        return _SCALARS[re.sub(r"\(.*?\)", "", bare)](*numbers)
    match paimon["type"].removesuffix(" NOT NULL"):
        case "ARRAY":
            return pa.list_(arrow_type(paimon["element"]))
        case "VECTOR":
            return pa.list_(arrow_type(paimon["element"]), paimon["length"])
        case "MULTISET":
            return pa.map_(arrow_type(paimon["element"]), pa.int32())
        case "MAP":
            return pa.map_(arrow_type(paimon["key"]), arrow_type(paimon["value"]))
        case "ROW":
            return pa.struct(arrow_schema(paimon["fields"]))
    raise KeyError(paimon["type"])


def arrow_schema(fields: Iterable[dict[str, Any]]) -> pa.Schema:
    """The fields of a schema file as BinaryRows of them store them."""
    return pa.schema([_field(field["name"], field["type"]) for field in fields])


def _field(name: str, paimon: str | dict[str, Any]) -> pa.Field:
    # VARIANT has no Arrow type of its own; the name in the metadata tells it from a ROW.
    variant = isinstance(paimon, str) and paimon.startswith("VARIANT")
    return pa.field(name, arrow_type(paimon), metadata={"paimon.type": "VARIANT"} if variant else None)


def _unit(precision: int) -> str:
    return "ms" if precision <= 3 else "us" if precision <= 6 else "ns"


class Schemas:
    """The schema files of one table's main branch."""

    def __init__(self, table: GoldenTable | Path) -> None:
        self._root = (table if isinstance(table, Path) else table.path) / "schema"

    def file(self, schema_id: int) -> dict[str, Any]:
        """The parsed file `schema-<id>`."""
        parsed: dict[str, Any] = json.loads((self._root / f"schema-{schema_id}").read_text("utf-8"))
        return parsed

    def latest(self) -> dict[str, Any]:
        """The schema of the greatest id."""
        return self.file(max(int(file.name.removeprefix("schema-")) for file in self._root.iterdir()))

    def columns(self, schema_id: int, names: Sequence[str] | None = None) -> pa.Schema:
        """The columns of a schema, or those of `names`, system columns among them, in that order."""
        fields = {field["name"]: field for field in [*self.file(schema_id)["fields"], *_SYSTEM_FIELDS]}
        names = [field["name"] for field in self.file(schema_id)["fields"]] if names is None else names
        return arrow_schema(fields[name] for name in names)

    def partition(self, schema_id: int) -> pa.Schema:
        """The partition columns of a schema."""
        return self.columns(schema_id, self.file(schema_id)["partitionKeys"])

    def trimmed_keys(self, schema_id: int) -> pa.Schema:
        """The primary key less the partition columns, which all rows of a file share."""
        schema = self.file(schema_id)
        return self.columns(
            schema_id, [key for key in schema["primaryKeys"] if key not in schema["partitionKeys"]]
        )


def canonical(array: pa.Array | pa.ChunkedArray) -> list[Any]:
    """The values of an array in the canonical form."""
    return canonical_by(array, _keys_and_values, _nine_digits, _scalar)


def canonical_rows(table: pa.Table) -> list[Row]:
    """The rows of a table in the canonical form."""
    return rows_by(canonical, table)


def wanted(value: Any, kind: pa.DataType) -> Any:
    """A value of a golden answer, with its floats in the canonical form."""
    if value is None:
        return None
    if pa.types.is_struct(kind):
        return {field.name: wanted(value[field.name], field.type) for field in kind}
    if pa.types.is_map(kind):
        types = {"keys": kind.key_type, "values": kind.item_type}
        return {part: [wanted(item, types[part]) for item in value[part]] for part in types}
    if pa.types.is_list(kind) or pa.types.is_fixed_size_list(kind):
        return [wanted(item, kind.value_type) for item in value]
    if pa.types.is_floating(kind):
        return float_bits(float(value), kind)
    return value


def stand(table: lakebed.Table, at: str, branch: str | None = None) -> lakebed.Table:
    """The table where an answer was computed: `at` names it as folders and rows of answers do ("at-tag-v1",
    "tag-v1", "snapshot-2", "branch-dev"; "" for the latest snapshot).
    """
    if branch is not None:
        table = table.at(branch=branch)
    if not at:
        return table
    kind, _, name = at.removeprefix("at-").partition("-")
    match kind:
        case "snapshot":
            return table.at(snapshot=int(name))
        case "tag":
            return table.at(tag=name)
        case "branch":
            return table.at(branch=name)
    raise AssertionError(f"an answer at {at!r}, which this was not written for")


def by_file(rows: Iterable[Row], key: str) -> Iterator[tuple[str, list[Row]]]:
    """The rows of each manifest or manifest list, in file order."""
    files: dict[str, list[Row]] = {}
    for row in rows:
        files.setdefault(row[key], []).append(row)
    return ((name, sorted(rows, key=lambda row: row["pos"] or 0)) for name, rows in files.items())


def is_avro(file: Path) -> bool:
    """Whether a manifest or manifest list is an Avro file (`manifest.format` also has orc and parquet)."""
    with file.open("rb") as content:
        return content.read(4) == b"Obj\x01"


def _keys_and_values(keys: list[Any], values: list[Any]) -> Row:
    return {"keys": keys, "values": values}


def _nine_digits(text: str, kind: pa.DataType) -> str:
    if not pa.types.is_timestamp(kind):
        return text
    seconds, _, fraction = text.removesuffix("Z").replace(" ", "T").partition(".")
    return f"{seconds}.{fraction:0<9}{'Z' if kind.tz else ''}"


def _scalar(value: Any, kind: pa.DataType) -> Any:
    if pa.types.is_boolean(kind):
        return "true" if value else "false"
    if pa.types.is_floating(kind):
        return float_bits(value, kind)
    if pa.types.is_decimal(kind):
        return format(value, "f")
    if pa.types.is_binary(kind):
        return f"0x{value.hex()}"
    return str(value)
