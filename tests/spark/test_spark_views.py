"""With Spark the rows are those without, value for value."""

from __future__ import annotations

import re
import shutil
from pathlib import Path
from typing import Any

import pytest
from covering import each_covering_paimon_table, each_layout_of_golden_paimon_tables
from trust import in_turn

import lakebed
import lakebed.spark as ls
from lakebed import errors
from lakebed._values import to_rows
from lakebed.spark import inputs
from lakebed.spark.types import spark_schema
from shared_data import SAMPLE_TABLE
from spark_rows import actual, collected, expected

pytest.importorskip("pyspark")
from pyspark.errors import PythonException

pytestmark = pytest.mark.spark

SELECTIONS: dict[str, dict[str, Any]] = {
    "snapshots": {"columns": ["summary", "snapshot_id"], "filter": "snapshot_id > 1"},
    "changelogs": {"columns": ["snapshot_id"], "filter": "snapshot_id > 1"},
    "refs": {"columns": ["type", "name"], "filter": "type = 'tag'"},
    "schemas": {"columns": ["fields", "schema_id"], "filter": "schema_id = 0"},
    "manifests": {"columns": ["path", "length"], "where": "dt = '2026-01-02'"},
    "entries": {"columns": ["kind", "file_name"], "where": "dt = '2026-01-02'"},
    "files": {"columns": ["file_path", "level"], "where": "dt = '2026-01-02'", "filter": "bucket = 1"},
    "deletes": {"columns": ["file_path", "record_count"], "where": "dt = '2026-01-02'"},
    "indexes": {"columns": ["index_type", "row_count"], "where": "dt = '2026-01-02'"},
    "partitions": {"columns": ["bucket_count", "partition"], "where": "bucket = 1"},
    "buckets": {"columns": ["bucket"], "where": "dt = '2026-01-02'", "filter": "file_count > 1"},
}
VIEWS = tuple(SELECTIONS)
FROM_MANIFESTS = ("files", "entries")
SUMS = ("partitions", "buckets")
# Those whose manifests Spark reads here; of the others executors do.
BY_SPARK: dict[str, dict[str, Any]] = {view: {"read": "spark"} for view in ("entries", "buckets")}
FROM_THE_DRIVER = ("snapshots", "changelogs", "refs", "schemas", "manifests", "deletes", "indexes")
# The sample table has none of these.
ABSENT = ("changelogs", "deletes", "indexes")


def manifest_paths(table: lakebed.Table) -> list[str]:
    return [row["path"] for row in table.manifests().to_arrow().to_pylist()]


