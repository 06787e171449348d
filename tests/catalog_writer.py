"""A writer of many commits through a catalog, one acknowledged a line: a program of its own.

Arguments: what commits ("lakebed" or "pyiceberg"), the catalog's properties in JSON, a name for its files,
and how many commits.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pyarrow as pa
from pyiceberg.catalog import load_catalog
from pyiceberg.exceptions import CommitFailedException

import lakebed
from lakebed import iceberg


def names(writer: str, commits: int) -> list[str]:
    """The files that stay: each fifth is deleted again."""
    return [f"{writer}-{number}.parquet" for number in range(commits) if number % 5 != 4]


def acknowledge(number: int) -> None:
    sys.stdout.write(f"{number}\n")
    sys.stdout.flush()


def by_lakebed(catalog: Any, writer: str, commits: int) -> None:
    table = lakebed.open_table(catalog.load_table("db.t"))
    for number in range(commits):
        path = f"data/{writer}-{number}.parquet"
        rows = {"file_path": [path], "record_count": [1], "file_size_in_bytes": [1]}
        table = iceberg.append_files(table, pa.table(rows))
        if number % 5 == 4:
            table = iceberg.delete_files(table, [path])
        if number % 4 == 1:
            table = iceberg.rewrite_manifests(table)
        acknowledge(number)


def by_pyiceberg(catalog: Any, writer: str, commits: int) -> None:
    from pyiceberg.manifest import DataFile, DataFileContent, FileFormat
    from pyiceberg.typedef import Record

    for number in range(commits):
        while True:
            table = catalog.load_table("db.t")
            file = DataFile.from_args(
                content=DataFileContent.DATA,
                file_path=f"{table.location()}/data/{writer}-{number}.parquet",
                file_format=FileFormat.PARQUET,
                partition=Record(),
                record_count=1,
                file_size_in_bytes=1,
            )
            file.spec_id = 0
            try:
                with (
                    table.transaction() as transaction,
                    transaction.update_snapshot().fast_append() as append,
                ):
                    append.append_data_file(file)
            except CommitFailedException:
                continue
            break
        acknowledge(number)


def race(properties: dict[str, Any], writers: dict[str, str], commits: int) -> None:
    """Runs writers against each other, each to its end."""
    program = __file__
    text = {key: value for key, value in properties.items() if isinstance(value, str)}
    running = [
        subprocess.Popen(
            [sys.executable, program, kind, json.dumps(text), name, str(commits)],
            stdout=subprocess.PIPE,
            text=True,
            env=os.environ | {"PYTHONPATH": str(Path(__file__).parent)},
        )
        for name, kind in writers.items()
    ]
    for process in running:
        output, _ = process.communicate(timeout=2000)
        assert process.returncode == 0
        assert output.splitlines() == [str(number) for number in range(commits)]


def check(there: Any, writers: dict[str, str], commits: int) -> None:
    """Every commit that was acknowledged is there, once, in one line of snapshots; no file is left over."""
    wanted = [
        name
        for writer, kind in writers.items()
        for name in (names(writer, commits) if kind == "lakebed" else every(writer, commits))
    ]
    table = lakebed.open_table(there)
    found = table.files(columns=["file_path"]).to_arrow()["file_path"].to_pylist()
    assert sorted(path.rpartition("/")[2] for path in found) == sorted(wanted)
    rows = table.snapshots().to_arrow().to_pylist()
    assert [row["parent_id"] for row in rows] == [None, *(row["snapshot_id"] for row in rows[:-1])]
    assert [row["operation"] for row in rows].count("append") == 2 * commits
    named = {row["manifest_list"].rpartition("/")[2] for row in rows}
    for row in rows:
        manifests = table.at(snapshot=row["snapshot_id"]).manifests().to_arrow()["path"].to_pylist()
        named |= {path.rpartition("/")[2] for path in manifests}
    on_disk_now = {path.name for path in Path(table.location).rglob("*.avro")}
    if set(writers.values()) == {"lakebed"}:
        assert on_disk_now == named
    assert named <= on_disk_now


def every(writer: str, commits: int) -> list[str]:
    return [f"{writer}-{number}.parquet" for number in range(commits)]


if __name__ == "__main__":
    given = load_catalog("lake", **json.loads(sys.argv[2]))
    {"lakebed": by_lakebed, "pyiceberg": by_pyiceberg}[sys.argv[1]](given, sys.argv[3], int(sys.argv[4]))
