"""A machine that gives no more threads: what takes several goes on with those that there are."""

from __future__ import annotations

from pathlib import Path

import pytest
from interpreters import printed

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


@pytest.mark.parametrize(
    "arguments",
    [(str(SAMPLE_TABLE),), (str(SAMPLE_ICEBERG_TABLE), *next(iter(SAMPLE_MOVED.items())))],
    ids=["paimon", "iceberg"],
)
def test_tables_are_read_without_more_threads(arguments: tuple[str, ...]) -> None:
    assert printed("-c", READ, *arguments, environment=NO_THREADS) == printed("-c", READ, *arguments)


def test_files_are_written_and_read_without_more_threads(tmp_path: Path) -> None:
    for name, environment in (("alone", NO_THREADS), ("together", {})):
        printed("-c", WRITE, tmp_path / name, environment=environment)
    assert (tmp_path / "alone").read_bytes() == (tmp_path / "together").read_bytes()
