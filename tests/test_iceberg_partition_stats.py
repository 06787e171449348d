"""`partition_stats` and `computed_partition_stats`, beside the engine's rows and files made by hand."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from typing import Any

import fastavro
import pyarrow as pa
import pytest
from iceberg_made import ADDED, DELETED, EXISTING, MadeTable, Record, entry, entry_schema, field, optional
from pyarrow import orc, parquet
from trust import long_or

import lakebed
from lakebed.errors import LakebedError, LakebedWarning, MissingFileError
from shared_data import OWN_DATA

TABLES = sorted(path.parent for path in (OWN_DATA / "iceberg_partition_stats").glob("*/expected"))
STORED, COMPUTED = "partition_stats", "computed_partition_stats"


def rows(table: lakebed.Table, name: str = STORED) -> list[Record]:
    """Rows of a metadata table in the words of the engine."""
    found = table.metadata_table(name).to_arrow().to_pylist()
    return [{key: millis(value) for key, value in row.items()} for row in found]


def millis(value: Any) -> Any:
    """Times as the engine has them in these rows."""
    return round(value.timestamp() * 1000) if isinstance(value, datetime) else value


def answer(folder: Path) -> Record:
    found: Record = json.loads((folder / "expected" / "partition_stats.json").read_text("utf-8"))
    return found


@pytest.mark.parametrize("folder", TABLES, ids=[folder.name for folder in TABLES])
def test_the_rows_are_the_engines(folder: Path):
    expected = answer(folder)
    moved = {expected["location"]: folder}
    table = lakebed.open_table(folder / expected["metadata"], relocate=moved)
    assert len(expected["stored"]) == 2
    for snapshot, stored in expected["stored"].items():
        there = table.at(snapshot=int(snapshot))
        assert rows(there, STORED) == stored
        assert rows(there, COMPUTED) == stored
    assert rows(table, STORED) == []
    assert rows(table, COMPUTED) == expected["computed"]
    scan = table.metadata_table(COMPUTED, columns=["partition"], filter="data_file_count = 0")
    assert scan.to_arrow().to_pylist() == [{"partition": {"region": "us"}}]
    kinds = table.metadata_table(STORED).schema
    assert kinds.equals(table.metadata_table(COMPUTED).schema)
    assert ("dv_count" in kinds.names) == folder.name.endswith("v3")
    assert str(kinds.field("last_updated_at").type) == "timestamp[us, tz=UTC]"


@pytest.mark.parametrize("folder", TABLES, ids=[folder.name for folder in TABLES])
def test_damaged_files_are_typed_errors_or_rows(folder: Path, tmp_path: Path):
    expected = answer(folder)
    snapshot = int(next(iter(expected["stored"])))
    (file,) = (folder / "metadata").glob(f"partition-stats-{snapshot}-*")
    content, damaged = file.read_bytes(), tmp_path / file.name
    moved = {f"{expected['location']}/metadata/{file.name}": damaged, expected["location"]: folder}
    table = lakebed.open_table(folder / expected["metadata"], relocate=moved)
    at = table.at(snapshot=snapshot)

    def outcome(changed: bytes) -> Any:
        damaged.write_bytes(changed)
        try:
            return rows(at, STORED)
        except LakebedError as error:
            assert error.kind not in (None, "internal", "io"), error  # noqa: PT017
            assert Path(error.path or "").name == damaged.name  # noqa: PT017
            return error.kind

    stored = expected["stored"][str(snapshot)]
    assert outcome(content) == stored
    chance = random.Random(20261127)
    for _ in range(long_or(20, len(content))):
        cut = outcome(content[: chance.randrange(len(content))])
        assert isinstance(cut, str), cut
        place = chance.randrange(len(content))
        outcome(content[:place] + bytes([content[place] ^ 1 << chance.randrange(8)]) + content[place + 1 :])


IDS = {
    "partition": 1,
    "spec_id": 2,
    "data_record_count": 3,
    "data_file_count": 4,
    "total_data_file_size_in_bytes": 5,
    "position_delete_record_count": 6,
    "position_delete_file_count": 7,
    "equality_delete_record_count": 8,
    "equality_delete_file_count": 9,
    "last_updated_at": 11,
    "last_updated_snapshot_id": 12,
}
LONGS = {name for name in IDS if name.endswith(("record_count", "bytes", "_at", "snapshot_id"))}
SPEC = [{"source-id": 2, "field-id": 1000, "name": "city", "transform": "identity"}]
ROW = dict.fromkeys(IDS, 0) | {
    "partition": {"town": "b"},
    "data_record_count": 7,
    "data_file_count": 2,
    "total_data_file_size_in_bytes": 200,
    "last_updated_at": 1000,
    "last_updated_snapshot_id": 1,
}


def as_parquet(path: Path, *some: Record) -> None:
    """The partition field has an older name, as in files from before it was renamed."""
    town = pa.field("town", pa.string(), metadata={"PARQUET:field_id": "1000"})
    kinds = {name: pa.int64() if name in LONGS else pa.int32() for name in IDS} | {
        "partition": pa.struct([town])
    }
    schema = pa.schema(
        [pa.field(name, kinds[name], metadata={"PARQUET:field_id": str(n)}) for name, n in IDS.items()]
    )
    parquet.write_table(pa.Table.from_pylist(list(some), schema), path)


def as_orc(path: Path, *some: Record) -> None:
    # pyarrow writes no ids: the names are then those of the table.
    named = [{**row, "partition": {"city": row["partition"]["town"]}} for row in some]
    kinds = {name: pa.int64() if name in LONGS else pa.int32() for name in IDS}
    schema = pa.schema(kinds | {"partition": pa.struct([("city", pa.string())])})
    orc.write_table(pa.Table.from_pylist(named, schema), path)


def as_avro(path: Path, *some: Record) -> None:
    """Fields have other names than the specification's: their ids count."""
    partition = {"type": "record", "name": "r1", "fields": [field(1000, "town", optional("string"))]}
    kinds = {name: "long" if name in LONGS else "int" for name in IDS} | {"partition": partition}
    fields = [field(number, f"f{number}", kinds[name]) for name, number in IDS.items()]
    named = [{f"f{IDS[name]}": value for name, value in row.items()} for row in some]
    with path.open("wb") as sink:
        fastavro.writer(sink, {"type": "record", "name": "s", "fields": fields}, named)


