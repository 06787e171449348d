"""Encrypted metadata: its keys, what becomes of wrong ones, and damaged files. What tables hold is compared
with the engine's answers where all golden tables are.
"""

from __future__ import annotations

import json
import pickle
import random
import re
import shutil
from collections import Counter
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from command_line import printed
from encrypted_files import GoldenKeys, decrypted, encrypted
from exchanging import exchanged, planned
from file_rows import file_rows
from trust import long_or

import lakebed
import lakebed.pyiceberg
from iceberg_golden import GoldenTable, golden_iceberg_tables
from lakebed.errors import EncryptionError, LakebedError, TruncatedError, UnsupportedError
from spark_rows import expected

pytestmark = pytest.mark.filterwarnings("ignore::lakebed.errors.LakebedWarning")

TABLES = {table.name: table for table in golden_iceberg_tables("iceberg_next") if table.keys is not None}
each_encrypted_table = pytest.mark.parametrize("name", list(TABLES))
V3, V4 = ("encrypted_keys_v3", "encrypted_v4")


class Counting:
    """A client that counts what it is asked for."""

    def __init__(self, keys: GoldenKeys) -> None:
        self.keys, self.asked = keys, Counter[tuple[bytes, str]]()

    def unwrap_key(self, wrapped: bytes, key_id: str) -> bytes:
        self.asked[wrapped, key_id] += 1
        return self.keys.unwrap(wrapped, key_id)


class Copy:
    """A copy of a golden table, whose files may be changed."""

    def __init__(self, name: str, folder: Path) -> None:
        if name not in TABLES:
            pytest.skip(f"no golden table {name}")
        self.table = TABLES[name]
        self.folder = Path(shutil.copytree(self.table.path, folder / name))
        self.golden = GoldenTable(name, self.folder)
        self.metadata = self.folder / self.table.info["metadata_file"]

    def open(self, keys: Any = None) -> lakebed.Table:
        moved = {prefix: str(self.folder) for prefix in self.table.relocate}
        return lakebed.open_table(self.metadata, relocate=moved, keys=keys or self.golden.keys)

    def change(self, **keys: Any) -> None:
        document = json.loads(self.metadata.read_text("utf-8"))
        self.metadata.write_text(json.dumps(document | keys), "utf-8")

    def files(self, pattern: str) -> list[Path]:
        return sorted((self.folder / "metadata").glob(pattern))


def read(table: lakebed.Table) -> list[str]:
    return expected(table.entries())


@each_encrypted_table
def test_each_key_of_keys_is_asked_for_once(name: str) -> None:
    table = TABLES[name]
    client = Counting(table.keys or GoldenKeys({}))
    opened = lakebed.open_table(
        table.path / table.info["metadata_file"], relocate=table.relocate, keys=client
    )
    assert not client.asked
    for view in ("entries", "growth", "file_history", "reachable", "verify", "health"):
        getattr(opened, view)().to_arrow()
    keys = json.loads((table.path / table.info["metadata_file"]).read_text("utf-8"))["encryption-keys"]
    wrapping = {key["key-id"] for key in keys if "KEY_TIMESTAMP" in key.get("properties", {})}
    assert set(client.asked.values()) == {1}
    assert len(client.asked) <= len(wrapping)
    assert {key for _, key in client.asked} <= set(client.keys.masters)


@each_encrypted_table
def test_jobs_make_the_rows_of_one_process_and_hold_no_key(name: str) -> None:
    table = TABLES[name]
    opened = table.open()
    said = table.rows("encryption")
    secrets = {row["encryption_key"] for row in said} | {row["kek"] for row in said if "kek" in row}
    assert secrets
    for scan in (opened.files(), opened.plan(), opened.partitions(), opened.columns(), opened.totals()):
        assert exchanged(scan, 3, keys=opened.opening.keys) == expected(scan)
        job = planned(scan, opened.opening.keys).to_bytes()
        texts = (job, job.hex().encode(), repr(opened).encode(), repr(opened.opening).encode())
        for secret in secrets:
            assert not any(bytes.fromhex(secret) in text or secret.encode() in text for text in texts)
            assert not any(_base64(secret) in text for text in texts)


