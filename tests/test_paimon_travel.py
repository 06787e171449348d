"""Where a table may stand: snapshots, tags, branches and times, on tables that the engine wrote."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Iterator
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import pytest
from interpreters import printed
from local_storage import LocalStorage

import lakebed
from lakebed import paimon
from lakebed.errors import SnapshotNotFoundError
from shared_data import GoldenTable, each_golden_paimon_table, shared_paimon_table

MILLISECOND = timedelta(milliseconds=1)


def numbered(folder: Path, prefix: str) -> dict[int, dict[str, Any]]:
    """The parsed files `<prefix><number>` of a folder, by number."""
    files = (file for file in folder.glob(f"{prefix}*") if file.name.removeprefix(prefix).isdigit())
    read = {int(file.name.removeprefix(prefix)): json.loads(file.read_text("utf-8")) for file in files}
    return dict(sorted(read.items()))


def named(folder: Path, prefix: str) -> list[str]:
    return sorted(file.name.removeprefix(prefix) for file in folder.glob(f"{prefix}*"))


def branches(table: GoldenTable) -> Iterator[tuple[lakebed.Table, Path]]:
    """The table on each of its branches, and the folder of each."""
    opened = lakebed.open_table(table.path)
    yield opened, table.path
    for name in named(table.path / "branch", "branch-"):
        yield opened.at(branch=name), table.path / "branch" / f"branch-{name}"


@each_golden_paimon_table()
def test_snapshots_by_id(table: GoldenTable):
    for opened, root in branches(table):
        files = numbered(root / "snapshot", "snapshot-")
        for snapshot_id in files:
            at = opened.at(snapshot=snapshot_id)
            assert (at.snapshot_id, at.branch, at.tag) == (snapshot_id, opened.branch, None)
        assert opened.snapshot_id == max(files, default=None)
        missing = max(files, default=0) + 1
        with pytest.raises(SnapshotNotFoundError, match=f"no snapshot {missing}") as caught:
            opened.at(snapshot=missing)
        there = f"{min(files)} to {max(files)}" if files else "none"
        assert there in str(caught.value)


@each_golden_paimon_table()
def test_snapshots_by_time(table: GoldenTable):
    """A commit's own time is that commit, a time before all is none."""
    for opened, root in branches(table):
        times = {key: file["timeMillis"] for key, file in numbered(root / "snapshot", "snapshot-").items()}
        for time in times.values():
            for asked in (time, time - 1, time + 1):
                known = [key for key, committed in times.items() if committed <= asked]
                if known:
                    assert opened.at(timestamp=asked).snapshot_id == known[-1], asked
                else:
                    with pytest.raises(SnapshotNotFoundError, match=f"{min(times)} to {max(times)}"):
                        opened.at(timestamp=asked)
        with pytest.raises(SnapshotNotFoundError):
            opened.at(timestamp=0)


@each_golden_paimon_table()
def test_snapshots_by_watermark(table: GoldenTable):
    """Snapshots without a watermark, or with none yet, are passed over."""
    for opened, root in branches(table):
        marks = {key: file.get("watermark") for key, file in numbered(root / "snapshot", "snapshot-").items()}
        known = {key: mark for key, mark in marks.items() if mark not in (None, -(2**63))}
        for mark in known.values():
            for asked in (mark - 1, mark):
                expected = next(key for key, reached in known.items() if reached >= asked)
                assert opened.at(watermark=asked).snapshot_id == expected, asked
        with pytest.raises(SnapshotNotFoundError, match="watermark"):
            opened.at(watermark=max(known.values(), default=0) + 1)


@each_golden_paimon_table()
def test_tags(table: GoldenTable):
    """A tag is a snapshot, whether that has expired or not."""
    for opened, root in branches(table):
        names = named(root / "tag", "tag-")
        for name in names:
            file = paimon.read_snapshot(root / "tag" / f"tag-{name}")
            at = opened.at(tag=name)
            assert (at.snapshot_id, at.tag, at.branch) == (file["id"], name, opened.branch)
            assert f"tag {name!r}" in repr(at)
            assert at.manifests().to_arrow().num_rows > 0
        with pytest.raises(SnapshotNotFoundError) as caught:
            opened.at(tag="no such tag")
        assert all(f'"{name}"' in str(caught.value) for name in names)


@each_golden_paimon_table()
def test_refs_are_the_branches_and_tags(table: GoldenTable):
    for opened, root in branches(table):
        rows = {(row["type"], row["name"]): row for row in opened.refs().to_arrow().to_pylist()}
        others = named(table.path / "branch", "branch-")
        tags = named(root / "tag", "tag-")
        assert list(rows) == [("branch", name) for name in ["main", *others]] + [
            ("tag", name) for name in tags
        ]
        for name in ["main", *others]:
            assert rows["branch", name]["snapshot_id"] == opened.at(branch=name).snapshot_id
        for name in tags:
            file = json.loads((root / "tag" / f"tag-{name}").read_text("utf-8"))
            row = rows["tag", name]
            assert (row["snapshot_id"], row["schema_id"]) == (file["id"], file["schemaId"])
            kept = file.get("tagTimeRetained")
            assert row["max_reference_age_in_ms"] == (None if kept is None else round(kept * 1000))
            assert (row["created_at"] is None) == ("tagCreateTime" not in file)
            assert row["committed_at"] == instant(file["timeMillis"])
        assert opened.refs(filter="type = 'tag'", columns=["name"]).to_arrow()["name"].to_pylist() == tags


