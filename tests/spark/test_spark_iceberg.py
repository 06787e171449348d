"""With Spark the rows of Iceberg tables are those without, value for value."""

from __future__ import annotations

import re
import shutil
from pathlib import Path
from typing import Any

import encrypted_files
import pytest
from covering import each_covering_iceberg_table
from paimon_files import Record, rewrite
from trust import in_turn

import lakebed
import lakebed.spark as ls
from iceberg_answers import leaves
from iceberg_golden import GoldenTable, each_golden_iceberg_table, golden_iceberg_tables
from lakebed.errors import LakebedError, SchemaError
from lakebed.spark.types import spark_schema
from spark_rows import actual, expected

pytest.importorskip("pyspark")
from pyspark.errors import PythonException

pytestmark = pytest.mark.spark

FROM_MANIFESTS = ("files", "entries", "deletes", "partitions", "buckets")
# Those whose manifests Spark reads here; of the others executors do.
BY_SPARK: dict[str, dict[str, Any]] = {view: {"read": "spark"} for view in ("entries", "buckets")}
FROM_THE_DRIVER = ("snapshots", "refs", "schemas", "manifests")
# Together they have deletes of every kind, several specs, every type and what is odd about names.
FEATURES = ("dv_v3", "eq_deletes_v2", "part_time_v1", "spec_evolution_v1", "types_v3", "unknown_variant_v3")


def golden(name: str) -> GoldenTable:
    return next(table for table in golden_iceberg_tables() if table.name == name)


def compare(spark: Any, table: lakebed.Table, view: str, **selection: Any) -> None:
    """Holds one view to what it is without Spark, errors included."""
    scan = getattr(table, view)(**selection)
    try:
        rows = expected(scan)
    except LakebedError as error:
        with pytest.raises((type(error), PythonException), match=re.escape(str(error).partition(" (")[0])):
            actual(getattr(ls, view)(spark, table, **selection))
        return
    frame = getattr(ls, view)(spark, table, **selection, **BY_SPARK.get(view, {}))
    columns = {name: value for name, value in selection.items() if name != "where"}
    assert frame.schema == ls.schema(view, table, **columns) == spark_schema(scan.schema)
    assert actual(frame) == rows


@each_covering_iceberg_table()
def test_the_rows_that_executors_make_are_those_without_spark(spark, table):
    stats = [name for _, name, kind in leaves(table.schema()) if kind != "variant"]
    for view in ("files", "entries", *in_turn(("deletes", "partitions", "buckets"), table.name)):
        compare(spark, table.open(), view, **({"stats": stats} if view in ("files", "entries") else {}))
    if table.info["older_snapshot_id"] is not None:
        compare(spark, table.stand("files@older"), "files")


@each_golden_iceberg_table(*FEATURES)
def test_the_rows_that_the_driver_makes_are_those_without_spark(spark, table):
    for view in FROM_THE_DRIVER:
        compare(spark, table.open(), view)


@pytest.mark.long
@each_golden_iceberg_table()
def test_the_columns_that_views_have_unasked(spark, table):
    # Executors have no modules of tests; one of them unwraps the keys of encrypted tables.
    spark.sparkContext.addPyFile(encrypted_files.__file__)
    for view in ("files", "entries"):
        compare(spark, table.open(), view)


@each_golden_iceberg_table("dv_v3")
def test_metadata_tables_are_those_without_spark(spark, table):
    opened = table.open()
    # Delete files are not among the metadata.
    for name in set(opened.metadata_tables) - {"position_deletes"}:
        frame, scan = ls.metadata_table(spark, opened, name), opened.metadata_table(name)
        assert frame.schema == ls.schema(f"${name}", opened)
        assert actual(frame) == expected(scan), name


@pytest.mark.parametrize("view", FROM_MANIFESTS)
@each_golden_iceberg_table("eq_deletes_v2")
def test_rows_and_columns_are_selected(spark, table, view):
    columns = {"entries": ["status", "manifest"], "deletes": ["equality_ids", "content"]}
    columns |= {"partitions": ["delete_file_count", "spec_id"], "buckets": ["last_updated_at"]}
    selection = {"columns": columns.get(view, ["record_count", "file_path"]), "where": "city = 'city-a'"}
    opened = table.open()
    assert 0 < len(expected(getattr(opened, view)(**selection))) < len(expected(getattr(opened, view)()))
    compare(spark, opened, view, **selection)


@each_golden_iceberg_table("dv_v3")
def test_another_place_in_history(spark, table):
    at = {"snapshot": table.info["older_snapshot_id"]}
    for view in ("files", "partitions"):
        rows = expected(getattr(table.open().at(**at), view)())
        assert actual(getattr(ls, view)(spark, table.open(), at=at)) == rows


@each_golden_iceberg_table("dv_v3")
def test_the_mapper_takes_manifests_where_they_are(spark, table):
    opened = table.open()
    planned = [manifest["path"] for manifest in opened.entries().planned_manifests()]
    assert all(Path(path).is_file() for path in planned), "the paths of the copy, not those written"
    frame = spark.read.format("binaryFile").load(planned)
    rows = frame.mapInArrow(ls.manifest_mapper("iceberg", opened), ls.schema("entries", opened))
    assert actual(rows) == expected(opened.entries())
    with pytest.raises(ValueError, match="paimon"):
        ls.manifest_mapper("paimon", opened)
    with pytest.raises(SchemaError):
        ls.changelogs(spark, opened)


def test_manifests_of_one_name_in_several_folders(spark, tmp_path: Path):
    # Two manifests are moved into folders of their own, one called as Spark escapes; both get one name.
    table = golden("dv_v3")
    copy = Path(shutil.copytree(table.path, tmp_path / "t t"))
    opened = lakebed.open_table(copy, relocate=dict.fromkeys(table.relocate, str(copy)))
    before = expected(opened.entries(columns=["file_path", "status"]))
    (first, second), moved = planned_names(opened)[:2], []
    for folder, name in (("a b%20", first), ("ü", second)):
        target = copy / "metadata" / folder
        target.mkdir()
        (copy / "metadata" / name).rename(target / "m0.avro")
        moved.append((name, f"{folder}/m0.avro"))
    rewrite_list(copy, opened, moved)
    opened = lakebed.open_table(copy, relocate=dict.fromkeys(table.relocate, str(copy)))
    assert expected(opened.entries(columns=["file_path", "status"])) == before
    compare(spark, opened, "entries")


def planned_names(table: lakebed.Table) -> list[str]:
    return [Path(manifest["path"]).name for manifest in table.entries().planned_manifests()]


def rewrite_list(folder: Path, table: lakebed.Table, moved: list[tuple[str, str]]) -> None:
    """Gives manifests other names in the manifest list where the table stands."""
    written = table.snapshots(filter=f"snapshot_id = {table.snapshot_id}").to_arrow()["manifest_list"][0]

    def renamed(row: Record) -> Record:
        for old, new in moved:
            row["manifest_path"] = row["manifest_path"].replace(old, new)
        return row

    rewrite(folder / "metadata" / Path(written.as_py()).name, renamed)
