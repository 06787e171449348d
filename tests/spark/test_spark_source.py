"""`spark.read.format("lakebed")` and SQL give the rows of the views."""

from __future__ import annotations

import re
import shutil
import threading
from datetime import datetime, timedelta, timezone
from inspect import signature
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from covering import each_layout_of_golden_paimon_tables
from local_storage import LocalStorage

import lakebed
import lakebed.spark as ls
from lakebed.errors import TableNotFoundError
from lakebed.spark.sql import FORMS, PLACES, parsed, values
from lakebed.view import KEYWORDS
from shared_data import PROJECT, SAMPLE_ICEBERG_TABLE, SAMPLE_MOVED, SAMPLE_TABLE
from spark_rows import actual, expected

pytest.importorskip("pyspark.sql.datasource")
from pyspark.errors import PySparkException

pytestmark = pytest.mark.spark

MOVED = lakebed.open_table(SAMPLE_ICEBERG_TABLE, relocate=SAMPLE_MOVED)
OF_SAMPLE = f"path '{SAMPLE_TABLE}'"
PUSHDOWN = "spark.sql.python.filterPushdown.enabled"


@pytest.fixture(scope="module")
def source(spark: Any) -> Any:
    spark.dataSource.register(ls.DataSource)
    return spark


def read(spark: Any, path: Any, **options: Any) -> Any:
    return spark.read.format("lakebed").options(**options).load(str(path))


@pytest.mark.parametrize("view", ["files", "entries", "partitions", "snapshots", "plan", "$options"])
def test_views(source, view):
    table = lakebed.open_table(SAMPLE_TABLE)
    scan = table.metadata_table(view[1:]) if view.startswith("$") else getattr(table, view)()
    frame = read(source, SAMPLE_TABLE, view=view)
    assert frame.schema == ls.schema(view, SAMPLE_TABLE)
    assert actual(frame) == expected(scan)


@each_layout_of_golden_paimon_tables()
def test_files(source, table):
    assert actual(read(source, table.path, range_bytes=2000)) == expected(
        lakebed.open_table(table.path).files()
    )


@pytest.mark.parametrize("library", ["obstore", "pyarrow", "fsspec"])
def test_storages_by_name(source, library):
    pytest.importorskip(library)
    table = lakebed.open_table(SAMPLE_TABLE)
    # In tasks that read manifests, and in one that opens the table.
    for view in ("entries", "partitions"):
        frame = read(source, SAMPLE_TABLE, view=view, storage=library, range_bytes=2000)
        assert actual(frame) == expected(getattr(table, view)())
    with pytest.raises(PySparkException, match=f"pass storage= \\({library}: "):
        read(source, "nowhere://a/b", storage=library)


def test_selections(source):
    table = lakebed.open_table(SAMPLE_TABLE).at(snapshot=1)
    options = {"snapshot": 1, "columns": "file_path, stats", "stats": "amount", "where": "dt = '2026-01-02'"}
    rows = table.files(columns=["file_path", "stats"], stats=["amount"], where="dt = '2026-01-02'")
    assert actual(read(source, SAMPLE_TABLE, **options)) == expected(rows)
    assert len(expected(rows)) < len(expected(table.files()))


def test_filters_that_spark_hands_down(source):
    files = lakebed.open_table(SAMPLE_TABLE).files
    one, all_files = expected(files(where="dt = '2026-01-02'")), expected(files())
    assert 0 < len(one) < len(all_files)
    for enabled in ("true", "false"):
        source.conf.set(PUSHDOWN, enabled)
        try:
            frame = read(source, SAMPLE_TABLE).where("partition.dt = '2026-01-02'")
            assert actual(frame) == one
            snapshots = read(source, SAMPLE_TABLE, view="snapshots").where("snapshot_id IN (1, 2)")
            assert snapshots.count() == 2
        finally:
            source.conf.unset(PUSHDOWN)