def _base64(secret: str) -> bytes:
    from base64 import b64encode

    return b64encode(bytes.fromhex(secret)).rstrip(b"=")[:-1]


@each_encrypted_table
def test_the_keys_are_kept_by_whatever_returns_the_table(name: str) -> None:
    opened = TABLES[name].open()
    rows = read(opened)
    assert opened.opening.keys is not None
    assert read(opened.refresh()) == rows
    if opened.snapshot_id is not None:
        assert read(opened.at(snapshot=opened.snapshot_id)) == rows
    assert read(pickle.loads(pickle.dumps(opened))) == rows


def test_without_keys_the_error_says_what_to_give() -> None:
    table = TABLES[V3]
    opened = lakebed.open_table(table.path / table.info["metadata_file"], relocate=table.relocate)
    assert opened.snapshots().to_arrow().num_rows > 1
    with pytest.raises(EncryptionError, match=r'by key "kek-one": give .* open_table\(…, keys=…\)') as caught:
        opened.files().to_arrow()
    assert caught.value.kind == "encryption"
    assert "snap-" in str(caught.value.path)
    with pytest.raises(TypeError, match="keys takes a function, or an object with a method unwrap, not int"):
        lakebed.open_table(table.path, keys=3)  # type: ignore[arg-type]


def test_what_unwrapping_raises_is_the_cause() -> None:
    table = TABLES[V3]

    def refuse(wrapped: bytes, key_id: str) -> bytes:
        raise PermissionError("not you")

    def wrong(wrapped: bytes, key_id: str) -> bytes:
        return b"short"

    def other(wrapped: bytes, key_id: str) -> bytes:
        return bytes(16)

    def text(wrapped: bytes, key_id: str) -> bytes:
        return "0123456789abcdef"  # type: ignore[return-value]

    for unwrap, cause in (
        (refuse, PermissionError),
        (wrong, type(None)),
        (other, type(None)),
        (text, TypeError),
    ):
        opened = lakebed.open_table(
            table.path / table.info["metadata_file"], relocate=table.relocate, keys=unwrap
        )
        with pytest.raises(EncryptionError, match="kek-one") as caught:
            opened.files().to_arrow()
        assert isinstance(caught.value.__cause__, cause), unwrap


def test_metadata_whose_keys_do_not_fit_is_an_error_that_names_them(tmp_path: Path) -> None:
    copy = Copy(V3, tmp_path)
    document = json.loads(copy.metadata.read_text("utf-8"))
    keys, properties = document["encryption-keys"], document["properties"]
    current = next(
        one for one in document["snapshots"] if one["snapshot-id"] == document["current-snapshot-id"]
    )
    own = next(key for key in keys if key["key-id"] == current["key-id"])
    cases: list[tuple[dict[str, Any], str]] = [
        ({"encryption-keys": [key for key in keys if key != own]}, re.escape(f'no key "{own["key-id"]}"')),
        ({"properties": {}}, "its property encryption.key-id is missing"),
        ({"properties": properties | {"encryption.key-id": "other"}}, 'wrapped by "kek-one", and .* "other"'),
        ({"encryption-keys": [key | {"properties": {}} for key in keys]}, "has no KEY_TIMESTAMP"),
        ({"encryption-keys": [key | {"encrypted-by-id": None} for key in keys]}, "what encrypts it"),
        ({"encryption-keys": [key | {"encrypted-key-metadata": "?"} for key in keys]}, "not base64"),
        ({"encryption-keys": [key | {"encrypted-key-metadata": "AAAA"} for key in keys]}, "kek-one|encrypts"),
    ]
    for change, message in cases:
        copy.change(**{"encryption-keys": keys, "properties": properties, **change})
        with pytest.raises(EncryptionError, match=message):
            read(copy.open())
    copy.change(**{"encryption-keys": keys, "properties": properties})
    assert read(copy.open()) == read(copy.table.open())


