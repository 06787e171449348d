"""lakebed commits to copies of golden tables, and Paimon's Java engine plans what it should then."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest
from java_engine import JavaEngine

import lakebed
from lakebed.errors import UnsupportedError
from shared_data import GoldenTable, each_golden_paimon_table

pytestmark = pytest.mark.jvm


@each_golden_paimon_table()
def test_java_plans_what_lakebed_commits(table: GoldenTable, tmp_path: Path, paimon_java: JavaEngine):
    copy = Path(shutil.copytree(table.path, tmp_path / table.name))

    def plan() -> Any:
        return paimon_java.ask("plan", table=copy)

    before = plan()
    if "error" in before or not before["files"]:
        pytest.skip(f"{table.name} has no plan")
    try:
        lakebed.open_table(copy).rewrite_manifests(sort=True)
    except UnsupportedError as refused:
        pytest.skip(f"{table.name}: {refused}")
    assert plan() == before
    files = lakebed.open_table(copy).files().to_arrow().slice(0, 1)
    try:
        lakebed.open_table(copy).delete_files(files)
    except UnsupportedError as refused:
        pytest.skip(f"{table.name}: {refused}")
    (name,) = (path.rpartition("/")[2] for path in files["file_path"].to_pylist())
    after = plan()
    assert after["files"] == [file for file in before["files"] if file != name]
    deletions = before["deletion_files"].items()
    assert after["deletion_files"].keys() == {file for file, _ in deletions if file != name}
