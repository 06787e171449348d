"""A machine that gives no more threads: what takes several goes on with those that there are."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from shared_data import SAMPLE_ICEBERG_TABLE, SAMPLE_MOVED, SAMPLE_TABLE

# No address space has room for stacks of this size, so that the system starts no thread.
NO_THREADS = {"RUST_MIN_STACK": str(1 << 62)}

READ = """
import sys, lakebed
location, relocate = sys.argv[1], dict([sys.argv[2:]]) if sys.argv[2:] else None
table = lakebed.open_table(location, relocate=relocate)
for scan in (table.files(threads=4), table.entries(threads=4), table.plan(threads=4)):
    print(scan.to_arrow().to_pylist())
"""

WRITE = """
import sys, pyarrow as pa, lakebed
rows = pa.table({"id": range(400_000), "name": [str(n * 7919 % 65537) for n in range(400_000)]})
options = {"codec": "deflate", "threads": 4, "block_bytes": 1 << 16, "sync": b"0123456789abcdef"}
lakebed.avro.write(rows, sys.argv[1], **options)
read = lakebed.avro.read(sys.argv[1], threads=4).to_arrow()
assert read.equals(rows.cast(read.schema)), read.schema
"""


def run(program: str, *arguments: str, **environment: str) -> str:
    done = subprocess.run(
        [sys.executable, "-c", program, *arguments],
        env=os.environ | environment,
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize(
    "arguments",
    [(str(SAMPLE_TABLE),), (str(SAMPLE_ICEBERG_TABLE), *next(iter(SAMPLE_MOVED.items())))],
    ids=["paimon", "iceberg"],
)
def test_tables_are_read_without_more_threads(arguments: tuple[str, ...]) -> None:
    assert run(READ, *arguments, **NO_THREADS) == run(READ, *arguments)


def test_files_are_written_and_read_without_more_threads(tmp_path: Path) -> None:
    for name, environment in (("alone", NO_THREADS), ("together", {})):
        run(WRITE, str(tmp_path / name), **environment)
    assert (tmp_path / "alone").read_bytes() == (tmp_path / "together").read_bytes()
