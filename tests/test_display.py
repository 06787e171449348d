"""What people look at: a line a row, with bytes, times and partitions as people read them."""

from __future__ import annotations

import datetime as dt
import html
import re
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from iceberg_made import MadeTable, entry

import lakebed
from lakebed import _display, _html
from lakebed import _overview as overview
from lakebed.advice import Thresholds, findings, verdict
from shared_data import SAMPLE_TABLE, sample_of

MIB = 2**20


def paimon() -> lakebed.Table:
    return lakebed.open_table(SAMPLE_TABLE)


def parts(text: str, tag: str) -> list[str]:
    """The texts within a kind of element."""
    found = re.findall(rf"<{tag}[^>]*>(.*?)</{tag}>", text)
    return [html.unescape(re.sub("<[^>]*>", "", part)) for part in found]


def test_a_scan_shows_the_columns_that_matter_and_names_the_rest() -> None:
    scan = sample_of("iceberg").files()
    shown = scan._repr_html_()
    head = parts(shown, "th")
    assert head == ["partition", "record_count", "file_size_in_bytes", "file_path", "content"]
    (note,) = parts(shown, "p")
    assert set(scan.schema.names) == {*head, *note.partition(": ")[2].split(", ")}
    cells = parts(shown, "td")[: len(head)]
    row = scan.to_arrow().slice(0, 1).to_pylist()[0]
    assert cells[0] == f"dt={row['partition']['dt']}/region={row['partition']['region']}"
    assert cells[1:3] == [str(row["record_count"]), f"{row['file_size_in_bytes'] / 1000:.1f} kB"]
    assert cells[4] == "data"
    assert cells[3].startswith("…")
    assert row["file_path"].endswith(cells[3][1:])
    assert f'title="{row["file_path"]}"' in shown


def test_numbers_stand_to_the_right_and_texts_to_the_left() -> None:
    sides = re.findall(r'<th[^>]*style="text-align: (\w+)"', sample_of("iceberg").files()._repr_html_())
    assert sides == ["left", "right", "right", "left", "left"]


def test_columns_that_were_chosen_are_shown_as_chosen() -> None:
    shown = sample_of("iceberg").files(columns=["spec_id", "file_format"])._repr_html_()
    assert parts(shown, "th") == ["spec_id", "file_format"]
    assert parts(shown, "p") == []


def test_the_caption_says_whether_there_are_more_rows() -> None:
    assert parts(paimon().files()._repr_html_(), "caption")[0].endswith("first 10 rows")
    assert parts(paimon().files(limit=10)._repr_html_(), "caption")[0].endswith(": 10 rows")


def test_health_is_upright() -> None:
    cells = parts(paimon().health()._repr_html_(), "td")
    shown = dict(zip(cells[::2], cells[1::2], strict=True))
    assert (shown["small_file_count"], shown["file_size_in_bytes"]) == ("34", "78.3 kB")
    assert "format_version" not in shown  # null of Paimon's


def test_rows_of_no_view_are_shown_too() -> None:
    shown = paimon().metadata_table("options")._repr_html_()
    assert parts(shown, "th") == ["key", "value"]


def test_colours_are_those_of_the_page() -> None:
    # What names a colour is readable on one background alone.
    assert set(re.findall(r"(?:color|background): ([^;]+);", _html._STYLE)) <= {"none"}
    assert "#" not in _html._STYLE


def test_a_table_shows_its_files_rows_and_size() -> None:
    about = dict(zip(*[iter(parts(sample_of("iceberg")._repr_html_(), "td"))] * 2, strict=True))
    assert about["live files"] == "17 (53.2 kB, 1,565 rows) in 12 partitions"
    assert (about["manifests"], about["deletes"]) == ("10 (87.1 kB)", "3")
    assert about["partitioned by"] == "dt, region"


