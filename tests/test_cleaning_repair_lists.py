"""Files that are listed more than once are listed once, and Paimon's manifests that are gone are left out."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
import small_tables
from iceberg_made import ADDED, MadeTable, entry
from paimon_made import ADD, DELETE
from paimon_made import MadeTable as PaimonTable
from paimon_made import entry as paimon_entry
from test_cleaning_repair import ids, of_kind, orders, outcomes, planned, said
from test_iceberg_checklist_deletes import Files, vector
from test_verify_views import index_manifest

import lakebed
from lakebed.cleaning import repairing
from lakebed.errors import CommitConflictError

__all__ = ["orders"]

UNKNOWN = (None, None)


def listed(table: lakebed.Table) -> list[tuple[str, int | None]]:
    """The live files, by name, with their data sequence numbers."""
    rows = table.files(columns=["file_path", "sequence_number"]).to_arrow().to_pylist()
    return sorted((Path(row["file_path"]).name, row["sequence_number"]) for row in rows)


def test_files_that_pyiceberg_adds_twice(orders: tuple[Any, lakebed.Table], tmp_path: Path) -> None:
    catalog, table = orders
    paths = sorted(table.files(columns=["file_path"]).to_arrow()["file_path"].to_pylist())
    theirs = catalog.load_table("db.orders")
    for _ in range(2):
        theirs.add_files(paths[:2], check_duplicate_files=False)
    theirs.add_files(paths[:1], check_duplicate_files=False)
    assert theirs.scan().to_arrow().num_rows == 90
    table = table.refresh()
    rows = planned(table)
    assert said(rows) == [
        ("duplicates", Path(paths[0]).name, 30, 0),
        ("duplicates", Path(paths[1]).name, 20, 0),
    ]
    assert rows["problem"].to_pylist() == [f"the snapshot lists the file {n} times" for n in (4, 3)]
    done = lakebed.apply(rows, table, log=tmp_path / "log")
    assert done.counts == {"repaired": 2}
    assert ids(catalog) == set(range(40))
    assert catalog.load_table("db.orders").scan().to_arrow().num_rows == 40
    assert planned(done.table).num_rows == 0
    assert [name for name, _ in listed(done.table)] == sorted(Path(path).name for path in paths)
    # The first entries stay, and none says that a file was deleted: engines may remove it then.
    assert {number for _, number in listed(done.table)} == {1, 2, 3, 4}
    entries = done.table.entries(columns=["status"]).to_arrow()
    assert 2 not in entries["status"].to_pylist()
    summary = dict(done.table.snapshots().to_arrow().to_pylist()[-1]["summary"])
    assert (summary["total-records"], summary["total-data-files"]) == ("40", "4")
    assert summary["lakebed-repair"] == "duplicates 2"
    again = lakebed.apply(rows, done.table, log=tmp_path / "again")
    assert again.counts == {"kept": 2}


def test_a_manifest_that_is_listed_twice(tmp_path: Path) -> None:
    made = MadeTable(tmp_path / "t", (1, "id", "long"))
    manifest = made.manifest(
        *(entry(ADDED, f"{tmp_path}/t/data/{name}", record_count=rows) for name, rows in (("a", 5), ("b", 6)))
    )
    made.commit(manifest, manifest)
    table = made.open()
    rows = planned(table, "duplicates")
    assert said(rows) == [("duplicates", "a", 5, 0), ("duplicates", "b", 6, 0)]
    # At most the rows that were reviewed.
    done = lakebed.apply(rows.slice(1), table, log=tmp_path / "log")
    assert [name for name, _ in listed(done.table)] == ["a", "a", "b"]
    done = lakebed.apply(rows, done.table, log=tmp_path / "second")
    assert [name for name, _ in listed(done.table)] == ["a", "b"]
    errors = done.table.verify(filter="severity = 'error'").to_arrow()
    # The old snapshot stays as it is.
    assert [Path(path).name for path in errors["path"].to_pylist()] == ["snap-1.avro"]


@pytest.mark.parametrize(
    ("files", "expected", "left"),
    [
        # The first entry stays, whichever manifest has it.
        (lambda all_: all_.add(0, 3, "a").add(0, 2, "a").add(0, 4, "a"), [("a", 10, 0)], [("a", 2)]),
        # Which rows of an entry are deleted, its number does not say.
        (lambda all_: all_.add(0, 3, "a").add(0, 2, "a").add(1, 2, "d"), [("a", *UNKNOWN)], None),
        (
            lambda all_: all_.add(0, 3, "a").add(0, 2, "a").add(1, 2, "d", {"city": "b"}),
            [("a", 5, 0)],
            [("a", 2), ("d", 2)],
        ),
        (lambda all_: all_.add(0, 2, "a").add(1, 2, "d").add(1, 2, "d"), [("d", 0, 0)], [("a", 2), ("d", 2)]),
        # A later one applies to more files.
        (lambda all_: all_.add(0, 2, "a").add(1, 2, "d").add(1, 3, "d"), [("d", *UNKNOWN)], None),
        (lambda all_: all_.add(0, 2, "a").add(2, 3, "e").add(2, 3, "e"), [("e", 0, 0)], [("a", 2), ("e", 3)]),
    ],
)
def test_duplicates_with_deletes(
    files: Any, expected: list[Any], left: list[Any] | None, tmp_path: Path
) -> None:
    class Added(Files):
        def add(self, content: int, sequence: int, path: str, partition: Any = None, **values: Any) -> Added:  # type: ignore[override]
            values |= {} if partition is None else {"partition": partition}
            values |= {"equality_ids": [1]} if content == 2 else {}
            super().add(content, sequence, f"{tmp_path}/t/data/{path}", **values)
            return self

    table = files(Added(tmp_path)).open()
    rows = planned(table, "duplicates")
    assert said(rows) == [("duplicates", *one) for one in expected]
    done = lakebed.apply(rows, table, log=tmp_path / "log")
    assert [one[1:] for one in outcomes(done)] == [
        ("kept", repairing.UNKNOWN) if left is None else ("repaired", None)
    ]
    assert listed(done.table) == (left if left is not None else listed(table))


def test_vectors_that_are_listed_twice(tmp_path: Path) -> None:
    files = Files(tmp_path, version=3)
    for name in ("a1", "a2"):
        files.add(0, 3, f"{tmp_path}/t/data/{name}")
    for target, offset in (("a1", 4), ("a2", 50), ("a1", 4)):
        own = vector(f"{tmp_path}/t/data/{target}") | {"content_offset": offset, "record_count": 2}
        files.add(1, 4, f"{tmp_path}/t/data/v", **own)
    table = files.open()
    rows = planned(table, "duplicates")
    assert said(rows) == [("duplicates", "v", 0, 0)]
    assert rows["content_offset"].to_pylist() == [4]
    done = lakebed.apply(rows, table, log=tmp_path / "log")
    assert done.counts == {"repaired": 1}
    left = done.table.deletes(columns=["file_path", "content_offset"]).to_arrow()
    assert sorted(left["content_offset"].to_pylist()) == [4, 50]


def made_paimon(folder: Path, keyed: bool = False) -> PaimonTable:
    keys = {"primaryKeys": ["id"], "options": {"bucket": "1"}} if keyed else {}
    return PaimonTable(folder, ("id", "INT NOT NULL" if keyed else "INT"), **keys)


@pytest.mark.parametrize("keyed", [False, True])
def test_duplicates_of_paimon(keyed: bool, tmp_path: Path) -> None:
    made = made_paimon(tmp_path / "p", keyed)
    made.commit(paimon_entry(ADD, "a", row_count=4), paimon_entry(ADD, "b", row_count=5))
    made.commit(paimon_entry(ADD, "a", row_count=4), paimon_entry(ADD, "c", row_count=6))
    made.commit(
        paimon_entry(ADD, "a", row_count=4), paimon_entry(DELETE, "c", row_count=6), totalRecordCount=17
    )
    table = lakebed.open_table(made.root)
    rows = planned(table, "duplicates")
    # Of the rows of a key one is returned.
    assert said(rows) == [("duplicates", "a", None if keyed else 8, None if keyed else 0)]
    done = lakebed.apply(rows, table, log=tmp_path / "log")
    assert done.counts == {"kept" if keyed else "repaired": 1}
    if not keyed:
        assert [name for name, _ in listed(done.table)] == ["a", "b"]
        snapshot = json.loads((made.root / "snapshot" / "snapshot-4").read_text())
        assert (snapshot["totalRecordCount"], snapshot["deltaRecordCount"]) == (9, -8)
        assert snapshot["commitKind"] == "OVERWRITE"
        assert done.table.verify(filter="severity = 'error'").to_arrow().num_rows == 0


@pytest.mark.parametrize("gone", [["manifest-2-0"], ["manifest-1-0", "manifest-3-0"]])
def test_manifests_of_paimon(gone: list[str], tmp_path: Path) -> None:
    made = made_paimon(tmp_path / "p")
    for name, (total, delta) in zip("abc", [(4, 4), (9, 5), (12, 3)], strict=True):
        made.commit(paimon_entry(ADD, name, row_count=delta), totalRecordCount=total, deltaRecordCount=delta)
    for name in gone:
        (made.root / "manifest" / name).unlink()
    table = lakebed.open_table(made.root)
    rows = planned(table, "manifests")
    lost = 5 if len(gone) == 1 else 7
    assert said(rows) == [("manifests", "snapshot-3", lost, 0)]
    (problem,) = rows["problem"].to_pylist()
    assert problem.startswith(f"{len(gone)} of its manifests cannot be read: {gone[0]}: ")
    done = lakebed.apply(rows, table, log=tmp_path / "log")
    assert done.counts == {"repaired": 1}
    assert [name for name, _ in listed(done.table)] == (["a", "c"] if len(gone) == 1 else ["b"])
    snapshot = json.loads((made.root / "snapshot" / "snapshot-4").read_text())
    assert (snapshot["totalRecordCount"], snapshot["deltaRecordCount"]) == (12 - lost, -lost)
    assert snapshot["properties"]["lakebed-repair"] == "manifests 1"
    assert planned(done.table, "rollback", "manifests", "duplicates").num_rows == 0


@pytest.mark.parametrize("why", ["deletes", "keys", "vectors", "total"])
def test_manifests_of_paimon_whose_rows_nobody_knows(why: str, tmp_path: Path) -> None:
    made = made_paimon(tmp_path / "p", why == "keys")
    total: dict[str, Any] = {} if why == "total" else {"totalRecordCount": 4}
    made.commit(paimon_entry(ADD, "a", row_count=4), paimon_entry(ADD, "b", row_count=4))
    kind = DELETE if why == "deletes" else ADD
    made.commit(paimon_entry(kind, "b" if why == "deletes" else "c", row_count=4), **total)
    if why == "vectors":
        index_manifest(made, ("a", 1, 20))
    (made.root / "manifest" / "manifest-2-0").unlink()
    table = lakebed.open_table(made.root)
    rows = planned(table, "manifests")
    assert [one[2] for one in said(rows)] == [None]
    done = lakebed.apply(rows, table, log=tmp_path / "log")
    assert outcomes(done) == [("manifests", "kept", repairing.UNKNOWN)]
    assert done.table.snapshot_id == table.snapshot_id


def test_what_else_changed_since_paimon_was_looked_at(tmp_path: Path) -> None:
    made = made_paimon(tmp_path / "p")
    for name, total in zip("abc", (4, 8, 12), strict=True):
        made.commit(paimon_entry(ADD, name, row_count=4), totalRecordCount=total)
    table = lakebed.open_table(made.root)
    (made.root / "manifest" / "manifest-1-0").unlink()
    (row,) = planned(table, "manifests").to_pylist()
    # Another manifest is gone by the time of the commit.
    (made.root / "manifest" / "manifest-2-0").unlink()
    with pytest.raises(CommitConflictError, match="would lose 8 rows, not 4"):
        repairing._repair(table, "manifests", [row])
    with pytest.raises(CommitConflictError, match="is the latest by now"):
        repairing._repair(table.at(snapshot=2), "manifests", [row])
    rows = of_kind(planned(table, "manifests"), "manifests")
    at = rows.schema.get_field_index("rows_lost")
    forged = rows.set_column(at, "rows_lost", pa.array([4], pa.int64()))
    assert outcomes(lakebed.apply(forged, table, log=tmp_path / "log")) == [
        ("manifests", "kept", repairing.CHANGED)
    ]
    assert small_tables.lying(made.root / "snapshot") == sorted(
        str(made.root / "snapshot" / f"snapshot-{number}") for number in (1, 2, 3)
    )
