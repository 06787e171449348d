"""JSON that Java's engines read, though it is marked, in another encoding, or followed by NULs."""

from __future__ import annotations

import gzip
from pathlib import Path

import iceberg_made
import paimon_made
import pyarrow as pa
import pytest
from file_rows import file_rows
from java_engine import EngineError, JavaEngine

import lakebed
from lakebed.errors import CorruptError

NULS = bytes(512)
# What Jackson reads from bytes, as Iceberg's metadata is read.
IN_BYTES = ["utf-8-sig", "utf-16", "utf-16-le", "utf-16-be", "utf-32", "utf-32-le", "utf-32-be"]


def iceberg_table(root: Path) -> iceberg_made.MadeTable:
    """A table whose text is not all ASCII."""
    return iceberg_made.MadeTable(root / "t", (1, "größe", "long"), properties={"note": "𝄞"})


def metadata(made: iceberg_made.MadeTable) -> Path:
    return made.root / "metadata" / "v1.metadata.json"


@pytest.mark.parametrize("encoding", IN_BYTES)
@pytest.mark.parametrize("end", ["", " \n", "\0" * 512])
def test_iceberg_metadata_is_read_in_every_encoding_of_json(tmp_path: Path, encoding: str, end: str):
    made = iceberg_table(tmp_path)
    text = metadata(made).read_text("utf-8")
    metadata(made).write_bytes((text + end).encode(encoding))
    before = lakebed.open_table(made.root)
    assert before.schema.names == ["größe"]
    assert before.properties["note"] == "𝄞"
    assert [row["name"] for row in lakebed.find_tables(tmp_path).to_arrow().to_pylist()] == ["t"]
    after = before.append_files(file_rows(f"{made.root}/a.parquet"))
    assert after.properties["note"] == "𝄞"
    assert (made.root / "metadata" / "v2.metadata.json").read_bytes().startswith(b"{")


def test_so_is_what_is_compressed(tmp_path: Path):
    made = iceberg_table(tmp_path)
    marked = metadata(made).read_text("utf-8").encode("utf-8-sig") + NULS
    made.write("v1.gz.metadata.json", gzip.compress(marked))
    metadata(made).unlink()
    assert lakebed.open_table(made.root).schema.names == ["größe"]


@pytest.mark.parametrize(
    "wrong", [b"\xef\xbb\xbf\xef\xbb\xbf{}", NULS + b"{}", b"{}\0{}", b"\xff\xfe{\0}", b"\0\xd8{\0", NULS]
)
def test_what_java_refuses_too_is_corrupt(tmp_path: Path, wrong: bytes):
    made = iceberg_table(tmp_path)
    metadata(made).write_bytes(wrong)
    with pytest.raises(CorruptError) as refused:
        lakebed.open_table(made.root)
    assert refused.value.path == str(metadata(made))


def test_a_metadata_file_that_was_cut_is_still_cut(tmp_path: Path):
    """Where a file was longer than what was written of it, NULs stand for the rest."""
    made = iceberg_table(tmp_path)
    whole = metadata(made).read_bytes()
    metadata(made).write_bytes(whole[:-20] + bytes(20))
    with pytest.raises(CorruptError):
        lakebed.open_table(made.root)


PAIMON = ["snapshot/snapshot-1", "schema/schema-0", "tag/tag-one", "consumer/consumer-reader"]


@pytest.fixture
def paimon(tmp_path: Path) -> paimon_made.MadeTable:
    made = paimon_made.MadeTable(tmp_path / "t", ("id", "INT"))
    made.commit(paimon_made.entry(paimon_made.ADD, "a.parquet"))
    made.write("tag/tag-one", (made.root / "snapshot/snapshot-1").read_text())
    made.write("consumer/consumer-reader", '{"nextSnapshot": 1}')
    return made


def read_paimon(root: Path) -> None:
    table = lakebed.open_table(root)
    assert table.files().to_arrow().num_rows == table.at(tag="one").files().to_arrow().num_rows == 1
    assert table.metadata_table("consumers").to_arrow().num_rows == 1


@pytest.mark.parametrize("path", PAIMON)
def test_paimon_files_may_have_nuls_after_them_and_no_mark(paimon: paimon_made.MadeTable, path: str):
    file = paimon.root / path
    text = file.read_bytes()
    file.write_bytes(text + b"\n" + NULS)
    read_paimon(paimon.root)
    if path in PAIMON[:2]:
        read = lakebed.paimon.read_snapshot if "snapshot" in path else lakebed.paimon.read_schema
        assert read(file)["version"] == 3
    # Paimon's engine has read a text before it parses it.
    for wrong in (b"\xef\xbb\xbf" + text, NULS + text, text.decode().encode("utf-16"), text[:-9] + NULS):
        file.write_bytes(wrong)
        with pytest.raises(CorruptError):
            read_paimon(paimon.root)


@pytest.mark.parametrize(
    "hint", [b"\xef\xbb\xbf1", b"1\0\0\0", b" 1 \r\n", b"\0\0", b"\xff\xfe1\0", b"1 and more", b""]
)
def test_hints_that_are_no_number_are_passed_over(tmp_path: Path, paimon: paimon_made.MadeTable, hint: bytes):
    for name in ("LATEST", "EARLIEST"):
        (paimon.root / "snapshot" / name).write_bytes(hint)
    read_paimon(paimon.root)
    made = iceberg_table(tmp_path / "ice")
    made.write("version-hint.text", hint)
    assert lakebed.open_table(made.root).schema.names == ["größe"]
    assert len(lakebed.find_tables(tmp_path).to_arrow()) == 2


@pytest.mark.jvm
@pytest.mark.parametrize("encoding", IN_BYTES)
def test_icebergs_engine_reads_the_same(tmp_path: Path, encoding: str, iceberg_java: JavaEngine):
    made = iceberg_table(tmp_path)
    text = metadata(made).read_text("utf-8")
    metadata(made).write_bytes(text.encode(encoding) + NULS)
    assert iceberg_java.ask("rows", table=str(made.root), column="größe") == []


@pytest.mark.jvm
@pytest.mark.parametrize("path", PAIMON[:2])
def test_paimons_engine_reads_and_refuses_the_same(tmp_path: Path, path: str, paimon_java: JavaEngine):
    schema = pa.schema([("id", pa.int64())])
    table = lakebed.create_table(tmp_path / "t", schema, "paimon")
    table = table.append_files(file_rows("bucket-0/a"))
    file = Path(table.location) / path
    text = file.read_bytes()
    file.write_bytes(text + NULS)
    assert paimon_java.ask("read", table=table.location)["manifests"]
    file.write_bytes(b"\xef\xbb\xbf" + text)
    with pytest.raises(EngineError, match="JsonParseException"):
        paimon_java.ask("read", table=table.location)
