"""Every way in which an Iceberg table can break is one typed error that says where, in one line."""

from __future__ import annotations

import gzip
import json
import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from command_line import complaint
from iceberg_made import DELETED, MadeTable, entry, entry_schema, field, optional
from raising import raises

from lakebed import errors

SPEC = [{"name": "city", "transform": "identity", "source-id": 2, "field-id": 1000}]
SCHEMA = entry_schema(2, [field(1000, "city", optional("string"))])
GONE = entry(
    DELETED, "gone", partition={"city": None}, snapshot_id=1, sequence_number=1, file_sequence_number=1
)
METADATA = "v1.metadata.json"
ENCRYPTED = b"AGS1" + (1 << 20).to_bytes(4, "little") + bytes(100)


@pytest.fixture
def table(tmp_path: Path) -> MadeTable:
    """A sound table: a manifest of data and one of deletes."""
    made = MadeTable(tmp_path / "t", (1, "id", "long"), (2, "city", "string"), spec=SPEC)
    data = [entry(path=f"{number}.parquet", partition={"city": "é"}) for number in range(5)]
    one = entry(path="d", content=1, partition={"city": "é"})
    deletes = made.manifest(one, schema=SCHEMA, name="d.avro", metadata={"content": "deletes"})
    manifest = made.manifest(*data, GONE, schema=SCHEMA, metadata={"content": "data"})
    made.commit(manifest, {**deletes, "content": 1})
    return made


def file_of(table: MadeTable, name: str) -> Path:
    return table.root / "metadata" / name


def change(name: str, do: Callable[[bytes], bytes]) -> Callable[[MadeTable], Path]:
    """A damage that changes the content of a file."""

    def damage(table: MadeTable) -> Path:
        file = file_of(table, name)
        file.write_bytes(do(file.read_bytes()))
        return file

    return damage


def remove(name: str) -> Callable[[MadeTable], Path]:
    def damage(table: MadeTable) -> Path:
        file_of(table, name).unlink()
        return file_of(table, name)

    return damage


def put(name: str, other: str) -> Callable[[MadeTable], Path]:
    """A damage that puts one file in the place of another."""

    def damage(table: MadeTable) -> Path:
        shutil.copy(file_of(table, other), file_of(table, name))
        return file_of(table, name)

    return damage


def key(name: str, value: object) -> Callable[[MadeTable], Path]:
    """A damage that gives a key of the metadata another value."""

    def damage(table: MadeTable) -> Path:
        table.metadata[name] = value
        return table.write(METADATA, json.dumps(table.metadata).encode())

    return damage


def flip_last(content: bytes) -> bytes:
    return content[:-1] + bytes([content[-1] ^ 1])


@dataclass(frozen=True)
class Damage:
    name: str
    do: Callable[[MadeTable], Path]
    error: type[errors.LakebedError]
    kinds: str


DAMAGES = [
    Damage("manifest missing", remove("m.avro"), errors.MissingFileError, "missing"),
    Damage("list missing", remove("snap-1.avro"), errors.MissingFileError, "missing"),
    Damage("manifest empty", change("m.avro", lambda _: b""), errors.TruncatedError, "truncated"),
    Damage("list empty", change("snap-1.avro", lambda _: b""), errors.TruncatedError, "truncated"),
    Damage("metadata empty", change(METADATA, lambda _: b""), errors.TruncatedError, "truncated"),
    Damage("manifest cut", change("m.avro", lambda c: c[:-20]), errors.TruncatedError, "truncated"),
    Damage("list cut", change("snap-1.avro", lambda c: c[:-20]), errors.TruncatedError, "truncated"),
    Damage("metadata cut", change(METADATA, lambda c: c[:-2]), errors.TruncatedError, "truncated"),
    Damage("manifest flipped", change("m.avro", flip_last), errors.CorruptError, "sync"),
    Damage("list flipped", change("snap-1.avro", flip_last), errors.CorruptError, "sync"),
    Damage("manifest is metadata", put("m.avro", METADATA), errors.CorruptError, "magic"),
    Damage("list is metadata", put("snap-1.avro", METADATA), errors.CorruptError, "magic"),
    Damage("metadata is manifest", put(METADATA, "m.avro"), errors.CorruptError, "json"),
    Damage("manifest is list", put("m.avro", "snap-1.avro"), errors.CorruptError, "required"),
    Damage("list is manifest", put("snap-1.avro", "m.avro"), errors.CorruptError, "required"),
    Damage("deletes are data", put("d.avro", "m.avro"), errors.CorruptError, "mismatch"),
    Damage("manifest encrypted", change("m.avro", lambda _: ENCRYPTED), errors.UnsupportedError, "magic"),
    Damage("list encrypted", change("snap-1.avro", lambda _: ENCRYPTED), errors.UnsupportedError, "magic"),
    Damage("version 9", key("format-version", 9), errors.UnsupportedError, "version"),
    Damage("version text", key("format-version", "2"), errors.CorruptError, "json type"),
    Damage("no schemas", key("schemas", []), errors.CorruptError, "required"),
    Damage("schemas null", key("schemas", None), errors.CorruptError, "required"),
    Damage("specs number", key("partition-specs", 7), errors.CorruptError, "json type"),
    Damage("no such spec", key("default-spec-id", 7), errors.CorruptError, "required"),
    Damage(
        "gzip cut", change(METADATA, lambda c: gzip.compress(c)[:-9]), errors.CorruptError, "truncated codec"
    ),
    Damage(
        "not utf-8",
        change(METADATA, lambda c: c.replace(b"city", b"c\xff\xfey")),
        errors.CorruptError,
        "json utf8",
    ),
    Damage("brackets", change(METADATA, lambda _: b"[" * 100_000), errors.LakebedError, "json"),
]


