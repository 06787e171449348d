"""What a terminal and JSON say of problems: whole calls, of an engine, and the thresholds in force."""

from __future__ import annotations

import html
import itertools
import re
import shutil
from pathlib import Path
from typing import Any

import documents
import pytest
from command_line import printed, run
from test_cli_terminal import TABLE, few_snapshots, terminal

from shared_data import SAMPLE_TABLE

__all__ = ["terminal"]


@pytest.mark.parametrize("name", ["a table of many words", "a `b` c"])
def test_calls_whose_names_have_quotes_are_whole(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    few_snapshots(monkeypatch)
    shutil.copytree(SAMPLE_TABLE, table := tmp_path / "odd.db" / name)
    ((finding,),) = (row["findings"] for row in printed("health", table))
    for command, engine in itertools.product(("health", "show"), ("spark", "python")):
        with documents.terminal(80):
            lines = run(command, str(table), "--engine", engine).stdout.splitlines()
        for call in finding["calls"][engine]:
            assert any(line.endswith(f"`{call}`") for line in lines), call
    assert run("report", table, "--engine", "python", "-o", tmp_path / "page.html").exit_code == 0
    page = (tmp_path / "page.html").read_text("utf-8")
    assert all(f"<code>{html.escape(call)}</code>" in page for call in finding["calls"]["python"])


@pytest.mark.parametrize("columns", [40, 80, 83, 120])
def test_names_of_thresholds_stay_beside_their_values(columns: int) -> None:
    with documents.terminal(columns):
        note = run("health", TABLE).stderr
    first, *lines = [line.strip() for line in note.strip().splitlines()]
    assert first.startswith("thresholds: small_bytes 32 MiB,")
    for part in ", ".join(line.rstrip(",") for line in lines).split(", "):
        assert re.fullmatch(r"\w+ [\d.]+( [KMG]iB)?", part), part
    assert max(map(len, note.splitlines())) <= columns


def test_calls_of_another_engine(terminal: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    few_snapshots(monkeypatch)
    assert "CALL sys.expire_snapshots(`table` => " in terminal("health", TABLE, "--engine", "flink").stdout
    assert "CALL sys.expire_snapshots(`table` => " in terminal("show", TABLE, "--engine", "flink").stdout
    # Trino does not write Paimon.
    for command in ("health", "show"):
        assert "in Spark: `CALL " in " ".join(terminal(command, TABLE, "--engine", "trino").stdout.split())


def test_findings_are_in_the_rows_of_json(monkeypatch: pytest.MonkeyPatch) -> None:
    few_snapshots(monkeypatch)
    (row,) = printed("health", TABLE)
    (finding,) = row["findings"]
    assert (finding["column"], finding["calls"]["trino"]) == ("snapshot_count", None)
    (call,) = finding["calls"]["spark"]
    assert f"in Spark: `{call}`; `lakebed expire-plan " in finding["next_step"]
    (row,) = printed("health", TABLE, "--threshold", "snapshots=10")
    assert row["findings"] == []
