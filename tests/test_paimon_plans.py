"""Filters leave the files that the engine's own plans leave, at every place of every golden table.

Fewer than the engine only by a rule that says why none can match; more only for what bounds of floats leave
open. The rules are those of `paimon_plans.py`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from paimon_plans import FEWER, Place, is_of_floats, places, to_sql

import lakebed
from lakebed.errors import PredicateError
from shared_data import SAMPLE_TABLE, each

if TYPE_CHECKING:
    from lakebed.table import Table

POSTPONED = -2


@each("place", places(), [place.id for place in places()], "plans of golden Paimon tables")
def test_files_are_those_of_the_engine(place: Place) -> None:
    table = place.open()
    versions = table.schemas().to_arrow().to_pylist()
    wrong = []
    for plan in place.plans():
        assert "error" not in plan, plan
        predicate = plan["predicate"]
        where = None if predicate is None else to_sql(predicate)
        kept, expected = _planned(table, where, versions), set(plan["files"])
        if kept == expected:
            continue
        rules = [rule.__name__ for rule in FEWER if predicate and rule(predicate, table, versions)]
        if expected - kept and not rules:
            wrong.append(f"{where}: lacks {len(expected - kept)} of {len(expected)} files")
        if kept - expected and not (predicate and is_of_floats(predicate)):
            wrong.append(f"{where}: {len(kept - expected)} files too many")
    assert not wrong, "\n".join(wrong)


def _planned(table: Table, where: str | None, versions: list[dict[str, object]]) -> set[str]:
    """The files that a query reads: of some tables none of level 0, and none that waits for its bucket."""
    options = table.properties
    skips = bool(versions[-1]["primary_keys"]) and (
        options.get("deletion-vectors.enabled") == "true" or options.get("merge-engine") == "first-row"
    )
    files = table.files(where=where, columns=["file_name", "level", "bucket"]).to_arrow().to_pylist()
    return {
        file["file_name"]
        for file in files
        if file["bucket"] != POSTPONED and not (skips and file["level"] == 0)
    }


@pytest.mark.parametrize(
    ("where", "message"),
    [("nowhere = 1", "nowhere"), ("bucket(4, id) = 1", "transforms"), ("id = 'x'", "id")],
)
def test_what_does_not_bind_is_refused(where: str, message: str) -> None:
    table = lakebed.open_table(SAMPLE_TABLE)
    for view in (table.files, table.entries, table.manifests, table.partitions, table.buckets, table.deletes):
        with pytest.raises(PredicateError, match=message):
            view(where=where).to_arrow()
