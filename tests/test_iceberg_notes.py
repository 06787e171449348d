"""What is odd about a table and no error: it is read, and warned of at the line that read it."""

from __future__ import annotations

import inspect
import shutil
import warnings
from pathlib import Path
from typing import Any

import pytest
from iceberg_made import MadeTable, entry

import lakebed
from iceberg_golden import GoldenTable, each_golden_iceberg_table
from lakebed.errors import LakebedWarning, SnapshotNotFoundError

MISSING = "which is not among the table's"


@pytest.fixture
def table(tmp_path: Path) -> MadeTable:
    made = MadeTable(tmp_path / "t", (1, "id", "long"))
    for _ in range(3):
        made.commit(made.manifest(entry(snapshot_id=1)))
    return made


def ref(snapshot_id: int, kind: str = "branch") -> dict[str, Any]:
    return {"snapshot-id": snapshot_id, "type": kind}


@each_golden_iceberg_table()
def test_healthy_tables_are_opened_without_a_word(table: GoldenTable):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        opened = table.open()
        for row in opened.refs(columns=["name", "type"]).to_arrow().to_pylist():
            opened.at(**{row["type"]: row["name"]})


@pytest.mark.parametrize(
    ("metadata", "words"),
    [
        ({"refs": {"main": ref(2)}}, "branch main is at snapshot 2, but snapshot 3 is current"),
        ({"refs": {"dev": ref(9)}}, f"branch dev is at snapshot 9, {MISSING}"),
        ({"refs": {"v1": ref(9, "tag")}}, f"tag v1 is at snapshot 9, {MISSING}"),
        ({"refs": {"main": ref(3)}, "current_snapshot_id": -1}, "at snapshot 3, but none is current"),
        ({"current_snapshot_id": 9}, "snapshot 9 is current, but not among the table's snapshots"),
    ],
)
def test_refs_and_snapshots_that_do_not_fit(table: MadeTable, metadata: dict[str, Any], words: str):
    table.set(**metadata)
    with pytest.warns(LakebedWarning, match=words) as caught:
        table.open()
    assert len(caught) == 1
    assert "v1.metadata.json" in str(caught[0].message)


def test_expired_snapshots_that_no_ref_names_are_no_matter(table: MadeTable):
    table.set(snapshots=table.metadata["snapshots"][1:], refs={"main": ref(3), "dev": ref(2)})
    assert table.open().snapshot_id == 3


def test_a_log_that_goes_back_in_time(table: MadeTable):
    log = [
        {"timestamp-ms": millis, "snapshot-id": id_} for id_, millis in ((1, 90_000), (2, 1_000), (3, 95_000))
    ]
    table.set(snapshot_log=log)
    opened = table.open()
    with pytest.warns(LakebedWarning, match="goes back in time by 89000 ms at snapshot 2"):
        assert opened.at(timestamp=96_000).snapshot_id == 3
    log[1]["timestamp-ms"] = 30_000
    table.set(snapshot_log=log)
    # Clocks of writers may be a minute apart.
    assert table.open().at(timestamp=96_000).snapshot_id == 3


@pytest.mark.filterwarnings("ignore:.*goes back in time:lakebed.errors.LakebedWarning")
def test_a_time_is_looked_for_in_the_whole_log(table: MadeTable):
    """Iceberg 1.12 takes the latest entry that is not after it, wherever that is in the log."""
    times = [(3, 400_000), (1, 100_000), (2, 250_000), (1, 250_000), (2, 50_000)]
    table.set(snapshot_log=[{"timestamp-ms": millis, "snapshot-id": id_} for id_, millis in times])
    opened = table.open()
    for millis, expected in {
        50_000: 2,
        99_999: 2,
        100_000: 1,
        249_999: 1,
        250_000: 1,
        399_999: 1,
        400_000: 3,
        500_000: 3,
    }.items():
        assert opened.at(timestamp=millis).snapshot_id == expected, millis
    with pytest.raises(SnapshotNotFoundError, match="1970-01-01T00:00:50"):
        opened.at(timestamp=49_999)


def test_what_only_a_catalog_knows_is_guessed_aloud(tmp_path: Path, table: MadeTable):
    metadata = table.root / "metadata"
    shutil.move(metadata / "v1.metadata.json", metadata / "00001-a.metadata.json")
    assert table.open().snapshot_id == 3
    table.write("00000-b.metadata.json", b"{}")
    with pytest.warns(LakebedWarning, match="00001-a.metadata.json has the highest of 2 versions"):
        table.open()
    assert lakebed.open_table(metadata / "00001-a.metadata.json").snapshot_id == 3
    (metadata / "version-hint.text").write_text("00001-a")
    assert table.open().snapshot_id == 3


def test_warnings_are_at_the_line_that_asked(table: MadeTable):
    row = table.manifest(entry(snapshot_id=1))
    table.commit({**row, "manifest_length": 1})
    opened = lakebed.open_table(table.root)
    scan = opened.files()
    for read in (lambda: scan.to_arrow(), lambda: list(scan), lambda: scan.head(1)):
        with pytest.warns(LakebedWarning, match="bytes") as caught:
            read()
        line = inspect.getsourcelines(read)[1]
        assert (caught[0].filename, caught[0].lineno) == (__file__, line)
    table.set(current_snapshot_id=9)
    with pytest.warns(LakebedWarning) as caught:
        lakebed.open_table(table.root)
    assert caught[0].filename == __file__
