"""Tasks that remove files and break, and files and logs on a store."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import object_store
import pyarrow.parquet as pq
import pytest
from spark_runtimes import require_python_for_spark
from spark_sessions import program_lines
from test_cleaning_stores import NOW, OnStore

import lakebed
import lakebed.spark as ls
from lakebed import Table
from lakebed.errors import UnsupportedError

pytest.importorskip("pyspark")

pytestmark = pytest.mark.spark

CASES = [("a removal", False), ("a copy", True), ("the log", True)]
"""What breaks, and whether files are moved."""
PROGRAM = Path(__file__).with_name("removing_tasks.py")


@pytest.fixture(scope="module")
def answers(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """What the program found, in a process whose sessions have settings of their own."""
    require_python_for_spark()
    return json.loads(program_lines(PROGRAM, tmp_path_factory.mktemp("tasks"), json.dumps(CASES))[-1])


@pytest.mark.parametrize(("point", "quarantine"), CASES)
def test_a_task_that_breaks_is_ended_by_the_next(answers, point: str, quarantine: bool):
    """By Spark, which tries it again, or by a run with the same log where Spark does not."""
    for master in ("local[2,3]", "local[2]"):
        found = answers[f"{master}, {point}, {quarantine}"]
        did = "moved" if quarantine else "removed"
        assert found["broke"]
        assert found["gone"] == found["lost"]
        assert found["logged"] == found["lost"]
        assert found["whole"]
        # A run that begins anew finds no more what the first has removed.
        allowed = {did, "kept"} if master == "local[2]" else {did}
        assert set(found["outcomes"].values()) <= allowed
        assert found["errors"] == (1 if master == "local[2]" else 0)
        assert found["restored"] == (found["lost"] if quarantine else [])


@pytest.mark.parametrize("moves", [False, True])
def test_files_and_log_on_a_store(spark, tmp_path: Path, moves: bool):
    pytest.importorskip("obstore")
    with object_store.server() as server:
        made = OnStore(server, "obstore", f"spark-{moves}")
        table, before = made.opened(server), made.names("t")
        rows = table.orphans(NOW).to_arrow()
        pq.write_table(rows, tmp_path / "rows")
        base = made.uri.removesuffix("/t")
        frame = ls.apply(
            spark,
            spark.read.parquet(str(tmp_path / "rows")),
            table,
            f"{base}/q" if moves else None,
            log=f"{base}/log",
            younger=NOW,
        )
        found = {Path(row.file_path).name: row.outcome for row in frame.collect()}
        assert set(found.values()) == {"moved" if moves else "removed"}
        assert {Path(name).name for name in before - made.names("t")} == found.keys()
        assert "log.json" in made.names("log")
        if moves:
            assert lakebed.restore(f"{base}/log", table).counts == {"restored": len(found)}
            assert made.names("t") == before
        for library in ("pyarrow", "fsspec"):
            with pytest.raises(UnsupportedError, match="does not write a log"):
                ls.apply(
                    spark,
                    spark.read.parquet(str(tmp_path / "rows")),
                    made_by(made, server, library),
                    log=f"{base}/l",
                )


def made_by(made: OnStore, server: str, library: str) -> Table:
    return lakebed.open_table(made.uri, storage=object_store.client(library, server))
