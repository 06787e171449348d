"""Iceberg's own REST catalog: tables that it has are read and committed to, and Java's client reads them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from iceberg_commits import files
from iceberg_operations import OPERATIONS, SCHEMA, begun
from java_engine import JavaEngine
from trust import long_or

import lakebed
from lakebed.errors import TableNotFoundError

tables = pytest.importorskip("catalog_tables")
catalog_writer = pytest.importorskip("catalog_writer")
rest = pytest.importorskip("pyiceberg.catalog.rest")


pytestmark = pytest.mark.jvm
VIEWS = ("files", "entries", "manifests", "snapshots", "refs", "schemas", "partitions", "plan")


@pytest.fixture
def catalog(rest_java: JavaEngine, tmp_path: Path) -> Iterator[Any]:
    found = rest.RestCatalog("lake", uri=rest_java.ask("serve", folder=str(tmp_path)))
    found.create_namespace("db")
    yield found
    found.close()


def javas(engine: JavaEngine, table: str = "db.t") -> list[str]:
    """The live files, as Java reads them."""
    rows = engine.ask("read", table=table)["files"]
    return sorted(row["file_path"].rpartition("/")[2].removesuffix(".parquet") for row in rows)


def test_the_views_are_those_of_the_metadata_file(catalog: Any, rest_java: JavaEngine) -> None:
    there = tables.orders(catalog)
    table = lakebed.open_table(catalog.load_table("db.orders"))
    folder = lakebed.open_table(there.metadata_location)
    for view in VIEWS:
        rows = getattr(table, view)().to_arrow()
        assert rows.num_rows > 0
        assert rows.equals(getattr(folder, view)().to_arrow()), view
    java = rest_java.ask("read", table="db.orders")
    for name in ("file_path", "record_count", "sequence_number"):
        ours = table.files(columns=[name]).to_arrow()[name].to_pylist()
        assert sorted(ours) == sorted(row[name] for row in java["files"])
    assert table.snapshots().to_arrow()["snapshot_id"].to_pylist() == [
        row["snapshot_id"] for row in java["snapshots"]
    ]


@pytest.mark.parametrize("version", ["1", "2", "3"])
def test_java_and_pyiceberg_read_what_was_committed(
    catalog: Any, rest_java: JavaEngine, version: str
) -> None:
    made = catalog.create_table(
        "db.t", pa.schema([("id", pa.int64())]), properties={"format-version": version}
    )
    table = lakebed.open_table(made)
    assert table.format_version == int(version)
    table = table.append_files(files("1", "2", "3"))
    rest_java.ask("append", table="db.t", path=f"{made.location()}/data/java.parquet")
    table = table.append_files(files("4"))
    assert javas(rest_java) == ["1", "2", "3", "4", "java"]
    table = table.delete_files(["data/2.parquet"])
    table = table.rewrite_manifests()
    rest_java.ask("append", table="db.t", path=f"{made.location()}/data/last.parquet")
    wanted = ["1", "3", "4", "java", "last"]
    paths = catalog.load_table("db.t").inspect.files()["file_path"].to_pylist()
    assert sorted(Path(path).stem for path in paths) == javas(rest_java) == wanted
    java = rest_java.ask("read", table="db.t")
    assert [row["operation"] for row in java["snapshots"]] == [
        *("append", "append", "append", "delete", "replace", "append")
    ]
    assert java["snapshots"][-1]["summary"]["total-records"] == "23"
    ours = table.refresh().files().to_arrow()
    numbers = dict(zip(ours["file_path"].to_pylist(), ours["sequence_number"].to_pylist(), strict=True))
    assert numbers == {row["file_path"]: row["sequence_number"] for row in java["files"]}


@pytest.mark.parametrize("version", long_or(["2", "3"], ["1", "2", "3"]))
def test_every_operation_is_made_by_javas_catalog(catalog: Any, rest_java: JavaEngine, version: str) -> None:
    """Java's catalog checks what each requires and makes what each changes, and reads what comes of it."""
    properties = {"format-version": version}
    first = catalog.create_table("db.first", SCHEMA, properties=properties)
    begun(lakebed.open_table(first))
    location = catalog.load_table("db.first").metadata_location
    for number, (name, operation) in enumerate(OPERATIONS.items()):
        if name == "row_delta" and version != "2":
            # Position deletes are of version 2.
            continue
        catalog.register_table(f"db.t{number}", location)
        table = lakebed.open_table(catalog.load_table(f"db.t{number}"))
        operation.make(table)
        now = lakebed.open_table(catalog.load_table(f"db.t{number}"))
        read = rest_java.ask("read", table=f"db.t{number}")
        assert now.snapshot_id is not None
        ids = now.snapshots(columns=["snapshot_id"]).to_arrow()["snapshot_id"].to_pylist()
        assert sorted(ids) == sorted(row["snapshot_id"] for row in read["snapshots"]), name
        ours = now.plan(columns=["file_path"]).to_arrow()["file_path"].to_pylist()
        assert sorted(ours) == sorted(row["file_path"] for row in read["files"]), name
        if name == "upgrade":
            assert now.format_version == 3


