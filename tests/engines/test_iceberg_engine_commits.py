"""A table that lakebed alone has made and changed: each engine reads it and commits, and lakebed goes on."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from java_engine import JavaEngine, each_iceberg_release

import lakebed
from lakebed import SchemaChange

SCHEMA = pa.schema(
    [pa.field("id", pa.int64(), nullable=False), ("region", pa.string()), ("amount", pa.decimal128(12, 2))]
)
NAMES = {"b", "e", "f"}
IDS = [3, 4, 9, 10, 11]


@dataclass
class MadeTable:
    """A table of real rows, partitioned by region: files by their names."""

    root: Path

    def now(self) -> lakebed.Table:
        return lakebed.open_table(self.root)

    def path(self, region: str, name: str) -> Path:
        return self.root / "data" / f"region={region}" / f"{name}.parquet"

    def written(self, region: str, name: str, *ids: int) -> pa.Table:
        """A data file of rows with these ids, as a commit takes it."""
        path = self.path(region, name)
        path.parent.mkdir(parents=True, exist_ok=True)
        data = pa.Table.from_pylist([{"id": number, "region": region} for number in ids], SCHEMA)
        numbered = [
            field.with_metadata({"PARQUET:field_id": str(number)}) for number, field in enumerate(SCHEMA, 1)
        ]
        pq.write_table(data.cast(pa.schema(numbered)), path)
        return lakebed.describe_file(self.now(), path, data)

    def metadata_file(self) -> Path:
        """The newest of the folder's own, as the table says."""
        log = self.now().metadata_table("metadata_log_entries").to_arrow()
        return Path(log["file"].to_pylist()[-1])


def live(table: lakebed.Table) -> set[str]:
    """The names of the live files, without their suffix."""
    found = table.files(columns=["file_path"]).to_arrow()["file_path"].to_pylist()
    assert len(set(found)) == len(found)
    return {Path(path).stem for path in found}


@pytest.fixture(params=[1, 2, 3], ids="v{}".format)
def made(tmp_path: Path, request: pytest.FixtureRequest) -> MadeTable:
    """Created, appended to, deleted from, its manifests rewritten, and once more."""
    made = MadeTable(tmp_path / "orders")
    lakebed.create_table(made.root, SCHEMA, "iceberg", partition_by=["region"], format_version=request.param)
    both = [made.written("emea", "a", 1, 2), made.written("emea", "b", 3, 4)]
    table = made.now().append_files(pa.concat_tables(both))
    table = table.append_files(made.written("us", "c", 5, 6))
    table = table.append_files(made.written("apac", "e", 9))
    table = table.delete_files([made.path("emea", "a")])
    table = table.rewrite_manifests()
    table = table.append_files(made.written("us", "f", 10, 11))
    table = table.delete_files([made.path("us", "c")])
    assert live(table) == NAMES
    return made


def java_agrees(engine: JavaEngine, made: MadeTable) -> None:
    """Java plans lakebed's live files at every snapshot, and reads the rows of the last."""
    read = engine.ask("read", metadata=made.metadata_file(), relocate={})
    assert not [name for name, rows in read.items() if "error" in rows]
    for snapshot, plan in read["plans"].items():
        assert {Path(path).stem for path in plan} == live(made.now().at(snapshot=int(snapshot)))


def java_ids(engine: JavaEngine, made: MadeTable) -> list[int]:
    return sorted(map(int, engine.ask("rows", table=made.root, column="id")))


def many_changes(made: MadeTable, changes: lakebed.Transaction) -> None:
    """Of files, schema, spec, manifests, refs and properties, each of what those before it leave."""
    unpartitioned = made.written("us", "i", 22).select(["file_path", "record_count", "file_size_in_bytes"])
    # In version 1 a removed field stays, as one that is always null.
    nowhere = pa.array([{"region": None}], pa.struct([("region", pa.string())]))
    unpartitioned = unpartitioned.append_column("partition", nowhere)
    changes.append_files(made.written("emea", "g", 20))
    changes.update_schema(SchemaChange.add_column("note", pa.string()))
    changes.create_tag("before")
    changes.delete_files([made.path("us", "f")])
    changes.rewrite_manifests(by=["file_path"])
    changes.update_spec(remove=["region"])
    changes.append_files(unpartitioned, merge=False)
    changes.overwrite_files(made.written("us", "h", 21), removed=[made.path("emea", "g")], isolation=None)
    changes.update_properties({"owner": "shop"})


@pytest.mark.jvm
@each_iceberg_release
def test_java_reads_a_transaction_and_goes_on(made: MadeTable, iceberg_java: JavaEngine):
    with made.now().transaction() as changes:
        many_changes(made, changes)
    assert live(changes.table) == {"b", "e", "h", "i"}
    java_agrees(iceberg_java, made)
    assert java_ids(iceberg_java, made) == [3, 4, 9, 21, 22]
    iceberg_java.ask("delete", table=made.root, files=[made.path("us", "h")])
    java_agrees(iceberg_java, made)
    assert java_ids(iceberg_java, made) == [3, 4, 9, 22]
    assert live(made.now().delete_files([made.path("emea", "b")])) == {"e", "i"}
    java_agrees(iceberg_java, made)


