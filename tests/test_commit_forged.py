"""Numbers that leave no room for the next one are refused, and no error of a storage changes a commit."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from counting_storage import WritableStorage
from file_rows import file_rows
from json_files import edited

import lakebed
from lakebed import LakebedError, Table, open_table
from lakebed.errors import InternalError, LakebedWarning

SCHEMA = pa.schema([("id", pa.int64())])
MOST, MOST_INT = 2**63 - 1, 2**31 - 1


def files(path: str, rows: int = 7) -> pa.Table:
    return file_rows(path, record_count=rows)


def refused(commit: Callable[[], Any]) -> LakebedError:
    """The error of a commit, which is not a bug."""
    with pytest.raises(LakebedError) as caught:
        commit()
    assert not isinstance(caught.value, InternalError)
    assert "does not fit" in str(caught.value)
    return caught.value


def paimon_table(folder: Path, **options: str) -> Table:
    table = lakebed.create_table(folder, SCHEMA, "paimon", properties={"bucket": "-1"} | options)
    return table.append_files(files("bucket-0/a.orc"))


def edit(path: Path, **values: Any) -> dict[str, Any]:
    with edited(path) as stored:
        stored |= values
    return stored


def test_the_last_snapshot_there_can_be(tmp_path: Path):
    paimon_table(tmp_path / "t")
    last = tmp_path / "t" / "snapshot" / f"snapshot-{MOST}"
    (tmp_path / "t" / "snapshot" / "snapshot-1").rename(last)
    edit(last, id=MOST)
    for hint in ("1", str(MOST)):
        (tmp_path / "t" / "snapshot" / "LATEST").write_text(hint)
        assert open_table(tmp_path / "t").snapshot_id == MOST
        refused(lambda: open_table(tmp_path / "t").append_files(files("bucket-0/b.orc")))
        refused(lambda: open_table(tmp_path / "t").rewrite_manifests(sort=True))


@pytest.mark.parametrize("total", [MOST, MOST - 6])
def test_more_rows_than_can_be_counted(tmp_path: Path, total: int):
    paimon_table(tmp_path / "t")
    edit(tmp_path / "t/snapshot/snapshot-1", totalRecordCount=total)
    before = {path for path in tmp_path.rglob("*") if path.is_file()}
    refused(lambda: open_table(tmp_path / "t").append_files(files("bucket-0/b.orc")))
    assert {path for path in tmp_path.rglob("*") if path.is_file()} == before


def test_fewer_rows_than_can_be_counted(tmp_path: Path):
    paimon_table(tmp_path / "t")
    edit(tmp_path / "t/snapshot/snapshot-1", totalRecordCount=-MOST - 1)
    refused(lambda: open_table(tmp_path / "t").delete_files(["bucket-0/a.orc"]))


def test_rows_of_files_that_add_up_to_too_many(tmp_path: Path):
    table = lakebed.create_table(tmp_path / "t", SCHEMA, "paimon", properties={"bucket": "-1"})
    two = pa.concat_tables([files("bucket-0/a.orc", MOST), files("bucket-0/b.orc", MOST)])
    refused(lambda: table.append_files(two))
    table = lakebed.create_table(tmp_path / "i", SCHEMA, "iceberg")
    two = pa.concat_tables([files("data/a.orc", MOST), files("data/b.orc", MOST)])
    refused(lambda: table.append_files(two))


@pytest.mark.parametrize("number", [MOST, MOST - 6])
def test_row_ids_that_end(tmp_path: Path, number: int):
    paimon_table(tmp_path / "t", **{"row-tracking.enabled": "true"})
    edit(tmp_path / "t/snapshot/snapshot-1", nextRowId=number)
    refused(lambda: open_table(tmp_path / "t").append_files(files("bucket-0/b.orc")))


def test_sequence_numbers_that_end(tmp_path: Path):
    table = lakebed.create_table(tmp_path / "t", SCHEMA, "paimon", properties={"bucket": "-1"})
    given = files("bucket-0/b.orc").append_column("min_sequence_number", pa.array([MOST]))
    assert refused(lambda: table.append_files(given)).field == "min_sequence_number"


def test_the_last_schema_there_can_be(tmp_path: Path):
    lakebed.create_table(tmp_path / "t", SCHEMA, "paimon")
    last = tmp_path / "t" / "schema" / f"schema-{MOST}"
    (tmp_path / "t" / "schema" / "schema-0").rename(last)
    edit(last, id=MOST)
    table = open_table(tmp_path / "t")
    refused(lambda: table.update_properties({"a": "b"}))


def iceberg_metadata(table: Table) -> Path:
    return Path(table.location, "metadata", "v2.metadata.json")


def last_schema(metadata: dict[str, Any]) -> None:
    metadata["current-schema-id"] = metadata["schemas"][0]["schema-id"] = MOST_INT


def last_spec(metadata: dict[str, Any]) -> None:
    metadata["default-spec-id"] = metadata["partition-specs"][0]["spec-id"] = MOST_INT


def number(key: str, value: int) -> Callable[[dict[str, Any]], None]:
    return lambda metadata: metadata.update({key: value})


ADD = lakebed.SchemaChange.add_column("more", "long")
NESTED = lakebed.SchemaChange.add_column("more", pa.list_(pa.struct([("a", pa.int64()), ("b", pa.int64())])))
FORGED: list[tuple[Callable[[dict[str, Any]], None], Callable[[Table], Any]]] = [
    (number("last-sequence-number", MOST), lambda t: t.append_files(files("data/b.orc"))),
    (number("last-sequence-number", MOST), lambda t: t.delete_files(["data/a.orc"])),
    (number("last-sequence-number", MOST), lambda t: t.rewrite_manifests()),
    (number("next-row-id", MOST - 6), lambda t: t.append_files(files("data/b.orc"))),
    (last_schema, lambda t: t.update_schema(ADD)),
    (number("last-column-id", MOST_INT), lambda t: t.update_schema(ADD)),
    (number("last-column-id", MOST_INT - 2), lambda t: t.update_schema(NESTED)),
    (last_spec, lambda t: t.update_spec(add=["id"])),
    (number("last-partition-id", MOST_INT), lambda t: t.update_spec(add=["id"])),
]


@pytest.mark.parametrize("case", range(len(FORGED)))
def test_numbers_of_iceberg_metadata_that_end(tmp_path: Path, case: int):
    forge, commit = FORGED[case]
    table = lakebed.create_table(tmp_path / "t", SCHEMA, "iceberg", format_version=3)
    table = table.append_files(files("data/a.orc"))
    path = iceberg_metadata(table)
    with edited(path) as metadata:
        forge(metadata)
    before = sorted(path.parent.iterdir())
    refused(lambda: commit(open_table(tmp_path / "t", format="iceberg")))
    assert sorted(path.parent.iterdir()) == before


def test_the_last_metadata_file_there_can_be(tmp_path: Path):
    table = lakebed.create_table(tmp_path / "t", SCHEMA, "iceberg")
    folder = Path(table.location, "metadata")
    (folder / "v1.metadata.json").rename(folder / f"v{2**64 - 1}.metadata.json")
    (folder / "version-hint.text").unlink()
    table = open_table(tmp_path / "t", format="iceberg")
    refused(lambda: table.update_properties({"a": "b"}))


def test_times_that_are_as_far_apart_as_can_be(tmp_path: Path):
    table = lakebed.create_table(tmp_path / "t", SCHEMA, "iceberg")
    table = table.append_files(files("data/a.orc"))
    with edited(iceberg_metadata(table)) as metadata:
        (log,) = metadata["snapshot-log"]
        metadata["snapshot-log"] = [log | {"timestamp-ms": MOST}, log | {"timestamp-ms": -MOST - 1}]
    table = open_table(tmp_path / "t", format="iceberg")
    with pytest.warns(LakebedWarning, match="back in time"):
        found = table.at(timestamp=datetime.now(timezone.utc))
    assert found.snapshot_id == log["snapshot-id"]


class Failing(WritableStorage):
    """A storage of local files that fails for files of statistics, once."""

    def __init__(self, error: Exception | None) -> None:
        super().__init__()
        self.error = error

    def read(self, path: str, start: int | None = None, end: int | None = None) -> bytes:
        if "/statistics/" in path and self.error is not None:
            raise self.error
        return super().read(path, start, end)


@pytest.fixture
def analyzed(tmp_path: Path) -> Path:
    """A table with statistics."""
    table = paimon_table(tmp_path / "t")
    folder = tmp_path / "t" / "statistics"
    folder.mkdir()
    stats = {"snapshotId": 1, "schemaId": 0, "mergedRecordCount": 7}
    (folder / "stat-1").write_text(json.dumps(stats), "utf-8")
    edit(Path(table.location, "snapshot/snapshot-1"), statistics="stat-1")
    return tmp_path / "t"


def statistics(folder: Path) -> str | None:
    path = folder / f"snapshot/snapshot-{open_table(folder).snapshot_id}"
    stored: dict[str, str] = json.loads(path.read_text("utf-8"))
    return stored.get("statistics")


@pytest.mark.parametrize(
    "error", [ConnectionError("the line is dead"), PermissionError("not now"), TimeoutError()]
)
def test_a_passing_failure_takes_no_statistics_out_of_a_snapshot(analyzed: Path, error: Exception):
    storage = Failing(error)
    table = open_table(analyzed, storage=storage)
    before = sorted(path for path in analyzed.rglob("*") if path.is_file())
    with pytest.raises(type(error)):
        table.append_files(files("bucket-0/b.orc"))
    assert sorted(path for path in analyzed.rglob("*") if path.is_file()) == before
    storage.error = None
    table.append_files(files("bucket-0/b.orc"))
    assert statistics(analyzed) == "stat-1"


def test_statistics_that_are_gone_are_named_no_more(analyzed: Path):
    (analyzed / "statistics" / "stat-1").unlink()
    open_table(analyzed).append_files(files("bucket-0/b.orc"))
    assert statistics(analyzed) is None


def test_statistics_that_cannot_be_read_are_an_error_with_their_path(analyzed: Path):
    (analyzed / "statistics" / "stat-1").write_bytes(b"{")
    with pytest.raises(LakebedError) as caught:
        open_table(analyzed).append_files(files("bucket-0/b.orc"))
    assert str(caught.value.path).endswith("statistics/stat-1")
