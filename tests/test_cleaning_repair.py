"""Broken tables are repaired by reviewed rows, and nothing else of them changes."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pytest
import small_tables
from broken_off import BrokenOff
from command_line import run
from local_storage import LocalStorage
from test_iceberg_checklist_deletes import Files, vector

import lakebed
from iceberg_golden import each_golden_iceberg_table, golden
from lakebed import Table
from lakebed.cleaning import looking, repairing
from lakebed.cleaning.log import CleanupLog
from lakebed.errors import (
    EncryptionError,
    LocationError,
    SchemaError,
    UnsupportedError,
)

KINDS = [
    "hints",
    "main",
    "rollback",
    "manifests",
    "duplicates",
    "vectors",
    "foreign_deletes",
    "data_files",
    "delete_files",
]


def planned(table: Table, *kinds: str) -> pa.Table:
    return table.repair_plan(kinds or KINDS).to_arrow()


def said(rows: pa.Table) -> list[tuple[str, str, int | None, int | None]]:
    """What repairs there are of which files, and how many rows are lost and returned again."""
    return [
        (row["kind"], Path(row["file_path"]).name, row["rows_lost"], row["rows_back"])
        for row in rows.to_pylist()
    ]


def outcomes(done: lakebed.Cleanup) -> list[tuple[str, str, str | None]]:
    return [(row["kind"], row["outcome"], row["reason"]) for row in done.rows.to_pylist()]


def of_kind(rows: pa.Table, *kinds: str) -> pa.Table:
    return rows.filter(pc.is_in(rows["kind"], value_set=pa.array(kinds)))


def manifests(table: Table) -> list[Path]:
    paths = table.manifests(columns=["path"]).to_arrow()["path"].to_pylist()
    return [Path(path.removeprefix("file://")) for path in paths]


def errors(table: Table) -> list[dict[str, Any]]:
    found = table.verify(data_files=True, filter="severity = 'error'").to_arrow().to_pylist()
    return list(found)


@pytest.fixture
def orders(tmp_path: Path) -> tuple[Any, Table]:
    """A catalog of PyIceberg's, and its table of four commits, each with ten rows in a file."""
    from catalog_tables import sqlite

    catalog = sqlite(tmp_path)
    schema = pa.schema([("id", pa.int64())])
    table = catalog.create_table("db.orders", schema)
    for number in range(4):
        table.append(pa.table({"id": pa.array(range(number * 10, number * 10 + 10), pa.int64())}))
    return catalog, lakebed.open_table(table)


def ids(catalog: Any) -> set[int]:
    """The rows, as PyIceberg reads them."""
    return set(catalog.load_table("db.orders").scan().to_arrow()["id"].to_pylist())


