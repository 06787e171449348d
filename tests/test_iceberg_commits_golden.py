"""Commits to copies of the tables that Iceberg Java wrote, of every version, spec and kind of delete."""

from __future__ import annotations

import shutil
import warnings
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pytest
from covering import covering_iceberg_tables
from iceberg_commits import metadata
from iceberg_rewrite import header
from json_files import changed

import lakebed
from iceberg_golden import GoldenTable
from lakebed import iceberg
from lakebed.errors import LakebedWarning
from shared_data import each

TABLES = [
    table for table in covering_iceberg_tables() if (table.path / "metadata" / "v1.metadata.json").is_file()
]


def copied(table: GoldenTable, folder: Path) -> lakebed.Table:
    """A copy whose metadata location is where the copy is; data files are named as before."""
    target = folder / table.name
    shutil.copytree(table.path / "metadata", target / "metadata")
    written = table.info["location"]
    for file in sorted((target / "metadata").rglob("*.metadata.json*")):
        text = iceberg.read_metadata(file)
        iceberg.write_metadata(relocated(text, written, str(target)), file, overwrite=True)
    for file in sorted((target / "metadata").rglob("snap-*.avro")):
        move_list(file, written, str(target))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", LakebedWarning)
        return lakebed.open_table(target)


def relocated(value: Any, old: str, new: str) -> Any:
    """JSON with paths below `old` below `new`, but for the properties."""
    return changed(value, scalars=lambda one: one.replace(old, new) if isinstance(one, str) else one)


def move_list(file: Path, old: str, new: str) -> None:
    rows = iceberg.read_manifest_list(file).to_arrow()
    paths = pc.replace_substring(rows["manifest_path"], old, new)
    keys = header(file)
    iceberg.write_manifest_list(
        rows.set_column(0, "manifest_path", paths),
        file,
        format_version=int(keys["format-version"]),
        snapshot_id=int(keys["snapshot-id"]),
        overwrite=True,
    )


def live(table: lakebed.Table) -> pa.Table:
    """Live files by path, as they were found; what a rewrite may change left out."""
    names = [name for name in table.files().schema.names if name not in ("spec_id",)]
    return table.files(columns=names).to_arrow().sort_by("file_path")


def plan(table: lakebed.Table) -> list[dict[str, Any]]:
    """Data files with the deletes that apply to them."""
    rows = table.plan(columns=["file_path", "delete_files"]).to_arrow().to_pylist()
    return sorted(rows, key=lambda row: row["file_path"])


@pytest.mark.filterwarnings("ignore::lakebed.errors.LakebedWarning")
@each("golden", TABLES, [table.name for table in TABLES], "golden Iceberg tables")
def test_javas_tables_take_commits(golden: GoldenTable, tmp_path: Path):
    table = copied(golden, tmp_path)
    before, planned = live(table), plan(table)
    rewritten = table.rewrite_manifests(target_bytes=10_000)
    if table.snapshot_id is not None:
        assert rewritten.snapshot_id != table.snapshot_id
    assert repr(live(rewritten).to_pylist()) == repr(before.to_pylist())
    assert plan(rewritten) == planned
    data = before.filter(pc.equal(before["content"], 0))
    if not data.num_rows:
        return
    gone = data["file_path"][0].as_py()
    deleted = rewritten.delete_files([gone])
    assert plan(deleted) == [row for row in planned if row["file_path"] != gone]
    vectors = {
        row["referenced_data_file"] for row in live(deleted).to_pylist() if row["content_offset"] is not None
    }
    assert gone not in vectors
    back = deleted.append_files(table.files(where=None).to_arrow().filter(pc.field("file_path") == gone))
    assert len(plan(back)) == len(planned)
    check_totals(back)


def check_totals(table: lakebed.Table) -> None:
    said = metadata(table)["snapshots"][-1]["summary"]
    files = table.files(columns=["content", "record_count"]).to_arrow()
    data = files.filter(pc.equal(files["content"], 0))
    if "total-data-files" in said:
        assert int(said["total-data-files"]) == data.num_rows
        assert int(said["total-records"]) == pc.sum(data["record_count"]).as_py()
        assert int(said["total-delete-files"]) == files.num_rows - data.num_rows
