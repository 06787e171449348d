"""`lakebed apply` and `lakebed restore`: what they show, ask and exit with."""

from __future__ import annotations

import contextlib
import json
import os
import pty
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pyarrow.parquet as pq
import pytest
import small_tables
from command_line import complaint, output, run
from small_tables import OLD

import lakebed


@pytest.fixture
def lost(tmp_path: Path) -> list[str]:
    """Orphans of a table at `t`."""
    small_tables.paimon(tmp_path / "t", "bucket-0/data-a.parquet")
    files = small_tables.lost(*(tmp_path / "t" / "bucket-0" / f"data-lost-{n}.parquet" for n in range(2)))
    for path in files:
        os.utime(path, (OLD.timestamp(),) * 2)
    return files


@pytest.mark.parametrize("ending", ["parquet", "arrow"])
def test_a_plan_is_kept_applied_and_restored(
    lost: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, ending: str
):
    monkeypatch.chdir(tmp_path)
    plan = tmp_path / f"plan.{ending}"
    shown = run("orphans", "t", "--plan-file", plan, "--columns", "file_path")
    assert shown.exit_code == 0
    assert shown.stdout.split() == ["file_path", *(os.path.relpath(path, tmp_path) for path in lost)]
    assert f"`lakebed apply {plan}`" in shown.stderr
    # From elsewhere: the file says where the table is.
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    done = run("apply", plan, "--quarantine", tmp_path / "q", "--yes")
    assert (done.exit_code, done.stdout) == (0, "moved 2 files, 8 B\n")
    said = done.stderr.splitlines()
    assert said[0].startswith(f"orphans of {tmp_path}/t, planned at ")
    assert said[1:] == ["files: 2 unknown (8 B)", f"moved to {tmp_path}/q", f"log: {plan}.log"]
    assert not any(Path(path).exists() for path in lost)
    assert output("restore", f"{plan}.log", "--yes") == "restored 2 files, 8 B\n"
    assert all(Path(path).exists() for path in lost)
    rows = [
        json.loads(line) for line in output("apply", plan, "--yes", "--log", "l", "-o", "json").splitlines()
    ]
    assert {row["outcome"] for row in rows} == {"removed"}


def test_what_an_expiry_commits_is_said_before_it(tmp_path: Path):
    table = small_tables.paimon(tmp_path / "t", *(f"bucket-0/data-{n}.parquet" for n in range(14)))
    plan = tmp_path / "plan.parquet"
    output("expire-plan", table.location, "--older-than", "0s", "--retain-last", "1", "--plan-file", plan)
    done = run("apply", plan, "--yes")
    assert done.exit_code == 0
    listed = ", ".join(map(str, range(1, 11)))
    assert f"commits first: snapshots {listed} and 3 more expire" in done.stderr.splitlines()
    assert table.refresh().snapshots().to_arrow().num_rows == 1


def test_wrong_usage_does_nothing(lost: list[str], tmp_path: Path):
    table, plan = tmp_path / "t", tmp_path / "plan.parquet"
    assert "does not end in" in complaint("orphans", table, "--plan-file", "plan.csv", code=2)
    output("orphans", table, "--plan-file", plan)
    asked = run("apply", plan)
    assert asked.exit_code == 2
    assert "--yes goes on without a question" in asked.stderr
    assert "is not an age" in complaint("apply", plan, "--younger", "2026-01-01", "--yes", code=2)
    rows = pq.read_table(plan).replace_schema_metadata(None)
    pq.write_table(rows, tmp_path / "bare.parquet")
    assert "name TABLE" in complaint("apply", tmp_path / "bare.parquet", "--yes", code=2)
    assert run("apply", tmp_path / "bare.parquet", table, "--yes", "--log", table / "log").exit_code == 1
    other = small_tables.paimon(tmp_path / "other")
    assert "of another table" in complaint("apply", plan, other.location, "--yes", code=1)
    assert all(Path(path).exists() for path in lost)
    assert run("apply", tmp_path / "bare.parquet", table, "--yes").exit_code == 0
    assert "were deleted" in complaint("restore", tmp_path / "bare.parquet.log", "--yes", code=2)
    output("orphans", table, "--plan-file", tmp_path / "none.arrow")
    assert output("apply", tmp_path / "none.arrow") == "no rows, nothing to do\n"


def test_a_file_that_does_not_go_is_exit_code_1(lost: list[str], tmp_path: Path):
    plan = tmp_path / "plan.parquet"
    output("orphans", tmp_path / "t", "--plan-file", plan)
    there = Path(lost[0].replace("/t/", "/q/"))
    there.parent.mkdir(parents=True)
    there.write_bytes(b"mine")
    done = run("apply", plan, "--quarantine", tmp_path / "q", "--yes")
    assert done.exit_code == 1
    assert done.stdout.splitlines()[0] == "moved 1 file, 4 B"
    assert done.stdout.splitlines()[1].startswith("failed 1 file, 4 B: ")


def all_of(terminal: int) -> Iterator[bytes]:
    """What is written to a terminal until its other end is closed, which is an error."""
    with contextlib.suppress(OSError):
        while True:
            yield os.read(terminal, 4096)


@pytest.mark.parametrize(("answer", "code"), [("y", 0), ("n", 1), ("", 1)])
def test_a_terminal_is_asked(lost: list[str], tmp_path: Path, answer: str, code: int):
    plan = tmp_path / "plan.parquet"
    lakebed_rows = lakebed.open_table(tmp_path / "t").orphans().to_arrow()
    pq.write_table(lakebed_rows, plan)
    ours, theirs = pty.openpty()
    command = [sys.executable, "-m", "lakebed", "apply", str(plan), str(tmp_path / "t")]
    with subprocess.Popen(command, stdin=theirs, stdout=subprocess.PIPE, stderr=theirs) as process:
        os.close(theirs)
        os.write(ours, f"{answer}\n".encode())
        said = b"".join(all_of(ours))
        assert process.wait() == code
    os.close(ours)
    assert b"Go on? [y/N]" in said
    assert [Path(path).exists() for path in lost] == [code == 1] * 2
