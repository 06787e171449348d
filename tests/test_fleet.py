"""Many tables at once: `lakebed.health`, and the command line on folders of tables and on catalogs."""

from __future__ import annotations

import json
import pickle
import shutil
import threading
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

import documents
import pytest
from command_line import configure_catalogs, run
from counting_storage import CountingStorage
from local_storage import LocalStorage
from test_cli_catalogs import run as run_of_catalog
from test_cli_terminal import few_snapshots, terminal

import lakebed
from lakebed import _display, fleet
from lakebed.errors import SchemaError
from shared_data import SAMPLE_TABLE

tables = pytest.importorskip("catalog_tables")
__all__ = ["terminal"]


@pytest.fixture
def warehouse(tmp_path: Path) -> Path:
    """Four tables in two databases, one of which is damaged, another one gone but for its folder."""
    folder = tmp_path / "warehouse"
    for name in ("a.db/orders", "a.db/items", "b.db/orders"):
        shutil.copytree(SAMPLE_TABLE, folder / name)
    damaged = folder / "b.db/damaged"
    shutil.copytree(SAMPLE_TABLE, damaged)
    (damaged / "schema/schema-0").write_text("nothing")
    return folder


def rows_of(text: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in text.splitlines()]


def test_a_row_each_whatever_becomes_of_the_others(warehouse: Path) -> None:
    paths = [warehouse / "a.db/orders", warehouse / "b.db/damaged", warehouse / "nowhere"]
    rows = lakebed.health(paths).to_pylist()
    (alone,) = lakebed.open_table(paths[0]).health().to_arrow().to_pylist()
    assert rows[0] == {"name": str(paths[0]), **alone, "error": None}
    assert [row["name"] for row in rows] == list(map(str, paths))
    assert rows[1]["error"].startswith("json: ")
    assert rows[2]["error"].startswith("table-not-found: ")
    assert rows[1]["file_count"] is None
    assert lakebed.health([]).schema == lakebed.health(paths).schema


def test_columns_and_conditions_are_those_of_each_table(warehouse: Path) -> None:
    paths = [warehouse / "a.db/orders", warehouse / "a.db/items"]
    rows = lakebed.health(paths, columns=["file_count"], filter="file_count > 33", at=10)
    assert rows.schema.names == ["name", "file_count", "error"]
    assert rows["file_count"].to_pylist() == [34, 34]
    assert lakebed.health(paths, filter="file_count > 34").num_rows == 0
    with pytest.raises(SchemaError, match="no column"):
        lakebed.health(paths, columns=["files"])


def test_secrets_are_in_no_error() -> None:
    (row,) = lakebed.health(["s3://AKID:hush@lake/wh/t"], storage=LocalStorage()).to_pylist()
    assert "hush" not in row["error"]


@pytest.mark.parametrize("most", [1, 2])
def test_tables_share_a_limit_of_reads(warehouse: Path, most: int) -> None:
    # Two reads at once, where there may be two.
    storage = CountingStorage(seconds=0.01)
    paths = [warehouse / name for name in ("a.db/orders", "a.db/items", "b.db/orders")]
    rows = lakebed.health(paths, storage=storage, concurrent_reads=most)
    assert rows["error"].null_count == 3
    assert storage.most_at_once == most


def test_a_limit_of_reads_is_a_value(warehouse: Path) -> None:
    limit = lakebed.ReadLimit(3)
    assert (limit.reads, repr(limit), pickle.loads(pickle.dumps(limit)).reads) == (3, "ReadLimit(3)", 3)
    table = lakebed.open_table(warehouse / "a.db/orders", concurrent_reads=limit)
    assert pickle.loads(pickle.dumps(table)).files().to_arrow().num_rows == 34
    with pytest.raises(ValueError, match="positive"):
        lakebed.ReadLimit(0)
    found = lakebed.find_tables(warehouse, concurrent_reads=limit).to_arrow()
    assert found.num_rows == 4


