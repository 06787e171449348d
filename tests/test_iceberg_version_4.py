"""Tables of format version 4, as Iceberg 1.12 writes them, and with the specification's relative paths."""

from __future__ import annotations

import gzip
import json
import os
import shutil
from datetime import timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from raising import raises

import lakebed
from iceberg_golden import golden
from lakebed.errors import LakebedWarning, LocationError, UnsupportedError

PREFIX = "file:/tmp/lakebed_golden/next_dev/"


def copied(name: str, to: Path) -> tuple[Path, dict[str, str]]:
    """A copy of a golden table: its metadata file, and where its paths are now."""
    table = golden(name)
    shutil.copytree(table.path, to, ignore=shutil.ignore_patterns("expected"))
    moved = {prefix: str(to) for prefix in (PREFIX + name, f"/tmp/lakebed_golden/next_dev/{name}")}
    return to / table.info["metadata_file"], moved


def changed(file: Path, **keys: Any) -> None:
    """Sets keys of a metadata file; None takes a key out."""
    document = json.loads(file.read_text("utf-8"))
    for name, value in keys.items():
        document[name.replace("_", "-")] = value
    file.write_text(json.dumps(document), "utf-8")


def files(table: lakebed.Table) -> list[tuple[str, int]]:
    rows = table.files(columns=["file_path", "record_count"]).to_arrow()
    return sorted(zip(rows["file_path"].to_pylist(), rows["record_count"].to_pylist(), strict=True))


@pytest.mark.parametrize("name", ["append_manifest_v4", "upgrade_v2_v3_v4", "empty_v4"])
def test_statistics_of_some_columns_are_those_of_all(name: str) -> None:
    table = golden(name).open()
    names = [field.name for field in pa.schema(table.schema) if not pa.types.is_nested(field.type)]
    whole = table.files(stats=names).to_arrow()["stats"].combine_chunks()
    assert len(names) > 1
    for column in names:
        some = table.files(stats=[column]).to_arrow()["stats"].combine_chunks()
        assert some.field(column).equals(whole.field(column)), column


def test_metadata_is_not_written_for_other_paths(tmp_path: Path) -> None:
    file, moved = copied("empty_v4", tmp_path / "t")
    table = lakebed.open_table(file, relocate=moved)
    with raises(UnsupportedError, match="format version 4 cannot be written"):
        lakebed.rewrite_paths(table, {str(tmp_path): "/elsewhere"}, to=tmp_path / "new")
    assert not (tmp_path / "new").exists()


def test_relative_paths_are_behind_the_tables_location() -> None:
    table = golden("experimental_relative_paths_v4")
    expected = sorted((row["file_path"], int(row["record_count"])) for row in table.rows("files"))
    opened = table.open()
    assert files(opened) == expected
    deletes = opened.deletes(columns=["referenced_data_file"]).to_arrow()["referenced_data_file"].to_pylist()
    assert set(deletes) - {None} <= {path for path, _ in expected}
    planned = opened.plan(columns=["file_path", "delete_files"]).to_arrow().to_pylist()
    assert sum(len(row["delete_files"]) for row in planned) > 0
    for view, column in (("manifests", "path"), ("snapshots", "manifest_list"), ("reachable", "file_path")):
        paths = getattr(opened, view)(columns=[column]).to_arrow()[column].to_pylist()
        # The first file that is reached is the one that the table was opened from.
        assert all(path.startswith(("file:", "s3:")) for path in paths[view == "reachable" :]), view


def test_a_relative_path_begins_with_the_folder_where_there_is_no_location(tmp_path: Path) -> None:
    file, _ = copied("experimental_relative_paths_v4", tmp_path / "t")
    table = golden("experimental_relative_paths_v4")
    changed(file, location=None)
    found = files(lakebed.open_table(file))
    own = [(path.replace(table.location, str(tmp_path / "t")), count) for path, count in files(table.open())]
    assert found == sorted(own)


def test_relative_paths_resolve_as_javas(tmp_path: Path) -> None:
    """The path of a manifest list, beside what Java's `LocationUtil` makes of it."""
    with gzip.open(golden("vectors").path / "paths.jsonl.gz", "rt", encoding="utf-8") as lines:
        rows = [row for row in map(json.loads, lines) if row["op"] == "resolve" and row.get("result")]
    # Java takes a location as it is; lakebed without the slash at its end, as it does in every version.
    rows = [row for row in rows if not str(row["table_location"]).endswith("/") or row["has_scheme"]]
    assert len(rows) > 20
    file, moved = copied("part_names_v4", tmp_path / "t")
    document = json.loads(file.read_text("utf-8"))
    for row in rows:
        snapshots = [{**document["snapshots"][0], "manifest-list": row["path"]}]
        changed(
            file,
            location=row["table_location"],
            snapshots=snapshots,
            current_snapshot_id=snapshots[0]["snapshot-id"],
            refs={},
            snapshot_log=[],
        )
        read = lakebed.open_table(file, relocate=moved).snapshots(columns=["manifest_list"]).to_arrow()
        assert read["manifest_list"].to_pylist() == [row["result"]], row


