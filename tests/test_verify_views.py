"""Whatever a view of an odd table refuses or warns of, `verify` has a row of."""

from __future__ import annotations

import random
import shutil
import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from datetime import timedelta
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from covering import iceberg_tables, paimon_tables
from damaging import DamagedTable, malformed
from iceberg_made import DELETED, MadeTable, entry
from paimon_files import avro_file, records
from paimon_made import ADD, DELETE
from paimon_made import MadeTable as MadePaimonTable
from paimon_made import entry as paimon_entry
from test_iceberg_checklist_deletes import Files, vector
from test_iceberg_exchange import FOREIGN, some
from test_verify import findings
from trust import Figure, long_or

import lakebed
from lakebed import avro
from lakebed.errors import (
    CorruptError,
    LakebedError,
    LakebedWarning,
    LocationError,
    MissingFileError,
    SnapshotNotFoundError,
    UnsupportedError,
)
from shared_data import SAMPLE_ICEBERG_TABLE, SAMPLE_MOVED, SAMPLE_TABLE

Row = dict[str, Any]
NAMES = (
    *("plan", "files", "entries", "manifests", "partitions", "buckets", "deletes", "snapshots", "refs"),
    *("schemas", "health", "reachable", "growth", "file_history"),
)


def views(table: lakebed.Table) -> Iterator[tuple[str, Callable[[], Any]]]:
    """Every view of a table, as what reads it."""
    for name in (*NAMES, *(["indexes"] if table.format == "paimon" else [])):
        yield name, getattr(table, name)
    yield "expire_plan", lambda: table.expire_plan(timedelta(0))
    yield "orphans", lambda: table.orphans(timedelta(0))
    yield "diff", lambda: table.diff(*ends(table))


def ends(table: lakebed.Table) -> tuple[int, int]:
    ids = table.snapshots(columns=["snapshot_id"]).to_arrow()["snapshot_id"].to_pylist()
    return (ids[0], ids[-1]) if ids else (0, 0)


def names_it(error: LakebedError | OSError, finding: Row) -> bool:
    """Whether a finding is the row of an error: an error too, of the same kind or naming the same file. That
    files may be another table's is a warning: only jobs are refused; and so is a number that no sum holds,
    which differs from what lists and summaries record.
    """
    if "the sum over the files does not fit 64 bits" in str(error):
        return bool(finding["kind"] == "mismatch")
    if finding["severity"] != "error":
        return isinstance(error, LocationError | UnsupportedError) and error.kind == finding["kind"]
    if not isinstance(error, LakebedError):
        return bool(finding["kind"] == "io")
    named = (finding["path"], finding["named_by"])
    of_file = error.path is not None and (error.path in named or error.path in finding["message"])
    return of_file or bool(finding["kind"] == error.kind)


def mentions_it(warning: str, finding: Row) -> bool:
    """Whether a finding is the row of a warning: it says the same, or is an error of the file it is about."""
    if finding["severity"] == "error" and finding["path"] is not None and finding["path"] in warning:
        return True
    return finding["message"] in warning


def held(opening: Callable[[], lakebed.Table], what: str) -> Counter[str]:
    """Compares every view with `verify`; how many were refused, and how many warnings there were."""
    seen: Counter[str] = Counter()
    with warnings.catch_warnings(record=True) as opened:
        warnings.simplefilter("always")
        try:
            table = opening()
        except LakebedError:
            # Without a table there is nothing to ask: opening says what is wrong.
            return Counter(unopened=1)
        found = table.verify().to_arrow().to_pylist()
    # Which of a catalog's files is current is a question of how the table was opened.
    noted = [str(one.message) for one in opened if "catalog" not in str(one.message)]
    for name, view in views(table):
        with warnings.catch_warnings(record=True) as warned:
            warnings.simplefilter("always")
            try:
                view().to_arrow()
            except (LakebedError, OSError) as error:
                if name == "diff" and isinstance(error, SnapshotNotFoundError):
                    # What it was asked for is not there.
                    continue
                if name == "orphans" and isinstance(error, MissingFileError) and "no folder" in str(error):
                    # A table without files may have no folder: `verify` asks for files, and lists none.
                    continue
                seen["refused"] += 1
                if isinstance(error, LocationError) and "relocate= does not cover" in str(error):
                    # Which files were moved is a question of how the table was opened, too.
                    continue
                if not any(names_it(error, row) for row in found):
                    pytest.fail(f"{what}: {name} raises {error!r}: {found}")
        noted += [str(one.message) for one in warned if issubclass(one.category, LakebedWarning)]
    for warning in noted:
        if "is not looked into" in warning:
            # Which folders `orphans` lists is its own question.
            continue
        seen["warned"] += 1
        assert any(mentions_it(warning, row) for row in found), f"{what}: {warning}: {found}"
    return seen


