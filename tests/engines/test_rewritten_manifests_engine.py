"""Iceberg's Java engine as a reader of manifests rewritten by other columns, in part, and through disk."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from covering import each_covering_iceberg_table
from java_engine import JavaEngine, each_iceberg_release
from moved_tables import copied, with_deletes

import lakebed
from iceberg_golden import GoldenTable

pytestmark = [pytest.mark.jvm, pytest.mark.filterwarnings("ignore::lakebed.errors.LakebedWarning")]

# What of an entry a rewritten manifest has otherwise: all that are live are EXISTING.
CHANGED = "status"


def live(entries: list[dict[str, Any]]) -> dict[str, str]:
    """What the engine reads of each live entry, row ids among it, by the file's path."""
    kept = [
        {name: one for name, one in row.items() if name != CHANGED} for row in entries if row[CHANGED] != 2
    ]
    return {row["data_file"]["file_path"]: repr(row) for row in kept}


def part(table: lakebed.Table) -> str | None:
    """A filter that leaves some manifests out, where files lie in partitions."""
    for row in table.files(columns=["partition"]).to_arrow().to_pylist():
        for name, value in (row["partition"] or {}).items():
            if isinstance(value, int | str) and not isinstance(value, bool):
                return f'"{name}" = {value!r}'
    return None


@each_iceberg_release
@each_covering_iceberg_table("format", "several", "status", "content")
def test_iceberg_plans_and_reads_the_same(table: GoldenTable, tmp_path: Path, iceberg_java: JavaEngine):
    if Path(table.info["metadata_file"]).name[0] != "v":
        pytest.skip("a table of a catalog's")
    if table.name == "inline_manifests_v1":
        pytest.skip("Iceberg Java plans no snapshot without a manifest list")
    if table.name == "java_fixed_partition_v2":
        pytest.skip("Iceberg Java reads fixed partition values by another layout than the file's own schema")
    new = tmp_path / "new"
    before = with_deletes(table, tmp_path / "old")
    copied(lakebed.rewrite_paths(before, dict.fromkeys(table.relocate, str(new)), to=new))
    opened = lakebed.open_table(new)
    if 0 not in opened.manifests(columns=["content"]).to_arrow()[0].to_pylist():
        pytest.skip("there is nothing to rewrite")

    def read() -> tuple[dict[str, Any], dict[str, str]]:
        log = lakebed.open_table(new).metadata_table("metadata_log_entries").to_arrow()
        answer = iceberg_java.ask("read", metadata=log["file"].to_pylist()[-1], relocate={})
        plan = answer["plans"][str(answer["metadata"]["current-snapshot-id"])]
        assert "error" not in plan
        return plan, live(answer["entries"])

    expected = read()
    for rewrite in ({"by": ["file_path"], "memory_bytes": 1}, {"where": part(opened), "target_bytes": 4_000}):
        after = lakebed.open_table(new).rewrite_manifests(**rewrite)
        assert after.snapshot_id != opened.snapshot_id
        assert read() == expected
