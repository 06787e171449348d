"""Index manifests, deletion vectors and hash indexes, against the engine's answers and worked examples."""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pytest

from lakebed import Limits, paimon
from lakebed.errors import CorruptError, LakebedError, LimitError, TruncatedError
from paimon_answers import Row, Schemas, by_file, canonical
from shared_data import GoldenTable, each_golden_paimon_table, each_shared_file

# Index files that Paimon 0.9 and Paimon's own tests wrote, each with the range and positions of its vector.
INDEX_32 = "01 00000016 5e43f2d0 3a300000 01000000 0000 0000 10000000 0400 875ca5d7"
INDEX_64 = (
    "01 00000024 d1d33964 0100000000000000 00000000 3a300000 01000000 0000 0100 10000000 0200 0300 7a813847"
)
EXAMPLES = [(INDEX_32, 22, [4]), (INDEX_64, 44, [2, 3])]


@each_golden_paimon_table()
def test_index_manifests(table: GoldenTable):
    for name, expected in by_file(table.rows("index_entries"), "index_manifest"):
        read = paimon.read_index_manifest(table.path / "manifest" / name).to_arrow()
        rows = [_as_answered(row) for row in read.to_pylist()]
        assert rows == [_comparable(row) for row in expected], f"{table.name}, {name}"
        partitions = pa.array([bytes.fromhex(row["partition_hex"]) for row in expected], pa.binary())
        decoded = paimon.decode_rows(partitions, Schemas(table).partition(Schemas(table).latest()["id"]))
        assert canonical(decoded) == [row["partition"] for row in expected], f"{table.name}, {name}"


@each_golden_paimon_table()
def test_deleted_positions(table: GoldenTable):
    for row in table.rows("index_entries"):
        where = f"{table.name}, {row['index_manifest']}, {row['file_name']}"
        positions = {}
        for vector in row["dv_ranges"] or []:
            (file,) = table.path.glob(f"**/{row['file_name']}")
            read = paimon.read_deletion_vector(file, int(vector["offset"]), int(vector["length"]))
            assert vector["cardinality"] in (None, str(len(read))), where
            positions[vector["data_file"]] = read.to_pylist()
        assert positions == row.get("deleted_positions", {}), where


@each_golden_paimon_table()
def test_hash_indexes(table: GoldenTable):
    for row in table.rows("index_entries"):
        if row["index_type"] == "HASH":
            (file,) = table.path.glob(f"**/{row['file_name']}")
            hashes = paimon.read_hash_index(file)
            where = f"{table.name}, {row['file_name']}"
            assert (hashes.type, len(hashes)) == (pa.int32(), int(row["row_count"])), where
            assert hashes.to_pylist() == [
                int.from_bytes(file.read_bytes()[at : at + 4], "big", signed=True)
                for at in range(0, int(row["file_size"]), 4)
            ], where


@each_shared_file("paimon/**/manifest/index-manifest-*")
def test_index_files_of_other_tables(file: Path):
    """Every vector of every index file, found by its range, counts what was recorded."""
    for entry in paimon.read_index_manifest(file).to_arrow().to_pylist():
        assert entry["kind"] == 0
        for index in file.parent.parent.glob(f"**/{entry['file_name']}"):
            assert index.stat().st_size == entry["file_size"]
            for vector in entry["deletions_vectors_ranges"] or []:
                read = paimon.read_deletion_vector(index, vector["f1"], vector["f2"])
                assert vector["cardinality"] in (None, len(read))
                assert read.to_pylist() == sorted(set(read.to_pylist()))


@pytest.mark.parametrize(("index", "length", "positions"), EXAMPLES)
def test_worked_examples(tmp_path: Path, index: str, length: int, positions: list[int]):
    """From every kind of source."""
    content = bytes.fromhex(index)
    file = tmp_path / "index-1"
    file.write_bytes(b"\x01" + content)
    read = paimon.read_deletion_vector(content, 1, length)
    assert (read.type, read.to_pylist()) == (pa.int64(), positions)
    assert paimon.read_deletion_vector(pa.py_buffer(content), 1, length).equals(read)
    assert paimon.read_deletion_vector(file, 2, length).equals(read)
    assert paimon.read_deletion_vector(file.as_uri(), 2, length).equals(read)
    with file.open("rb") as open_file:
        assert paimon.read_deletion_vector(open_file, 2, length).equals(read)