def cut(file: Path) -> None:
    file.write_bytes(file.read_bytes()[: file.stat().st_size // 2])


def test_data_files_that_are_not_there(orders: tuple[Any, Table], tmp_path: Path) -> None:
    catalog, table = orders
    paths = sorted(table.files(columns=["file_path"]).to_arrow()["file_path"].to_pylist())
    for path in paths[:2]:
        Path(path.removeprefix("file://")).unlink()
    with pytest.raises(FileNotFoundError):
        ids(catalog)
    assert table.repair_plan().to_arrow().num_rows == 0
    rows = planned(table)
    assert said(rows) == [("data_files", Path(path).name, 10, 0) for path in rows["file_path"].to_pylist()]
    assert sorted(rows["file_path"].to_pylist()) == paths[:2]
    # At most the rows that were reviewed.
    done = lakebed.apply(rows.slice(0, 1), table, log=tmp_path / "log")
    assert outcomes(done) == [("data_files", "repaired", None)]
    assert (done.counts, done.freed_bytes) == ({"repaired": 1}, 0)
    assert said(planned(done.table)) == said(rows)[1:]
    done = lakebed.apply(rows, table, log=tmp_path / "second")
    assert sorted(outcomes(done)) == [
        ("data_files", "kept", looking.NOT_NAMED),
        ("data_files", "repaired", None),
    ]
    assert len(ids(catalog)) == 20
    assert errors(done.table) == []
    summary = done.table.snapshots().to_arrow().to_pylist()[-1]
    assert dict(summary["summary"])["lakebed-repair"] == "data_files 1"
    # The old metadata stays.
    assert done.table.at(snapshot=table.snapshot_id).files().to_arrow().num_rows == 4


@pytest.mark.parametrize("break_", [cut, Path.unlink])
def test_manifests_that_cannot_be_read(
    orders: tuple[Any, Table], tmp_path: Path, break_: Callable[[Path], None]
) -> None:
    catalog, table = orders
    break_(manifests(table)[-1])
    rows = planned(table)
    # The first manifest, which all snapshots have: there is no way back.
    assert said(rows) == [("manifests", manifests(table)[-1].name, 10, 0)]
    done = lakebed.apply(rows, table, log=tmp_path / "log")
    assert outcomes(done) == [("manifests", "repaired", None)]
    assert ids(catalog) == set(range(10, 40))
    assert planned(done.table).num_rows == 0
    totals = dict(done.table.snapshots().to_arrow().to_pylist()[-1]["summary"])
    assert (totals["total-records"], totals["total-data-files"]) == ("30", "3")
    assert "total-files-size" not in totals
    # And what another commit adds is read.
    catalog.load_table("db.orders").append(pa.table({"id": pa.array([99], pa.int64())}))
    assert ids(catalog) == {*range(10, 40), 99}


@pytest.mark.parametrize("what", ["list", "manifest"])
def test_the_last_snapshot_that_is_whole(orders: tuple[Any, Table], tmp_path: Path, what: str) -> None:
    catalog, table = orders
    theirs = catalog.load_table("db.orders")
    list_ = Path(theirs.current_snapshot().manifest_list.removeprefix("file://"))
    (list_ if what == "list" else manifests(table)[0]).unlink()
    rows = table.repair_plan(["rollback"]).to_arrow()
    assert [one[0::2] for one in said(rows)] == [("rollback", 10)]
    assert rows["snapshot_id"].to_pylist() == [theirs.metadata.snapshots[-2].snapshot_id]
    done = lakebed.apply(rows, table, log=tmp_path / "log")
    assert outcomes(done) == [("rollback", "repaired", None)]
    assert ids(catalog) == set(range(30))
    assert done.table.repair_plan(KINDS).to_arrow().num_rows == 0


def test_a_way_back_spares_other_repairs(orders: tuple[Any, Table], tmp_path: Path) -> None:
    catalog, table = orders
    manifests(table)[0].unlink()
    gone = table.at(snapshot=table.snapshots().to_arrow()["snapshot_id"][0].as_py()).files().to_arrow()
    Path(gone["file_path"][0].as_py().removeprefix("file://")).unlink()
    rows = planned(table)
    assert [kind for kind, *_ in said(rows)] == ["rollback", "manifests", "data_files"]
    done = lakebed.apply(rows, table, log=tmp_path / "log")
    assert sorted(one[:2] for one in outcomes(done)) == [
        ("data_files", "repaired"),
        ("manifests", "kept"),
        ("rollback", "repaired"),
    ]
    assert ids(catalog) == set(range(10, 30))


@pytest.mark.parametrize(
    ("operation", "summary", "expected"),
    [
        ("append", {"added-data-files": "1", "added-records": "7"}, (7, 0)),
        ("replace", {"added-records": "7", "deleted-records": "9"}, (0, 0)),
        ("delete", {"deleted-data-files": "1", "deleted-records": "7"}, (0, 7)),
        ("overwrite", {"added-data-files": "1", "added-records": "2", "deleted-records": "7"}, (2, 7)),
        ("delete", {"added-delete-files": "1", "added-position-deletes": "3"}, (0, 3)),
        (
            "overwrite",
            {
                "added-delete-files": "1",
                "added-position-deletes": "5",
                "removed-delete-files": "1",
                "removed-position-deletes": "3",
            },
            (0, 2),
        ),
        ("delete", {"added-delete-files": "1", "added-equality-deletes": "3"}, (0, None)),
        ("append", {"added-data-files": "1"}, (None, 0)),
        ("append", {}, (None, 0)),
    ],
)
def test_what_a_way_back_changes(
    operation: str, summary: dict[str, str], expected: tuple[int | None, int | None], tmp_path: Path
) -> None:
    from iceberg_made import MadeTable, entry

    made = MadeTable(tmp_path / "t", (1, "id", "long"))
    made.commit(made.manifest(entry(1, "a", record_count=5)))
    made.commit(made.manifest(entry(1, "b", record_count=5), name="gone.avro"), parent_snapshot_id=1)
    snapshots = made.metadata["snapshots"]
    snapshots[-1]["summary"] = {"operation": operation, **summary}
    made.set(snapshots=snapshots)
    table = made.open()
    next(file for file in manifests(table) if file.name == "gone.avro").unlink()
    rows = table.repair_plan(["rollback"]).to_arrow()
    assert [one[2:] for one in said(rows)] == [expected]
    done = lakebed.apply(rows, table, log=tmp_path / "log")
    is_known = None not in expected
    assert outcomes(done)[0][1:] == (("repaired", None) if is_known else ("kept", repairing.UNKNOWN))
    assert (done.table.snapshot_id == table.snapshot_id) is not is_known


def test_nobody_acts_on_what_nobody_knows(tmp_path: Path) -> None:
    files = Files(tmp_path).add(0, 3, f"{tmp_path}/t/data/a").add(1, 4, f"{tmp_path}/t/data/p")
    files.add(2, 4, f"{tmp_path}/t/data/e", equality_ids=[1])
    table = files.open()
    for row in table.files(columns=["file_path"]).to_arrow()["file_path"].to_pylist():
        if not row.endswith("/e"):
            small_tables.data(Path(row).parent, Path(row).name)
    rows = planned(table)
    assert said(rows) == [("delete_files", "e", None, None)]
    # A row that says so is not believed.
    number = pa.array([0], pa.int64())
    forged = rows
    for name in ("rows_lost", "rows_back"):
        forged = forged.set_column(forged.schema.get_field_index(name), name, number)
    for given in (rows, forged):
        done = lakebed.apply(given, table, log=tmp_path / f"log{given is rows}")
        assert outcomes(done) == [("delete_files", "kept", repairing.UNKNOWN)]
    # Nor is a manifest of deletes left out.
    manifests(table)[-1].unlink()
    assert [one[2:] for one in said(planned(table, "manifests"))] == [(None, None)]
    done = lakebed.apply(planned(table, "manifests"), table, log=tmp_path / "log")
    assert outcomes(done) == [("manifests", "kept", repairing.UNKNOWN)]
    assert done.table.snapshot_id == table.snapshot_id


def test_other_numbers_than_were_planned(orders: tuple[Any, Table], tmp_path: Path) -> None:
    _, table = orders
    Path(table.files().to_arrow()["file_path"][0].as_py().removeprefix("file://")).unlink()
    rows = planned(table)
    at = rows.schema.get_field_index("rows_lost")
    other = rows.set_column(at, "rows_lost", pa.array([3], pa.int64()))
    done = lakebed.apply(other, table, log=tmp_path / "log")
    assert outcomes(done) == [("data_files", "kept", repairing.CHANGED)]
    with pytest.raises(SchemaError, match="without the column 'rows_back'"):
        lakebed.apply(rows.drop_columns(["rows_back"]), table, log=tmp_path / "log")
    with pytest.raises(UnsupportedError, match="of repair_plan stay where they are"):
        lakebed.apply(rows, table, tmp_path / "q", log=tmp_path / "log")


def test_deletes_that_are_not_there(tmp_path: Path) -> None:
    data = f"{tmp_path}/t/data"
    files = Files(tmp_path, version=3).add(0, 3, f"{data}/a1").add(0, 3, f"{data}/a2")
    files.add(1, 4, f"{data}/v", **{**vector(f"{data}/a1"), "content_offset": 4, "record_count": 2})
    files.add(1, 4, f"{data}/v", **{**vector(f"{data}/a2"), "content_offset": 50, "record_count": 3})
    files.add(1, 4, f"{data}/w", **{**vector(f"{data}/gone"), "content_offset": 9, "record_count": 1})
    files.add(1, 4, f"{data}/p", record_count=4)
    table = files.open()
    for name in ("a1", "a2", "w"):
        small_tables.data(Path(data), name)
    rows = planned(table)
    assert said(rows) == [
        ("delete_files", "v", 0, 2),
        ("delete_files", "v", 0, 3),
        ("delete_files", "p", 0, 4),
    ]
    assert rows["content_offset"].to_pylist() == [4, 50, None]
    done = lakebed.apply(rows, table, log=tmp_path / "log")
    assert done.counts == {"repaired": 3}
    left = done.table.deletes(columns=["file_path"]).to_arrow()["file_path"].to_pylist()
    assert [Path(path).name for path in left] == ["w"]
    assert planned(done.table).num_rows == 0


@pytest.mark.parametrize(
    ("text", "expected"),
    [("", (0, 0)), ("none", (0, 0)), ("2", (0, 0)), ("9", (None, None)), ("3", None), ("5", None)],
)
def test_hints_of_iceberg(text: str, expected: tuple[int | None, int | None] | None, tmp_path: Path) -> None:
    table = small_tables.iceberg(tmp_path / "t", *(f"{name}.parquet" for name in "abcd"))
    metadata = Path(table.location) / "metadata"
    (metadata / "v2.metadata.json").unlink()
    (metadata / "version-hint.text").write_text(text)
    # Engines do not open the table by its folder.
    newest = lakebed.open_table(metadata / "v5.metadata.json")
    rows = newest.repair_plan().to_arrow()
    assert [one[2:] for one in said(rows)] == ([] if expected is None else [expected])
    done = lakebed.apply(rows, newest, log=tmp_path / "log")
    if expected == (0, 0):
        assert done.counts == {"repaired": 1}
        assert (metadata / "version-hint.text").read_text() == "5"
        assert lakebed.open_table(table.location).snapshot_id == table.snapshot_id
    else:
        # What version 9 had is lost: nobody knows what was in it.
        assert done.counts == ({} if expected is None else {"kept": 1})
        assert (metadata / "version-hint.text").read_text() == text


@pytest.mark.filterwarnings("ignore::lakebed.errors.LakebedWarning")
def test_a_main_that_is_not_current(tmp_path: Path) -> None:
    from iceberg_made import MadeTable, entry

    made = MadeTable(tmp_path / "t", (1, "id", "long"))
    made.commit(made.manifest(entry(1, "a", record_count=5)))
    made.commit(made.manifest(entry(1, "b", record_count=5), name="b.avro"), parent_snapshot_id=1)
    made.set(refs={"main": {"snapshot-id": 1, "type": "branch"}})
    table = made.open()
    rows = table.repair_plan().to_arrow()
    assert said(rows) == [("main", "v1.metadata.json", 0, 0)]
    assert rows["snapshot_id"].to_pylist() == [2]
    done = lakebed.apply(rows, table, log=tmp_path / "log")
    assert done.counts == {"repaired": 1}
    assert done.table.refs(columns=["name", "snapshot_id"]).to_arrow().to_pylist() == [
        {"name": "main", "snapshot_id": 2}
    ]
    assert done.table.verify(filter="kind = 'mismatch'").to_arrow().num_rows == 0
    assert done.table.files().to_arrow()["file_path"].to_pylist() == ["b"]


class Closed(LocalStorage):
    """A storage that refuses data files."""

    def place(self, path: str) -> Path:
        if path.endswith(".parquet"):
            raise PermissionError(13, "Forbidden", path)
        return super().place(path.removeprefix("file://"))


def test_what_cannot_be_looked_at_is_not_absent(orders: tuple[Any, Table]) -> None:
    catalog, _ = orders
    location = catalog.load_table("db.orders").metadata_location.removeprefix("file://")
    table = lakebed.open_table(location, storage=Closed())
    assert table.repair_plan(["rollback", "manifests"]).to_arrow().num_rows == 0
    with pytest.raises(PermissionError):
        planned(table)


@pytest.mark.filterwarnings("ignore::lakebed.errors.LakebedWarning")
def test_what_another_key_reads_is_not_damaged() -> None:
    table = golden("encrypted_keys_v3")
    with pytest.raises(EncryptionError):
        lakebed.open_table(table.path, relocate=table.relocate).repair_plan(["manifests"]).to_arrow()


def test_a_storage_that_has_none_of_the_data_files(orders: tuple[Any, Table]) -> None:
    _, table = orders
    for path in table.files().to_arrow()["file_path"].to_pylist():
        Path(path.removeprefix("file://")).unlink()
    with pytest.raises(LocationError, match="none of the 4 data files is there"):
        planned(table)


def test_rows_of_another_branch_are_refused(tmp_path: Path) -> None:
    table = small_tables.iceberg(tmp_path / "t", "a.parquet", "b.parquet")
    branch = table.create_branch("b")
    (tmp_path / "t" / "a.parquet").unlink()
    with pytest.raises(LocationError, match="the rows are of branch 'main', and the table is on 'b'"):
        lakebed.apply(planned(table), branch, log=tmp_path / "log")
    done = lakebed.apply(planned(branch), branch, log=tmp_path / "log")
    assert done.counts == {"repaired": 1}
    assert [one.files().to_arrow().num_rows for one in (table.refresh(), done.table)] == [2, 1]


def test_what_is_newest_is_refused_of_all_but_hints(tmp_path: Path) -> None:
    made = small_tables.iceberg(tmp_path / "t", "a.parquet", "b.parquet")
    (tmp_path / "t" / "a.parquet").unlink()
    small_tables.lost(tmp_path / "t" / "lost.parquet")
    table = lakebed.open_table(tmp_path / "t" / "metadata" / "v3.metadata.json")
    orphans = table.orphans(None).to_arrow()
    at = orphans.schema.get_field_index("kind")
    as_hints = orphans.set_column(at, "kind", pa.array(["hints"] * orphans.num_rows, pa.string()))
    assert orphans.num_rows == 1
    for rows in (planned(table), as_hints):
        with pytest.raises(UnsupportedError, match="opened by a metadata file"):
            lakebed.apply(rows, table, log=tmp_path / "log")
    assert made.refresh().files().to_arrow().num_rows == 2


def test_a_kind_that_there_is_not(orders: tuple[Any, Table]) -> None:
    with pytest.raises(SchemaError, match=r'no kind of repair "hint" \(did you mean "hints"') as refused:
        orders[1].repair_plan(["hint"])
    kinds = str(refused.value).partition("there are ")[2].partition(" (")[0].split(", ")
    assert set(KINDS) < set(kinds)
    told = run("repair-plan", "--help").stdout
    assert [kind for kind in kinds if kind not in told] == [], "the help names every kind"


def test_a_run_that_was_broken_off_is_ended(
    orders: tuple[Any, Table], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    catalog, table = orders
    manifests(table)[0].unlink()
    gone = table.at(snapshot=table.snapshots().to_arrow()["snapshot_id"][0].as_py()).files().to_arrow()
    Path(gone["file_path"][0].as_py().removeprefix("file://")).unlink()
    rows, log, point = of_kind(planned(table), "rollback", "data_files"), tmp_path / "log", 0
    while True:
        with monkeypatch.context() as patch:
            broken = BrokenOff(point)
            patch.setattr(CleanupLog, "append", broken.step(CleanupLog.append))
            patch.setattr(repairing, "_repair", broken.step(repairing._repair))
            try:
                done = lakebed.apply(rows, table, log=log)
                break
            except KeyboardInterrupt:
                point += 1
    assert point >= 4
    done = lakebed.apply(rows, table, log=log)
    assert done.counts == {"repaired": 2}
    assert ids(catalog) == set(range(10, 30))
    lines = [json.loads(line) for line in log.read_text().splitlines()]
    assert {line["outcome"] for line in lines[1:]} == {"repairing", "repaired"}
    # One commit for each, however often it was begun.
    assert len(catalog.load_table("db.orders").metadata.snapshots) == 5


@each_golden_iceberg_table()
def test_nothing_is_to_be_repaired_of_what_iceberg_reads(table: Any) -> None:
    rows = table.open().repair_plan([*KINDS[:-2], "lists", "snapshots"]).to_arrow()
    # Of two tables the engine refuses the plan since deletes are in another partition or spec.
    assert set(rows["kind"].to_pylist()) == ({"foreign_deletes"} if "_mismatch_" in table.name else set())


def test_the_command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    table = small_tables.iceberg(tmp_path / "t", "a.parquet", "b.parquet")
    Path(table.files().to_arrow()["file_path"][0].as_py()).unlink()
    monkeypatch.chdir(tmp_path)
    assert run("repair-plan", "t", "-o", "json").stdout == ""
    kept = run("repair-plan", "t", "--kinds", "hints,data_files", "--plan-file", "plan.parquet")
    assert (kept.exit_code, "the file is taken out of the table" in kept.stdout) == (0, True), kept.stderr
    done = run("apply", "plan.parquet", "--yes")
    assert (done.exit_code, done.stdout.splitlines()[0][:16]) == (0, "repaired 1 file,")
    assert "repaired: at most 2 rows lost, 0 rows returned again" in done.stderr
    assert errors(table.refresh()) == []
