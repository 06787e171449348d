"""Compactions, changelogs and deletion vectors: Paimon plans what it should, conflicts are ones."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from java_engine import EngineError, JavaEngine
from paimon_real import MadeTable, index_files, marked_elsewhere

import lakebed
from lakebed import paimon
from lakebed.errors import CommitConflictError

pytestmark = pytest.mark.jvm

TOP = 5
A, B = "data-a-0.parquet", "data-b-0.parquet"


@pytest.fixture(params=["avro", "orc", "parquet"])
def manifests(request: pytest.FixtureRequest) -> str:
    """The format of the table's manifests."""
    return str(request.param)


@pytest.fixture
def keyed(tmp_path: Path, manifests: str) -> MadeTable:
    """Two files of a bucket whose rows replace each other."""
    made = MadeTable(tmp_path / "own", ("region", "id"))
    options = {"bucket": "1", "num-sorted-run.compaction-trigger": "100", "num-levels": "6"}
    options["manifest.format"] = manifests
    made.create(options)
    for name, ids in (("a", (1, 2)), ("b", (2, 3))):
        made.now().append_files(made.written("emea", name, *ids))
    return made


def rows(java: JavaEngine, made: MadeTable) -> list[int]:
    return sorted(int(row["id"]) for row in java.ask("rows", table=made.root))


def compacted_by(java: JavaEngine, root: Path) -> Any:
    """The snapshot of Java's own compaction."""
    java.ask("prepare_compact", table=root)
    return java.ask("commit_prepared", table=root)


def compacted(made: MadeTable, name: str = "c") -> lakebed.Table:
    paths = [f"region=emea/bucket-0/data-{one}-0.parquet" for one in "ab"]
    return made.now().replace_files(paths, made.written("emea", name, 1, 2, 3, level=TOP))


def test_java_reads_and_compacts_behind_a_compaction(keyed: MadeTable, paimon_java: JavaEngine):
    assert rows(paimon_java, keyed) == [1, 2, 3]
    java_table = shutil.copytree(keyed.root, keyed.root.with_name("java"))
    theirs = compacted_by(paimon_java, java_table)
    table = compacted(keyed)
    ours = paimon.read_snapshot(keyed.root / "snapshot" / f"snapshot-{table.snapshot_id}")
    same = ["id", "commitKind", "totalRecordCount", "deltaRecordCount"]
    assert [ours[key] for key in same] == [theirs[key] for key in same]
    # The engine's own compaction leaves one file of the same level.
    other = lakebed.open_table(java_table).files(columns=["level", "record_count"]).to_arrow().to_pylist()
    assert table.files(columns=["level", "record_count"]).to_arrow().to_pylist() == other
    assert paimon_java.ask("plan", table=keyed.root)["files"] == ["data-c-0.parquet"]
    assert rows(paimon_java, keyed) == [1, 2, 3]
    keyed.now().append_files(keyed.written("emea", "d", 3, 4))
    compacted_by(paimon_java, keyed.root)
    assert rows(paimon_java, keyed) == [1, 2, 3, 4]
    assert len(keyed.live()) == 1


def test_of_two_compactions_the_second_is_a_conflict(keyed: MadeTable, paimon_java: JavaEngine):
    java_table = MadeTable(shutil.copytree(keyed.root, keyed.root.with_name("java")), keyed.primary_keys)
    compacted_by(paimon_java, java_table.root)
    with pytest.raises(CommitConflictError, match="another commit has removed it"):
        compacted(java_table)
    paimon_java.ask("prepare_compact", table=keyed.root)
    compacted(keyed)
    with pytest.raises(EngineError, match="conflicts"):
        paimon_java.ask("commit_prepared", table=keyed.root)
    assert rows(paimon_java, keyed) == rows(paimon_java, java_table) == [1, 2, 3]


def test_keys_that_java_put_into_a_level_are_a_conflict(keyed: MadeTable, paimon_java: JavaEngine):
    late = keyed.written("emea", "late", 2, 9, level=TOP)
    compacted_by(paimon_java, keyed.root)
    with pytest.raises(CommitConflictError, match="same bucket and level"):
        keyed.now().append_files(late)
    keyed.now().append_files(keyed.written("emea", "fits", 8, 9, level=TOP))
    assert rows(paimon_java, keyed) == [1, 2, 3, 8, 9]
    assert paimon_java.ask("read", table=keyed.root)["plan"]["files"]


def test_a_changelog_is_what_java_reads_as_one(keyed: MadeTable, paimon_java: JavaEngine):
    changes = keyed.written("emea", "changes", 5)
    table = keyed.now().append_files(keyed.written("emea", "d", 5), changelog=changes)
    said = paimon.read_snapshot(keyed.root / "snapshot" / f"snapshot-{table.snapshot_id}")
    answer = paimon_java.ask("read", table=keyed.root)
    (listed,) = answer["lists"][said["changelogManifestList"]]
    (entry,) = answer["manifests"][listed["file_name"]]
    assert (entry["file_name"], entry["kind"], said["changelogRecordCount"]) == (
        "data-changes-0.parquet",
        "ADD",
        1,
    )
    assert rows(paimon_java, keyed) == [1, 2, 3, 5]


