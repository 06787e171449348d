"""Manifests in ORC and Parquet: those of lakebed have the schemas of those of Paimon's Java."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from java_engine import JavaEngine
from paimon_real import MadeTable, marked_elsewhere
from test_paimon_columnar_commits import file_schema

pytestmark = pytest.mark.jvm

MARKED = {"data-a-0.parquet": [0]}


def schemas(root: Path, new: set[str]) -> dict[str, set[str]]:
    """The schemas of new files by their kind."""
    found: dict[str, set[str]] = {}
    for name in new:
        kind = next(kind for kind in ("index-manifest", "manifest-list", "manifest") if name.startswith(kind))
        found.setdefault(kind, set()).add(file_schema(root / "manifest" / name))
    return found


@pytest.mark.parametrize("manifests", ["orc", "parquet"])
def test_files_of_a_commit_have_javas_schemas(manifests: str, tmp_path: Path, paimon_java: JavaEngine):
    made = MadeTable(tmp_path / "own")
    options = {"bucket": "-1", "deletion-vectors.enabled": "true", "manifest.format": manifests}
    made.create(options)
    made.now().append_files(made.written("emea", "a", 1, 2))
    before = {path.name for path in (made.root / "manifest").iterdir()}
    java_table = shutil.copytree(made.root, tmp_path / "java")
    # The first of a copy is Java's alone, so that both write all kinds of files.
    paimon_java.ask("append", table=java_table, rows=[[3, "emea", None, None]])
    paimon_java.ask("prepare_mark", table=java_table, files=MARKED)
    paimon_java.ask("commit_prepared", table=java_table)
    files, removed = marked_elsewhere(paimon_java, made, MARKED)
    made.now().append_files(made.written("emea", "b", 3))
    made.now().add_deletes(files, removed_deletes=removed)
    ours, theirs = (
        schemas(root, {path.name for path in (root / "manifest").iterdir()} - before)
        for root in (made.root, java_table)
    )
    assert ours == theirs
    assert ours.keys() == {"index-manifest", "manifest-list", "manifest"}
    assert all(len(found) == 1 for found in ours.values())
