"""Plans whose deletes and data files come together elsewhere are those of one process, and refuse the same.

What executors run is run here, in several parts; how Spark moves rows between them is tested in `spark/`.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from covering import each_covering_iceberg_table
from exchanging import exchanged
from test_iceberg_checklist_deletes import Files, adds, bounds_of, vector

import lakebed
from iceberg_golden import GoldenTable
from lakebed import errors
from lakebed.view import ViewScan
from spark_rows import expected

PARTS = (1, 2, 5, 16)


def in_parts(scan: ViewScan, parts: int) -> list[str]:
    """Deletes are moved to parts, however few there are."""
    return exchanged(scan, parts, delete_bytes=0)


@each_covering_iceberg_table()
def test_plans_are_those_of_one_process(table: GoldenTable):
    opened = table.open()
    for scan in (opened.plan(), opened.plan(columns=["file_path", "delete_files"]), opened.plan(columns=[])):
        rows = expected(scan)
        for parts in PARTS:
            assert in_parts(scan, parts) == rows, parts


FOREIGN = {
    "a vector of another partition": adds(1, 2, "v.puffin", partition={"city": "b"}, **vector("a1")),
    "a vector of another spec": adds(1, 2, "v.puffin", 1, **vector("a1")),
    "a vector of a file of another spec": adds(1, 2, "v.puffin", **vector("whole")),
    "position deletes of another partition": adds(
        1, 2, "d", partition={"city": "b"}, referenced_data_file="a1"
    ),
    "position deletes of another partition by their bounds": adds(
        1, 2, "d", partition={"city": "b"}, **bounds_of("a1")
    ),
    "position deletes of another spec": adds(1, 2, "d", 2, referenced_data_file="a1"),
    "position deletes of a file of another spec": adds(1, 2, "d", referenced_data_file="whole"),
}
"""Deletes of one file each whose partition or spec is not that of the file."""


def some(folder: Path) -> Files:
    """Data files in both cities and without one, and a delete of each kind that applies to one of them."""
    files = Files(folder, version=3).add(0, 1, "a1").add(0, 1, "b1", partition={"city": "b"})
    files.add(0, 1, "whole", 1).add(0, 1, "a2").add(1, 2, "v2.puffin", **vector("a2"))
    files.add(1, 2, "d1", partition={"city": "b"}, referenced_data_file="b1")
    return files.add(2, 2, "e1", partition={"city": "b"}, equality_ids=[1]).add(1, 2, "d2", 1)


def deletes_of(table: lakebed.Table) -> ViewScan:
    return table.plan(columns=["file_path", "delete_files"])


@pytest.mark.parametrize("foreign", FOREIGN)
def test_deletes_of_another_partition_apply_and_are_refused_where_parts_would_lose_them(
    tmp_path: Path, foreign: str
):
    files = some(tmp_path)
    scan = deletes_of(files.open())
    assert all(in_parts(scan, parts) == expected(scan) for parts in PARTS)
    table = FOREIGN[foreign](files).open()
    scan = deletes_of(table)
    deleted = "whole" if "of a file" in foreign else "a1"
    (deletes,) = [row["delete_files"] for row in scan.to_arrow().to_pylist() if row["file_path"] == deleted]
    assert files.records[-1]["manifest_path"] in [
        row["path"] for row in table.verify(filter="kind = 'mismatch'").to_arrow().to_pylist()
    ]
    assert {one["file_path"] for one in deletes} & {"v.puffin", "d"}
    for parts in PARTS:
        if parts == 1:
            assert in_parts(scan, parts) == expected(scan)
            continue
        with pytest.raises(errors.UnsupportedError, match=f"{deleted} alone is of another spec or partition"):
            in_parts(scan, parts)


@pytest.mark.parametrize("partition", ["a", "b"])
def test_two_vectors_of_one_file_are_refused_in_parts(tmp_path: Path, partition: str):
    files = some(tmp_path).add(1, 2, "v.puffin", **vector("a1"))
    scan = deletes_of(files.add(1, 2, "w.puffin", partition={"city": partition}, **vector("a1")).open())
    for parts in PARTS:
        with pytest.raises(errors.CorruptError, match="more than one deletion vector"):
            in_parts(scan, parts)


def test_deletes_that_would_not_apply_may_be_of_any_partition(tmp_path: Path):
    files = some(tmp_path).add(0, 5, "young")
    # Of files that are gone or younger, or whose deletion vector takes the place of all position deletes.
    for name, path in [("gone", "gone"), ("older", "young"), ("replaced", "a2")]:
        files.add(1, 2, name, partition={"city": "b"}, referenced_data_file=path)
    scan = deletes_of(files.open())
    rows = expected(scan)
    assert all(in_parts(scan, parts) == rows for parts in PARTS)
