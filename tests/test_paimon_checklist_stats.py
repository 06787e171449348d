"""What readers of Paimon must do, a test a rule: statistics of files."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from paimon_made import ADD, MadeTable, entry, field, row

import lakebed
from shared_data import shared_paimon_table

ABC = [("a", pa.int64()), ("b", pa.int64()), ("c", pa.int64())]


@pytest.mark.parametrize(
    ("columns", "known"),
    [(None, "abc"), (["c"], "c"), (["c", "a"], "ca"), ([], "")],
    ids=["null: all", "one", "two in their own order", "none"],
)
def test_statistics_of_all_some_or_no_columns(tmp_path: Path, columns: list[str] | None, known: str):
    made = MadeTable(tmp_path / "t", *((name, "BIGINT") for name, _ in ABC))
    numbers = {name: number for number, name in enumerate("abc", 1)}
    types = [(name, pa.int64()) for name in known]
    bounds = row(types, **{name: numbers[name] for name in known})
    stats = {"_MIN_VALUES": bounds, "_MAX_VALUES": bounds, "_NULL_COUNTS": [numbers[name] for name in known]}
    made.commit(entry(ADD, "f", value_stats=stats, value_stats_cols=columns))
    (read,) = lakebed.open_table(made.root).files(stats=list("abc")).to_arrow()["stats"].to_pylist()
    for name, number in numbers.items():
        expected = number if name in known else None
        found = [read[name][part] for part in ("lower_bound", "upper_bound", "null_count")]
        assert found == [expected] * 3, name


def test_statistics_of_system_columns_too():
    root = shared_paimon_table("append_table_row_tracking_with_compact")
    table = lakebed.open_table(root)
    names = [column["name"] for column in table.schemas().to_arrow()["fields"].to_pylist()[-1]]
    rows = table.entries(columns=["write_cols", "row_count"], stats=names).to_arrow().to_pylist()
    assert any(set(entry["write_cols"] or []) - set(names) for entry in rows)
    for entry_row in rows:
        assert all(entry_row["stats"][name]["null_count"] is not None for name in names)


def test_a_column_younger_than_the_file_is_null_in_every_row(made: MadeTable):
    made.write_schema(1, fields=[field(0, "id", "BIGINT"), field(7, "new", "INT")], highestFieldId=7)
    made.commit(entry(ADD, "f", row_count=5), schemaId=1)
    (read,) = lakebed.open_table(made.root).files(stats=["new"]).to_arrow()["stats"].to_pylist()
    assert read["new"]["null_count"] == 5
    assert read["new"]["lower_bound"] is read["new"]["upper_bound"] is None


def test_a_column_that_was_not_collected_is_unknown(made: MadeTable):
    made.commit(entry(ADD, "f", row_count=5, value_stats_cols=[]))
    (read,) = lakebed.open_table(made.root).files(stats=["id"]).to_arrow()["stats"].to_pylist()
    assert set(read["id"].values()) <= {None, 5}
    assert read["id"]["null_count"] is None


def retyped(made: MadeTable, kind: str) -> dict[str, Any]:
    """Statistics of a column that became of another type after a file was written with 5 to 7 as INT."""
    types = [("id", pa.int32())]
    stats = {"_MIN_VALUES": row(types, id=5), "_MAX_VALUES": row(types, id=7), "_NULL_COUNTS": [2]}
    made.write_schema(0, ("id", "INT"))
    made.write_schema(1, ("id", kind))
    made.commit(entry(ADD, "f", value_stats=stats, row_count=9, schema_id=0), schemaId=1)
    (read,) = lakebed.open_table(made.root).files(stats=["id"]).to_arrow()["stats"].to_pylist()
    column: dict[str, Any] = read["id"]
    return column


def test_bounds_of_a_wider_type_are_those_written(made: MadeTable):
    read = retyped(made, "BIGINT")
    assert (read["lower_bound"], read["upper_bound"], read["null_count"]) == (5, 7, 2)


def test_a_real_table_with_a_wider_column():
    table = lakebed.open_table(shared_paimon_table("append_with_bitmap_alter_table"))
    files = table.files(stats=["f1"]).to_arrow()
    kinds = {part.name: part.type for part in files.schema.field("stats").type.field("f1").type}
    assert kinds["lower_bound"] == kinds["upper_bound"] == pa.int64()
    assert set(files["schema_id"].to_pylist()) == {0, 1}
    bounds = {
        (stats["f1"]["lower_bound"], stats["f1"]["upper_bound"]) for stats in files["stats"].to_pylist()
    }
    assert bounds == {(10, 20), (10, 30)}


def test_bounds_of_numbers_do_not_bound_their_texts(made: MadeTable):
    read = retyped(made, "STRING")
    assert (read["lower_bound"], read["upper_bound"], read["null_count"]) == (None, None, 2)
