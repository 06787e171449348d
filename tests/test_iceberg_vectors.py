"""Deletion vectors of Iceberg tables: their positions, beside PyIceberg's."""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from itertools import chain
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from iceberg_made import MadeTable, Record, entry, entry_schema
from iceberg_shared import SharedTable, at_each_snapshot, each_shared_iceberg_table, shared_table
from raising import raises

import lakebed
from iceberg_golden import GoldenTable, each_golden_iceberg_table
from lakebed.errors import CorruptError, LakebedError, LimitError, MissingFileError, TruncatedError
from shared_data import each_shared_file

# Some writers record lengths that their manifests do not have.
pytestmark = pytest.mark.filterwarnings("ignore::lakebed.errors.LakebedWarning")
COLUMNS = [
    "file_path",
    "file_format",
    "content_offset",
    "content_size_in_bytes",
    "cardinality",
    "referenced_data_file",
    "positions",
]
MAGIC = bytes.fromhex("d1d33964")
# {0}, {1} as Iceberg Java wrote them, {1, 3, 5}, and nothing.
EXAMPLES = {
    "00000022d1d339640100000000000000000000003a3000000100000000000000100000000000f7a6b4b5": [0],
    "00000022d1d339640100000000000000000000003a3000000100000000000000100000000100eebd85f4": [1],
    "00000026d1d339640100000000000000000000003a3000000100000000000200100000000100030005005a9e5d39": [1, 3, 5],
    "0000000cd1d339640000000000000000bf18480c": [],
}
ONE_THREE_FIVE = bytes.fromhex(list(EXAMPLES)[2])


def blob(positions: dict[int, list[int]], magic: bytes = MAGIC) -> bytes:
    """A vector: lower halves of its positions by their upper half, each an array container."""
    maps = [key.to_bytes(4, "little") + roaring(low) for key, low in positions.items()]
    body = magic + len(maps).to_bytes(8, "little") + b"".join(maps)
    return len(body).to_bytes(4, "big") + body + zlib.crc32(body).to_bytes(4, "big")


def roaring(low: list[int]) -> bytes:
    """The portable form of a Roaring bitmap of positions below 65,536."""
    head = [0x303A, 1]
    numbers = b"".join(number.to_bytes(4, "little") for number in head)
    container = (0).to_bytes(2, "little") + (len(low) - 1).to_bytes(2, "little")
    values = b"".join(value.to_bytes(2, "little") for value in low)
    return numbers + container + (16).to_bytes(4, "little") + values


def peer(puffin: bytes) -> dict[str, list[int]]:
    """PyIceberg's positions of every vector in a Puffin file, by the data file it belongs to."""
    reader = pytest.importorskip("pyiceberg.table.puffin").PuffinFile(puffin)
    vectors = pytest.importorskip("pyiceberg.table.deletion_vector").deletion_vectors_from_puffin_file(reader)
    return {vector.referenced_data_file: vector.to_vector().to_pylist() for vector in vectors}


def standing(table: GoldenTable) -> Iterator[lakebed.Table]:
    """The table at each of its snapshots."""
    now = table.open()
    for snapshot in now.snapshots(columns=["snapshot_id"]).to_arrow()["snapshot_id"].to_pylist():
        yield now.at(snapshot=snapshot)


@each_golden_iceberg_table()
def test_positions_are_those_that_pyiceberg_reads(table: GoldenTable):
    for at in standing(table):
        named = at.entries(columns=["file_path", "key_metadata"]).to_arrow().to_pylist()
        keys = {row["file_path"]: row["key_metadata"] for row in named}
        scan = at.deletes(columns=COLUMNS)
        assert scan.schema.field("positions").type == pa.list_(pa.int64())
        for row in scan.to_arrow().to_pylist():
            if row["file_format"].upper() != "PUFFIN":
                assert row["positions"] is None
                continue
            puffin = table.plain(row["file_path"], keys.get(row["file_path"]))
            assert puffin is not None
            assert row["positions"] == peer(puffin)[row["referenced_data_file"]]
            assert len(row["positions"]) == row["cardinality"]


@each_golden_iceberg_table("dv_*")
def test_positions_beside_any_columns_and_limits(table: GoldenTable):
    whole = table.open().deletes(columns=COLUMNS).to_arrow()
    for columns in (["positions"], ["positions", "file_path"], ["spec_id", "positions", "cardinality"]):
        scan = table.open().deletes(columns=columns)
        assert scan.schema.names == columns
        assert scan.to_arrow()["positions"].to_pylist() == whole["positions"].to_pylist()
    one = table.open().deletes(columns=["positions"], limit=1, threads=1).to_arrow()
    assert one["positions"].to_pylist() == whole["positions"].to_pylist()[:1]
    assert "positions" not in table.open().deletes().schema.names


