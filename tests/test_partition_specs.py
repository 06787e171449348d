"""Partition fields that the spec of a row does not have are absent where values are shown; Arrow has null."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import pytest
from command_line import printed, run
from iceberg_made import MadeTable, avro_type, entry, entry_schema, field, optional

import lakebed
from iceberg_golden import each_golden_iceberg_table
from lakebed._values import to_records

COLUMNS = ((1, "id", "long"), (2, "city", "string"), (3, "day", "int"))
CITY = {"source-id": 2, "field-id": 1000, "name": "city", "transform": "identity"}
DAY = {"source-id": 3, "field-id": 1001, "name": "day", "transform": "identity"}
SPECS: tuple[tuple[list[dict[str, Any]], dict[str, Any]], ...] = (
    ([CITY], {"city": "a"}),
    ([CITY, DAY], {"city": None, "day": 7}),
    ([], {}),
    ([CITY | {"transform": "void"}, DAY], {"city": None, "day": 8}),
)
SHOWN: list[dict[str, Any]] = [{"city": "a"}, {"city": None, "day": 7}, {}, {"day": 8}]
STORED = [{"city": None, "day": None} | one for _, one in SPECS]
TYPES = {"city": "string", "day": "int"}


@pytest.fixture
def evolved(tmp_path: Path) -> Path:
    """A table with a file of each spec."""
    specs = [{"spec-id": number, "fields": fields} for number, (fields, _) in enumerate(SPECS)]
    made = MadeTable(tmp_path / "t", *COLUMNS, partition_specs=specs, default_spec_id=1)
    records = []
    for number, (fields, partition) in enumerate(SPECS):
        types = [
            field(one["field-id"], one["name"], optional(avro_type(TYPES[one["name"]]))) for one in fields
        ]
        row = entry(path=f"f{number}", partition=partition, sequence_number=1, file_sequence_number=1)
        record = made.manifest(row, schema=entry_schema(2, types), name=f"m{number}.avro")
        records.append(record | {"partition_spec_id": number})
    made.commit(*records)
    return made.root


@pytest.mark.parametrize("view", ["files", "partitions", "entries", "plan"])
@pytest.mark.parametrize("columns", [None, "partition", "partition,record_count", "record_count"])
def test_json_has_the_fields_of_the_row_s_spec(view: str, columns: str | None, evolved: Path) -> None:
    rows = printed(view, evolved, *(("--columns", columns) if columns else ()))
    if columns is not None:
        assert [*rows[0]] == columns.split(",")
    if columns != "record_count":
        assert [row["partition"] for row in rows] == SHOWN
    whole = getattr(lakebed.open_table(evolved), view)()
    assert whole.to_arrow()["partition"].to_pylist() == STORED


def test_partitions_of_two_specs_overlap_by_themselves(evolved: Path) -> None:
    rows = lakebed.open_table(evolved).overlap(["id"]).to_arrow()
    assert rows["spec_id"].to_pylist() == [0, 1, 2, 3]
    assert rows["partition"].to_pylist() == STORED
    assert [row["partition"] for row in printed("overlap", evolved) if row["column"] == "id"] == SHOWN
    # Their values differ by their specs alone: city null, and no city.
    assert rows["file_count"].to_pylist() == [1, 1, 1, 1]


def test_a_table_in_a_pipe_csv_and_sorted_rows(evolved: Path) -> None:
    words = ("partitions", evolved, "--columns", "partition")
    texts = [json.dumps(one, separators=(",", ":")) for one in SHOWN]
    assert [line.strip() for line in run(*words).stdout.splitlines()[1:]] == texts
    assert [row[0] for row in csv.reader(run(*words, "-o", "csv").stdout.splitlines())][1:] == texts
    rows = printed(*words, "--sort", "-spec_id", "--limit", "2")
    assert rows == [{"partition": one} for one in reversed(SHOWN[2:])]
    assert printed("files", evolved, "--filter", "spec_id = 3", "--columns", "partition") == [
        {"partition": {"day": 8}}
    ]


def test_a_terminal_and_a_notebook(evolved: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shown = lakebed.open_table(evolved).files(columns=["partition"])._repr_html_()
    cells = [part.partition("<")[0] for part in shown.split('left">')[2:]]
    assert cells == ["city=a", "city=null/day=7", "", "day=8"]
    every = lakebed.open_table(evolved).partitions()._repr_html_()
    assert "city=null/day=8" not in every
    assert "day=8" in every


def test_files_of_arrow_keep_their_types(evolved: Path, tmp_path: Path) -> None:
    import pyarrow.parquet as pq

    path = tmp_path / "files.parquet"
    assert run("files", evolved, "-o", "parquet", "--output-file", path).exit_code == 0
    assert pq.read_table(path)["partition"].to_pylist() == STORED


def test_show_the_report_and_assistants(evolved: Path) -> None:
    (shown,) = printed("show", evolved)
    assert sorted(map(str, (one["partition"] for one in shown["largest_partitions"]))) == sorted(
        map(str, SHOWN)
    )
    # Names may be broken between their parts.
    page = lakebed.report(str(evolved)).replace("<wbr>", "")
    assert "city=null/day=7" in page
    assert "city=null/day=8" not in page
    from lakebed.mcp.answers import of_rows

    answer = of_rows(lakebed.open_table(evolved).files(columns=["partition"]), 10)
    assert answer["rows"] == [{"partition": one} for one in SHOWN]


def test_bounds_of_manifests_are_of_the_fields_of_their_spec(evolved: Path) -> None:
    rows: list[dict[str, Any]] = printed("manifests", evolved, "--columns", "partition_lower")
    assert [[*row["partition_lower"]] for row in rows] == [[*one] for one in SHOWN]


@each_golden_iceberg_table()
def test_specs_that_have_all_fields_change_nothing(table: Any) -> None:
    opened = table.open()
    files = opened.files()
    if files.specs.absent:
        known = {
            row["spec_id"]: row for row in opened.metadata_table("partition_specs").to_arrow().to_pylist()
        }
        assert files.specs.absent.keys() <= known.keys()
        return
    assert to_records(files.preview(50)) == to_records(files.head(50))
