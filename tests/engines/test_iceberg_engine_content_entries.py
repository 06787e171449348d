"""Manifests of content entries that lakebed writes, read by the unfinished reader of Iceberg 1.12."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import content_entries
import pyarrow as pa
import pytest
from java_engine import JavaEngine

from iceberg_answers import assert_same_rows, canonical_rows, wanted
from lakebed import experimental

LISTED = {"snapshot_id": 4200, "sequence_number": 9, "first_row_id": 7000}


def asked(engine: JavaEngine, path: Path) -> list[dict[str, Any]]:
    told = content_entries.writable()
    (schema,) = told["schemas"]
    answer: list[dict[str, Any]] = engine.ask(
        "content_entries",
        path=str(path),
        schema=schema,
        specs=told["partition-specs"],
        location=told["location"],
        **LISTED,
    )
    return answer


@pytest.mark.parametrize("name", ["leaf-m0.parquet", "root-4200.parquet", "bare-m0.parquet"])
@pytest.mark.parametrize("codec", ["gzip", "zstd"])
def test_java_reads_what_is_written(iceberg_java: JavaEngine, name: str, codec: str, tmp_path: Path) -> None:
    told = content_entries.writable()
    entries = experimental.read_content_entries(content_entries.file(name), metadata=told)
    written = tmp_path / "written.parquet"
    experimental.write_content_entries(entries, written, metadata=told, codec=codec)
    table = experimental.read_content_entries(written, metadata=told, listed=LISTED).to_arrow()
    # Iceberg's reader leaves out files without rows.
    ours = [row for row in canonical_rows(table) if int(row["record_count"]) != 0]
    theirs = [flat(row, table.schema) for row in asked(iceberg_java, written)]
    assert theirs
    assert_same_rows(theirs, [{name: row[name] for name in theirs[0]} for row in ours], name)


def flat(row: dict[str, Any], schema: pa.Schema) -> dict[str, Any]:
    """Java's answer with lakebed's columns, in the canonical form."""
    tracking = row.pop("tracking")
    found = {"pos": tracking.pop("_pos"), **tracking, **row}
    stats, info = found["content_stats"], found["manifest_info"]
    if stats is not None:
        # Java's names are other ones, in the same order.
        members = [field.name for field in schema.field("content_stats").type]
        found["content_stats"] = dict(zip(members, stats.values(), strict=True))
    if info is not None:
        info["dv_cardinality"] = None
    names = [name for name in schema.names if name in found]
    return {name: wanted(found[name], schema.field(name).type) for name in names}
