"""Who wrote a snapshot, by columns of `snapshots` and by filters on elements of its summary."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from command_line import complaint, printed
from iceberg_made import MadeTable, entry

import lakebed
from lakebed.errors import PredicateError
from lakebed.table import Table
from shared_data import SAMPLE_TABLE

SPARK = {
    "operation": "append",
    "engine-name": "spark",
    "engine-version": "4.0.1",
    "app-id": "local-1",
    "spark.app.id": "local-1",
    "user": "ann",
}
TRINO = {"operation": "append", "trino_query_id": "20260102_1", "trino_user": "it's"}


@pytest.fixture
def table(tmp_path: Path) -> Table:
    """A table that Spark, Trino and who says nothing wrote to."""
    made = MadeTable(tmp_path / "t", (1, "id", "long"))
    manifests: list[Any] = []
    for number, summary in enumerate((SPARK, TRINO, {"operation": "append"}), 1):
        manifests.append(
            made.manifest(entry(path=f"f{number}"), name=f"m{number}.avro") | {"added_snapshot_id": number}
        )
        parent: dict[str, Any] = {} if number == 1 else {"parent_snapshot_id": number - 1}
        made.commit(*manifests, summary=summary, **parent)
    return made.open()


def test_the_writer_of_each_snapshot(table: Table) -> None:
    columns = ["engine", "engine_version", "application", "user"]
    assert [tuple(row.values()) for row in table.snapshots(columns=columns).to_arrow().to_pylist()] == [
        ("spark", "4.0.1", "local-1", "ann"),
        ("Trino", None, None, "it's"),
        (None, None, None, None),
    ]


def test_random_users_of_paimon_are_nobody() -> None:
    rows = lakebed.open_table(SAMPLE_TABLE).snapshots().to_arrow()
    assert rows["user"].null_count == rows["engine"].null_count == rows.num_rows
    assert rows["commit_user"].null_count == 0


@pytest.mark.parametrize(
    ("condition", "ids"),
    [
        ("summary['user'] = 'ann'", [1]),
        ("summary['trino_user'] = 'it''s'", [2]),
        ("'ann' = summary['user']", [1]),
        ("summary['user'] IS NULL", [2, 3]),
        ("summary['user'] IS NOT NULL OR summary['trino_query_id'] LIKE '2026%'", [1, 2]),
        ("NOT summary['user'] = 'ann'", []),
        ("\"summary\"['user'] IN ('ann', 'bob') AND snapshot_id < 9", [1]),
        ("starts_with(summary['engine-name'], 'sp')", [1]),
        (lakebed.col("summary")["trino_user"] == "it's", [2]),
    ],
)
def test_elements_of_the_summary_are_tested(table: Table, condition: Any, ids: list[int]) -> None:
    for columns in (["snapshot_id"], ["snapshot_id", "summary"]):
        rows = table.snapshots(filter=condition, columns=columns).to_arrow()
        assert rows.schema.names == columns
        assert rows["snapshot_id"].to_pylist() == ids
    assert table.snapshots(filter=condition).to_arrow()["snapshot_id"].to_pylist() == ids


def test_elements_on_the_command_line(table: Table) -> None:
    words = ("snapshots", table.location, "--filter", "summary['user'] = 'ann'", "--columns", "snapshot_id")
    assert printed(*words) == [{"snapshot_id": 1}]
    said = complaint("snapshots", table.location, "--filter", "summary['user'] > 1", code=2)
    assert "column \"summary\"['user'] of type Utf8: cannot take a number" in said


@pytest.mark.parametrize(
    ("condition", "meant"),
    [
        ("summary['user'", 'expected "\\]"'),
        ("summary[1] = 'a'", "expected a key in '…'"),
        ("operation['user'] = 'a'", "only maps from texts have elements"),
        ("bucket(2, summary['user']) = 1", "a transform takes a column"),
        ("nothing['user'] = 'a'", 'no column "nothing"'),
    ],
)
def test_what_is_no_element_is_an_error(table: Table, condition: str, meant: str) -> None:
    with pytest.raises(PredicateError, match=meant):
        table.snapshots(filter=condition).to_arrow()


def test_conditions_on_the_table_have_no_elements(table: Table) -> None:
    for opened, column in ((table, "id"), (lakebed.open_table(SAMPLE_TABLE), "region")):
        with pytest.raises(PredicateError, match="elements of maps are only tested in rows of views"):
            opened.files(where=f"{column}['user'] = 'a'").to_arrow()


@pytest.mark.parametrize("wrong", [lambda: lakebed.col("c")[1], lambda: lakebed.col("c")["a"]["b"]])  # type: ignore[index]
def test_keys_are_texts_and_elements_have_none(wrong: Any) -> None:
    with pytest.raises(TypeError):
        wrong()
    with pytest.raises(TypeError, match="a transform takes a column"):
        lakebed.col("c")["a"].year()
