"""The bench runs, reads a table it has made itself, and gives every reader a time."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

BENCH = Path(__file__).resolve().parents[1] / "benches" / "bench_manifest.py"
READERS = {("lakebed", "entries"), ("lakebed", "projected"), ("lakebed", "files"), ("fastavro", "entries")}


def test_quick_run_times_every_reader(tmp_path: Path) -> None:
    for module in ("lakebed", "fastavro", "pypaimon"):
        pytest.importorskip(module)
    command = [sys.executable, str(BENCH), "--quick", "--no-rust", "--entries", "200", "--repeats", "1"]
    command += ["--readers", "lakebed,fastavro", "--cache", str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stdout + done.stderr
    rows = [line.split("|") for line in done.stdout.splitlines() if line.startswith("| pypaimon ")]
    times = {(row[7].strip(), row[6].strip()): float(row[10]) for row in rows}
    assert times.keys() >= READERS
    assert all(seconds > 0 for seconds in times.values())