def test_errors_are_reported(source):
    for options, words in [
        ({"view": "nothing"}, "a view is one of"),
        ({"colums": "a"}, "options are"),
        ({"storage": "disk"}, "storage is 'obstore', 'pyarrow', 'fsspec'"),
        ({"columns": "absent"}, "absent"),
        ({"where": "absent = 1"}, "absent"),
        ({"tag": "absent"}, "absent"),
    ]:
        with pytest.raises(PySparkException, match=words):
            read(source, SAMPLE_TABLE, **options).collect()
    with pytest.raises(PySparkException, match="TableNotFoundError"):
        read(source, SAMPLE_TABLE / "snapshot").collect()


def sql(spark: Any, *statements: str) -> Any:
    """What the last of some statements gives."""
    for statement in statements[:-1]:
        spark.sql(statement)
    return spark.sql(statements[-1])


@pytest.fixture
def registered(source: Any) -> Any:
    ls.register(source, orders=MOVED)
    ls.register(source, sales=SAMPLE_TABLE)
    return source


def test_tables_and_views_of_sql(registered, tmp_path):
    table = lakebed.open_table(SAMPLE_TABLE)
    odd = shutil.copytree(SAMPLE_TABLE, tmp_path / "a%41 b")
    for number, (statement, scan) in enumerate(
        [
            (f"TEMPORARY VIEW {{}} USING lakebed OPTIONS ({OF_SAMPLE})", table.files()),
            (
                f"TEMPORARY VIEW {{}} USING lakebed OPTIONS ({OF_SAMPLE}, View 'entries', WHERE 'id > 5')",
                table.entries(where="id > 5"),
            ),
            (
                f"TABLE {{}} USING lakebed OPTIONS ({OF_SAMPLE}, View 'partitions', small_bytes '10') "
                "COMMENT 'of others' TBLPROPERTIES ('owner.team' = 'us')",
                table.partitions(small_bytes=10),
            ),
            (f"TABLE {{}} USING lakebed LOCATION '{SAMPLE_TABLE}'", table.files()),
            (f"TABLE {{}} USING lakebed LOCATION '{odd}'", lakebed.open_table(odd).files()),
            (f"EXTERNAL TABLE {{}} USING lakebed LOCATION 'file:{SAMPLE_TABLE}'", table.files()),
            ("TABLE {} USING lakebed OPTIONS (path 'orders', view 'snapshots')", MOVED.snapshots()),
            ("TEMPORARY VIEW {} USING lakebed OPTIONS (path 'orders')", MOVED.files()),
            (
                f"TEMPORARY VIEW {{}} USING lakebed OPTIONS ({OF_SAMPLE}, view 'diff', snapshot_a '1', "
                "snapshot_b 'branch=main', columns 'file_path')",
                table.diff(1, "main", columns=["file_path"]),
            ),
        ]
    ):
        name = f"of_sql_{number}"
        kind = "TABLE" if "TABLE {}" in statement else "VIEW"
        try:
            frame = sql(registered, "CREATE " + statement.format(name), f"SELECT * FROM {name}")
            assert actual(frame) == expected(scan), statement
        finally:
            registered.sql(f"DROP {kind} IF EXISTS {name}")
    # What a table of Spark is dropped with is nothing of the table.
    assert expected(lakebed.open_table(SAMPLE_TABLE).files()) == expected(table.files())
    assert odd.exists()


def test_a_table_of_sql_at_another_snapshot(registered):
    table = lakebed.open_table(SAMPLE_TABLE)
    registered.sql(f"CREATE TABLE at_times USING lakebed LOCATION '{SAMPLE_TABLE}'")
    try:
        frame = registered.sql("SELECT * FROM at_times WITH (snapshot 1)")
        assert actual(frame) == expected(table.at(snapshot=1).files())
    finally:
        registered.sql("DROP TABLE at_times")


