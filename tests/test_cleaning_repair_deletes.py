"""Two vectors of a file become one; deletes in another partition are listed in that of their file."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from planned_tables import RowsTable
from test_cleaning_repair import outcomes, planned, said
from test_iceberg_checklist_deletes import Files, vector
from test_iceberg_exchange import FOREIGN, deletes_of, in_parts, some

import lakebed
from lakebed import iceberg
from lakebed._native import FileChangeKind
from lakebed.commits.change import Change, CommitOptions
from lakebed.commits.iceberg import Repairs, file_change
from lakebed.commits.transaction import commit
from lakebed.errors import CorruptError, SchemaError, UnsupportedError

KINDS = ("vectors", "foreign_deletes")


def with_two_vectors(folder: Path) -> Path:
    """A table of twenty rows with two vectors of the first file, and one of the other."""
    made = RowsTable(folder, 3)
    first, other = made.files
    vectors = [
        made.deletion_vector(first, [1, 2], "one"),
        made.deletion_vector(first, [2, 7], "two"),
        made.deletion_vector(other, [0]),
    ]
    made.commit_with(*vectors)
    return made.root


def errors_of(table: lakebed.Table) -> list[Any]:
    """What is wrong, but for the files of older snapshots."""
    rows = table.verify(filter="severity = 'error'").to_arrow().to_pylist()
    old = {row["path"] for row in table.at(snapshot=1).manifests(columns=["path"]).to_arrow().to_pylist()}
    return [row for row in rows if row["path"] not in old]


def test_two_vectors_become_one(tmp_path: Path) -> None:
    from pyiceberg.table import StaticTable
    from pyiceberg.table.puffin import PuffinFile

    root = with_two_vectors(tmp_path / "t")
    table = lakebed.open_table(root)
    with pytest.raises(CorruptError, match="more than one deletion vector"):
        table.plan().to_arrow()
    rows = planned(table, *KINDS)
    assert said(rows) == [("vectors", "0.parquet", 0, 0)]
    assert rows["problem"].to_pylist() == ["it has 2 deletion vectors"]
    done = lakebed.apply(rows, table, log=tmp_path / "log")
    assert done.counts == {"repaired": 1}
    deletes = done.table.deletes(columns=["file_path", "referenced_data_file", "record_count", "positions"])
    of_files = {Path(row["referenced_data_file"]).name: row for row in deletes.to_arrow().to_pylist()}
    assert {name: row["positions"] for name, row in of_files.items()} == {
        "0.parquet": [1, 2, 7],
        "10.parquet": [0],
    }
    merged = Path(of_files["0.parquet"]["file_path"])
    (blob,) = PuffinFile(merged.read_bytes()).footer.blobs
    assert blob.properties == {"referenced-data-file": str(root / "data" / "0.parquet"), "cardinality": "3"}
    newest = sorted((root / "metadata").glob("v*.metadata.json"))[-1]
    theirs = StaticTable.from_metadata(str(newest)).scan().to_arrow()["id"].to_pylist()
    assert sorted(theirs) == [0, 3, 4, 5, 6, 8, 9, *range(11, 20)]
    assert planned(done.table, *KINDS, "duplicates").num_rows == 0
    assert errors_of(done.table) == []
    summary = dict(done.table.snapshots().to_arrow().to_pylist()[-1]["summary"])
    assert (summary["added-dvs"], summary["removed-dvs"], summary["lakebed-repair"]) == (
        "1",
        "2",
        "vectors 1",
    )


def test_a_merged_vector_is_read_by_its_place(tmp_path: Path) -> None:
    root = with_two_vectors(tmp_path / "t")
    lakebed.apply(planned(lakebed.open_table(root), *KINDS), lakebed.open_table(root), log=tmp_path / "log")
    (row,) = lakebed.open_table(root).deletes(filter="record_count = 3").to_arrow().to_pylist()
    read = iceberg.read_deletion_vector(row["file_path"], row["content_offset"], row["content_size_in_bytes"])
    assert read.to_pylist() == [1, 2, 7]


@pytest.mark.parametrize("foreign", FOREIGN)
def test_deletes_of_another_partition(foreign: str, tmp_path: Path) -> None:
    table = FOREIGN[foreign](some(tmp_path)).open()
    before = deletes_of(table).to_arrow()
    with pytest.raises(UnsupportedError):
        in_parts(deletes_of(table), 2)
    rows = planned(table, *KINDS)
    name = "v.puffin" if "vector" in foreign else "d"
    assert said(rows) == [("foreign_deletes", name, 0, 0)]
    done = lakebed.apply(rows, table, log=tmp_path / "log")
    assert outcomes(done) == [("foreign_deletes", "repaired", None)]
    # The same deletes apply, whose numbers are as before.
    after = deletes_of(done.table).to_arrow()
    assert {
        row["file_path"]: sorted(one["file_path"] for one in row["delete_files"]) for row in after.to_pylist()
    } == {
        row["file_path"]: sorted(one["file_path"] for one in row["delete_files"])
        for row in before.to_pylist()
    }
    in_parts(deletes_of(done.table), 2)
    columns = ["file_path", "sequence_number", "file_sequence_number", "record_count", "referenced_data_file"]
    rows_of = [
        sorted(map(str, one.deletes(columns=columns).to_arrow().to_pylist())) for one in (table, done.table)
    ]
    assert rows_of[0] == rows_of[1]
    statuses = done.table.entries(columns=["file_path", "status"]).to_arrow().to_pylist()
    assert {row["status"] for row in statuses if row["file_path"] == name} == {0}
    assert planned(done.table, *KINDS).num_rows == 0
    assert errors_of(done.table) == []


@pytest.mark.parametrize("asked", [KINDS, ("foreign_deletes",)])
def test_two_vectors_of_which_one_is_of_another_partition(asked: tuple[str, ...], tmp_path: Path) -> None:
    """They are merged where that is asked for; else the one is listed where it belongs."""
    files = Files(tmp_path, 3).add(0, 1, "a1").add(1, 2, "v.puffin", partition={"city": "b"}, **vector("a1"))
    table = files.add(1, 2, "w.puffin", **vector("a1")).open()
    expected = [("vectors", "a1", 0, 0)] if len(asked) == 2 else [("foreign_deletes", "v.puffin", 0, 0)]
    assert said(planned(table, *asked)) == expected


def test_deletes_that_are_older_than_their_file(tmp_path: Path) -> None:
    """Position deletes of an earlier file of that path have no effect where they are, and none elsewhere."""
    files = Files(tmp_path).add(0, 3, "a1")
    table = files.add(1, 2, "d", partition={"city": "b"}, referenced_data_file="a1").open()
    assert planned(table, *KINDS).num_rows == 0


def test_names_that_fit_nothing(tmp_path: Path) -> None:
    table = lakebed.open_table(with_two_vectors(tmp_path / "t"))
    vectors = table.deletes(columns=["file_path", "content_offset"]).to_arrow().to_pylist()
    other = str(tmp_path / "t" / "data" / "10.parquet")

    def repaired(repairs: Repairs) -> None:
        options = CommitOptions()
        commit(table, Change("repair", file_change(FileChangeKind.OVERWRITE, options, repairs=repairs)))

    with pytest.raises(SchemaError, match="has not more than one deletion vector") as caught:
        repaired(Repairs(merged=[str(tmp_path / "t" / "data" / "0.parquet"), other]))
    assert (caught.value.field, caught.value.record) == ("merged", 1)
    with pytest.raises(SchemaError, match="is no live delete of a single data file"):
        repaired(Repairs(moved=[(vectors[0]["file_path"], 5)]))
    with pytest.raises(SchemaError, match="is not listed more than once"):
        repaired(Repairs(duplicates=[(other, None)]))
    assert table.refresh().snapshot_id == table.snapshot_id


def test_vectors_that_cannot_be_read_are_not_merged(tmp_path: Path) -> None:
    root = with_two_vectors(tmp_path / "t")
    file = root / "data" / "two.puffin"
    content = bytearray(file.read_bytes())
    content[30] ^= 1
    file.write_bytes(content)
    table = lakebed.open_table(root)
    with pytest.raises(CorruptError, match=r"two\.puffin"):
        lakebed.apply(planned(table, *KINDS), table, log=tmp_path / "log")
    assert table.refresh().snapshot_id == table.snapshot_id
    assert not list((root / "metadata").glob("*.puffin"))
