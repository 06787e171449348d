"""A table that lakebed alone has made and changed: each engine reads it and commits, and lakebed goes on."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from java_engine import JavaEngine
from paimon_real import SCHEMA, MadeTable

from lakebed.errors import SchemaError

LIVE = {"data-b-0.parquet", "data-e-0.parquet", "data-f-0.parquet"}
IDS = [3, 4, 9, 10, 11]


@pytest.fixture(params=["append", "fixed", "primary-key", "store", "orc", "parquet", "together"])
def made(tmp_path: Path, request: pytest.FixtureRequest) -> MadeTable:
    """Created, appended to, deleted from, overwritten in one partition, its manifests merged; tagged.

    Where these are done `together`, the last changes are one snapshot.
    """
    keys = ("region", "id") if request.param == "primary-key" else ()
    bucket = {
        "append": {"bucket": "-1"},
        "fixed": {"bucket": "1", "bucket-key": "id"},
        "primary-key": {"bucket": "1"},
        "store": {"bucket": "-1"},
        "orc": {"bucket": "-1", "manifest.format": "orc"},
        "parquet": {"bucket": "-1", "manifest.format": "parquet"},
        "together": {"bucket": "1", "bucket-key": "id"},
    }
    # A store whose objects are files, which the engines read where they are.
    storage = "obstore" if request.param == "store" else None
    made = MadeTable(tmp_path / "warehouse" / "shop.db" / "orders", keys, storage)
    options = bucket[request.param]
    made.create(options)
    both = [made.written("emea", "a", 1, 2), made.written("emea", "b", 3, 4)]
    table = made.now().append_files(pa.concat_tables(both))
    table = table.append_files(made.written("us", "c", 5, 6))
    table = table.append_files(made.written("us", "d", 7, 8))
    if request.param == "together":
        gone = ["region=emea/bucket-0/data-a-0.parquet"]
        with table.transaction() as tx:
            tx.append_files(made.written("apac", "e", 9))
            tx.overwrite_files(made.written("us", "f", 10, 11), removed=gone, where="region = 'us'")
            tx.rewrite_manifests(sort=True)
        table = tx.table
        assert table.snapshot_id == 4
    else:
        table = table.append_files(made.written("apac", "e", 9))
        table = table.delete_files(["region=emea/bucket-0/data-a-0.parquet"])
        table = table.overwrite_partitions(made.written("us", "f", 10, 11), {"region": "us"})
    table.create_tag("before")
    table.rewrite_manifests()
    assert made.live() == LIVE
    return made


@pytest.mark.jvm
def test_java_reads_and_commits(made: MadeTable, paimon_java: JavaEngine):
    def ask(operation: str, **request: Any) -> Any:
        return paimon_java.ask(operation, table=made.root, **request)

    def read() -> tuple[set[str], list[int]]:
        answer = ask("read")
        assert not [name for name, rows in answer["system"].items() if "error" in rows]
        return set(answer["plan"]["files"]), sorted(int(row["id"]) for row in ask("rows"))

    def append(number: int) -> None:
        ask("append", rows=[[number, "emea", "1.50", "2026-01-02"]])

    check_commits(made, read, append)
    ask("delete", files=["data-f-0.parquet"])
    assert "data-f-0.parquet" not in made.live()
    ask("overwrite", rows=[[30, "emea", None, None]], partition={"region": "emea"})
    live = made.live()
    assert "data-b-0.parquet" not in live
    ask("compact_manifests")
    assert made.live() == live
    made.now().append_files(made.written("us", "z", 40))
    assert read() == (live | {"data-z-0.parquet"}, [9, 30, 40])


def test_pypaimon_reads_and_commits(tables: Any, made: MadeTable):
    pypaimon = pytest.importorskip("pypaimon")
    if "manifest.format" in made.now().properties:
        pytest.skip("pypaimon reads manifests in Avro alone")

    def table() -> Any:
        catalog = pypaimon.CatalogFactory.create({"warehouse": str(made.root.parents[1])})
        return catalog.get_table("shop.orders")

    def read() -> tuple[set[str], list[int]]:
        builder = table().new_read_builder()
        splits = builder.new_scan().plan().splits()
        rows = builder.new_read().to_arrow(splits)
        return {file.file_name for split in splits for file in split.files}, sorted(rows["id"].to_pylist())

    def append(number: int) -> None:
        rows = pa.Table.from_pylist([{"id": number, "region": "emea"}], SCHEMA)
        tables.paimon_append(table(), rows)

    check_commits(made, read, append)


def check_commits(
    made: MadeTable, read: Callable[[], tuple[set[str], list[int]]], append: Callable[[int], None]
) -> None:
    """The engine reads lakebed's table, and lakebed and it read what either appends after the other."""
    before = made.newest()
    assert read() == (LIVE, IDS)
    append(20)
    (added,) = made.live() - LIVE
    assert made.newest() == before + 1
    assert read() == (LIVE | {added}, [*IDS, 20])
    made.now().append_files(made.written("emea", "g", 21))
    append(22)
    assert made.newest() == before + 3
    live = made.live()
    assert len(live) == len(LIVE) + 3
    assert read() == (live, [*IDS, 20, 21, 22])
    made.now().delete_files([f"region=emea/bucket-0/{added}"])
    assert read() == (live - {added}, [*IDS, 21, 22])
    assert made.live() == live - {added}
    check_names(made, read)


def check_names(made: MadeTable, read: Callable[[], tuple[set[str], list[int]]]) -> None:
    """A file whose name the table has deleted would not be read: it is refused until manifests forget it."""
    made.now().delete_files(["region=emea/bucket-0/data-b-0.parquet"])
    live = made.live()
    again = made.written("emea", "b", 23)
    with pytest.raises(SchemaError, match="was deleted") as refused:
        made.now().append_files(again)
    assert (refused.value.field, refused.value.record) == ("file_path", 0)
    made.now().rewrite_manifests()
    made.now().append_files(again)
    assert made.live() == live | {"data-b-0.parquet"}
    assert read() == (made.live(), [9, 10, 11, 21, 22, 23])
