"""Metadata that is written anew for another place: what it names, and that a table is the same there."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from command_line import printed
from covering import each_covering_iceberg_table, each_layout_of_golden_paimon_tables
from file_rows import file_rows
from json_files import without
from moved_tables import PATH_FIELD, copied, position_deletes, said, with_deletes
from test_jobs import rows

import lakebed
from iceberg_golden import GoldenTable as GoldenIcebergTable
from iceberg_golden import golden
from lakebed import Table
from lakebed.errors import LocationError, SchemaError, SnapshotNotFoundError, UnsupportedError
from shared_data import SAMPLE_TABLE, GoldenTable

pytestmark = pytest.mark.filterwarnings("ignore::lakebed.errors.LakebedWarning")

VIEWS = ("snapshots", "refs", "schemas", "manifests", "entries", "files", "plan", "deletes", "partitions")


def view(table: Table, name: str) -> Any:
    """The rows of a view, or the class of the error that it ends with."""
    try:
        return rows(getattr(table, name)())
    except lakebed.LakebedError as error:
        return type(error).__name__


def made(folder: Path, count: int = 3) -> Table:
    """An Iceberg table with a snapshot for each of its data files."""
    schema = pa.schema([("id", pa.int64()), ("day", pa.int32())])
    table = lakebed.create_table(folder, schema, "iceberg", partition_by=["day"])
    for number in range(count):
        file = folder / f"data/{number}.parquet"
        file.parent.mkdir(exist_ok=True)
        table = with_file(table, file, number)
    return table


def with_file(table: Table, file: Path, day: int) -> Table:
    """A table with one more data file, which is written."""
    pq.write_table(pa.table({"id": [day], "day": pa.array([day], pa.int32())}), file)
    return table.append_files(of_day(str(file), day, file.stat().st_size))


def of_day(path: str, day: int, size: int = 1) -> pa.Table:
    partition = pa.array([{"day": day}], pa.struct([("day", pa.int32())]))
    return file_rows(path, file_size_in_bytes=size, partition=partition)


@each_covering_iceberg_table(
    "format", "several", "one ", "no ", "content", "status", "file_format", "container"
)
def test_iceberg_tables_are_the_same_elsewhere(table: GoldenIcebergTable, tmp_path: Path):
    old, new = table.info["location"].removeprefix("file://"), str(tmp_path / "new")
    before = with_deletes(table, tmp_path / "old")
    prefixes = dict.fromkeys(table.relocate, new)
    files = lakebed.rewrite_paths(before, prefixes, to=tmp_path / "staged")
    copied(files)
    after = lakebed.open_table(Path(new) / table.info["metadata_file"])
    for name in VIEWS:
        expected, found = (view(one, name) for one in (before, after))
        assert said(said(found), "file://" + new, new) == said(
            said(expected, old, new), "file://" + new, new
        ), name
    kinds = {row["kind"] for row in rows(after.verify(data_files=False)) if row["severity"] == "error"}
    assert not kinds
    for manifest in rows(after.manifests(columns=["path", "length"])):
        assert Path(manifest["path"].removeprefix("file://")).stat().st_size == manifest["length"]


@each_layout_of_golden_paimon_tables()
def test_paimon_tables_are_the_same_elsewhere(table: GoldenTable, tmp_path: Path):
    new = str(tmp_path / "new")
    before = lakebed.open_table(table.path)
    prefixes = {str(table.path): new, "s3://lake-a/": "s3://lake-b/longer/"}
    files = lakebed.rewrite_paths(before, prefixes, to=new)
    copied(files)
    after = lakebed.open_table(new)
    for name in (*VIEWS, "indexes", "changelogs"):
        expected, found = (view(one, name) for one in (before, after))
        text = json.dumps(expected, default=str).replace(str(table.path), new)
        text = text.replace("s3://lake-a/", "s3://lake-b/longer/")
        sizes = {"base_manifest_list_size", "delta_manifest_list_size", "length"}
        expected, found = json.loads(text), json.loads(json.dumps(found, default=str))
        assert without(found, *sizes) == without(expected, *sizes), name
    # What is there already is not to be copied.
    assert {row["kind"] for row in rows(files)} <= {"data", "index", "extra", "changelog data", "statistics"}
    targets = {row["target"] for row in rows(files)}
    assert targets >= {row["file_path"] for row in rows(after.files(columns=["file_path"]))}
    assert not [row for row in rows(after.verify()) if row["severity"] == "error"]


def test_fixed_partition_values_with_a_length_in_front_keep_it(tmp_path: Path):
    table = golden("java_fixed_partition_v2", "iceberg")
    before = with_deletes(table, tmp_path / "old")
    copied(lakebed.rewrite_paths(before, dict.fromkeys(table.relocate, str(tmp_path)), to=tmp_path))
    after = lakebed.open_table(tmp_path / table.info["metadata_file"])
    values = [
        [row["partition"] for row in rows(one.entries(columns=["partition"]))] for one in (before, after)
    ]
    assert values[0] == values[1]
    assert any(value["fx"] is not None for value in values[0])


def test_rows_say_where_each_file_is_and_where_it_is_to_be(tmp_path: Path):
    table = made(tmp_path / "old")
    old, new, staged = (str(tmp_path / name) for name in ("old", "new", "staged"))
    files = lakebed.rewrite_paths(table, {old: new}, to=staged)
    found = rows(files)
    written = {str(file) for file in Path(staged).rglob("*") if file.is_file()}
    assert {row["source"] for row in found if row["source"].startswith(staged)} == written
    for row in found:
        source = old if row["kind"] == "data" else staged
        assert row["source"].removeprefix(source) == row["target"].removeprefix(new)
        size = Path(row["source"]).stat().st_size
        assert row["file_size_in_bytes"] == size
    kinds = sorted(row["kind"] for row in found)
    assert kinds == sorted(
        ["data"] * 3 + ["manifest list"] * 3 + ["manifest"] * 3 + ["metadata"] * 4 + ["hint"]
    )
    assert old not in "".join(path.read_text() for path in Path(staged).glob("metadata/*.json"))
    steps = {step.step: step.kept for step in files.explain().steps}
    assert steps == {"written anew": 11, "files": 14}
    assert (
        rows(lakebed.rewrite_paths(table, {old: new}, to=tmp_path / "two", filter="kind = 'data'", limit=2))
        == [row for row in found if row["kind"] == "data"][:2]
    )


@pytest.mark.parametrize("by_file", [False, True])
def test_what_came_after_a_version_completes_an_earlier_copy(tmp_path: Path, by_file: bool):
    table = made(tmp_path / "old", 2)
    old, new = str(tmp_path / "old"), str(tmp_path / "new")
    since = "v3.metadata.json" if by_file else table.snapshot_id
    copied(lakebed.rewrite_paths(table, {old: new}, to=tmp_path / "one"))
    table = made_again(table, 7).rewrite_manifests(target_bytes=1)
    files = lakebed.rewrite_paths(table, {old: new}, to=tmp_path / "two", since=since)
    kinds = sorted(row["kind"] for row in rows(files) if row["kind"] not in ("metadata", "hint"))
    assert kinds == ["data", "manifest", "manifest", "manifest", "manifest", "manifest list", "manifest list"]
    copied(files)
    after = lakebed.open_table(new)
    assert said(rows(after.files())) == said(rows(table.files()), old, new)
    assert not [row for row in rows(after.verify(data_files=True)) if row["severity"] == "error"]


def made_again(table: Table, number: int) -> Table:
    """A table with one more data file."""
    return with_file(table, Path(table.location) / f"data/{number}.parquet", number)


def test_paths_in_position_deletes_and_their_bounds_are_exchanged(tmp_path: Path):
    table = golden("pos_deletes_v2", "iceberg")
    before = with_deletes(table, tmp_path / "old")
    old, new = table.info["location"], str(tmp_path / "new")
    copied(lakebed.rewrite_paths(before, {old: new}, to=new))
    entries = [row for row in rows(lakebed.open_table(new).entries()) if row["content"] == 1]
    assert entries
    bounds = 0
    for row in entries:
        if row["status"] != 2:
            file = pq.ParquetFile(row["file_path"])
            assert all(path.startswith(new + "/") for path in file.read()["file_path"].to_pylist())
            assert (
                file.schema_arrow.field("file_path").metadata[b"PARQUET:field_id"] == str(PATH_FIELD).encode()
            )
            assert Path(row["file_path"]).stat().st_size == row["file_size_in_bytes"]
        both = [dict(row[name] or []).get(PATH_FIELD) for name in ("lower_bounds", "upper_bounds")]
        assert both[0] == both[1]
        bounds += both[0] is not None
        assert both[0] is None or both[0].decode().startswith(new + "/")
    assert bounds


def test_what_nobody_said_where_it_leads_is_an_error_and_nothing_is_left(tmp_path: Path):
    table = made(tmp_path / "old")
    old, new = str(tmp_path / "old"), str(tmp_path / "new")
    for prefixes, named in (({"s3://x": "s3://y"}, old), ({f"{old}/metadata": new}, old)):
        with pytest.raises(LocationError, match="no prefix covers") as raised:
            lakebed.rewrite_paths(table, prefixes, to=new)
        assert raised.value.path == named
    table = table.append_files(of_day("/elsewhere/x.parquet", 1))
    with pytest.raises(LocationError, match="no prefix covers") as raised:
        lakebed.rewrite_paths(table, {old: new}, to=new)
    assert not [file for file in Path(new).rglob("*") if file.is_file()]
    files = lakebed.rewrite_paths(table, {old: new, "/elsewhere": "/elsewhere"}, to=new)
    assert "/elsewhere/x.parquet" not in {row["source"] for row in rows(files)}


def test_wrong_arguments_are_refused(tmp_path: Path):
    table = made(tmp_path / "old")
    old, new = str(tmp_path / "old"), str(tmp_path / "new")
    for error, keywords in (
        (SchemaError, {"since": "v9.metadata.json"}),
        (SnapshotNotFoundError, {"since": 17}),
        (SchemaError, {"columns": ["nope"]}),
        (TypeError, {"since": 1.5}),
        (ValueError, {"threads": 0}),
    ):
        with pytest.raises(error):
            lakebed.rewrite_paths(table, {old: new}, to=new, **keywords)
    with pytest.raises(SchemaError):
        lakebed.rewrite_paths(table, {}, to=new)
    with pytest.raises(UnsupportedError, match="read-only"):
        lakebed.rewrite_paths(table, {old: new}, to="/x", storage="pyarrow")
    with pytest.raises(SnapshotNotFoundError):
        lakebed.rewrite_paths(lakebed.open_table(SAMPLE_TABLE), {str(SAMPLE_TABLE): new}, to=new, since=99)
    assert not Path(new).exists()
    lakebed.rewrite_paths(table, {old: new}, to=new)
    with pytest.raises(OSError, match="exists"):
        lakebed.rewrite_paths(table, {old: new}, to=new)
    assert lakebed.open_table(new).snapshot_id == table.snapshot_id


def test_damaged_position_deletes_are_an_error_with_their_path(tmp_path: Path):
    from lakebed import _position_deletes

    sink = pa.BufferOutputStream()
    pq.write_table(position_deletes(["/a"]), sink)

    class Mover:
        def moved(self, paths: Any) -> Any:
            raise AssertionError(paths)

    for data in (b"PAR1", sink.getvalue().to_pybytes()[:-9]):
        with pytest.raises(pa.ArrowInvalid):
            _position_deletes.rewritten(data, Mover())  # type: ignore[arg-type]


def test_pyiceberg_plans_the_same(tmp_path: Path):
    tables = pytest.importorskip("pyiceberg.table")
    table = made(tmp_path / "old")
    old, new = str(tmp_path / "old"), str(tmp_path / "new")
    copied(lakebed.rewrite_paths(table, {old: new}, to=new))
    file = tables.StaticTable.from_metadata(f"{new}/metadata/v4.metadata.json")
    found = {task.file.file_path for task in file.scan().plan_files()}
    assert found == {row["file_path"].replace(old, new) for row in rows(table.plan(columns=["file_path"]))}
    assert len(found) == 3


def test_pypaimon_reads_the_copy(tmp_path: Path):
    """Its data files are elsewhere, as entries say by full paths; nothing is left where they were."""
    pypaimon = pytest.importorskip("pypaimon")
    from catalog_tables import ROWS, paimon_orders

    uri = f"file://{tmp_path}/far"
    options = {"data-file.external-paths": uri, "data-file.external-paths.strategy": "round-robin"}
    paimon_orders(tmp_path / "old", 2, options)
    old, new = (tmp_path / name / "db.db" / "orders" for name in ("old", "new"))
    table = lakebed.open_table(old)
    paths = [row["file_path"] for row in rows(table.files(columns=["file_path"]))]
    # pypaimon writes them as its options say, or without the scheme.
    (far,) = {path.partition("/region=")[0] for path in paths}
    assert far.endswith(f"{tmp_path}/far")
    prefixes = {old: new} | {one: one.removesuffix("far") + "near" for one in (uri, far)}
    files = lakebed.rewrite_paths(table, {str(one): str(other) for one, other in prefixes.items()}, to=new)
    for file in rows(files):
        target = Path(file["target"].removeprefix("file:"))
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(file["source"].removeprefix("file:"), target)
    for gone in (tmp_path / "old", tmp_path / "far"):
        shutil.rmtree(gone)
    read = pypaimon.CatalogFactory.create({"warehouse": str(tmp_path / "new")}).get_table("db.orders")
    builder = read.new_read_builder()
    found = builder.new_read().to_arrow(builder.new_scan().plan().splits()).to_pylist()
    assert sorted(map(repr, found)) == sorted(map(repr, ROWS.to_pylist() * 2))


def test_the_command_writes_and_lists(tmp_path: Path):
    table = made(tmp_path / "old")
    old, new = str(tmp_path / "old"), str(tmp_path / "new")
    found = printed("rewrite-paths", old, "--prefix", f"{old}={new}", "--to", new)
    assert {row["kind"] for row in found} == {"data"}
    assert said(rows(lakebed.open_table(new).files())) == said(rows(table.files()), old, new)
