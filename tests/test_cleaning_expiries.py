"""An expiry by reviewed rows: a commit of no more than they name, then the files that it has freed."""

from __future__ import annotations

import json
from datetime import timedelta
from pathlib import Path

import pyarrow.compute as pc
import pytest
import small_tables
from broken_off import BrokenOff

import lakebed
from lakebed import Table
from lakebed.cleaning.log import CleanupLog
from lakebed.errors import LocationError, UnsupportedError
from lakebed.storage.removal import LocalFiles

NOW = timedelta(0)


def overwritten(table: Table, name: str) -> Table:
    """A table whose files another one has replaced."""
    folder = "data" if table.format == "iceberg" else "bucket-0"
    columns = {} if table.format == "iceberg" else {"bucket": 0}
    path = small_tables.data(Path(table.location), f"{folder}/{name}.parquet")
    file = lakebed.describe_file(table, path, small_tables.ROWS, columns=columns)
    if table.format == "paimon":
        return table.overwrite_partitions(file)
    return table.overwrite_files(file, where="id > 0")


@pytest.fixture(params=["iceberg", "paimon"])
def table(request: pytest.FixtureRequest, tmp_path: Path) -> Table:
    """A table with six snapshots, each with a file in place of the one before; a tag has the second."""
    make = small_tables.iceberg if request.param == "iceberg" else small_tables.paimon
    made = make(tmp_path / "t", **({"snapshot.expire.limit": "100"} if request.param == "paimon" else {}))
    for number in range(6):
        made = overwritten(made, f"data-{number}")
        if number == 1:
            made.create_tag("kept")
    return made


def data_files(table: Table) -> list[str]:
    return sorted(
        Path(path).stem for path in small_tables.lying(Path(table.location)) if path.endswith(".parquet")
    )


def unexplained(table: Table) -> set[str]:
    """Files in the table's folder that nothing reaches."""
    names = {Path(path).name for path in small_tables.found(table.refresh().reachable())}
    lying = {Path(path).name for path in small_tables.lying(Path(table.location))}
    return {name for name in lying - names if not name.endswith(".metadata.json")}


def whole(table: Table) -> None:
    """Nothing is missing that a snapshot, a tag or the table needs."""
    assert table.refresh().verify(data_files=True).to_arrow().num_rows == 0
    for path in small_tables.found(table.refresh().reachable()):
        assert Path(path).is_file(), path
    assert table.refresh().at(tag="kept").verify(data_files=True).to_arrow().num_rows == 0


def test_files_of_a_table_within_are_kept(table: Table, tmp_path: Path):
    """It may have taken files of this one, which it then has too."""
    rows = table.expire_plan(NOW, 2).to_arrow()
    (shared, *_) = (path for path in small_tables.found(table.reachable()) if path.endswith("data-0.parquet"))
    inner = small_tables.iceberg(Path(table.location) / "x" / "inner")
    small_tables.added(inner, shared)
    done = lakebed.apply(rows, table, log=tmp_path / "log")
    (kept,) = (row for row in done.rows.to_pylist() if row["outcome"] == "kept")
    assert (kept["file_path"], kept["reason"]) == (shared, "another table in the table's folder reaches it")
    assert data_files(table) == ["data-0", "data-1", "data-4", "data-5"]
    assert lakebed.open_table(inner.location).verify(data_files=True).to_arrow().num_rows == 0
    whole(table)


def test_nothing_expires_beside_a_table_that_cannot_be_read(table: Table, tmp_path: Path):
    rows = table.expire_plan(NOW, 2).to_arrow()
    inner = small_tables.iceberg(Path(table.location) / "x" / "inner")
    newest = max(Path(inner.location, "metadata").glob("*.metadata.json"))
    newest.write_text("{}")
    with pytest.raises(LocationError, match="another table is in the table's folder"):
        lakebed.apply(rows, table, log=tmp_path / "log")
    assert table.refresh().snapshots().to_arrow().num_rows == table.snapshots().to_arrow().num_rows
    assert len(data_files(table)) == 6


def two_are_left(table: Table) -> None:
    """The last two snapshots and the tag have their files, and nothing else is there."""
    assert data_files(table) == ["data-1", "data-4", "data-5"]
    assert unexplained(table) == set()
    whole(table)


def test_what_rows_name_is_committed_and_removed(table: Table, tmp_path: Path):
    rows = table.expire_plan(NOW, 2).to_arrow()
    assert data_files(table) == [f"data-{number}" for number in range(6)]
    done = lakebed.apply(rows, table, log=tmp_path / "log")
    assert set(done.counts) == {"removed"}
    assert done.table.snapshots().to_arrow().num_rows == (3 if table.format == "iceberg" else 2)
    two_are_left(table)
    lines = [json.loads(line) for line in (tmp_path / "log").read_text().splitlines()]
    at = [number for number, line in enumerate(lines) if "commit" in line or "committed" in line]
    assert lines[at[0]]["snapshots"] == sorted(
        pc.unique(rows.filter(pc.equal(rows["kind"], "snapshot"))["first_snapshot_id"]).to_pylist()
    )
    assert {line["outcome"] for line in lines[1 : at[0]]} == {"planned"}
    assert {line["outcome"] for line in lines[at[1] + 1 :]} == {"removing", "removed"}


