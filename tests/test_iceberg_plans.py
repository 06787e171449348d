"""Plans against those of Iceberg's Java engine: which files are read, and which deletes apply to them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pytest

import lakebed
from iceberg_answers import Row, assert_same_rows, canonical_rows
from iceberg_golden import GoldenTable, each_golden_iceberg_table

# What a delete in `delete_files` is called in the engine's list of files.
DELETE_FIELDS = {
    "content": "content",
    "file_path": "file_path",
    "content_offset": "content_offset",
    "content_size": "content_size_in_bytes",
    "sequence_number": "sequence_number",
}
# A file's path and its deletes, in any order.
Plan = Counter[tuple[str, frozenset[tuple[Any, ...]]]]


def is_covered(line: Row) -> bool:
    """Whether the filter of a plan is one that plans are compared for."""
    return line["filter"] is True or line["filter"] is None


def covered(table: GoldenTable) -> Iterator[tuple[Row, lakebed.Table]]:
    """The plans that are compared, each with the table at its snapshot."""
    now = table.open()
    for line in table.rows("plans"):
        if is_covered(line) and "error" not in line:
            yield line, now.at(snapshot=line["snapshot_id"])


def engines_plan(table: GoldenTable, line: Row) -> Plan:
    files = {row["i"]: row for row in table.rows("plan_files")}
    deletes = {
        number: tuple(files[number][name] for name in DELETE_FIELDS.values())
        for numbers in line["deletes"].values()
        for number in numbers
    }
    of = {
        int(file): frozenset(deletes[number] for number in numbers)
        for file, numbers in line["deletes"].items()
    }
    return Counter((files[number]["file_path"], of.get(number, frozenset())) for number in line["files"])


def own_plan(plan: pa.Table) -> Plan:
    rows = plan.select(["file_path", "delete_files"]).to_pylist()
    named = [[tuple(one[name] for name in DELETE_FIELDS) for one in row["delete_files"]] for row in rows]
    assert all(len(set(some)) == len(some) for some in named), "a delete that is listed twice"
    return Counter((row["file_path"], frozenset(some)) for row, some in zip(rows, named, strict=True))


@each_golden_iceberg_table()
def test_the_files_and_their_deletes_are_those_of_the_engine(table: GoldenTable):
    for line, at in covered(table):
        where = f"{table.name}, snapshot {line['snapshot_id']}, {line['sql']}"
        assert own_plan(at.plan().to_arrow()) == engines_plan(table, line), where


@each_golden_iceberg_table("encrypted_*", "*_v4")
def test_a_rest_catalog_answers_the_files_and_deletes_of_the_engine(table: GoldenTable):
    contents = {"position-deletes": 1, "equality-deletes": 2}
    for line, at in covered(table):
        answer = at.plan().to_rest()
        deletes = [
            (
                contents[one["content"]],
                one["file-path"],
                *map(one.get, ("content-offset", "content-size-in-bytes")),
            )
            for one in answer["delete-files"]
        ]
        tasks = [
            (
                task["data-file"]["file-path"],
                frozenset(deletes[at] for at in task.get("delete-file-references", ())),
            )
            for task in answer["file-scan-tasks"]
        ]
        # Answers have no sequence numbers.
        expected = [
            (path, frozenset(delete[:4] for delete in some))
            for path, some in engines_plan(table, line).elements()
        ]
        assert Counter(tasks) == Counter(expected), f"{table.name}, snapshot {line['snapshot_id']}"


@each_golden_iceberg_table()
def test_numbers_stand_for_the_same_deletes(table: GoldenTable):
    for _line, at in covered(table):
        numbered = at.plan(deletes="ids")
        deletes = numbered.deletes.to_arrow().to_pylist()
        assert [row["delete_id"] for row in deletes] == list(range(len(deletes)))
        names = {**dict.fromkeys(DELETE_FIELDS), "record_count": None}
        shown = [
            {name: row["content_size_in_bytes" if name == "content_size" else name] for name in names}
            for row in deletes
        ]
        in_full = at.plan().to_arrow()
        read = numbered.to_arrow()
        assert canonical_rows(read.drop(["delete_ids"])) == canonical_rows(in_full.drop(["delete_files"]))
        for ids, files in zip(
            *(read["delete_ids"].to_pylist(), in_full["delete_files"].to_pylist()), strict=True
        ):
            assert [shown[number] for number in ids] == [{name: one[name] for name in names} for one in files]


@each_golden_iceberg_table()
def test_the_rows_are_those_of_files(table: GoldenTable):
    for line, at in covered(table):
        files, plan = at.files().to_arrow(), at.plan().to_arrow()
        data = files.filter(pc.equal(files["content"], 0))
        rows = canonical_rows(plan.select(files.schema.names))
        assert_same_rows(rows, canonical_rows(data), f"{table.name}, snapshot {line['snapshot_id']}")
        assert plan["residual"].null_count == plan.num_rows


@each_golden_iceberg_table()
def test_position_deletes_come_before_equality_deletes(table: GoldenTable):
    for _line, at in covered(table):
        for files in at.plan(columns=["delete_files"]).to_arrow()["delete_files"].to_pylist():
            contents = [one["content"] for one in files]
            assert contents == sorted(contents)


@each_golden_iceberg_table()
def test_selections_and_limits(table: GoldenTable):
    for _line, at in covered(table):
        whole = at.plan(deletes="ids").to_arrow()
        for names in (["delete_ids"], ["file_path"], ["residual", "delete_ids", "record_count"]):
            for threads in (1, 3):
                read = at.plan(deletes="ids", columns=names, threads=threads).to_arrow()
                assert canonical_rows(read) == canonical_rows(whole.select(names)), names
        first = canonical_rows(at.plan(limit=1).to_arrow())
        assert first == canonical_rows(at.plan().to_arrow().slice(0, 1))
        assert at.plan(limit=0).to_arrow().num_rows == 0


@each_golden_iceberg_table("empty*", "pos_deletes*")
def test_what_is_not_there(table: GoldenTable):
    now = table.open()
    assert now.plan().schema == now.plan().to_arrow().schema
    assert now.plan(deletes="ids").schema == now.plan(deletes="ids").to_arrow().schema
    with pytest.raises(lakebed.errors.SchemaError, match="delete_ids"):
        now.plan(columns=["delete_ids"])
    with pytest.raises(ValueError, match="deletes is"):
        now.plan(deletes="all")  # type: ignore[arg-type]


@each_golden_iceberg_table()
def test_deletes_name_the_files_that_they_apply_to(table: GoldenTable):
    for line, at in covered(table):
        deletes = at.deletes(columns=["file_path", "content_offset", "data_file_count", "data_files"])
        found = {
            (row["file_path"], row["content_offset"]): sorted(row["data_files"])
            for row in deletes.to_arrow().to_pylist()
        }
        expected: dict[tuple[str, int | None], list[str]] = {key: [] for key in found}
        for row in at.plan().to_arrow().to_pylist():
            for one in row["delete_files"]:
                expected[one["file_path"], one["content_offset"]].append(row["file_path"])
        assert found == {key: sorted(files) for key, files in expected.items()}, line["snapshot_id"]
        rows = deletes.to_arrow()
        counts = at.deletes(columns=["data_file_count"]).to_arrow()["data_file_count"]
        assert counts.to_pylist() == [len(files) for files in rows["data_files"].to_pylist()]
        assert counts.equals(rows["data_file_count"])