def test_a_commit_to_another_branch_meanwhile_is_no_harm(catalog: Any, rest_java: JavaEngine) -> None:
    """It takes the sequence number that the commit to main was to have, and nothing that main requires."""
    made = catalog.create_table("db.t", pa.schema([("id", pa.int64())]))
    table = lakebed.open_table(made).append_files(files("1"))
    here = catalog.load_table("db.t")
    here.manage_snapshots().create_branch(table.snapshot_id, "dev").commit()
    commit = catalog.commit_table

    def others_first(*given: Any) -> Any:
        catalog.commit_table = commit
        catalog.load_table("db.t").append(pa.table({"id": [1]}), branch="dev")
        return commit(*given)

    there = catalog.load_table("db.t")
    catalog.commit_table = others_first
    lakebed.open_table(there).append_files(files("2"))
    assert javas(rest_java) == ["1", "2"]
    snapshots = lakebed.open_table(catalog.load_table("db.t")).snapshots().to_arrow()
    assert sorted(snapshots["sequence_number"].to_pylist()) == [1, 2, 3]


def test_a_table_that_is_dropped_is_reported(catalog: Any) -> None:
    table = lakebed.open_table(catalog.create_table("db.t", pa.schema([("id", pa.int64())])))
    catalog.drop_table("db.t")
    for ask in (table.refresh, lambda: table.append_files(files("1"))):
        with pytest.raises(TableNotFoundError, match=r"no table db\.t"):
            ask()


@pytest.mark.parametrize("other", ["lakebed", "pyiceberg", "java"])
def test_two_writers_lose_nothing(catalog: Any, rest_java: JavaEngine, other: str) -> None:
    # Java tries four times, and waits long in between, unless it is told otherwise.
    patience = {"commit.retry.num-retries": "1000", "commit.retry.min-wait-ms": "5"}
    made = catalog.create_table("db.t", pa.schema([("id", pa.int64())]), properties=patience)

    def java(name: str) -> None:
        rest_java.ask("append", table="db.t", path=f"{made.location()}/data/{name}")

    catalog_writer.race(catalog, {"a": "lakebed", "b": other}, long_or(5, 50), java)
    names = [f"{name}.parquet" for name in javas(rest_java)]
    assert names == catalog_writer.live(lakebed.open_table(made).refresh())


def test_javas_commit_that_lost_begins_anew_from_what_won(catalog: Any, rest_java: JavaEngine) -> None:
    made = catalog.create_table("db.t", pa.schema([("id", pa.int64())]))
    rest_java.ask("begin", table="db.t", path=f"{made.location()}/data/java.parquet")
    table = lakebed.open_table(made).append_files(files("1", "2"))
    table = table.delete_files(["data/1.parquet"])
    assert rest_java.ask("finish") == 2
    assert javas(rest_java) == ["2", "java"]
    rows = table.refresh().snapshots().to_arrow()
    assert rows["parent_id"].to_pylist() == [None, *rows["snapshot_id"].to_pylist()[:-1]]
    assert rows["operation"].to_pylist() == ["append", "delete", "append"]


def test_a_commit_that_java_came_before_begins_anew(catalog: Any, rest_java: JavaEngine) -> None:
    there = catalog.create_table("db.t", pa.schema([("id", pa.int64())]))
    commit, attempts = catalog.commit_table, []

    def java_first(*given: Any) -> Any:
        attempts.append(given)
        if len(attempts) < 3:
            path = f"{there.location()}/data/java{len(attempts)}.parquet"
            assert rest_java.ask("append", table="db.t", path=path) == 1
        return commit(*given)

    catalog.commit_table = java_first
    table = lakebed.open_table(there).append_files(files("1"))
    assert len(attempts) == 3
    assert javas(rest_java) == ["1", "java1", "java2"]
    rows = table.snapshots().to_arrow()
    assert rows["parent_id"].to_pylist() == [None, *rows["snapshot_id"].to_pylist()[:-1]]
    # One manifest and one list of each commit: what was lost is gone.
    assert len(list(Path(table.location).rglob("*.avro"))) == 6


def test_a_killed_writer_breaks_nothing(catalog: Any) -> None:
    catalog_writer.kill(catalog)