@pytest.fixture(params=DAMAGES, ids=lambda damage: damage.name)
def damaged(request: pytest.FixtureRequest, table: MadeTable) -> tuple[MadeTable, Path, Damage]:
    return table, request.param.do(table), request.param


def test_the_sound_table_is_read(table: MadeTable):
    assert len(table.open().files().to_arrow()) == 6
    assert len(table.open().entries().to_arrow()) == 7


@pytest.mark.parametrize("view", ["files", "entries"])
def test_a_damaged_table_is_one_typed_error(damaged: tuple[MadeTable, Path, Damage], view: str):
    table, place, damage = damaged
    with pytest.raises(damage.error) as caught:
        getattr(table.open(), view)().to_arrow()
    error = caught.value
    assert error.kind in damage.kinds.split()
    assert error.path is not None
    assert str(place) in error.path
    assert error.path in str(error)
    assert len(str(error).splitlines()) == 1


@pytest.mark.parametrize("view", ["files", "entries"])
def test_a_damaged_table_is_one_line_on_the_command_line(damaged: tuple[MadeTable, Path, Damage], view: str):
    table, place, _ = damaged
    assert place.name in complaint(view, table.root, "-o", "json")


def prefixes(content: bytes) -> Iterator[int]:
    """Some lengths to cut at: all near the ends, and samples between."""
    yield from range(min(40, len(content)))
    yield from range(40, len(content), max(1, len(content) // 60))
    yield from range(max(0, len(content) - 40), len(content))


# Of a manifest that is read while another's rows are given, the length is warned of before its error comes.
@pytest.mark.filterwarnings("ignore::lakebed.errors.LakebedWarning")
@pytest.mark.parametrize("name", ["m.avro", "d.avro", "snap-1.avro", METADATA])
def test_no_prefix_of_a_file_passes_for_it(table: MadeTable, name: str):
    file = file_of(table, name)
    content = file.read_bytes()
    for length in sorted(set(prefixes(content))):
        file.write_bytes(content[:length])
        with pytest.raises(errors.LakebedError) as caught:
            table.open().entries().to_arrow()
        assert caught.value.path is not None, length
        assert str(file) in caught.value.path, length
        assert len(str(caught.value).splitlines()) == 1, length


@pytest.mark.filterwarnings("ignore::lakebed.errors.LakebedWarning")
@pytest.mark.parametrize("name", ["m.avro", "snap-1.avro", METADATA])
def test_changed_bytes_give_an_error_or_rows_and_never_anything_else(table: MadeTable, name: str):
    file = file_of(table, name)
    content = file.read_bytes()
    for position in range(0, len(content), max(1, len(content) // 150)):
        for flip in (0x01, 0x80, 0xFF):
            changed = bytearray(content)
            changed[position] ^= flip
            file.write_bytes(changed)
            try:
                table.open().entries().to_arrow()
            except errors.LakebedError as error:
                assert len(str(error).splitlines()) == 1, position  # noqa: PT017 - either is right


@pytest.mark.filterwarnings("ignore::lakebed.errors.LakebedWarning")
def test_a_manifest_of_other_counts_than_recorded(table: MadeTable):
    extra = [entry(path=f"{number}", partition={"city": "x"}) for number in range(9)]
    table.manifest(*extra, GONE, schema=SCHEMA)
    with pytest.warns(errors.LakebedWarning, match="manifest holds 9 added files"):
        assert len(table.open().files().to_arrow()) == 9 + 1
    table.manifest(schema=SCHEMA)
    with raises(errors.CorruptError, kind="mismatch", path=str(file_of(table, "m.avro"))):
        table.open().files().to_arrow()


def test_a_recorded_length_that_is_wrong_is_not_fatal(tmp_path: Path):
    """Some writers record wrong lengths; the file itself says how long it is."""
    made = MadeTable(tmp_path / "t", (1, "id", "long"))
    row = made.manifest(entry())
    made.commit({**row, "manifest_length": row["manifest_length"] + 1})
    with pytest.warns(errors.LakebedWarning, match="manifest_length|records") as caught:
        assert len(made.open().files().to_arrow()) == 1
    assert str(file_of(made, "m.avro")) in str(caught[0].message)


def test_a_snapshot_that_is_not_there(table: MadeTable):
    table.set(current_snapshot_id=99)
    with pytest.warns(errors.LakebedWarning, match="99"):
        opened = table.open()
    with pytest.raises(errors.LakebedError, match="99") as caught:
        opened.files().to_arrow()
    assert len(str(caught.value).splitlines()) == 1


def test_a_content_that_no_version_knows(tmp_path: Path):
    made = MadeTable(tmp_path / "t", (1, "id", "long"))
    made.commit(made.manifest(entry(content=3)))
    with raises(errors.LakebedError, path=str(file_of(made, "m.avro")), kind="mismatch"):
        made.open().files().to_arrow()


@pytest.mark.parametrize("absent", ["file_path", "file_format", "record_count", "file_size_in_bytes"])
def test_required_fields_that_a_file_lacks(tmp_path: Path, absent: str):
    made = MadeTable(tmp_path / "t", (1, "id", "long"))
    schema = entry_schema()
    file = schema["fields"][-1]["type"]
    file["fields"] = [part for part in file["fields"] if part["name"] != absent]
    made.commit(made.manifest(entry(), schema=schema))
    with raises(errors.LakebedError, match=absent, path=str(file_of(made, "m.avro"))):
        made.open().files().to_arrow()
