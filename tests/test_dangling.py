"""Deletes that apply to no live data file: `health` counts them apart, by the index of plans."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from covering import each_covering_iceberg_table, each_covering_paimon_table
from exchanging import exchanged
from paimon_made import ADD, DELETE
from paimon_made import MadeTable as PaimonTable
from paimon_made import entry as paimon_entry
from test_iceberg_checklist_deletes import Files, adds, bounds_of, vector
from test_verify_views import index_manifest
from trust import long_or

import lakebed
from lakebed.errors import CorruptError
from spark_rows import expected

COUNTS = (
    *("dangling_delete_file_count", "dangling_delete_record_count", "dangling_delete_size_in_bytes"),
    *("dangling_deletion_vector_count", "dangling_equality_delete_file_count", "deleted_record_ratio"),
)
WHICH = (
    *("content", "content_offset", "record_count", "file_size_in_bytes", "content_size_in_bytes"),
    "data_file_count",
)


def counted(table: lakebed.Table, **selection: Any) -> dict[str, Any]:
    (row,) = table.health(columns=COUNTS, **selection).to_arrow().to_pylist()
    return dict(row)


def by_plans(table: lakebed.Table, where: str | None = None) -> dict[str, Any]:
    """What the deletes come to of which it is known to how many data files they apply."""
    deletes = of_paimon(table, where) if table.format == "paimon" else of_iceberg(table, where)
    dangling = [delete for delete in deletes if delete["data_file_count"] == 0]
    applied = [delete for delete in deletes if delete["data_file_count"] > 0 and delete["content"] == 1]
    records = sum(table.partitions(where=where).to_arrow()["record_count"].to_pylist())
    sizes = [delete["content_size_in_bytes"] or delete["file_size_in_bytes"] for delete in dangling]
    ratio = sum(delete["record_count"] for delete in applied) / records if records else None
    numbers = (len(dangling), sum(delete["record_count"] for delete in dangling), sum(sizes))
    vectors = sum(one["content_offset"] is not None for one in dangling)
    equality = sum(one["content"] == 2 for one in dangling) if table.format == "iceberg" else None
    return dict(zip(COUNTS, (*numbers, vectors, equality, ratio), strict=True))


def of_iceberg(table: lakebed.Table, where: str | None) -> list[dict[str, Any]]:
    """By the index of plans."""
    return list(table.deletes(columns=WHICH, where=where).to_arrow().to_pylist())


def of_paimon(table: lakebed.Table, where: str | None) -> list[dict[str, Any]]:
    """By the paths of live files, whatever the filter leaves of them."""
    live = {*table.files(columns=["file_path"]).to_arrow()["file_path"].to_pylist()}
    columns = [*WHICH[:-1], "referenced_data_file"]
    rows = table.deletes(columns=columns, where=where).to_arrow().to_pylist()
    return [{**row, "data_file_count": int(row["referenced_data_file"] in live)} for row in rows]


def named(table: lakebed.Table) -> None:
    """The rows of `dangling_deletes` are the deletes that plans know of that apply to nothing."""
    deletes = (of_paimon if table.format == "paimon" else of_iceberg)(table, None)
    paths = table.deletes(columns=["file_path"]).to_arrow()["file_path"].to_pylist()
    kinds = {1: "position deletes", 2: "equality deletes"}
    expected = [
        {
            "file_path": path,
            "kind": kinds[one["content"]] if one["content_offset"] is None else "deletion vectors",
            **{name: one[name] for name in WHICH[1:-1]},
        }
        for path, one in zip(paths, deletes, strict=True)
        if one["data_file_count"] == 0
    ]
    scan = table.dangling_deletes()
    rows = scan.to_arrow()
    columns = ["file_path", "kind", *WHICH[1:-1]]
    assert rows.select(columns).to_pylist() == expected
    assert scan.schema == rows.schema
    assert rows.schema.names[-4:] == ["modified_at", "table_id", "planned_at", "plan"]
    assert set(rows["plan"].to_pylist()) <= {'{"view":"dangling_deletes"}'}
    of_vectors = table.dangling_deletes(columns=["file_path"], filter="kind = 'deletion vectors'", threads=1)
    vectors = [one["file_path"] for one in expected if one["kind"] == "deletion vectors"]
    assert of_vectors.to_arrow()["file_path"].to_pylist() == vectors
    assert table.dangling_deletes(limit=1).to_arrow().num_rows == min(1, len(expected))


def in_parts(table: lakebed.Table, parts: int) -> None:
    """The row of many processes is that of one."""
    scan = table.health()
    assert exchanged(scan, parts) == expected(scan)


@each_covering_iceberg_table()
def test_many_processes_find_the_same_in_iceberg_tables(table: Any) -> None:
    in_parts(table.open(), 3)


@each_covering_paimon_table(names=("*dv*", "*vector*"))
def test_many_processes_find_the_same_in_paimon_tables(table: Any) -> None:
    in_parts(lakebed.open_table(table.path), 3)


def check(files: Files, dangling: int, ratio: float) -> None:
    opened = files.open()
    found = counted(opened)
    assert found == by_plans(opened)
    assert (found["dangling_delete_file_count"], found["deleted_record_ratio"]) == (dangling, ratio)
    named(opened)
    for parts in (1, 4):
        in_parts(opened, parts)


CITY_B: Any = {"partition": {"city": "b"}}
PLACES: Any = ({}, CITY_B, {"spec": 1}, {"spec": 2})
IDS: Any = {"equality_ids": [1]}


def between(lower: int, upper: int) -> dict[str, Any]:
    """Metrics of the column `id`."""
    bounds = {
        name: {1: value.to_bytes(8, "little")}
        for name, value in (("lower_bounds", lower), ("upper_bounds", upper))
    }
    return {**bounds, "value_counts": {1: 5}, "null_value_counts": {1: 0}}


CASES: dict[str, tuple[Callable[[Files], Files], int, float]] = {
    "an older delete of the partition": (adds(1, 2, "d"), 1, 0),
    "one of the same commit": (adds(1, 3, "d"), 0, 1),
    "an equality delete of the same commit": (adds(2, 3, "e", **IDS), 1, 0),
    "a later equality delete": (adds(2, 4, "e", **IDS), 0, 0),
    "equality deletes of a partition without files": (adds(2, 4, "e", **CITY_B, **IDS), 1, 0),
    # A spec without fields is of no partition: its equality deletes are of all, its position deletes of none.
    "equality deletes of all": (adds(2, 4, "e", 1, **IDS), 0, 0),
    "equality deletes of another spec's partition": (adds(2, 4, "e", 2, **IDS), 0, 0),
    "position deletes of another spec": (adds(1, 4, "d", 1), 1, 0),
    "position deletes of one file, of another partition": (
        adds(1, 4, "d", referenced_data_file="a1", **CITY_B),
        0,
        1,
    ),
    "position deletes of one file, of another spec": (adds(1, 4, "d", 1, referenced_data_file="a1"), 0, 1),
    "position deletes of one file by its bounds": (adds(1, 4, "d", **bounds_of("a1")), 0, 1),
    "position deletes of a file that is gone": (adds(1, 4, "d", referenced_data_file="gone"), 1, 0),
    "the same by its bounds": (adds(1, 4, "d", **bounds_of("gone")), 1, 0),
    # Bounds that differ exclude nothing.
    "bounds of several files": (
        adds(1, 4, "d", lower_bounds={2147483546: b"x"}, upper_bounds={2147483546: b"z"}),
        0,
        1,
    ),
    "a vector": (adds(1, 3, "v", **vector("a1")), 0, 1),
    "a vector of a file that is gone": (adds(1, 3, "v", **vector("gone")), 1, 0),
    "a vector in the place of position deletes": (
        lambda files: files.add(1, 3, "d").add(1, 4, "v", record_count=1, **vector("a1")),
        1,
        0.2,
    ),
    "values that no file has": (adds(2, 4, "e", **IDS, **between(7, 9)), 1, 0),
    "values that a file may have": (adds(2, 4, "e", **IDS, **between(2, 9)), 0, 0),
    "a column without metrics": (adds(2, 4, "e", equality_ids=[2], **between(7, 9)), 0, 0),
    "a column that no schema has": (adds(2, 4, "e", equality_ids=[77]), 0, 0),
}


@pytest.mark.parametrize("case", CASES)
def test_by_what_a_delete_applies_to(case: str, tmp_path: Path) -> None:
    add, dangling, ratio = CASES[case]
    check(add(Files(tmp_path, version=3).add(0, 3, "a1", **between(1, 5))), dangling, ratio)


def test_deletes_of_a_table_without_files(tmp_path: Path) -> None:
    row = counted(Files(tmp_path).add(1, 4, "d").add(2, 4, "e", 1, equality_ids=[1]).open())
    assert row["dangling_delete_file_count"] == 2
    assert row["deleted_record_ratio"] is None


@pytest.mark.parametrize(
    "add",
    [
        lambda files: files.add(1, 2, "v", **vector("a1")),
        lambda files: files.add(1, 3, "v", **vector("a1")).add(1, 4, "w", **vector("a1")),
        lambda files: files.add(1, 3, "v", file_format="PUFFIN"),
        lambda files: files.add(2, 4, "e", equality_ids=[]),
    ],
    ids=["older vector", "two vectors", "no file", "no columns"],
)
def test_what_plans_refuse_is_not_dangling(add: Callable[[Files], Files], tmp_path: Path) -> None:
    opened = add(Files(tmp_path, version=3).add(0, 3, "a1")).open()
    with pytest.raises(CorruptError):
        opened.plan().to_arrow()
    assert counted(opened)["dangling_delete_file_count"] == 0
    assert opened.dangling_deletes().to_arrow().num_rows == 0
    in_parts(opened, 2)


def test_a_filter_leaves_out_no_file_that_a_delete_applies_to(tmp_path: Path) -> None:
    files = (
        Files(tmp_path, version=3).add(0, 3, "a1", **between(1, 5)).add(0, 3, "b1", **CITY_B, **between(6, 9))
    )
    files.add(1, 4, "d").add(1, 4, "v", **vector("b1")).add(2, 4, "e", 1, **IDS).add(
        1, 4, "w", **vector("gone")
    )
    opened = files.open()
    for where, dangling in (("id > 5", 1), ("city = 'a'", 1), ("city = 'b'", 0), ("city = 'c'", 0)):
        found = counted(opened, where=where)
        assert found["dangling_delete_file_count"] == dangling, where
        assert found == by_plans(opened, where), where
        # One process compares the deletes with more files than the filter leaves.
        assert opened.health(where=where).job(lakebed.view.Bounds()) is None


def test_lakebed_itself_removes_them(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    data = f"{tmp_path}/t/data"
    files = (
        Files(tmp_path, version=3).add(0, 3, f"{data}/a1").add(1, 4, f"{data}/live").add(1, 2, f"{data}/old")
    )
    files.add(1, 4, f"{data}/of", referenced_data_file="gone").add(2, 3, f"{data}/e", **IDS)
    files.add(1, 4, f"{data}/v", **vector("gone"))
    opened = files.open()
    (found,) = (one for one in opened.health().findings() if one["column"] == "dangling_delete_file_count")
    assert found["what"].startswith("4 of 5 delete files and vectors (")
    exec("\n".join(found["calls"]["python"]), {})
    left = opened.refresh().deletes(columns=["file_path", "data_file_count"]).to_arrow().to_pylist()
    assert left == [{"file_path": f"{data}/live", "data_file_count": 1}]


def test_vectors_of_paimon_whose_file_is_gone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made = PaimonTable(tmp_path / "p", ("id", "INT"))
    made.commit(paimon_entry(ADD, "a", row_count=4), paimon_entry(ADD, "b", row_count=4))
    made.commit(paimon_entry(DELETE, "b"))
    index_manifest(made, ("a", 1, 20), ("b", 30, 20), ("gone", 50, 30))
    opened = lakebed.open_table(made.root)
    found = counted(opened)
    assert found == by_plans(opened) == dict(zip(COUNTS, (2, 2, 50, 2, None, 0.25), strict=True))
    assert found == counted(opened, where="id = 1")
    named(opened)
    in_parts(opened, 3)
    (one,) = (one for one in opened.health().findings() if one["column"] == "dangling_delete_file_count")
    monkeypatch.chdir(tmp_path)
    exec("\n".join(one["calls"]["python"]), {})
    assert counted(opened.refresh())["dangling_delete_file_count"] == 0


def test_other_columns_read_no_deletes(tmp_path: Path) -> None:
    files = Files(tmp_path).add(0, 3, "a1").add(1, 4, "d")
    opened = files.open()
    (path,) = opened.manifests(filter="content = 1").to_arrow()["path"].to_pylist()
    Path(path).unlink()
    assert opened.health(columns=["manifest_count"]).schema.names == ["manifest_count"]


def random_files(seed: int, folder: Path, *, foreign: bool, prefix: str = "") -> Files:
    """Args: foreign, whether deletes of one file each may be of another spec or partition than that; prefix,
    what the paths of files begin with.
    """
    chance = random.Random(seed)
    files, places = Files(folder, version=3), dict[str, Any]()
    for number in range(chance.randint(1, 6)):
        path, where = f"{prefix}f{number}", chance.choice(PLACES)
        places[path] = where
        files.add(0, chance.randint(1, 5), path, **where, **some_values(chance))
    vectors = [*places, "gone", "lost"]
    for number in range(chance.randint(1, 25)):
        sequence, name, where = chance.randint(1, 6), f"{prefix}d{number}", chance.choice(PLACES)
        kind = chance.choice(("partition", "file", "bounds", "vector", "equality", "equality"))
        target = chance.choice([*places, "gone"])
        if kind == "vector":
            if not vectors:
                continue
            # Each has one at most, which is not older.
            sequence, target = 6, vectors.pop(chance.randrange(len(vectors)))
        if kind in ("vector", "file", "bounds") and not foreign:
            where = places.get(target, where)
        if kind == "equality":
            ids = chance.choice(([1], [1, 2], [2]))
            files.add(2, sequence, name, **where, equality_ids=ids, **some_values(chance))
        else:
            of = {
                "vector": vector(target),
                "file": {"referenced_data_file": target},
                "bounds": bounds_of(target),
            }
            files.add(1, sequence, name, **where, **of.get(kind, {}))
    return files


def some_values(chance: random.Random) -> dict[str, Any]:
    return between(*sorted((chance.randint(0, 9), chance.randint(0, 9)))) if chance.random() < 0.7 else {}


@pytest.mark.parametrize("seed", long_or(range(12), range(300)))
def test_random_tables(seed: int, tmp_path: Path) -> None:
    opened = random_files(seed, tmp_path, foreign=True).open()
    assert counted(opened) == by_plans(opened)
    named(opened)
    for where in ("city = 'a'", "id > 4"):
        assert counted(opened, where=where) == by_plans(opened, where)
    in_parts(opened, 3)
