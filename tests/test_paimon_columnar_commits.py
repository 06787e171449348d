"""Commits to tables whose manifests are ORC or Parquet: the files are as Java's, and no row is lost."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from file_rows import index_row
from paimon_commits import FIRST, SCHEMA, SECOND, files, folder, metadata, names
from pyarrow import orc

import lakebed
from lakebed import LIMITS, Table, _columnar, paimon
from lakebed.errors import InternalError, LimitError, SchemaError, UnsupportedError
from shared_data import GoldenTable, each_golden_paimon_table

FORMATS = {"orc": b"ORC", "parquet": b"PAR1"}
CODECS = {
    "orc": ["none", "zlib", "snappy", "lz4", "zstd"],
    "parquet": ["uncompressed", "gzip", "snappy", "lz4_raw", "zstd"],
}


@pytest.fixture(params=sorted(FORMATS))
def manifests(request: pytest.FixtureRequest) -> str:
    """A format."""
    return str(request.param)


def created(root: Path, manifests: str, **options: str) -> Table:
    options = {
        "manifest.format": manifests,
        **{name.replace("_", "."): value for name, value in options.items()},
    }
    return lakebed.create_table(root, SCHEMA, "paimon", partition_by=["day"], properties=options)


def written(table: Table, prefix: str) -> list[Path]:
    """The newest file first."""
    found = list(Path(table.location, "manifest").glob(f"{prefix}*"))
    if prefix == "manifest-":
        found = [path for path in found if not path.name.startswith("manifest-list-")]
    return sorted(found, key=lambda path: path.stat().st_mtime_ns, reverse=True)


def formats(table: Table) -> set[bytes]:
    """How the files begin."""
    return {path.read_bytes()[:3] for path in Path(table.location, "manifest").iterdir()}


def file_schema(path: Path) -> str:
    """The types, nullability and ids of a file's fields."""
    if path.read_bytes()[:3] == b"ORC":
        return str(orc.ORCFile(path).schema.to_string(show_field_metadata=True))
    return str(pq.ParquetFile(path).schema_arrow.to_string(show_field_metadata=True))


@each_golden_paimon_table("manifest_fmt_*")
def test_files_have_the_schemas_of_javas(table: GoldenTable, tmp_path: Path) -> None:
    copy = lakebed.open_table(shutil.copytree(table.path, tmp_path / "t"))
    theirs = {prefix: file_schema(written(copy, prefix)[0]) for prefix in ("manifest-", "manifest-list-")}
    before = {path.name for path in Path(copy.location, "manifest").iterdir()}
    live = copy.files().to_arrow()
    copy = copy.rewrite_manifests(sort=True).delete_files(live.slice(0, 1))
    for prefix, schema in theirs.items():
        for path in written(copy, prefix):
            assert file_schema(path) == schema
    assert {path.name for path in Path(copy.location, "manifest").iterdir()} > before
    assert copy.files().to_arrow().num_rows == live.num_rows - 1
    assert copy.verify(filter="severity = 'error'").to_arrow().num_rows == 0


@each_golden_paimon_table("manifest_fmt_*")
def test_the_format_of_the_lists_is_kept_where_the_option_is_absent(
    table: GoldenTable, tmp_path: Path
) -> None:
    """Some writers' default is ORC."""
    copy = shutil.copytree(table.path, tmp_path / "t")
    set_option(copy, None)
    opened = lakebed.open_table(copy)
    (before,) = formats(opened)
    live = opened.files().to_arrow()
    opened = opened.rewrite_manifests(sort=True).delete_files(live.slice(0, 1))
    assert formats(opened) == {before}
    assert opened.files().to_arrow().num_rows == live.num_rows - 1


@each_golden_paimon_table("manifest_fmt_*")
@pytest.mark.parametrize("option", ["avro", "orc", "parquet"])
def test_an_option_that_the_lists_contradict_is_refused(
    table: GoldenTable, option: str, tmp_path: Path
) -> None:
    if table.name.endswith(option):
        pytest.skip("they agree")
    copy = shutil.copytree(table.path, tmp_path / "t")
    set_option(copy, option)
    opened = lakebed.open_table(copy)
    before = metadata(opened)
    for commit in commits(opened):
        with pytest.raises(UnsupportedError, match=r"manifest\.format") as refused:
            commit(opened)
        assert "manifest-list-" in str(refused.value.path)
    assert metadata(opened) == before


def test_lists_in_avro_stay_so_whatever_the_option(tmp_path: Path, manifests: str) -> None:
    """Paimon from 2.1 on ignores the option, and reads and writes Avro."""
    table = created(tmp_path / "t", "avro").append_files(files(FIRST, "a"))
    set_option(tmp_path / "t", manifests)
    table = lakebed.open_table(table.location).append_files(files(FIRST, "b"))
    assert (names(table), formats(table)) == (["a", "b"], {b"Obj"})


