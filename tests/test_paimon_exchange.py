"""Files, plans and differences whose entries come together elsewhere are those of one process.

What executors run is run here, in several parts; how Spark moves rows between them is tested in `spark/`.
"""

from __future__ import annotations

from covering import each_covering_paimon_table, each_covering_place
from exchanging import exchanged
from paimon_plans import Place, to_sql
from trust import long_or

import lakebed
from lakebed.view import ViewScan
from shared_data import GoldenTable
from spark_rows import expected


def filters(place: Place) -> list[str]:
    """Some of the filters that the engine was asked for: other ones of each table."""
    texts = [to_sql(line["predicate"]) for line in place.plans() if line.get("predicate")]
    start = len(place.id) % 6
    return texts[start::6][: long_or(2, len(texts), 1)]


def in_both_ways(scan: ViewScan, where: str | None) -> bool:
    """Few deletions go to every task, of many each goes to a part."""
    rows = expected(scan)
    assert exchanged(scan) == rows, where
    assert exchanged(scan, deletions=0) == rows, where
    return True


@each_covering_place()
def test_files_and_plans_are_those_of_one_process(place: Place):
    table = place.open()
    for where in [None, *filters(place)]:
        for scan in (table.plan(where=where), table.plan(where=where, columns=["file_name"], deletes="ids")):
            assert in_both_ways(scan, where)
        assert in_both_ways(table.files(where=where, stats=[]), where)


@each_covering_paimon_table()
def test_differences_are_those_of_one_process(table: GoldenTable):
    opened = lakebed.open_table(table.path)
    ids = opened.snapshots(columns=["snapshot_id"]).to_arrow()["snapshot_id"].to_pylist()
    for one, other in [(ids[0], ids[-1]), (ids[-1], ids[0])] if ids else []:
        for where in (None, "bucket >= 1"):
            diff = opened.diff(one, other, where=where)
            assert exchanged(diff) == expected(diff)
