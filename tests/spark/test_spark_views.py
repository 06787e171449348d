"""With Spark the rows are those without, value for value."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pytest

import lakebed
import lakebed.spark as ls
from lakebed._values import to_rows
from lakebed.errors import MissingFileError, SchemaError, TableNotFoundError
from lakebed.spark.types import cast_batch, to_spark
from shared_data import SAMPLE_TABLE, each_golden_paimon_table

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

pytestmark = pytest.mark.spark

VIEWS = ("files", "entries", "manifests")
PLAIN = ("append_*", "pk_*", "part_*", "types_*", "stats_*", "many_manifests", "multi_block", "empty_table")


def sorted_rows(table: pa.Table) -> list[str]:
    return sorted(json.dumps(row) for row in to_rows(table))


def expected(scan: lakebed.Scan) -> list[str]:
    """The rows of a scan, in the types of Spark."""
    schema = to_spark(scan.schema)
    return sorted_rows(pa.Table.from_batches([cast_batch(batch, schema) for batch in scan], schema))


def actual(frame: DataFrame) -> list[str]:
    return sorted_rows(frame.toArrow())


def first_stats_columns(table: lakebed.Table) -> list[str]:
    fields = table.schemas().to_arrow()["fields"].to_pylist()[-1]
    return [field["name"] for field in fields][:3]


@each_golden_paimon_table(*PLAIN)
def test_the_rows_are_those_without_spark(spark, table):
    opened = lakebed.open_table(table.path)
    stats = first_stats_columns(opened)
    assert actual(ls.files(spark, table.path, stats=stats)) == expected(opened.files(stats=stats))
    assert actual(ls.entries(spark, table.path)) == expected(opened.entries())


@pytest.mark.parametrize("view", VIEWS)
def test_the_schema_is_known_beforehand(spark, view):
    frame = getattr(ls, view)(spark, SAMPLE_TABLE)
    assert frame.schema == ls.schema(view, SAMPLE_TABLE)
    assert frame.columns == getattr(lakebed.open_table(SAMPLE_TABLE), view)().schema.names


def test_manifests(spark):
    opened = lakebed.open_table(SAMPLE_TABLE)
    assert actual(ls.manifests(spark, SAMPLE_TABLE)) == expected(opened.manifests())


def test_the_selection_is_that_of_the_view(spark):
    selection = {"columns": ["file_path", "stats"], "stats": ["amount"], "where": "bucket = 0"}
    opened = lakebed.open_table(SAMPLE_TABLE)
    assert actual(ls.files(spark, SAMPLE_TABLE, **selection)) == expected(opened.files(**selection))


@pytest.mark.parametrize("at", [1, {"snapshot": 1}])
def test_an_older_snapshot(spark, at):
    opened = lakebed.open_table(SAMPLE_TABLE).at(snapshot=1)
    assert actual(ls.files(spark, SAMPLE_TABLE, at=at)) == expected(opened.files())


def test_an_open_table_is_taken_as_it_stands(spark):
    opened = lakebed.open_table(SAMPLE_TABLE).at(snapshot=1)
    assert actual(ls.entries(spark, opened)) == expected(opened.entries())


def test_the_mapper_goes_with_binary_files(spark):
    opened = lakebed.open_table(SAMPLE_TABLE)
    columns = ["kind", "file_name"]
    paths = [row["path"] for row in opened.manifests().to_arrow().to_pylist()]
    frame = spark.read.format("binaryFile").load(paths)
    mapper = ls.manifest_mapper("paimon", SAMPLE_TABLE, columns=columns)
    rows = frame.mapInArrow(mapper, ls.schema("entries", SAMPLE_TABLE, columns=columns))
    assert actual(rows) == expected(opened.entries(columns=columns))
    with pytest.raises(ValueError, match="paimon"):
        ls.manifest_mapper("iceberg", SAMPLE_TABLE)


def test_folders_with_characters_that_spark_expands(spark, tmp_path: Path):
    odd = tmp_path / "a {b}[c]*?d" / "dt=1" / "t"
    shutil.copytree(SAMPLE_TABLE, odd)
    assert actual(ls.files(spark, odd)) == expected(lakebed.open_table(odd).files())


def test_a_missing_manifest_is_an_error_even_where_spark_is_told_to_ignore_it(spark, sample_table: Path):
    victim = lakebed.open_table(sample_table).manifests().to_arrow()["path"][0].as_py()
    Path(victim).unlink()
    spark.conf.set("spark.sql.files.ignoreMissingFiles", "true")
    try:
        with pytest.raises(MissingFileError, match=Path(victim).name):
            ls.files(spark, sample_table).collect()
    finally:
        spark.conf.unset("spark.sql.files.ignoreMissingFiles")


def test_a_truncated_manifest_is_an_error_that_names_it(spark, sample_table: Path):
    victim = Path(lakebed.open_table(sample_table).manifests().to_arrow()["path"][0].as_py())
    victim.write_bytes(victim.read_bytes()[:-1])
    with pytest.raises(Exception, match=victim.name):
        ls.files(spark, sample_table).collect()


def test_wrong_questions_are_refused_by_the_driver(spark, tmp_path: Path):
    with pytest.raises(TableNotFoundError):
        ls.files(spark, tmp_path / "nowhere")
    with pytest.raises(SchemaError):
        ls.entries(spark, SAMPLE_TABLE, columns=["no_such"])
    with pytest.raises(ValueError, match="view"):
        ls.schema("snapshots", SAMPLE_TABLE)


def test_the_check_finds_every_executor_able(spark):
    rows = ls.check(spark).collect()
    assert rows
    assert all(row.ok and row.problem is None for row in rows)
    assert {row.lakebed for row in rows} == {lakebed.__version__}