@each_golden_iceberg_table("dv_*")
def test_vectors_are_read_by_their_offset(table: GoldenTable):
    rows = table.open().deletes(columns=COLUMNS).to_arrow().to_pylist()
    for row in (row for row in rows if row["positions"] is not None):
        file, place = table.file(row["file_path"]), (row["content_offset"], row["content_size_in_bytes"])
        for source in (file, str(file), file.as_uri(), file.read_bytes(), memoryview(file.read_bytes())):
            assert lakebed.iceberg.read_deletion_vector(source, *place).to_pylist() == row["positions"]
        with file.open("rb") as opened:
            assert lakebed.iceberg.read_deletion_vector(opened, *place).to_pylist() == row["positions"]


@each_shared_iceberg_table()
def test_vectors_of_other_writers(table: SharedTable):
    """Every vector whose Puffin file is there, the others are said to be missing."""
    for at, _, _ in at_each_snapshot(table):
        files = at.deletes(columns=["file_path", "content_offset"]).to_arrow().to_pylist()
        puffins = {row["file_path"] for row in files if row["content_offset"] is not None}
        scan = at.deletes(columns=["positions", "cardinality"])
        if not all((table.path / "data" / path.rpartition("/")[2]).is_file() for path in puffins):
            with pytest.raises(MissingFileError, match=r"\.puffin"):
                scan.to_arrow()
            continue
        for row in scan.to_arrow().to_pylist():
            assert row["positions"] is None or len(row["positions"]) == row["cardinality"]


def test_two_vectors_in_one_file():
    table = shared_table("spark_v3_deletion_vectors")
    rows = table.open().deletes(columns=COLUMNS).to_arrow().to_pylist()
    file = table.path / "data" / rows[0]["file_path"].rpartition("/")[2]
    assert {row["referenced_data_file"]: row["positions"] for row in rows} == peer(file.read_bytes())


def test_a_bare_blob_has_no_footer():
    (row,) = shared_table("v3_bare_dv_blob").open().deletes(columns=COLUMNS).to_arrow().to_pylist()
    assert row["content_offset"] == 0
    assert len(row["positions"]) == row["cardinality"] == 1


@pytest.mark.parametrize(("text", "expected"), EXAMPLES.items())
def test_worked_examples(text: str, expected: list[int]):
    content = bytes.fromhex(text)
    assert lakebed.iceberg.read_deletion_vector(content, 0, len(content)).to_pylist() == expected
    behind = b"PFA1" + content + b"more"
    assert lakebed.iceberg.read_deletion_vector(behind, 4, len(content)).to_pylist() == expected


@each_shared_file("iceberg/dv_blobs/*-position-index.bin")
def test_every_container_below_two_keys(file: Path):
    pyroaring = pytest.importorskip("pyroaring")
    found = lakebed.iceberg.read_deletion_vector(file, 0, file.stat().st_size)
    assert found.to_pylist() == list(pyroaring.BitMap64.deserialize(file.read_bytes()[8:-4]))


@each_shared_file("iceberg/dv_blobs/64map*.bin")
def test_a_bitmap_without_its_frame(file: Path):
    with raises(CorruptError, kind="magic", path=str(file), offset=0):
        lakebed.iceberg.read_deletion_vector(file, 0, file.stat().st_size)


def test_upper_halves_of_positions():
    content = blob({0: [7], 3: [1, 2], 0x7FFFFFFE: [0]})
    expected = [7, 3 << 32 | 1, 3 << 32 | 2, 0x7FFFFFFE << 32]
    assert lakebed.iceberg.read_deletion_vector(content, 0, len(content)).to_pylist() == expected
    for wrong in ({3: [1], 0: [1]}, {1 << 31: [0]}):
        content = blob(wrong)
        with pytest.raises(CorruptError, match="out of order"):
            lakebed.iceberg.read_deletion_vector(content, 0, len(content))


@pytest.mark.parametrize(
    ("content", "kind"),
    [
        (ONE_THREE_FIVE[:-1], "truncated"),
        (ONE_THREE_FIVE[:3], "truncated"),
        (b"", "truncated"),
        (b"\x00\x00\x00\x27" + ONE_THREE_FIVE[4:], "mismatch"),
        (ONE_THREE_FIVE[:4] + b"\x00" + ONE_THREE_FIVE[5:], "magic"),
        (ONE_THREE_FIVE[:-1] + b"\x00", "checksum"),
        (ONE_THREE_FIVE[:40] + b"\x09" + ONE_THREE_FIVE[41:], "checksum"),
        (blob({0: [1, 3, 5]}, bytes.fromhex("5e43f2d0")), "magic"),
    ],
)
def test_damage_is_typed_and_placed(tmp_path: Path, content: bytes, kind: str):
    file = tmp_path / "v.puffin"
    file.write_bytes(b"PFA1" + content)
    with raises(CorruptError, kind=kind, path=str(file), offset=4) as caught:
        lakebed.iceberg.read_deletion_vector(file, 4, len(ONE_THREE_FIVE))
    assert isinstance(caught.value, TruncatedError) == (kind == "truncated")
    assert "\n" not in str(caught.value)


