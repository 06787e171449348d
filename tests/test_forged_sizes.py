"""Sizes that a list records of its manifests, forged: together they are more than 64 bits."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from file_rows import file_rows
from json_files import edited
from paimon_files import rewrite

import lakebed
from lakebed import Table, open_table
from lakebed.errors import CorruptError
from lakebed.view import Bounds

MOST = 2**63 - 1
COMMITS = 4
SCHEMA = pa.schema([("id", pa.int64())])

JOBS: dict[str, Callable[[Table], Any]] = {
    "files": lambda table: table.files().job(Bounds(small_bytes=1)),
    "plan": lambda table: table.plan().job(Bounds(small_bytes=1)),
    "entries": lambda table: table.entries().job(Bounds()),
    "partitions": lambda table: table.partitions().job(Bounds()),
}
SUMS: dict[str, Callable[[Table], Any]] = {
    "appends": lambda table: table.appends(ids(table)[0]).explain(),
    "diff": lambda table: table.diff(ids(table)[0], ids(table)[-1]).explain(),
    "reachable": lambda table: table.reachable().explain(),
    "orphans": lambda table: table.orphans().explain(),
    "totals": lambda table: table.totals().to_arrow(),
    "health": lambda table: table.health().to_arrow(),
}


def ids(table: Table) -> list[int]:
    return list(table.snapshots().to_arrow()["snapshot_id"].to_pylist())


@pytest.fixture(params=["paimon", "iceberg"])
def forged(request: pytest.FixtureRequest, tmp_path: Path) -> Table:
    """A table of several manifests, each of as many bytes as a list can record."""
    table = lakebed.create_table(tmp_path, SCHEMA, request.param)
    folder = "bucket-0" if request.param == "paimon" else "data"
    for commit in range(COMMITS):
        table = table.append_files(file_rows(f"{folder}/{commit}.orc", record_count=7))
    for path in (tmp_path / "metadata").glob("snap-*"):
        rewrite(path, lambda row: row | {"manifest_length": MOST})
    for path in (tmp_path / "snapshot").glob("snapshot-*"):
        with edited(path) as snapshot:
            for name in ("baseManifestList", "deltaManifestList"):
                rewrite(tmp_path / "manifest" / snapshot[name], lambda row: row | {"_FILE_SIZE": MOST})
                snapshot[f"{name}Size"] = (tmp_path / "manifest" / snapshot[name]).stat().st_size
    return open_table(tmp_path, format=request.param)


@pytest.mark.parametrize("name", JOBS)
def test_jobs_are_planned(forged: Table, name: str):
    job = JOBS[name](forged)
    assert [manifest["size"] for manifest in job.manifests] == [MOST] * COMMITS
    assert max(job.shuffles, default=1) <= 1 << 16


@pytest.mark.filterwarnings("ignore::lakebed.errors.LakebedWarning")
@pytest.mark.parametrize("name", SUMS)
def test_sums_are_an_error_of_the_table_or_none(forged: Table, name: str):
    with suppress(CorruptError):
        SUMS[name](forged)
