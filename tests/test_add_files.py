"""Files that `add_files` adds to tables of both formats, in so many commits, and those that it refuses."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any, Literal

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from raising import raises

import lakebed
from lakebed.errors import SchemaError, UnsupportedError
from lakebed.footers.matching import NAME_MAPPING

ROWS = pa.table({"id": pa.array([1, 2], pa.int64()), "text": ["a", None]})
Format = Literal["iceberg", "paimon"]
FORMATS = ["iceberg", "paimon"]


def made(folder: Path, table_format: Format, **given: Any) -> lakebed.Table:
    options = {"bucket": "-1"} if table_format == "paimon" else {}
    return lakebed.create_table(folder / "t", ROWS.schema, table_format, properties=options, **given)


def written(folder: Path, *names: str, rows: pa.Table = ROWS) -> list[str]:
    folder.mkdir(parents=True, exist_ok=True)
    for name in names:
        pq.write_table(rows, folder / name)
    return [str(folder / name) for name in names]


def names(table: lakebed.Table) -> list[str]:
    paths: Iterable[str] = table.files(columns=["file_path"]).to_arrow()["file_path"].to_pylist()
    return sorted(Path(path).name for path in paths)


@pytest.mark.parametrize("table_format", FORMATS)
def test_a_folder_is_added_in_commits_of_some_files(tmp_path: Path, table_format: Format):
    table = made(tmp_path, table_format)
    files = [f"{number}.parquet" for number in range(5)]
    written(tmp_path / "x", *files[:3])
    written(tmp_path / "x" / "deep" / "er", *files[3:])
    written(tmp_path / "x" / "_temporary", "no.parquet")
    written(tmp_path / "x", ".no.parquet.crc", "_no.parquet")
    options = lakebed.CommitOptions(properties={"etl.run": "7"})
    table = table.add_files(tmp_path / "x", files_per_commit=2, options=options)
    assert names(table) == files
    assert table.files(where="text = 'a'").to_arrow().num_rows == 5
    snapshots = table.snapshots().to_arrow().to_pylist()
    assert len(snapshots) == 3
    assert all("7" in str(snapshot) for snapshot in snapshots)
    assert table.add_files([]).snapshot_id == table.snapshot_id
    assert table.verify(data_files=True).to_arrow().num_rows == 0


@pytest.mark.parametrize("table_format", FORMATS)
def test_files_of_the_table_are_refused_or_skipped(tmp_path: Path, table_format: Format):
    paths = written(tmp_path / "x", "a.parquet", "b.parquet")
    table = made(tmp_path, table_format).add_files(paths[:1])
    for again in (paths, [f"file://{paths[0]}"], [f"file:{paths[0]}"]):
        with raises(SchemaError, "is in the table already", path=again[0], field="file_path", record=0):
            table.add_files(again)
    with raises(SchemaError, "is given twice", path=paths[1], record=1):
        table.add_files([paths[1], paths[1]])
    assert names(table.refresh()) == ["a.parquet"]
    table = table.add_files(paths, existing="skip")
    assert names(table) == ["a.parquet", "b.parquet"]
    assert table.add_files(paths, existing="skip").snapshot_id == table.snapshot_id
    with pytest.raises(ValueError, match="existing is one of 'refuse', 'skip'"):
        table.add_files(paths, existing="replace")  # type: ignore[arg-type]


@pytest.mark.parametrize("table_format", FORMATS)
def test_what_comes_before_an_error_is_added_and_nothing_after(tmp_path: Path, table_format: Format):
    good = written(tmp_path / "x", "a.parquet", "b.parquet", "c.parquet")
    (bad,) = written(tmp_path / "x", "bad.parquet", rows=pa.table({"id": ["text"]}))
    table = made(tmp_path, table_format)
    with raises(SchemaError, path=bad, field="id"):
        table.add_files([*good[:2], bad, good[2]], files_per_commit=2)
    assert names(table.refresh()) == ["a.parquet", "b.parquet"]
    table = table.refresh().add_files(good, existing="skip")
    assert names(table) == ["a.parquet", "b.parquet", "c.parquet"]


def test_the_name_mapping_is_set_where_there_is_none(tmp_path: Path):
    table = made(tmp_path, "iceberg").add_files(written(tmp_path / "x", "a.parquet"))
    mapping = json.loads(table.properties[NAME_MAPPING])
    assert mapping == [{"field-id": 1, "names": ["id"]}, {"field-id": 2, "names": ["text"]}]
    # From then on columns follow it, also in files of before a column was renamed.
    table = table.update_schema(lakebed.SchemaChange.rename_column("text", "note"))
    renamed = ROWS.rename_columns(["id", "note"])
    written(tmp_path / "x", "new.parquet", rows=renamed)
    table = table.add_files([tmp_path / "x" / "new.parquet", *written(tmp_path / "x", "old.parquet")])
    assert table.files(where="note = 'a'", stats=["note"]).to_arrow()["stats"].to_pylist() == [
        {"note": {"value_count": 2, "null_count": 1, "nan_count": None, "column_size": size,
                  "lower_bound": "a", "upper_bound": "a"}}
        for size in [table.files(stats=["note"]).to_arrow()["stats"][0]["note"]["column_size"].as_py()] * 3
    ]  # fmt: skip
    table = table.update_properties({NAME_MAPPING: "[{]"})
    with raises(SchemaError, "is malformed", field=NAME_MAPPING):
        table.add_files(written(tmp_path / "x", "last.parquet"))


def with_ids(rows: pa.Table, *ids: int) -> pa.Table:
    fields = [
        field.with_metadata({"PARQUET:field_id": str(number)})
        for field, number in zip(rows.schema, ids, strict=True)
    ]
    return rows.cast(pa.schema(fields))


def test_field_ids_count_more_than_names(tmp_path: Path):
    table = made(tmp_path, "iceberg")
    exchanged = with_ids(ROWS.rename_columns(["text", "id"]), 1, 2)
    (row,) = lakebed.describe_files(written(tmp_path / "x", "a.parquet", rows=exchanged), table).to_pylist()
    assert (row["stats"]["id"]["upper_bound"], row["stats"]["text"]["upper_bound"]) == (2, "a")
    with raises(SchemaError, "no such column", field="text"):
        lakebed.describe_files(written(tmp_path / "x", "b.parquet", rows=with_ids(ROWS, 1, 7)), table)


def test_files_of_paimon_that_only_their_writer_knows(tmp_path: Path):
    schema = pa.schema([pa.field("id", pa.int64(), nullable=False), ("text", pa.string())])
    paths = written(tmp_path / "x", "a.parquet")
    keyed = lakebed.create_table(tmp_path / "keyed", schema, "paimon", primary_key=["id"])
    with raises(UnsupportedError, "only their writer knows the keys", kind="unsupported"):
        keyed.add_files(paths)
    options = {"bucket": "4", "bucket-key": "id"}
    buckets = lakebed.create_table(tmp_path / "buckets", schema, "paimon", properties=options)
    with raises(UnsupportedError, "which bucket the rows are of is not known", path=paths[0]):
        buckets.add_files(paths)


def test_commits_are_made_on_the_branch(tmp_path: Path):
    table = made(tmp_path, "iceberg").add_files(written(tmp_path / "x", "a.parquet"))
    branch = table.create_branch("audit").add_files(written(tmp_path / "x", "b.parquet"))
    assert (names(branch), names(table.refresh())) == (["a.parquet", "b.parquet"], ["a.parquet"])


def test_relative_paths_are_below_the_table(tmp_path: Path):
    table = made(tmp_path, "iceberg")
    written(Path(table.location) / "data", "a.parquet")
    table = table.add_files(["data/a.parquet"])
    assert names(table) == ["a.parquet"]
    assert table.files().to_arrow()["file_path"][0].as_py() == f"{table.location}/data/a.parquet"


def entries(table: Any) -> list[dict[str, Any]]:
    opened = lakebed.open_table(table)
    rows = opened.entries().to_arrow().to_pylist()
    kept = ["file_path", "record_count", "file_size_in_bytes", "partition", "split_offsets", "value_counts"]
    kept += ["null_value_counts", "lower_bounds", "upper_bounds", "column_sizes", "spec_id", "file_format"]
    return sorted(({name: row[name] for name in kept} for row in rows), key=str)


def test_tables_of_catalogs_have_what_pyiceberg_adds(tmp_path: Path):
    catalog_tables = pytest.importorskip("catalog_tables")
    catalog, table = catalog_tables.lake(tmp_path, commits=0)
    rows = pa.table({"id": pa.array([1, None, 3], pa.int64()), "region": ["emea"] * 3})
    paths = written(tmp_path / "x", "a.parquet", "b.parquet", rows=rows)
    other = catalog.create_table("db.other", table.schema(), partition_spec=table.spec())
    other.add_files(paths)
    lakebed.open_table(table).add_files(paths)
    table = catalog.load_table("db.orders")
    assert entries(table) == entries(other)
    ours, theirs = (json.loads(one.properties[NAME_MAPPING]) for one in (table, other))
    assert ours == theirs
    # PyIceberg reads what is added.
    assert table.scan().to_arrow().sort_by("id").equals(other.scan().to_arrow().sort_by("id"))
    assert table.scan().to_arrow().num_rows == 6
