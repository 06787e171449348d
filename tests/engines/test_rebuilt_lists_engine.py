"""The engines as judges of lists that were made anew, and of snapshots that were removed."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest
import small_tables
from java_engine import EngineError
from test_cleaning_repair_rebuilt import broken, lists

import lakebed

if TYPE_CHECKING:
    from java_engine import JavaEngine

pytestmark = [pytest.mark.jvm, pytest.mark.filterwarnings("ignore::lakebed.errors.LakebedWarning")]


def repaired(table: lakebed.Table, log: Path, kind: str) -> lakebed.Table:
    done = lakebed.apply(table.repair_plan([kind]).to_arrow(), table, log=log)
    assert done.counts["repaired"] == 1
    return done.table


@pytest.mark.parametrize("format_version", [1, 2, 3])
def test_iceberg_reads_a_list_that_was_made_anew(
    format_version: int, tmp_path: Path, iceberg_java: JavaEngine
):
    """Of a commit that adds a file and removes another; and commits to it."""

    def ids() -> list[int]:
        return sorted(map(int, iceberg_java.ask("rows", table=tmp_path / "t", column="id")))

    names = (f"{number}.parquet" for number in range(3))
    table = small_tables.iceberg(tmp_path / "t", *names, **{"format-version": str(format_version)})
    more = lakebed.describe_file(table, small_tables.data(tmp_path / "t", "4.parquet"), small_tables.ROWS)
    table = table.overwrite_files(more, removed=[str(tmp_path / "t" / "0.parquet")])
    assert ids() == [1, 1, 1, 2, 2, 2]
    lists(table)[-1].unlink()
    with pytest.raises(EngineError):
        ids()
    table = repaired(table, tmp_path / "log", "lists")
    assert ids() == [1, 1, 1, 2, 2, 2]
    table = small_tables.added(table, small_tables.data(tmp_path / "t", "more.parquet"))
    assert ids() == [1, 1, 1, 1, 2, 2, 2, 2]
    repaired(table, tmp_path / "log2", "snapshots")
    assert ids() == [1, 1, 1, 1, 2, 2, 2, 2]


@pytest.mark.parametrize("keyed", [False, True])
@pytest.mark.parametrize("roles", [("base",), ("delta",), ("base", "delta")], ids="-".join)
def test_paimon_reads_lists_that_were_made_anew(
    roles: tuple[str, ...], keyed: bool, tmp_path: Path, paimon_java: JavaEngine
):
    """And commits to it, and expires what is left."""
    root = tmp_path / "p"

    def ids() -> list[int]:
        return sorted(int(row["id"]) for row in paimon_java.ask("rows", table=root))

    lakebed.create_table(
        root,
        small_tables.ROWS.schema,
        "paimon",
        **(
            {"primary_key": ["id"], "properties": {"bucket": "1"}}
            if keyed
            else {"properties": {"bucket": "-1"}}
        ),
    )
    for number in range(3):
        paimon_java.ask("append", table=root, rows=[[number], [number + 1]])
    before = ids()
    assert before == ([0, 1, 2, 3] if keyed else [0, 1, 1, 2, 2, 3])
    table = broken(lakebed.open_table(root), *roles)
    with pytest.raises(EngineError):
        ids()
    table = repaired(table, tmp_path / "log", "lists")
    assert ids() == before
    paimon_java.ask("append", table=root, rows=[[7]])
    assert ids() == [*before, 7]
    first = lakebed.open_table(root).at(snapshot=1)
    broken(first, "delta")
    table = repaired(lakebed.open_table(root), tmp_path / "log2", "snapshots")
    assert ids() == [*before, 7]
    read = paimon_java.ask("read", table=root)["snapshots"]
    assert [int(one["id"]) for one in read] == table.snapshots().to_arrow()["snapshot_id"].to_pylist()
    options = {"snapshot.time-retained": "0 ms", "snapshot.num-retained.min": "1"}
    paimon_java.ask("expire", table=root, options=options)
    assert ids() == [*before, 7]
