"""`health`: its counts are those of the views that they sum up, on the tables of both engines."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pyarrow as pa
import pytest
from command_line import printed
from covering import each_golden_table
from paimon_made import MadeTable
from test_dangling import by_plans

import lakebed
from lakebed.advice import Thresholds
from lakebed.errors import LakebedError, PredicateError, SchemaError
from shared_data import SAMPLE_TABLE, sample_of

SMALL = 1200


def health(table: lakebed.Table, **selection: Any) -> dict[str, Any]:
    row: dict[str, Any]
    (row,) = table.health(**selection).to_arrow().to_pylist()
    return row


def column(scan: lakebed.Scan, name: str) -> list[Any]:
    return scan.to_arrow()[name].to_pylist() if name in scan.schema.names else []


def total(values: list[Any]) -> int | None:
    return None if None in values else sum(values)


def of_files(table: lakebed.Table, where: str | None) -> dict[str, Any]:
    """What the rows of `files` and `partitions` come to."""
    files = [file for file in table.files(where=where).to_arrow().to_pylist() if file["content"] == 0]
    sizes = [file["file_size_in_bytes"] for file in files]
    partitions = table.partitions(where=where)
    groups = partitions.to_arrow().to_pylist()
    of_groups = {name: sum(group[name] for group in groups) for name in ("file_count", "record_count")}
    per_partition = Counter(repr((file["spec_id"], file["partition"])) for file in files)
    paimon = table.format == "paimon"
    levels = [file["level"] for file in files] if paimon else []
    return {
        "partition_count": len(groups),
        "bucket_count": table.buckets(where=where).to_arrow().num_rows if paimon else None,
        **of_groups,
        "file_size_in_bytes": sum(sizes),
        "average_file_size_in_bytes": sum(sizes) / len(sizes) if sizes else None,
        "min_file_size_in_bytes": min(sizes, default=None),
        "max_file_size_in_bytes": max(sizes, default=None),
        "small_file_count": sum(size < SMALL for size in sizes),
        "small_file_size_in_bytes": sum(size for size in sizes if size < SMALL),
        "max_partition_file_count": max(per_partition.values(), default=0 if groups else None),
        "max_level": max(levels, default=None),
        "level_0_file_count": levels.count(0) if paimon else None,
    }


def of_deletes(table: lakebed.Table, where: str | None) -> dict[str, Any]:
    """What the deletes of `partitions` come to."""
    partitions = table.partitions(where=where)
    names = ["delete_file_count", "delete_record_count", "position_delete_file_count"]
    names += ["position_delete_record_count", "equality_delete_file_count", "equality_delete_record_count"]
    names += ["deletion_vector_count", "delete_row_count"]
    sums = {
        name: total(column(partitions, name)) if name in partitions.schema.names else None for name in names
    }
    if table.format == "paimon":
        sums["deletion_vector_count"] = sums["delete_file_count"]
    return {**sums, **by_plans(table, where)}


def of_manifests(table: lakebed.Table, where: str | None) -> dict[str, Any]:
    """What the rows of `manifests` come to."""
    manifests = table.manifests(where=where).to_arrow().to_pylist()
    kinds = ["added", "deleted"] if table.format == "paimon" else ["added", "existing", "deleted"]
    entries = total([manifest[f"{kind}_files_count"] for manifest in manifests for kind in kinds])
    return {
        "manifest_count": len(manifests),
        "manifest_size_in_bytes": sum(manifest["length"] for manifest in manifests),
        "small_manifest_count": sum(manifest["length"] < 2**20 for manifest in manifests),
        "delete_manifest_count": sum(manifest["content"] for manifest in manifests),
        "entry_count": entries,
        "average_manifest_entry_count": entries / len(manifests) if entries and manifests else None,
        "deleted_entry_count": total([manifest["deleted_files_count"] for manifest in manifests]),
    }


def of_table(table: lakebed.Table) -> dict[str, Any]:
    """What the table and the rows of `snapshots` say."""
    snapshots = table.snapshots(columns=["snapshot_id", "committed_at"]).to_arrow().to_pylist()
    times = {snapshot["snapshot_id"]: snapshot["committed_at"] for snapshot in snapshots}
    return {
        "location": table.location,
        "format": table.format,
        "format_version": table.format_version,
        "snapshot_id": table.snapshot_id,
        "committed_at": times.get(table.snapshot_id),
        "snapshot_count": len(snapshots),
        "oldest_snapshot_at": min(times.values(), default=None),
        "newest_snapshot_at": max(times.values(), default=None),
        "unused_key_count": unused_keys(table) if table.format == "iceberg" else None,
    }


def unused_keys(table: lakebed.Table) -> int:
    keys = table.metadata_table("encryption_keys").to_arrow()
    used = {*keys["encrypted_by_id"].to_pylist()}
    used |= {*table.snapshots(columns=["key_id"]).to_arrow()["key_id"].to_pylist()}
    return len({*keys["key_id"].to_pylist()} - used)


def check(table: lakebed.Table, where: str | None = None) -> None:
    try:
        expected = {
            **of_table(table),
            **of_files(table, where),
            **of_deletes(table, where),
            **of_manifests(table, where),
        }
    except LakebedError as error:
        with pytest.raises(type(error)):
            health(table, where=where)
        return
    found = health(table, where=where, small_bytes=SMALL)
    assert isinstance(found.pop("schema_id"), int)
    # How manifests are clustered follows, and has tests of its own.
    for name in list(found)[-5:]:
        assert found.pop(name) is None or "manifest_count" in name
    if not found["manifest_count"]:
        assert found.pop("average_manifest_entry_count") == expected.pop("average_manifest_entry_count")
    assert found == expected


@each_golden_table()
def test_the_counts_are_those_of_the_views(table):
    check(table.open())


def test_only_what_a_filter_leaves_is_counted():
    paimon, iceberg = sample_of("paimon"), sample_of("iceberg")
    where = "dt = '2026-01-02'"
    check(paimon, where)
    assert 0 < health(paimon, where=where)["file_count"] < health(paimon)["file_count"]
    check(iceberg)


def test_another_place_in_history():
    table = lakebed.open_table(SAMPLE_TABLE).at(snapshot=1)
    check(table)
    assert health(table)["snapshot_id"] == 1


def test_a_table_before_its_first_commit(made: MadeTable):
    row = health(lakebed.open_table(made.root))
    assert (row["file_count"], row["partition_count"], row["manifest_count"], row["snapshot_count"]) == (
        0,
    ) * 4
    unknown = ("snapshot_id", "committed_at", "max_file_size_in_bytes", "deleted_record_ratio")
    assert [row[name] for name in unknown] == [None] * 4


def test_columns_and_their_types():
    table = lakebed.open_table(SAMPLE_TABLE)
    schema = table.health().schema
    assert schema == sample_of("iceberg").health().schema == table.health().to_arrow().schema
    counts = [name for name in schema.names if name.endswith("_count") and "average" not in name]
    assert {schema.field(name).type for name in counts} == {pa.int64()}
    names = ["file_count", "location"]
    assert table.health(columns=names).to_arrow().schema.names == names
    assert table.health(limit=0).to_arrow().num_rows == 0


def test_it_explains_what_it_counts():
    table = lakebed.open_table(SAMPLE_TABLE)
    where = "dt = '2026-01-02'"
    assert str(table.health(where=where).explain()) == str(table.partitions(where=where).explain())


def test_wrong_questions_are_refused():
    table = lakebed.open_table(SAMPLE_TABLE)
    with pytest.raises(SchemaError):
        table.health(columns=["no_such"])
    with pytest.raises(PredicateError):
        table.health(where="no_such = 1")
    with pytest.raises(ValueError, match="small_bytes"):
        table.health(small_bytes=-1)
    with pytest.raises(TypeError, match="small_bytes takes a whole number, not '1MB'"):
        table.health(small_bytes="1MB")  # type: ignore[arg-type]


def test_the_command_takes_sizes_with_units():
    for written, size in (("2KiB", 2048), ("2.3 kB", 2300), ("2000", 2000), ("1mb", 10**6)):
        shown = printed("partitions", SAMPLE_TABLE, "--small-bytes", written)
        table = lakebed.open_table(SAMPLE_TABLE).partitions(small_bytes=size).to_arrow()
        assert [row["small_file_count"] for row in shown] == table["small_file_count"].to_pylist()


def test_problems_come_with_what_to_do():
    table = lakebed.open_table(SAMPLE_TABLE)
    assert table.health().findings() == []
    (finding,) = table.health(columns=["file_count"], limit=0).findings(Thresholds(snapshots=9))
    assert finding["column"] == "snapshot_count"
    assert finding["what"].startswith("10 snapshots")
    assert "sys.expire_snapshots" in finding["next_step"]


def test_the_command():
    (shown,) = printed("health", SAMPLE_TABLE, "--small-bytes", "0")
    assert shown["small_file_count"] == 0
    assert shown["file_count"] == health(lakebed.open_table(SAMPLE_TABLE))["file_count"]


def test_partitions_count_the_files_that_are_small_by_the_given_size():
    table = lakebed.open_table(SAMPLE_TABLE)
    sizes = table.files(columns=["file_size_in_bytes"]).to_arrow()["file_size_in_bytes"].to_pylist()
    counts = table.partitions(small_bytes=max(sizes)).to_arrow()["small_file_count"]
    assert sum(counts.to_pylist()) == sum(size < max(sizes) for size in sizes) < len(sizes)
    with pytest.raises(ValueError, match="small_bytes"):
        table.partitions(small_bytes=-1)
    shown = printed("partitions", SAMPLE_TABLE, "--small-bytes", max(sizes))
    assert [row["small_file_count"] for row in shown] == counts.to_pylist()
