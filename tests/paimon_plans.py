"""The engine's own plans of Paimon's golden tables: its predicates as SQL, and where it keeps too much."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import lakebed
from lakebed.table import Table
from shared_data import GoldenTable, golden_paimon_tables

Node = dict[str, Any]

_COMPARISONS = {"eq": "=", "ne": "<>", "lt": "<", "le": "<=", "gt": ">", "ge": ">="}
_BYTES = ("BYTES", "BINARY", "VARBINARY", "BLOB")


@dataclass(frozen=True)
class Place:
    """Where a table stands, and the engine's plans there."""

    table: GoldenTable
    folder: Path

    @property
    def id(self) -> str:
        return str(self.folder.relative_to(self.table.expected.parent))

    def open(self) -> Table:
        table = lakebed.open_table(self.table.path)
        name = self.folder.name
        if self.folder == self.table.expected:
            return table
        if name.startswith("at-snapshot-"):
            return table.at(snapshot=int(name.removeprefix("at-snapshot-")))
        if name.startswith("at-tag-"):
            return table.at(tag=name.removeprefix("at-tag-"))
        assert name.startswith("branch-"), f"unknown place {self.folder}"
        return table.at(branch=name.removeprefix("branch-"))

    def plans(self) -> list[dict[str, Any]]:
        plans: list[dict[str, Any]] = json.loads((self.folder / "plans.json").read_text("utf-8"))
        return plans


def places() -> list[Place]:
    """Every place that the engine planned at."""
    return [
        Place(table, file.parent)
        for table in golden_paimon_tables()
        for file in sorted(table.expected.glob("**/plans.json"))
    ]


def to_sql(node: Node) -> str:
    """A predicate as text. Raises: KeyError for an operator this was not written for."""
    match node["op"]:
        case "and" | "or":
            return "(" + f" {node['op']} ".join(to_sql(term) for term in node["args"]) + ")"
        case "not":
            return f"NOT ({to_sql(node['arg'])})"
    column = '"' + node["col"].replace('"', '""') + '"'
    literals = [_literal(value, node["type"]) for value in node.get("values", [])]
    match node["op"]:
        case "in" | "not_in":
            return f"{column} {node['op'].replace('_', ' ')} ({', '.join(literals)})"
        case "between":
            return f"{column} BETWEEN {literals[0]} AND {literals[1]}"
        case "is_null":
            return f"{column} IS NULL"
        case "is_not_null":
            return f"{column} IS NOT NULL"
        case "starts_with":
            return f"starts_with({column}, {literals[0]})"
        case "ends_with":
            return f"{column} LIKE {_quoted('%' + _escaped(node['values'][0]))}"
        case "contains":
            return f"{column} LIKE {_quoted('%' + _escaped(node['values'][0]) + '%')}"
    return f"{column} {_COMPARISONS[node['op']]} {literals[0]}"


def _literal(value: str | None, paimon_type: str) -> str:
    if value is None:
        return "NULL"
    if paimon_type.startswith(_BYTES):
        return f"X'{value.removeprefix('0x')}'"
    return value if paimon_type.startswith("BOOLEAN") else _quoted(value)


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_")


def leaves(node: Node | None) -> Iterator[Node]:
    """The tests on single columns."""
    match node:
        case None:
            return
        case {"op": "and" | "or", "args": terms}:
            for term in terms:
                yield from leaves(term)
        case {"op": "not", "arg": term}:
            yield from leaves(term)
        case _:
            yield node


# Where fewer files are kept than the engine keeps, and why none of those left out can hold a matching row.
Rule = Callable[[Node, Table, list[dict[str, Any]]], bool]


def asks_for_null(predicate: Node, table: Table, versions: list[dict[str, Any]]) -> bool:
    """A null count of zero tells that no row is null; the engine looks at it only where bounds are there."""
    wanted = {"is_null", "is_not_null"}
    return any(leaf["op"] in wanted for leaf in leaves(predicate))


def was_retyped(predicate: Node, table: Table, versions: list[dict[str, Any]]) -> bool:
    """Bounds under another type are cast where that keeps their order; the engine leaves such terms out."""
    columns = {leaf["col"] for leaf in leaves(predicate)}
    ids = {field["id"] for version in versions for field in version["fields"] if field["name"] in columns}
    types: dict[int, set[str]] = {}
    for version in versions:
        for field in version["fields"]:
            if field["id"] in ids:
                types.setdefault(field["id"], set()).add(field["type"].removesuffix(" NOT NULL"))
    return any(len(known) > 1 for known in types.values())


def mixes_partitions(predicate: Node, table: Table, versions: list[dict[str, Any]]) -> bool:
    """The partition's value tells which terms of an OR are open; the engine has only its statistics."""
    partition = set(versions[-1]["partition_keys"])
    named = {leaf["col"] for leaf in leaves(predicate)}
    return bool(named & partition) and bool(named - partition) and _has_or(predicate)


def _has_or(node: Node) -> bool:
    match node:
        case {"op": "or"} | {"op": "not", "arg": {"op": "and"}}:
            return True
        case {"op": "and", "args": terms}:
            return any(_has_or(term) for term in terms)
    return False


def no_file_has_it(predicate: Node, table: Table, versions: list[dict[str, Any]]) -> bool:
    """A column that no file of a range of rows has is null in all of them."""
    return table.properties.get("data-evolution.enabled") == "true"


def an_index_names_all_values(predicate: Node, table: Table, versions: list[dict[str, Any]]) -> bool:
    """A bitmap index tells of every pattern; the engine asks it for equal values only."""
    indexed = table.properties.get("file-index.bitmap.columns", "").split(",")
    return any(
        leaf["op"] in ("ends_with", "contains") and leaf["col"] in indexed for leaf in leaves(predicate)
    )


FEWER: tuple[Rule, ...] = (
    asks_for_null,
    was_retyped,
    mixes_partitions,
    no_file_has_it,
    an_index_names_all_values,
)


def may_hold_nan(predicate: Node, versions: list[dict[str, Any]], schema_id: int) -> bool:
    """Whether a column is of floats, and so it was in the schema that a file was written with.

    Bounds of such may leave out NaN, which is above all numbers, and the signs of zeros: only some writers
    put them in, and nothing tells which one wrote a file. The engine takes all as its own.
    """
    columns = {leaf["col"] for leaf in leaves(predicate) if leaf["type"] in ("FLOAT", "DOUBLE")}
    ids = {field["id"] for version in versions for field in version["fields"] if field["name"] in columns}
    (written,) = (version["fields"] for version in versions if version["schema_id"] == schema_id)
    return any(field["type"].startswith(("FLOAT", "DOUBLE")) for field in written if field["id"] in ids)