class Stats:
    """A table of one partition, whose first snapshot has two files and a file of statistics."""

    def __init__(self, root: Path, version: int = 2, summary: dict[str, str] | None = None) -> None:
        self.table = MadeTable(
            root / "t", (1, "id", "long"), (2, "city", "string"), version=version, spec=SPEC
        )
        self.file = root / "stats"
        self.commit([ADDED, "a"], [ADDED, "b"], summary={"operation": "append", **(summary or {})})

    def commit(self, *files: list[Any], **snapshot: Any) -> None:
        schema = entry_schema(self.table.version, [field(1000, "city", optional("string"))])
        entries = [entry(status, f"{path}.parquet", partition={"city": "b"}) for status, path in files]
        number = len(self.table.metadata["snapshots"]) + 1
        manifest = self.table.manifest(*entries, schema=schema, name=f"m{number}.avro")
        # A parent of None is left out.
        snapshot["parent_snapshot_id"] = number - 1 or None
        self.table.commit({**manifest, "added_snapshot_id": number}, **snapshot)

    def write(self, write: Callable[..., None], *some: Record) -> None:
        write(self.file, *some)
        size = self.file.stat().st_size
        record = {"snapshot-id": 1, "statistics-path": str(self.file), "file-size-in-bytes": size}
        self.table.set(partition_statistics=[record])

    def rows(self, name: str) -> list[Record]:
        return rows(self.table.open(), name)


@pytest.mark.parametrize("write", [as_parquet, as_orc, as_avro])
def test_files_of_every_container(tmp_path: Path, write: Callable[..., None]):
    stats = Stats(tmp_path, version=3)
    stats.write(write, ROW)
    (row,) = stats.rows(STORED)
    assert row == {**ROW, "partition": {"city": "b"}, "total_record_count": None, "dv_count": 0}
    # The first manifest is not read: the sums are those of the file, with what came after it.
    (stats.table.root / "metadata" / "m1.avro").unlink()
    stats.commit([ADDED, "c"], [DELETED, "a"], [EXISTING, "b"])
    assert stats.rows(STORED) == []
    (row,) = stats.rows(COMPUTED)
    assert (row["data_file_count"], row["data_record_count"]) == (2, 7)
    assert (row["total_data_file_size_in_bytes"], row["last_updated_snapshot_id"]) == (200, 2)


def without(name: str) -> Callable[..., None]:
    def write(path: Path, *some: Record) -> None:
        as_parquet(path, *some)
        parquet.write_table(parquet.read_table(path).drop_columns(name), path)

    return write


def of_magic(path: Path) -> None:
    path.write_bytes(b"PAR1")


