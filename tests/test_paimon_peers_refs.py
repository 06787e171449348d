"""Branches, tags, compactions and deletion vectors: pypaimon reads what lakebed has made, and goes on."""

from __future__ import annotations

import struct
import zlib
from datetime import timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from file_rows import index_row
from paimon_real import SCHEMA, MadeTable

import lakebed

pypaimon = pytest.importorskip("pypaimon")
tables = pytest.importorskip("catalog_tables")
MAGIC = 1581511376


def made_table(tmp_path: Path, primary_keys: tuple[str, ...], **options: str) -> MadeTable:
    made = MadeTable(tmp_path / "warehouse" / "shop.db" / "orders", primary_keys)
    made.create(options)
    return made


def peer(made: MadeTable, branch: str | None = None, **options: str) -> Any:
    catalog = pypaimon.CatalogFactory.create({"warehouse": str(made.root.parents[1])})
    table = catalog.get_table("shop.orders" + (f"$branch_{branch}" if branch else ""))
    return table.copy(options) if options else table


def ids(table: Any) -> list[int]:
    builder = table.new_read_builder()
    splits = builder.new_scan().plan().splits()
    read: list[int] = builder.new_read().to_arrow(splits)["id"].to_pylist()
    return sorted(read)


def append(table: Any, number: int) -> None:
    tables.paimon_append(table, pa.Table.from_pylist([{"id": number, "region": "emea"}], SCHEMA))


def test_pypaimon_reads_branches_and_tags_and_adds_to_them(tmp_path: Path) -> None:
    made = made_table(tmp_path, (), bucket="-1")
    made.now().append_files(made.written("emea", "a", 1, 2))
    made.now().create_tag("v1")
    branch = made.now().create_branch("audit", at="v1")
    branch.append_files(made.written("emea", "b", 3))
    made.now().append_files(made.written("emea", "c", 4))
    assert ids(peer(made)) == [1, 2, 4]
    assert ids(peer(made, **{"scan.tag-name": "v1"})) == [1, 2]
    assert ids(peer(made, "audit")) == [1, 2, 3]
    # It goes on, on the branch and with refs of its own.
    append(peer(made, "audit"), 5)
    peer(made).create_tag("v2")
    peer(made).branch_manager().create_branch("theirs", "v2")
    assert ids(peer(made, "audit")) == [1, 2, 3, 5]
    assert made.now().at(branch="audit").files().to_arrow()["record_count"].to_pylist() == [2, 1, 1]
    refs = {row["name"] for row in made.now().refs().to_arrow().to_pylist()}
    assert refs == {"main", "audit", "theirs", "v1", "v2"}
    made.now().at(branch="theirs").append_files(made.written("emea", "d", 6))
    assert ids(peer(made, "theirs")) == [1, 2, 4, 6]
    made.now().fast_forward("main", to="audit")
    assert ids(peer(made)) == [1, 2, 3, 5]
    made.now().rollback_to("v1")
    assert (ids(peer(made)), peer(made).snapshot_manager().get_latest_snapshot().id) == ([1, 2], 1)
    append(peer(made), 7)
    assert (ids(peer(made)), made.now().snapshot_id) == ([1, 2, 7], 2)
    made.now().delete_branch("audit")
    assert sorted(peer(made).branch_manager().branches()) == ["theirs"]


def test_pypaimon_reads_behind_a_compaction_and_an_expiry(tmp_path: Path) -> None:
    made = made_table(tmp_path, ("region", "id"), bucket="1")
    for name, some in (("a", (1, 2)), ("b", (2, 3))):
        made.now().append_files(made.written("emea", name, *some))
    paths = [f"region=emea/bucket-0/data-{name}-0.parquet" for name in "ab"]
    made.now().replace_files(paths, made.written("emea", "c", 1, 2, 3, level=5))
    assert ids(peer(made)) == [1, 2, 3]
    append(peer(made), 2)
    append(peer(made), 4)
    assert ids(peer(made)) == [1, 2, 3, 4]
    made.now().expire_snapshots(timedelta(0), 1)
    assert [path.name for path in (made.root / "snapshot").glob("snapshot-*")] == ["snapshot-5"]
    assert ids(peer(made)) == [1, 2, 3, 4]
    append(peer(made), 5)
    assert (ids(peer(made)), len(made.live())) == ([1, 2, 3, 4, 5], 4)


def vector(*positions: int) -> bytes:
    """An index file of one deletion vector: a bitmap of one array of 16-bit numbers."""
    header = struct.pack("<IIHHI", 12346, 1, 0, len(positions) - 1, 16)
    bitmap = struct.pack(">I", MAGIC) + header + struct.pack(f"<{len(positions)}H", *positions)
    return b"\x01" + struct.pack(">I", len(bitmap)) + bitmap + struct.pack(">I", zlib.crc32(bitmap))


def index_file(made: MadeTable, name: str, data_file: str, *positions: int) -> pa.Table:
    """The row of an index file that is written for a data file."""
    written = vector(*positions)
    (made.root / "index").mkdir(exist_ok=True)
    (made.root / "index" / name).write_bytes(written)
    own = {"index_type": "DELETION_VECTORS", "file_size": len(written), "partition": {"region": "emea"}}
    return index_row(name, (data_file, 1, len(written) - 9, len(positions)), **own)


def test_pypaimon_applies_deletion_vectors(tmp_path: Path) -> None:
    made = made_table(tmp_path, (), bucket="-1", **{"deletion-vectors.enabled": "true"})
    for name, some in (("a", (1, 2, 3, 4)), ("b", (5, 6, 7, 8))):
        made.now().append_files(made.written("emea", name, *some))
    made.now().create_tag("before")
    made.now().add_deletes(index_file(made, "index-1", "data-a-0.parquet", 0, 2))
    assert ids(peer(made)) == [2, 4, 5, 6, 7, 8]
    more = index_file(made, "index-2", "data-a-0.parquet", 0, 1, 2)
    made.now().add_deletes(more, removed_deletes=["index-1"])
    assert ids(peer(made)) == [4, 5, 6, 7, 8]
    assert ids(peer(made, **{"scan.tag-name": "before"})) == [1, 2, 3, 4, 5, 6, 7, 8]
    joined = made.written("emea", "c", 4)
    made.now().replace_files(["region=emea/bucket-0/data-a-0.parquet"], joined)
    assert ids(peer(made)) == [4, 5, 6, 7, 8]
    assert lakebed.open_table(made.root).deletes().to_arrow().num_rows == 0