@each_golden_paimon_table()
def test_snapshots_and_changelogs_show_what_their_files_say(table: GoldenTable):
    keys = {
        "watermark": "watermark",
        "statistics": "statistics",
        "uuid": "uuid",
        "nextRowId": "next_row_id",
        "operation": "commit_operation",
        "writerVersion": "writer_version",
        "commitKind": "operation",
        "changelogManifestList": "changelog_manifest_list",
    }
    for opened, root in branches(table):
        for kind, view in (("snapshot", opened.snapshots()), ("changelog", opened.changelogs())):
            files = numbered(root / kind, f"{kind}-")
            rows = view.to_arrow().to_pylist()
            assert [row["snapshot_id"] for row in rows] == list(files)
            for row, file in zip(rows, files.values(), strict=True):
                assert {column: row[column] for column in keys.values()} == {
                    column: file.get(key) for key, column in keys.items()
                }
                assert dict(row["summary"] or []) == file.get("properties", {})
                assert {str(key): value for key, value in row["log_offsets"] or []} == file.get(
                    "logOffsets", {}
                )


@each_golden_paimon_table()
def test_a_branch_is_left_again(table: GoldenTable):
    opened = lakebed.open_table(table.path)
    for at, _ in branches(table):
        back = at.at(branch="main")
        assert (back.branch, back.snapshot_id, back.properties) == (
            "main",
            opened.snapshot_id,
            opened.properties,
        )
        assert at.branch == "main" or f"branch {at.branch!r}" in repr(at)
    with pytest.raises(SnapshotNotFoundError, match='"main"'):
        opened.at(branch="no such branch")


def test_a_branch_reads_its_data_from_the_table():
    """Manifests of a branch stand in the table's own folder."""
    table = lakebed.open_table(shared_paimon_table("append_table_with_rt_branch")).at(branch="rt")
    assert table.snapshot_id is not None
    assert table.files().to_arrow().num_rows > 0


def test_changelog_files_are_not_live():
    """What only the changelog's manifest list names is in no view of live files."""
    table = lakebed.open_table(shared_paimon_table("_generated_pypaimon/pk_changelog"))
    assert any(table.snapshots().to_arrow()["changelog_manifest_list"].to_pylist())
    names = table.files().to_arrow()["file_name"].to_pylist()
    assert names
    assert not [name for name in names if name.startswith("changelog-")]


def instant(millis: int) -> datetime:
    return datetime(1970, 1, 1, tzinfo=timezone.utc) + timedelta(milliseconds=millis)


def write(folder: Path, prefix: str, number: int, file: dict[str, Any]) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"{prefix}-{number}").write_text(json.dumps(file), "utf-8")


