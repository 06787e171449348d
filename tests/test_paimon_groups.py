"""`partitions` and `buckets`: sums over the live files, as the engine and as Arrow group them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from typing import Any

import pyarrow as pa
import pytest

import lakebed
from lakebed.errors import PredicateError, SchemaError
from paimon_answers import Row, canonical
from shared_data import SAMPLE_TABLE, GoldenTable, each_golden_paimon_table

POSTPONE_BUCKET = -2
SUMS = ("file_count", "record_count", "file_size_in_bytes")
PINNED = {
    "partition": None,
    "spec_id": pa.int32(),
    "file_count": pa.int64(),
    "record_count": pa.int64(),
    "file_size_in_bytes": pa.int64(),
    "delete_file_count": pa.int64(),
    "delete_record_count": pa.int64(),
    "last_updated_at": pa.timestamp("us"),
    "last_updated_snapshot_id": pa.int64(),
}


@each_golden_paimon_table()
def test_buckets_are_the_engines(table: GoldenTable):
    names = ("bucket", *SUMS)
    assert _rows(table, "buckets", names) == _sorted(table.rows("sys/buckets"), names)


@each_golden_paimon_table()
def test_partitions_are_the_engines(table: GoldenTable):
    where = f"bucket <> {POSTPONE_BUCKET}"  # the engine leaves out what waits for its bucket
    assert _rows(table, "partitions", SUMS, where=where) == _sorted(table.rows("sys/partitions"), SUMS)


@each_golden_paimon_table()
def test_groups_are_those_of_the_files(table: GoldenTable):
    opened = lakebed.open_table(table.path)
    files = opened.files().to_arrow()
    for view, keys in (("partitions", ["partition"]), ("buckets", ["partition", "bucket"])):
        read = getattr(opened, view)().to_arrow()
        wanted = _grouped(files, keys)
        got = read.select([name for name in read.schema.names if name in wanted.schema.names])
        assert got.equals(wanted.select(got.schema.names)), view


@each_golden_paimon_table()
def test_deletes_are_those_of_the_view(table: GoldenTable):
    opened = lakebed.open_table(table.path)
    deletes = opened.deletes(columns=["partition", "bucket", "record_count"]).to_arrow().to_pylist()
    for view, keys in (("partitions", ["partition"]), ("buckets", ["partition", "bucket"])):
        expected: defaultdict[str, list[int]] = defaultdict(list)
        for row in deletes:
            expected[str([row[key] for key in keys])].append(row["record_count"])
        columns = [*keys, "delete_file_count", "delete_record_count"]
        for row in getattr(opened, view)(columns=columns).to_arrow().to_pylist():
            counts = expected.pop(str([row[key] for key in keys]), [])
            assert (row["delete_file_count"], row["delete_record_count"]) == (len(counts), sum(counts))
        assert not expected, f"{view}: deletes of groups without files"


def test_pinned_columns_come_first():
    opened = lakebed.open_table(SAMPLE_TABLE)
    schema = opened.partitions().schema
    assert schema.names[: len(PINNED)] == list(PINNED)
    assert {name: schema.field(name).type for name in PINNED if name != "partition"} == {
        name: kind for name, kind in PINNED.items() if kind is not None
    }
    assert schema.field("partition").type == opened.files().schema.field("partition").type
    assert opened.buckets().schema.names[:2] == ["partition", "bucket"]


@pytest.mark.parametrize("view", ["partitions", "buckets"])
def test_keywords_are_those_of_every_view(view: str):
    read = getattr(lakebed.open_table(SAMPLE_TABLE), view)
    whole = read().to_arrow()
    assert read(threads=1).to_arrow().equals(whole)
    assert read(limit=2).to_arrow().equals(whole.slice(0, 2))
    chosen = ["record_count", "partition"]
    assert read(columns=chosen).to_arrow().equals(whole.select(chosen))
    with pytest.raises(SchemaError, match="nope"):
        read(columns=["nope"])
    with pytest.raises(PredicateError):
        read(where="nope = 1")
    with pytest.raises(TypeError):
        read(stats=["amount"])


def test_where_leaves_files_out_before_they_are_summed():
    opened = lakebed.open_table(SAMPLE_TABLE)
    one = opened.partitions(where="bucket = 0 and dt <= DATE '2026-01-02'").to_arrow()
    files = opened.files(where="bucket = 0 and dt <= DATE '2026-01-02'").to_arrow()
    assert 0 < one.num_rows < opened.partitions().to_arrow().num_rows
    for name, of_files in (("record_count", "record_count"), ("file_size_in_bytes", "file_size_in_bytes")):
        assert sum(one[name].to_pylist()) == sum(files[of_files].to_pylist())
    assert sum(one["file_count"].to_pylist()) == files.num_rows
    assert set(one["bucket_count"].to_pylist()) == {1}


def test_explain_ends_at_the_files():
    opened = lakebed.open_table(SAMPLE_TABLE)
    steps = {step.step: step for step in opened.partitions(where="bucket = 0").explain().steps}
    assert list(steps) == ["manifests", "entries", "files"]
    assert steps["files"].kept == opened.files(where="bucket = 0").to_arrow().num_rows


def _rows(table: GoldenTable, view: str, names: Sequence[str], **keywords: Any) -> list[list[str]]:
    read = getattr(lakebed.open_table(table.path), view)(columns=names, **keywords).to_arrow()
    return sorted(map(list, zip(*(canonical(column) for column in read.columns), strict=True)))


def _sorted(rows: list[Row], names: Sequence[str]) -> list[list[str]]:
    return sorted([row[name] for name in names] for row in rows)


def _grouped(files: pa.Table, keys: list[str]) -> pa.Table:
    """Files summed by Arrow, partitions told apart by what they print as, in the order they appear."""
    texts = [str(row) for row in zip(*(files[key].to_pylist() for key in keys), strict=True)]
    first: dict[str, int] = {}
    members: defaultdict[str, int] = defaultdict(int)
    for row, text in enumerate(texts):
        first.setdefault(text, row)
        members[text] += 1
    numbered = files.select(["record_count", "file_size_in_bytes", "created_at", "level"])
    numbered = numbered.append_column("group", pa.array([first[text] for text in texts], pa.int64()))
    aggregates = [("record_count", "sum"), ("file_size_in_bytes", "sum"), ("created_at", "max")]
    aggregates += [("level", "min"), ("level", "max"), ("level", "count")]
    sums = numbered.group_by("group", use_threads=False).aggregate(aggregates).sort_by("group")
    taken = files.select(keys).take(sums["group"])
    columns = {
        "file_count": sums["level_count"],
        "record_count": sums["record_count_sum"],
        "file_size_in_bytes": sums["file_size_in_bytes_sum"],
        "last_updated_at": sums["created_at_max"],
        **({"min_level": sums["level_min"], "max_level": sums["level_max"]} if "bucket" in keys else {}),
    }
    for name, column in columns.items():
        taken = taken.append_column(name, column)
    return taken
