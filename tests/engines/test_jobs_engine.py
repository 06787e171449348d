"""The engines as judges of orphans and of what an expiry frees: file by file, on copies of golden tables."""

from __future__ import annotations

import shutil
import time
from collections import Counter
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import pytest
from covering import each_covering_iceberg_table, each_covering_paimon_table
from java_engine import EngineError, JavaEngine

import lakebed
from iceberg_golden import GoldenTable as GoldenIcebergTable
from lakebed.errors import SchemaError
from shared_data import GoldenTable, each_golden_paimon_table

pytestmark = [pytest.mark.jvm, pytest.mark.filterwarnings("ignore::lakebed.errors.LakebedWarning")]

# What Paimon's expiry writes, or leaves to others.
HINTS = ("EARLIEST", "LATEST")


def millis(time: datetime) -> int:
    return int(time.timestamp() * 1000)


def local(path: str) -> str:
    return path.removeprefix("file:")


def lying(folder: Path) -> set[str]:
    return {str(file) for file in folder.rglob("*") if file.is_file()}


@each_covering_iceberg_table()
@pytest.mark.parametrize("retain", [1, 2])
def test_iceberg_expires_the_same(table: GoldenIcebergTable, retain: int, iceberg_java: JavaEngine):
    opened = table.open()
    if None in opened.snapshots(columns=["manifest_list"]).to_arrow()["manifest_list"].to_pylist():
        pytest.skip("Iceberg Java calls manifests that stand in no list by where it reads them")
    now = datetime.now(timezone.utc)
    answer = iceberg_java.ask(
        "expire",
        metadata=table.path / table.info["metadata_file"],
        relocate=table.relocate,
        older_than=millis(now),
        retain_last=retain,
    )
    found = opened.expire_plan(now, retain).to_arrow().to_pylist()
    snapshots = [row["first_snapshot_id"] for row in found if row["kind"] == "snapshot"]
    assert sorted(snapshots) == sorted(answer["snapshots"])
    refs = sorted(
        row["first_reached_by"].partition(" ")[2] for row in found if row["kind"] in ("branch", "tag")
    )
    assert refs == sorted(answer["refs"])
    # The engine names files as metadata does, lakebed where they are now.
    files = sorted(str(table.file(path)) for path in answer["files"])
    assert sorted(row["file_path"] for row in found if row["file_path"] is not None) == files


@each_covering_paimon_table()
@pytest.mark.parametrize("retain", [1, 3])
def test_paimon_expires_the_same(table: GoldenTable, retain: int, tmp_path: Path, paimon_java: JavaEngine):
    copy = Path(shutil.copytree(table.path, tmp_path / table.path.name))
    opened = lakebed.open_table(copy)
    options = {"snapshot.time-retained": "0 ms", "snapshot.num-retained.min": str(retain)}
    if int(opened.properties.get("snapshot.num-retained.max", retain)) < retain:
        with pytest.raises(SchemaError, match=r"num-retained\.max"):
            opened.expire_plan(timedelta(0), retain).to_arrow()
        with pytest.raises(EngineError, match="should not be larger than"):
            paimon_java.ask("expire", table=copy, options=options)
        return
    plan = opened.expire_plan(timedelta(0), retain).to_arrow().to_pylist()
    # The engine does not look at branches that have the same files.
    reached = opened.reachable().to_arrow().to_pylist()
    of_branches = {row["file_path"] for row in reached if " of branch " in row["last_reached_by"]}
    before = lying(copy)
    paimon_java.ask("expire", table=copy, options=options)
    deleted = {file for file in before - lying(copy) if Path(file).name not in HINTS}
    # What the engine has deleted before is named by what it kept.
    planned = {local(row["file_path"]) for row in plan} & before
    assert planned == deleted - of_branches


