"""`lakebed diff` and `lakebed appends` print what the views hold."""

from __future__ import annotations

import json
from typing import Any

import pytest
from click.testing import CliRunner, Result

import lakebed
from lakebed._values import to_rows
from lakebed.cli import cli
from shared_data import SAMPLE_ICEBERG_TABLE, SAMPLE_MOVED, SAMPLE_TABLE

MOVED = [word for old, new in SAMPLE_MOVED.items() for word in ("--relocate", f"{old}={new}")]
PLACES: dict[str, tuple[int | str, ...]] = {"diff": ("first-load", "main"), "appends": ("first-load",)}


def run(*words: object) -> Result:
    return CliRunner().invoke(cli, list(map(str, words)))


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
    rows = [dict(zip(table.schema.names, row, strict=True)) for row in to_rows(table)]
    assert [json.loads(line) for line in result.stdout.splitlines()] == rows
    assert rows
    header, *lines = run(view, location, *PLACES[view], *MOVED).stdout.splitlines()
    whole = getattr(opened(location), view)(*PLACES[view])
    assert (header.split(), len(lines)) == (whole.schema.names, len(whole.to_arrow()))


def test_numbers_are_snapshots_and_after_may_be_left_out():
    changes = run("diff", SAMPLE_TABLE, 4, 10, "-o", "json").stdout.splitlines()
    assert len(changes) == len(opened(SAMPLE_TABLE).diff(4, 10).to_arrow())
    everything = run("appends", SAMPLE_TABLE, "--snapshot", 4, "-o", "json").stdout.splitlines()
    assert len(everything) == len(opened(SAMPLE_TABLE).at(snapshot=4).appends().to_arrow())


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
    result = run(*words)
    assert (result.exit_code, result.stdout) == (code, "")
    assert len(result.stderr.splitlines()) == 1
    assert message.replace("'", "") in result.stderr.replace('"', "").replace("'", "")
