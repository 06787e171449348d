"""Appends to Iceberg tables of many manifests: what is there is copied as it stands."""

from __future__ import annotations

import json
from datetime import timedelta
from itertools import pairwise
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from file_rows import file_rows
from iceberg_commits import metadata

import lakebed
from lakebed import iceberg

SCHEMA = pa.schema([("region", pa.string())])
# What makes the rows of a list long, so that few of them make a block.
LONG = "x" * 2000
# A manifest for each file, none of which is merged.
APART = {"commit.manifest.target-size-bytes": "1", "commit.manifest-merge.enabled": "false"}


def files(*numbers: int) -> pa.Table:
    partition = pa.array([{"region": f"{LONG}{number}"} for number in numbers])
    return file_rows(*(f"data/{n}.parquet" for n in numbers), record_count=5, partition=partition)


def lists(table: lakebed.Table) -> list[str]:
    return [one["manifest-list"] for one in metadata(table)["snapshots"]]


def blocks(path: str) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = lakebed.avro.read_blocks(path).to_pylist()
    return rows


@pytest.mark.parametrize("version", [1, 2, 3])
def test_the_list_before_is_copied_block_by_block(tmp_path: Path, version: int) -> None:
    table = lakebed.create_table(
        tmp_path / "t", SCHEMA, "iceberg", partition_by=["region"], format_version=version, properties=APART
    )
    table = table.append_files(files(*range(60)))
    for number in range(60, 64):
        table = table.append_files(files(number))
    paths = lists(table)
    rows = [iceberg.read_manifest_list(path).to_arrow() for path in paths]
    for before, after in pairwise(rows):
        assert after.slice(1).equals(before)
        assert after["added_rows_count"][0].as_py() == 5
    if version == 3:
        assert rows[-1]["first_row_id"].to_pylist()[:5] == [315, 310, 305, 300, 0]
    # Rows are put together with those before until a block is full.
    sizes = [[(block["row_count"], block["size_in_bytes"]) for block in blocks(path)] for path in paths]
    assert [sum(count for count, _ in size) for size in sizes] == [60, 61, 62, 63, 64]
    assert all(len(size) <= len(sizes[0]) + 1 for size in sizes)
    assert [size[-2:] for size in sizes] == [sizes[0][-2:]] * 5
    assert len(table.files().to_arrow()) == 64
    # What is removed is not copied.
    table = table.delete_files(["data/3.parquet"])
    table = table.append_files(files(64))
    assert len(table.files().to_arrow()) == 64


def test_what_others_wrote_of_a_snapshot_stays_to_the_letter(tmp_path: Path) -> None:
    table = lakebed.create_table(tmp_path / "t", pa.schema([("a", pa.int32())]), "iceberg")
    table = table.append_files(file_rows("data/a.parquet"))
    file = next(Path(table.location, "metadata").glob("v2.*"))
    stored = json.loads(file.read_text())
    stored["snapshots"][0]["other"] = [1.50, {"b": None}]
    # As a writer that indents leaves it, with a number that would be written otherwise.
    file.write_text(json.dumps(stored, indent=1).replace("1.5", "1.50"))
    table = lakebed.open_table(table.location).append_files(file_rows("data/b.parquet"))
    text = Path(table.location, "metadata", "v3.metadata.json").read_text()
    assert "1.50" in text
    assert [one["snapshot-id"] for one in json.loads(text)["snapshots"]] == ids(table)
    table.update_properties({"a": "b"})
    table, _ = table.expire_snapshots(retain_last=1, older_than=timedelta(0))
    assert ids(table) == [table.snapshot_id]
    assert len(metadata(table)["snapshot-log"]) == 1


def ids(table: lakebed.Table) -> list[int]:
    found: list[int] = table.snapshots().to_arrow()["snapshot_id"].to_pylist()
    return found