def _kinds(root: Path, metadata_file: str) -> Iterator[list[Path]]:
    """The files of an Iceberg table that can be damaged, by kind, without the kinds that it has none of."""
    files = DamagedTable(root).files()
    avro_files = [path for path in files if path.suffix == ".avro"]
    lists = [path for path in avro_files if path.name.startswith("snap-")]
    manifests = [path for path in avro_files if path not in lists]
    heads = [path for path in files if path == root / metadata_file]
    yield from filter(None, (heads, lists, manifests))


def damaged_iceberg(root: Path, chance: random.Random, count: int) -> Iterator[tuple[str, Callable[[], Any]]]:
    tables = [table for table in iceberg_tables() if any(_kinds(table.path, table.info["metadata_file"]))]
    for number in range(count):
        golden = chance.choice(tables)
        table = DamagedTable.of(golden.path, root / f"i{number}")
        file = table.root / golden.info["metadata_file"]
        moved = dict.fromkeys(golden.relocate, str(table.root))
        kinds = list(_kinds(table.root, golden.info["metadata_file"]))
        for _ in range(4):
            what = table.damage(chance.choice(chance.choice(kinds)), chance)
            yield f"{golden.name} {what}", partial(lakebed.open_table, file, relocate=moved)
            table.restore()


def damaged_paimon(root: Path, chance: random.Random, count: int) -> Iterator[tuple[str, Callable[[], Any]]]:
    tables = [table for table in paimon_tables() if "manifest_fmt" not in table.name]
    for number in range(count):
        golden = chance.choice(tables)
        table = DamagedTable.of(golden.path, root / f"p{number}")
        for _ in range(4):
            what = table.damage(chance.choice(table.files()), chance)
            yield f"{golden.name} {what}", partial(lakebed.open_table, table.root)
            table.restore()


@pytest.mark.trust
@pytest.mark.parametrize("damaged", [damaged_iceberg, damaged_paimon])
def test_other_values_in_golden_tables(tmp_path: Path, damaged: Any, figure: Figure):
    count, seen = long_or(12, 400, 6), Counter[str]()
    for what, opening in damaged(tmp_path, random.Random(20261126), count):
        seen += held(opening, what)
        seen["tables"] += 1
    assert seen["tables"] == 4 * count
    assert seen["refused"] > 0
    figure(damaged.__name__, ", ".join(f"{number} {name}" for name, number in sorted(seen.items())))


def _index_manifests() -> Iterator[Path]:
    for table in paimon_tables():
        if table.name.startswith("append_dv"):
            yield from sorted(table.path.glob("manifest/index-manifest-*"))


PARTITION_FIELD = {"source-id": 1, "field-id": 1000, "transform": "identity"}
PLACES = {
    "iceberg_metadata": (SAMPLE_ICEBERG_TABLE, "metadata/*.metadata.json"),
    "iceberg_manifest": (SAMPLE_ICEBERG_TABLE, "metadata/*-m0.avro"),
    "iceberg_manifest_list": (SAMPLE_ICEBERG_TABLE, "metadata/snap-*.avro"),
    "paimon_snapshot": (SAMPLE_TABLE, "snapshot/snapshot-*"),
    "paimon_schema": (SAMPLE_TABLE, "schema/schema-*"),
    "paimon_manifest_list": (SAMPLE_TABLE, "manifest/manifest-list-*"),
    "paimon_manifest": (SAMPLE_TABLE, "manifest/manifest-[0-9a-f]*"),
    "paimon_index_manifest": (next(_index_manifests()).parents[1], "manifest/index-manifest-*"),
}
"""A table, and its files of a kind of which there are malformed ones."""


@pytest.mark.parametrize("kind", PLACES)
def test_malformed_files_in_the_place_of_a_tables_own(tmp_path: Path, kind: str):
    sample, pattern = PLACES[kind]
    table, seen = DamagedTable.of(sample, tmp_path / "t"), Counter[str]()
    moved = dict.fromkeys(SAMPLE_MOVED, str(table.root))
    files = sorted(table.root.glob(pattern))
    assert files
    for number, content in enumerate(malformed(kind)):
        table.write(files[number % len(files)], content.read_bytes())
        seen += held(lambda: lakebed.open_table(table.root, relocate=moved), content.name)
        table.restore()
    assert seen["refused"] + seen["unopened"] > 0


