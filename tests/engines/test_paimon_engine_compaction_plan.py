"""`compaction_plan`: the files that Paimon's Java engine then rewrites, and those whose level it changes."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING, Any

import pytest
from paimon_real import MadeTable
from trust import THOROUGH

if TYPE_CHECKING:
    from pathlib import Path

    from java_engine import JavaEngine

pytestmark = pytest.mark.jvm

KEYS = ("region", "id")
Options = dict[str, str]
KINDS: dict[str, tuple[tuple[str, ...], Options]] = {
    "unbucketed": ((), {"bucket": "-1"}),
    "unbucketed with vectors": ((), {"bucket": "-1", "deletion-vectors.enabled": "true"}),
    "bucketed": ((), {"bucket": "1", "bucket-key": "id"}),
    "keyed": (KEYS, {"bucket": "1"}),
    "keyed with vectors": (KEYS, {"bucket": "1", "deletion-vectors.enabled": "true"}),
}
# Files of a few rows have about two kilobytes, those of some hundred six.
SIZES: list[Options] = [
    {},
    {"target-file-size": "5 kb"},
    {"target-file-size": "5 kb", "source.split.open-file-cost": "0"},
    {"target-file-size": "1 kb"},
]
WISHES: list[Options] = [
    {},
    {"compaction.min.file-num": "2"},
    {"compaction.force-rewrite-all-files": "true"},
    {"num-levels": "3"},
    {"num-sorted-run.compaction-trigger": "7"},
    {"compaction.delete-ratio-threshold": "0.6"},
]


def levels(made: MadeTable) -> dict[str, int]:
    rows = made.now().files(columns=["file_name", "level"]).to_arrow().to_pylist()
    return {row["file_name"]: row["level"] for row in rows}


def compacted(java: JavaEngine, made: MadeTable, options: Options) -> tuple[set[str], set[str]]:
    """Has the engine compact. Returns: the files that are gone, and those that have another level."""
    before = levels(made)
    texts = ",".join(f"{name}={text}" for name, text in {"write-only": "false", **options}.items())
    java.ask("compact", table=made.root, options=texts)
    after = levels(made)
    return before.keys() - after.keys(), {
        name for name in before.keys() & after.keys() if before[name] != after[name]
    }


def planned(made: MadeTable, options: Options, **asked: Any) -> tuple[set[str], set[str]]:
    rows = made.now().compaction_plan(options=options, **asked).to_arrow().to_pylist()
    named = [(row["file_path"].rpartition("/")[2], row["reason"] == "level") for row in rows]
    assert len({name for name, _ in named}) == len(named)
    groups = [row["group"] for row in rows]
    assert groups == sorted(groups)
    assert set(groups) == set(range(1, len(set(groups)) + 1))
    return {name for name, is_kept in named if not is_kept}, {name for name, is_kept in named if is_kept}


def random_table(chance: random.Random, folder: Path, kind: str, java: JavaEngine) -> MadeTable:
    keys, options = KINDS[kind]
    made = MadeTable(folder / "t", keys)
    made.create({**options, **chance.choice(SIZES)})
    # Of each partition and level the keys that are taken: files above level 0 do not overlap.
    ends: dict[tuple[str, int], int] = {}
    for number in range(chance.randrange(1, 12)):
        region, level = chance.choice(["emea", "apac"]), chance.choice([0, 0, 1, 5]) if keys else 0
        first = 1 + ends.get((region, level), -1) if level else chance.randrange(1000)
        first += chance.choice([0, 300])
        last = first + chance.choice([1, 3, 300, 900])
        ends[region, level] = last
        more = {"delete_row_count": chance.choice([None, 0, 0, 0, 1])} if keys else {}
        made.now().append_files(made.written(region, f"f{number}", *range(first, last), level=level, **more))
        if kind == "unbucketed with vectors" and chance.random() < 0.5:
            marks = {
                name: list(range(chance.choice([1, 200]))) for name in chance.sample(sorted(made.live()), 1)
            }
            java.ask("prepare_mark", table=made.root, files=marks)
            java.ask("commit_prepared", table=made.root)
    return made


@pytest.mark.parametrize("seed", range(40 if THOROUGH else 4))
@pytest.mark.parametrize("kind", KINDS)
def test_random_tables(kind: str, seed: int, tmp_path: Path, paimon_java: JavaEngine) -> None:
    chance = random.Random(f"{kind} {seed}")
    made = random_table(chance, tmp_path, kind, paimon_java)
    options = chance.choice(WISHES)
    expected = planned(made, options)
    assert compacted(paimon_java, made, options) == expected
