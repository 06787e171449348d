"""What readers of Iceberg must do, a test a rule: which deletes apply to which data files."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from iceberg_made import MadeTable, Record, avro_type, entry, entry_schema, field, optional
from iceberg_shared import shared_table

import lakebed
from lakebed import errors

COLUMNS = [(1, "id", "long"), (2, "city", "string")]
SPEC = {"source-id": 2, "field-id": 1000, "name": "city", "transform": "identity"}
VOID = {"source-id": 2, "field-id": 1001, "name": "city_void", "transform": "void"}
PATH = 2147483546
"""The id of the column of paths in position deletes."""


class Files:
    """A table whose files a test adds one by one: data in the city `a` or `b`, deletes of some spec."""

    def __init__(self, root: Path, version: int = 2) -> None:
        specs = [
            {"spec-id": 0, "fields": [SPEC]},
            {"spec-id": 1, "fields": []},
            {"spec-id": 2, "fields": [VOID]},
        ]
        self.table = MadeTable(root / "t", *COLUMNS, version=version, partition_specs=specs)
        self.records: list[Record] = []

    def add(self, content: int, sequence: int, path: str, spec: int = 0, **values: Any) -> Files:
        """A manifest of one file, in city `a` unless `partition` says otherwise."""
        kinds = [(1000, "city")] if spec == 0 else [(1001, "city_void")] if spec == 2 else []
        partition = [field(number, name, optional(avro_type("string"))) for number, name in kinds]
        own = {"city": "a"} if spec == 0 else {"city_void": None} if spec == 2 else {}
        row = {"partition": own, "record_count": 5, "content": content, **values}
        numbers = {"snapshot_id": 1, "sequence_number": sequence, "file_sequence_number": sequence}
        schema = entry_schema(self.table.version, partition)
        name = f"m{len(self.records)}.avro"
        record = self.table.manifest(entry(1, path, **row, **numbers), schema=schema, name=name)
        kind = {"content": int(content > 0), "partition_spec_id": spec, "sequence_number": 9}
        self.records.append(record | kind | ({"first_row_id": None} if self.table.version == 3 else {}))
        return self

    def open(self) -> lakebed.Table:
        """The table with all files in a snapshot."""
        more: dict[str, Any] = {"first_row_id": 0, "added_rows": 0} if self.table.version == 3 else {}
        self.table.commit(*self.records, **more)
        return self.table.open()

    def plan(self) -> dict[str, list[str]]:
        """The deletes of each data file."""
        rows = self.open().plan(columns=["file_path", "delete_files"]).to_arrow().to_pylist()
        return {row["file_path"]: [one["file_path"] for one in row["delete_files"]] for row in rows}


def adds(content: int, sequence: int, path: str, spec: int = 0, **values: Any) -> Callable[[Files], Files]:
    """What adds this file, to any table of them."""
    return lambda files: files.add(content, sequence, path, spec, **values)


def bounds_of(path: str) -> Record:
    return {"lower_bounds": {PATH: path.encode()}, "upper_bounds": {PATH: path.encode()}}


def test_position_deletes_by_partition(tmp_path: Path):
    files = Files(tmp_path).add(0, 1, "a1").add(0, 3, "a3").add(0, 4, "a4")
    files.add(0, 1, "b1", partition={"city": "b"}).add(1, 3, "d")
    # Of its own snapshot too, but of none that is younger.
    assert files.plan() == {"a1": ["d"], "a3": ["d"], "a4": [], "b1": []}


def test_position_deletes_by_the_bounds_of_their_paths(tmp_path: Path):
    files = Files(tmp_path).add(0, 1, "a1").add(0, 1, "a2").add(1, 2, "d", **bounds_of("a2"))
    assert files.plan() == {"a1": [], "a2": ["d"]}


def test_position_deletes_by_the_file_they_name(tmp_path: Path):
    files = Files(tmp_path, version=3).add(0, 1, "a1").add(0, 1, "a2")
    assert files.add(1, 2, "d", referenced_data_file="a1").plan() == {"a1": ["d"], "a2": []}


def test_a_real_table():
    rows = shared_table("v2_partitioned_pos_deletes").open().plan().to_arrow().to_pylist()
    assert any(row["delete_files"] for row in rows)
    for row in rows:
        assert all(one["content"] == 1 for one in row["delete_files"])
        assert all(row["sequence_number"] <= one["sequence_number"] for one in row["delete_files"])


def test_equality_deletes_spare_their_own_snapshot(tmp_path: Path):
    files = Files(tmp_path).add(0, 1, "a1").add(0, 3, "a3").add(0, 4, "a4")
    assert files.add(2, 3, "e", equality_ids=[1]).plan() == {"a1": ["e"], "a3": [], "a4": []}


@pytest.mark.parametrize("name", ["v2_eq_and_pos_deletes", "v2_eq_delete_partition_evolution"])
def test_real_tables(name: str):
    rows = shared_table(name).open().plan().to_arrow().to_pylist()
    deletes = [(row, one) for row in rows for one in row["delete_files"] if one["content"] == 2]
    assert deletes
    assert all(row["sequence_number"] < one["sequence_number"] for row, one in deletes)


@pytest.mark.parametrize("spec", [1, 2])
def test_equality_deletes_without_a_partition_are_of_all(tmp_path: Path, spec: int):
    files = Files(tmp_path).add(0, 1, "a1").add(0, 1, "b1", partition={"city": "b"}).add(0, 2, "late")
    assert files.add(2, 2, "e", spec, equality_ids=[1]).plan() == {"a1": ["e"], "b1": ["e"], "late": []}


def vector(data_file: str) -> Record:
    return {
        "file_format": "PUFFIN",
        "referenced_data_file": data_file,
        "content_offset": 4,
        "content_size_in_bytes": 42,
    }


def test_a_vector_replaces_position_deletes_but_not_equality_deletes(tmp_path: Path):
    files = Files(tmp_path, version=3).add(0, 1, "a1").add(0, 1, "a2")
    files.add(1, 2, "d").add(1, 3, "v.puffin", **vector("a1")).add(2, 3, "e", equality_ids=[1])
    assert files.plan() == {"a1": ["v.puffin", "e"], "a2": ["d", "e"]}


def test_two_vectors_of_one_file(tmp_path: Path):
    files = Files(tmp_path, version=3).add(0, 1, "a1")
    files.add(1, 2, "v.puffin", **vector("a1")).add(1, 3, "w.puffin", **vector("a1"))
    with pytest.raises(errors.CorruptError, match="a1"):
        files.plan()


def test_a_vector_that_is_older_than_its_file(tmp_path: Path):
    files = Files(tmp_path, version=3).add(0, 3, "a1").add(1, 2, "v.puffin", **vector("a1"))
    with pytest.raises(errors.CorruptError, match="a1"):
        files.plan()


def test_position_deletes_are_of_files_that_are_not_younger(tmp_path: Path):
    files = Files(tmp_path).add(0, 1, "older").add(0, 2, "same").add(0, 3, "younger").add(1, 2, "d")
    assert files.plan() == {"older": ["d"], "same": ["d"], "younger": []}


def test_equality_deletes_are_of_files_that_are_older(tmp_path: Path):
    files = Files(tmp_path).add(0, 1, "older").add(0, 2, "same").add(0, 3, "younger")
    assert files.add(2, 2, "e", equality_ids=[1]).plan() == {"older": ["e"], "same": [], "younger": []}


def test_only_equality_deletes_without_a_partition_are_of_all_specs(tmp_path: Path):
    files = Files(tmp_path).add(0, 1, "a1").add(0, 1, "whole", 1)
    files.add(2, 2, "e", 1, equality_ids=[1]).add(1, 2, "d", 1).add(2, 2, "f", equality_ids=[1])
    plan = {path: sorted(deletes) for path, deletes in files.plan().items()}
    assert plan == {"a1": ["e", "f"], "whole": ["d", "e"]}