def test_keys_that_nothing_uses_do_not_keep_a_table_from_being_read_and_are_a_finding(tmp_path: Path) -> None:
    copy = Copy(V3, tmp_path)

    def unused() -> list[str]:
        found = copy.open().health().findings()
        return [one["what"] for one in found if one["column"] == "unused_key_count"]

    assert unused() == []
    document = json.loads(copy.metadata.read_text("utf-8"))
    lost = {"key-id": "nobody's", "encrypted-key-metadata": "AAAA", "encrypted-by-id": "kek-one"}
    copy.change(**{"encryption-keys": [*document["encryption-keys"], lost]})
    assert read(copy.open()) == read(copy.table.open())
    assert unused() == ["1 key of the encrypted metadata is used by nothing"]


def test_a_manifest_cut_between_blocks_is_found_by_its_recorded_length(tmp_path: Path) -> None:
    copy = Copy("encrypted_blocks_v3", tmp_path)
    (manifest,) = copy.files("*-m0.avro")
    content = manifest.read_bytes()
    block = 8 + (1 << 20) + 28
    assert len(content) > block
    manifest.write_bytes(content[:block])
    with pytest.raises(TruncatedError, match=f"{block} bytes, its key records {len(content)}"):
        read(copy.open())


@pytest.mark.parametrize("pattern", ["snap-*.avro", "*-m*.avro", "*-m*.parquet"])
def test_changed_bits_and_cuts_are_errors(pattern: str, tmp_path: Path) -> None:
    """All of an encrypted file but the size of its blocks is bound to its tags."""
    copy, seed = Copy(V4, tmp_path), random.Random(3)
    rows = {view: expected(getattr(copy.open(), view)()) for view in ("entries", "reachable")}
    keys = json.loads((copy.folder / "keys.json").read_text("utf-8"))["keys_hex"]
    refused = 0
    for _ in range(long_or(300, 10_000, 100)):
        file = seed.choice(copy.files(pattern))
        content = file.read_bytes()
        damaged = bytearray(content)
        if seed.random() < 0.3:
            damaged = damaged[: seed.randrange(len(content))]
        else:
            place = seed.randrange(len(content))
            damaged[place] ^= 1 << seed.randrange(8)
        file.write_bytes(damaged)
        try:
            found = expected(copy.open().reachable())
        except LakebedError as error:
            refused += 1
            # Of a page of Parquet as of a whole file, and of one that is cut.
            of_keys = error.kind in ("encryption", "truncated")
            assert not of_keys or any(key in str(error) for key in keys)  # noqa: PT017
        else:
            assert found == rows["reachable"]
            # Of Parquet, columns and indexes that are not asked for are not read; of other files the size of
            # blocks may be another if there is one block alone.
            assert file.suffix == ".parquet" or damaged[:4] + damaged[8:] == content[:4] + content[8:]
        file.write_bytes(content)
    assert refused > 0
    assert expected(copy.open().entries()) == rows["entries"]


def test_a_file_that_is_not_encrypted_where_a_key_is_recorded_is_refused(tmp_path: Path) -> None:
    copy = Copy(V3, tmp_path)
    for row in copy.table.rows("encryption"):
        if row["kind"] == "manifest":
            file = copy.folder / "metadata" / row["path"].rpartition("/")[2]
            plain = decrypted(file.read_bytes(), bytes.fromhex(row["key_metadata"]))
            again = encrypted(plain, bytes.fromhex(row["key_metadata"]))
            assert len(again) == row["stored_length"]
            file.write_bytes(again)
    assert read(copy.open()) == read(copy.table.open())
    for row in copy.table.rows("encryption"):
        file = copy.folder / "metadata" / row["path"].rpartition("/")[2]
        file.write_bytes(file.read_bytes().replace(b"AGS1", b"AGS2", 1))
    with pytest.raises(EncryptionError, match=r"not encrypted, although a key of it is recorded.*kek-one"):
        read(copy.open())


