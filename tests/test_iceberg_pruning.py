"""Which files a filter leaves of an Iceberg table: those of Iceberg's Java engine, and none that a row is lost with."""

from __future__ import annotations

import re
from typing import Any

import pytest

import lakebed
from iceberg_answers import Row
from iceberg_golden import GoldenTable, each_golden_iceberg_table

ABBREVIATED = re.compile(r"\((\S+) \.\. (\S+)\)")


def leaves(expression: Any) -> list[Row]:
    """The predicates of an expression, in the order in which its text has them."""
    if isinstance(expression, bool) or expression is None:
        return []
    inner = [expression[name] for name in ("child", "left", "right") if name in expression]
    return [leaf for part in inner for leaf in leaves(part)] if inner else [expression]


def spelled_out(line: Row) -> str:
    """The SQL text of a plan's filter with its long lists in full."""
    long_lists = iter([leaf["values"] for leaf in leaves(line["filter"]) if len(leaf.get("values", ())) >= 200])
    return ABBREVIATED.sub(lambda _: f"({', '.join(map(str, next(long_lists)))})", line["sql"])


def columns_of(line: Row) -> set[str]:
    return {leaf["term"] for leaf in leaves(line["filter"])}


@each_golden_iceberg_table()
def test_data_files_are_those_of_the_engine(table: GoldenTable):
    now = table.open()
    numbered = {row["i"]: row["file_path"] for row in table.rows("plan_files")}
    for line in table.rows("plans"):
        if "files" not in line:
            continue
        at = now if line["snapshot_id"] == now.snapshot_id else now.at(snapshot=line["snapshot_id"])
        scan = at.files(columns=["content", "file_path"], where=spelled_out(line))
        kept = {row["file_path"] for row in scan.to_arrow().to_pylist() if row["content"] == 0}
        engine = {numbered[number] for number in line["files"]}
        assert kept == engine, f"{table.name}, snapshot {line['snapshot_id']}, {line['sql']}"