def _damaged() -> Iterator[tuple[str, str, int, type[LakebedError], str]]:
    right = INDEX_32.replace(" ", "")
    yield "checksum", right[:-2] + "d8", 22, CorruptError, "checksum"
    yield "magic", right.replace("5e43f2d0", "5e43f2d1"), 22, CorruptError, "magic"
    yield "size", right, 30, CorruptError, "mismatch"
    yield "empty", "01", 22, TruncatedError, "truncated"
    yield "cut", right[:-2], 22, TruncatedError, "truncated"
    yield "negative", right, -1, CorruptError, "length"
    body = b"\x5e\x43\xf2\xd0" + b"\xff" * 18
    content = b"\x01" + len(body).to_bytes(4, "big") + body + zlib.crc32(body).to_bytes(4, "big")
    yield "bitmap", content.hex(), 22, CorruptError, "codec"


@pytest.mark.parametrize(
    ("index", "length", "error", "kind"), [pytest.param(*row, id=name) for name, *row in _damaged()]
)
def test_damage(tmp_path: Path, index: str, length: int, error: type[LakebedError], kind: str):
    """Refusals, with kind and place."""
    file = tmp_path / "index-1"
    file.write_bytes(bytes.fromhex(index))
    for source in (file, file.read_bytes()):
        with pytest.raises(error) as refused:
            paimon.read_deletion_vector(source, 1, length)
        assert refused.value.kind == kind
        assert refused.value.path == (str(file) if source is file else None)
        assert refused.value.offset == (None if kind == "length" else 1)


def test_positions_are_bounded():
    """A few bytes may stand for 65,536 positions: limits count positions."""
    run = bytes.fromhex("3b300000 01 0000 ffff 0100 0000 ffff")
    body = b"\x5e\x43\xf2\xd0" + run
    content = len(body).to_bytes(4, "big") + body + zlib.crc32(body).to_bytes(4, "big")
    assert len(paimon.read_deletion_vector(content, 0, len(body))) == 65_536
    with pytest.raises(LimitError, match="max_rows"):
        paimon.read_deletion_vector(content, 0, len(body), limits=Limits(max_rows=65_535))


def test_a_hash_index_is_whole_hashes():
    assert paimon.read_hash_index(bytes.fromhex("00000001fffffffe")).to_pylist() == [1, -2]
    with pytest.raises(CorruptError) as refused:
        paimon.read_hash_index(b"\0\0\0\0\0")
    assert refused.value.kind == "length"


def _comparable(row: Row) -> Row:
    """An answer without what is read elsewhere."""
    elsewhere = {"index_manifest", "pos", "partition", "deleted_positions"}
    return {name: value for name, value in row.items() if name not in elsewhere}


def _as_answered(row: Row) -> Row:
    """A row of ours in the form of the answers."""
    names = {"f0": "data_file", "f1": "offset", "f2": "length", "cardinality": "cardinality"}
    ranges = row["deletions_vectors_ranges"]
    index = row["global_index"]
    return {
        "kind": ["ADD", "DELETE"][row["kind"]],
        "partition_hex": row["partition"].hex(),
        "bucket": str(row["bucket"]),
        "index_type": row["index_type"],
        "file_name": row["file_name"],
        "file_size": str(row["file_size"]),
        "row_count": str(row["row_count"]),
        "dv_ranges": ranges
        and [{name: _text(vector[ours]) for ours, name in names.items()} for vector in ranges],
        "external_path": row["external_path"],
        "global_index": index and {name: _text(value) for name, value in index.items()},
    }


def _text(value: object) -> str | None:
    return None if value is None else str(value)
