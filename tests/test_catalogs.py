"""Tables that a catalog of PyIceberg or pypaimon loaded: their version, their `FileIO`, their errors."""

from __future__ import annotations

import json
import os
import pickle
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest
from interpreters import printed

import lakebed
from lakebed.errors import LocationError, TableNotFoundError, UnsupportedError
from lakebed.file_io import IcebergFiles, PaimonFiles
from lakebed.storage.failures import failure
from shared_data import PROJECT

catalog_files = pytest.importorskip("catalog_files")
tables = pytest.importorskip("catalog_tables")
pypaimon = pytest.importorskip("pypaimon")

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

VIEWS = ("files", "entries", "manifests", "snapshots", "refs", "schemas", "partitions", "plan")


def same_rows(one: lakebed.Table, other: lakebed.Table, *, moved: dict[str, str] | None = None) -> None:
    for view in VIEWS:
        rows = getattr(one, view)().to_arrow()
        assert rows.num_rows > 0
        text = [str(table.to_pylist()) for table in (rows, getattr(other, view)().to_arrow())]
        for old, new in (moved or {}).items():
            text[0] = text[0].replace(old, new)
        assert text[0] == text[1], view


def test_importing_lakebed_imports_no_catalog() -> None:
    code = "import sys, lakebed; print([n for n in sys.modules if n.startswith(('pyiceberg', 'pypaimon'))])"
    assert printed("-c", code).strip() == "[]"


def test_a_table_of_pyiceberg_is_the_one_of_its_metadata_file(tmp_path: Path) -> None:
    there = tables.orders(tables.sqlite(tmp_path))
    table = lakebed.open_table(there)
    assert (table.format, table.location) == ("iceberg", f"{tmp_path}/warehouse/db/orders")
    same_rows(table, lakebed.open_table(there.metadata_location))
    assert table.files().to_arrow().num_rows == 4


def test_what_a_server_denies_to_a_file_io_is_a_permission_error() -> None:
    text = "When listing objects in bucket 'b': AWS Error ACCESS_DENIED during ListObjectsV2 operation"
    error = failure(OSError(text), "s3://b/t")
    assert isinstance(error, PermissionError)
    assert (error.filename, text in str(error)) == ("s3://b/t", True)
    assert failure(OSError("disk"), "s3://b/t").errno == 5


def test_a_table_of_pyiceberg_is_opened_at_its_own_version(tmp_path: Path) -> None:
    catalog, before = tables.lake(tmp_path)
    catalog.load_table("db.orders").append(tables.ROWS)
    assert lakebed.open_table(before).snapshot_id == before.metadata.current_snapshot_id
    after = catalog.load_table("db.orders")
    assert lakebed.open_table(after).snapshot_id == after.metadata.current_snapshot_id
    assert before.metadata.current_snapshot_id != after.metadata.current_snapshot_id


def test_a_far_table_is_read_through_the_file_io_of_its_catalog(tmp_path: Path) -> None:
    there = tables.orders(tables.far(tmp_path))
    catalog_files.asked.clear()
    table = lakebed.open_table(there)
    assert table.location == f"{catalog_files.BUCKET}/db/orders"
    assert sum(catalog_files.asked.values()) == 1
    near = there.metadata_location.replace(catalog_files.BUCKET, f"{tmp_path}/bucket")
    same_rows(table, lakebed.open_table(near, relocate={catalog_files.BUCKET: f"{tmp_path}/bucket"}))
    assert any(name.startswith("snap-") for name in catalog_files.asked)


def test_a_table_of_pypaimon_is_the_one_of_its_folder(tmp_path: Path) -> None:
    there = tables.paimon_orders(tmp_path)
    table = lakebed.open_table(there)
    assert (table.format, table.snapshot_id) == ("paimon", 2)
    same_rows(table, lakebed.open_table(tmp_path / "db.db" / "orders"))


def test_a_far_table_of_pypaimon_is_read_through_its_file_io(tmp_path: Path) -> None:
    there = tables.paimon_orders(tmp_path)
    catalog_files.asked.clear()
    table = lakebed.open_table(tables.far_paimon(there, tmp_path))
    assert catalog_files.asked["schema-0"] == 1
    near = lakebed.open_table(tmp_path / "db.db" / "orders")
    same_rows(table, near, moved={catalog_files.BUCKET: str(tmp_path)})