@pytest.mark.parametrize(
    ("write", "some", "kind", "named"),
    [
        (as_parquet, [{**ROW, "partition": None}], "required", "partition"),
        (as_avro, [{**ROW, "partition": {"town": None}}], None, None),
        (as_parquet, [{**ROW, "data_file_count": None}], "required", "data_file_count"),
        (as_parquet, [{**ROW, "last_updated_at": 1 << 62}], "timestamp", "last_updated_at"),
        (without("partition"), [ROW], "required", "partition"),
        (without("data_record_count"), [ROW], "required", "data_record_count"),
        (without("equality_delete_file_count"), [ROW], None, None),
        (of_magic, [], "truncated", None),
    ],
)
def test_odd_files(tmp_path: Path, write: Any, some: list[Record], kind: str | None, named: str | None):
    stats = Stats(tmp_path)
    stats.write(write, *some)
    if kind is None:
        assert len(stats.rows(STORED)) == 1
        return
    with pytest.raises(LakebedError) as caught:
        stats.rows(STORED)
    assert (caught.value.kind, caught.value.path, caught.value.field) == (kind, str(stats.file), named)


@pytest.mark.parametrize(
    ("write", "some", "why"),
    [
        (as_parquet, [ROW, ROW], "a partition has two rows"),
        (as_parquet, [{**ROW, "data_file_count": -1}], "data_file_count is -1"),
        (as_parquet, [{**ROW, "equality_delete_file_count": None}], "equality_delete_file_count is null"),
        (as_parquet, [{**ROW, "data_file_count": 3}], "3 files, and total-data-files is 2"),
        (as_parquet, [{**ROW, "position_delete_file_count": 1}], "1 files, and total-delete-files is 0"),
        (as_parquet, [{**ROW, "last_updated_at": 1 << 62}], "ms since 1970 is out of range"),
        (as_parquet, [{**ROW, "data_record_count": 6}], "6 rows, and total-records is 7"),
        (
            as_parquet,
            [{**ROW, "total_data_file_size_in_bytes": 0}],
            "more files were deleted from a partition",
        ),
        (of_magic, [], "truncated|ends"),
    ],
)
def test_all_manifests_are_read_where_the_file_is_of_no_use(
    tmp_path: Path, write: Any, some: list[Record], why: str
):
    stats = Stats(
        tmp_path, summary={"total-data-files": "2", "total-delete-files": "0", "total-records": "7"}
    )
    stats.write(write, *some)
    stats.commit([DELETED, "a"], [EXISTING, "b"])
    with pytest.warns(LakebedWarning, match=f"all manifests are read.*snapshot 1.*({why})"):
        (row,) = stats.rows(COMPUTED)
    assert (row["data_file_count"], row["data_record_count"], row["last_updated_snapshot_id"]) == (1, 1, 2)


def test_a_file_that_was_cut_between_two_blocks(tmp_path: Path):
    """Only the recorded size shows it: what is left is an Avro file."""
    stats = Stats(tmp_path)
    stats.write(as_avro, ROW)
    content = stats.file.read_bytes()
    with stats.file.open("rb") as source:
        header = next(iter(fastavro.block_reader(source))).offset
    stats.file.write_bytes(content[:header])
    with pytest.raises(LakebedError, match="file_size_in_bytes is") as caught:
        stats.rows(STORED)
    assert (caught.value.kind, caught.value.path) == ("truncated", str(stats.file))
    stats.commit([ADDED, "c"], [EXISTING, "a"], [EXISTING, "b"])
    with pytest.warns(LakebedWarning, match="all manifests are read.*file_size_in_bytes is"):
        assert [row["data_file_count"] for row in stats.rows(COMPUTED)] == [3]


def test_a_file_that_is_gone_and_manifests_without_a_list(tmp_path: Path):
    stats = Stats(tmp_path, version=1)
    stats.write(as_parquet, ROW)
    stats.commit([ADDED, "c"])
    manifests = [str(stats.table.root / "metadata" / f"m{number}.avro") for number in (1, 2)]
    stats.table.metadata["snapshots"][1].update({"manifests": manifests, "manifest-list": None})
    del stats.table.metadata["snapshots"][1]["manifest-list"]
    stats.table.set()
    with pytest.warns(LakebedWarning, match="does not say which manifests it added"):
        assert [row["data_file_count"] for row in stats.rows(COMPUTED)] == [3]
    stats.file.unlink()
    with pytest.warns(LakebedWarning, match="all manifests are read"):
        assert [row["data_file_count"] for row in stats.rows(COMPUTED)] == [3]
    with pytest.raises(MissingFileError):
        rows(stats.table.open().at(snapshot=1), STORED)


def test_tables_without_partitions(tmp_path: Path):
    table = MadeTable(tmp_path / "t", (1, "id", "long"))
    table.commit(table.manifest(entry(path="a.parquet"), entry(path="b.parquet")))
    (row,) = rows(table.open(), COMPUTED)
    assert (row["spec_id"], row["data_file_count"], row["last_updated_snapshot_id"]) == (0, 2, 1)
    assert "partition" not in row
    assert rows(table.open(), STORED) == []