def test_no_snapshot_expires_that_is_no_row(table: Table, tmp_path: Path):
    """Neither what was committed since the plan, nor what was taken out of the rows."""
    rows = table.expire_plan(NOW, 1).to_arrow()
    ids = sorted(rows.filter(pc.equal(rows["kind"], "snapshot"))["first_snapshot_id"].to_pylist())
    order = [one for one in table.snapshots().to_arrow()["snapshot_id"].to_pylist() if one in ids]
    gone = order[:2]
    some = rows.filter(
        pc.or_(
            pc.not_equal(rows["kind"], "snapshot"),
            pc.is_in(rows["first_snapshot_id"], value_set=pc.cast(gone, rows["first_snapshot_id"].type)),
        )
    )
    later = overwritten(overwritten(table, "data-6"), "data-7")
    done = lakebed.apply(some, later, log=tmp_path / "log")
    left = done.table.snapshots().to_arrow()["snapshot_id"].to_pylist()
    before = later.snapshots().to_arrow()["snapshot_id"].to_pylist()
    assert left == [one for one in before if one not in gone]
    # The tag keeps the second file; of Iceberg its snapshot too, so that the third goes.
    freed = {0, 2} if table.format == "iceberg" else {0}
    assert data_files(table) == [f"data-{number}" for number in range(8) if number not in freed]
    assert {row["reason"] for row in done.rows.to_pylist() if row["outcome"] == "kept"} == {
        "something reaches it still"
    }
    whole(later)


def test_rows_of_files_alone_commit_nothing(table: Table, tmp_path: Path):
    rows = table.expire_plan(NOW, 1, filter="kind = 'data'").to_arrow()
    done = lakebed.apply(rows, table, log=tmp_path / "log")
    assert set(done.counts) == {"kept"}
    assert done.table.snapshots().to_arrow() == table.snapshots().to_arrow()
    whole(table)


def test_rows_of_another_branch_are_refused(tmp_path: Path):
    """Its snapshots have the same numbers."""
    table = small_tables.paimon(tmp_path / "t")
    for number in range(3):
        table = overwritten(table, f"data-{number}")
    table.create_tag("first", at=1)
    branch = table.create_branch("side", at="first")
    for number in range(3):
        branch = overwritten(branch, f"data-side-{number}")
    rows = branch.expire_plan(NOW, 1).to_arrow()
    with pytest.raises(LocationError, match="of branch 'side', and the table is on 'main'"):
        lakebed.apply(rows, table, log=tmp_path / "log")
    assert table.refresh().snapshots().to_arrow().num_rows == 3
    assert set(lakebed.apply(rows, branch, log=tmp_path / "log").counts) == {"removed"}
    assert data_files(table) == ["data-0", "data-1", "data-2", "data-side-2"]
    assert table.refresh().verify(data_files=True).to_arrow().num_rows == 0


def test_a_tag_made_since_the_plan_keeps_its_files(table: Table, tmp_path: Path):
    rows = table.expire_plan(NOW, 1).to_arrow()
    ids = table.snapshots().to_arrow()["snapshot_id"].to_pylist()
    table.create_tag("late", at=ids[3])
    lakebed.apply(rows, table, log=tmp_path / "log")
    assert "data-3" in data_files(table)
    assert table.refresh().at(tag="late").verify(data_files=True).to_arrow().num_rows == 0
    whole(table)


def test_an_expiry_is_quarantined_and_restored(table: Table, tmp_path: Path):
    rows = table.expire_plan(NOW, 2).to_arrow()
    done = lakebed.apply(rows, table, tmp_path / "q", log=tmp_path / "log")
    assert set(done.counts) == {"moved"}
    moved = done.counts["moved"]
    assert len(small_tables.lying(tmp_path / "q")) == moved
    assert lakebed.restore(tmp_path / "log", table).counts == {"restored": moved}
    assert data_files(table) == [f"data-{number}" for number in range(6)]


@pytest.mark.parametrize("point", range(12))
def test_an_expiry_that_was_broken_off_is_ended_by_the_next(
    table: Table, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, point: int
):
    """Killed before or after any write of the log, the commit, or a request to remove."""
    from lakebed.cleaning import expiring

    rows = table.expire_plan(NOW, 2).to_arrow()
    run = BrokenOff(point)
    with monkeypatch.context() as patched:
        patched.setattr(CleanupLog, "_append", run.step(CleanupLog._append))
        patched.setattr(expiring, "commit", run.step(vars(expiring)["commit"]))
        patched.setattr(LocalFiles, "remove_files", run.step(LocalFiles.remove_files))
        with pytest.raises(KeyboardInterrupt):
            lakebed.apply(rows, table, log=tmp_path / "log")
    whole(table)
    done = lakebed.apply(rows, table, log=tmp_path / "log")
    assert set(done.counts) <= {"removed"}
    two_are_left(table)


def test_a_table_that_is_opened_by_another_path(
    table: Table, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    rows = table.expire_plan(NOW, 2).to_arrow()
    monkeypatch.chdir(tmp_path)
    done = lakebed.apply(rows, lakebed.open_table("t"), log="log")
    assert set(done.counts) == {"removed"}, done.rows.to_pylist()[:3]
    two_are_left(table)


def test_snapshots_expire_and_their_files_go(table: Table, tmp_path: Path):
    after, files = table.expire_snapshots(NOW, 2, remove_files=True, log=tmp_path / "log")
    assert set(files.to_arrow()["outcome"].to_pylist()) == {"removed"}
    two_are_left(after)
    again, files = after.expire_snapshots(NOW, 2, remove_files=True, log=tmp_path / "again")
    assert (again.snapshot_id, files.to_arrow().num_rows) == (after.snapshot_id, 0)


def test_files_are_removed_by_whoever_commits_alone(table: Table, tmp_path: Path):
    with pytest.raises(ValueError, match="log="):
        table.expire_snapshots(NOW, 2, remove_files=True)
    with pytest.raises(UnsupportedError, match="remove_files"), table.transaction() as changes:
        changes.expire_snapshots(NOW, 2, remove_files=True, log=tmp_path / "log")
    assert data_files(table) == [f"data-{number}" for number in range(6)]
