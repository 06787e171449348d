"""The engines plan the same files, counts and sums from the tables of the benchmark of planning."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from java_engine import ENGINES, class_path, java_and_maven

RUN = ENGINES.parents[1] / "benches" / "planning" / "run.py"
pytestmark = pytest.mark.jvm


@pytest.mark.parametrize(
    ("tables", "tasks"),
    [
        ("iceberg,iceberg-small-manifests", "plan"),
        ("iceberg-deletes", "plan,partition,bounds,files"),
        ("paimon", "plan"),
        ("paimon-keys", "plan,partition,bounds,files"),
    ],
)
def test_java_plans_what_was_written(tables: str, tasks: str, tmp_path: Path):
    java_and_maven()
    engine = tables.partition("-")[0].partition(",")[0]
    class_path(ENGINES / f"{engine}.xml")
    # Appends of 100 files have all regions, and each bucket has files.
    chosen = ("--files", "1000", "--rounds", "0", "--readers", f"{engine}-java")
    command = [
        sys.executable,
        str(RUN),
        "--folder",
        str(tmp_path),
        *chosen,
        "--tables",
        tables,
        "--tasks",
        tasks,
    ]
    done = subprocess.run(command, capture_output=True, text=True, timeout=280)
    assert done.returncode == 0, done.stderr
    rows = [
        [cell.strip() for cell in line.split("|")] for line in done.stdout.splitlines() if line[:1] == "|"
    ]
    found = {(row[2], row[3]): row[6] for row in rows[2:]}
    assert list(found) == [(table, task) for table in tables.split(",") for task in tasks.split(",")]
    assert all(float(seconds) > 0 for seconds in found.values()), done.stdout
