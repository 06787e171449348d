"""`compaction_plan`: options, and what the rows are. tests/spark and tests/engines ask the engines."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest
from command_line import complaint, printed
from iceberg_made import MadeTable, entry
from paimon_made import MadeTable as MadePaimonTable
from paimon_made import entry as paimon_entry
from paimon_made import row

from lakebed import open_table
from lakebed.errors import SchemaError, UnsupportedError

if TYPE_CHECKING:
    from pathlib import Path

    from lakebed import Table

MIB = 2**20


def made(folder: Path, *mebibytes: int, **properties: str) -> Table:
    """A table of files of so many mebibytes, without partitions."""
    named = {name.replace("_", "-").replace("write-", "write."): text for name, text in properties.items()}
    table = MadeTable(folder / "t", (1, "x", "long"), properties=named)
    files = [
        entry(1, f"{number}", snapshot_id=1, record_count=10, file_size_in_bytes=size * MIB)
        for number, size in enumerate(mebibytes)
    ]
    table.commit(table.manifest(*files))
    return table.open()


def groups(table: Table, **options: str) -> list[list[str]]:
    """The files of each group."""
    asked = {name.replace("_", "-"): text for name, text in options.items()}
    found: dict[int, list[str]] = {}
    for one in table.compaction_plan(options=asked).to_arrow().to_pylist():
        found.setdefault(one["group"], []).append(one["file_path"])
    assert list(found) == list(range(1, len(found) + 1))
    return list(found.values())


@pytest.mark.parametrize(
    ("sizes", "options", "expected"),
    [
        ((1, 1, 1, 1), {}, []),
        ((1, 1, 1, 1, 1), {}, [["0", "1", "2", "3", "4"]]),
        ((1, 400, 1), {"min_input_files": "2"}, [["0", "2"]]),
        # Two files that are more than one of the target's size.
        ((300, 300), {}, [["0", "1"]]),
        ((1000, 1), {}, [["0", "1"]]),
        ((1000,), {}, [["0"]]),
        ((1,), {"min_input_files": "1"}, []),
        ((1, 600), {"rewrite_all": "TRUE"}, [["0", "1"]]),
        ((60, 60, 60, 60), {"max_file_group_size_bytes": str(128 * MIB), "min_input_files": "2"}, 2),
        ((1, 1, 1, 1, 1), {"max_file_group_input_files": "2", "min_input_files": "2"}, 2),
        ((2, 1, 2), {"target_file_size_bytes": str(MIB)}, [["0", "2"]]),
    ],
)
def test_groups(sizes: tuple[int, ...], options: dict[str, str], expected: Any, tmp_path: Path) -> None:
    found = groups(made(tmp_path, *sizes), **options)
    if isinstance(expected, int):
        expected = [[str(2 * number), str(2 * number + 1)] for number in range(expected)]
    assert found == expected


def test_the_property_of_the_table_is_the_default(tmp_path: Path) -> None:
    table = made(tmp_path, 1, 1, 1, 1, 1, **{"write_target-file-size-bytes": str(MIB)})
    assert groups(table) == []
    assert len(groups(table, target_file_size_bytes=str(8 * MIB))) == 1


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"min-inputs": "2"}, 'no option "min-inputs"'),
        ({"min-input-files": "0"}, "min-input-files is 0, not more than 0"),
        ({"min-input-files": "two"}, "min-input-files is two, not a whole number"),
        ({"target-file-size-bytes": "-1"}, "target-file-size-bytes is -1, not more than 0"),
        ({"min-file-size-bytes": str(512 * MIB)}, "not from 0 to less than target-file-size-bytes"),
        ({"max-file-size-bytes": "1"}, "not more than target-file-size-bytes"),
        ({"delete-ratio-threshold": "1.5"}, "not a number above 0, and 1 at most"),
        ({"delete-file-threshold": "-1"}, "not 0 or more"),
    ],
)
def test_options_that_the_engine_refuses(options: dict[str, str], message: str, tmp_path: Path) -> None:
    with pytest.raises(SchemaError, match=message):
        made(tmp_path, 1).compaction_plan(options=options)


def test_what_is_not_known(tmp_path: Path) -> None:
    with pytest.raises(UnsupportedError, match="threads read manifests"):
        made(tmp_path, 1).compaction_plan(options={"max-files-to-rewrite": "1"})
    with pytest.raises(ValueError, match="engine"):
        made(tmp_path / "other", 1).compaction_plan(engine="trino")  # type: ignore[arg-type]


def test_rows_can_be_chosen(tmp_path: Path) -> None:
    table = made(tmp_path, 1, 1000)
    rows = table.compaction_plan(filter="reason = 'large'", columns=["file_path", "reason"]).to_arrow()
    assert rows.to_pylist() == [{"file_path": "1", "reason": "large"}]
    assert table.compaction_plan(limit=1).to_arrow().num_rows == 1


def test_the_command_line(tmp_path: Path) -> None:
    made(tmp_path, 1, 1)
    words = ("compaction-plan", tmp_path / "t")
    assert printed(*words) == []
    assert [row["reason"] for row in printed(*words, "--option", "min-input-files=2")] == ["small", "small"]
    assert "no pair such as A=B" in complaint(*words, "--option", "min-input-files", code=2)


KEY = [("id", pa.int32())]
Sized = tuple[int, int, int, int, int | None]
"""A file of a table with keys: mebibytes, level, first and last key, rows that retract others."""


def paimon(folder: Path, *files: dict[str, Any], keys: str = "", **options: str) -> Table:
    """A table of one bucket, or of none, with these files, which are named from `a`."""
    made = MadePaimonTable(
        folder / "p", ("id", "INT NOT NULL"), primaryKeys=[*keys.split()], options={"bucket": "-1", **options}
    )
    made.commit(*(paimon_entry(0, name, **file) for name, file in zip("abcdefgh", files, strict=False)))
    return open_table(made.root)


def of(size: int, **more: Any) -> dict[str, Any]:
    return {"file_size": size * MIB, "min_sequence_number": 0, **more}


def keyed(size: int, level: int, first: int, last: int, retracting: int | None = 0) -> dict[str, Any]:
    ends = {"min_key": row(KEY, id=first), "max_key": row(KEY, id=last)}
    return of(size, level=level, delete_row_count=retracting, **ends)


def reasons(table: Table, options: dict[str, str]) -> list[dict[str, str]]:
    """Of each group the files and why they are in it."""
    found: dict[int, dict[str, str]] = {}
    for one in table.compaction_plan(options=options).to_arrow().to_pylist():
        found.setdefault(one["group"], {})[one["file_path"].rpartition("/")[2]] = one["reason"]
    return list(found.values())


ALL = {"compaction.force-rewrite-all-files": "true"}


@pytest.mark.parametrize(
    ("files", "options", "expected"),
    [
        # Files of keys that overlap are merged, with small ones beside them.
        ([(1, 0, 0, 5), (1, 0, 5, 9)], {}, [{"a": "overlap", "b": "overlap"}]),
        ([(1, 0, 0, 5), (99, 5, 5, 9), (1, 5, 10, 11)], {}, [{"a": "overlap", "b": "overlap", "c": "small"}]),
        ([(1, 5, 0, 1), (1, 0, 2, 3)], {}, [{"a": "small", "b": "small"}]),
        # Of a large one by itself only the level changes.
        ([(99, 0, 0, 5), (1, 0, 6, 9)], {}, [{"a": "level"}, {"b": "level"}]),
        ([(99, 5, 0, 5), (1, 0, 6, 9)], {}, [{"b": "level"}]),
        ([(99, 0, 0, 5, 1), (99, 4, 6, 9, None)], {}, [{"a": "delete rows"}, {"b": "delete rows"}]),
        ([(99, 0, 0, 5)], ALL, [{"a": "all"}]),
        # Where all are at the highest level, nothing is left to do.
        ([(1, 5, 0, 5), (1, 5, 6, 9)], {}, []),
        ([(1, 5, 0, 5), (1, 5, 6, 9)], ALL, [{"a": "all"}, {"b": "all"}]),
        ([(1, 5, 0, 5)], {"num-levels": "8"}, [{"a": "level"}]),
        ([(1, 5, 0, 5)], {"num-sorted-run.compaction-trigger": "6"}, [{"a": "level"}]),
        ([(1, 5, 0, 5)], {"num-levels": "3"}, []),
    ],
)
def test_paimon_with_keys(
    files: list[Sized], options: dict[str, str], expected: list[dict[str, str]], tmp_path: Path
) -> None:
    table = paimon(tmp_path, *(keyed(*file) for file in files), keys="id", bucket="1")
    assert reasons(table, options) == expected


@pytest.mark.parametrize(
    ("sizes", "options", "expected"),
    [
        ((1, 1, 1, 1), {}, []),
        ((1, 1, 1, 1, 1, 200), {}, ["abcde"]),
        ((1, 200, 1), {"compaction.min.file-num": "2"}, ["ac"]),
        # The smallest first, each opened for 4 MiB, to twice the target.
        ((9, 9, 2, 3), {"target-file-size": "13 mb", "compaction.min.file-num": "2"}, ["cda"]),
        ((9, 8, 1, 2), {"target-file-size": "6 mb", "source.split.open-file-cost": "0"}, []),
        ((1, 1, 1, 1, 1), {"compaction.file-num-limit": "4"}, []),
    ],
)
def test_paimon_without_buckets(
    sizes: tuple[int, ...], options: dict[str, str], expected: list[str], tmp_path: Path
) -> None:
    found = reasons(paimon(tmp_path, *(of(size) for size in sizes)), options)
    assert ["".join(group) for group in found] == expected


@pytest.mark.parametrize(
    ("files", "options", "expected"),
    [
        (((1, 0), (1, 1)), {}, ""),
        (((1, 0), (1, 1)), {"compaction.min.file-num": "2"}, "ab"),
        (((1, 0), (1, 1), (1, 2)), {}, "abc"),
        # Large ones that are the oldest stay; one between others does not.
        (((200, 0), (1, 1), (200, 2), (1, 3)), {}, "bcd"),
        (((200, 0), (1, 1), (200, 2)), {}, ""),
        (((200, 0), (200, 1), (200, 2)), ALL, "abc"),
    ],
)
def test_paimon_in_buckets(
    files: tuple[tuple[int, int], ...], options: dict[str, str], expected: str, tmp_path: Path
) -> None:
    made = [of(size, min_sequence_number=number) for size, number in files]
    found = reasons(paimon(tmp_path, *made, bucket="1", **{"bucket-key": "id"}), options)
    assert "".join(name for group in found for name in group) == expected


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"min-input-files": "2"}, 'no option "min-input-files"'),
        ({"compaction.min.file-num": "0"}, "compaction.min.file-num is 0, not more than 0"),
        ({"target-file-size": "large"}, "target-file-size is large, not a size such as 128 mb"),
        ({"compaction.delete-ratio-threshold": "2"}, "not a number above 0, and 1 at most"),
    ],
)
def test_options_that_paimon_refuses(options: dict[str, str], message: str, tmp_path: Path) -> None:
    with pytest.raises(SchemaError, match=message):
        paimon(tmp_path, of(1)).compaction_plan(options=options)


@pytest.mark.parametrize(
    "options",
    [
        {"bucket": "-2"},
        {"data-evolution.enabled": "true", "row-tracking.enabled": "true"},
        {"clustering.incremental": "true"},
        {"record-level.expire-time": "1 d"},
    ],
)
def test_tables_that_paimon_compacts_otherwise(options: dict[str, str], tmp_path: Path) -> None:
    with pytest.raises(UnsupportedError, match="what a compaction chooses is not known"):
        paimon(tmp_path, of(1), **options).compaction_plan()


def test_paimon_compacts_whole_partitions(tmp_path: Path) -> None:
    with pytest.raises(SchemaError, match=r"where takes their columns \(\), not id"):
        paimon(tmp_path, of(1)).compaction_plan(where="id = 1")
