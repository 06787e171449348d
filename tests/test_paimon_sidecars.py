"""Sidecars of manifests: what lakebed writes and reads, beside pypaimon's."""

from __future__ import annotations

import random
import re
import shutil
import warnings
import zlib
from collections.abc import Iterator
from datetime import datetime, timezone
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pytest
from counting_storage import CountingStorage
from sidecar_table import peer_entries
from trust import long_or

import lakebed
from lakebed import Table, avro
from lakebed.errors import LakebedWarning

COLUMNS = pa.schema([("id", pa.int64()), ("city", pa.string()), ("day", pa.int32())])
PARTITION = pa.struct([("city", pa.string()), ("day", pa.int32())])
ON = {"manifest.sidecar.enabled": "true"}
CITIES = ("emea", "apac", "us", None)
NULL = "__DEFAULT_PARTITION__"
BUCKETS, DAYS = 4, 20


def files(number: int, days: range, **columns: Any) -> pa.Table:
    """Data files of every city, day and bucket."""
    rows = [
        {
            "file_path": f"city={city or NULL}/day={day}/bucket-{bucket}/{number}-{bucket}.orc",
            "record_count": 10,
            "file_size_in_bytes": 1000 + number,
            "partition": {"city": city, "day": day},
            "bucket": bucket,
            **columns,
        }
        for city in CITIES
        for day in days
        for bucket in range(BUCKETS)
    ]
    types: dict[str, pa.DataType] = {"partition": PARTITION, "bucket": pa.int32(), "file_path": pa.string()}
    plain = {name: pa.int64() for name in rows[0] if name not in types}
    return pa.Table.from_pylist(rows, pa.schema([(name, (types | plain)[name]) for name in rows[0]]))


def made(path: Path, **properties: str) -> Table:
    """A table of some thousand files in manifests of several blocks, of which some are deleted again."""
    table = lakebed.create_table(
        path,
        COLUMNS,
        "paimon",
        partition_by=["city", "day"],
        properties={"bucket": str(BUCKETS), "bucket-key": "id", **properties},
    )
    for number in range(long_or(5, 8)):
        table = table.append_files(files(number, range(DAYS)))
    table = table.rewrite_manifests(sort=True)
    table = table.delete_files(
        [path for path in paths(table) if path.endswith("0-1.orc") and "day=7/" in path]
    )
    return table.append_files(files(99, range(DAYS, DAYS + 2)))


def paths(table: Table, **options: Any) -> list[str]:
    found = table.files(columns=["file_path"], **options).to_arrow()["file_path"].to_pylist()
    return sorted(path.split("/t/")[-1] for path in found)


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> Table:
    return made(tmp_path_factory.mktemp("sidecars") / "t", **ON)


def sidecars(table: Table) -> dict[str, Any]:
    """The records of the manifests that have sidecars, by the names of these."""
    listed = table.manifests(columns=["file_name", "length", "extra_files"])
    rows = [SimpleNamespace(**row) for row in listed.to_arrow().to_pylist()]
    return {row.extra_files[0]: row for row in rows if row.extra_files}


def folder(table: Table) -> Path:
    return Path(table.location, "manifest")


def test_each_manifest_has_the_sidecar_that_pypaimon_would_write(table: Table):
    peer = pytest.importorskip("pypaimon.manifest.manifest_sidecar")
    found = sidecars(table)
    assert len(found) == table.manifests().to_arrow().num_rows
    blocks = 0
    for name, manifest in found.items():
        assert name == f"{manifest.file_name}.avro.sidecar"
        content = (folder(table) / manifest.file_name).read_bytes()
        entries = peer_entries(folder(table) / manifest.file_name)
        settings = peer.Settings(enabled=True, row_id_enabled=False, bucket_enabled=True)
        assert (folder(table) / name).read_bytes() == peer.build_from_entries(content, entries, settings)
        blocks = max(blocks, avro.read_blocks(content).num_rows)
    assert blocks > 3


def test_row_ids_are_told_where_columns_of_rows_are_written_apart(tmp_path: Path):
    peer = pytest.importorskip("pypaimon.manifest.manifest_sidecar")
    properties = {"row-tracking.enabled": "true", "data-evolution.enabled": "true", **ON}
    table = lakebed.create_table(
        tmp_path / "t", COLUMNS, "paimon", partition_by=["city", "day"], properties=properties
    )
    rows = files(0, range(3))
    table = table.append_files(rows.filter(pc.equal(rows["bucket"], 0)))
    ((name, manifest),) = sidecars(table).items()
    content = (folder(table) / manifest.file_name).read_bytes()
    settings = peer.Settings(enabled=True, row_id_enabled=True, bucket_enabled=False)
    entries = peer_entries(folder(table) / manifest.file_name)
    assert {entry.file.first_row_id for entry in entries} != {None}
    assert (folder(table) / name).read_bytes() == peer.build_from_entries(content, entries, settings)


