"""With Spark plans, changes and filtered files of Paimon tables are those without, value for value."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from fnmatch import fnmatchcase

import pytest
from covering import each_covering_paimon_table, each_covering_place
from exchanging import planned
from paimon_plans import Place, places, to_sql

import lakebed
import lakebed.spark as ls
from lakebed.spark import frames
from shared_data import SAMPLE_TABLE, GoldenTable, each, each_golden_paimon_table
from spark_rows import actual, compare, expected

pytest.importorskip("pyspark")

pytestmark = pytest.mark.spark

# Together they have deletion vectors, levels that are merged and passed over, rows spread over files,
# deletions with and without files that are decided on together, and an older snapshot.
FEATURES = ("append_fixed", "data_evolution", "pk_dv", "pk_levels/at-snapshot-*")


@pytest.fixture(autouse=True)
def _several_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(frames, "BOUNDS", replace(frames.BOUNDS, task_bytes=1 << 13))


def each_place(*patterns: str) -> pytest.MarkDecorator:
    """Parametrises `place` over where the engine planned, all places or those whose id matches a pattern."""
    found = [
        place for place in places() if not patterns or any(fnmatchcase(place.id, one) for one in patterns)
    ]
    return each("place", found, [place.id for place in found], "plans of golden Paimon tables")


def filters(place: Place, most: int) -> Iterator[str]:
    """Of the filters that the engine was asked for those that leave some files out: first those that decide
    on files together, on which whoever looks at each file alone would keep more.
    """
    table = place.open()
    every = len(expected(table.files(columns=["file_name"])))
    texts = [to_sql(line["predicate"]) for line in place.plans() if line.get("predicate") and "files" in line]
    kept = {text: len(expected(table.files(columns=["file_name"], where=text))) for text in texts}
    pruning = [text for text in texts if 0 < kept[text] < every]
    pruning.sort(key=lambda text: not planned(table.files(where=text)).shuffles)
    yield from pruning[:most]


def stats_of(table: lakebed.Table) -> list[str]:
    return [field["name"] for field in table.schemas().to_arrow()["fields"].to_pylist()[-1][:3]]


@each_place(*FEATURES)
def test_plans_and_files_are_those_without_spark(spark, place):
    table = place.open()
    assert compare(spark, table, "plan", stats=stats_of(table)) > 0
    for where in filters(place, 1):
        compare(spark, table, "plan", where=where)
        compare(spark, table, "files", where=where, columns=["file_name", "partition", "stats"], stats=[])


@each_place("pk_dv")
def test_groups_of_files_that_are_decided_on_together(spark, place):
    (where,) = filters(place, 1)
    assert planned(place.open().files(where=where)).shuffles
    for view in ("partitions", "buckets", "health"):
        compare(spark, place.open(), view, where=where)


@each_golden_paimon_table("pk_dv")
def test_plans_by_numbers_and_without_deletes(spark, table):
    opened = lakebed.open_table(table.path)
    assert any(expected(opened.plan(columns=["delete_ids"], deletes="ids")))
    compare(spark, opened, "plan", deletes="ids", columns=["delete_ids", "file_name"])
    compare(spark, opened, "plan", columns=["residual", "record_count"])
    compare(spark, opened, "plan", columns=[])


@each_golden_paimon_table("pk_levels")
def test_changes_are_those_without_spark(spark, table):
    opened = lakebed.open_table(table.path)
    oldest, newest = ends(opened)
    assert compare(spark, opened, "diff", oldest, newest, stats=stats_of(opened)) > 0
    compare(spark, opened, "diff", newest, oldest, columns=["file_path", "change"])
    assert compare(spark, opened, "diff", newest, newest) == 0
    compare(spark, opened, "appends", columns=["file_path", "sequence_number"])


@each_golden_paimon_table("tags_branches")
def test_changes_between_tags_and_branches(spark, table):
    opened = lakebed.open_table(table.path)
    refs = opened.refs(columns=["type", "name"]).to_arrow().to_pylist()
    for name in {ref["type"]: ref["name"] for ref in refs if ref["name"] != "main"}.values():
        compare(spark, opened, "diff", name, opened.snapshot_id, columns=["file_name", "change"])


def test_changes_are_filtered(spark):
    opened, where = lakebed.open_table(SAMPLE_TABLE), "dt = '2026-01-02' AND amount > 100"
    assert compare(spark, opened, "diff", *ends(opened), where=where) > 0
    assert compare(spark, opened, "appends", where=where) > 0


def ends(table: lakebed.Table) -> tuple[int, int]:
    ids = table.snapshots(columns=["snapshot_id"]).to_arrow()["snapshot_id"].to_pylist()
    return min(ids), max(ids)


@each_golden_paimon_table("pk_dangling")
def test_few_deletions_are_sent_along_and_many_cross_a_shuffle(spark, table, monkeypatch, capsys):
    def shuffled() -> bool:
        ls.files(spark, table.path).explain()
        return "Exchange hashpartitioning(part" in capsys.readouterr().out

    rows = expected(lakebed.open_table(table.path).files())
    assert not shuffled()
    assert actual(ls.files(spark, table.path)) == rows
    monkeypatch.setattr(frames, "BOUNDS", replace(frames.BOUNDS, deletions=0))
    assert shuffled()
    assert actual(ls.files(spark, table.path)) == rows


@each_covering_place("entry", "primary key", "no primary", "bucket", "option", "several schemas", "column")
def test_plans_and_files_of_every_table_are_those_without_spark(spark, place):
    table = place.open()
    compare(spark, table, "plan")
    for where in filters(place, 1):
        compare(spark, table, "plan", where=where)
        compare(spark, table, "files", where=where)


@each_covering_paimon_table("entry", "snapshot", "folder", "several schemas")
def test_changes_of_every_table_are_those_without_spark(spark, table: GoldenTable):
    opened = lakebed.open_table(table.path)
    if opened.snapshot_id is None:
        pytest.skip("nothing was committed")
    oldest, newest = ends(opened)
    compare(spark, opened, "diff", oldest, newest, stats=stats_of(opened))
    compare(spark, opened, "diff", newest, oldest)
    compare(spark, opened, "appends")