def set_option(root: Path, value: str | None) -> None:
    for path in (root / "schema").iterdir():
        schema = paimon.read_schema(path)
        schema["options"].pop("manifest.format", None)
        if value is not None:
            schema["options"]["manifest.format"] = value
        paimon.write_schema(schema, path, overwrite=True)


def commits(table: Table) -> list[Callable[[Table], object]]:
    first = table.files().to_arrow().slice(0, 1)
    return [
        lambda one: one.rewrite_manifests(sort=True),
        lambda one: one.delete_files(first),
        lambda one: one.overwrite_partitions(first.slice(1), {}),
    ]


def test_every_file_is_in_the_format(tmp_path: Path, manifests: str) -> None:
    table = every_kind_of_commit(created(tmp_path / "t", manifests))
    assert formats(table) == {FORMATS[manifests][:3]}
    assert len(written(table, "index-manifest-")) == 1


def test_the_table_is_as_in_avro(tmp_path: Path, manifests: str) -> None:
    ours = every_kind_of_commit(created(tmp_path / "t", manifests))
    same = every_kind_of_commit(created(tmp_path / "avro", "avro"))
    rows = [table.entries().to_arrow().drop_columns(["manifest", "creation_time"]) for table in (ours, same)]
    assert rows[0].to_pylist() == rows[1].to_pylist()
    index = [
        paimon.read_index_manifest(written(table, "index-manifest-")[0]).to_arrow() for table in (ours, same)
    ]
    assert index[0].to_pylist() == index[1].to_pylist()
    assert [len(ranges) for ranges in index[0]["deletions_vectors_ranges"].to_pylist()] == [2]


def every_kind_of_commit(table: Table) -> Table:
    table = table.append_files(pa.concat_tables([files(FIRST, "a", "b"), files(SECOND, "c")]))
    table = table.append_files(files(SECOND, "d"))
    table = table.replace_files([f"{folder(FIRST)}/a"], files(FIRST, "e"))
    table = table.add_deletes(vectors("c", "d"))
    table = table.overwrite_partitions(files(FIRST, "f", "g"), {"day": FIRST})
    table = table.update_schema(lakebed.SchemaChange.add_column("more", pa.int16()))
    table = table.rewrite_manifests(sort=True)
    return table.delete_files([f"{folder(FIRST)}/g"])


def vectors(*data_files: str) -> pa.Table:
    ranges = [(name, 1 + 30 * number, 22, 1 if number else None) for number, name in enumerate(data_files)]
    partition = pa.array([{"day": SECOND}], pa.struct([("day", pa.date32())]))
    return index_row("index-0", *ranges, index_type="DELETION_VECTORS", partition=partition)


def test_every_codec(tmp_path: Path, manifests: str) -> None:
    sizes = {}
    for codec in CODECS[manifests]:
        table = created(tmp_path / codec, manifests, manifest_compression=codec)
        table = table.append_files(files(FIRST, *(f"file-{number}" for number in range(500))))
        (manifest,) = written(table, "manifest-")
        sizes[codec] = manifest.stat().st_size
        if manifests == "orc":
            found = orc.ORCFile(manifest).compression
            assert found == {"none": "UNCOMPRESSED"}.get(codec, codec.upper())
        else:
            found = pq.ParquetFile(manifest).metadata.row_group(0).column(0).compression
            assert found == {"lz4_raw": "LZ4"}.get(codec, codec.upper())
        assert len(names(table)) == 500
    assert sizes[CODECS[manifests][0]] == max(sizes.values())


def test_a_level_of_zstandard(tmp_path: Path, manifests: str) -> None:
    """Parquet has it; pyarrow's ORC has but one."""
    sizes = []
    for level in ("1", "19"):
        table = lakebed.create_table(
            tmp_path / level,
            SCHEMA,
            "paimon",
            partition_by=["day"],
            properties={"manifest.format": manifests, "file.compression.zstd-level": level},
        )
        table = table.append_files(files(FIRST, *(f"file-{number:09}" for number in range(3000))))
        sizes.append(written(table, "manifest-")[0].stat().st_size)
    assert (sizes[1] < 0.95 * sizes[0]) is (manifests == "parquet")


def test_manifests_end_at_their_size(tmp_path: Path, manifests: str) -> None:
    table = created(tmp_path / "t", manifests)
    count, target = 60_000, 30_000
    table = table.append_files(files(FIRST, *(f"{number * 7919 % count:05}" for number in range(count))))
    (whole,) = written(table, "manifest-")
    assert whole.stat().st_size > 3 * target
    table = table.rewrite_manifests(target_bytes=target, sort=True)
    sizes = table.manifests(columns=["length"]).to_arrow()["length"].to_pylist()
    assert len(sizes) > 3
    assert all(target <= size < target * 1.5 for size in sizes[:-1])
    assert names(table) == sorted(f"{number:05}" for number in range(count))
    # Those that are large enough stay.
    again = table.rewrite_manifests(target_bytes=target)
    kept = set(table.manifests(columns=["path"]).to_arrow()["path"].to_pylist()[:-1])
    assert kept <= set(again.manifests(columns=["path"]).to_arrow()["path"].to_pylist())
    # However small, a manifest has rows.
    table = table.rewrite_manifests(target_bytes=1, sort=True)
    assert table.manifests().to_arrow().num_rows == count // 1000
    assert names(table) == sorted(f"{number:05}" for number in range(count))


