"""Iceberg's types in Arrow, and values in the canonical form of the golden answers.

In that form equal means equal: floats are compared bit by bit, decimals with their scale, times with all
their digits, bytes as hex; maps are objects.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import pairwise
from typing import Any

import pyarrow as pa
import pytest
from arrow_values import canonical_by, float_bits, rows_by

import lakebed

Row = dict[str, Any]
Field = dict[str, Any]

_SCALARS: dict[str, pa.DataType] = {
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
    "uuid": pa.string(),
    "binary": pa.binary(),
    "variant": pa.binary(),
    "unknown": pa.null(),
}


def result_type(transform: str, source: Any) -> pa.DataType:
    """The type of a transform's results over values of a type."""
    if transform.startswith("bucket") or transform in ("year", "month", "hour"):
        return pa.int32()
    return pa.date32() if transform == "day" else arrow_type(source)


def arrow_type(iceberg_type: Any) -> pa.DataType:
    """The Arrow type of an Iceberg type (text, or object if nested).

    Raises: KeyError for a type this was not written for.
    """
    if isinstance(iceberg_type, str):
        numbers = [int(number) for number in re.findall(r"\d+", iceberg_type)]
        match re.sub(r"[(\[].*", "", iceberg_type):
            case "decimal":
                return pa.decimal128(*numbers)
            case "fixed" | "geometry" | "geography":
                return pa.binary()
            case name:
                return _SCALARS[name]
    match iceberg_type["type"]:
        case "struct":
            return pa.struct([(field["name"], arrow_type(field["type"])) for field in iceberg_type["fields"]])
        case "list":
            return pa.list_(arrow_type(iceberg_type["element"]))
        case "map":
            return pa.map_(arrow_type(iceberg_type["key"]), arrow_type(iceberg_type["value"]))
    raise KeyError(iceberg_type["type"])


def leaves(fields: Iterable[Field], prefix: str = "") -> Iterator[tuple[int, str, Any]]:
    """The id, dotted name and type of every field that is not nested, in the order of the schema."""
    for field in fields:
        name, kind = prefix + field["name"], field["type"]
        match kind if isinstance(kind, str) else kind["type"]:
            case "struct":
                yield from leaves(kind["fields"], f"{name}.")
            case "list":
                element = {"id": kind["element-id"], "name": "element", "type": kind["element"]}
                yield from leaves([element], f"{name}.")
            case "map":
                pair = [{"id": kind[f"{p}-id"], "name": p, "type": kind[p]} for p in ("key", "value")]
                yield from leaves(pair, f"{name}.")
            case _:
                yield field["id"], name, kind


def canonical(array: pa.Array | pa.ChunkedArray) -> list[Any]:
    """The values of an array in the canonical form."""
    return canonical_by(array, _object, _time, _scalar)


def canonical_rows(table: pa.Table) -> list[Row]:
    """The rows of a table in the canonical form."""
    return rows_by(canonical, table)


def wanted(value: Any, kind: pa.DataType) -> Any:
    """A value of a golden answer as `canonical` has it; the parts of a struct must be those of its type."""
    if value is None:
        return None
    if pa.types.is_struct(kind):
        names = [field.name for field in kind]
        assert list(value) == names, f"parts {list(value)}, expected {names}"
        return {field.name: wanted(value[field.name], field.type) for field in kind}
    if pa.types.is_map(kind):
        return {key: wanted(item, kind.item_type) for key, item in value.items()}
    if pa.types.is_list(kind):
        return [wanted(item, kind.value_type) for item in value]
    if pa.types.is_floating(kind):
        # The text is parsed at the column's width: by way of a double it could be rounded twice.
        return float_bits(pa.scalar(str(value)).cast(kind).as_py(), kind)
    return value


def wanted_rows(rows: Iterable[Row], schema: pa.Schema) -> list[Row]:
    """Rows of a golden answer as `canonical_rows` has them, names and order of columns checked."""
    return [wanted(row, pa.struct(list(schema))) for row in rows]


def assert_same_rows(rows: Sequence[Row], expected: Sequence[Row], where: str) -> None:
    """The same rows in the same order; the message names `where`, the row and what differs in it."""
    for number, (row, answer) in enumerate(zip(rows, expected, strict=False)):
        assert row == answer, f"{where}, row {number}: {difference(row, answer)}"
    assert len(rows) == len(expected), f"{where}: {len(rows)} rows, expected {len(expected)}"


def assert_same_multiset(rows: Iterable[Row], expected: Iterable[Row], where: str) -> None:
    """The same rows, each as often, in any order."""
    got, answers = (Counter(map(_text, some)) for some in (rows, expected))
    extra, lacking = (sorted((one - other).elements()) for one, other in ((got, answers), (answers, got)))
    for row, answer in zip(extra, lacking, strict=False):
        pytest.fail(f"{where}: {difference(json.loads(row), json.loads(answer))}\nin {answer}")
    assert (extra, lacking) == ([], []), f"{where}: {len(extra)} rows too many, {len(lacking)} lacking"


def difference(got: Any, answer: Any, path: str = "") -> str:
    """The first place where two values differ, and what stands there."""
    if isinstance(got, dict) and isinstance(answer, dict) and set(got) == set(answer):
        name = next(name for name in answer if got[name] != answer[name])
        return difference(got[name], answer[name], f"{path}.{name}")
    if isinstance(got, list) and isinstance(answer, list) and len(got) == len(answer):
        position = next(number for number in range(len(got)) if got[number] != answer[number])
        return difference(got[position], answer[position], f"{path}[{position}]")
    return f"{path.removeprefix('.')} is {got!r}, expected {answer!r}"


# Types of eight bytes and those of four that columns were promoted from.
_NARROW = {"int64": pa.int32(), "double": pa.float32()}


def bound_value(stored: str | None, kind: pa.DataType, source: Any) -> Any:
    """A bound of the answers, in hex, as `canonical` has it; `source` is the Iceberg type it is of."""
    if stored is None:
        return None
    if source == "uuid":
        return "-".join(stored[start:end] for start, end in pairwise((0, 8, 12, 16, 20, 32)))
    written = _NARROW.get(str(kind), kind) if len(stored) == 8 else kind
    values = lakebed.iceberg.decode_values(pa.array([bytes.fromhex(stored)]), written)
    (value,) = canonical(values.cast(kind))
    return value


def _text(row: Row) -> str:
    return json.dumps(row, sort_keys=True, ensure_ascii=False)


def _object(keys: list[Any], values: list[Any]) -> Row:
    """A map as an object with its keys as texts."""
    pairs = {str(key): value for key, value in zip(keys, values, strict=True)}
    assert len(pairs) == len(keys), f"a map with equal keys: {keys}"
    return pairs


def _time(text: str, kind: pa.DataType) -> str:
    """A time as `YYYY-MM-DDTHH:MM:SS.ffffff+00:00`, as much of it as its type has."""
    if not pa.types.is_timestamp(kind):
        return text
    return text.replace(" ", "T").replace("Z", "+00:00")


_SCALAR_FORMS: list[tuple[Callable[[pa.DataType], bool], Callable[[Any], Any]]] = [
    (pa.types.is_decimal, lambda value: format(value, "f")),
    (pa.types.is_binary, bytes.hex),
    (pa.types.is_fixed_size_binary, bytes.hex),
]


def _scalar(value: Any, kind: pa.DataType) -> Any:
    if pa.types.is_floating(kind):
        return float_bits(value, kind)
    return next((form(value) for is_kind, form in _SCALAR_FORMS if is_kind(kind)), value)
