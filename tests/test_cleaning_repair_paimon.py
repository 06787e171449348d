"""Broken tables of Paimon are repaired by reviewed rows, and nothing else of them changes."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import small_tables
from paimon_made import ADD
from paimon_made import MadeTable as PaimonTable
from paimon_made import entry as paimon_entry
from test_cleaning_repair import planned, said
from test_verify_views import index_manifest

import lakebed
from lakebed.cleaning import repairing
from lakebed.errors import CommitConflictError
from shared_data import each_golden_paimon_table


@pytest.mark.parametrize("keyed", [False, True])
def test_files_of_paimon(keyed: bool, tmp_path: Path) -> None:
    keys = {"primaryKeys": ["id"], "options": {"bucket": "1"}} if keyed else {}
    made = PaimonTable(tmp_path / "p", ("id", "INT NOT NULL" if keyed else "INT"), **keys)
    made.commit(paimon_entry(ADD, "a", row_count=4), paimon_entry(ADD, "b", row_count=4))
    table = lakebed.open_table(made.root)
    paths = table.files(columns=["file_path"]).to_arrow()["file_path"].to_pylist()
    small_tables.data(Path(paths[0]).parent, "a")
    rows = planned(table, "data_files")
    # Without a file older rows of its keys are returned again.
    assert said(rows) == [("data_files", "b", None if keyed else 4, 0)]
    done = lakebed.apply(rows, table, log=tmp_path / "log")
    assert done.counts == {"kept" if keyed else "repaired": 1}
    assert done.table.files().to_arrow().num_rows == (2 if keyed else 1)


@pytest.mark.parametrize(
    ("gone", "kinds", "target", "lost"),
    [
        ("manifest-list-3-1", "AAA", 2, 3),
        ("manifest-2-0", "AAA", 1, 8),
        ("manifest-2-0", "AAC", 1, 5),
        ("manifest-2-0", "AOA", 1, None),
    ],
)
@pytest.mark.parametrize("keyed", [False, True])
def test_the_last_snapshot_of_paimon_that_is_whole(
    keyed: bool, gone: str, kinds: str, target: int, lost: int | None, tmp_path: Path
) -> None:
    keys = {"primaryKeys": ["id"], "options": {"bucket": "1"}} if keyed else {}
    made = PaimonTable(tmp_path / "p", ("id", "INT NOT NULL" if keyed else "INT"), **keys)
    words = {"A": "APPEND", "C": "COMPACT", "O": "OVERWRITE"}
    for name, kind, (total, delta) in zip("abc", kinds, [(4, 4), (9, 5), (12, 3)], strict=True):
        numbers = {"totalRecordCount": total, "deltaRecordCount": delta, "commitKind": words[kind]}
        made.commit(paimon_entry(ADD, name, row_count=delta), **numbers)
    table = lakebed.open_table(made.root)
    (made.root / "manifest" / gone).unlink()
    rows = planned(table, "rollback")
    # An append to a table with keys may have updated rows.
    lost = None if keyed else lost
    expected = [("rollback", lost, 0 if lost is not None else None)]
    assert [(kind, lost, back) for kind, _, lost, back in said(rows)] == expected
    assert rows["snapshot_id"].to_pylist() == [target]
    done = lakebed.apply(rows, table, log=tmp_path / "log")
    assert done.counts == {"kept" if lost is None else "repaired": 1}
    if lost is None:
        assert done.table.snapshot_id == 3
        return
    assert done.table.snapshot_id == 4
    assert done.table.files().to_arrow().num_rows == target
    snapshot = done.table.snapshots().to_arrow().to_pylist()[-1]
    assert (snapshot["total_record_count"], snapshot["delta_record_count"]) == (
        4 if target == 1 else 9,
        4 - 12 if target == 1 else 9 - 12,
    )
    # Nothing is removed, and what others commit is read.
    assert done.table.snapshots().to_arrow()["snapshot_id"].to_pylist() == [1, 2, 3, 4]
    assert planned(done.table, "rollback").num_rows == 0


def test_a_way_back_from_an_index_manifest_that_is_gone(tmp_path: Path) -> None:
    made = PaimonTable(tmp_path / "p", ("id", "INT"))
    made.commit(paimon_entry(ADD, "a", row_count=4), totalRecordCount=4, deltaRecordCount=4)
    index_manifest(made, ("a", 1, 20))
    snapshot = made.root / "snapshot" / "snapshot-2"
    document = json.loads(snapshot.read_text()) | {"commitKind": "COMPACT"}
    snapshot.write_text(json.dumps(document))
    (made.root / "manifest" / "index-manifest-1").unlink()
    rows = planned(lakebed.open_table(made.root), "rollback")
    assert said(rows) == [("rollback", "index-manifest-1", 0, 0)]
    assert rows["snapshot_id"].to_pylist() == [1]


def test_a_snapshot_that_is_not_the_latest_any_more(tmp_path: Path) -> None:
    table = small_tables.paimon(tmp_path / "p", "bucket-0/a.parquet", "bucket-0/b.parquet")
    old = table.at(snapshot=1)
    with pytest.raises(CommitConflictError, match="snapshot 2 is the latest by now, not 1"):
        repairing._back(old, 1)


def test_vectors_of_paimon(tmp_path: Path) -> None:
    made = PaimonTable(tmp_path / "p", ("id", "INT"))
    made.commit(paimon_entry(ADD, "a", row_count=4))
    index_manifest(made, ("a", 1, 20))
    table = lakebed.open_table(made.root)
    small_tables.data(Path(table.files().to_arrow()["file_path"][0].as_py()).parent, "a")
    rows = planned(table, "data_files", "delete_files")
    assert [one[0::3] for one in said(rows)] == [("delete_files", 1)]
    done = lakebed.apply(rows, table, log=tmp_path / "log")
    assert done.counts == {"repaired": 1}
    assert done.table.deletes().to_arrow().num_rows == 0
    assert planned(done.table, "data_files", "delete_files").num_rows == 0


@pytest.mark.parametrize("branch", ["main", "b"])
def test_hints_of_paimon(branch: str, tmp_path: Path) -> None:
    table = small_tables.paimon(tmp_path / "p", "bucket-0/a.parquet", "bucket-0/b.parquet")
    if branch != "main":
        table.create_tag("t")
        table.create_branch(branch, at="t")
    folder = Path(table.location) / ("" if branch == "main" else f"branch/branch-{branch}") / "snapshot"
    right = {
        name: (folder / name).read_text() if (folder / name).exists() else "2"
        for name in ("EARLIEST", "LATEST")
    }
    assert table.repair_plan().to_arrow().num_rows == 0
    (folder / "LATEST").write_text("7")
    (folder / "EARLIEST").write_text("what")
    rows = table.repair_plan().to_arrow()
    assert said(rows) == [("hints", "EARLIEST", 0, 0), ("hints", "LATEST", 0, 0)]
    done = lakebed.apply(rows, table, log=tmp_path / "log")
    assert done.counts == {"repaired": 2}
    assert {name: (folder / name).read_text() for name in right} == right
    assert table.verify().to_arrow().num_rows == 0


@each_golden_paimon_table()
def test_nothing_is_to_be_repaired_of_what_paimon_reads(table: Any) -> None:
    opened = lakebed.open_table(table.path)
    kinds = ["hints", "main", "lists", "rollback", "snapshots", "manifests", "duplicates"]
    assert opened.repair_plan(kinds).to_arrow().num_rows == 0