def test_the_command_line_takes_a_folder_of_tables(warehouse: Path) -> None:
    done = run("health", str(warehouse), "-o", "json")
    rows = rows_of(done.stdout)
    assert done.exit_code == 1
    found = [(row["name"], row["file_count"]) for row in rows]
    assert found == [("a.items", 34), ("a.orders", 34), ("b.orders", 34), ("b.damaged", None)]
    assert done.stderr.startswith("error: b.damaged: ")
    only = rows_of(
        run("health", str(warehouse / "a.db"), "--columns", "name,file_count", "-o", "json").stdout
    )
    assert only == [{"name": name, "file_count": 34} for name in ("items", "orders")]


@pytest.mark.parametrize("form", ["csv", "json"])
def test_one_table_alone_has_the_columns_of_several_where_they_are_asked_for(form: str) -> None:
    words = ("health", str(SAMPLE_TABLE), "--columns", "name,file_count,error")
    expected = {"csv": f"name,file_count,error\n{SAMPLE_TABLE},34,\n"}
    expected["json"] = json.dumps({"name": str(SAMPLE_TABLE), "file_count": 34, "error": None}) + "\n"
    assert run(*words, "-o", form).stdout == expected[form]
    metrics = run(*words, "-o", "openmetrics")
    assert (metrics.exit_code, "\nlakebed_table_file_count{" in metrics.stdout) == (0, True)


def test_one_table_on_a_terminal_has_its_name_where_it_is_asked_for(terminal: Any) -> None:
    shown = terminal("health", str(SAMPLE_TABLE), "--columns", "name,file_count").stdout
    assert f"name        {SAMPLE_TABLE}\nfile_count  34\n" in shown