def test_an_option_that_is_set_before_the_first_snapshot_holds(tmp_path: Path, manifests: str) -> None:
    table = created(tmp_path / "t", "avro")
    table = table.update_properties({"manifest.format": manifests}).append_files(files(FIRST, "a"))
    assert formats(table) == {FORMATS[manifests][:3]}
    with pytest.raises(SchemaError, match="engines read by it"):
        table.update_properties({"manifest.format": "avro"})


@pytest.mark.parametrize(
    ("raised", "error"),
    [
        (ImportError("built without it"), UnsupportedError),
        (pa.ArrowNotImplementedError("not this"), UnsupportedError),
        (pa.ArrowMemoryError("too much"), LimitError),
        (pa.ArrowInvalid("odd"), InternalError),
    ],
)
def test_what_pyarrow_raises_is_a_typed_error(
    raised: Exception, error: type[Exception], manifests: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = created(tmp_path / "t", manifests).append_files(files(FIRST, "a"))
    before = metadata(table)

    def fails(*_: Any) -> bytes:
        raise raised

    monkeypatch.setattr(_columnar, manifests, fails)
    with pytest.raises(error, match=str(raised)) as caught:
        table.append_files(files(FIRST, "b"))
    assert caught.value.__cause__ is None or caught.value.__cause__ is raised
    assert metadata(table) == before


def test_an_interrupt_passes(manifests: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(*_: Any) -> bytes:
        raise KeyboardInterrupt

    table = created(tmp_path / "t", manifests)
    monkeypatch.setattr(_columnar, manifests, fails)
    with pytest.raises(KeyboardInterrupt):
        table.append_files(files(FIRST, "a"))


@pytest.mark.parametrize("change", ["a value", "a row less", "a row more", "no file at all"])
def test_a_file_that_is_not_what_it_should_be_is_not_published(
    change: str, manifests: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """pyarrow's ORC loses values behind a record that is null within another."""
    table = created(tmp_path / "t", manifests).append_files(files(FIRST, "a"))
    before = metadata(table)
    encode = getattr(_columnar, manifests)

    def changes(rows: Any, codec: str, *level: int | None) -> bytes:
        batch = pa.record_batch(rows)
        if change == "no file at all":
            return b"nothing"
        place = batch.schema.names.index("_FILE") if "_FILE" in batch.schema.names else -1
        if change == "a value" and place > 0:
            record = batch.column(place)
            parts = [record.field(number) for number in range(len(record.type))]
            parts[1] = pa.array([101] * len(record), pa.int64())
            changed = pa.StructArray.from_arrays(parts, fields=list(record.type))
            batch = batch.set_column(place, batch.schema.field(place), changed)
        if change == "a row less":
            batch = batch.slice(1)
        if change == "a row more":
            batch = pa.Table.from_batches([batch, batch.slice(0, 1)]).combine_chunks().to_batches()[0]
        return bytes(encode(batch, codec, *level))

    monkeypatch.setattr(_columnar, manifests, changes)
    with pytest.raises(InternalError, match="does not have the rows"):
        table.append_files(files(FIRST, "b"))
    assert metadata(table) == before


def test_a_file_that_readers_would_refuse_is_not_written(manifests: str, tmp_path: Path) -> None:
    created(tmp_path / "t", manifests)
    table = lakebed.open_table(tmp_path / "t", limits=replace(LIMITS, max_value_bytes=64))
    with pytest.raises(LimitError):
        table.append_files(files(FIRST, "a" * 100))
    assert lakebed.open_table(tmp_path / "t").snapshot_id is None


def test_fields_of_other_writers_are_refused_by_name(
    manifests: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """They would be lost."""
    encode = getattr(_columnar, manifests)

    def with_another(rows: Any, codec: str, *level: int | None) -> bytes:
        batch = pa.record_batch(rows)
        if "_FILE" in batch.schema.names:
            batch = batch.append_column("_THEIRS", pa.array([1] * len(batch)))
        return bytes(encode(batch, codec, *level))

    with monkeypatch.context() as patched:
        patched.setattr(_columnar, manifests, with_another)
        table = created(tmp_path / "t", manifests).append_files(files(FIRST, "a"))
    table = table.append_files(files(FIRST, "b"))
    before = metadata(table)
    with pytest.raises(UnsupportedError, match="another writer") as refused:
        table.rewrite_manifests(sort=True)
    assert refused.value.field == "_THEIRS"
    assert metadata(table) == before
