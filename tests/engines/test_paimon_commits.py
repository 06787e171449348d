"""A table that lakebed alone has made and changed: each engine reads it and commits, and lakebed goes on."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest

import lakebed
from lakebed import paimon

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from java_engine import JavaEngine

SCHEMA = pa.schema(
    [
        pa.field("id", pa.int64(), nullable=False),
        ("region", pa.string()),
        ("amount", pa.decimal128(12, 2)),
        ("day", pa.date32()),
    ]
)
REGION = pa.struct([("region", pa.string())])
ROW = [7, "emea", "1.50", "2026-01-02"]


def files(region: str, *names: str) -> pa.Table:
    """Data files of a region that exist nowhere."""
    count = len(names)
    return pa.table(
        {
            "file_path": [f"region={region}/bucket-0/data-{name}-0.parquet" for name in names],
            "partition": pa.array([{"region": region}] * count, REGION),
            "bucket": pa.array([0] * count, pa.int32()),
            "record_count": pa.array([10] * count, pa.int64()),
            "file_size_in_bytes": pa.array([1000] * count, pa.int64()),
        }
    )


@pytest.fixture
def table(tmp_path: Path) -> lakebed.Table:
    """Created, appended to, deleted from, overwritten in one partition, its manifests merged; tagged."""
    root = tmp_path / "warehouse" / "shop.db" / "orders"
    made = paimon.create_table(root, SCHEMA, partition_keys=["region"], comment="of lakebed alone")
    made = paimon.append_files(made, files("emea", "a", "b"))
    made = paimon.append_files(made, files("us", "c", "d"))
    made = paimon.append_files(made, files("apac", "e"))
    made = paimon.delete_files(made, ["region=emea/bucket-0/data-a-0.parquet"])
    made = paimon.overwrite_partition(made, files("us", "f"), {"region": "us"})
    paimon.create_tag(made, "before")
    return paimon.compact_manifests(made)


LIVE = {"data-b-0.parquet", "data-e-0.parquet", "data-f-0.parquet"}


def names(table: lakebed.Table) -> set[str]:
    """The names of the live files."""
    found = table.files(columns=["file_path"]).to_arrow()["file_path"].to_pylist()
    assert len(set(found)) == len(found)
    return {path.rpartition("/")[2] for path in found}


def root_of(table: lakebed.Table) -> Path:
    return Path(table.location)


@pytest.mark.jvm
def test_java_commits_to_a_table_of_lakebed(table: lakebed.Table, paimon_java: JavaEngine):
    root = root_of(table)
    assert_java_reads(paimon_java, root, LIVE)
    check_commits(table, lambda: paimon_java.ask("append", table=root, rows=[ROW]))
    assert_java_reads(paimon_java, root, names(lakebed.open_table(root)))
    now = lakebed.open_table(root)
    paimon_java.ask("delete", table=root, files=["data-f-0.parquet"])
    assert names(lakebed.open_table(root)) == names(now) - {"data-f-0.parquet"}
    paimon_java.ask("overwrite", table=root, rows=[ROW], partition={"region": "emea"})
    live = names(lakebed.open_table(root))
    assert "data-b-0.parquet" not in live
    paimon_java.ask("compact_manifests", table=root)
    assert names(lakebed.open_table(root)) == live
    again = paimon.append_files(lakebed.open_table(root), files("us", "h"))
    assert_java_reads(paimon_java, root, names(again))


def test_pypaimon_commits_to_a_table_of_lakebed(table: lakebed.Table):
    catalogs = pytest.importorskip("pypaimon")
    root = root_of(table)

    def open_() -> Any:
        catalog = catalogs.CatalogFactory.create({"warehouse": str(root.parents[1])})
        return catalog.get_table("shop.orders")

    def read() -> set[str]:
        splits = open_().new_read_builder().new_scan().plan().splits()
        return {file.file_name for split in splits for file in split.files}

    def append() -> None:
        builder = open_().new_batch_write_builder()
        write, commit = builder.new_write(), builder.new_commit()
        rows = pa.Table.from_pylist([{"id": 7, "region": "emea"}], SCHEMA)
        write.write_arrow(rows)
        commit.commit(write.prepare_commit())
        write.close()
        commit.close()

    assert read() == LIVE
    check_commits(table, append)
    assert read() == names(lakebed.open_table(root))


def check_commits(table: lakebed.Table, commit: Callable[[], Any]) -> None:
    """An engine's append is lakebed's next snapshot, and lakebed's append comes behind it."""
    root, before = root_of(table), newest(table)
    commit()
    theirs = lakebed.open_table(root)
    assert newest(theirs) == before + 1
    added = names(theirs) - LIVE
    assert len(added) == 1
    assert names(theirs) == LIVE | added
    ours = paimon.append_files(theirs, files("emea", "g"))
    assert newest(ours) == before + 2
    assert names(ours) == LIVE | added | {"data-g-0.parquet"}
    ours = paimon.delete_files(ours, [f"region=emea/bucket-0/{name}" for name in added])
    assert names(ours) == LIVE | {"data-g-0.parquet"}


def newest(table: lakebed.Table) -> int:
    found: int = max(table.snapshots().to_arrow()["snapshot_id"].to_pylist())
    return found


def assert_java_reads(java: JavaEngine, root: Path, live: Iterable[str]) -> None:
    read = java.ask("read", table=root)
    assert set(read["plan"]["files"]) == set(live)
    assert {len(rows) for rows in read["lists"].values()} >= {0, 1}
    failed = {name: rows for name, rows in read["system"].items() if "error" in rows}
    assert not failed
