"""`compaction_plan`: options, and what the rows are. Spark's own choice is compared in tests/spark."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from command_line import complaint, printed
from iceberg_made import MadeTable, entry

import lakebed
from lakebed.errors import SchemaError, UnsupportedError
from shared_data import SAMPLE_TABLE

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
    for row in table.compaction_plan(options=asked).to_arrow().to_pylist():
        found.setdefault(row["group"], []).append(row["file_path"])
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
    with pytest.raises(UnsupportedError, match="compaction_plan"):
        lakebed.open_table(SAMPLE_TABLE).compaction_plan()
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