def test_deletes_that_do_not_fit_their_files(tmp_path: Path):
    def files(name: str, version: int = 3) -> Files:
        return Files(tmp_path / name, version).add(0, 3, "a1")

    tables: dict[str, tuple[Files, set[tuple[str, str]]]] = {
        "two": (
            files("two").add(1, 3, "v", **vector("a1")).add(1, 3, "w", **vector("a1")),
            {("error", "duplicate")},
        ),
        "older": (files("older").add(1, 2, "v", **vector("a1")), {("error", "mismatch")}),
        "dangling": (files("dangling").add(1, 3, "v", **vector("gone")), {("warning", "missing")}),
        "nameless": (files("nameless").add(1, 3, "v", file_format="PUFFIN"), {("error", "required")}),
        "sizeless": (
            files("sizeless").add(1, 3, "v", **vector("a1") | {"content_size_in_bytes": None}),
            {("error", "required")},
        ),
        "columnless": (files("columnless").add(2, 4, "e", equality_ids=[]), {("error", "required")}),
        "fitting": (files("fitting").add(1, 3, "v", **vector("a1")).add(2, 4, "e", equality_ids=[1]), set()),
        "leftover": (files("leftover", 2).add(1, 4, "d", referenced_data_file="gone"), set()),
    }
    for name, foreign in FOREIGN.items():
        tables[name] = (foreign(some(tmp_path / name.replace(" ", "-"))), {("error", "mismatch")})
    for name, (table, expected) in tables.items():
        opened = table.open()
        found = {(row["severity"], row["kind"]) for row in opened.verify().to_arrow().to_pylist()}
        assert found == expected, name
        held(table.table.open, name)


def test_heads_that_differ(tmp_path: Path):
    made = MadeTable(tmp_path / "t", (1, "id", "long"))
    for name in "ab":
        made.commit(made.manifest(entry(path=name), name=f"{name}.avro"))
    for refs, current in (
        ({"main": {"snapshot-id": 1, "type": "branch"}}, 2),
        ({"main": {"snapshot-id": 1, "type": "branch"}}, None),
    ):
        made.set(refs=refs, current_snapshot_id=current)
        with pytest.warns(LakebedWarning, match="branch main"):
            table = made.open()
        (row,) = table.verify().to_arrow().to_pylist()
        assert (row["severity"], row["kind"], row["path"]) == (
            "error",
            "mismatch",
            str(made.root / "metadata" / "v1.metadata.json"),
        )
        with pytest.raises(CorruptError, match="which files are in use is unknown") as refused:
            table.expire_plan(timedelta(0)).to_arrow()
        assert refused.value.path == row["path"]


def test_partition_fields_that_arrow_has_no_name_for(tmp_path: Path):
    made = MadeTable(tmp_path / "t", (1, "id", "long"))
    made.commit(made.manifest(entry(path="a")))
    made.set(partition_specs=[{"spec-id": 0, "fields": [PARTITION_FIELD | {"name": "a\0b"}]}])
    table = made.open()
    with pytest.raises(UnsupportedError, match="names have no NUL"):
        table.plan().to_arrow()
    (row,) = [row for row in findings(table) if row["kind"] == "unsupported"]
    assert (row["severity"], row["field"]) == ("error", "partition-specs")


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("history.expire.max-snapshot-age-ms", "5 d"),
        ("history.expire.min-snapshots-to-keep", "few"),
        ("history.expire.max-ref-age-ms", "9" * 20),
        ("snapshot.time-retained", "one hour"),
        ("snapshot.num-retained.min", "1.5"),
        ("snapshot.num-retained.max", "3"),
        ("changelog.num-retained.min", "many"),
        ("snapshot.expire.limit", ""),
    ],
)
def test_rules_of_expiry_that_no_plan_can_be_made_by(tmp_path: Path, key: str, value: str):
    if key.startswith("history"):
        made = MadeTable(tmp_path / "t", (1, "id", "long"))
        made.commit(made.manifest(entry(path="a")))
        made.set(properties={key: value})
    else:
        paimon = MadePaimonTable(tmp_path / "t", ("id", "INT"), options={key: value})
        paimon.commit(paimon_entry(ADD, "a"))
    table = lakebed.open_table(tmp_path / "t")
    with pytest.raises(LakebedError) as refused:
        table.expire_plan().to_arrow()
    (row,) = findings(table)
    assert names_it(refused.value, row)
    assert key in row["message"]