@pytest.fixture
def plain(tmp_path: Path, manifests: str) -> MadeTable:
    """A table without buckets that has deletion vectors: two files of four rows."""
    made = MadeTable(tmp_path / "own")
    options = {"bucket": "-1", "deletion-vectors.enabled": "true", "manifest.format": manifests}
    made.create(options)
    for name, ids in (("a", (1, 2, 3, 4)), ("b", (5, 6, 7, 8))):
        made.now().append_files(made.written("emea", name, *ids))
    return made


def test_java_applies_the_vectors_that_are_committed(plain: MadeTable, paimon_java: JavaEngine):
    files, removed = marked_elsewhere(paimon_java, plain, {A: [0, 2]})
    table = plain.now().add_deletes(files, removed_deletes=removed)
    said = paimon.read_snapshot(plain.root / "snapshot" / f"snapshot-{table.snapshot_id}")
    assert (said["commitKind"], said["deltaRecordCount"]) == ("OVERWRITE", 0)
    assert rows(paimon_java, plain) == [2, 4, 5, 6, 7, 8]
    files, removed = marked_elsewhere(paimon_java, plain, {A: [1], B: [3]})
    assert removed
    with pytest.raises(CommitConflictError, match="has a vector in"):
        plain.now().add_deletes(files)
    plain.now().add_deletes(files, removed_deletes=removed)
    assert rows(paimon_java, plain) == [4, 5, 6, 7]
    assert set(paimon_java.ask("plan", table=plain.root)["deletion_files"]) == {A, B}
    # What becomes of them: a compaction without the rows that are gone, and a file that goes.
    joined = plain.written("emea", "c", 4)
    plain.now().replace_files(["region=emea/bucket-0/data-a-0.parquet"], joined)
    assert rows(paimon_java, plain) == [4, 5, 6, 7]
    plain.now().delete_files(["region=emea/bucket-0/data-b-0.parquet"])
    assert rows(paimon_java, plain) == [4]
    assert index_files(plain.root) == []


def test_java_goes_on_without_dangling_vectors(plain: MadeTable, paimon_java: JavaEngine, tmp_path: Path):
    files, _ = marked_elsewhere(paimon_java, plain, {A: [0], B: [3]})
    marked = plain.now().add_deletes(files)
    table = plain.now().delete_files(["region=emea/bucket-0/data-b-0.parquet"])
    assert table.dangling_deletes().to_arrow().num_rows == 0
    # As a writer leaves it that forgets the vector of the file that it removes.
    before, after = (plain.root / "snapshot" / f"snapshot-{one.snapshot_id}" for one in (marked, table))
    said = json.loads(after.read_text())
    after.write_text(json.dumps({**said, "indexManifest": json.loads(before.read_text())["indexManifest"]}))
    table = plain.now()
    dangling = table.dangling_deletes().to_arrow()
    assert dangling.num_rows == 1
    done = lakebed.apply(dangling, table, log=tmp_path / "log")
    assert done.counts == {"dropped": 1}
    assert rows(paimon_java, plain) == [2, 3, 4]
    assert set(paimon_java.ask("plan", table=plain.root)["deletion_files"]) == {A}
    paimon_java.ask("prepare_mark", table=plain.root, files={A: [1]})
    paimon_java.ask("commit_prepared", table=plain.root)
    assert rows(paimon_java, plain) == [3, 4]
    assert plain.now().dangling_deletes().to_arrow().num_rows == 0


def test_vectors_race_with_java(plain: MadeTable, paimon_java: JavaEngine):
    files, _ = marked_elsewhere(paimon_java, plain, {A: [0]})
    paimon_java.ask("prepare_mark", table=plain.root, files={"data-a-0.parquet": [1]})
    plain.now().add_deletes(files)
    with pytest.raises(EngineError, match="onflict"):
        paimon_java.ask("commit_prepared", table=plain.root)
    late, removed = marked_elsewhere(paimon_java, plain, {A: [3]})
    paimon_java.ask("prepare_mark", table=plain.root, files={"data-a-0.parquet": [2]})
    paimon_java.ask("commit_prepared", table=plain.root)
    with pytest.raises(CommitConflictError, match="another commit has replaced it"):
        plain.now().add_deletes(late, removed_deletes=removed)
    assert rows(paimon_java, plain) == [2, 4, 5, 6, 7, 8]
    paimon_java.ask("delete", table=plain.root, files=["data-b-0.parquet"])
    assert rows(paimon_java, plain) == [2, 4]


def test_the_same_partitions_are_overwritten(plain: MadeTable, paimon_java: JavaEngine):
    """Java overwrites the partitions of its rows unless told which."""
    plain.now().append_files(plain.written("us", "c", 9))
    java_table = shutil.copytree(plain.root, plain.root.with_name("java"))
    paimon_java.ask("overwrite", table=java_table, rows=[[20, "emea", None, None]], partition={})
    plain.now().overwrite_partitions(plain.written("emea", "d", 20), None)
    theirs = paimon_java.ask("rows", table=java_table)
    assert sorted(int(row["id"]) for row in theirs) == rows(paimon_java, plain) == [9, 20]