def in_place(tmp_path: Path) -> lakebed.Table:
    """The golden table of relative paths at a location of its own, with all files old that it names."""
    file, _ = copied("experimental_relative_paths_v4", tmp_path / "t")
    for version in (tmp_path / "t" / "metadata").glob("*.json"):
        changed(version, location=f"file:{tmp_path / 't'}")
    opened = lakebed.open_table(file)
    for path in opened.reachable(columns=["file_path"]).to_arrow()["file_path"].to_pylist():
        own = Path(path.removeprefix("file:"))
        if own.is_relative_to(tmp_path) and not own.exists():
            own.parent.mkdir(parents=True, exist_ok=True)
            own.write_bytes(b"x")
    for one in tmp_path.rglob("*"):
        os.utime(one, (0, 0))
    return opened


def left(root: Path) -> Path:
    """An old file that nothing names."""
    planted = root / "data" / "left.parquet"
    planted.write_bytes(b"x")
    os.utime(planted, (0, 0))
    return planted


def test_orphans_are_what_no_relative_path_names(tmp_path: Path) -> None:
    table = in_place(tmp_path)
    planted = left(tmp_path / "t")
    rows = table.orphans(timedelta(0), columns=["file_path"]).to_arrow()["file_path"].to_pylist()
    assert [Path(path.removeprefix("file:")) for path in rows] == [planted]


def test_expiries_of_relative_paths_are_files_of_the_table(tmp_path: Path) -> None:
    table = in_place(tmp_path)
    plan = table.expire_plan(timedelta(0), retain_last=1, columns=["file_path"]).to_arrow()
    expired = [Path(path.removeprefix("file:")) for path in plan["file_path"].to_pylist() if path]
    assert expired
    assert all(path.is_file() and path.is_relative_to(tmp_path / "t") for path in expired)
    kept = {path for path, _ in files(table)}
    assert not kept & set(plan["file_path"].to_pylist())


@pytest.mark.parametrize("location", ["/warehouse/t", "", "warehouse"])
def test_a_location_without_a_scheme_is_refused(location: str, tmp_path: Path) -> None:
    file, moved = copied("part_names_v4", tmp_path / "t")
    changed(file, location=location)
    with raises(LocationError, match="must be absolute", field="location", path=str(file)):
        lakebed.open_table(file, relocate=moved)


def test_a_later_version_is_refused(tmp_path: Path) -> None:
    file, moved = copied("part_names_v4", tmp_path / "t")
    changed(file, format_version=5)
    with pytest.raises(UnsupportedError, match="format-version 5 is not read: versions 1 to 4 are"):
        lakebed.open_table(file, relocate=moved)


@pytest.mark.parametrize("job", ["orphans", "expire_plan"])
def test_nothing_is_deletable_by_a_copy_without_a_location(job: str, tmp_path: Path) -> None:
    file, moved = copied("no_location_v4", tmp_path / "t")
    with pytest.raises(LocationError, match="it may be a copy"):
        getattr(lakebed.open_table(file), job)(timedelta(0)).to_arrow()
    getattr(lakebed.open_table(file, relocate=moved), job)(timedelta(0)).to_arrow()


def test_orphans_of_a_table_without_a_location(tmp_path: Path) -> None:
    file, moved = copied("no_location_v4", tmp_path / "t")
    planted = left(tmp_path / "t")
    rows = lakebed.open_table(file, relocate=moved).orphans(timedelta(0)).to_arrow()[0].to_pylist()
    # The last version was made by hand of the one before, which it does not name.
    assert sorted(Path(path).name.partition("-")[0] for path in rows) == ["00003", planted.name]


def test_commits_are_refused_by_name(tmp_path: Path) -> None:
    file, _ = copied("part_names_v4", tmp_path / "t")
    changed(file, location=f"file:{tmp_path / 't'}")
    table = lakebed.open_table(file)
    rows = pa.table({"file_path": ["data/f"], "record_count": [1], "file_size_in_bytes": [1]})
    for commit in (
        lambda: table.append_files(rows),
        lambda: table.update_properties({"a": "b"}),
        lambda: table.expire_snapshots(timedelta(0)),
        lambda: table.stage().update_properties({"a": "b"}),
    ):
        with pytest.raises(UnsupportedError, match="version 4"):
            commit()
    older = lakebed.create_table
    with pytest.raises((UnsupportedError, ValueError)):
        older("/nonexistent/t", rows.schema, "iceberg", format_version=4)


def test_a_length_that_is_not_that_of_a_parquet_manifest_is_a_warning() -> None:
    """Java refuses the manifest; what the file holds is known all the same."""
    table = golden("wrong_manifest_length_v4")
    opened = table.open()
    with pytest.warns(LakebedWarning, match="its list records"):
        assert opened.files().to_arrow().num_rows > 0
    (finding,) = opened.verify(data_files=False).to_arrow().to_pylist()
    assert finding["path"].endswith("long-m0.parquet")


def test_keys_of_a_footer_may_have_values_that_are_no_text(tmp_path: Path) -> None:
    (first, *_) = sorted(golden("part_names_v4").path.glob("metadata/*.parquet"))
    rows = pq.read_table(first)
    odd = tmp_path / "odd.parquet"
    pq.write_table(rows.replace_schema_metadata({**rows.schema.metadata, "odd": b"\xff\x00"}), odd)
    assert pq.read_metadata(odd).metadata[b"odd"] == b"\xff\x00"
    read = [lakebed.iceberg.read_manifest(file).to_arrow() for file in (first, odd)]
    assert read[0] == read[1]
