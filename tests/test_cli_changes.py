"""`lakebed diff` and `lakebed appends` print what the views hold."""

from __future__ import annotations

import json
from typing import Any

import pytest
from command_line import MOVED, as_printed, complaint, printed, run

import lakebed
from shared_data import SAMPLE_ICEBERG_TABLE, SAMPLE_MOVED, SAMPLE_TABLE

PLACES: dict[str, tuple[int | str, ...]] = {"diff": ("first-load", "main"), "appends": ("first-load",)}


def opened(location: Any) -> lakebed.Table:
    return lakebed.open_table(location, relocate=SAMPLE_MOVED)


@pytest.mark.parametrize("view", PLACES)
@pytest.mark.parametrize("location", [SAMPLE_TABLE, SAMPLE_ICEBERG_TABLE], ids=lambda path: path.name)
def test_the_rows_are_those_of_the_view(view: str, location: Any):
    columns = ["file_path", "record_count", *(["change"] if view == "diff" else [])]
    table = getattr(opened(location), view)(*PLACES[view], columns=columns, limit=5).to_arrow()
    selection = ("--columns", ",".join(columns), "--limit", 5)
    result = run(view, location, *PLACES[view], *selection, "-o", "json", *MOVED)
    assert (result.exit_code, result.stderr) == (0, "")
    assert [json.loads(line) for line in result.stdout.splitlines()] == as_printed(table) != []
    header, *lines = run(view, location, *PLACES[view], *MOVED).stdout.splitlines()
    whole = getattr(opened(location), view)(*PLACES[view])
    assert (header.split(), len(lines)) == (whole.schema.names, len(whole.to_arrow()))


def test_numbers_are_snapshots_and_after_may_be_left_out():
    assert len(printed("diff", SAMPLE_TABLE, 4, 10)) == len(opened(SAMPLE_TABLE).diff(4, 10).to_arrow())
    everything = opened(SAMPLE_TABLE).at(snapshot=4).appends().to_arrow()
    assert len(printed("appends", SAMPLE_TABLE, "--snapshot", 4)) == len(everything)


@pytest.mark.parametrize(
    ("words", "code", "message"),
    [
        (("diff", SAMPLE_TABLE, "4", "99"), 1, "no snapshot 99; "),
        (("diff", SAMPLE_TABLE, "4", "nowhere"), 1, "no tag 'nowhere'"),
        (("diff", SAMPLE_TABLE, "4"), 2, "Missing argument 'B'"),
        (("diff", SAMPLE_TABLE, "4", "10", "--columns", "nothing"), 2, "nothing"),
        (("appends", SAMPLE_TABLE, "99"), 1, "snapshot 99 is not before snapshot 10; "),
    ],
)
def test_errors_are_one_line(words: tuple[object, ...], code: int, message: str):
    said = complaint(*words, code=code)
    assert message.replace("'", "") in said.replace('"', "").replace("'", "")