def test_a_table_function(registered):
    table = lakebed.open_table(SAMPLE_TABLE)
    for arguments, scan in [
        (f"'{SAMPLE_TABLE}'", table.files()),
        ("'orders', 'files', stats => 'amount'", MOVED.files(stats=["amount"])),
        ("'sales', 'snapshots'", table.snapshots()),
        ("'sales', 'partitions', small_bytes => 10", table.partitions(small_bytes=10)),
        ("'orders', 'plan', where => 'amount > 5'", MOVED.plan(where="amount > 5")),
        ("'sales', '$options'", table.metadata_table("options")),
        (
            "'sales', 'appends', AFTER => 1, columns => array('file_path', 'partition'), stats => NULL",
            table.appends(1, columns=["file_path", "partition"]),
        ),
    ]:
        assert actual(registered.sql(f"SELECT * FROM lakebed({arguments})")) == expected(scan), arguments
    joined = registered.sql(
        "SELECT count(*) AS files FROM lakebed('orders') f JOIN lakebed('orders', 'partitions') p "
        "ON f.partition = p.partition"
    )
    assert joined.collect()[0].files == len(expected(MOVED.files()))


def test_values_of_a_table_function(registered):
    # Of the types that views have: maps come in another order, which is none.
    summaries = registered.sql("SELECT summary FROM lakebed('orders', 'snapshots') ORDER BY snapshot_id")
    rows = MOVED.snapshots(columns=["summary", "snapshot_id"]).to_arrow().sort_by("snapshot_id")
    assert [row.summary for row in summaries.collect()] == [dict(row) for row in rows["summary"].to_pylist()]
    array = pa.array(
        [[{"a": 1, "b": [(1, b"x")]}], None, [], [None, {"a": None, "b": None}]],
        pa.list_(pa.struct({"a": pa.int32(), "b": pa.map_(pa.int32(), pa.binary())})),
    )
    assert values(array) == [[(1, {1: b"x"})], None, [], [None, (None, None)]]
    assert values(array[1:]) == [None, [], [None, (None, None)]]


def test_limits_are_of_the_view(source):
    source.conf.set(PUSHDOWN, "true")
    try:
        frame = read(source, SAMPLE_TABLE, limit=5)
        rows = frame.count()
        kept = frame.where("partition.dt = '2026-01-02'").count()
    finally:
        source.conf.unset(PUSHDOWN)
    first = lakebed.open_table(SAMPLE_TABLE).files(limit=5).to_arrow().to_pylist()
    assert (rows, kept) == (5, sum(str(row["partition"]["dt"]) == "2026-01-02" for row in first))


def test_options_are_the_keywords_of_views():
    asked = {name for view in KEYWORDS for name in signature(getattr(lakebed.Table, view)).parameters}
    assert asked - FORMS.keys() == {"self", "name", "listing", "threads"}
    assert FORMS.keys() - asked == {"path", "view", "format", "storage", "range_bytes", *PLACES}
    assert PLACES.keys() | {"version", "self"} == {*signature(lakebed.Table.at).parameters}
    for name, text, value in [
        ("limit", " 5", 5),
        ("columns", "a, b", ["a", "b"]),
        ("data_files", "True", True),
        ("older_than", "3d", timedelta(days=3)),
        ("older_than", "2026-01-02T00:00:00Z", datetime(2026, 1, 2, tzinfo=timezone.utc)),
        ("timestamp", "1000", 1000),
        ("after", "12", 12),
        ("after", "v1", "v1"),
        ("after", "tag=12", {"tag": "12"}),
        ("equal_schemes", "s3a=s3, s3n=s3", {"s3a": "s3", "s3n": "s3"}),
    ]:
        assert parsed(name, text) == value
    for name, given in [
        ("limit", "five"),
        ("data_files", "perhaps"),
        ("older_than", "3 weeks"),
        ("timestamp", "yesterday"),
        ("equal_schemes", "s3a"),
        ("where", 5),
    ]:
        with pytest.raises(ValueError, match=f"the option {name} is .*, not {given!r}"):
            parsed(name, given)


VIEW, TABLE = "CREATE TEMPORARY VIEW v USING lakebed OPTIONS", "CREATE TABLE v USING lakebed"
FROM = "SELECT * FROM lakebed"