def test_negative_places_and_missing_files(tmp_path: Path):
    for place in ((-1, 46), (4, -46)):
        with raises(CorruptError, kind="length"):
            lakebed.iceberg.read_deletion_vector(ONE_THREE_FIVE, *place)
    with pytest.raises(MissingFileError, match=r"v\.puffin"):
        lakebed.iceberg.read_deletion_vector(tmp_path / "v.puffin", 4, 46)


def with_vectors(root: Path, *vectors: Record, contents: bytes | None = None) -> MadeTable:
    """A table of version 3 with a manifest of delete entries, whose Puffin file holds `contents`."""
    table = MadeTable(root / "t", (1, "id", "long"), version=3)
    file = root / "v.puffin"
    file.write_bytes(b"PFA1" + ONE_THREE_FIVE if contents is None else contents)
    common = {"content": 1, "file_format": "PUFFIN", "referenced_data_file": "d.parquet"}
    entries = [entry(path=str(file), **{**common, **vector}) for vector in vectors]
    table.commit({**table.manifest(*entries, schema=entry_schema(3)), "content": 1})
    return table


GOOD = {"content_offset": 4, "content_size_in_bytes": 46, "record_count": 3}


def read(table: MadeTable, **limits: int) -> list[Any]:
    opened = lakebed.open_table(table.root, limits=lakebed.Limits(**limits))
    found: list[Any] = opened.deletes(columns=["positions"]).to_arrow()["positions"].to_pylist()
    return found


def test_vectors_beside_delete_files(tmp_path: Path):
    plain = {"content": 1, "file_format": "PARQUET", "record_count": 9}
    table = with_vectors(tmp_path, GOOD, plain | {"referenced_data_file": None}, GOOD)
    assert read(table) == [[1, 3, 5], None, [1, 3, 5]]


@pytest.mark.parametrize(
    ("vector", "kind", "words"),
    [
        (GOOD | {"record_count": 2}, "mismatch", "3 rows, its recorded cardinality is 2"),
        (GOOD | {"content_size_in_bytes": 45}, "mismatch", "recorded length is 45"),
        (GOOD | {"content_size_in_bytes": None}, "required", "no size"),
        (GOOD | {"content_offset": -4}, "length", "offset"),
        (GOOD | {"content_offset": 1000}, "truncated", "ends early"),
        (GOOD | {"content_offset": 0}, "magic", "begins with"),
    ],
)
def test_entries_that_do_not_fit_their_vectors(tmp_path: Path, vector: Record, kind: str, words: str):
    with raises(LakebedError, match=words, kind=kind, path=str(tmp_path / "v.puffin")):
        read(with_vectors(tmp_path, GOOD, vector))


def test_a_puffin_file_that_is_missing(tmp_path: Path):
    table = with_vectors(tmp_path, GOOD)
    (tmp_path / "v.puffin").unlink()
    assert table.open().deletes(columns=["cardinality"]).to_arrow()["cardinality"].to_pylist() == [3]
    with raises(MissingFileError, path=str(tmp_path / "v.puffin")):
        read(table)


def test_positions_are_bounded(tmp_path: Path):
    table = with_vectors(tmp_path, *[GOOD] * 3)
    assert read(table, max_items=9) == [[1, 3, 5]] * 3
    for limits in ({"max_items": 8}, {"max_rows": 2}):
        with pytest.raises(LimitError):
            read(table, **limits)


def test_batches_hold_about_a_million_positions(tmp_path: Path):
    # A run of 2^16 positions, ten of them: the first batch ends before the one that would be too many.
    run = b"\x3b\x30\x00\x00" + b"\x01" + b"\x00\x00\xff\xff" + b"\x01\x00" + b"\x00\x00\xff\xff"
    body = MAGIC + (16).to_bytes(8, "little") + b"".join(key.to_bytes(4, "little") + run for key in range(16))
    content = len(body).to_bytes(4, "big") + body + zlib.crc32(body).to_bytes(4, "big")
    vector = {"content_offset": 0, "content_size_in_bytes": len(content), "record_count": 16 << 16}
    small = GOOD | {"content_offset": len(content)}
    table = with_vectors(tmp_path, vector, vector, small, contents=content + ONE_THREE_FIVE)
    batches = list(table.open().deletes(columns=["positions"]))
    assert [batch.num_rows for batch in batches] == [1, 1, 1]
    counts = [len(row) for row in chain.from_iterable(batch["positions"] for batch in batches)]
    assert counts == [16 << 16, 16 << 16, 3]
