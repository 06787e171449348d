"""What `apply` does with reviewed rows: these at most, and of these only what is still as it was planned."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.feather as feather
import pyarrow.parquet as pq
import pytest
import small_tables
from broken_off import BrokenOff
from small_tables import OLD

import lakebed
from lakebed import Cleanup, Table
from lakebed.cleaning.log import CleanupLog
from lakebed.errors import CommitConflictError, CorruptError, LocationError, SchemaError, UnsupportedError

Made = tuple[Table, list[str], pa.Table]


@pytest.fixture(params=["iceberg", "paimon"])
def made(request: pytest.FixtureRequest, tmp_path: Path) -> Made:
    """A table with two files, and three orphans in its folder that are years old, as `orphans` finds them."""
    folder = tmp_path / "t"
    of = "data" if request.param == "iceberg" else "bucket-0"
    make = small_tables.iceberg if request.param == "iceberg" else small_tables.paimon
    table = make(folder, f"{of}/data-a.parquet", f"{of}/data-b.parquet")
    lost = small_tables.lost(*(folder / of / f"data-lost-{number}.parquet" for number in range(3)))
    aged(*lost)
    return table, lost, table.orphans().to_arrow()


def aged(*paths: str, to: datetime = OLD) -> None:
    for path in paths:
        os.utime(path, (to.timestamp(),) * 2)


def became(done: Cleanup) -> dict[str, str]:
    """What became of each file, by its name."""
    return {Path(row["file_path"]).name: row["outcome"] for row in done.rows.to_pylist()}


def reason(done: Cleanup) -> str:
    (row,) = (row for row in done.rows.to_pylist() if row["outcome"] in ("kept", "failed"))
    return str(row["reason"])


def whole(table: Table) -> None:
    """Nothing that the table reaches is missing."""
    assert table.refresh().verify(data_files=True).to_arrow().num_rows == 0


def lines(log: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in log.read_text().splitlines()]


def test_orphans_are_removed_and_nothing_else(made: Made, tmp_path: Path):
    table, lost, _ = made
    before = small_tables.lying(tmp_path / "t")
    rows = table.orphans().to_arrow()
    done = lakebed.apply(rows, table, log=tmp_path / "log")
    assert done.counts == {"removed": 3}
    assert done.freed_bytes == rows["file_size_in_bytes"].to_pylist()[0] * 3
    assert sorted(done.rows["file_path"].to_pylist()) == lost
    assert small_tables.lying(tmp_path / "t") == sorted(set(before) - set(lost))
    whole(table)
    header, *written = lines(tmp_path / "log")
    assert header["table_id"] == rows["table_id"][0].as_py()
    outcomes = ["removing"] * 3 + ["removed"] * 3
    assert [(line["path"], line["outcome"]) for line in written] == list(zip(lost * 2, outcomes, strict=True))
    assert {line["size"] for line in written} == {4}


def test_only_rows_that_were_given_are_acted_on(made: Made, tmp_path: Path):
    table, lost, rows = made
    some = rows.filter(pa.compute.equal(rows["file_path"], lost[1]))
    assert became(lakebed.apply(some, table, log=tmp_path / "log")) == {Path(lost[1]).name: "removed"}
    assert [Path(path).exists() for path in lost] == [True, False, True]
    none = lakebed.apply(rows.slice(0, 0), table, log=tmp_path / "other")
    assert (none.counts, (tmp_path / "other").exists()) == ({}, False)


def test_rows_that_were_not_read_are_refused(made: Made, tmp_path: Path):
    table, lost, _ = made
    scan = table.orphans()
    for lazy in (
        scan,
        scan.filter("file_size_in_bytes > 0"),
        scan.to_arrow_batch_reader(),
        [{"file_path": "x"}],
    ):
        with pytest.raises(SchemaError, match="read_all"):
            lakebed.apply(lazy, table, log=tmp_path / "log")
    assert all(Path(path).exists() for path in lost)
    assert not (tmp_path / "log").exists()


@pytest.mark.parametrize("through", ["arrow", "parquet", "pandas", "polars"])
def test_rows_pass_through_files_and_other_libraries(made: Made, tmp_path: Path, through: str):
    table, *_ = made
    rows: Any = table.orphans().to_arrow()
    if through == "arrow":
        feather.write_feather(rows, tmp_path / "rows", compression="uncompressed")
        rows = tmp_path / "rows"
    elif through == "parquet":
        pq.write_table(rows, tmp_path / "rows")
        rows = str(tmp_path / "rows")
    else:
        pytest.importorskip(through)
        rows = table.orphans().to_pandas() if through == "pandas" else table.orphans().to_polars()
        rows = rows[rows["file_size_in_bytes"] > 0] if through == "pandas" else rows
    assert lakebed.apply(rows, table, log=tmp_path / "log").counts == {"removed": 3}


@pytest.mark.parametrize("spelled", ["relative", "file:", "linked"])
def test_rows_of_a_table_that_is_opened_by_another_path(
    made: Made, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, spelled: str
):
    _, lost, rows = made
    monkeypatch.chdir(tmp_path)
    if spelled == "linked":
        (tmp_path / "link").symlink_to(tmp_path / "t", target_is_directory=True)
    path = {"relative": "t", "file:": f"file://{tmp_path}/t", "linked": str(tmp_path / "link")}[spelled]
    other = lakebed.open_table(path)
    assert lakebed.apply(rows, other, log=tmp_path / "log").counts == {"removed": 3}
    assert {line.get("path") for line in lines(tmp_path / "log")[1:]} <= {
        *lost,
        *(one.replace("/t/", "/link/") for one in lost),
    }


def forged(rows: pa.Table, **columns: Any) -> pa.Table:
    for name, value in columns.items():
        at, kind = rows.schema.get_field_index(name), rows.schema.field(name).type
        rows = rows.set_column(at, name, pa.array([value] * rows.num_rows, kind))
    return rows


def test_rows_of_other_tables_and_times_are_refused(made: Made, tmp_path: Path):
    table, lost, rows = made
    now = datetime.now(timezone.utc)
    day = timedelta(hours=24, seconds=5)
    cases: list[tuple[pa.Table, type[Exception], str]] = [
        (forged(rows, table_id="x"), LocationError, "of another table"),
        (forged(rows, table_id=None), UnsupportedError, "do not say what they are of"),
        (forged(rows, planned_at=now - day), CommitConflictError, "not within the last 24 hours"),
        (forged(rows, planned_at=now + day), CommitConflictError, "not within the last 24 hours"),
        (forged(rows, plan='{"view":"files"}'), UnsupportedError, "'files' are not acted on"),
        (forged(rows, plan="x"), SchemaError, "no plan"),
        (pa.concat_tables([rows, forged(rows, planned_at=now)]), SchemaError, "rows of 2 plans"),
        (rows.drop_columns(["planned_at"]), SchemaError, "without the column 'planned_at'"),
        (rows.drop_columns(["plan"]), SchemaError, "without the column 'plan'"),
        (table.reachable().to_arrow(), SchemaError, "without the column 'plan'"),
    ]
    for given, error, message in cases:
        with pytest.raises(error, match=message):
            lakebed.apply(given, table, log=tmp_path / "log")
    (tmp_path / "text").write_text("file_path\n")
    with pytest.raises(SchemaError, match="no Arrow or Parquet file"):
        lakebed.apply(tmp_path / "text", table, log=tmp_path / "log")
    assert all(Path(path).exists() for path in lost)


def test_another_table_at_the_same_place_is_not_the_one(made: Made, tmp_path: Path):
    table, _, rows = made
    shutil.rmtree(tmp_path / "t")
    make = small_tables.iceberg if table.format == "iceberg" else small_tables.paimon
    other = make(tmp_path / "t")
    with pytest.raises(LocationError, match="of another table"):
        lakebed.apply(rows, other, log=tmp_path / "log")


def resized(path: str) -> None:
    Path(path).write_bytes(b"another")
    aged(path)


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (resized, "changed"),
        (lambda path: aged(path, to=OLD + timedelta(days=1)), "changed"),
        (lambda path: Path(path).unlink(), "does not name it"),
        (lambda path: aged(path, to=datetime.now(timezone.utc)), "does not name it"),
    ],
)
def test_a_file_that_changed_is_kept(made: Made, tmp_path: Path, change: Callable[[str], object], says: str):
    table, lost, rows = made
    change(lost[1])
    done = lakebed.apply(rows, table, log=tmp_path / "log")
    assert done.counts == {"removed": 2, "kept": 1}
    assert says in reason(done)
    assert [Path(path).exists() for path in (lost[0], lost[2])] == [False, False]


def test_a_file_that_is_reached_by_now_is_kept(made: Made, tmp_path: Path):
    table, lost, rows = made
    pq.write_table(small_tables.ROWS, lost[0])
    aged(lost[0])
    columns = {"bucket": 0} if table.format == "paimon" else {}
    table.append_files(lakebed.describe_file(table, lost[0], small_tables.ROWS, columns=columns))
    done = lakebed.apply(rows, table, log=tmp_path / "log")
    assert became(done)[Path(lost[0]).name] == "kept"
    assert Path(lost[0]).exists()
    whole(table)


def test_young_files_are_kept_unless_their_age_is_given(made: Made, tmp_path: Path):
    table, lost, _ = made
    aged(lost[0], to=datetime.now(timezone.utc) - timedelta(days=2))
    rows = table.orphans(timedelta(0)).to_arrow()
    done = lakebed.apply(rows, table, log=tmp_path / "log")
    assert became(done)[Path(lost[0]).name] == "kept"
    assert {row["reason"] for row in done.rows.to_pylist() if row["file_path"] == lost[0]} == {
        "it is younger than 3 days"
    }
    assert Path(lost[0]).exists()
    done = lakebed.apply(rows, table, log=tmp_path / "again", younger=timedelta(days=1))
    assert became(done)[Path(lost[0]).name] == "removed"
    wrong: Any
    for wrong in (timedelta(-1), 3):
        with pytest.raises(ValueError, match="younger is an age"):
            lakebed.apply(rows, table, log=tmp_path / "wrong", younger=wrong)


@pytest.mark.filterwarnings("ignore::lakebed.errors.LakebedWarning")
def test_paths_that_nobody_planned_are_kept(made: Made, tmp_path: Path):
    """Rows may be forged or edited: a live file, one elsewhere, one in a linked folder, one that climbs."""
    table, lost, _ = made
    (tmp_path / "elsewhere").mkdir()
    (outside,) = small_tables.lost(tmp_path / "elsewhere" / "data-x.parquet")
    folder = Path(lost[0]).parent
    (folder / "link").symlink_to(tmp_path / "elsewhere", target_is_directory=True)
    live = small_tables.found(table.files(columns=["file_path"]))
    metadata = [path for path in small_tables.found(table.reachable()) if Path(path).is_file()]
    names = [
        outside,
        f"{folder}/link/data-x.parquet",
        f"{folder}/../../elsewhere/data-x.parquet",
        *live,
        *metadata,
    ]
    row = table.orphans(limit=1).to_arrow()
    rows = pa.concat_tables([forged(row, file_path=name) for name in names])
    done = lakebed.apply(rows, table, log=tmp_path / "log")
    assert set(done.counts) == {"kept"}
    assert Path(outside).exists()
    whole(table)


@pytest.mark.filterwarnings("ignore::lakebed.errors.LakebedWarning")
def test_files_of_a_table_within_are_kept(made: Made, tmp_path: Path):
    table, *_ = made
    inner = small_tables.iceberg(Path(table.location, "inner"), "data/data-c.parquet")
    (lost,) = small_tables.lost(Path(inner.location, "data", "data-lost.parquet"))
    aged(lost)
    rows = forged(table.orphans(limit=1).to_arrow(), file_path=lost)
    done = lakebed.apply(rows, table, log=tmp_path / "log")
    assert done.counts == {"kept": 1}
    assert Path(lost).exists()


def test_a_copy_that_names_its_origin_is_refused(tmp_path: Path):
    table = small_tables.iceberg(tmp_path / "t", "data/data-a.parquet")
    aged(*small_tables.lost(tmp_path / "t" / "data" / "data-lost.parquet"))
    rows = table.orphans().to_arrow()
    shutil.copytree(tmp_path / "t", tmp_path / "copy")
    copy = lakebed.open_table(tmp_path / "copy")
    with pytest.raises(LocationError):
        lakebed.apply(rows, copy, log=tmp_path / "log")
    assert Path(tmp_path / "t" / "data" / "data-lost.parquet").exists()


def test_a_table_of_which_nobody_says_what_is_newest_is_refused(tmp_path: Path):
    """An earlier metadata file would have the files of later commits for orphans."""
    table = small_tables.iceberg(tmp_path / "t", "data/data-a.parquet")
    earlier = small_tables.newest(table)
    small_tables.added(table, small_tables.data(tmp_path / "t", "data/data-b.parquet"))
    later = str(tmp_path / "t" / "data" / "data-b.parquet")
    aged(later)
    opened = lakebed.open_table(earlier)
    rows = opened.orphans().to_arrow()
    assert later in rows["file_path"].to_pylist()
    with pytest.raises(UnsupportedError, match="may not be the newest"):
        lakebed.apply(rows, opened, log=tmp_path / "log")
    assert lakebed.apply(rows, lakebed.open_table(tmp_path / "t"), log=tmp_path / "log").counts == {"kept": 1}
    assert Path(later).exists()


def test_log_and_quarantine_are_apart_from_the_table(made: Made, tmp_path: Path):
    table, lost, rows = made
    location = table.location
    for log in (f"{location}/log", f"{location}/data/../log"):
        with pytest.raises(LocationError, match="the log is in the table's folder"):
            lakebed.apply(rows, table, log=log)
    for quarantine in (location, f"{location}/q", str(tmp_path)):
        with pytest.raises(
            LocationError, match="the quarantine is in the table's folder, or the table in it"
        ):
            lakebed.apply(rows, table, quarantine, log=tmp_path / "log")
    assert all(Path(path).exists() for path in lost)


def test_a_quarantine_is_restored(made: Made, tmp_path: Path):
    table, lost, _ = made
    for number, path in enumerate(lost):
        Path(path).write_bytes(bytes(number))
    aged(*lost)
    rows = table.orphans().to_arrow()
    done = lakebed.apply(rows, table, tmp_path / "q", log=tmp_path / "log")
    assert done.counts == {"moved": 3}
    moved = small_tables.lying(tmp_path / "q")
    assert moved == [path.replace(str(tmp_path / "t"), str(tmp_path / "q")) for path in lost]
    assert not any(Path(path).exists() for path in lost)
    # What is there by now is never written over.
    Path(lost[2]).write_bytes(b"new")
    back = lakebed.restore(tmp_path / "log", table)
    assert became(back) == dict(
        zip((Path(path).name for path in lost), ["restored"] * 2 + ["failed"], strict=True)
    )
    assert "there already" in reason(back)
    assert [Path(path).read_bytes() for path in lost] == [b"", b"\0", b"new"]
    assert small_tables.lying(tmp_path / "q") == moved[2:]
    Path(lost[2]).unlink()
    assert became(lakebed.restore(tmp_path / "log", table)) == {Path(lost[2]).name: "restored"}
    assert (Path(lost[2]).read_bytes(), small_tables.lying(tmp_path / "q")) == (b"\0\0", [])
    assert lakebed.restore(tmp_path / "log", table).counts == {}


def test_nothing_in_a_quarantine_is_written_over(made: Made, tmp_path: Path):
    table, lost, _ = made
    there = Path(lost[0].replace(str(tmp_path / "t"), str(tmp_path / "q")))
    there.parent.mkdir(parents=True)
    there.write_bytes(b"mine")
    done = lakebed.apply(table.orphans().to_arrow(), table, tmp_path / "q", log=tmp_path / "log")
    assert done.counts == {"moved": 2, "failed": 1}
    assert there.read_bytes() == b"mine"
    assert Path(lost[0]).exists()


def test_logs_of_something_else_are_refused(made: Made, tmp_path: Path):
    table, lost, rows = made
    for number, text in enumerate(("words", "words\n", "{}\n", '{"log":"other"}\n')):
        log = tmp_path / f"text-{number}"
        log.write_text(text)
        with pytest.raises(CorruptError, match="no log of a clean-up"):
            lakebed.apply(rows, table, log=log)
        with pytest.raises(CorruptError, match="no log of a clean-up"):
            lakebed.restore(log, table)
        assert log.read_text() == text
    rows = rows.sort_by("file_path")
    lakebed.apply(rows.slice(0, 1), table, tmp_path / "q", log=tmp_path / "log")
    with pytest.raises(LocationError, match="whose quarantine is"):
        lakebed.apply(rows, table, log=tmp_path / "log")
    other = small_tables.iceberg(tmp_path / "other")
    with pytest.raises(LocationError, match="of another table"):
        lakebed.restore(tmp_path / "log", other)
    with CleanupLog(tmp_path / "log", None), pytest.raises(CommitConflictError, match="another process"):
        lakebed.apply(rows, table, tmp_path / "q", log=tmp_path / "log")
    assert [Path(path).exists() for path in lost] == [False, True, True]


@pytest.mark.parametrize("quarantine", [None, "q"])
@pytest.mark.parametrize("point", range(8))
def test_a_run_that_was_broken_off_is_ended_by_the_next(
    made: Made, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, quarantine: str | None, point: int
):
    """Killed before or after any write of the log, request to copy or request to remove."""
    from lakebed.storage.removal import LocalFiles

    table, lost, _ = made
    to = None if quarantine is None else tmp_path / quarantine
    rows = table.orphans().to_arrow()
    run = BrokenOff(point)
    with monkeypatch.context() as patched:
        patched.setattr(CleanupLog, "_append", run.step(CleanupLog._append))
        patched.setattr(LocalFiles, "copy", run.step(LocalFiles.copy))
        patched.setattr(LocalFiles, "remove_files", run.step(LocalFiles.remove_files))
        try:
            lakebed.apply(rows, table, to, log=tmp_path / "log")
        except KeyboardInterrupt:
            assert run.steps > point
    lakebed.apply(rows, table, to, log=tmp_path / "log")
    assert not any(Path(path).exists() for path in lost)
    whole(table)
    if to is not None:
        assert len(small_tables.lying(to)) == 3
        assert lakebed.restore(tmp_path / "log", table).counts == {"restored": 3}
        assert all(Path(path).exists() for path in lost)


def test_a_file_that_is_not_removed_does_not_keep_the_others(
    made: Made, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    table, lost, rows = made
    unlink = Path.unlink

    def refused(path: Path, *given: Any, **more: Any) -> None:
        if str(path) == lost[1]:
            raise PermissionError(13, "Permission denied", str(path))
        unlink(path, *given, **more)

    with monkeypatch.context() as patched:
        patched.setattr(Path, "unlink", refused)
        done = lakebed.apply(rows, table, log=tmp_path / "log")
    assert done.counts == {"removed": 2, "failed": 1}
    assert "Permission denied" in reason(done)
    assert lines(tmp_path / "log")[-2]["outcome"] == "failed"
    done = lakebed.apply(rows, table, log=tmp_path / "log")
    assert became(done)[Path(lost[1]).name] == "removed"


def test_a_log_that_cannot_be_written_removes_nothing(made: Made, tmp_path: Path):
    table, lost, rows = made
    (tmp_path / "folder").mkdir()
    with pytest.raises(OSError, match="directory"):
        lakebed.apply(rows, table, log=tmp_path / "folder")
    assert all(Path(path).exists() for path in lost)
