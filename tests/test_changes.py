"""What came and went between snapshots, the same of both formats: places, filters, and the order of rows."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pyarrow as pa

import lakebed
from iceberg_answers import assert_same_rows


def assert_one_order(
    table: lakebed.Table, one: int, other: int, rows: Callable[[pa.Table], list[Any]]
) -> None:
    """A diff has its rows in one order, however many threads read it, and counts what it kept."""
    whole = table.diff(one, other).to_arrow()
    assert whole.schema.names == ["change", *table.files().schema.names]
    assert whole["change"].to_pylist() == sorted(whole["change"].to_pylist(), reverse=True)
    for threads in (1, 2, 5):
        again = table.diff(one, other, threads=threads).to_arrow()
        assert again.schema == whole.schema
        assert_same_rows(rows(again), rows(whole), f"{table.location}, {threads} threads")
    few = table.diff(one, other, columns=["file_path", "change"], limit=3)
    assert few.to_arrow().equals(whole.select(["file_path", "change"]).slice(0, 3))
    manifests, files = table.diff(one, other).explain().to_dict()["steps"]
    assert (files["kept"], manifests["kept"] <= manifests["total"]) == (len(whole), True)


def test_tags_and_branches_are_places(sample: lakebed.Table) -> None:
    tag = sample.at(tag="first-load")
    assert tag.snapshot_id is not None
    by_name, by_id = sample.diff("first-load", "main"), sample.diff(tag.snapshot_id, sample.snapshot_id or 0)
    assert by_name.to_arrow().equals(by_id.to_arrow())
    assert by_name.to_arrow().num_rows > 0
    assert sample.appends("first-load").to_arrow().equals(sample.appends(tag.snapshot_id).to_arrow())
    assert sample.appends(sample.snapshot_id).to_arrow().num_rows == 0


def test_where_keeps_what_files_of_both_keep(sample: lakebed.Table) -> None:
    other = "region <> 'emea'" + (" and bucket = 1" if sample.format == "paimon" else "")
    for where in ("region = 'emea'", other, "region is null", "true"):
        kept = {
            place: {row["file_path"] for row in at.files(where=where).to_arrow().to_pylist()}
            for place, at in (("a", sample.at(tag="first-load")), ("b", sample.at(branch="main")))
        }
        read = sample.diff("first-load", "main", where=where, stats=["amount"])
        assert read.schema.names[-1] == "stats"
        found = {(row["change"], row["file_path"]) for row in read.to_arrow().to_pylist()}
        expected = {("removed", path) for path in kept["a"] - kept["b"]}
        expected |= {("added", path) for path in kept["b"] - kept["a"]}
        # Of Paimon a file that moves to another level is removed and added.
        moved = {path for _, path in found if {("removed", path), ("added", path)} <= found}
        assert not moved or sample.format == "paimon"
        assert {one for one in found if one[1] not in moved} == expected
