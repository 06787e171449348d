"""Snapshots whose lists are gone are removed, unless something needs them, and readers see the same rows."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
import small_tables
from pypaimon_tables import paimon_append, paimon_orders
from test_cleaning_repair import cut, ids, orders, outcomes, planned, said
from test_cleaning_repair_rebuilt import broken, found, lists

import lakebed
from lakebed import Table
from lakebed.cleaning import repairing
from lakebed.errors import CommitConflictError, UnsupportedError

__all__ = ["orders"]


def named(table: Table) -> list[tuple[int, int | None, int | None]]:
    """Which snapshots can be removed, by their places among all, with what that changes."""
    all_ = table.snapshots().to_arrow()["snapshot_id"].to_pylist()
    rows = planned(table, "snapshots").to_pylist()
    return [(all_.index(row["snapshot_id"]), row["rows_lost"], row["rows_back"]) for row in rows]


@pytest.mark.parametrize("break_", [cut, Path.unlink])
def test_snapshots_of_pyiceberg(
    break_: Callable[[Path], None], orders: tuple[Any, Table], tmp_path: Path
) -> None:
    catalog, table = orders
    for list_ in lists(table)[:3]:
        break_(list_)
    snapshots = table.snapshots().to_arrow()["snapshot_id"].to_pylist()
    catalog.load_table("db.orders").manage_snapshots().create_tag(snapshots[1], "kept").commit()
    table = table.refresh()
    assert named(table) == [(0, 0, 0), (1, None, None), (2, 0, 0)]
    rows = planned(table, "snapshots")
    assert said(rows)[0][1] == lists(table)[0].name
    done = lakebed.apply(rows, table, log=tmp_path / "log")
    assert done.counts == {"repaired": 2, "kept": 1}
    assert ("snapshots", "kept", repairing.UNKNOWN) in outcomes(done)
    theirs = catalog.load_table("db.orders")
    assert {one.snapshot_id for one in theirs.metadata.snapshots} == {snapshots[1], snapshots[3]}
    assert ids(catalog) == set(range(40))
    assert [one[1] for one in named(done.table)] == [None]
    theirs.append(pa.table({"id": pa.array([99], pa.int64())}))
    assert ids(catalog) == {*range(40), 99}


def test_a_snapshot_that_is_tagged_since_it_was_planned(tmp_path: Path) -> None:
    table = small_tables.iceberg(tmp_path / "t", "a.parquet", "b.parquet")
    lists(table)[0].unlink()
    rows = planned(table, "snapshots")
    table.create_tag("kept", at=rows["snapshot_id"][0].as_py())
    with pytest.raises(CommitConflictError, match='"kept" names snapshot'):
        repairing._repair(table, "snapshots", rows.to_pylist())
    done = lakebed.apply(rows, table, log=tmp_path / "log")
    assert outcomes(done) == [("snapshots", "kept", repairing.UNKNOWN)]
    assert done.table.snapshots().to_arrow().num_rows == 2


def test_snapshots_whose_files_other_tables_may_have(tmp_path: Path) -> None:
    table = small_tables.iceberg(tmp_path / "t", "a.parquet", "b.parquet", **{"gc.enabled": "false"})
    lists(table)[0].unlink()
    assert named(table) == [(0, None, None)]
    with pytest.raises(UnsupportedError, match=r"gc\.enabled is false"):
        repairing._repair(table, "snapshots", planned(table, "snapshots").to_pylist())


def test_snapshots_and_the_list_of_the_current_one(tmp_path: Path) -> None:
    """In one run: the list is made anew, and the snapshot that has the old one goes."""
    table = small_tables.iceberg(tmp_path / "t", "a.parquet", "b.parquet", "c.parquet")
    before = table.files(columns=["file_path"]).to_arrow().to_pylist()
    lists(table)[-1].unlink()
    lists(table)[0].unlink()
    rows = planned(table, "lists", "snapshots")
    assert [kind for kind, *_ in said(rows)] == ["lists", "snapshots"]
    done = lakebed.apply(rows, table, log=tmp_path / "log")
    assert done.counts == {"repaired": 2}
    # What was the current one is no row of the plan.
    assert named(done.table) == [(1, 0, 0)]
    done = lakebed.apply(planned(done.table, "snapshots"), done.table, log=tmp_path / "log2")
    # What only they reached is an orphan: no data file is.
    assert {Path(path).parent.name for path in small_tables.found(done.table.orphans(None))} == {"metadata"}
    files = done.table.files(columns=["file_path"]).to_arrow().to_pylist()
    assert sorted(map(repr, files)) == sorted(map(repr, before))


def without_lists(folder: Path, *gone: int) -> Table:
    """A Paimon table of five snapshots, without the lists of some, whose tables stay at theirs."""
    table = small_tables.paimon(folder, *(f"bucket-0/{name}.parquet" for name in "abcde"))
    for number in gone:
        broken(table.at(snapshot=number), "base" if number % 2 else "delta")
    return table


def test_snapshots_of_paimon(tmp_path: Path) -> None:
    table = without_lists(tmp_path / "p", 1, 2, 4)
    before = found(table)
    # Streams go from one to the next.
    assert named(table) == [(0, 0, 0), (1, 0, 0), (3, None, None)]
    rows = planned(table, "snapshots")
    with pytest.raises(CommitConflictError, match=r"snapshots \[2\] are not the first of those that can"):
        lakebed.apply(rows.slice(1, 1), table, log=tmp_path / "second")
    done = lakebed.apply(rows, table, log=tmp_path / "log")
    assert done.counts == {"repaired": 2, "kept": 1}
    folder = tmp_path / "p" / "snapshot"
    assert {file.name for file in folder.glob("snapshot-*")} == {f"snapshot-{one}" for one in (3, 4, 5)}
    assert ((folder / "EARLIEST").read_text(), (folder / "LATEST").read_text()) == ("3", "5")
    assert found(done.table) == before
    assert done.table.repair_plan().to_arrow().num_rows == 0
    assert named(done.table) == [(1, None, None)]


def test_some_of_the_snapshots_of_paimon(tmp_path: Path) -> None:
    table = without_lists(tmp_path / "p", 1, 2)
    done = lakebed.apply(planned(table, "snapshots").slice(0, 1), table, log=tmp_path / "log")
    assert done.counts == {"repaired": 1}
    assert named(done.table) == [(0, 0, 0)]


def _consumed(table: Table) -> None:
    folder = Path(table.location, "consumer")
    folder.mkdir()
    (folder / "consumer-c").write_text(json.dumps({"nextSnapshot": 2}))


NEEDS: dict[str, tuple[Callable[[Table], object], list[int | None]]] = {
    "a tag": (lambda table: table.create_tag("t", at=2), [0, None, None]),
    "a consumer": (_consumed, [0, None, None]),
    "a branch": (lambda table: (table.create_tag("t", at=1), table.create_branch("b", at="t")), [None] * 3),
}


@pytest.mark.parametrize("what", NEEDS)
def test_snapshots_of_paimon_that_are_needed(what: str, tmp_path: Path) -> None:
    table = without_lists(tmp_path / "p")
    change, expected = NEEDS[what]
    change(table)
    for number in (1, 2, 3):
        broken(table.at(snapshot=number), "delta")
    assert [one[1] for one in named(table)] == expected
    done = lakebed.apply(planned(table, "snapshots"), table, log=tmp_path / "log")
    kept = sorted(outcomes(done))
    assert kept == sorted(
        ("snapshots", "repaired", None) if one == 0 else ("snapshots", "kept", repairing.UNKNOWN)
        for one in expected
    )
    assert done.table.snapshots().to_arrow().num_rows == 5 - expected.count(0)


def test_snapshots_of_pypaimon(tmp_path: Path) -> None:
    theirs = paimon_orders(tmp_path / "lake", commits=3)
    table = lakebed.open_table(tmp_path / "lake" / "db.db" / "orders")

    def rows() -> int:
        read = theirs.new_read_builder()
        return int(read.new_read().to_arrow(read.new_scan().plan().splits()).num_rows)

    broken(table.at(snapshot=1), "base", "delta")
    done = lakebed.apply(planned(table, "snapshots"), table, log=tmp_path / "log")
    assert done.counts == {"repaired": 1}
    assert rows() == 9
    paimon_append(theirs)
    assert rows() == 12
