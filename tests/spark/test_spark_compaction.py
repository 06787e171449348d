"""`compaction_plan`: the files that Iceberg's procedure for Spark then rewrites."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING, Any

import pytest
from spark_lake import MERGE_ON_READ, Lake, add_equality_deletes, lake
from trust import THOROUGH

if TYPE_CHECKING:
    from collections.abc import Callable

    from lakebed import Table

__all__ = ["lake"]

pytestmark = [pytest.mark.spark, pytest.mark.jvm, pytest.mark.spark_35]

Options = dict[str, str]


def appended(lake: Lake, times: int, *properties: str, partitioned: bool = True, rows: int = 30) -> str:
    name = lake.make("'commit.manifest-merge.enabled'='false'", *properties, partitioned=partitioned)
    for number in range(times):
        lake.append(name, rows * number, rows)
    return name


def deleted(lake: Lake, version: int, granularity: str) -> str:
    """Some files lose a tenth of their rows, some half."""
    properties = (f"'format-version'='{version}'", f"'write.delete.granularity'='{granularity}'")
    name = appended(lake, 2, *properties, MERGE_ON_READ, rows=300)
    lake.sql(f"DELETE FROM lake.shop.{name} WHERE id % 10 = 0")
    lake.sql(f"DELETE FROM lake.shop.{name} WHERE id < 300 AND p = 1 AND id % 2 = 0")
    return name


def evolved(lake: Lake) -> str:
    """Files of an earlier spec, one of them with a null, and of the table's."""
    name = appended(lake, 2)
    lake.sql(f"INSERT INTO lake.shop.{name} SELECT id, CAST(NULL AS int) FROM range(3)")
    lake.sql(f"ALTER TABLE lake.shop.{name} ADD PARTITION FIELD bucket(2, id)")
    lake.append(name, 100)
    lake.sql(f"INSERT INTO lake.shop.{name} SELECT CAST(NULL AS int), CAST(NULL AS int) FROM range(2)")
    return name


def with_equality_deletes(lake: Lake) -> str:
    name = appended(lake, 1, "'format-version'='2'", rows=300)
    add_equality_deletes(lake.at(name), [3], 0)
    return name


Made = tuple["Callable[[Lake], str]", Options, str]
CASES: dict[str, Made] = {
    "few small files": (lambda lake: appended(lake, 4), {}, ""),
    "enough small files": (lambda lake: appended(lake, 5), {}, ""),
    "fewer are asked for": (lambda lake: appended(lake, 2), {"min-input-files": "2"}, ""),
    "large files": (lambda lake: appended(lake, 1, rows=3000), {"target-file-size-bytes": "1000"}, ""),
    "by the property": (lambda lake: appended(lake, 3, "'write.target-file-size-bytes'='1000'"), {}, ""),
    "more than the target": (lambda lake: appended(lake, 3), {"target-file-size-bytes": "1000"}, ""),
    "where": (lambda lake: appended(lake, 5), {"min-input-files": "2"}, "p = 1 and id < 70"),
    "all": (lambda lake: appended(lake, 1), {"rewrite-all": "true"}, "p <> 2"),
    "deletes of files": (lambda lake: deleted(lake, 2, "file"), {}, ""),
    "deletes of partitions": (lambda lake: deleted(lake, 2, "partition"), {}, ""),
    "vectors": (lambda lake: deleted(lake, 3, "file"), {"delete-ratio-threshold": "0.1"}, ""),
    "files with deletes": (lambda lake: deleted(lake, 2, "partition"), {"delete-file-threshold": "2"}, ""),
    "equality deletes": (with_equality_deletes, {"delete-file-threshold": "1"}, ""),
    "specs": (evolved, {"min-input-files": "3"}, ""),
    "groups by files": (
        lambda lake: appended(lake, 7, partitioned=False),
        {"max-file-group-input-files": "3", "min-input-files": "3"},
        "",
    ),
}


def rewritten(lake: Lake, name: str, options: Options, where: str) -> set[str]:
    """Runs the procedure. Returns: the data files that are gone."""
    before = lake.at(name)
    texts = ", ".join(f"'{option}', '{text}'" for option, text in options.items())
    arguments = [f"table => 'shop.{name}'", *([f"options => map({texts})"] if options else [])]
    arguments += [f"where => '{where}'"] if where else []
    lake.sql(f"CALL lake.system.rewrite_data_files({', '.join(arguments)})")
    return data_files(before) - data_files(lake.at(name))


def data_files(table: Table) -> set[str]:
    paths = table.files(columns=["file_path"], filter="content = 0").to_arrow()["file_path"]
    return set(paths.to_pylist())


def planned(table: Table, options: Options, where: str) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = (
        table.compaction_plan(options=options, where=where or None).to_arrow().to_pylist()
    )
    return rows


@pytest.mark.parametrize("case", CASES)
def test_the_procedure_rewrites_what_is_planned(case: str, lake: Lake) -> None:
    made, options, where = CASES[case]
    name = made(lake)
    rows = planned(lake.at(name), options, where)
    gone = rewritten(lake, name, options, where)
    if case == "groups by files":
        # Which two of fourteen files are left over is chance.
        assert [row["group"] for row in rows] == [1 + number // 3 for number in range(12)]
        assert len(gone) == len(rows)
    else:
        assert {row["file_path"] for row in rows} == gone
    assert bool(gone) == (case != "few small files")


@pytest.mark.parametrize(("version", "removed"), [(2, 0), (3, 1)])
def test_what_goes_with_the_files(version: int, removed: int, lake: Lake) -> None:
    """Vectors do, other deletes do not."""
    name = deleted(lake, version, "file")
    rows = planned(lake.at(name), {}, "")
    assert [row["removed_delete_count"] for row in rows] == [removed, removed]
    before = lake.at(name).deletes().to_arrow().num_rows
    rewritten(lake, name, {}, "")
    assert lake.at(name).deletes().to_arrow().num_rows == before - 2 * removed


@pytest.mark.parametrize("seed", range(20 if THOROUGH else 1))
def test_random_tables(seed: int, lake: Lake) -> None:
    chance = random.Random(seed)
    version, granularity = chance.choice([2, 3]), chance.choice(["file", "partition"])
    properties = (f"'format-version'='{version}'", f"'write.delete.granularity'='{granularity}'")
    name = appended(lake, 1, *properties, MERGE_ON_READ, rows=chance.choice([3, 30, 300]))
    for step in range(1, chance.randrange(3, 8)):
        kind = chance.choice(["append", "append", "delete", "spec"])
        if kind == "append":
            lake.append(name, 1000 * step, chance.choice([3, 300, 3000]), f"id % {chance.randrange(1, 4)}")
        elif kind == "delete":
            lake.sql(f"DELETE FROM lake.shop.{name} WHERE id % {chance.randrange(2, 9)} = 0")
        else:
            lake.sql(f"ALTER TABLE lake.shop.{name} ADD PARTITION FIELD bucket({1 + step}, id) AS b{step}")
    options = chance.choice(
        [{}, {"min-input-files": "2"}, {"target-file-size-bytes": "2000"}, {"delete-file-threshold": "1"}]
    )
    rows = planned(lake.at(name), options, "")
    assert {row["file_path"] for row in rows} == rewritten(lake, name, options, "")
