"""The engines as judges of changes: their own incremental scans, and the rows that they read."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from covering import each_covering_iceberg_table, each_covering_paimon_table
from test_changelog import commits

if TYPE_CHECKING:
    from java_engine import JavaEngine

    import lakebed
    from iceberg_golden import GoldenTable as IcebergTable
    from shared_data import GoldenTable

pytestmark = [pytest.mark.jvm, pytest.mark.filterwarnings("ignore::lakebed.errors.LakebedWarning")]


def changed(table: lakebed.Table, after: int | None) -> list[tuple[str, int, int, str]]:
    columns = ["change", "change_ordinal", "snapshot_id", "file_path"]
    rows = table.changes(after, columns=columns).to_arrow().to_pylist()
    return sorted(tuple(row.values()) for row in rows)


# Of manifests that no list names Java does not know which snapshot added them.
@each_covering_iceberg_table(names=("[!i]*", "i[!n]*", "in[!l]*"))
def test_changes_are_those_of_iceberg(table: IcebergTable, iceberg_java: JavaEngine):
    opened = table.open()
    asked = {"metadata": table.path / table.info["metadata_file"], "relocate": table.relocate}
    refused = 0
    for before, after, _ in commits(opened):
        theirs = iceberg_java.ask("changelog", **asked, after=before.snapshot_id, to=after.snapshot_id)
        if "error" in theirs:
            assert "Delete files are currently not supported" in theirs["error"]
            refused += 1
            continue
        assert sorted(map(tuple, theirs)) == changed(after, before.snapshot_id)
    if not refused and opened.snapshot_id is not None:
        (oldest, *_) = opened.growth(columns=["snapshot_id"]).to_arrow()["snapshot_id"].to_pylist()
        theirs = iceberg_java.ask("changelog", **asked, after=oldest, to=opened.snapshot_id)
        assert sorted(map(tuple, theirs)) == changed(opened, oldest)


@each_covering_paimon_table()
def test_added_files_are_those_of_paimon(table: GoldenTable, paimon_java: JavaEngine):
    opened = table.open()
    for before, after, _ in commits(opened):
        asked: dict[str, Any] = {"after": before.snapshot_id, "to": after.snapshot_id}
        theirs = paimon_java.ask("between", table=table.path, **asked)
        ours = [Path(path).name for word, *_, path in changed(after, before.snapshot_id) if word == "added"]
        assert sorted(theirs) == sorted(ours)
