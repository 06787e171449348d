"""Dangling deletes are taken out of a table by reviewed rows, and nothing else is."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pytest
from broken_off import BrokenOff
from command_line import run
from paimon_made import ADD, DELETE
from paimon_made import MadeTable as PaimonTable
from paimon_made import entry as paimon_entry
from test_dangling import IDS, random_files
from test_iceberg_checklist_deletes import Files, vector
from test_verify_views import index_manifest
from trust import long_or

import lakebed
from lakebed import Table
from lakebed.cleaning import dropping, looking
from lakebed.cleaning.log import CleanupLog
from lakebed.errors import CommitConflictError, SchemaError, UnsupportedError

KEY = ["file_path", "content_offset"]


def deletes(table: Table) -> set[tuple[Any, ...]]:
    rows = table.deletes(columns=[*KEY, "record_count", "spec_id"]).to_arrow().to_pylist()
    found = {tuple(row.values()) for row in rows}
    assert len(found) == len(rows)
    return found


def plan(table: Table) -> list[dict[str, Any]]:
    """Sorted, deletes of each file too: manifests order those of equal sequence numbers."""
    rows = table.plan(columns=["file_path", "delete_files", "record_count"]).to_arrow()
    planned = rows.sort_by("file_path").to_pylist()
    return [{**row, "delete_files": sorted(row["delete_files"], key=str)} for row in planned]


def outcomes(done: lakebed.Cleanup) -> list[tuple[str, str, str | None]]:
    rows = done.rows.to_pylist()
    return [(Path(row["file_path"]).name, row["outcome"], row["reason"]) for row in rows]


@pytest.fixture
def files(tmp_path: Path) -> Files:
    """A vector that applies and one that does not, in one file; two such files; an equality delete."""
    data = f"{tmp_path}/t/data"
    files = Files(tmp_path, version=3).add(0, 3, f"{data}/a1").add(0, 3, f"{data}/a2")
    files.add(1, 4, f"{data}/v", **{**vector(f"{data}/a1"), "content_offset": 4})
    files.add(1, 4, f"{data}/v", **{**vector(f"{data}/gone"), "content_offset": 50})
    files.add(1, 4, f"{data}/live").add(1, 2, f"{data}/old").add(2, 3, f"{data}/e", **IDS)
    return files


@pytest.fixture
def table(files: Files) -> Table:
    return files.open()


@pytest.mark.parametrize("seed", long_or(range(12), range(300)))
def test_what_applies_stays(seed: int, tmp_path: Path) -> None:
    table = random_files(seed, tmp_path, foreign=True, prefix=f"{tmp_path}/t/data/").open()
    rows = table.dangling_deletes().to_arrow()
    before, planned, snapshots = deletes(table), plan(table), table.snapshots().to_arrow().num_rows
    done = lakebed.apply(rows, table, log=tmp_path / "log")
    assert done.counts == ({"dropped": rows.num_rows} if rows.num_rows else {})
    assert done.freed_bytes == 0
    gone = {tuple(row.values()) for row in rows.select(KEY).to_pylist()}
    assert {one for one in before if one[:2] not in gone} == deletes(done.table)
    assert plan(done.table) == planned
    assert done.table.dangling_deletes().to_arrow().num_rows == 0
    assert done.table.snapshots().to_arrow().num_rows == snapshots + bool(rows.num_rows)
    assert done.table.verify().to_arrow().filter(pc.field("severity") == "error").num_rows == (
        table.verify().to_arrow().filter(pc.field("severity") == "error").num_rows
    )
    # Older snapshots keep what they had.
    assert deletes(done.table.at(snapshot=table.snapshot_id)) == before


def test_rows_taken_out_stay(table: Table, tmp_path: Path) -> None:
    rows = table.dangling_deletes().to_arrow()
    assert rows["kind"].to_pylist() == ["deletion vectors", "position deletes", "equality deletes"]
    done = lakebed.apply(rows.filter(pc.field("kind") != "position deletes"), table, log=tmp_path / "log")
    assert outcomes(done) == [("e", "dropped", None), ("v", "dropped", None)]
    assert {(Path(path).name, at) for path, at, *_ in deletes(done.table)} == {
        ("v", 4),
        ("live", None),
        ("old", None),
    }


def test_what_a_fresh_look_does_not_name_is_kept(table: Table, tmp_path: Path) -> None:
    rows = table.dangling_deletes().to_arrow()
    lakebed.apply(rows.slice(1, 1), table, log=tmp_path / "one")
    # And whatever a row says: these apply.
    own = {"file_path": [f"{tmp_path}/t/data/live", f"{tmp_path}/t/data/v"], "content_offset": [None, 4]}
    forged = rows.slice(0, 2)
    for name, values in own.items():
        at = forged.schema.get_field_index(name)
        forged = forged.set_column(
            at, forged.schema.field(at), pa.array(values, forged.schema.field(at).type)
        )
    done = lakebed.apply(pa.concat_tables([rows, forged]), table, log=tmp_path / "log")
    assert [(name, outcome) for name, outcome, _ in outcomes(done)] == [
        ("e", "dropped"),
        ("live", "kept"),
        ("old", "kept"),
        ("v", "kept"),
        ("v", "dropped"),
    ]
    assert {reason for _, outcome, reason in outcomes(done) if outcome == "kept"} == {looking.NOT_NAMED}
    assert {Path(path).name for path, *_ in deletes(done.table)} == {"v", "live"}


def test_a_commit_between_the_look_and_ours(
    table: Table, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = table.dangling_deletes().to_arrow()
    real, calls = dropping._without, list[int]()

    def raced(own: Table, chosen: Any) -> Table:
        calls.append(len(chosen))
        if len(calls) == 1:
            real(own, chosen[:1])
        return real(own, chosen)

    monkeypatch.setattr(dropping, "_without", raced)
    done = lakebed.apply(rows, table, log=tmp_path / "log")
    assert calls == [3, 2]
    assert done.table.dangling_deletes().to_arrow().num_rows == 0
    assert {outcome for _, outcome, _ in outcomes(done)} == {"dropped", "kept"}


def test_a_run_that_was_broken_off_is_ended(
    table: Table, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows, log = table.dangling_deletes().to_arrow(), tmp_path / "log"
    left = deletes(table) - {tuple(row.values()) for row in rows.select(KEY).to_pylist()}
    point = 0
    while True:
        with monkeypatch.context() as patch:
            broken = BrokenOff(point)
            patch.setattr(CleanupLog, "append", broken.step(CleanupLog.append))
            patch.setattr(dropping, "_without", broken.step(dropping._without))
            try:
                done = lakebed.apply(rows, table, log=log)
                break
            except KeyboardInterrupt:
                point += 1
    assert point >= 4
    done = lakebed.apply(rows, done.table, log=log)
    assert set(done.counts) == {"dropped"}
    assert {one[:2] for one in deletes(done.table)} == {
        one[:2]
        for one in left
        if one[:2] not in {tuple(row.values()) for row in rows.select(KEY).to_pylist()}
    }
    lines = [json.loads(line) for line in log.read_text().splitlines()]
    assert lines[0]["view"] == "dangling_deletes"
    assert {line["outcome"] for line in lines[1:]} == {"dropping", "dropped"}


def test_refusals(table: Table, files: Files, tmp_path: Path) -> None:
    rows = table.dangling_deletes().to_arrow()
    with pytest.raises(UnsupportedError, match="stay where they are"):
        lakebed.apply(rows, table, tmp_path / "q", log=tmp_path / "log")
    with pytest.raises(SchemaError, match="without the column 'content_offset'"):
        lakebed.apply(rows.drop_columns(["content_offset"]), table, log=tmp_path / "log")
    old = pc.subtract(rows["planned_at"], pa.scalar(90_000_000_000, pa.duration("us")))
    rows = rows.set_column(rows.schema.get_field_index("planned_at"), "planned_at", old)
    with pytest.raises(CommitConflictError, match="not within the last 24 hours"):
        lakebed.apply(rows, table, log=tmp_path / "log")
    assert table.refresh().snapshot_id == table.snapshot_id


def test_a_vector_of_a_live_file_is_not_removed_by_itself(table: Table, tmp_path: Path) -> None:
    path = f"{tmp_path}/t/data/v"
    for offset, words in ((4, "which is live"), (5, "no live deletion vector at 5")):
        removed = pa.table({"file_path": [path, path], "content_offset": [50, offset]})
        with pytest.raises(SchemaError, match=words) as raised:
            table.replace_files([], removed_deletes=removed)
        assert (raised.value.field, raised.value.record) == ("content_offset", 1)
    with pytest.raises(UnsupportedError, match="or by its offset"):
        table.replace_files([], removed_deletes=[path])
    # With its data file it may be named or not.
    removed = pa.table({"file_path": [path], "content_offset": [4]})
    after = table.replace_files([f"{tmp_path}/t/data/a1"], removed_deletes=removed)
    assert {at for name, at, *_ in deletes(after) if name == path} == {50}


def test_vectors_of_paimon(tmp_path: Path) -> None:
    made = PaimonTable(tmp_path / "p", ("id", "INT"))
    made.commit(paimon_entry(ADD, "a", row_count=4), paimon_entry(ADD, "b", row_count=4))
    made.commit(paimon_entry(DELETE, "b"))
    index_manifest(made, ("a", 1, 20), ("b", 30, 20), ("gone", 50, 30))
    table = lakebed.open_table(made.root)
    rows, planned = table.dangling_deletes().to_arrow(), plan(table)
    live = table.deletes(columns=KEY, limit=1).to_arrow()
    with pytest.raises(SchemaError, match="which is live") as raised:
        table.replace_files([], removed_deletes=live)
    assert (raised.value.field, raised.value.record) == ("content_offset", 0)
    done = lakebed.apply(rows.slice(0, 1), table, log=tmp_path / "log")
    assert [outcome for _, outcome, _ in outcomes(done)] == ["dropped"]
    assert {at for _, at, *_ in deletes(done.table)} == {1, 50}
    done = lakebed.apply(rows, table, log=tmp_path / "second")
    assert sorted(outcome for _, outcome, _ in outcomes(done)) == ["dropped", "kept"]
    assert plan(done.table) == planned
    assert done.table.dangling_deletes().to_arrow().num_rows == 0
    # With the data file the last vector goes, and the index file.
    after = done.table.delete_files(table.files())
    assert deletes(after) == set()


def test_the_command(table: Table, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    kept = run("dangling-deletes", "t", "--plan-file", "gone.parquet")
    assert kept.exit_code == 0, kept.stderr
    done = run("apply", "gone.parquet", "--yes")
    assert (done.exit_code, done.stdout.splitlines()[0][:16]) == (0, "dropped 3 files,")
    assert "taken out of the table by a commit" in done.stderr
    assert table.refresh().dangling_deletes().to_arrow().num_rows == 0