def test_commits_and_copies_are_refused(tmp_path: Path) -> None:
    copy = Copy(V3, tmp_path)
    with pytest.raises(UnsupportedError, match="encrypted"):
        copy.open().delete_tag("none")
    with pytest.raises(UnsupportedError, match="encrypted"):
        lakebed.rewrite_paths(copy.open(), {copy.table.location: "/elsewhere"}, to=tmp_path / "t").to_arrow()


def test_commits_to_a_table_that_is_to_be_encrypted_are_refused(tmp_path: Path) -> None:
    properties = {"encryption.key-id": "kek-one"}
    columns = pa.schema([("id", pa.int64())])
    table = lakebed.create_table(tmp_path / "t", columns, "iceberg", properties=properties, format_version=3)
    with pytest.raises(UnsupportedError, match="encrypted"):
        table.append_files(file_rows("data/f.parquet"))


def test_on_the_command_line(tmp_path: Path) -> None:
    copy = Copy(V3, tmp_path)
    master = copy.golden.keys
    assert master is not None
    keys = master.module(tmp_path)
    moved = [word for prefix in copy.table.relocate for word in ("--relocate", f"{prefix}={copy.folder}")]
    rows = copy.open().files().to_arrow().to_pylist()
    for name in ("client", "unwrap"):
        found = printed("files", str(copy.metadata), "--keys", f"{keys}:{name}", *moved)
        assert [row["file_path"] for row in found] == [row["file_path"] for row in rows]


def test_a_plan_of_pyicebergs_table(tmp_path: Path) -> None:
    from pyiceberg.io.pyarrow import PyArrowFileIO
    from pyiceberg.table import StaticTable

    copy = Copy(V3, tmp_path)
    moved = {prefix: str(copy.folder) for prefix in copy.table.relocate}

    class Moved(PyArrowFileIO):
        def new_input(self, location: str) -> Any:
            for prefix, folder in moved.items():
                location = location.replace(prefix, folder, 1) if location.startswith(prefix) else location
            return super().new_input(location)

    table = StaticTable.from_metadata(str(copy.metadata))
    table.io = Moved()
    tasks = lakebed.pyiceberg.plan(table, keys=copy.golden.keys)
    planned = copy.open().plan(columns=["file_path"]).to_arrow()["file_path"].to_pylist()
    of_golden = {path.rpartition("/")[2] for path in planned}
    assert {task.file.file_path.rpartition("/")[2] for task in tasks} == of_golden
    assert len(tasks) == len(planned) > 0
    with pytest.raises(EncryptionError):
        lakebed.pyiceberg.plan(table)


def test_tables_of_pyiceberg(tmp_path: Path) -> None:
    """PyIceberg opens them, and decrypts nothing itself."""
    tables = pytest.importorskip("pyiceberg.table")
    plans = pytest.importorskip("lakebed.pyiceberg")
    copy = Copy(V3, tmp_path)
    written = copy.metadata.read_text("utf-8")
    copy.metadata.write_text(written.replace(copy.table.location, f"file:{copy.folder}"), "utf-8")
    theirs = tables.StaticTable.from_metadata(str(copy.metadata))
    moved = {prefix: str(copy.folder) for prefix in copy.table.relocate}
    opened = lakebed.open_table(theirs, relocate=moved, keys=copy.golden.keys)
    assert expected(opened.plan()) == expected(copy.table.open().plan())
    with pytest.raises(EncryptionError, match=r'by key "kek-one": give .* open_table\(…, keys=…\)'):
        plans.plan(theirs)
