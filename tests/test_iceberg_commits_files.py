"""Files that come and go in Iceberg tables: what they leave behind, and what they refuse."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from file_rows import file_rows
from iceberg_commits import SCHEMA, as_pyiceberg, empty, files, live, metadata, metadata_names

import lakebed
from lakebed.errors import CommitConflictError, SchemaError, SnapshotNotFoundError, UnsupportedError


def deletes(**columns: Any) -> pa.Table:
    return file_rows("data/d.parquet", **{"content": 1, "record_count": 2, **columns})


def vector(target: str = "a", **columns: Any) -> pa.Table:
    own = {
        "file_path": "data/v.puffin",
        "referenced_data_file": f"data/{target}.parquet",
        "content_offset": 4,
        "content_size_in_bytes": 40,
    }
    return deletes(**(own | columns))


@pytest.fixture(params=["v2", "catalog"])
def made(request: pytest.FixtureRequest, tmp_path: Path) -> lakebed.Table:
    """A table with the files `a` and `b`; without a catalog, or in one of PyIceberg."""
    table = empty(tmp_path, request.param)
    return table.append_files(files("a", "b"))


def plan(table: lakebed.Table) -> dict[str, list[str]]:
    """The live files, each with the deletes that apply."""
    rows = table.plan(columns=["file_path", "delete_files"]).to_arrow().to_pylist()
    return {
        Path(row["file_path"]).stem: [Path(one["file_path"]).stem for one in row["delete_files"]]
        for row in rows
    }


def summary(table: lakebed.Table) -> dict[str, str]:
    (row,) = table.snapshots(filter=f"snapshot_id = {table.snapshot_id}").to_arrow().to_pylist()
    return dict(row["summary"]) | {"operation": row["operation"]}


def test_files_come_and_go_and_rows_are_deleted(made: lakebed.Table):
    equality = deletes(content=2, equality_ids=IDS)
    table = made.add_deletes(files=files("c"), deletes=equality)
    assert plan(table) == {"a": ["d"], "b": ["d"], "c": []}
    assert summary(table)["operation"] == "overwrite"
    table = table.overwrite_files(
        files("e"), removed=files("a"), options=lakebed.CommitOptions(properties={"who": "me"})
    )
    assert (plan(table), summary(table)["who"]) == ({"b": ["d"], "c": [], "e": []}, "me")
    table = table.replace_files(["data/b.parquet"], files("f"), data_sequence_number=1)
    assert plan(table) == {"c": [], "e": [], "f": ["d"]}
    if not Path(table.location, "metadata", "version-hint.text").exists():
        return  # PyIceberg's catalogs, of which version 0.12 commits to no table of version 3.
    table = table.upgrade(3)
    table = table.add_deletes(deletes=vector("c"), removed_deletes=["data/d.parquet"])
    assert plan(table) == {"c": ["v"], "e": [], "f": []}
    newer = vector("c", file_path="data/w.puffin", record_count=3)
    table = table.add_deletes(deletes=newer)
    assert plan(table) == {"c": ["w"], "e": [], "f": []}
    assert summary(table)["removed-dvs"] == "1"
    table = table.delete_files(["data/c.parquet"])
    assert plan(table) == {"e": [], "f": []}
    theirs = as_pyiceberg(table).inspect.files()["file_path"].to_pylist()
    assert sorted(Path(path).stem for path in theirs) == ["e", "f"]


def test_what_others_have_done_meanwhile_is_a_conflict(made: lakebed.Table):
    made.append_files(files("c"))
    with pytest.raises(CommitConflictError, match=r"c\.parquet.* was added meanwhile") as caught:
        made.overwrite_files(files("d"), removed=["data/a.parquet"])
    assert (caught.value.kind, caught.value.retryable) == ("conflict", False)
    table = made.overwrite_files(files("d"), removed=["data/a.parquet"], isolation="snapshot")
    assert set(plan(table)) == {"b", "c", "d"}
    table = made.overwrite_files(
        files("e"), removed=["data/b.parquet"], conflict_where="id = 1", isolation=None
    )
    assert set(plan(table)) == {"c", "d", "e"}


Change = Callable[[lakebed.Table], object]


def deleting(files: pa.Table, **how: Any) -> Change:
    return lambda t: t.add_deletes(deletes=files, **how)


Refused = tuple[Change, type[Exception], str, str | None]


def refused(change: Change, words: str, field: str | None, error: type[Exception] = SchemaError) -> Refused:
    """A change, and the words, the field and the class of its error."""
    return change, error, words, field


IDS = pa.array([[1]], pa.list_(pa.int32()))
NO_OFFSET, NO_FILE = pa.nulls(1, pa.int64()), pa.nulls(1, pa.string())
NO_ISOLATION: Any = "none"
FILE, A = "referenced_data_file", ["data/a.parquet"]
V2 = [
    refused(deleting(deletes(content=0)), "has content 1", "content"),
    refused(deleting(deletes(content=2)), "ids of the col", "equality_ids"),
    refused(deleting(deletes(equality_ids=IDS)), "other files must have none", "equality_ids"),
    refused(deleting(vector()), "no deletion vectors", "content", UnsupportedError),
    refused(deleting(vector(content_offset=NO_OFFSET)), "offset and size of its bytes", "content_offset"),
    refused(deleting(vector(referenced_data_file=NO_FILE)), "one data file", FILE),
    refused(deleting(deletes(referenced_data_file="data/x")), "not a live file", FILE),
    refused(deleting(deletes(referenced_data_file=A[0]), removed=A), "cannot have new deletes", FILE),
    refused(lambda t: t.add_deletes(removed_deletes=["data/x"]), "not a live file", "file_path"),
    refused(lambda t: t.add_deletes(files=deletes()), "a delete file among", "content"),
    refused(lambda t: t.overwrite_files(removed=["data/x"]), "not a live file", "file_path"),
    refused(lambda t: t.overwrite_files(where="id = 1"), "some rows", "file_path", UnsupportedError),
    refused(lambda t: t.overwrite_files(where="x = 1"), "x", "x", lakebed.LakebedError),
    refused(lambda t: t.replace_files(A, files("y", "z")), "more rows", "record_count"),
    refused(lambda t: t.replace_files([], files("y")), "nothing to replace", None),
    refused(
        lambda t: t.replace_files(A, files("y"), data_sequence_number=2),
        "must be 0 to 1",
        "data_sequence_number",
    ),
    refused(lambda t: t.overwrite_files(removed=A, isolation=NO_ISOLATION), "isolation", None, ValueError),
]


def test_what_does_not_fit_is_refused_before_anything_is_written(tmp_path: Path):
    table = lakebed.create_table(tmp_path / "t", SCHEMA, "iceberg").append_files(files("a", "b"))
    before = metadata_names(table)
    for change, error, message, field in V2:
        with pytest.raises(error, match=message) as caught:
            change(table)
        assert getattr(caught.value, "field", None) == field
    assert metadata_names(table) == before
    table = table.upgrade(3).add_deletes(deletes=vector())
    before = metadata_names(table)
    of_version_3: list[tuple[Change, type[Exception], str]] = [
        (lambda t: t.add_deletes(deletes=deletes()), UnsupportedError, "only be added as deletion vectors"),
        (lambda t: t.add_deletes(deletes=vector(record_count=1)), SchemaError, "marks 1 rows"),
        (lambda t: t.add_deletes(removed_deletes=["data/v.puffin"]), UnsupportedError, "removed with its"),
        (
            lambda t: t.add_deletes(deletes=pa.concat_tables([vector(), vector(content_offset=50)])),
            SchemaError,
            "two new deletion vectors",
        ),
    ]
    for wrong, error, message in of_version_3:
        with pytest.raises(error, match=message):
            wrong(table)
    assert metadata_names(table) == before


def test_a_large_manifest_becomes_several_and_small_ones_one(tmp_path: Path):
    small = {"commit.manifest.target-size-bytes": "8000"}
    table = lakebed.create_table(tmp_path / "t", SCHEMA, "iceberg", properties=small)
    many = [f"{number:04}" for number in range(4000)]
    table = table.append_files(files(*many))
    sizes = table.manifests().to_arrow()["length"].to_pylist()
    assert len(sizes) > 1
    assert max(sizes) < 10_000
    rules = {"commit.manifest.min-count-to-merge": "4"}
    table = lakebed.create_table(tmp_path / "u", SCHEMA, "iceberg", properties=rules)
    counts = []
    for number in range(8):
        table = table.append_files(files(str(number)), merge=number != 3)
        counts.append(table.manifests().to_arrow().num_rows)
    assert counts == [1, 2, 3, 4, 1, 2, 3, 1]
    assert live(table) == [f"data/{number}.parquet" for number in range(8)]
    entries = table.entries(columns=["file_path", "status", "sequence_number"]).to_arrow().to_pylist()
    assert {int(Path(row["file_path"]).stem) + 1: row["sequence_number"] for row in entries} == {
        n: n for n in range(1, 9)
    }
    assert sum(row["status"] == 1 for row in entries) == 1


def test_an_append_is_picked(made: lakebed.Table):
    aside = made.create_branch("aside").append_files(
        files("c"), options=lakebed.CommitOptions(properties={"wap.id": "w"})
    )
    picked = aside.snapshot_id
    assert picked is not None
    table = made.append_files(files("d"))
    table = table.cherry_pick(picked)
    assert set(plan(table)) == {"a", "b", "c", "d"}
    said = summary(table)
    assert (said["source-snapshot-id"], said["published-wap-id"]) == (str(picked), "w")
    for again in (picked, made.snapshot_id):
        with pytest.raises(SchemaError, match="already"):
            table.cherry_pick(again or 0)
    with pytest.raises(SnapshotNotFoundError):
        table.cherry_pick(1)
    head = table.snapshot_id
    other = table.create_branch("other")
    other = other.delete_files(["data/a.parquet"])
    moved = table.cherry_pick(other.snapshot_id or 0)
    assert (moved.snapshot_id, set(plan(moved))) == (other.snapshot_id, {"b", "c", "d"})
    back = moved.rollback_to(head or 0).table.append_files(files("e"))
    with pytest.raises(UnsupportedError, match="is not an append"):
        back.cherry_pick(other.snapshot_id or 0)


def test_statistics_are_named(tmp_path: Path):
    table = lakebed.create_table(tmp_path / "t", SCHEMA, "iceberg").append_files(files("a"))
    blob = {"type": "apache-datasketches-theta-v1", "snapshot-id": table.snapshot_id, "sequence-number": 1}
    given = {
        "snapshot-id": table.snapshot_id,
        "statistics-path": "/s/1.puffin",
        "file-size-in-bytes": 9,
        "file-footer-size-in-bytes": 4,
        "blob-metadata": [blob | {"fields": [1]}],
    }
    table = table.set_statistics(given)
    table = table.set_statistics(given | {"statistics-path": "/s/2.puffin"})
    of_partitions = {key: given[key] for key in ("snapshot-id", "statistics-path", "file-size-in-bytes")}
    table = table.set_statistics(of_partitions, of_partitions=True)
    now = metadata(table)
    assert [one["statistics-path"] for one in now["statistics"]] == ["/s/2.puffin"]
    assert now["partition-statistics"] == [of_partitions]
    for wrong in (of_partitions, given | {"snapshot-id": 1}, given | {"file-size-in-bytes": "x"}):
        with pytest.raises(SchemaError) as caught:
            table.set_statistics(wrong)
        assert caught.value.field == "statistics"
    table = table.remove_statistics(table.snapshot_id or 0)
    table = table.remove_statistics(table.snapshot_id or 0, of_partitions=True)
    assert (metadata(table)["statistics"], metadata(table)["partition-statistics"]) == ([], [])