@pytest.mark.parametrize(
    ("statement", "words"),
    [
        (f"{VIEW} (path '/nowhere')", "TableNotFoundError: there is no"),
        (f"{VIEW} ({OF_SAMPLE}, colums 'a')", "ValueError: options are"),
        (f"{TABLE} OPTIONS ({OF_SAMPLE}, colums 'a')", "ValueError: options are"),
        (f"{TABLE} OPTIONS ({OF_SAMPLE}, view 'nothing')", "ValueError: a view is one of"),
        (TABLE, "ValueError: the path of a table is wanted"),
        (f"{FROM}('sales', 'nothing')", "ValueError: a view is one of"),
        (f"{FROM}('sales', limit => 'x')", "ValueError: the option limit is a whole number"),
        (f"{FROM}('sales', small_bytes => 3)", "TypeError: files\\(\\) got an unexpected"),
        (f"{FROM}('sales', 'diff')", "TypeError: .*snapshot_a"),
        (f"{FROM}('sales', where => 'absent = 1')", "PredicateError: where: no column"),
        (f"{FROM}('sales', 'files', 'x')", "ValueError: lakebed\\('table', 'view'"),
        (f"{FROM}('orders', storage => 'fsspec')", "ValueError: 'orders' is a table that is open"),
        ("SELECT * FROM range(1), LATERAL lakebed(string(id))", "ValueError: the arguments of lakebed"),
    ],
)
def test_what_is_wrong_comes_first(registered, statement, words):
    with pytest.raises(PySparkException) as caught:
        registered.sql(statement).collect()
    assert re.search(words, str(caught.value).split("\n")[0])


def test_a_damaged_manifest_is_named_before_the_traceback(registered, sample_table):
    (path, *_) = lakebed.open_table(sample_table).manifests().to_arrow()["path"].to_pylist()
    Path(path).write_bytes(Path(path).read_bytes()[:-1])
    registered.sql(f"CREATE TEMPORARY VIEW damaged USING lakebed OPTIONS (path '{sample_table}')")
    try:
        for query in ("SELECT * FROM damaged", f"SELECT * FROM lakebed('{sample_table}')"):
            with pytest.raises(PySparkException) as caught:
                registered.sql(query).collect()
            before, _, _ = str(caught.value).partition("Traceback")
            assert "TruncatedError: truncated: " in before
            assert Path(path).name in before
    finally:
        registered.sql("DROP VIEW damaged")


def test_other_columns_than_spark_was_told_of(registered, sample_table):
    name, view = "columns_of_its_own", "TEMPORARY VIEW"
    for kind, words in ((view, "other columns than Spark was told of"), ("TABLE", "and no columns")):
        statement = f"CREATE {kind} {name} (a STRING) USING lakebed OPTIONS (path '{sample_table}')"
        try:
            with pytest.raises(PySparkException, match=words):
                sql(registered, statement, f"SELECT * FROM {name}").collect()
        finally:
            registered.sql(f"DROP {kind.rpartition(' ')[2]} IF EXISTS {name}")


def test_what_is_registered_must_reach_workers(registered):
    class Unpicklable(LocalStorage):
        lock = threading.Lock()

        def __init__(self) -> None:
            self.own = threading.Lock()

    with pytest.raises(TypeError, match="pickle"):
        ls.register(registered, bad=lakebed.open_table(SAMPLE_TABLE, storage=Unpicklable()))
    with pytest.raises(TableNotFoundError):
        ls.register(registered, bad="/nowhere")


def test_the_sql_of_the_page_runs(source, capsys):
    (block,) = re.findall(
        r"```python\n(ls\.register.*?)```", (PROJECT / "docs/spark.md").read_text(), re.DOTALL
    )
    try:
        exec(block, {"spark": source, "ls": ls, "orders": MOVED})
    finally:
        source.sql("DROP VIEW IF EXISTS order_files")
    assert capsys.readouterr().out.count("+\n|") == 6