def snapshot(number: int) -> dict[str, Any]:
    lists = {"baseManifestList": "base", "deltaManifestList": "delta"}
    commit = {"commitUser": "u", "commitIdentifier": number, "commitKind": "APPEND"}
    return {"id": number, "timeMillis": number * 1000, **lists, **commit}


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A table with snapshots 2, 3, 10, and 11 under a name that pypaimon gives unfinished files."""
    fields = [{"id": 0, "name": "a", "type": "INT"}]
    keys: dict[str, object] = {"partitionKeys": [], "primaryKeys": [], "options": {}}
    write(tmp_path / "schema", "schema", 0, {"id": 0, "fields": fields, "highestFieldId": 0, **keys})
    for number in (2, 3, 10):
        write(tmp_path / "snapshot", "snapshot", number, snapshot(number))
    unfinished = "snapshot-11b5f3a1e0-0b1c-4d7e-9f00-0123456789ab.tmp"
    (tmp_path / "snapshot" / unfinished).write_text(json.dumps(snapshot(11)), "utf-8")
    return tmp_path


@pytest.mark.parametrize(
    ("hint", "latest"),
    [("2", 10), ("3", 3), ("10", 10), ("99", 10), ("garbage", 10), ("", 10), ("-3", 10), (None, 10)],
)
@pytest.mark.parametrize("earliest", ["1", "3", "garbage", None])
def test_hints_are_only_hints(path: Path, hint: str | None, latest: int, earliest: str | None):
    """Checklist 6 to 8 and 10: hints that are stale, wrong, garbage or not there."""
    for name, text in (("LATEST", hint), ("EARLIEST", earliest)):
        if text is not None:
            (path / "snapshot" / name).write_text(text)
    table = lakebed.open_table(path)
    assert table.snapshot_id == latest
    assert table.snapshots().to_arrow()["snapshot_id"].to_pylist() == [2, 3, 10]
    with pytest.raises(SnapshotNotFoundError, match="2 to 10"):
        table.at(snapshot=1)


def test_a_table_without_snapshots_is_empty(path: Path):
    """Checklist 9."""
    shutil.rmtree(path / "snapshot")
    table = lakebed.open_table(path)
    assert table.snapshot_id is None
    assert table.files().to_arrow().num_rows == 0
    assert table.refs().to_arrow().select(["name", "type", "snapshot_id"]).to_pylist() == [
        {"name": "main", "type": "branch", "snapshot_id": None}
    ]
    choices: list[dict[str, Any]] = [{"snapshot": 1}, {"timestamp": 0}]
    for choice in choices:
        with pytest.raises(SnapshotNotFoundError, match="none"):
            table.at(**choice)


def test_a_branch_without_snapshots_is_an_empty_table(path: Path):
    shutil.copytree(path / "schema", path / "branch" / "branch-new" / "schema")
    table = lakebed.open_table(path).at(branch="new")
    assert (table.branch, table.snapshot_id, table.files().to_arrow().num_rows) == ("new", None, 0)
    assert "branch 'new'" in repr(table)


def test_a_branch_knows_when_its_folder_was_modified(path: Path):
    folder = path / "branch" / "branch-new"
    shutil.copytree(path / "schema", folder / "schema")
    expected = instant(folder.stat().st_mtime_ns // 1_000_000).replace(tzinfo=None)
    pafs, fsspec = pytest.importorskip("pyarrow.fs"), pytest.importorskip("fsspec")
    for storage in (None, pafs.LocalFileSystem(), fsspec.filesystem("file"), LocalStorage()):
        rows = lakebed.open_table(path, storage=storage).metadata_table("branches").to_arrow().to_pylist()
        time = None if isinstance(storage, LocalStorage) else expected
        assert rows == [{"branch_name": "new", "create_time": time}], storage


def test_times_are_datetimes_or_milliseconds(path: Path):
    table = lakebed.open_table(path)
    three = instant(3000)
    for time in (3000, three, three + 0.999 * MILLISECOND, three.astimezone(timezone(timedelta(hours=5)))):
        assert table.at(timestamp=time).snapshot_id == 3, time
    assert table.at(timestamp=three - timedelta(microseconds=1)).snapshot_id == 2
    for wrong in ("2026-01-01", 3.0, True):
        with pytest.raises(TypeError, match="timestamp="):
            table.at(timestamp=wrong)  # type: ignore[arg-type]


def test_a_datetime_without_zone_is_local_time(path: Path):
    program = (
        "import sys, lakebed; from datetime import datetime;"
        "print(lakebed.open_table(sys.argv[1]).at(timestamp=datetime(1970, 1, 1, 5, 0, 3)).snapshot_id)"
    )
    assert printed("-c", program, path, environment={"TZ": "<+05>-5"}).strip() == "3"


@pytest.mark.parametrize("name", ["", "..", "../snapshot/snapshot-2", "a/b"])
@pytest.mark.parametrize("kind", ["tag", "branch"])
def test_names_do_not_lead_out_of_their_folder(path: Path, kind: str, name: str):
    choice: dict[str, Any] = {kind: name}
    with pytest.raises(SnapshotNotFoundError, match=re.escape(f'no {kind} "{name}"')):
        lakebed.open_table(path).at(**choice)


def test_statistics_go_with_the_snapshot(path: Path):
    write(path / "statistics", "stat", 0, {"snapshotId": 2, "schemaId": 0, "colStats": {"a": {"colId": 0}}})
    write(path / "snapshot", "snapshot", 3, {**snapshot(3), "statistics": "stat-0"})
    table = lakebed.open_table(path)
    assert table.metadata_table("statistics").to_arrow().num_rows == 0
    (row,) = table.at(snapshot=3).metadata_table("statistics").to_arrow().to_pylist()
    assert (row["snapshot_id"], row["mergedRecordCount"]) == (2, None)
    assert row["colstat"] == '{\n  "a" : {\n    "colId" : 0\n  }\n}'


@pytest.mark.parametrize("kept", ["86400.000000000", "86400.0", "86400"])
@pytest.mark.parametrize(
    ("created", "micros"), [([1970, 1, 2, 0, 0], 86400 * 10**6), ([1970, 1, 1, 0, 0, 1, 2000], 1000002)]
)
def test_tags_come_in_the_forms_of_all_writers(path: Path, kept: str, created: list[int], micros: int):
    """On one line or many, with and without seconds."""
    file = json.dumps({**snapshot(1), "tagCreateTime": created})
    (path / "tag").mkdir()
    (path / "tag" / "tag-v1").write_text(f'{file[:-1]}, "tagTimeRetained": {kept}}}')
    assert paimon.read_snapshot(path / "tag" / "tag-v1")["tagCreateTime"] == created
    table = lakebed.open_table(path)
    (row,) = table.refs(filter="type = 'tag'").to_arrow().to_pylist()
    assert (row["snapshot_id"], row["max_reference_age_in_ms"]) == (1, 86_400_000)
    assert row["created_at"] == datetime(1970, 1, 1) + timedelta(microseconds=micros)
    (row,) = table.metadata_table("tags").to_arrow().to_pylist()
    assert row["time_retained"] == "PT24H"
    assert table.at(tag="v1").snapshot_id == 1
