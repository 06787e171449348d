"""Tables by the names that Spark's catalogs have for them, with the formats' own runtimes for Spark 3.5."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest
from java_engine import ENGINES, JavaEngine, class_path, java_and_maven
from spark_runtimes import require_python_for_spark
from spark_sessions import program_lines

from lakebed.spark.catalogs import parts_of

pyspark = pytest.importorskip("pyspark")

pytestmark = [pytest.mark.spark, pytest.mark.jvm, pytest.mark.spark_35, pytest.mark.timeout(1800)]

PROGRAM = Path(__file__).with_name("catalogs.py")
FOLDERS = ("hadoop", "paimon")
POINTERS = ("hive", "jdbc", "rest", "spark_catalog")


@pytest.fixture(scope="module")
def answer(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """What the program found, in a process whose session has the catalogs."""
    if not pyspark.__version__.startswith("3.5."):
        pytest.skip(f"the runtimes are for Spark 3.5, this is {pyspark.__version__}")
    require_python_for_spark()
    java_and_maven()
    folder = tmp_path_factory.mktemp("catalogs")
    jars = class_path(ENGINES / "spark.xml").split(os.pathsep)
    # Its database is that of the JDBC catalog too.
    jars += [jar for jar in class_path(ENGINES / "restcatalog.xml").split(os.pathsep) if "sqlite-jdbc" in jar]
    try:
        engine: JavaEngine | None = JavaEngine("RestCatalogEngine")
    except pytest.skip.Exception:
        engine = None
    rest = "" if engine is None else engine.ask("serve", folder=str(folder))
    try:
        return json.loads(program_lines(PROGRAM, folder, ",".join(jars), rest, timeout=1800)[-1])
    finally:
        if engine is not None:
            engine.close()


@pytest.fixture
def found(answer: Any, catalog: str) -> Any:
    """What was found of one catalog."""
    if catalog not in answer:
        pytest.skip("Iceberg's REST catalog cannot be started")
    assert "raised" not in answer[catalog], answer[catalog]["raised"]
    return answer[catalog]


@pytest.mark.parametrize("catalog", [*FOLDERS, *POINTERS])
def test_a_table_is_at_the_version_that_its_catalog_says(found: Any, catalog: str) -> None:
    for what in ("same", "moved on", "newest", "refreshed", "pickled", "health", "check"):
        assert found[what] is True, what
    assert found["orphans here"] == ["killed.parquet"]


@pytest.mark.parametrize("catalog", FOLDERS)
def test_executors_look_at_a_folder_again(found: Any, catalog: str) -> None:
    assert found["orphans"] == found["pickled orphans"] == "1"
    assert found["expire_plan"].isdecimal()


@pytest.mark.parametrize("catalog", POINTERS)
def test_nothing_to_delete_is_named_where_nobody_can_ask_the_catalog(found: Any, catalog: str) -> None:
    for what in ("orphans", "expire_plan", "pickled orphans"):
        assert found[what].startswith("UnsupportedError: the process of the Spark session alone can ask")
        assert f" {catalog}." in found[what]


@pytest.mark.parametrize(
    ("name", "location"),
    [
        ("hadoop.a.b.`t.``x`", "/hadoop/a/b/t.`x"),
        ('"jdbc".a."b"."t.`x"', "/jdbc/a/b/t.`x"),
        ("current", "/hadoop/db/t"),
        ("current, db", "/hadoop/db/t"),
        ("after another became current", "/jdbc/a/b/t.`x"),
    ],
)
def test_names_are_spelled_as_in_spark(answer: Any, name: str, location: str) -> None:
    assert answer["names"][name].endswith(location)


def test_a_dot_in_a_name_hides_no_version(answer: Any) -> None:
    # Iceberg's cache in Spark keeps the metadata tables of such a name beyond the table itself.
    assert answer["names"]["written elsewhere"] == "True"


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("default.plain", "UnsupportedError: {} in Spark's catalog spark_catalog is a table of parquet"),
        ("default.v", "UnsupportedError: {} in Spark's catalog spark_catalog is a view"),
        ("paimon.db.`t$snapshots`", "UnsupportedError: {} in Spark's catalog paimon is no"),
        ("hadoop.db.t.snapshots", "UnsupportedError: {} in Spark's catalog hadoop is something"),
        ("hadoop.db.t.branch_main", "UnsupportedError: {} in Spark's catalog hadoop is"),
        ("jdbc.db.t.snapshots", "TableNotFoundError: {}: Spark has no such table in jdbc.db.t"),
        ("nowhere.db.t", "TableNotFoundError: {}: Spark has no such table in spark_catalog.nowhere.db and"),
        ("hadoop.db.nope", "TableNotFoundError: {}: Spark has no such table in hadoop.db, nor"),
        ("jdbc.db.nope", "TableNotFoundError: {}: Spark has no such table in jdbc.db, nor"),
        ("paimon.db.nope", "TableNotFoundError: {}: Spark has no such table in paimon.db, nor"),
        ("nope", "TableNotFoundError: {}: Spark has no such table in spark_catalog.default"),
        ("folder", 'TableNotFoundError: no Paimon table at "folder"'),
        ("dropped", "TableNotFoundError: `t.``x`: Spark has no such table in jdbc.a.b"),
        ("made anew", "TableNotFoundError: Spark has another table of the name `t.``x` now"),
    ],
)
def test_what_is_no_table_is_one_clear_error(answer: Any, name: str, told: str) -> None:
    assert answer["names"][name].startswith(told.format(name))


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("t", ("t",)),
        ("c.db.t", ("c", "db", "t")),
        ("c.a.b.`t.1`", ("c", "a", "b", "t.1")),
        ("`a/b`.t", ("a/b", "t")),
        ('`a``b`."c""d"', ("a`b", 'c"d')),
        ("t$branch_b", ("t$branch_b",)),
        ("my table.größe", ("my table", "größe")),
        *(
            (path, None)
            for path in ("", ".", "..", "a.", ".a", "a..b", "./a", "a/b", "/a", "s3://b/t", "file:t")
        ),
        *((path, None) for path in ("C:t", "a\\b", "`a", "a`b`", "`a`b", '"a', "a\0b", "a\nb", "a\ud800")),
    ],
)
def test_what_is_a_name(text: str, parts: tuple[str, ...] | None) -> None:
    assert parts_of(text) == parts
