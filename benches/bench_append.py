"""Times single appends to an Iceberg table of many snapshots and manifests: by lakebed in a folder and
through a catalog, by PyIceberg and by Iceberg's Java library, each on its own table; and counts what each of
them asks of the file system. See README.md.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any
from uuid import uuid4

import pyarrow as pa
import suite
from corpus import synced

import lakebed
from lakebed import iceberg

SCHEMA = pa.schema([("id", pa.int64()), ("region", pa.string())])
ROWS, BYTES = 1000, 123_456
UNMERGED = {"commit.manifest-merge.enabled": "false"}

Append = Callable[[str], Any]
"""Appends the file of that path."""
Side = tuple[Append, int]
"""What appends, and the number of its process."""


def made(folder: Path, commits: int, version: int = 2, kept: int | None = None) -> Path:
    """A table as so many fast appends would leave it: one manifest of one file each, all in the last list.

    Args: kept, how many snapshots are not expired; None for all.
    """
    table = lakebed.create_table(
        folder, SCHEMA, "iceberg", partition_by=["region"], format_version=version, properties=UNMERGED
    )
    table.append_files(rows(f"{folder}/data/region=emea/0.parquet"))
    first = folder / "metadata" / "v2.metadata.json"
    metadata = iceberg.read_metadata(first)
    (snapshot,) = metadata["snapshots"]
    manifests = iceberg.read_manifest_list(snapshot["manifest-list"]).to_arrow()
    (manifest,) = manifests.to_pylist()
    start = snapshot["timestamp-ms"] - commits * 1000
    snapshots: list[dict[str, Any]] = []
    rows_of_list = []
    for number in range(commits):
        path, id_ = f"{folder}/metadata/{uuid4()}-m0.avro", uuid4().int >> 65
        os.link(manifest["manifest_path"], path)
        totals = {"total-records": ROWS, "total-files-size": BYTES, "total-data-files": 1}
        summary = {key: str(value * (number + 1)) for key, value in totals.items()}
        one = snapshot | {"snapshot-id": id_, "timestamp-ms": start + number * 1000}
        one["manifest-list"] = f"{folder}/metadata/snap-{id_}-1-{uuid4()}.avro"
        one["summary"] = snapshot["summary"] | summary
        row = manifest | {"manifest_path": path, "added_snapshot_id": id_}
        if snapshots:
            one["parent-snapshot-id"] = snapshots[-1]["snapshot-id"]
        if version > 1:
            one["sequence-number"] = number + 1
            row |= {"sequence_number": number + 1, "min_sequence_number": number + 1}
        if version > 2:
            one["first-row-id"] = row["first_row_id"] = ROWS * number
        snapshots.append(one)
        rows_of_list.append(row)
    head, snapshots = snapshots[-1]["snapshot-id"], snapshots[-(kept or commits) :]
    iceberg.write_manifest_list(
        pa.Table.from_pylist(rows_of_list[::-1], manifests.schema),
        snapshots[-1]["manifest-list"],
        format_version=version,
        snapshot_id=head,
        sequence_number=commits if version > 1 else 0,
        first_row_id=ROWS * commits if version > 2 else None,
    )
    log = ("timestamp-ms", "snapshot-id")
    metadata |= {
        "snapshots": snapshots,
        "snapshot-log": [{key: one[key] for key in log} for one in snapshots],
        "metadata-log": [],
        "current-snapshot-id": head,
        "refs": {"main": {"snapshot-id": head, "type": "branch"}},
        "last-updated-ms": snapshots[-1]["timestamp-ms"],
    }
    metadata |= {"last-sequence-number": commits} if version > 1 else {}
    metadata |= {"next-row-id": ROWS * commits} if version > 2 else {}
    for old in folder.glob("metadata/v*.metadata.json"):
        old.unlink()
    iceberg.write_metadata(metadata, folder / "metadata" / f"v{commits}.metadata.json")
    (folder / "metadata" / "version-hint.text").write_text(str(commits))
    return folder


def rows(path: str) -> pa.Table:
    """A data file that exists nowhere."""
    numbers = {"record_count": [ROWS], "file_size_in_bytes": [BYTES]}
    return pa.table({"file_path": [path], **numbers, "partition": pa.array([{"region": "emea"}])})


def by_lakebed(folder: Path) -> Side:
    table = lakebed.open_table(folder)
    return lambda path: table.append_files(rows(path)), os.getpid()


def by_lakebed_in_a_catalog(folder: Path) -> Side:
    table = lakebed.open_table(_in_a_catalog(folder))
    return lambda path: table.append_files(rows(path)), os.getpid()


def _in_a_catalog(folder: Path) -> Any:
    """The table in a catalog in SQLite."""
    from pyiceberg.catalog.sql import SqlCatalog

    # Beside the table, whose files are counted.
    catalog = SqlCatalog("bench", uri=f"sqlite:///{folder.with_suffix('.db')}", warehouse=str(folder))
    catalog.create_namespace("db")
    return catalog.register_table("db.t", f"file://{next(folder.glob('metadata/v*.metadata.json'))}")


def by_pyiceberg(folder: Path) -> Side:
    from pyiceberg.manifest import DataFile, DataFileContent, FileFormat
    from pyiceberg.typedef import Record

    table = _in_a_catalog(folder)

    def append(path: str) -> None:
        with table.transaction() as change, change.update_snapshot().fast_append() as files:
            what = {"content": DataFileContent.DATA, "file_format": FileFormat.PARQUET, "file_path": path}
            numbers = {"record_count": ROWS, "file_size_in_bytes": BYTES}
            file = DataFile.from_args(**what, **numbers, partition=Record("emea"))
            file.spec_id = table.spec().spec_id
            files.append_data_file(file)

    return append, os.getpid()


def by_java(folder: Path) -> Side:
    """Asks the judge of the tests, which loads the table for each commit, as whoever commits anew does."""
    sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))
    from java_engine import JavaEngine

    java = JavaEngine("IcebergEngine")
    file = {"partition": "region=emea", "records": ROWS, "size": BYTES}
    return lambda path: java.ask("fast_append", table=folder, files=[{"path": path, **file}]), java.pid


SIDES: dict[str, Callable[[Path], Side]] = {
    "lakebed": by_lakebed,
    "lakebed-catalog": by_lakebed_in_a_catalog,
    "pyiceberg": by_pyiceberg,
    "java": by_java,
}


def floor(folder: Path) -> list[float]:
    """What writing the bytes of the metadata and of the list takes, and having the disk keep them [s]."""
    newest = max(folder.glob("metadata/*.metadata.json"), key=lambda path: path.stat().st_mtime)
    lists = max(folder.glob("metadata/snap-*.avro"), key=lambda path: path.stat().st_mtime)
    all_bytes, seconds = [newest.read_bytes(), lists.read_bytes()], []
    for _ in range(5):
        start = time.perf_counter()
        for content in all_bytes:
            synced(folder / "floor", content)
        seconds.append(time.perf_counter() - start)
    (folder / "floor").unlink()
    return seconds


def counted(side: Side, path: str, folder: Path) -> tuple[str, ...]:
    """What one append asks of the file system, by strace: how often it opens a file of the table to read, how
    many it looks for besides, how many it writes, how often it lists a folder; and MB that its process reads
    and writes.
    """
    append, pid = side
    if not shutil.which("strace"):
        return ("",) * 6
    trace = folder.parent / f"{folder.name}.strace"
    calls = "openat,open,stat,lstat,newfstatat,statx,access,faccessat,faccessat2,getdents64"
    command = ["strace", "-f", "-y", "-s", "1000", "-e", f"trace={calls}", "-o", str(trace), "-p", str(pid)]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as tracer:
        assert tracer.stderr is not None
        tracer.stderr.readline()
        before = _io(pid)
        append(path)
        after = _io(pid)
        tracer.terminate()
    read: list[Path] = []
    asked: set[Path] = set()
    written: set[Path] = set()
    listings = 0
    for line in trace.read_text(errors="replace").splitlines():
        if "getdents64" in line and str(folder) in line:
            listings += not line.rstrip().endswith("= 0")
        found = re.search(r'"(' + re.escape(str(folder)) + r'/[^"]+)"', line)
        name = found and Path(found[1])
        if not name or name.is_dir() or not name.suffix:
            continue
        if "O_CREAT" in line:
            written.add(name)
        elif "open" in line and " = -1 " not in line:
            read.append(name)
        elif name not in written:
            asked.add(name)
    trace.unlink()
    megabytes = [f"{(after[kind] - before[kind]) / 1e6:.2f}" for kind in ("rchar", "wchar")]
    return (
        *(str(len(found)) for found in (read, asked.difference(read), written)),
        str(listings),
        *megabytes,
    )


def _io(pid: int) -> dict[str, int]:
    """What a process has read and written so far [bytes]."""
    lines = Path(f"/proc/{pid}/io").read_text().splitlines()
    return {name: int(number) for name, number in (line.split(": ") for line in lines)}


def _row(side: str, count: object, seconds: list[float], requests: Sequence[str] = ("",) * 6) -> str:
    numbers = [f"{number * 1000:.1f}" for number in (statistics.median(seconds), min(seconds))]
    return f"| {' | '.join([side, str(count), *numbers, *requests])} |"


def main(arguments: Sequence[str] | None = None) -> int:
    """Prints, for each side, what an append takes. Returns: 0."""
    parser = argparse.ArgumentParser(description=__doc__)
    add = parser.add_argument
    add("--commits", type=int, default=10_000, help="manifests of the table, and snapshots")
    add("--snapshots", type=int, default=None, help="those that are not expired")
    add("--appends", type=int, default=20, help="appends that are timed, behind two that are not")
    add("--version", type=int, default=2, help="of the format")
    add("--sides", nargs="+", choices=SIDES, default=list(SIDES))
    add("--cache", type=suite.cache, default=suite.CACHE, help="where tables are made")
    options = parser.parse_args(arguments)
    if options.version > 2 and "pyiceberg" in options.sides:
        options.sides.remove("pyiceberg")
        print(f"PyIceberg writes no manifests of version {options.version}", file=sys.stderr)
    titles = ["side", "appends", "median ms", "least ms"]
    titles += ["files read", "looked for", "written", "listings", "MB read", "MB written"]
    print(f"| {' | '.join(titles)} |\n|---|{'---:|' * (len(titles) - 1)}")
    for side in options.sides:
        folder = options.cache / f"append-{side}"
        with suppress(FileNotFoundError):
            shutil.rmtree(folder)
        folder.parent.mkdir(parents=True, exist_ok=True)
        folder.with_suffix(".db").unlink(missing_ok=True)
        one = SIDES[side](made(folder, options.commits, options.version, options.snapshots))
        append, seconds = one[0], []
        for number in range(options.appends + 2):
            path = f"{folder}/data/region=emea/{uuid4()}-{number}.parquet"
            start = time.perf_counter()
            append(path)
            seconds.append(time.perf_counter() - start)
        last = f"{folder}/data/region=emea/{uuid4()}.parquet"
        print(_row(side, options.appends, seconds[2:], counted(one, last, folder)), flush=True)
        if side == "lakebed":
            bare = floor(folder)
            print(_row("writing and syncing its bytes", "", bare))
        assert lakebed.open_table(folder).format_version == options.version
        shutil.rmtree(folder)
        folder.with_suffix(".db").unlink(missing_ok=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
