"""Iceberg's Java client of a REST catalog for which lakebed plans: it gets the tasks of Java's own plans."""

from __future__ import annotations

import json
from typing import Any

import pytest
from covering import each_covering_iceberg_table
from java_engine import EngineError, JavaEngine, each_iceberg_release
from plan_server import GoldenCatalog, served
from planned_parts import agreed, in_parts
from test_iceberg_pruning import kinds_of, parts_of
from trust import long_or, some

from iceberg_answers import assert_same_multiset
from iceberg_golden import GoldenTable

# Java asks a service for the keys of encrypted ones, and refuses those of which deletes are elsewhere.
each_table_that_java_reads = each_covering_iceberg_table(
    names=("[!de]*", "d[!e]*", "e[!n]*"), folders=("iceberg", "iceberg_next")
)
pytestmark = [pytest.mark.jvm, pytest.mark.filterwarnings("ignore::lakebed.errors.LakebedWarning")]
# What JSON has no word for; types, tables without a location and manifests in Parquet that Java cannot read.
NOT_IN_JAVA = ("Type: unknown", "missing string: location", "UnmodifiableCollection.clear")
BEYOND = ("the number NaN", "the number inf", *NOT_IN_JAVA)


def compared(table: GoldenTable, engine: JavaEngine, url: str, **request: Any) -> int | None:
    """Compares the tasks of a scan. Returns how many there are; None for what Java or JSON cannot do."""
    where = {"metadata": table.path / table.info["metadata_file"], "relocate": table.relocate}
    try:
        answer = engine.ask("remote", uri=url, table="golden.t", **where, **request)
    except EngineError as error:
        if not any(words in str(error) for words in BEYOND):
            raise
        return None
    assert answer["kind"] == "RESTTable"
    answered, own = ([_plain(task) for task in answer[name]] for name in ("answered", "own"))
    assert_same_multiset(answered, own, f"{table.name}, {request}")
    return len(answer["own"])


def typed(filter: Any, kinds: dict[str, Any]) -> Any:
    """A filter with the numbers of floats as numbers, which the answers of golden tables have as texts."""
    if "term" not in filter:
        return {key: typed(side, kinds) if isinstance(side, dict) else side for key, side in filter.items()}
    if kinds.get(filter["term"]) not in ("float", "double"):
        return filter
    values = {"values": [float(one) for one in filter["values"]]} if "values" in filter else {}
    return {**filter, **values} | ({"value": float(filter["value"])} if "value" in filter else {})


def can_be_sent(filter: Any, kinds: dict[str, Any]) -> bool:
    """Whether Java's client can send a filter: JSON has no infinities, and of nanoseconds Java takes its own
    numbers for microseconds.
    """
    if any(str(kinds.get(test["term"])).endswith("_ns") for test in parts_of(filter)):
        return False
    try:
        json.dumps(filter, allow_nan=False)
    except ValueError:
        return False
    return True


def _plain(task: dict[str, Any]) -> dict[str, Any]:
    return {**task, "file": str(task["file"]), "deletes": str(task["deletes"])} | (
        {"metrics": str(task["metrics"])} if "metrics" in task else {}
    )


@each_iceberg_release
@each_table_that_java_reads
def test_javas_client_gets_javas_own_tasks(table: GoldenTable, iceberg_java: JavaEngine) -> None:
    now = table.open()
    if now.snapshot_id is None:
        pytest.skip("a table without snapshots has nothing to plan")
    lines = [line for line in table.rows("plans") if isinstance(line.get("filter"), dict) and "files" in line]
    lines = agreed(table, some(lines, table.name)[:: long_or(16, 1)])
    columns = [field["name"] for field in table.schema()][:2]
    catalog = GoldenCatalog(table)
    planned = now.plan(columns=["file_path"]).to_arrow().num_rows
    with served(catalog, in_parts(max(1, planned // 5), 3), open_table=catalog.opener()) as url:
        counts = [compared(table, iceberg_java, url), compared(table, iceberg_java, url, stats=columns)]
        for line in lines:
            kinds = kinds_of(table, "" if line["snapshot_id"] == now.snapshot_id else "@older")
            filter = typed(line["filter"], kinds)
            if can_be_sent(filter, kinds):
                request = {"snapshot": line["snapshot_id"], "filter": filter}
                counts.append(compared(table, iceberg_java, url, **request))
    if set(counts) == {None}:
        pytest.skip("there is a partition that JSON has no word for, or one of these manifests in Parquet")
    assert counts[0] in (None, planned)


@each_iceberg_release
@each_covering_iceberg_table(names=("dv_v3", "part_identity_v2"))
def test_javas_client_waits_for_plans(table: GoldenTable, iceberg_java: JavaEngine) -> None:
    catalog = GoldenCatalog(table)
    with served(catalog, in_parts(3), open_table=catalog.opener(), wait=0) as url:
        assert compared(table, iceberg_java, url)
