"""Every operation that a snapshot can be, by lakebed and by Iceberg Java on tables of the same content."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone
from pathlib import Path
from random import Random
from typing import Any

import pytest
from iceberg_table_pairs import Deletes, File, PairedTable, TablePair, lakebeds
from java_engine import EngineError, JavaEngine
from raising import raises
from trust import long_or

from lakebed.errors import CommitConflictError, SchemaError, UnsupportedError

pytestmark = pytest.mark.jvm

A, B, C = File("a", low=0, high=4), File("b", low=5, high=9), File("c", "us", 5, 20)


@pytest.fixture(params=[1, 2, 3], ids="v{}".format)
def pair(request: pytest.FixtureRequest, tmp_path: Path, iceberg_java: JavaEngine) -> TablePair:
    pair = TablePair.made(tmp_path, iceberg_java, request.param)
    pair.both("append", files=[A])
    pair.both("append", files=[B, C])
    return pair


def version(pair: TablePair) -> int:
    return pair.ours.now().format_version or 0


def test_files_come_and_go(pair: TablePair):
    state = pair.both("overwrite", removed=["a"], files=[File("d")])
    assert (state["summary"]["operation"], len(state["plan"])) == ("overwrite", 3)
    state = pair.both("overwrite", removed=["d"])
    assert state["summary"]["operation"] == "delete"
    state = pair.both("overwrite", files=[File("e")])
    assert state["summary"]["operation"] == "append"
    pair.both("fast_append", files=[File("f")])
    state = pair.both("replace", removed=["e", "f"], files=[File("g", records=15)])
    assert state["summary"]["operation"] == "replace"
    pair.both("append", files=[File("h")])
    state = pair.both("row_delta", files=[File("i", "apac")])
    assert state["summary"]["operation"] == "append"
    pair.both("row_delta", removed=["h"], files=[File("j")])


def test_files_go_by_a_filter(pair: TablePair):
    pair.both("append", files=[File("d", low=3, high=5)])
    state = pair.both("overwrite", where="region = 'emea'", files=[File("e", low=0, high=9)])
    assert len(state["plan"]) == 2
    state = pair.both("overwrite", where="region = 'emea' AND id < 10")
    assert [Path(path).stem for path in state["plan"]] == ["c"]
    pair.both("overwrite", where="id >= 5", files=[File("f", low=0, high=9)])
    with pytest.raises(UnsupportedError, match=r"some rows of .*f\.parquet.* and not others"):
        lakebeds(pair.ours, "overwrite", where="id >= 5")
    with pytest.raises(EngineError, match="some, but not all"):
        pair.theirs.ask("overwrite", where={"type": "gt-eq", "term": "id", "value": 5})
    pair.same()


def test_rows_are_deleted(pair: TablePair):
    positions, equality = Deletes("p", target="a"), Deletes("q", ids=[1])
    vector = Deletes("v", target="a", offset=4, records=2)
    if version(pair) == 1:
        for deletes in (positions, equality, vector):
            with pytest.raises(UnsupportedError, match="no delete files"):
                lakebeds(pair.ours, "row_delta", deletes=[deletes])
            with pytest.raises(EngineError):
                pair.theirs.ask("row_delta", deletes=[deletes])
        pair.same()
        return
    state = pair.both("row_delta", deletes=[equality])
    assert state["summary"]["operation"] == "delete"
    if version(pair) == 2:
        with pytest.raises(UnsupportedError, match="no deletion vectors"):
            lakebeds(pair.ours, "row_delta", deletes=[vector])
        pair.both("row_delta", deletes=[positions, Deletes("r", "us")], files=[File("d")])
        state = pair.both("row_delta", removed_deletes=["p"], files=[File("e")])
        assert sum(map(len, state["plan"].values())) == 3
    else:
        with pytest.raises(UnsupportedError, match="only be added as deletion vectors"):
            lakebeds(pair.ours, "row_delta", deletes=[positions])
        pair.both("row_delta", deletes=[vector, Deletes("v", target="b", offset=40)], files=[File("d")])
        # A vector replaces the one that is there.
        state = pair.both("row_delta", deletes=[Deletes("w", target="a", offset=4, records=3)])
        assert state["summary"]["removed-dvs"] == "1"
        assert sorted(len(deletes) for deletes in state["plan"].values()) == [0, 0, 2, 2]
        with pytest.raises(SchemaError, match=r"marks 1 rows, the one of .* 3"):
            lakebeds(pair.ours, "row_delta", deletes=[Deletes("x", target="a", offset=4, records=1)])
        state = pair.both("overwrite", removed=["a"])
        assert state["summary"]["removed-dvs"] == "1"
    pair.both("replace", removed=["b"], files=[File("k", records=8)])


def test_sequence_numbers_stay_where_asked(pair: TablePair):
    if version(pair) == 1:
        with pytest.raises(UnsupportedError, match="no sequence numbers"):
            lakebeds(pair.ours, "replace", removed=["a"], files=[File("d")], data_sequence_number=1)
        return
    pair.both("row_delta", deletes=[Deletes("q", ids=[1])])
    state = pair.both("replace", removed=["a", "b"], files=[File("d", records=20)], data_sequence_number=2)
    assert [path for path, deletes in state["plan"].items() if deletes] == ["data/region=emea/d.parquet"]
    for number in (-1, 9):
        with raises(SchemaError, match="it must be 0 to 4", field="data_sequence_number"):
            lakebeds(pair.ours, "replace", removed=["d"], files=[File("e")], data_sequence_number=number)
    with pytest.raises(SchemaError, match="more rows than"):
        lakebeds(pair.ours, "replace", removed=["d"], files=[File("e", records=21)])
    since = pair.theirs.now().snapshot_id
    with pytest.raises(EngineError, match="added records > "):
        pair.theirs.ask("replace", removed=["d"], files=[File("e", records=21)], since=since)


OF_EMEA, ADDED = {"where": "region = 'emea'"}, {"files": [File("y")]}
FROM_A = {"removed": ["a"], **ADDED}
SERIALIZABLE, SNAPSHOT = {"isolation": "serializable"}, {"isolation": "snapshot"}
EQUALITY = {"deletes": [Deletes("x", ids=[1])]}
VECTOR = {"deletes": [Deletes("x", target="a", offset=4)]}
CONFLICTS: list[tuple[str, dict[str, Any], str, dict[str, Any], int]] = [
    # What others do, with what; what is done, with what; from which version on.
    ("append", {"files": [File("x")]}, "overwrite", OF_EMEA | SERIALIZABLE, 1),
    ("overwrite", {"removed": ["a"], "files": [File("x", "us")]}, "overwrite", OF_EMEA | SNAPSHOT, 2),
    ("row_delta", EQUALITY, "overwrite", OF_EMEA | SNAPSHOT, 2),
    ("row_delta", EQUALITY, "overwrite", FROM_A | SNAPSHOT, 2),
    ("row_delta", EQUALITY, "replace", FROM_A, 2),
    ("append", {"files": [File("x")]}, "row_delta", ADDED | SERIALIZABLE, 1),
    ("row_delta", {"deletes": [Deletes("x", "us", ids=[1])]}, "row_delta", ADDED | SNAPSHOT, 2),
    ("overwrite", {"removed": ["a"]}, "row_delta", {"deletes": [Deletes("y", target="a")]}, 2),
    ("row_delta", VECTOR, "row_delta", {"deletes": [Deletes("y", target="a", offset=4, records=5)]}, 3),
    ("row_delta", VECTOR, "replace", FROM_A | {"data_sequence_number": 2}, 3),
]


# In the short form with the first version that has it.
@pytest.mark.parametrize(
    ("pair", "case"),
    [(version, case) for case in CONFLICTS for version in long_or([case[4]], range(case[4], 4))],
    indirect=["pair"],
    ids=lambda case: f"v{case}" if isinstance(case, int) else f"{case[0]}-{case[2]}",
)
def test_what_others_have_done_meanwhile_is_refused_as_by_java(case: Any, pair: TablePair):
    theirs, given, operation, change, _ = case
    v3 = version(pair) == 3
    vectors = any(one.offset is not None for one in given.get("deletes", ()))
    positions = any(one.offset is None and not one.ids for one in change.get("deletes", ()))
    if v3 and positions and not vectors:
        pytest.skip("the version has no such deletes")
    begun = pair.ours.now()
    since = [paired.now().snapshot_id for paired in (pair.ours, pair.theirs)]
    pair.ours.ask(theirs, **given)
    pair.theirs.ask(theirs, **given)
    before = pair.same()
    with raises(CommitConflictError, kind="conflict"):
        lakebeds(pair.ours, operation, begun, **change)
    asked = dict(change)
    if "where" in asked:
        asked["where"] = {"type": "eq", "term": "region", "value": "emea"}
    with pytest.raises(EngineError, match="ValidationException"):
        pair.theirs.ask(operation, since=since[1], **asked)
    assert pair.same() == before


def test_what_others_have_done_elsewhere_is_no_conflict(pair: TablePair):
    begun = pair.ours.now()
    since = pair.theirs.now().snapshot_id
    pair.both("append", files=[File("x", "us")])
    if version(pair) > 1:
        pair.both("row_delta", deletes=[Deletes("z", "us", ids=[1])])
    change: dict[str, Any] = {"where": "region = 'emea'", "isolation": "serializable", "files": [File("y")]}
    lakebeds(pair.ours, "overwrite", begun, **change)
    change["where"] = {"type": "eq", "term": "region", "value": "emea"}
    pair.theirs.ask("overwrite", since=since, **change)
    pair.same()
    begun = begun.refresh()
    begun.rollback_to(begun.snapshots().to_arrow()["snapshot_id"][0].as_py())
    with pytest.raises(CommitConflictError, match="no longer descends from snapshot"):
        lakebeds(pair.ours, "overwrite", begun, removed=["a"], isolation="snapshot")


def test_small_manifests_are_merged_as_by_java(tmp_path: Path, iceberg_java: JavaEngine):
    rules = {"commit.manifest.min-count-to-merge": "3", "commit.manifest.target-size-bytes": "15000"}
    pair = TablePair.made(tmp_path, iceberg_java, 2, **rules)
    counts = []
    for number in range(7):
        state = pair.both("append", files=[File(f"f{number}", low=number)])
        counts.append(int(state["summary"]["manifests-created"]))
    assert 1 in counts
    pair.both("fast_append", files=[File("fast")])
    pair.both("row_delta", deletes=[Deletes("q", ids=[1])])
    pair.both("overwrite", removed=["f3"], files=[File("g")])


def test_branches_are_committed_to_as_by_java(pair: TablePair):
    heads = [paired.now().snapshot_id for paired in (pair.ours, pair.theirs)]
    for paired, head in zip((pair.ours, pair.theirs), heads, strict=True):
        paired.ask("manage", steps=[["create_branch", "dev", head], ["keep", "dev", 3]])
    pair.both("append", files=[File("d")], branch="dev")
    pair.both("overwrite", removed=["a"], files=[File("e")], branch="dev")
    pair.both("append", files=[File("f")])
    pair.both("replace", removed=["b"], files=[File("g")], branch="dev")
    assert pair.same("dev") != pair.same()


def test_what_is_metadata_alone_is_as_by_java(pair: TablePair):
    first, second = _snapshots(pair)
    ours = pair.ours
    ours.now().create_branch("dev", at=first[0], min_snapshots_to_keep=3)
    ours.now().create_tag("tag", at=second[0])
    ours.now().set_retention("tag", max_age=timedelta(seconds=5))
    ours.now().rollback_to(first[0])
    ours.now().set_current_snapshot(second[0])
    ours.now().update_properties({"a": "1", "b": "2"})
    ours.now().update_properties(remove=["a"])
    ours.now().fast_forward("dev", "main")
    steps = [
        ["create_branch", "dev", first[1]],
        ["keep", "dev", 3],
        ["create_tag", "tag", second[1]],
        ["keep_ref", "tag", 5000],
        ["rollback", first[1]],
        ["set_current", second[1]],
        ["set", "a", "1"],
        ["set", "b", "2"],
        ["remove", "a"],
        ["fast_forward", "dev", "main"],
    ]
    pair.theirs.ask("manage", steps=steps)
    assert set(pair.same()["refs"]) == {"main", "dev", "tag"}
    assert pair.ours.now().properties == pair.theirs.now().properties
    pair.both("append", files=[File("d")])
    # Java goes on where lakebed was.
    for paired in (pair.ours, pair.theirs):
        paired.ask("manage", steps=[["delete_tag", "tag"], ["delete_branch", "dev"]])
    assert pair.same()["refs"].keys() == {"main"}
    expire(pair)
    if version(pair) < 3:
        ours.now().upgrade(version(pair) + 1)
        pair.theirs.ask("manage", steps=[["upgrade", ours.now().format_version]])
        pair.same()
        pair.both("append", files=[File("e")])
        pair.both("overwrite", removed=["a"], files=[File("f")])


def expire(pair: TablePair) -> None:
    """Takes out all but the last snapshot."""
    now = datetime.now(timezone.utc)
    pair.ours.now().expire_snapshots(now)
    pair.theirs.ask("manage", steps=[["expire", int(now.timestamp() * 1000)]])
    pair.same()
    assert [len(paired.now().snapshots().to_arrow()) for paired in (pair.ours, pair.theirs)] == [1, 1]


def _snapshots(pair: TablePair) -> tuple[list[int], list[int]]:
    """The first and the second snapshot of each table."""
    found = [
        paired.now().snapshots().to_arrow()["snapshot_id"].to_pylist() for paired in (pair.ours, pair.theirs)
    ]
    return [ids[0] for ids in found], [ids[1] for ids in found]


def test_appends_are_picked_as_by_java(pair: TablePair):
    for paired in (pair.ours, pair.theirs):
        paired.now().create_branch("dev")
    pair.both("append", files=[File("d"), File("e", "us")], branch="dev")
    picked = [paired.now("dev").snapshot_id or 0 for paired in (pair.ours, pair.theirs)]
    pair.both("append", files=[File("f")])
    pair.ours.now().cherry_pick(picked[0])
    pair.theirs.ask("manage", steps=[["cherrypick", picked[1]]])
    for paired, source in zip((pair.ours, pair.theirs), picked, strict=True):
        assert paired.state()["summary"]["source-snapshot-id"] == str(source)
    with pytest.raises(SchemaError, match="already"):
        pair.ours.now().cherry_pick(picked[0])
    with pytest.raises(EngineError, match="Cherrypick"):
        pair.theirs.ask("manage", steps=[["cherrypick", picked[1]]])


@pytest.mark.parametrize("version", [1, 2, 3])
@pytest.mark.parametrize("seed", range(long_or(1, 20)))
def test_lakebed_and_java_commit_in_turns(seed: int, version: int, tmp_path: Path, iceberg_java: JavaEngine):
    """Random sequences on one table: after each commit both plan the same, and what must be there."""
    paired = TablePair.made(tmp_path / "turns", iceberg_java, version, **MERGED).ours
    _random_commits(paired, Random(f"{seed} of {version}"), version, long_or(10, 50, 5))


MERGED = {"commit.manifest.min-count-to-merge": "3", "commit.manifest.target-size-bytes": "20000"}


def _random_commits(paired: PairedTable, random: Random, version: int, commits: int) -> None:
    live: dict[str, set[str]] = {}
    for number in range(commits):
        name, before = f"f{number}", sorted(live)
        kinds = ["append", "fast_append"]
        if before:
            kinds += ["overwrite", "replace", "delete"]
        if before and version == 2:
            kinds += ["positions"] * 2
        if before and version == 3:
            kinds += ["vector"] * 3
        kind = random.choice(kinds)
        target = random.choice(before) if before else ""
        request: dict[str, Any] = {"files": [File(name)]}
        operation = kind
        if kind in ("overwrite", "replace", "delete"):
            request["removed"] = [target]
        if kind == "delete":
            operation, request["files"] = "overwrite", []
        if kind in ("positions", "vector"):
            operation = "row_delta"
            offset = number + 4 if kind == "vector" else None
            request = {"deletes": [Deletes(name, target=target, offset=offset, records=number + 1)]}
        if kind == "replace":
            request["files"] = [File(name, records=1)]
        if random.random() < 0.5:
            lakebeds(paired, operation, **request)
        else:
            since = {} if operation.endswith("append") else {"since": paired.now().snapshot_id}
            paired.ask(operation, **since, **request)
        for gone in request.get("removed", ()):
            live.pop(gone)
        for file in request.get("files", ()):
            live[file.name] = set()
        if kind == "positions":
            live[target].add(name)
        if kind == "vector":
            live[target] = {name}
        plan = {
            Path(path).stem: {Path(one).stem for one in deletes}
            for path, deletes in paired.state()["plan"].items()
        }
        assert plan == live, (number, kind)