WHERES = (
    "city = 'emea'",
    "day = 3",
    "day >= 20 AND city IS NULL",
    "id = 17",
    "id = 17 AND day < 2",
    "city = 'nowhere'",
    "bucket = 2",
    "day < 100",
)


@pytest.mark.parametrize("where", WHERES)
def test_blocks_that_cannot_match_are_not_read(table: Table, tmp_path: Path, where: str):
    """The rows are those of a table without sidecars; fewer bytes are read, or as many and the sidecars."""
    plain = tmp_path / "t"
    shutil.copytree(table.location, plain)
    for file in (plain / "schema").iterdir():
        file.write_text(file.read_text().replace('"manifest.sidecar.enabled" : "true"', '"x" : "y"'))
    read = {}
    for location in (table.location, str(plain)):
        storage = CountingStorage()
        opened = lakebed.open_table(location, storage=storage)
        storage.forget()
        found = paths(opened, where=where)
        kinds = opened.entries(columns=["kind", "file_name"], where=where).to_arrow().num_rows
        read[location] = (found, kinds, storage)
    (ours, kinds, counted), (wanted, all_kinds, whole) = read.values()
    assert (ours, kinds) == (wanted, all_kinds)
    assert not [path for path, _, _ in whole.reads if path.endswith(".sidecar")]
    assert [path for path, _, _ in counted.reads if path.endswith(".sidecar")]


def bytes_of(storage: CountingStorage) -> int:
    """The bytes of manifests, without sidecars and lists."""
    return sum(
        (end or Path(path).stat().st_size) - (start or 0)
        for path, start, end in storage.reads
        if "/manifest-" in path and "manifest-list" not in path and not path.endswith(".sidecar")
    )


def test_a_sorted_rewrite_leaves_little_to_read(tmp_path: Path):
    table = made(tmp_path / "t", **ON).rewrite_manifests(sort=True)
    storage = CountingStorage()
    opened = lakebed.open_table(table.location, storage=storage)
    size = sum(row.length for row in sidecars(table).values())
    for where, share in (("city = 'us' AND day = 3", 0.5), ("city = 'nowhere'", 0.0), ("day < 100", 1.0)):
        storage.forget()
        assert paths(opened, where=where) == [
            path
            for path in paths(table)
            if where == "day < 100" or ("city=us/day=3/" in path and "us" in where)
        ]
        # Of a whole file one byte more is asked for.
        assert bytes_of(storage) <= share * (size + len(sidecars(table)))
    orphans = table.orphans(columns=["file_path"], older_than=datetime.now(timezone.utc)).to_arrow()
    assert not [path for path in orphans["file_path"].to_pylist() if path.endswith(".sidecar")]


def test_an_explanation_counts_the_blocks_that_sidecars_leave_out(tmp_path: Path):
    table = made(tmp_path / "t", **ON).rewrite_manifests(sort=True)
    blocks = [avro.read_blocks(folder(table) / row.file_name) for row in sidecars(table).values()]
    total = sum(found.num_rows for found in blocks)
    storage = CountingStorage()
    opened = lakebed.open_table(table.location, storage=storage)
    for where in ("city = 'us' AND day = 3", "city = 'nowhere'", "day < 100"):
        storage.forget()
        scan = opened.files(where=where, columns=["file_path"])
        found = scan.to_arrow().num_rows
        read = bytes_of(storage)
        manifests, of_blocks, *rest = scan.explain().steps
        assert (manifests.step, of_blocks.step, of_blocks.rows_total) == ("manifests", "blocks", None)
        assert of_blocks.total == total
        assert of_blocks.bytes_kept is not None
        # Where no block is left, no entry is counted.
        assert [step.kept for step in rest[-1:]] == ([found] if found else [])
        # Of a whole file more is read than its blocks.
        assert of_blocks.bytes_kept == read if of_blocks.kept < total else of_blocks.bytes_kept < read
        assert (of_blocks.kept < total) == (where != "day < 100")
    assert "blocks" not in str(table.files().explain())


def test_manifests_are_sorted_by_bucket_first_where_the_engine_does(tmp_path: Path):
    def order(*options: str) -> list[tuple[Any, ...]]:
        path = tmp_path / str(len(options)) / "t"
        table = made(path, **dict.fromkeys(options, "true")).rewrite_manifests(sort=True)
        rows = table.entries(columns=["bucket", "partition"]).to_arrow().to_pylist()
        return [(row["bucket"], row["partition"]["city"] or "", row["partition"]["day"]) for row in rows]

    first = order("manifest-sort.enabled")
    assert first == sorted(first)
    partitions = order()
    assert partitions == sorted(partitions, key=lambda row: (*row[1:], row[0]))