@pytest.mark.jvm
def test_java_reads_and_commits(made: MadeTable, iceberg_java: JavaEngine):
    def commit(operation: str, **request: Any) -> None:
        before = made.now().snapshots().to_arrow()["snapshot_id"].to_pylist()
        snapshot = iceberg_java.ask(operation, table=made.root, **request)
        after = made.now().snapshots().to_arrow()["snapshot_id"].to_pylist()
        assert after == [*before, snapshot["snapshot-id"]]
        agrees()

    def agrees() -> None:
        java_agrees(iceberg_java, made)

    def ids() -> list[int]:
        return java_ids(iceberg_java, made)

    agrees()
    assert ids() == IDS
    made.written("emea", "g", 20)
    path = made.path("emea", "g")
    file = {"path": path, "partition": "region=emea", "records": 1, "size": path.stat().st_size}
    commit("append", files=[file])
    assert ids() == [*IDS, 20]
    made.now().append_files(made.written("us", "h", 21))
    agrees()
    commit("delete", files=[made.path("us", "f")])
    commit("rewrite_manifests")
    table = made.now().delete_files([path])
    table = table.rewrite_manifests()
    agrees()
    assert live(table) == {"b", "e", "h"}
    assert ids() == [3, 4, 9, 21]


def test_pyiceberg_reads_and_commits(made: MadeTable, tmp_path: Path):
    """A catalog takes the table over: lakebed then stages what the catalog commits."""
    memory = pytest.importorskip("pyiceberg.catalog.memory")
    catalog = memory.InMemoryCatalog("test", warehouse=str(tmp_path))
    catalog.create_namespace("shop")
    catalog.register_table("shop.orders", str(made.metadata_file()))

    def now() -> tuple[Any, lakebed.Table]:
        table = catalog.load_table("shop.orders")
        return table, lakebed.open_table(table.metadata_location)

    def agrees(ids: list[int]) -> None:
        theirs, ours = now()
        assert sorted(theirs.scan().to_arrow()["id"].to_pylist()) == ids
        planned = {task.file.file_path for task in theirs.scan().plan_files()}
        assert planned == set(ours.files(columns=["file_path"]).to_arrow()["file_path"].to_pylist())
        snapshots = ours.snapshots().to_arrow()["snapshot_id"].to_pylist()
        assert snapshots == [one.snapshot_id for one in theirs.snapshots()]

    agrees(IDS)
    if made.now().format_version == 3:
        pytest.skip("PyIceberg 0.12 writes no version 3")
    rows = pa.Table.from_pylist([{"id": 20, "region": "emea"}], SCHEMA)
    now()[0].append(rows)
    agrees([*IDS, 20])
    theirs, ours = now()
    commit(catalog, theirs, ours.stage().append_files(made.written("us", "h", 21)))
    agrees([*IDS, 20, 21])
    now()[0].delete("region == 'apac'")
    agrees([3, 4, 10, 11, 20, 21])
    theirs, ours = now()
    commit(catalog, theirs, ours.stage().delete_files([made.path("us", "f")]))
    theirs, ours = now()
    commit(catalog, theirs, ours.stage().rewrite_manifests())
    agrees([3, 4, 20, 21])


def test_pyiceberg_commits_and_reads_a_transaction(made: MadeTable, tmp_path: Path):
    memory = pytest.importorskip("pyiceberg.catalog.memory")
    if made.now().format_version == 3:
        pytest.skip("PyIceberg 0.12 writes no version 3")
    catalog = memory.InMemoryCatalog("test", warehouse=str(tmp_path))
    catalog.create_namespace("shop")
    theirs = catalog.register_table("shop.orders", str(made.metadata_file()))
    changes = lakebed.open_table(theirs.metadata_location).transaction()
    many_changes(made, changes)
    staged = changes.stage()
    commit(catalog, theirs, staged)
    assert staged is not None
    theirs = catalog.load_table("shop.orders")
    assert sorted(theirs.scan().to_arrow()["id"].to_pylist()) == [3, 4, 9, 21, 22]
    assert theirs.metadata.current_snapshot_id == staged.snapshot_id
    assert theirs.properties["owner"] == "shop"
    assert [field.name for field in theirs.schema().fields] == ["id", "region", "amount", "note"]
    assert live(lakebed.open_table(theirs.metadata_location)) == {"b", "e", "h", "i"}


def commit(catalog: Any, table: Any, staged: lakebed.StagedCommit | None) -> None:
    """What a user of a catalog does with what lakebed has staged."""
    from pydantic import TypeAdapter
    from pyiceberg.table.update import TableRequirement, TableUpdate

    assert staged is not None
    requirements = TypeAdapter(tuple[TableRequirement, ...]).validate_python(staged.requirements)
    updates = TypeAdapter(tuple[TableUpdate, ...]).validate_python(staged.updates)
    catalog.commit_table(table, requirements, updates)