def test_a_terminal_gets_a_line_each_the_worst_first(
    terminal: Any, warehouse: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    few_snapshots(monkeypatch)
    expired = lakebed.open_table(warehouse / "a.db/items").expire_snapshots(retain_last=1)
    assert expired is not None
    shown = terminal("health", str(warehouse))
    lines = shown.stdout.splitlines()
    assert lines[0].split() == ["table", "size", "files", "small", "deletes", "worst", "problem"]
    assert [line.split()[0] for line in lines[2:]] == ["b.damaged", "a.orders", "b.orders", "a.items"]
    assert "not read: " in lines[2]
    assert "10 snapshots are kept, with" in lines[3]
    assert max(map(len, lines)) <= 80
    error, *footer = shown.stderr.splitlines()
    assert error.startswith("error: b.damaged: ")
    assert error.endswith("/b.db/damaged/schema/schema-0)")
    assert footer == ["4 tables, 1 not read, 2 with problems; `lakebed health TABLE` says what to do"]


def test_tables_that_were_not_read_are_not_said_to_be_well(terminal: Any, warehouse: Path) -> None:
    footer = terminal("health", str(warehouse)).stderr.splitlines()[-1]
    assert footer == "4 tables, 1 not read, no problems found in the other 3"
    footer = terminal("health", str(warehouse / "none"), str(warehouse / "b.db/damaged")).stderr
    assert footer.splitlines()[-1] == "2 tables, 2 not read"
    assert footer.count("error: ") == 2


def test_a_line_says_how_old_the_oldest_snapshot_is(warehouse: Path) -> None:
    folder = warehouse / "a.db"
    expired = lakebed.open_table(folder / "items").expire_snapshots(retain_last=1)
    assert expired is not None
    with documents.terminal(160):
        head, _, *lines = run("health", str(folder)).stdout.splitlines()
    start, end = head.index("snapshots") + len("snapshots"), head.index("oldest") + len("oldest")
    shown = {line.split()[0]: line[start:end].strip() for line in lines}
    for name, age in shown.items():
        (row,) = lakebed.open_table(folder / name).health().to_arrow().to_pylist()
        passed = datetime.now(timezone.utc) - row["oldest_snapshot_at"]
        assert age == _display.age(passed.total_seconds()), name
        # Those of one table alone are of one age.
        assert (row["oldest_snapshot_at"] == row["newest_snapshot_at"]) == (name == "items")


def test_of_one_problem_the_largest_number_is_first(
    terminal: Any, warehouse: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("lakebed.cli.thresholds.configured", lambda: [("lakebed.toml", {"snapshots": 7})])
    expired = lakebed.open_table(warehouse / "a.db/items").expire_snapshots(retain_last=8)
    assert expired is not None
    lines = terminal("health", str(warehouse)).stdout.splitlines()
    assert [line.split()[0] for line in lines[2:]] == ["b.damaged", "a.orders", "b.orders", "a.items"]
    assert [number in line for number, line in zip(("10", "10", "8"), lines[3:], strict=True)] == [True] * 3


def test_namespaces_of_a_catalog_are_listed_side_by_side() -> None:
    both = threading.Barrier(2, timeout=30)

    class Catalog:
        def list_namespaces(self, namespace: tuple[str, ...]) -> list[tuple[str, ...]]:
            return [] if namespace else [("a",), ("b",)]

        def list_tables(self, namespace: tuple[str, ...]) -> list[tuple[str, ...]]:
            both.wait()
            return [(*namespace, "t")]

    assert fleet.names_in(Catalog(), []) == ["a.t", "b.t"]
    assert fleet.names_in(Catalog(), ["b", "a"]) == ["b.t", "a.t"]


def test_a_catalog_and_its_namespaces(tmp_path: Path) -> None:
    catalog, orders = tables.lake(tmp_path)
    catalog.create_namespace("db.inner")
    catalog.create_table("db.inner.items", orders.schema())
    catalog.create_namespace("other")
    catalog.create_table("other.gone", orders.schema())
    metadata = catalog.load_table("other.gone").metadata_location
    Path(metadata.removeprefix("file://")).unlink()
    configure_catalogs(tmp_path, lake=catalog.properties)
    done = run_of_catalog(tmp_path, "health", "--catalog", "lake", "-o", "json")
    rows = rows_of(done.stdout)
    assert done.exit_code == 1
    found = [(row["name"], row["snapshot_count"]) for row in rows]
    assert found == [("db.orders", 2), ("db.inner.items", 0), ("other.gone", None)]
    done = run_of_catalog(tmp_path, "health", "--catalog", "lake", "db", "--columns", "name", "-o", "json")
    assert (done.exit_code, rows_of(done.stdout)) == (0, [{"name": "db.orders"}, {"name": "db.inner.items"}])
    done = run_of_catalog(tmp_path, "find", "--catalog", "lake", "-o", "json")
    assert done.exit_code == 1
    assert [row["name"] for row in rows_of(done.stdout)] == ["db.orders", "db.inner.items", "other.gone"]
    # As `health` has it.
    assert (
        rows_of(done.stdout)[0]["location"]
        == rows[0]["location"]
        == orders.location().removeprefix("file://")
    )
    assert done.stderr.startswith("error: other.gone: ")
    words = ("find", "--catalog", "lake", "db", "--filter", "name like '%items'", "--columns", "name")
    assert run_of_catalog(tmp_path, *words, "-o", "csv").stdout.split() == ["name", "db.inner.items"]


def test_a_namespace_that_is_not_there_is_said_to_be_none(tmp_path: Path) -> None:
    catalog, _ = tables.lake(tmp_path)
    catalog.create_namespace("empty")
    configure_catalogs(tmp_path, lake=catalog.properties)
    for name, what in (("nowhere", "namespace"), ("db.nothing", "table or namespace")):
        said = f"the catalog has no {what} {name}\n"
        for command, before in (("health", ""), ("find", f"{name}: ")):
            done = run_of_catalog(tmp_path, command, "--catalog", "lake", name)
            assert (done.exit_code, done.stderr) == (1, f"error: {before}{said}")
            assert name not in done.stdout
    done = run_of_catalog(tmp_path, "find", "--catalog", "lake", "empty", "-o", "json")
    assert (done.exit_code, done.stdout, done.stderr) == (0, "", "")
