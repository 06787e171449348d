"""The columns of a table as a tree, with the ids that Iceberg gives them and the types that files have."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any

from lakebed import _native
from lakebed._pyarrow import pa

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from lakebed.table import Table

UUID_BYTES = 16


@cache
def _plain() -> dict[str, pa.DataType]:
    """Of Iceberg's types without parameters those of Arrow, which is imported when they are asked for."""
    return {
        "boolean": pa.bool_(),
        "int": pa.int32(),
        "long": pa.int64(),
        "float": pa.float32(),
        "double": pa.float64(),
        "date": pa.date32(),
        "time": pa.time64("us"),
        "timestamp": pa.timestamp("us"),
        "timestamptz": pa.timestamp("us", "UTC"),
        "timestamp_ns": pa.timestamp("ns"),
        "timestamptz_ns": pa.timestamp("ns", "UTC"),
        "string": pa.string(),
        "uuid": pa.binary(UUID_BYTES),
        "binary": pa.binary(),
        "unknown": pa.null(),
    }


@dataclass(frozen=True)
class Column:
    """A column of a table, or a field, an element, a key or a value within one.

    Attributes: path, its dotted path, as `stats` names it; name, the last part of that; id, of Iceberg its
        field id; kind, "primitive", "struct", "list" or "map"; type, of a primitive the Arrow type of its
        values in files, None for one that lakebed reads no bounds of (variant, geometry); shown, the Arrow
        type of its values in views; required, whether it is never null where what it is in is not;
        repeated, whether it is within a list or a map; unique, whether it is a UUID; filled, whether files
        that lack it have a default in its place.
    """

    path: str
    name: str
    id: int | None
    kind: str
    type: pa.DataType | None
    shown: pa.DataType
    required: bool
    children: tuple[Column, ...] = ()
    repeated: bool = False
    unique: bool = False
    filled: bool = False

    def leaves(self) -> Iterator[Column]:
        """What has no fields of its own, itself or within it, in the schema's order."""
        if self.kind == "primitive":
            yield self
        for child in self.children:
            yield from child.leaves()


def columns_of(table: Table) -> tuple[Column, ...]:
    """The columns of a table's schema. Cost: none, it was read when the table was opened."""
    if table.format != "iceberg":
        return tuple(column_of(field, "") for field in table.schema)
    fields = json.loads(_native.iceberg_layout(table.core, None)[0])["fields"]
    return tuple(
        _of_iceberg(field, shown.type, "", repeated=False)
        for field, shown in zip(fields, table.schema, strict=True)
    )


def leaves_of(columns: Sequence[Column]) -> list[Column]:
    """All that have no fields of their own, in the schema's order."""
    return [leaf for column in columns for leaf in column.leaves()]


def column_of(field: pa.Field[Any], within: str, *, repeated: bool = False) -> Column:
    """The column of an Arrow field, without ids. Args: within, the path of what it is in, with a dot."""
    path, kind = within + field.name, field.type
    parts: list[pa.Field[Any]] = []
    if pa.types.is_struct(kind):
        word, parts = "struct", list(kind)
    elif pa.types.is_map(kind):
        word = "map"
        parts = [kind.key_field.with_name("key"), kind.item_field.with_name("value")]
    elif pa.types.is_list(kind) or pa.types.is_large_list(kind) or pa.types.is_fixed_size_list(kind):
        word, parts = "list", [kind.value_field.with_name("element")]
    else:
        word = "primitive"
    inside = repeated or word in ("list", "map")
    children = tuple(column_of(part, f"{path}.", repeated=inside) for part in parts)
    known = None if word != "primitive" else kind
    return Column(path, field.name, None, word, known, kind, not field.nullable, children, repeated)


def _of_iceberg(field: dict[str, Any], shown: pa.DataType, within: str, *, repeated: bool) -> Column:
    """The column of a field of Iceberg's schemas (specification, Appendix C)."""
    path, kind = within + field["name"], field["type"]

    def child(name: str, shown: pa.DataType, *, required: bool) -> Column:
        part = {"name": name, "id": kind[f"{name}-id"], "type": kind[name], "required": required}
        return _of_iceberg(part, shown, f"{path}.", repeated=True)

    word = "primitive"
    children: tuple[Column, ...] = ()
    if isinstance(kind, dict):
        word = kind["type"]
    if word == "struct":
        children = tuple(
            _of_iceberg(part, known.type, f"{path}.", repeated=repeated)
            for part, known in zip(kind["fields"], shown, strict=True)
        )
    elif word == "list":
        children = (child("element", shown.value_type, required=kind["element-required"]),)
    elif word == "map":
        children = (
            child("key", shown.key_type, required=True),
            child("value", shown.item_type, required=kind["value-required"]),
        )
    return Column(
        path,
        field["name"],
        field["id"],
        word,
        _primitive(kind) if word == "primitive" else None,
        shown,
        field["required"],
        children,
        repeated,
        unique=kind == "uuid",
        filled=field.get("initial-default") is not None,
    )


def _primitive(kind: str) -> pa.DataType | None:
    """The Arrow type of Iceberg's primitive types (specification, "Primitive Types")."""
    if found := re.fullmatch(r"decimal\(\s*(\d+)\s*,\s*(\d+)\s*\)", kind):
        return pa.decimal128(int(found[1]), int(found[2]))
    if found := re.fullmatch(r"fixed\[(\d+)\]", kind):
        return pa.binary(int(found[1]))
    return _plain().get(kind)
