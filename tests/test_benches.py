"""The bench runs on tables it has made itself, one of each format, and gives every reader a time."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

BENCHES = Path(__file__).resolve().parents[1] / "benches"
BENCH = BENCHES / "bench_manifest.py"
TIMED = {
    "pypaimon": {
        ("lakebed", "entries"),
        ("lakebed", "projected"),
        ("lakebed", "files"),
        ("fastavro", "entries"),
    },
    "pyiceberg": {
        ("lakebed", "entries"),
        ("lakebed", "projected"),
        ("lakebed", "files"),
        ("lakebed, stats of all", "files"),
        ("lakebed", "stats"),
        ("lakebed.avro", "entries"),
        ("lakebed.avro", "projected"),
        ("fastavro", "entries"),
        ("polars", "entries"),
        ("pyiceberg", "entries"),
        ("pyiceberg", "stats"),
        ("pyiceberg inspect.files", "files"),
        ("pyiceberg-core", "entries"),
    },
}


@pytest.mark.parametrize("table", TIMED)
def test_quick_run_times_every_reader(table: str, tmp_path: Path) -> None:
    for module in ("lakebed", "fastavro", table):
        pytest.importorskip(module)
    readers = {label.partition(",")[0] for label, _ in TIMED[table]}
    command = [sys.executable, str(BENCH), "--no-rust", "--entries", "200", "--repeats", "1"]
    command += ["--tables", table, "--readers", ",".join(readers), "--cache", str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=240)
    assert done.returncode == 0, done.stdout + done.stderr
    rows = [line.split("|") for line in done.stdout.splitlines() if line.lower().startswith(f"| {table} ")]
    times = {(row[7].strip(), row[6].strip()): float(row[10]) for row in rows}
    assert times.keys() >= TIMED[table]
    assert all(seconds > 0 for seconds in times.values())


def test_metadata_is_opened_by_every_reader(tmp_path: Path) -> None:
    pytest.importorskip("pyiceberg")
    command = [sys.executable, str(BENCHES / "bench_metadata.py"), "--sizes", "1", "--repeats", "1"]
    done = subprocess.run([*command, "--cache", str(tmp_path)], capture_output=True, text=True, timeout=240)
    assert done.returncode == 0, done.stdout + done.stderr
    rows = [line.split("|") for line in done.stdout.splitlines() if line.startswith("| 1 MB ")]
    assert {row[2].strip() for row in rows} == {"open", "snapshots", "history"}
    assert all(float(row[4]) > 0 for row in rows)


def test_plans_are_timed(tmp_path: Path) -> None:
    pytest.importorskip("pyiceberg")
    command = [sys.executable, str(BENCHES / "bench_plan.py"), "--no-rust", "--tables", "pyiceberg"]
    command += ["--entries", "200", "--repeats", "1", "--readers", "lakebed,pyiceberg"]
    command += ["--cache", str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=240)
    assert done.returncode == 0, done.stdout + done.stderr
    rows = [line.split("|") for line in done.stdout.splitlines() if line.startswith("| PyIceberg ")]
    timed = {(row[7].strip(), row[6].strip()): float(row[10]) for row in rows}
    ours = {(label, task) for label in ("lakebed", "lakebed, all cores") for task in ("all", "stream")}
    assert timed.keys() == {*ours, ("pyiceberg", "all")}
    assert all(seconds > 0 for seconds in timed.values())


@pytest.mark.parametrize("table", TIMED)
def test_writers_are_timed(table: str, tmp_path: Path) -> None:
    pytest.importorskip(table)
    command = [sys.executable, str(BENCHES / "bench_write.py"), "--no-rust", "--tables", table]
    command += ["--entries", "200", "--repeats", "1", "--cache", str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=240)
    assert done.returncode == 0, done.stdout + done.stderr
    rows = [line.split("|") for line in done.stdout.splitlines() if line.lower().startswith(f"| {table} ")]
    writers = ("lakebed", "lakebed, all cores", table)
    assert {(row[7].strip(), row[6].strip()) for row in rows} == {(writer, "write") for writer in writers}
    assert all(float(row[10]) > 0 for row in rows)
    for writer in writers:
        assert f"\n{writer}: " in done.stdout, "no size of what was written"
