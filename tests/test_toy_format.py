"""A third format, a module and a row of the core: every door opens its tables, and says what they lack.

Its tables are described in `rust/lakebed/src/toy.rs`; the wheel that users get does not have it.
"""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow as pa
import pytest
from command_line import printed, run
from exchanging import planned, rows

import lakebed
from lakebed import _native
from lakebed.errors import SchemaError, SnapshotNotFoundError, TableNotFoundError, UnsupportedError
from lakebed.view import ViewScan
from spark_rows import sorted_rows

# Of each snapshot the manifests, of each manifest the entries: status, path, partition, rows, bytes.
MANIFESTS = {
    "one": [("added", "a1", "a", 1, 100), ("added", "b1", "b", 2, 200)],
    "two": [("added", "a1", "a", 1, 100), ("deleted", "b1", "b", 2, 200), ("added", "a2", "a", 3, 300)],
    "more": [("added", f"c{number}", "c", number, number) for number in range(100)],
}
SNAPSHOTS = {1: ["one"], 2: ["two", "more"]}
LIVE = 102


@pytest.fixture
def toy(tmp_path: Path) -> Path:
    """A table, where the wheel knows the format."""
    if "toy" not in _native.FORMATS:
        pytest.skip("built without the feature toy")
    folder = tmp_path / "wh" / "toys"
    (folder / "toy").mkdir(parents=True)
    names = ("status", "path", "partition", "rows", "bytes")
    for manifest, entries in MANIFESTS.items():
        lines = [json.dumps(dict(zip(names, entry, strict=True))) for entry in entries]
        (folder / "toy" / manifest).write_text("\n".join(lines), "utf-8")
    listed = {name: {"name": name, "bytes": (folder / "toy" / name).stat().st_size} for name in MANIFESTS}
    snapshots = [
        {"id": number, "manifests": [listed[name] for name in manifests]}
        for number, manifests in SNAPSHOTS.items()
    ]
    (folder / "toy" / "toy.json").write_text(json.dumps({"columns": ["id"], "snapshots": snapshots}), "utf-8")
    return folder


def views(table: lakebed.Table) -> dict[str, ViewScan]:
    return {
        "files": table.files(),
        "some files": table.files(columns=["record_count"], filter="file_path > 'c'"),
        "partitions": table.partitions(),
        "diff": table.diff(1, 2),
        "diff back": table.diff(2, 1),
    }


def test_users_do_not_get_it():
    assert _native.FORMATS[:2] == ("paimon", "iceberg")
    assert _native.BUILD_PROFILE == "debug" or "toy" not in _native.FORMATS


def test_a_table_is_opened_and_found(toy):
    for format in (None, "toy"):
        table = lakebed.open_table(toy, format=format)
        assert (table.format, table.snapshot_id, table.location) == ("toy", 2, str(toy))
        assert table.schema.names == ["id"]
    assert table.refresh().snapshot_id == 2
    assert table.at(snapshot=1).files().to_arrow()["file_path"].to_pylist() == ["a1", "b1"]
    with pytest.raises(SnapshotNotFoundError):
        table.at(snapshot=3)
    [found] = lakebed.find_tables(toy.parent).to_arrow().to_pylist()
    assert found == {"location": str(toy), "format": "toy", "name": "toys"}
    with pytest.raises(TableNotFoundError, match=r"no toy/toy\.json"):
        lakebed.open_table(toy.parent, format="toy")


def test_views_are_made_of_entries(toy):
    table = lakebed.open_table(toy)
    files = table.files().to_arrow()
    assert files.schema.names == ["file_path", "partition", "record_count", "file_size_in_bytes"]
    assert files["file_path"].to_pylist()[:2] == ["a1", "a2"]
    assert files.num_rows == LIVE
    assert table.partitions().to_arrow().to_pylist() == [
        {"partition": {"part": "a"}, "file_count": 2, "record_count": 4, "file_size_in_bytes": 400},
        {"partition": {"part": "c"}, "file_count": 100, "record_count": 4950, "file_size_in_bytes": 4950},
    ]
    diff = table.diff(1, 2, filter="file_path < 'c'").to_arrow()
    changed = diff.select(["change", "file_path"]).to_pylist()
    assert changed == [{"change": "removed", "file_path": "b1"}, {"change": "added", "file_path": "a2"}]
    assert table.files(limit=3).to_arrow() == files.slice(0, 3)


def test_steps_are_counted(toy):
    table = lakebed.open_table(toy)
    for scan in (table.files(), table.partitions()):
        manifests, entries = scan.explain().to_dict()["steps"]
        assert (manifests["step"], manifests["kept"], manifests["total"]) == ("manifests", 2, 2)
        assert (entries["step"], entries["kept"], entries["total"]) == ("entries", LIVE, LIVE + 1)
        assert (entries["rows_kept"], entries["rows_total"]) == (4954, 4956)
    steps = table.diff(1, 2).explain().to_dict()["steps"]
    assert [step["kept"] for step in steps] == [3, LIVE]


@pytest.mark.parametrize("parts", [None, 1, 3])
def test_jobs_make_the_same_rows(toy, parts):
    for name, scan in views(lakebed.open_table(toy)).items():
        made = pa.Table.from_batches(rows(planned(scan, parts=parts)), scan.schema)
        assert sorted_rows(made) == sorted_rows(scan.to_arrow()), name


OF_HISTORY = ("snapshots", "refs", "changelogs", "schemas", "appends", "growth", "file_history")
OF_FILES = ("manifests", "entries", "buckets", "health", "deletes", "plan", "indexes", "columns")
OF_ALL = ("verify", "reachable", "orphans", "expire_plan", "totals")


@pytest.mark.parametrize("view", [*OF_HISTORY, *OF_FILES, *OF_ALL])
def test_views_that_it_lacks_are_named(toy, view):
    with pytest.raises(SchemaError, match="toy tables have no view"):
        getattr(lakebed.open_table(toy), view)().to_arrow()


def test_what_else_it_lacks_is_said(toy):
    table = lakebed.open_table(toy)
    for selection in ({"where": "id = 'x'"}, {"stats": ["id"]}):
        with pytest.raises(UnsupportedError, match="toy tables"):
            table.files(**selection)
    with pytest.raises(SchemaError, match="toy tables have no metadata table"):
        table.metadata_table("history")
    with pytest.raises(UnsupportedError, match="toy tables take no delete_tag"):
        table.delete_tag("x")
    assert table.properties == {}
    assert list(table.metadata_tables) == []


def test_commands_show_it(toy):
    table, path = lakebed.open_table(toy), str(toy)
    assert printed("files", path) == table.files().to_arrow().to_pylist()
    assert printed("partitions", path, "--format", "toy") == table.partitions().to_arrow().to_pylist()
    assert printed("diff", path, "1", "2") == table.diff(1, 2).to_arrow().to_pylist()
    assert [row["kept"] for row in printed("files", path, "--explain")] == [2, LIVE]
    refused = run("snapshots", path)
    assert refused.exit_code != 0
    assert "toy tables have no view snapshots" in refused.output


@pytest.mark.spark
def test_workers_of_spark_make_its_rows(spark, toy):
    import lakebed.spark as ls
    from spark_rows import actual, expected

    table = lakebed.open_table(toy)
    for of in (table, str(toy)):
        assert actual(ls.files(spark, of)) == expected(table.files())
        assert actual(ls.partitions(spark, of)) == expected(table.partitions())
        assert actual(ls.diff(spark, of, 1, 2)) == expected(table.diff(1, 2))
    frame = ls.files(spark, table)
    assert "InArrow" in frame._jdf.queryExecution().toString()
