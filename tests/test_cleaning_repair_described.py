"""Sizes, numbers of rows and metrics that data files contradict are recorded as the files have them."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Literal

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
from command_line import run
from pyarrow import orc
from test_cleaning_repair import errors, outcomes, said

import lakebed
from lakebed.errors import UnsupportedError

Format = Literal["iceberg", "paimon"]
FORMATS = ["iceberg", "paimon"]
KINDS = ["sizes", "metrics"]
ROWS = pa.table({"id": pa.array([3, 5, 9], pa.int64()), "text": ["b", None, "d" * 40]})


def made(folder: Path, table_format: Format, files: int = 2, **given: Any) -> tuple[lakebed.Table, pa.Table]:
    """A table without files, and rows of files that are there."""
    options = {"bucket": "-1"} if table_format == "paimon" else {}
    options |= given.pop("properties", {})
    table = lakebed.create_table(folder / "t", ROWS.schema, table_format, properties=options, **given)
    (folder / "x").mkdir()
    for number in range(files):
        pq.write_table(ROWS, folder / "x" / f"{number}.parquet")
    rows = lakebed.describe_files([str(folder / "x" / f"{n}.parquet") for n in range(files)], table)
    return table, rows


def changed(rows: pa.Table, **columns: Any) -> pa.Table:
    """Rows with other values in some columns: one for each file."""
    for name, values in columns.items():
        at = rows.schema.get_field_index(name)
        rows = rows.set_column(at, name, pa.array(values, rows.schema.field(name).type))
    return rows


def with_stats(rows: pa.Table, column: str, **metrics: Any) -> pa.Table:
    """Rows whose first file has other metrics of a column."""
    stats = rows["stats"].to_pylist()
    stats[0][column] |= metrics
    return changed(rows, stats=stats)


def planned(table: lakebed.Table, *kinds: str) -> pa.Table:
    return table.repair_plan(kinds or KINDS).to_arrow()


def stats_of(table: lakebed.Table, *names: str) -> list[Any]:
    rows = table.files(columns=["file_path", "stats"], stats=list(names)).to_arrow().to_pylist()
    return [row["stats"] for row in sorted(rows, key=lambda row: str(row["file_path"]))]


@pytest.mark.parametrize("table_format", FORMATS)
def test_what_files_say_is_recorded(table_format: Format, tmp_path: Path) -> None:
    table, rows = made(tmp_path, table_format, 3)
    right = rows["file_size_in_bytes"].to_pylist()
    wrong = changed(rows, file_size_in_bytes=[7, right[1], right[2]], record_count=[3, 5, 0])
    table = table.append_files(wrong)
    found = planned(table)
    assert said(found) == [
        ("sizes", "0.parquet", 0, 0),
        ("sizes", "1.parquet", 0, 0),
        # Readers leave out files without rows.
        ("sizes", "2.parquet", 0, 3),
    ]
    assert found["problem"].to_pylist() == [
        f"the file has {right[0]} bytes, not 7",
        "the file has 3 rows, not 5",
        "the file has 3 rows, not 0",
    ]
    assert found["file_size_in_bytes"].to_pylist() == [7, right[1], right[2]]
    before = table.files(columns=["file_path", "sequence_number"]).to_arrow().sort_by("file_path")
    done = lakebed.apply(found.slice(1), table, log=tmp_path / "log")
    assert done.counts == {"repaired": 2}
    assert said(planned(done.table)) == [("sizes", "0.parquet", 0, 0)]
    done = lakebed.apply(planned(done.table), done.table, log=tmp_path / "second")
    assert planned(done.table).num_rows == 0
    files = done.table.files().to_arrow().sort_by("file_path")
    assert files["file_size_in_bytes"].to_pylist() == right
    assert files["record_count"].to_pylist() == [3, 3, 3]
    # They are the same files, which deletes of before apply to as they did.
    assert files["sequence_number"].to_pylist() == before["sequence_number"].to_pylist()
    last = done.table.snapshots().to_arrow().to_pylist()[-1]
    total = (
        dict(last["summary"])["total-records"] if table_format == "iceberg" else last["total_record_count"]
    )
    assert int(total) == 9
    assert errors(done.table) == []


@pytest.mark.parametrize("table_format", FORMATS)
def test_metrics_that_are_wrong_or_missing(table_format: Format, tmp_path: Path) -> None:
    table, rows = made(tmp_path, table_format)
    wrong = with_stats(rows, "id", upper_bound=8, null_count=1)
    table = table.append_files(with_stats(wrong, "text", lower_bound=None, upper_bound=None, null_count=None))
    found = planned(table)
    assert said(found) == [("metrics", "0.parquet", 0, 3)]
    assert found["problem"].to_pylist() == [
        "wrong: id (null count), id (upper bound); missing: "
        "text (null count), text (lower bound), text (upper bound)"
    ]
    assert table.files(where="id = 9").to_arrow().num_rows == 1
    done = lakebed.apply(found, table, log=tmp_path / "log")
    assert outcomes(done) == [("metrics", "repaired", None)]
    assert done.table.files(where="id = 9").to_arrow().num_rows == 2
    one, other = stats_of(done.table, "id", "text")
    assert one == other
    assert planned(done.table).num_rows == 0
    again = lakebed.apply(found, done.table, log=tmp_path / "again")
    assert again.counts == {"kept": 1}


def test_only_what_is_missing_changes_no_row(tmp_path: Path) -> None:
    table, rows = made(tmp_path, "iceberg")
    table = table.append_files(rows.drop_columns(["stats"]))
    assert said(planned(table)) == [("metrics", f"{n}.parquet", 0, 0) for n in range(2)]
    done = lakebed.apply(planned(table), table, log=tmp_path / "log")
    again, described = made(tmp_path / "again", "iceberg")
    assert stats_of(done.table, "id", "text") == stats_of(again.append_files(described), "id", "text")


@pytest.mark.parametrize("table_format", FORMATS)
def test_wider_bounds_are_right(table_format: Format, tmp_path: Path) -> None:
    table, rows = made(tmp_path, table_format)
    table = table.append_files(with_stats(rows, "id", lower_bound=-(2**40), upper_bound=2**40))
    assert planned(table).num_rows == 0


def test_bounds_are_compared_whole_and_kept_cut(tmp_path: Path) -> None:
    table, rows = made(tmp_path, "iceberg")
    # Longer than the table keeps them, and right.
    table = table.append_files(with_stats(rows, "text", upper_bound="d" * 40))
    assert planned(table).num_rows == 0
    table, rows = made(tmp_path / "wrong", "iceberg")
    table = table.append_files(with_stats(rows, "text", upper_bound="d" * 39))
    assert said(planned(table)) == [("metrics", "0.parquet", 0, 3)]
    done = lakebed.apply(planned(table), table, log=tmp_path / "log")
    assert stats_of(done.table, "text")[0]["text"]["upper_bound"] == "d" * 15 + "e"


def test_a_bound_that_cannot_be_cut_is_kept_whole(tmp_path: Path) -> None:
    table, rows = made(tmp_path, "iceberg", 1)
    last = chr(0x10FFFF) * 20
    pq.write_table(pa.table({"id": pa.array([1], pa.int64()), "text": [last]}), tmp_path / "x" / "0.parquet")
    size = (tmp_path / "x" / "0.parquet").stat().st_size
    table = table.append_files(changed(rows, record_count=[1], file_size_in_bytes=[size]))
    done = lakebed.apply(planned(table), table, log=tmp_path / "log")
    assert stats_of(done.table, "text")[0]["text"]["upper_bound"] == last
    assert done.table.files(where=f"text = '{last}'").to_arrow().num_rows == 1


def test_metrics_of_columns_of_which_none_are_kept(tmp_path: Path) -> None:
    table, rows = made(tmp_path, "iceberg", properties={"write.metadata.metrics.column.id": "none"})
    assert "id" not in [field.name for field in rows.schema.field("stats").type]
    bound = {"lower_bound": 1, "upper_bound": 4}
    stats = pa.array(
        [{"id": bound}, {"id": None}], pa.struct([("id", pa.struct([(n, pa.int64()) for n in bound]))])
    )
    rows = rows.set_column(rows.schema.get_field_index("stats"), "stats", stats)
    table = table.append_files(rows)
    found = planned(table)
    # Nothing is added that the table does not keep, but what is wrong is put right.
    assert [problem.partition(";")[0] for problem in found["problem"].to_pylist()] == [
        "wrong: id (upper bound)",
        "missing: text (value count), text (null count), text (lower bound), text (upper bound)",
    ]
    done = lakebed.apply(found, table, log=tmp_path / "log")
    one, other = stats_of(done.table, "id")
    assert (one["id"]["lower_bound"], one["id"]["upper_bound"], one["id"]["null_count"]) == (1, 9, None)
    assert set(other["id"].values()) == {None}


@pytest.mark.parametrize("table_format", FORMATS)
def test_files_that_are_gone_or_damaged(table_format: Format, tmp_path: Path) -> None:
    table, rows = made(tmp_path, table_format, 3)
    table = table.append_files(rows)
    (tmp_path / "x" / "0.parquet").unlink()
    (tmp_path / "x" / "1.parquet").write_bytes(b"PAR1" + bytes(20) + b"PAR1")
    found = planned(table)
    assert said(found) == [("sizes", "1.parquet", None, None)]
    assert lakebed.apply(found, table, log=tmp_path / "log").counts == {"kept": 1}
    (tmp_path / "x" / "2.parquet").write_bytes(b"x" * 100)
    with pytest.raises(UnsupportedError, match="neither Parquet nor ORC nor Avro"):
        planned(table)


def test_row_ids_do_not_allow_more_rows(tmp_path: Path) -> None:
    table, rows = made(tmp_path, "iceberg", format_version=3)
    table = table.append_files(changed(rows, record_count=[2, 4]))
    assert said(planned(table)) == [("sizes", "0.parquet", None, None), ("sizes", "1.parquet", 0, 0)]
    ids = table.entries(columns=["file_path", "first_row_id"]).to_arrow().to_pylist()
    done = lakebed.apply(planned(table), table, log=tmp_path / "log")
    assert done.counts == {"kept": 1, "repaired": 1}
    assert done.table.entries(columns=["file_path", "first_row_id"]).to_arrow().to_pylist() == ids


def test_statistics_of_an_older_schema_stay(tmp_path: Path) -> None:
    table, rows = made(tmp_path, "paimon")
    table = table.append_files(with_stats(changed(rows, record_count=[4, 3]), "id", upper_bound=8))
    table = table.update_schema([lakebed.SchemaChange.add_column("more", pa.int32())])
    assert said(planned(table)) == [("sizes", "0.parquet", 0, 0), ("metrics", "0.parquet", None, None)]
    done = lakebed.apply(planned(table), table, log=tmp_path / "log")
    assert outcomes(done)[0] == ("sizes", "repaired", None)
    assert outcomes(done)[1][1] == "kept"
    assert stats_of(done.table, "id")[0]["id"]["upper_bound"] == 8


def test_files_may_have_columns_that_are_gone_and_any_partition(tmp_path: Path) -> None:
    table, rows = made(tmp_path, "iceberg")
    table = table.append_files(rows).update_schema(lakebed.SchemaChange.drop_column("text"))
    assert planned(table).num_rows == 0
    # The table knows their partition, whatever their bounds are now said to be.
    table = table.update_spec(add=["bucket(4, id)"])
    assert planned(table).num_rows == 0


def test_orc_and_partitions(tmp_path: Path) -> None:
    spec = ["text"]
    table = lakebed.create_table(tmp_path / "t", ROWS.schema, "iceberg", partition_by=spec)
    rows = pa.table({"id": pa.array([1, 2], pa.int64()), "text": ["a", "a"]})
    orc.write_table(rows, tmp_path / "a.orc")
    described = lakebed.describe_files([str(tmp_path / "a.orc")], table)
    table = table.append_files(with_stats(described, "id", upper_bound=1))
    done = lakebed.apply(planned(table), table, log=tmp_path / "log")
    assert done.counts == {"repaired": 1}
    entry = done.table.files(stats=["id"]).to_arrow().to_pylist()[0]
    assert entry["partition"] == {"text": "a"}
    assert entry["stats"]["id"]["upper_bound"] == 2


def test_pyiceberg_finds_the_rows_again(tmp_path: Path) -> None:
    from catalog_tables import sqlite

    catalog = sqlite(tmp_path)
    theirs = catalog.create_table("db.t", ROWS.schema)
    theirs.append(ROWS)
    table = lakebed.open_table(theirs)
    rows = table.files(stats=["id", "text"]).to_arrow()
    path = rows["file_path"].to_pylist()[0]
    other = str(Path(path.removeprefix("file://")).with_name("other.parquet"))
    Path(path.removeprefix("file://")).rename(other)
    wrong = with_stats(lakebed.describe_files([other], table), "id", upper_bound=4)
    table = table.overwrite_files(wrong, removed=[path])
    read = catalog.load_table("db.t").scan(row_filter="id > 4").to_arrow()
    assert read.num_rows == 0
    done = lakebed.apply(planned(table), table, log=tmp_path / "log")
    assert done.counts == {"repaired": 1}
    read = catalog.load_table("db.t").scan(row_filter="id > 4").to_arrow()
    assert sorted(read["id"].to_pylist()) == [5, 9]


def test_pypaimon_finds_the_rows_again(tmp_path: Path) -> None:
    pypaimon = pytest.importorskip("pypaimon")
    catalog = pypaimon.CatalogFactory.create({"warehouse": str(tmp_path / "w")})
    catalog.create_database("db", False)
    catalog.create_table("db.t", pypaimon.Schema.from_pyarrow_schema(ROWS.schema), False)

    def read() -> list[int]:
        builder = catalog.get_table("db.t").new_read_builder()
        predicates = builder.new_predicate_builder()
        builder = builder.with_filter(predicates.greater_than("id", 4))
        splits = builder.new_scan().plan().splits()
        ids = builder.new_read().to_arrow(splits)["id"]
        return sorted(pc.filter(ids, pc.greater(ids, 4)).to_pylist())

    writing = catalog.get_table("db.t").new_batch_write_builder()
    write, commit = writing.new_write(), writing.new_commit()
    write.write_arrow(ROWS)
    commit.commit(write.prepare_commit())
    assert read() == [5, 9]
    table = lakebed.open_table(tmp_path / "w" / "db.db" / "t")
    path = table.files(columns=["file_path"]).to_arrow()["file_path"].to_pylist()[0]
    other = Path(path).rename(Path(path).with_name("data-other-0.parquet"))
    wrong = with_stats(lakebed.describe_files([str(other)], table), "id", upper_bound=4)
    table = table.overwrite_files(wrong, removed=[path])
    assert read() == []
    done = lakebed.apply(planned(table), table, log=tmp_path / "log")
    assert done.counts == {"repaired": 1}
    assert read() == [5, 9]


def test_the_command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    table, rows = made(tmp_path, "iceberg")
    table.append_files(changed(rows, record_count=[3, 5]))
    monkeypatch.chdir(tmp_path)
    kept = run("repair-plan", "t", "--kinds", "sizes", "--plan-file", "plan.parquet")
    assert (kept.exit_code, "the file has 3 rows, not 5" in kept.stdout) == (0, True), kept.stderr
    done = run("apply", "plan.parquet", "--yes")
    assert (done.exit_code, done.stdout.splitlines()[0][:16]) == (0, "repaired 1 file,")
    assert planned(lakebed.open_table("t")).num_rows == 0
