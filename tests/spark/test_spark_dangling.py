"""Dangling deletes as Iceberg's own action finds them, which since 1.12 asks the index of its plans."""

from __future__ import annotations

from pathlib import Path

import pytest
from java_engine import EngineError
from spark_runtimes import SparkRuntimes
from test_dangling import CASES, counted, random_files
from test_iceberg_checklist_deletes import Files
from trust import long_or

import lakebed

pytest.importorskip("pyspark")


pytestmark = [pytest.mark.spark, pytest.mark.jvm, pytest.mark.spark_35]


def check(files: Files, spark_runtimes: SparkRuntimes) -> None:
    table = files.open()
    rows = table.deletes(columns=["file_path"], filter="data_file_count = 0").to_arrow()
    ours = {*rows["file_path"].to_pylist()}
    assert counted(table)["dangling_delete_file_count"] == len(ours)
    assert spark_runtimes.dangling(files.table.root) == ours
    assert counted(table.refresh())["dangling_delete_file_count"] == 0


@pytest.mark.parametrize("case", CASES)
def test_each_kind_of_delete(case: str, tmp_path: Path, spark_runtimes: SparkRuntimes) -> None:
    add, _, _ = CASES[case]
    files = add(Files(tmp_path, version=3).add(0, 3, "a1"))
    if "of one file, of another" in case or "no schema" in case:
        # Its plans refuse them: a delete of another partition than its file, a column that no schema has.
        with pytest.raises(EngineError, match=r"a1|77"):
            check(files, spark_runtimes)
    else:
        check(files, spark_runtimes)


def named(table: lakebed.Table) -> set[tuple[str, int | None]]:
    """The deletes of a table, by their names and offsets."""
    rows = table.deletes(columns=["file_path", "content_offset"]).to_arrow().to_pylist()
    return {(Path(row["file_path"]).name, row["content_offset"]) for row in rows}


@pytest.mark.parametrize("seed", long_or(range(6), range(60)))
def test_applied_they_are_those_that_the_action_removes(
    seed: int, tmp_path: Path, spark_runtimes: SparkRuntimes
) -> None:
    theirs, ours = (
        random_files(seed, tmp_path / name, foreign=False, prefix=f"{tmp_path}/{name}/t/data/")
        for name in "ab"
    )
    tables = [theirs.open(), ours.open()]
    before = named(tables[0])
    spark_runtimes.dangling(theirs.table.root)
    done = lakebed.apply(tables[1].dangling_deletes().to_arrow(), tables[1], log=tmp_path / "log")
    assert named(tables[0].refresh()) == named(done.table)
    assert before - named(done.table) or not done.rows.num_rows


@pytest.mark.parametrize("seed", long_or(range(6), range(60)))
def test_random_tables(seed: int, tmp_path: Path, spark_runtimes: SparkRuntimes) -> None:
    check(random_files(seed, tmp_path, foreign=False), spark_runtimes)
