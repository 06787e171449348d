"""Writers that race, and writers that are killed: nothing is lost, nothing is half."""

from __future__ import annotations

import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pyarrow as pa
import pytest
from trust import long_or

import lakebed
from lakebed import Table, paimon

# One commit a line, so that what was acknowledged is known when the writer dies.
WRITER = """
import sys
import pyarrow as pa
from lakebed import open_table, paimon
from datetime import date

location, writer, commits = sys.argv[1], sys.argv[2], int(sys.argv[3])
table = open_table(location)
print("ready", flush=True)
for number in range(commits):
    path = f"bucket-0/{writer}-{number}.parquet"
    rows = {"file_path": [path], "record_count": [1], "file_size_in_bytes": [1]}
    table = paimon.append_files(table, pa.table(rows))
    if number % 5 == 4:
        table = paimon.delete_files(table, [path])
    if number % 4 == 1:
        table = paimon.compact_manifests(table, sort=number % 8 == 1)
    print(number, flush=True)
"""


@pytest.fixture
def table(tmp_path: Path) -> Table:
    return paimon.create_table(tmp_path / "t", pa.schema([("id", pa.int64())]))


def start(table: Table, writer: str, commits: int) -> subprocess.Popen[str]:
    arguments = [sys.executable, "-c", WRITER, table.location, writer, str(commits)]
    process = subprocess.Popen(arguments, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    assert process.stdout.readline() == "ready\n"
    return process


def expected(writer: str, commits: int) -> set[str]:
    """The files of a writer that came to its end."""
    return {f"{writer}-{number}.parquet" for number in range(commits) if number % 5 != 4}


def live(table: Table) -> list[str]:
    names: list[str] = table.files(columns=["file_name"]).to_arrow()["file_name"].to_pylist()
    return names


def check_history(location: str) -> None:
    """Every snapshot is there and can be read; rows add up; what one shows is what its lists say."""
    table = lakebed.open_table(location)
    snapshots = table.snapshots().to_arrow().sort_by("snapshot_id").to_pylist()
    assert [row["snapshot_id"] for row in snapshots] == list(range(1, (table.snapshot_id or 0) + 1))
    before: set[str] = set()
    for row in snapshots:
        said = paimon.read_snapshot(Path(location, f"snapshot/snapshot-{row['snapshot_id']}"))
        there = live(table.at(snapshot=row["snapshot_id"]))
        assert len(there) == len(set(there)) == said["totalRecordCount"]
        assert len(there) - len(before) == said["deltaRecordCount"]
        before = set(there)


def leftovers(table: Table) -> tuple[set[str], set[str]]:
    """Files that no snapshot names: manifests and lists, and others."""
    root = Path(table.location)
    named = {"LATEST", "EARLIEST", "schema-0"}
    for file in (root / "snapshot").glob("snapshot-*"):
        said = paimon.read_snapshot(file)
        named.add(file.name)
        for kind in ("base", "delta"):
            name = said[f"{kind}ManifestList"]
            named |= {
                name,
                *paimon.read_manifest_list(root / "manifest" / name).to_arrow()["file_name"].to_pylist(),
            }
    found = {file.name for file in root.rglob("*") if file.is_file()} - named
    manifests = {name for name in found if name.startswith(("manifest-", "manifest-list-"))}
    return manifests, found - manifests


def test_two_writers_lose_nothing(table: Table) -> None:
    commits = long_or(10, 50)
    writers = [start(table, name, commits) for name in ("a", "b")]
    for writer in writers:
        writer.communicate(timeout=120)
        assert writer.returncode == 0
    check_history(table.location)
    now = lakebed.open_table(table.location)
    assert set(live(now)) == expected("a", commits) | expected("b", commits)
    kinds = [row["operation"] for row in now.snapshots().to_arrow().to_pylist()]
    assert kinds.count("APPEND") == 2 * commits
    assert leftovers(table) == (set(), set())


def test_a_killed_writer_breaks_nothing(table: Table) -> None:
    kills = long_or(6, 200)
    chance = random.Random(7)
    acknowledged: set[str] = set()
    for kill in range(kills):
        process = start(table, str(kill), 1000)
        time.sleep(chance.uniform(0, 0.3))
        process.send_signal(signal.SIGKILL)
        output, _ = process.communicate()
        done = len(output.splitlines())
        acknowledged |= expected(str(kill), done)
        assert acknowledged <= set(live(lakebed.open_table(table.location)))
    check_history(table.location)
    _, others = leftovers(table)
    # What was being written when the writer died is told by its name.
    assert all(name.startswith(".") and name.endswith(".lakebed-tmp") for name in others)
    after = paimon.append_files(lakebed.open_table(table.location), one_file("last"))
    assert set(live(after)) >= acknowledged | {"last"}


def one_file(name: str) -> pa.Table:
    return pa.table({"file_path": [f"bucket-0/{name}"], "record_count": [1], "file_size_in_bytes": [1]})
