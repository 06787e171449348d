"""A scan is lazy, can be read again and again, and hands its rows to every Arrow library."""

from __future__ import annotations

import sys
from pathlib import Path

import pyarrow as pa
import pytest

import lakebed
from lakebed.errors import CorruptError, MissingFileError, SchemaError, SnapshotNotFoundError
from shared_data import SAMPLE_TABLE

VIEWS = ("snapshots", "schemas", "manifests", "entries", "files", "partitions", "buckets")


@pytest.fixture(params=VIEWS)
def scan(request):
    return getattr(lakebed.open_table(SAMPLE_TABLE), request.param)()


@pytest.fixture
def table() -> lakebed.Table:
    return lakebed.open_table(SAMPLE_TABLE)


def test_every_way_out_gives_the_same_rows(scan):
    rows = scan.to_arrow()
    assert rows.num_rows > 0
    assert rows.schema.equals(scan.schema)
    assert scan.to_arrow_batch_reader().read_all().equals(rows)
    assert pa.table(scan).equals(rows)
    assert pa.Table.from_batches(list(scan), scan.schema).equals(rows)
    assert pa.schema(scan).equals(scan.schema)


def test_a_scan_can_be_read_again(scan):
    assert scan.to_arrow().equals(scan.to_arrow())


def test_pandas_and_polars_take_it(table):
    pytest.importorskip("pandas")
    polars = pytest.importorskip("polars")
    scan = table.files(columns=["file_path", "record_count"])
    rows = scan.to_arrow().to_pylist()
    assert scan.to_pandas().to_dict("records") == rows
    assert scan.to_polars().to_dicts() == rows
    assert polars.DataFrame(scan).to_dicts() == rows


def test_a_library_that_is_not_installed_is_named(table, monkeypatch):
    monkeypatch.setitem(sys.modules, "polars", None)
    with pytest.raises(ImportError, match=r"pip install 'lakebed\[polars\]'"):
        table.files().to_polars()


def test_building_one_and_its_schema_read_no_manifest(sample_table: Path):
    table = lakebed.open_table(sample_table)
    for manifest in (sample_table / "manifest").glob("manifest-[!l]*"):
        manifest.unlink()
    scan = table.files()
    assert "file_path" in scan.schema.names
    assert "file_path" in repr(scan)
    with pytest.raises(MissingFileError):
        scan.to_arrow()


def test_columns_come_in_the_order_asked_for(table):
    wanted = ["record_count", "file_path"]
    rows = table.files(columns=wanted).to_arrow()
    assert rows.schema.names == wanted
    assert rows.equals(table.files().to_arrow().select(wanted))


def test_the_limit_counts_rows(table):
    assert table.files(limit=3).to_arrow().num_rows == 3
    assert table.files(limit=0).to_arrow().num_rows == 0
    assert table.files().head(3).equals(table.files(limit=3).to_arrow())
    assert table.files(limit=2).head(3).num_rows == 2


@pytest.mark.parametrize("threads", [1, 2, 7])
def test_the_rows_do_not_depend_on_the_threads(table, threads):
    assert table.entries(threads=threads).to_arrow().equals(table.entries(threads=1).to_arrow())


def test_typed_errors_come_through_the_batch_reader(sample_table: Path):
    for manifest in (sample_table / "manifest").glob("manifest-[!l]*"):
        manifest.write_bytes(manifest.read_bytes()[:-1])
    reader = lakebed.open_table(sample_table).entries().to_arrow_batch_reader()
    with pytest.raises(CorruptError) as caught:
        reader.read_all()
    assert caught.value.path is not None


def test_a_scan_prints_its_schema_and_shows_its_first_rows(scan):
    assert all(field.name in repr(scan) for field in scan.schema)
    html = scan._repr_html_()
    assert html.count("<tr>") == 1 + min(10, scan.to_arrow().num_rows)


def test_a_table_prints_itself(table):
    assert repr(str(SAMPLE_TABLE)) in repr(table)
    assert f"snapshot {table.snapshot_id}" in repr(table)
    assert str(SAMPLE_TABLE) in table._repr_html_()


def test_the_funnel_prints_itself_and_counts_down(table):
    explain = table.files(where="bucket = 0").explain()
    steps = explain.to_dict()["steps"]
    assert steps
    assert all(step["step"] in str(explain) for step in steps)
    assert all(step["step"] in explain._repr_html_() for step in steps)
    assert all(step["kept"] <= step["total"] for step in steps if None not in (step["kept"], step["total"]))


def test_a_table_stands_at_one_snapshot(table):
    first = table.at(snapshot=1)
    assert (first.snapshot_id, first.location) == (1, table.location)
    assert first.files().to_arrow().num_rows != table.files().to_arrow().num_rows
    with pytest.raises(SnapshotNotFoundError) as caught:
        table.at(snapshot=10**6)
    assert caught.value.kind == "snapshot-not-found"


@pytest.mark.parametrize("choice", [{}, {"snapshot": 1, "tag": "v1"}])
def test_at_takes_one_of_them(table, choice):
    with pytest.raises(TypeError, match="exactly one"):
        table.at(**choice)


@pytest.mark.parametrize(
    ("keywords", "error"),
    [
        ({"columns": "file_path"}, TypeError),
        ({"stats": "id"}, TypeError),
        ({"columns": ["no_such"]}, SchemaError),
        ({"limit": -1}, ValueError),
        ({"threads": 0}, ValueError),
        ({"where": 7}, TypeError),
    ],
)
def test_wrong_words_are_refused_at_once(table, keywords, error):
    with pytest.raises(error):
        table.files(**keywords)


def test_formats_that_are_not_read_say_so():
    with pytest.raises(ValueError, match="format"):
        lakebed.open_table(SAMPLE_TABLE, format="hudi")
    assert lakebed.open_table(SAMPLE_TABLE, format="paimon").format == "paimon"


def test_a_scan_of_nothing_prints_what_is_wrong(tmp_path: Path):
    printed = repr(lakebed.avro.read(tmp_path / "absent.avro"))
    assert printed.startswith("<lakebed records of ")
    assert "MissingFileError: no such file" in printed
    assert "\n" not in printed
    assert "CorruptError" in repr(lakebed.avro.read(b"no Avro file"))