def test_a_format_table_of_pypaimon_is_called_so(tmp_path: Path) -> None:
    formats = pytest.importorskip("pypaimon.table.format.format_table")
    there = tables.paimon_orders(tmp_path)
    given = (
        there.file_io,
        there.identifier,
        there.table_schema,
        str(tmp_path / "logs"),
        formats.Format.PARQUET,
    )
    with pytest.raises(UnsupportedError, match="orders is a Paimon table of type format-table"):
        lakebed.open_table(formats.FormatTable(*given))
    schema = tmp_path / "db.db" / "orders" / "schema" / "schema-0"
    written = json.loads(schema.read_text("utf-8"))
    for kind in ("format-table", "lance-table", "iceberg-table", "table", "object-table"):
        schema.write_text(json.dumps({**written, "options": {**written["options"], "type": kind}}), "utf-8")
        if kind in ("table", "object-table"):
            assert lakebed.open_table(tmp_path / "db.db" / "orders").snapshot_id == 2
            continue
        with pytest.raises(UnsupportedError, match=f"of type {kind} has no snapshots") as caught:
            lakebed.open_table(tmp_path / "db.db" / "orders")
        assert caught.value.path == str(tmp_path / "db.db" / "orders")


def test_older_tables_of_pypaimon_have_a_path_with_one_slash(tmp_path: Path) -> None:
    near = tables.paimon_orders(tmp_path)
    files = catalog_files.FarPaimonFiles(str(tmp_path))
    older = SimpleNamespace(table_path=Path("s3://lake/db.db/orders"), file_io=files)
    assert str(older.table_path) == "s3:/lake/db.db/orders"
    table = lakebed.open_table(older)
    assert (table.location, table.snapshot_id) == (f"{catalog_files.BUCKET}/db.db/orders", 2)
    older = SimpleNamespace(table_path=Path(near.table_path), file_io=near.file_io)
    assert lakebed.open_table(older).refresh().snapshot_id == 2


def test_a_branch_of_pypaimon_is_that_branch(tmp_path: Path) -> None:
    there = tables.paimon_orders(tmp_path)
    there.create_tag("one", 1)
    there.branch_manager().create_branch("dev", "one")
    catalog = pypaimon.CatalogFactory.create({"warehouse": str(tmp_path)})
    table = lakebed.open_table(catalog.get_table("db.orders$branch_dev"))
    assert (table.branch, table.snapshot_id) == ("dev", 1)


def test_other_storage_goes_before_the_file_io(tmp_path: Path) -> None:
    there = tables.orders(tables.far(tmp_path))
    place = Path(there.metadata_location.replace(catalog_files.BUCKET, f"{tmp_path}/bucket"))
    catalog_files.asked.clear()
    table = lakebed.open_table(there, storage=tables.Bucket(tmp_path / "bucket"))
    assert table.files().to_arrow().num_rows == 4
    assert place.is_file()
    assert not catalog_files.asked


@pytest.mark.parametrize("library", ["pyiceberg", "pypaimon"])
def test_the_storage_travels(tmp_path: Path, library: str) -> None:
    there = (
        tables.orders(tables.far(tmp_path))
        if library == "pyiceberg"
        else tables.far_paimon(tables.paimon_orders(tmp_path), tmp_path)
    )
    storage: Any = lakebed.open_table(there).opening.storage
    again = pickle.loads(pickle.dumps(storage))
    path = there.metadata_location if library == "pyiceberg" else f"{there.table_path}/schema/schema-0"
    assert again.read(path) == storage.read(path) != b""
    assert catalog_files.SECRET not in f"{again!r} {storage!r}"


@pytest.mark.parametrize("library", ["pyiceberg", "fsspec", "pypaimon"])
def test_ranges_are_those_of_the_file(tmp_path: Path, library: str) -> None:
    (tmp_path / "f").write_bytes(bytes(range(100)))
    (tmp_path / "empty").touch()
    bucket = f"file://{tmp_path}" if library == "fsspec" else catalog_files.BUCKET
    path, empty = (f"{bucket}/{name}" for name in ("f", "empty"))
    storage: Any
    if library == "pyiceberg":
        storage = IcebergFiles(catalog_files.FarFiles({catalog_files.ROOT: str(tmp_path)}), path)
    elif library == "fsspec":
        storage = IcebergFiles(pytest.importorskip("pyiceberg.io.fsspec").FsspecFileIO({}), path)
    else:
        storage = PaimonFiles(catalog_files.FarPaimonFiles(str(tmp_path)), path)
    assert storage.read(path) == bytes(range(100))
    assert storage.read(path, 90, 1 << 40) == bytes(range(90, 100))
    assert storage.read(path, 10, 12) == b"\x0a\x0b"
    assert storage.read(path, 200, 300) == storage.read(empty, 0, 10) == storage.read(empty) == b""
    with pytest.raises(FileNotFoundError):
        storage.read(f"{path}-not-there")
    if library == "pypaimon":
        return
    storage.write(f"{path}-new", b"new")
    assert storage.read(f"{path}-new", 1, 3) == b"ew"
    storage.remove(f"{path}-new")
    assert not (tmp_path / "f-new").exists()