def damages(content: bytes) -> Iterator[bytes]:
    chance = random.Random(20261128)
    for _ in range(long_or(60, len(content))):
        place = chance.randrange(len(content))
        yield content[:place]
        yield content[:place] + bytes([content[place] ^ 1 << chance.randrange(8)]) + content[place + 1 :]


def test_a_damaged_sidecar_is_a_warning(table: Table, tmp_path: Path):
    copy = tmp_path / "t"
    shutil.copytree(table.location, copy)
    opened = lakebed.open_table(copy)
    where = "city = 'us' AND day = 3"
    expected = paths(table, where=where)
    name, manifest = next(iter(sidecars(table).items()))
    file = copy / "manifest" / name
    content = file.read_bytes()
    said = re.compile(f"all of {manifest.file_name} is read: .*sidecar")
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for damaged in damages(content):
            file.write_bytes(damaged)
            caught.clear()
            assert paths(opened, where=where) == expected
            assert said.match(str(caught[0].message)), caught
    file.unlink()
    with pytest.warns(LakebedWarning, match=f"all of {manifest.file_name} is read: .*sidecar"):
        assert paths(opened, where=where) == expected


def test_numbers_within_a_sidecar_are_looked_at(table: Table, tmp_path: Path):
    """Damage below a checksum that is right."""
    copy = tmp_path / "t"
    shutil.copytree(table.location, copy)
    opened, where = lakebed.open_table(copy), "city = 'us' AND day = 3"
    expected = paths(table, where=where)
    name = next(iter(sidecars(table)))
    file = copy / "manifest" / name
    content = file.read_bytes()[:-4]
    header = content.index(b"Obj\x01")
    chance, refused = random.Random(7), 0
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for _ in range(long_or(300, 3000)):
            place = chance.randrange(len(content))
            changed = bytearray(content)
            changed[place] = chance.randrange(256)
            file.write_bytes(bytes(changed) + zlib.crc32(changed).to_bytes(4, "big"))
            caught.clear()
            try:
                found = paths(opened, where=where)
            except lakebed.LakebedError as error:
                # The header is that of the manifest as the sidecar has it.
                assert error.kind not in (None, "internal", "io")  # noqa: PT017
                continue
            refused += bool(caught)
            assert found == expected or place > header
    assert refused


def test_pypaimon_plans_by_the_sidecars_of_a_table_whose_columns_were_updated(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    """Row tracking and data evolution as pypaimon 2.1 writes them; lakebed writes the manifests again."""
    tables = pytest.importorskip("catalog_tables")
    pypaimon = pytest.importorskip("pypaimon")
    manager = pytest.importorskip("pypaimon.manifest.manifest_file_manager")
    catalog = pypaimon.CatalogFactory.create({"warehouse": str(tmp_path)})
    catalog.create_database("db", True)
    options = {"row-tracking.enabled": "true", "data-evolution.enabled": "true", "bucket": "-1", **ON}
    columns = pa.schema([("id", pa.int64()), ("city", pa.string()), ("name", pa.string())])
    schema = pypaimon.Schema.from_pyarrow_schema(columns, partition_keys=["city"], options=options)
    catalog.create_table("db.t", schema, True)
    for start in (0, 10, 20):
        ids = list(range(start, start + 10))
        rows = pa.table({"id": ids, "city": ["a", "b"] * 5, "name": ["x"] * 10}, columns)
        tables.paimon_append(catalog.get_table("db.t"), rows)
    builder = catalog.get_table("db.t").new_batch_write_builder()
    update = builder.new_update().with_update_type(["name"])
    changed = pa.table({"_ROW_ID": pa.array([0, 1, 2], pa.int64()), "name": ["p", "q", "r"]})
    commit = builder.new_commit()
    commit.commit(update.update_by_arrow_with_row_id(changed))
    commit.close()

    def planned(**equal: Any) -> set[str]:
        builder = catalog.get_table("db.t").new_read_builder()
        for name, value in equal.items():
            builder = builder.with_filter(builder.new_predicate_builder().equal(name, value))
        return {file.file_name for split in builder.new_scan().plan().splits() for file in split.files}

    used, real = [], manager.read_sidecar

    def reading(*given: Any) -> Any:
        used.append(real(*given))
        return used[-1]

    monkeypatch.setattr(manager, "read_sidecar", reading)
    ours = lakebed.open_table(tmp_path / "db.db" / "t")
    assert ours.files(where="city = 'a'", columns=["write_cols"]).to_arrow()["write_cols"].to_pylist()[
        -1
    ] == ["name"]
    for table in (ours, ours.rewrite_manifests(sort=True)):
        for where, equal in ((None, {}), ("city = 'a'", {"city": "a"}), ("city = 'c'", {"city": "c"})):
            plan = table.plan(where=where, columns=["file_name"]).to_arrow()["file_name"].to_pylist()
            assert set(plan) == planned(**equal)
    assert any(selection is not None for selection in used)
    assert len(sidecars(table)) == table.manifests().to_arrow().num_rows == 1