def halving(table: lakebed.Table) -> lakebed.Predicate:
    """A filter on the last partition key, or on the bucket, that keeps some files where there are several."""
    files = table.files(columns=["bucket", "partition"]).to_arrow().flatten()
    name = files.schema.names[-1].removeprefix("partition.")
    values = sorted(value for value in files.columns[-1].to_pylist() if value is not None)
    return lakebed.col(name) >= values[len(values) // 2] if values else lakebed.col(name).is_null()


def names_with_stats(table: lakebed.Table) -> list[str]:
    return [field["name"] for field in table.schemas().to_arrow()["fields"].to_pylist()[-1][:3]]


@each_covering_paimon_table()
def test_the_rows_that_executors_make_are_those_without_spark(spark, table):
    opened = lakebed.open_table(table.path)
    try:
        opened.manifests().to_arrow()
    except (errors.CorruptError, errors.UnsupportedError) as error:
        with pytest.raises(type(error), match=re.escape(str(error))):
            ls.files(spark, table.path)
        return
    for view in (*FROM_MANIFESTS, *in_turn(SUMS, table.name)):
        compare(spark, table.path, view)


@each_layout_of_golden_paimon_tables()
def test_the_rows_that_the_driver_makes_are_those_without_spark(spark, table):
    for view in FROM_THE_DRIVER:
        compare(spark, table.path, view)


def compare(spark: Any, path: Path, view: str) -> None:
    """Holds one view to what it is without Spark, the statistics of some columns among it."""
    opened = lakebed.open_table(path)
    selection: dict[str, Any] = {"stats": names_with_stats(opened)} if view in ("files", "entries") else {}
    frame = getattr(ls, view)(spark, path, **selection, **BY_SPARK.get(view, {}))
    scan = getattr(opened, view)(**selection)
    assert frame.schema == ls.schema(view, path, **selection) == spark_schema(scan.schema)
    assert actual(frame) == expected(scan), view


def test_metadata_tables_are_those_without_spark(spark):
    opened = lakebed.open_table(SAMPLE_TABLE)
    for name in opened.metadata_tables:
        frame, scan = ls.metadata_table(spark, SAMPLE_TABLE, name), opened.metadata_table(name)
        assert frame.schema == ls.schema(f"${name}", SAMPLE_TABLE)
        assert actual(frame) == expected(scan), name


@each_covering_paimon_table(
    *("partition", "no partition", "one partition", "several partition", "two words", "entry"),
    names=("part_*", "v*_part_*", "types_*", "pk_levels", "pk_dangling", "pk_dv*", "append_fixed*"),
)
def test_the_selected_rows_are_those_without_spark(spark, table):
    opened = lakebed.open_table(table.path)
    selection: dict[str, Any] = {
        "columns": ["file_name", "stats", "level"],
        "stats": [opened.schemas().to_arrow()["fields"].to_pylist()[-1][-1]["name"]],
        "where": halving(opened),
    }
    assert actual(ls.files(spark, table.path, **selection)) == expected(opened.files(**selection))
    selection["columns"] = ["kind", "value_stats", "stats"]
    assert actual(ls.entries(spark, table.path, **selection)) == expected(opened.entries(**selection))


@pytest.mark.parametrize("view", VIEWS)
def test_rows_and_columns_are_selected(spark, view):
    opened = lakebed.open_table(SAMPLE_TABLE)
    rows = actual(getattr(ls, view)(spark, SAMPLE_TABLE, **SELECTIONS[view]))
    assert rows == expected(getattr(opened, view)(**SELECTIONS[view]))
    assert (len(rows) > 0) == (view not in ABSENT)


@pytest.mark.parametrize("view", ["snapshots", "refs", "schemas", "manifests"])
def test_what_the_driver_reads_keeps_its_order(spark, view):
    rows = to_rows(collected(getattr(ls, view)(spark, SAMPLE_TABLE)))
    scan = getattr(lakebed.open_table(SAMPLE_TABLE), view)()
    assert sorted(rows, key=str) == sorted(to_rows(scan.to_arrow()), key=str)
    assert [row[0] for row in rows] == scan.to_arrow()[scan.schema.names[0]].to_pylist()


def test_times_without_a_zone_are_not_moved_by_that_of_the_session(spark):
    zone = spark.conf.get("spark.sql.session.timeZone")
    spark.conf.set("spark.sql.session.timeZone", "Asia/Tokyo")
    try:
        rows = ls.files(spark, SAMPLE_TABLE, columns=["file_path", "created_at"]).collect()
    finally:
        spark.conf.set("spark.sql.session.timeZone", zone)
    files = lakebed.open_table(SAMPLE_TABLE).files().to_arrow().to_pylist()
    assert dict(map(tuple, rows)) == {file["file_path"]: file["created_at"] for file in files}


def test_another_place_in_history(spark):
    tag = next((SAMPLE_TABLE / "tag").iterdir()).name.removeprefix("tag-")
    opened = lakebed.open_table(SAMPLE_TABLE).at(tag=tag)
    for view in ("files", "partitions", "snapshots"):
        frame = getattr(ls, view)(spark, SAMPLE_TABLE, at={"tag": tag})
        assert actual(frame) == expected(getattr(opened, view)())


@pytest.mark.parametrize("at", [1, {"snapshot": 1}])
def test_an_older_snapshot(spark, at):
    opened = lakebed.open_table(SAMPLE_TABLE).at(snapshot=1)
    assert actual(ls.files(spark, SAMPLE_TABLE, at=at)) == expected(opened.files())


def test_an_open_table_is_taken_as_it_stands(spark):
    opened = lakebed.open_table(SAMPLE_TABLE).at(snapshot=1)
    assert actual(ls.entries(spark, opened)) == expected(opened.entries())


def test_the_mapper_and_schema_go_with_binary_files(spark):
    selection: dict[str, Any] = {"columns": ["kind", "file_name", "stats"], "stats": ["amount"]}
    opened = lakebed.open_table(SAMPLE_TABLE)
    frame = spark.read.format("binaryFile").load(manifest_paths(opened))
    mapper = ls.manifest_mapper("paimon", SAMPLE_TABLE, where="bucket = 1", **selection)
    rows = frame.mapInArrow(mapper, ls.schema("entries", SAMPLE_TABLE, **selection))
    assert actual(rows) == expected(opened.entries(where="bucket = 1", **selection))
    with pytest.raises(ValueError, match="paimon"):
        ls.manifest_mapper("iceberg", SAMPLE_TABLE)


def test_the_mapper_refuses_a_file_that_is_no_manifest_of_the_snapshot(spark):
    stranger = next((SAMPLE_TABLE / "manifest").glob("manifest-list-*"))
    frame = spark.read.format("binaryFile").load(str(stranger))
    rows = frame.mapInArrow(ls.manifest_mapper("paimon", SAMPLE_TABLE), ls.schema("entries", SAMPLE_TABLE))
    with pytest.raises(PythonException, match=stranger.name):
        rows.collect()


def test_folders_with_characters_that_spark_expands(spark, tmp_path: Path):
    odd = tmp_path / "a {b}[c]*?d" / "dt=1" / "t"
    shutil.copytree(SAMPLE_TABLE, odd)
    assert actual(ls.files(spark, odd)) == expected(lakebed.open_table(odd).files())


def test_many_manifests_are_listed_by_few_tasks(spark, tmp_path: Path):
    paths = [tmp_path / f"{number}.avro" for number in range(100)]
    for path in paths:
        path.write_bytes(b".")
    tracker, setting = spark.sparkContext.statusTracker(), inputs._LISTING_TASKS
    jobs, before = set(tracker.getJobIdsForGroup()), spark.conf.get(setting)
    files = inputs.binary_files(spark, [str(path) for path in paths])
    assert spark.conf.get(setting) == before
    started = [tracker.getJobInfo(job) for job in set(tracker.getJobIdsForGroup()) - jobs]
    stages = [tracker.getStageInfo(stage) for job in started if job for stage in job.stageIds]
    assert 1 <= sum(stage.numTasks for stage in stages if stage) <= 4 * spark.sparkContext.defaultParallelism
    assert sorted(row.path for row in files.collect()) == sorted(f"file:{path}" for path in paths)


def test_an_empty_manifest_is_an_error_though_spark_passes_over_it(spark, sample_table: Path):
    victim = Path(manifest_paths(lakebed.open_table(sample_table))[0])
    victim.write_bytes(b"")
    for view in (ls.files, ls.entries, ls.partitions):
        with pytest.raises(errors.TruncatedError, match=victim.name):
            view(spark, sample_table, read="spark")
    with pytest.raises(PythonException, match=f"TruncatedError: truncated: .*{victim.name}"):
        ls.entries(spark, sample_table).collect()


@pytest.mark.parametrize("name", ["_m.avro", ".m.avro"])
def test_a_manifest_of_a_name_that_spark_passes_over_is_an_error(spark, name: str, tmp_path: Path):
    paths = [tmp_path / "m.avro", tmp_path / name]
    for path in paths:
        path.write_bytes(b".")
    with pytest.raises(errors.UnsupportedError, match=f'read="executors": .*/{name}'):
        inputs.binary_files(spark, [str(path) for path in paths])


def test_a_missing_manifest_is_an_error_even_where_spark_is_set_to_ignore_it(spark, sample_table: Path):
    victim = Path(manifest_paths(lakebed.open_table(sample_table))[0])
    victim.unlink()
    spark.conf.set("spark.sql.files.ignoreMissingFiles", "true")
    try:
        with pytest.raises(errors.MissingFileError, match=victim.name):
            ls.files(spark, sample_table, read="spark").collect()
        with pytest.raises(PythonException, match=f"MissingFileError: missing: .*{victim.name}"):
            ls.files(spark, sample_table).collect()
    finally:
        spark.conf.unset("spark.sql.files.ignoreMissingFiles")


@pytest.mark.parametrize(
    ("damage", "name", "kind"),
    [
        (lambda content: content[:-1], "TruncatedError", "truncated"),
        (lambda content: content + b"\0", "CorruptError", "mismatch"),
        (lambda content: content[:-1] + bytes([content[-1] ^ 1]), "CorruptError", "sync"),
    ],
)
def test_a_corrupt_manifest_fails_the_job_and_the_session_goes_on(spark, sample_table, damage, name, kind):
    victim = Path(manifest_paths(lakebed.open_table(sample_table))[0])
    victim.write_bytes(damage(victim.read_bytes()))
    with pytest.raises(PythonException, match=rf"{name}: {kind}: .*{victim.name}"):
        ls.files(spark, sample_table).collect()
    opened = lakebed.open_table(SAMPLE_TABLE)
    assert actual(ls.files(spark, SAMPLE_TABLE)) == expected(opened.files())


def test_wrong_questions_are_refused_by_the_driver(spark, tmp_path: Path):
    with pytest.raises(errors.TableNotFoundError):
        ls.files(spark, tmp_path / "nowhere")
    with pytest.raises(errors.SchemaError):
        ls.entries(spark, SAMPLE_TABLE, columns=["no_such"])
    with pytest.raises(errors.SchemaError):
        ls.metadata_table(spark, SAMPLE_TABLE, "no_such")
    with pytest.raises(ValueError, match="view"):
        ls.schema("no_such", SAMPLE_TABLE)


def test_the_check_finds_every_executor_able(spark):
    rows = ls.check(spark).collect()
    assert rows
    assert all(row.ok and row.problem is None for row in rows)
    assert {row.lakebed for row in rows} == {lakebed.__version__}
    rows = ls.check(spark, SAMPLE_TABLE).collect()
    assert {(row.ok, row.read, row.unread) for row in rows} == {(True, "executors", None)}