def test_a_file_is_written_whole_or_not_at_all(tmp_path: Path) -> None:
    path = f"{catalog_files.BUCKET}/f"
    storage = IcebergFiles(catalog_files.FarFiles({catalog_files.ROOT: str(tmp_path)}), path)
    catalog_files.failing.add("f")
    with pytest.raises(OSError, match="the connection is gone"):
        storage.write(path, b"data")
    catalog_files.failing.clear()
    assert not (tmp_path / "f").exists()
    storage.write(path, b"data")
    with pytest.raises(FileExistsError):
        storage.write(path, b"other")
    assert storage.read(path) == b"data"


def test_a_storage_of_pypaimon_lists_and_knows_times(tmp_path: Path) -> None:
    there = tables.far_paimon(tables.paimon_orders(tmp_path), tmp_path)
    storage = PaimonFiles(there.file_io, there.table_path)
    local = tmp_path / "db.db" / "orders" / "snapshot"
    assert sorted(storage.list(f"{there.table_path}/snapshot")) == sorted(
        path.name for path in local.iterdir()
    )
    assert storage.list(f"{there.table_path}/none") == []
    modified = storage.modified(f"{there.table_path}/snapshot/snapshot-1")
    assert modified == int((local / "snapshot-1").stat().st_mtime * 1000)


def test_a_file_io_of_pyiceberg_lists_nothing(tmp_path: Path) -> None:
    there = tables.orders(tables.far(tmp_path), commits=0)
    storage = IcebergFiles(there.io, there.location())
    with pytest.raises(UnsupportedError, match="lists no folders, give storage="):
        storage.list(there.location())


def test_what_a_library_raises_is_an_oserror_without_secrets(tmp_path: Path) -> None:
    there = tables.orders(tables.far(tmp_path))
    table = lakebed.open_table(there)
    (manifest, *_) = table.manifests().to_arrow()["path"].to_pylist()
    catalog_files.failing.add(manifest.rpartition("/")[2])
    with pytest.raises(OSError, match="RuntimeError: no answer to https://lake") as caught:
        table.files().to_arrow()
    catalog_files.failing.clear()
    assert caught.value.filename == manifest
    assert catalog_files.SECRET not in str(caught.value)
    assert "Signature" not in str(caught.value)
    assert caught.value.__cause__ is None
    assert caught.value.__suppress_context__


def test_what_no_library_loaded_is_no_table() -> None:
    with pytest.raises(TypeError, match="PyIceberg or pypaimon loaded, not by int"):
        lakebed.open_table(7)  # type: ignore[arg-type]


def test_a_version_whose_file_is_gone_is_no_table(tmp_path: Path) -> None:
    there = tables.orders(tables.far(tmp_path), commits=0)
    gone = SimpleNamespace(metadata_location=f"{there.metadata_location}.json", io=there.io, catalog=None)
    with pytest.raises(TableNotFoundError, match="no Iceberg metadata file"):
        lakebed.open_table(gone)


def test_a_file_io_of_others_reads_no_pipe(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")

    class Own:
        def new_input(self, location: str) -> Any:
            raise AssertionError(location)

    storage = IcebergFiles(Own(), f"file://{tmp_path}")
    with pytest.raises(LocationError, match="pipes and devices"):
        storage.read(f"file://{tmp_path}/pipe")


def test_the_example_of_the_docs_runs(tmp_path: Path) -> None:
    tables.orders(tables.sqlite(tmp_path))
    text = (PROJECT / "docs" / "storage.md").read_text("utf-8")
    code = text.partition("## Catalogs")[2].partition("```python\n")[2].partition("```")[0]
    code += "\nassert emea.num_rows == 2 and orders.manifests().to_arrow().num_rows == 1\n"
    known = {
        "PYICEBERG_HOME": str(tmp_path),
        "PYICEBERG_CATALOG__LAKE__URI": f"sqlite:///{tmp_path}/catalog.db",
    }
    assert printed("-W", "error::UserWarning:lakebed", "-c", code, environment=known) == ""


@pytest.mark.spark
@pytest.mark.by_driver
def test_spark_takes_tables_of_catalogs(spark: SparkSession, tmp_path: Path) -> None:
    import lakebed.spark as ls
    from spark_rows import actual, expected

    tests = str(Path(__file__).parent)
    spark.sparkContext.addPyFile(f"{tests}/catalog_files.py")
    for there in (
        tables.orders(tables.far(tmp_path)),
        tables.far_paimon(tables.paimon_orders(tmp_path), tmp_path),
    ):
        table = lakebed.open_table(there)
        assert actual(ls.snapshots(spark, there)) == expected(table.snapshots())
        for view in ("files", "entries", "partitions", "plan", "health"):
            for read in ("executors", None):
                rows = actual(getattr(ls, view)(spark, there, read=read))
                assert rows == expected(getattr(table, view)()), (view, read)
