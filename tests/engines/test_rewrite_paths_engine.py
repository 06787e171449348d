"""The engines as readers of metadata that was written anew for another place."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from covering import each_covering_iceberg_table, each_layout_of_golden_paimon_tables
from java_engine import JavaEngine, each_iceberg_release
from moved_tables import copied, said, with_deletes

import lakebed
from iceberg_golden import GoldenTable as GoldenIcebergTable
from shared_data import GoldenTable

pytestmark = [pytest.mark.jvm, pytest.mark.filterwarnings("ignore::lakebed.errors.LakebedWarning")]


@each_iceberg_release
@each_covering_iceberg_table("format", "several", "content", "status", "container")
def test_iceberg_reads_the_same(table: GoldenIcebergTable, tmp_path: Path, iceberg_java: JavaEngine):
    if table.name == "inline_manifests_v1":
        pytest.skip("Iceberg Java's own files, which it does not read by the length that it records")
    before = with_deletes(table, tmp_path / "old")
    old, new = table.info["location"].removeprefix("file://"), str(tmp_path / "new")
    copied(lakebed.rewrite_paths(before, dict.fromkeys(table.relocate, new), to=new))
    file = table.info["metadata_file"]
    # The engine refuses manifests and delete files of another length than is recorded.
    found = iceberg_java.ask("read", metadata=Path(new) / file, relocate={})
    relocate = {written: str(tmp_path / "old") for written in table.relocate}
    expected = iceberg_java.ask("read", metadata=tmp_path / "old" / file, relocate=relocate)
    assert len(expected["plans"]) == len(expected["metadata"]["snapshots"])
    for name, rows in expected.items():
        if "error" not in rows:
            one, other = said(found[name], "file://" + new, new), said(rows, old, new)
            other = said(other, "file://" + new, new)
            assert one == other or of_set(name, one) == of_set(name, other), name


def of_set(name: str, rows: list[object]) -> list[str]:
    """What is read of sets: in the order of paths, and of a manifest that several lists have by any of them.

    Older lists do not say what the first row id is.
    """
    texts = map(repr, rows)
    return sorted(re.sub("'first_row_id': [^,}]*", "", text) if "all_" in name else text for text in texts)


@each_layout_of_golden_paimon_tables()
def test_paimon_plans_the_same(table: GoldenTable, tmp_path: Path, paimon_java: JavaEngine):
    new = tmp_path / table.path.name
    prefixes = {str(table.path): str(new), "s3://lake-a/": "s3://lake-b/"}
    lakebed.rewrite_paths(lakebed.open_table(table.path), prefixes, to=new)
    expected, found = (paimon_java.ask("plan", table=one) for one in (table.path, new))
    assert str(found).replace("s3://lake-b/", "s3://lake-a/") == str(expected).replace(
        str(table.path), str(new)
    )