def test_a_table_counts_no_files_behind_many_manifests(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(overview, "_MOST_MANIFESTS", 9)
    monkeypatch.setattr(lakebed.Table, "partitions", counted := Counted(lakebed.Table.partitions))
    about = dict(zip(*[iter(parts(sample_of("iceberg")._repr_html_(), "td"))] * 2, strict=True))
    assert about["live files"].startswith("not counted")
    assert counted.columns == [["partition"]]  # whose schema is asked for


class Counted:
    def __init__(self, method: Any) -> None:
        self.method = method
        self.columns: list[Any] = []

    def __get__(self, table: Any, _owner: Any) -> Any:
        def called(*, columns: Any = None) -> Any:
            self.columns.append(columns)
            return self.method(table, columns=columns)

        return called


def test_a_table_that_cannot_be_read_prints_itself(tmp_path: Path) -> None:
    made = MadeTable(tmp_path / "t", (1, "id", "long"))
    made.commit({**made.manifest(entry()), "manifest_path": str(tmp_path / "gone.avro")})
    assert "MissingFileError" in made.open()._repr_html_()


@pytest.mark.parametrize(
    ("number", "text"),
    [
        (0, "0 B"),
        (999, "999 B"),
        (1000, "1.0 kB"),
        (33_554_432, "33.6 MB"),
        (2.5e12, "2.5 TB"),
        (1e18, "1000.0 PB"),
    ],
)
def test_bytes(number: float, text: str) -> None:
    assert _display.size(number) == text


def test_cells_are_what_their_columns_names_say() -> None:
    rows = pa.table(
        {
            "committed_at": pa.array([dt.datetime(2026, 1, 2, 3, 4, 5, 678)], pa.timestamp("us", "UTC")),
            "created_at": pa.array([dt.datetime(2026, 1, 2, 3, 4, 5)], pa.timestamp("us")),
            "file_count": [12345],
            "snapshot_id": [12345],
            "length": [12345],
            "deleted_record_ratio": [0.1234],
            "content": [1],
            "partition": [{"dt": dt.date(2026, 1, 2), "region": None}],
            "stats": [{"amount": {"lower_bound": 1, "upper_bound": None}, "id": None}],
            "partition_keys": [["dt", "region"]],
        }
    )
    common = ["2026-01-02 03:04:05 UTC", "2026-01-02 03:04:05", "12,345", "12345"]
    rest = ["dt=2026-01-02/region=null", "amount 1 to null, id null to null", "dt, region"]
    assert _display.cells(rows, "files") == [[*common, "12.3 kB", "12.3%", "position deletes", *rest]]
    assert _display.cells(rows, "manifests")[0][6] == "deletes"
    # Of other rows the numbers are but numbers.
    assert _display.cells(rows)[0][4:7] == ["12345", "12.3%", "1"]


@pytest.mark.parametrize(
    ("number", "text"),
    [
        (0, "0 B"),
        (1000, "1.0 kB"),
        (1024, "1 KiB"),
        (32 * MIB, "32 MiB"),
        (1536 * MIB, "1536 MiB"),
        (16_000_000, "16.0 MB"),
        (2400, "2.4 kB"),
        # Seven tenths of 256 MiB.
        (187_904_819, "179.2 MiB"),
        (716, "716 B"),
        (1 << 60, "1024 PiB"),
        (10**15, "1.0 PB"),
    ],
)
def test_bounds(number: int, text: str) -> None:
    assert _display.threshold(number) == text


def test_bounds_of_one_sentence_are_in_units_of_one_kind() -> None:
    assert _display.thresholds(32 * MIB, 187_904_819, 10**6) == ["32 MiB", "179.2 MiB", "976.6 KiB"]
    assert _display.thresholds(2400, 384 * MIB) == ["2.4 kB", "402.7 MB"]


def test_depths_have_one_decimal() -> None:
    rows = pa.table({"average_depth": [1.6666666666666667], "max_depth": pa.array([1234], pa.int64())})
    assert _display.cells(rows, "overlap") == [["1.7", "1,234"]]


def test_columns_without_values_come_last() -> None:
    rows = pa.table({"a": pa.array([None], pa.int32()), "b": [1], "c": [2]})
    assert _display.ordered(rows, ("a", "c")).schema.names == ["c", "b", "a"]
    assert _display.ordered(rows, ()).schema.names == ["a", "b", "c"]
    assert _display.shown(rows, ("a", "c")) == ["c"]


SOUND = {
    "format": "iceberg",
    "file_count": 100,
    "partition_count": 10,
    "bucket_count": None,
    "snapshot_count": 20,
    "newest_snapshot_at": "2026-01-02T03:04:05.000000Z",
    "small_file_count": 5,
    "max_partition_file_count": 12,
    "max_level": None,
    "level_0_file_count": None,
    "deleted_record_ratio": 0.01,
    "position_delete_file_count": 3,
    "equality_delete_file_count": 2,
    "small_manifest_count": 9,
    "manifest_count": 10,
    "entry_count": 5000,
    "deleted_entry_count": 10,
}


@pytest.mark.parametrize(
    ("change", "column", "words"),
    [
        ({}, None, ""),
        ({"small_file_count": 80}, "small_file_count", "80 of 100 data files are below 32 MiB"),
        # A file for each of many partitions cannot be fewer.
        ({"small_file_count": 80, "partition_count": 70}, None, ""),
        (
            {
                "max_partition_file_count": 2000,
                "file_count": 2100,
                "partition_count": 700,
                "small_file_count": 1200,
            },
            "max_partition_file_count",
            "2,000 of 2,100",
        ),
        # Of large files compaction makes no fewer.
        ({"max_partition_file_count": 2000, "file_count": 2100, "partition_count": 100}, None, ""),
        (
            {"format": "paimon", "max_level": 5, "level_0_file_count": 90, "bucket_count": 4},
            "level_0_file_count",
            "4 b",
        ),
        ({"format": "paimon", "max_level": 0, "level_0_file_count": 90, "bucket_count": 4}, None, ""),
        ({"position_delete_file_count": 101}, "position_delete_file_count", "rewrite_position_delete_files"),
        ({"equality_delete_file_count": 11}, "equality_delete_file_count", "rewrite_data_files"),
        ({"deleted_record_ratio": 0.25}, "deleted_record_ratio", "25% of the rows"),
        ({"small_manifest_count": 101}, "small_manifest_count", "system.rewrite_manifests"),
        ({"format": "paimon", "small_manifest_count": 31}, "small_manifest_count", "sys.compact_manifest"),
        ({"deleted_entry_count": 2600}, "deleted_entry_count", "2,600 of 5,000"),
        # Engines do not write a single manifest anew.
        ({"deleted_entry_count": 2600, "manifest_count": 1}, None, ""),
        ({"snapshot_count": 501}, "snapshot_count", "lakebed expire-plan TABLE"),
    ],
)
def test_problems_are_found(change: dict[str, Any], column: str | None, words: str) -> None:
    row = {**SOUND, **change}
    found = findings(row, Thresholds.of(row["format"], {}))
    assert [finding.column for finding in found] == ([column] if column else [])
    assert all(words in f"{finding.what}; {finding.next_step}" for finding in found)
    assert verdict(found) == ("1 problem" if column else "no problems found")


def test_a_row_without_numbers_says_nothing() -> None:
    assert findings(dict.fromkeys(SOUND), Thresholds()) == []
    assert findings({}, Thresholds()) == []


def test_what_findings_go_by_is_in_the_view() -> None:
    assert set(SOUND) <= set(sample_of("iceberg").health().schema.names)
