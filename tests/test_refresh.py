"""`Table.refresh`: the same table at what is newest now, and what that reads."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Literal

import pyarrow as pa
import pytest
from counting_storage import CountingStorage
from file_rows import file_rows

import lakebed
from lakebed.errors import SnapshotNotFoundError, TableNotFoundError, UnsupportedError

COLUMNS = pa.schema([("id", pa.int64())])
FORMATS: list[Literal["iceberg", "paimon"]] = ["iceberg", "paimon"]


def file(name: str) -> pa.Table:
    return file_rows(f"bucket-0/{name}.parquet")


@pytest.mark.parametrize("format_name", FORMATS)
def test_a_folder_is_at_what_was_committed_since(
    tmp_path: Path, format_name: Literal["iceberg", "paimon"]
) -> None:
    made = lakebed.create_table(tmp_path / "t", COLUMNS, format_name)
    table = lakebed.open_table(tmp_path / "t")
    assert table.refresh().snapshot_id is None
    first = made.append_files(file("1"))
    assert table.snapshot_id is None
    table = table.refresh()
    assert table.snapshot_id == first.snapshot_id
    second = first.append_files(file("2"))
    pinned = second.at(snapshot=first.snapshot_id)
    for stale in (table, pinned, first, made):
        assert stale.refresh().snapshot_id == second.snapshot_id
        assert stale.refresh().files().to_arrow().num_rows == 2
    assert (table.snapshot_id, pinned.snapshot_id) == (first.snapshot_id,) * 2


def whole(storage: CountingStorage) -> list[str]:
    """The metadata files of which more than one byte was read; others were asked for, and are not there."""
    read = [Path(path) for path, _, end in storage.reads if path.endswith(".json") and end != 1]
    return [path.name for path in read if path.exists()]


def test_the_metadata_that_is_still_current_is_not_read_again(tmp_path: Path) -> None:
    made = lakebed.create_table(tmp_path / "t", COLUMNS, "iceberg").append_files(file("1"))
    storage = CountingStorage()
    table = lakebed.open_table(str(tmp_path / "t"), storage=storage)
    storage.forget()
    assert table.refresh().snapshot_id == made.snapshot_id
    assert (whole(storage), storage.listings) == ([], [])
    made = made.append_files(file("2"))
    storage.forget()
    assert table.refresh().snapshot_id == made.snapshot_id
    assert whole(storage) == ["v3.metadata.json"]


def test_a_file_that_is_named_stays_the_newest(tmp_path: Path) -> None:
    made = lakebed.create_table(tmp_path / "t", COLUMNS, "iceberg").append_files(file("1"))
    table = lakebed.open_table(tmp_path / "t" / "metadata" / "v2.metadata.json")
    made.append_files(file("2"))
    assert table.refresh().snapshot_id == made.snapshot_id


def test_a_table_stays_on_its_branch(tmp_path: Path) -> None:
    made = lakebed.create_table(tmp_path / "t", COLUMNS, "paimon").append_files(file("1"))
    made.append_files(file("2"))
    branch = tmp_path / "t" / "branch" / "branch-dev"
    for name in ("schema/schema-0", "snapshot/snapshot-1"):
        (branch / name).parent.mkdir(parents=True)
        (branch / name).write_bytes((tmp_path / "t" / name).read_bytes())
    dev = lakebed.open_table(tmp_path / "t").at(branch="dev")
    assert dev.refresh().snapshot_id == 1
    (branch / "snapshot" / "snapshot-2").write_bytes((tmp_path / "t/snapshot/snapshot-2").read_bytes())
    assert (dev.refresh().branch, dev.refresh().snapshot_id) == ("dev", 2)
    for name in ("schema/schema-0", "snapshot/snapshot-1", "snapshot/snapshot-2"):
        (branch / name).unlink()
    with pytest.raises(SnapshotNotFoundError, match="dev"):
        dev.refresh()


def test_a_number_that_is_given_out_anew_is_read_anew(tmp_path: Path) -> None:
    made = lakebed.create_table(tmp_path / "t", COLUMNS, "paimon").append_files(file("1"))
    table = lakebed.open_table(tmp_path / "t")
    (tmp_path / "t/snapshot/snapshot-1").unlink()
    (tmp_path / "t/snapshot/LATEST").unlink(missing_ok=True)
    made.refresh().append_files(file("other"))
    (path,) = table.refresh().files(columns=["file_path"]).to_arrow()["file_path"].to_pylist()
    assert path.endswith("/other.parquet")


@pytest.mark.parametrize("where", ["near", "far"])
def test_the_catalog_says_what_is_newest(tables: Any, tmp_path: Path, where: str) -> None:
    catalog = (tables.far if where == "far" else tables.sqlite)(tmp_path)
    there = tables.orders(catalog)
    table = lakebed.open_table(there)
    version = there.metadata_location
    catalog.load_table("db.orders").append(tables.ROWS)
    now = table.refresh()
    assert now.snapshot_id == catalog.load_table("db.orders").metadata.current_snapshot_id
    assert now.files().to_arrow().num_rows == 6
    assert there.metadata_location == version
    assert table.snapshot_id == there.metadata.current_snapshot_id != now.snapshot_id
    pinned = now.at(snapshot=table.snapshot_id)
    assert pinned.refresh().snapshot_id == now.snapshot_id


def test_an_unchanged_table_of_a_catalog_reads_nothing_itself(tables: Any, tmp_path: Path) -> None:
    asked = tables.catalog_files.asked
    catalog = tables.far(tmp_path)
    table = lakebed.open_table(tables.orders(catalog))
    asked.clear()
    table.refresh()
    # PyIceberg's catalog itself reads the metadata file to load the table.
    of_catalog = sum(asked.values())
    asked.clear()
    catalog.load_table("db.orders")
    assert of_catalog == sum(asked.values()) == 1


def test_new_credentials_are_those_of_the_catalog(tables: Any, tmp_path: Path) -> None:
    catalog = tables.far(tmp_path)
    table = lakebed.open_table(tables.orders(catalog))
    catalog.properties["s3.session-token"] = "later"
    again = table.refresh()
    assert again.opening.storage._io.properties["s3.session-token"] == "later"  # type: ignore[union-attr]
    assert again.files().to_arrow().num_rows == 4


def test_a_table_that_the_catalog_has_no_more_is_reported(tables: Any, tmp_path: Path) -> None:
    catalog = tables.sqlite(tmp_path)
    table = lakebed.open_table(tables.orders(catalog))
    catalog.drop_table("db.orders")
    with pytest.raises(TableNotFoundError, match=r"the catalog has no table db\.orders"):
        table.refresh()
    tables.orders(catalog)
    with pytest.raises(TableNotFoundError, match=r"another table of the name db\.orders"):
        table.refresh()


def test_a_static_table_has_no_catalog_to_ask(tables: Any, tmp_path: Path) -> None:
    static = pytest.importorskip("pyiceberg.table").StaticTable
    there = tables.orders(tables.sqlite(tmp_path))
    table = lakebed.open_table(static.from_metadata(there.metadata_location))
    assert table.snapshot_id == there.metadata.current_snapshot_id
    with pytest.raises(UnsupportedError, match="without a catalog"):
        table.refresh()


def test_a_table_of_pypaimon_is_at_what_was_committed_since(tables: Any, tmp_path: Path) -> None:
    near = tables.paimon_orders(tmp_path, commits=1)
    opened = [lakebed.open_table(one) for one in (near, tables.far_paimon(near, tmp_path))]
    tables.paimon_orders(tmp_path, commits=1)
    assert [table.refresh().snapshot_id for table in opened] == [2, 2]
    assert [table.snapshot_id for table in opened] == [1, 1]