@each_golden_paimon_table()
def test_paimon_finds_the_same_orphans(table: GoldenTable, tmp_path: Path, paimon_java: JavaEngine):
    copy = Path(shutil.copytree(table.path, tmp_path / table.path.name))
    folders = ["manifest", "index", "statistics", "snapshot", "changelog", "schema", "tag", "x", "."]
    buckets = [str(folder.relative_to(copy)) for folder in copy.rglob("bucket-*") if folder.is_dir()]
    for number, folder in enumerate([*folders, *buckets[:3]]):
        (copy / folder).mkdir(exist_ok=True)
        (copy / folder / f"planted-{number}").write_bytes(b"orphan")
    time.sleep(0.01)
    now = datetime.now(timezone.utc)
    answer = paimon_java.ask("orphans", table=copy, older_than=millis(now))
    # External files are on a bucket that nobody has here.
    opened = lakebed.open_table(copy, relocate={"s3://lake-a/": str(tmp_path / "nowhere")})
    found = sorted(local(row["file_path"]) for row in opened.orphans(now).to_arrow().to_pylist())
    assert found == answer
    assert sum("planted-" in file for file in found) >= 4


def read_by_iceberg(table: GoldenIcebergTable, iceberg_java: JavaEngine) -> dict[str, Any]:
    metadata = table.path / table.info["metadata_file"]
    answer: dict[str, Any] = iceberg_java.ask("read", metadata=metadata, relocate=table.relocate)
    return answer


@each_covering_iceberg_table()
def test_iceberg_counts_and_tells_the_same_of_every_commit(
    table: GoldenIcebergTable, iceberg_java: JavaEngine
):
    opened, answer = table.open(), read_by_iceberg(table, iceberg_java)
    rows = opened.growth().to_arrow().to_pylist()
    for row in rows:
        plan = answer["plans"][str(row["snapshot_id"])]
        if "error" not in plan:
            assert row["file_count"] == len(plan)
    if not isinstance(answer["all_entries"], list):
        return
    # What the oldest was made from nobody knows.
    ids = {row["snapshot_id"] for row in rows[1:]}
    words = {1: "added", 2: "removed"}
    entries = {
        (words[one["status"]], one["snapshot_id"], one["data_file"]["file_path"])
        for one in answer["all_entries"]
        if one["status"] in words and one["snapshot_id"] in ids
    }
    columns = ["change", "snapshot_id", "file_path"]
    told = opened.file_history(columns=columns).to_arrow().to_pylist()
    assert {tuple(one.values()) for one in told if one["snapshot_id"] in ids} == entries


@each_covering_paimon_table()
def test_paimon_counts_and_tells_the_same_of_every_commit(table: GoldenTable, paimon_java: JavaEngine):
    opened, answer = lakebed.open_table(table.path), paimon_java.ask("read", table=table.path)
    snapshots = {int(one["id"]): one for one in reversed(answer["snapshots"])}
    told: dict[int, set[tuple[str, str]]] = {}
    for row in opened.file_history(columns=["snapshot_id", "change", "file_name"]).to_arrow().to_pylist():
        told.setdefault(row["snapshot_id"], set()).add((row["change"], row["file_name"]))

    def entries(name: str) -> list[dict[str, Any]]:
        manifests = (listed["file_name"] for listed in answer["lists"][name])
        return [entry for manifest in manifests for entry in answer["manifests"][manifest]]

    words = {"ADD": "added", "DELETE": "removed"}
    for row in opened.growth().to_arrow().to_pylist():
        snapshot = snapshots[row["snapshot_id"]]
        delta = entries(snapshot["deltaManifestList"])
        live: Counter[str] = Counter()
        for entry in [*entries(snapshot["baseManifestList"]), *delta]:
            sign = 1 if entry["kind"] == "ADD" else -1
            live.update({"file_count": sign, "record_count": sign * int(entry["row_count"])})
            live.update({"file_size_in_bytes": sign * int(entry["file_size"])})
        for name, value in live.items():
            assert row[name] == value, name
        said = {(words[entry["kind"]], entry["file_name"]) for entry in delta}
        assert told.get(row["snapshot_id"], set()) == said