def test_tables_whose_files_may_be_others(tmp_path: Path):
    iceberg = MadeTable(tmp_path / "t", (1, "id", "long"))
    iceberg.commit(iceberg.manifest(entry(path="a")))
    shutil.copytree(iceberg.root, tmp_path / "copy")
    iceberg.set(properties={"gc.enabled": "no"})
    paimon = MadePaimonTable(tmp_path / "p", ("id", "INT"))
    paimon.commit(paimon_entry(ADD, "a"))
    (paimon.root / "branch" / "branch-b" / "schema" / "of-what").mkdir(parents=True)
    for folder, expected in {
        "copy": ("warning", "location"),
        "t": ("warning", "unsupported"),
        "p": ("error", "required"),
    }.items():
        opening = partial(lakebed.open_table, tmp_path / folder)
        (row,) = findings(opening())
        assert (row["severity"], row["kind"]) == expected, folder
        seen = held(opening, folder)
        assert seen["refused"] + seen["warned"] > 0, folder


@pytest.mark.filterwarnings("ignore::lakebed.errors.LakebedWarning")
def test_every_ref_without_a_snapshot_and_every_snapshot_without_a_schema(tmp_path: Path):
    made = MadeTable(tmp_path / "t", (1, "id", "long"))
    made.commit(made.manifest(entry(path="a")), schema_id=7)
    refs = {name: {"snapshot-id": 9, "type": "tag"} for name in ("one", "two")}
    made.set(
        refs=refs,
        snapshot_log=[{"timestamp-ms": 900_000, "snapshot-id": 1}, {"timestamp-ms": 1, "snapshot-id": 1}],
    )
    rows = made.open().verify().to_arrow().to_pylist()
    assert sorted((row["severity"], row["kind"]) for row in rows) == [
        ("error", "required"),
        ("error", "snapshot-not-found"),
        ("error", "snapshot-not-found"),
        ("warning", "odd"),
    ]


def test_a_manifest_that_two_lists_record_differently(tmp_path: Path):
    """The record of the table's own snapshot is checked, though another list was read first."""
    made = MadeTable(tmp_path / "t", (1, "id", "long"))
    manifest = made.manifest(entry(path="a"), entry(DELETED, "b", snapshot_id=1))
    made.commit(manifest)
    made.commit(manifest | {"deleted_files_count": 2}, parent_snapshot_id=1)
    rows = made.open().verify().to_arrow().to_pylist()
    found = [(row["severity"], row["kind"]) for row in rows]
    assert found == [("warning", "mismatch"), ("error", "mismatch")]
    assert held(made.open, "two records")["refused"] > 0


def index_manifest(made: MadePaimonTable, *ranges: tuple[str, int, int], size: int = 100) -> None:
    """Another commit, with an index manifest of one index file in which vectors have these ranges."""
    source = next(_index_manifests())
    (record, *_) = records(source)
    own = [
        {"f0": name, "f1": offset, "f2": length, "cardinality": 1, "_CARDINALITY": 1}
        for name, offset, length in ranges
    ]
    record |= {"_PARTITION": paimon_entry(ADD, "a")["_PARTITION"], "_BUCKET": 0, "_FILE_SIZE": size}
    name = next(key for key in record if "VECTORS_RANGES" in key.upper())
    path = made.root / "manifest" / "index-manifest-1"
    path.write_bytes(avro_file(avro.read_schema(source), [record | {name: own}]))
    made.commit(indexManifest="index-manifest-1")


@pytest.mark.parametrize(
    ("ranges", "expected"),
    [
        ([("a", 1, 20)], []),
        ([("a", 1, 20), ("a", 30, 20)], [("error", "duplicate")]),
        ([("gone", 1, 20)], [("warning", "missing")]),
        ([("b", 1, 20)], [("warning", "missing")]),
        ([("a", 90, 20)], [("error", "mismatch")]),
        ([("a", -1, 20)], [("error", "length")]),
    ],
)
def test_vectors_of_a_paimon_table(tmp_path: Path, ranges: Any, expected: Any):
    made = MadePaimonTable(tmp_path / "p", ("id", "INT"))
    made.commit(paimon_entry(ADD, "a"), paimon_entry(ADD, "b"))
    made.commit(paimon_entry(DELETE, "b"))
    index_manifest(made, *ranges)
    rows = findings(lakebed.open_table(made.root))
    assert [(row["severity"], row["kind"]) for row in rows] == expected
    assert all(row["path"] == str(made.root / "manifest" / "index-manifest-1") for row in rows)
    held(lambda: lakebed.open_table(made.root), str(ranges))
