"""Writers of many commits through a catalog, side by side or killed, and what must be there after them.

Each is a program for `writers.py`; its files are named by its own name and the number of the commit.
"""

from __future__ import annotations

import random
import secrets
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import writers
from file_rows import file_rows
from pyiceberg.catalog import load_catalog
from pyiceberg.exceptions import CommitFailedException
from trust import long_or

import lakebed

# In the long form a table anew after some kills, so that those are most of what it takes.
KILLS = long_or((6,), (10,) * 20, (2,))
"""How often writers of one table are killed, for each table."""


def every(writer: str, commits: int) -> list[str]:
    """The files that writers leave who only append."""
    return [f"{writer}-{number}.parquet" for number in range(commits)]


def by_lakebed(properties: dict[str, str], writer: str, commits: int) -> Iterator[int]:
    table = lakebed.open_table(load_catalog("lake", **properties).load_table("db.t"))
    yield -1

    def rewritten(table: lakebed.Table, _: int) -> lakebed.Table:
        return table.rewrite_manifests()

    yield from writers.commits(table, "data", writer, commits, rewritten)


def by_pyiceberg(properties: dict[str, str], writer: str, commits: int) -> Iterator[int]:
    from pyiceberg.manifest import DataFile, DataFileContent, FileFormat
    from pyiceberg.typedef import Record

    catalog = load_catalog("lake", **properties)
    yield -1
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
        yield number


PROGRAMS: dict[str, writers.Program] = {"lakebed": by_lakebed, "pyiceberg": by_pyiceberg}


def _properties(catalog: Any) -> dict[str, str]:
    return {key: value for key, value in catalog.properties.items() if isinstance(value, str)}


def race(catalog: Any, kinds: dict[str, str], commits: int, java: Callable[[str], Any] | None = None) -> None:
    """Runs writers of `db.t` against each other, each to its end; then every commit is there.

    Args: kinds, the writers by their names: "lakebed", "pyiceberg", "java"; java, appends a file so called.
    """
    forked = [
        writers.Writer(PROGRAMS[kind], _properties(catalog), name, commits)
        for name, kind in kinds.items()
        if kind != "java"
    ]

    def javas() -> None:
        for name in (name for name, kind in kinds.items() if kind == "java"):
            for file in every(name, commits):
                assert java is not None
                java(file)

    writers.race(*forked, commits=commits, meanwhile=javas)
    _check(catalog.load_table("db.t"), kinds, commits)


def _check(there: Any, kinds: dict[str, str], commits: int) -> None:
    """Every commit that was acknowledged is there, once, in one line of snapshots; no file is left over."""
    wanted = [
        name
        for writer, kind in kinds.items()
        for name in (writers.left if kind == "lakebed" else every)(writer, commits)
    ]
    table = lakebed.open_table(there)
    assert live(table) == theirs(there) == sorted(wanted)
    rows = _line(table)
    assert [row["operation"] for row in rows].count("append") == 2 * commits
    named = {row["manifest_list"].rpartition("/")[2] for row in rows}
    for row in rows:
        manifests = table.at(snapshot=row["snapshot_id"]).manifests().to_arrow()["path"].to_pylist()
        named |= {path.rpartition("/")[2] for path in manifests}
    on_disk_now = {path.name for path in Path(table.location).rglob("*.avro")}
    if "pyiceberg" not in kinds.values():
        assert on_disk_now == named
    assert named <= on_disk_now


def _line(table: lakebed.Table) -> list[dict[str, Any]]:
    """The snapshots, each the parent of the next."""
    rows: list[dict[str, Any]] = table.snapshots().to_arrow().to_pylist()
    assert [row["parent_id"] for row in rows] == [None, *(row["snapshot_id"] for row in rows)][: len(rows)]
    return rows


def live(table: lakebed.Table) -> list[str]:
    """The names of the live files, as lakebed reads them."""
    paths = table.files(columns=["file_path"]).to_arrow()["file_path"].to_pylist()
    return sorted(path.rpartition("/")[2] for path in paths)


def theirs(there: Any, snapshot: Any = None, kept: dict[str, list[str]] | None = None) -> list[str]:
    """The same, as PyIceberg reads them. Args: kept, the files of manifests that were read before."""
    kept = {} if kept is None else kept
    found: list[str] = []
    for manifest in (snapshot or there.current_snapshot()).manifests(there.io):
        if manifest.manifest_path not in kept:
            entries = manifest.fetch_manifest_entry(there.io, discard_deleted=True)
            kept[manifest.manifest_path] = [entry.data_file.file_path.rpartition("/")[2] for entry in entries]
        found += kept[manifest.manifest_path]
    return sorted(found)


def kill(catalog: Any) -> None:
    """Kills writers of tables at random moments. Behind each kill the table opens and has what was
    acknowledged; every snapshot that the catalog knows is whole, and the next commit is made.
    """
    seed = long_or(7, secrets.randbelow(1 << 32))
    # What pytest shows of a test that fails.
    sys.stdout.write(f"moments of seed {seed}\n")
    chance = random.Random(seed)
    for kills in KILLS:
        there = catalog.create_table("db.t", pa.schema([("id", pa.int64())]))
        acknowledged: set[str] = set()
        # What was under way; a server may have it done later.
        possible: set[str] = set()
        for number in range(kills):
            writer = writers.Writer(by_lakebed, _properties(catalog), str(number), 10_000)
            commits = writers.killed(writer, chance, 0.3)
            acknowledged |= set(writers.left(str(number), commits))
            possible.add(f"{number}-{commits}.parquet")
            found = live(lakebed.open_table(catalog.load_table("db.t")))
            assert len(found) == len(set(found))
            assert acknowledged <= set(found) <= acknowledged | possible
        table = lakebed.open_table(there).append_files(file_rows("data/last.parquet"))
        assert (
            acknowledged | {"last.parquet"} <= set(live(table)) <= acknowledged | possible | {"last.parquet"}
        )
        _check_snapshots(catalog.load_table("db.t"))
        catalog.drop_table("db.t")


def _check_snapshots(there: Any) -> None:
    """All are one line; lakebed and PyIceberg find the same files in each, as many as its summary says."""
    table = lakebed.open_table(there)
    kept: dict[str, list[str]] = {}
    rows = _line(table)
    assert len(rows) == len(there.metadata.snapshots)
    for row in rows:
        snapshot = there.snapshot_by_id(row["snapshot_id"])
        found = live(table.at(snapshot=row["snapshot_id"]))
        assert found == theirs(there, snapshot, kept)
        assert len(found) == int(snapshot.summary["total-data-files"])
