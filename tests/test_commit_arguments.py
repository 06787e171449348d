"""What changes are given: wrong values are typed errors that leave the table alone, and transactions do what
they are told.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from file_rows import file_rows

import lakebed
from lakebed import CommitOptions, SchemaChange, Table
from lakebed.errors import (
    LakebedError,
    LocationError,
    PredicateError,
    SchemaError,
    SnapshotNotFoundError,
    UnsupportedError,
)

FORMATS = ("iceberg", "paimon")
SCHEMA = pa.schema([("id", pa.int64()), ("region", pa.string())])
each_format = pytest.mark.parametrize("format", FORMATS)


def made(folder: Path, format: str, **given: Any) -> Table:
    return lakebed.create_table(folder / format, SCHEMA, format, **given)  # type: ignore[arg-type]


def file(name: str) -> pa.Table:
    return file_rows(f"bucket-0/{name}.parquet", record_count=3, file_size_in_bytes=812)


def live(table: Table) -> list[str]:
    return sorted(Path(path).stem for path in table.files().to_arrow()["file_path"].to_pylist())


def lying(folder: Path) -> set[Path]:
    return set(folder.rglob("*"))


# Transactions.


@each_format
def test_a_block_that_ends_with_an_exception_is_forgotten(format: str, tmp_path: Path):
    transaction = made(tmp_path, format).transaction()
    with contextlib.suppress(RuntimeError), transaction:
        transaction.append_files(file("ghost"))
        raise RuntimeError
    assert live(transaction.commit().table) == []
    with transaction:
        transaction.append_files(file("a"))
    assert live(transaction.table) == ["a"]


@each_format
def test_a_commit_that_fails_keeps_its_changes(format: str, tmp_path: Path):
    transaction = made(tmp_path, format).transaction()
    transaction.append_files(file("a"))
    transaction.delete_files(["bucket-0/no.parquet"])
    for _ in range(2):
        with pytest.raises(SchemaError, match=r"no\.parquet"):
            transaction.commit()
    if format == "iceberg":
        with pytest.raises(SchemaError, match=r"no\.parquet"):
            transaction.stage()
    assert transaction.freed is None
    assert live(transaction.table.refresh()) == []


@each_format
def test_what_nothing_frees_has_the_columns_of_what_is_reached(format: str, tmp_path: Path):
    transaction = made(tmp_path, format).transaction()
    assert transaction.commit().files.to_arrow().num_rows == 0
    assert transaction.freed is not None
    transaction.append_files(file("a"))
    table, freed = transaction.commit()
    assert freed.to_arrow().schema == table.reachable().schema
    assert freed.to_arrow().num_rows == 0


def test_refs_of_a_transaction_name_what_it_has_made(tmp_path: Path):
    table = made(tmp_path, "iceberg")
    with table.transaction() as first:
        first.append_files(file("a"))
        first.create_tag("release")
    table = first.table
    assert table.tag is None
    assert live(table.at(tag="release")) == ["a"]
    with table.transaction() as second:
        second.create_tag("before")
        second.append_files(file("b"))
        second.create_tag("after")
        second.create_branch("from_before", at="before")
        second.create_branch("now")
        second.append_files(file("c"))
    assert live(second.table) == ["a", "b", "c"]
    for name, files in {"before": ["a"], "after": ["a", "b"]}.items():
        assert live(second.table.at(tag=name)) == files
    for name, files in {"from_before": ["a"], "now": ["a", "b"]}.items():
        assert live(second.table.at(branch=name)) == files


def test_a_ref_alone_names_the_tables_own_snapshot(tmp_path: Path):
    first = made(tmp_path, "iceberg").append_files(file("a"))
    second = first.append_files(file("b"))
    second.create_tag("new")
    assert live(first.create_tag("own")) == ["a"]
    # One that others have made since.
    assert live(first.create_branch("branch", at="new")) == ["a", "b"]
    with pytest.raises(SnapshotNotFoundError, match="no tag"):
        first.create_tag("x", at="nothing")


# Arguments.


@each_format
def test_generators_are_read_once(format: str, tmp_path: Path):
    table = made(tmp_path, format, partition_by=(name for name in ["region"]))
    assert table.files().schema.field("partition").type.num_fields == 1
    removed: Any = (key for key in ["a"])
    table = table.update_properties({"a": "1", "b": "2"}).update_properties(remove=removed)
    assert {key for key in table.properties if key in "ab"} == {"b"}


@each_format
def test_a_place_has_one_table(format: str, tmp_path: Path):
    table = made(tmp_path, format).append_files(file("keep"))
    before = lying(tmp_path)
    for other in FORMATS:
        with pytest.raises(FileExistsError):
            lakebed.create_table(table.location, SCHEMA, other)  # type: ignore[arg-type]
    assert lying(tmp_path) == before
    assert live(lakebed.open_table(table.location)) == ["keep"]


@each_format
def test_a_table_is_where_it_was_made(format: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(tmp_path)
    table = lakebed.create_table("here", SCHEMA, format)  # type: ignore[arg-type]
    monkeypatch.chdir("/")
    assert live(table.append_files(file("a"))) == ["a"]
    with pytest.raises(LocationError, match="empty"):
        lakebed.create_table("", SCHEMA, format)  # type: ignore[arg-type]


@each_format
def test_values_of_properties_are_texts(format: str, tmp_path: Path):
    options = CommitOptions(properties={"count": 1, "new": True})  # type: ignore[dict-item]
    table = made(tmp_path, format).append_files(file("a"), options=options)
    (snapshot,) = table.snapshots().to_arrow().to_pylist()
    kept = dict(snapshot["summary"])
    assert (kept["count"], kept["new"]) == ("1", "true")


SCHEMA_CHANGE: Any = SchemaChange
OPTIONS: Any = CommitOptions
BOTH = "iceberg paimon"


def adding(*column: Any, **how: Any) -> Callable[[Any], object]:
    return lambda t: t.update_schema(SCHEMA_CHANGE.add_column(*column, **how))


def appending(**options: Any) -> Callable[[Any], object]:
    return lambda t: t.append_files(file("a"), options=OPTIONS(**options))


WRONG: list[tuple[str, Callable[[Any], object], type[Exception], str]] = [
    (BOTH, lambda t: t.update_properties({"a": None}), TypeError, "properties"),
    (BOTH, lambda t: t.update_properties([("a", "b")]), TypeError, "properties"),
    (BOTH, lambda t: t.update_properties({"a": "\ud800"}), SchemaError, "surrogate"),
    (BOTH, lambda t: t.update_properties(remove="x"), TypeError, "remove takes a list of names"),
    (BOTH, lambda t: t.update_schema(None), TypeError, "changes"),
    (BOTH, lambda t: t.update_schema(["x"]), TypeError, "changes"),
    (BOTH, lambda t: t.update_schema(SCHEMA_CHANGE.drop_column([])), TypeError, "path"),
    (BOTH, lambda t: t.update_schema(SCHEMA_CHANGE.drop_column(None)), TypeError, "path"),
    (BOTH, adding("a", 5), TypeError, "field_type"),
    (BOTH, lambda t: t.update_schema(SCHEMA_CHANGE.update_doc("id", 5)), TypeError, "doc"),
    (BOTH, lambda t: t.update_schema(SCHEMA_CHANGE.rename_column("id", None)), TypeError, "new_name"),
    (BOTH, adding("a\ud800", pa.int32()), SchemaError, "surrogate"),
    ("paimon", adding("a", pa.float16()), LakebedError, "Float16"),
    ("paimon", adding("a", "int", required=True), UnsupportedError, "add_column with these arguments"),
    (BOTH, lambda t: t.append_files(file("a"), options=None), TypeError, "options"),
    (BOTH, appending(properties=[("a", "b")]), TypeError, "properties"),
    ("paimon", appending(identifier=2**63), ValueError, "identifier"),
    ("paimon", appending(user=5), TypeError, "user"),
    (BOTH, lambda t: t.delete_files("bucket-0/a.parquet"), PredicateError, "in a list"),
    (BOTH, lambda t: t.delete_files(lakebed.col("id")), TypeError, "is a column, not a filter"),
    (
        BOTH,
        lambda t: t.delete_files(pa.table([["a"], ["b"]], names=["file_path", "file_path"])),
        SchemaError,
        "2 columns",
    ),
    (BOTH, lambda t: t.delete_files(pa.table({"file_path": ["a", None]})), SchemaError, "file_path is null"),
    (BOTH, lambda t: t.replace_files(None), TypeError, "removed"),
    (
        "iceberg",
        lambda t: t.replace_files([], data_sequence_number=2**63),
        ValueError,
        "data_sequence_number",
    ),
    ("iceberg", lambda t: t.update_spec(rename=[("a", "b")]), TypeError, "rename"),
    ("iceberg", lambda t: t.set_statistics(None), TypeError, "statistics"),
    ("iceberg", lambda t: t.upgrade(2**31), ValueError, "format_version"),
    ("iceberg", lambda t: t.create_branch("b", min_snapshots_to_keep=2**31), ValueError, "min_snapshots"),
    (BOTH, lambda t: t.create_tag("x", max_age=5), TypeError, "max_age"),
    ("iceberg", lambda t: t.create_tag("x", max_age=timedelta(-1)), SchemaError, "an age is at least"),
    ("paimon", lambda t: t.create_tag("x", max_age=timedelta(-1)), ValueError, "max_age"),
    ("iceberg", lambda t: t.set_current_snapshot(None), TypeError, "at takes"),
    (BOTH, lambda t: t.rollback_to(None), TypeError, "at takes"),
    (BOTH, lambda t: t.fast_forward(None, "main"), TypeError, "name"),
    ("paimon", lambda t: t.create_tag("x" * 300), LakebedError, "not the name of a tag"),
    ("paimon", lambda t: t.create_branch("x" * 300), LakebedError, "not the name of a branch"),
    ("paimon", lambda t: t.overwrite_partitions(file("a"), ["region"]), TypeError, "partition"),
]


@pytest.mark.parametrize(
    ("format", "change", "expected", "words"),
    [
        pytest.param(format, change, expected, words, id=f"{number}-{format}")
        for number, (formats, change, expected, words) in enumerate(WRONG)
        for format in formats.split()
    ],
)
def test_a_wrong_value_is_named_and_changes_nothing(
    format: str, change: Callable[[Table], object], expected: type[Exception], words: str, tmp_path: Path
):
    table = made(tmp_path, format).append_files(file("keep"))
    before = lying(tmp_path)
    with pytest.raises(expected, match=words) as refused:
        change(table)
    assert not isinstance(refused.value, lakebed.errors.CorruptError)
    assert lying(tmp_path) == before


def test_fields_of_errors_are_arguments(tmp_path: Path):
    table = made(tmp_path, "iceberg").append_files(file("a"))
    table.create_tag("tag")
    for change, field in (
        (lambda: table.set_retention("tag", min_snapshots_to_keep=1), "min_snapshots_to_keep"),
        (lambda: table.set_retention("tag", max_snapshot_age=timedelta(1)), "max_snapshot_age"),
        (lambda: table.set_retention("tag", max_age=timedelta(0)), "max_age"),
    ):
        with pytest.raises(SchemaError) as refused:
            change()
        assert refused.value.field == field
    for format in FORMATS:
        table = lakebed.create_table(tmp_path / f"of_{format}", SCHEMA, format)  # type: ignore[arg-type]
        with pytest.raises(LakebedError) as wrong:
            table.update_schema(SchemaChange.add_column("half", pa.float16()))
        assert wrong.value.field == "half", format


def test_frames_in_the_place_of_arguments_of_the_other_format(tmp_path: Path):
    pandas = pytest.importorskip("pandas")
    with pytest.raises(UnsupportedError, match="changelog"):
        made(tmp_path, "iceberg").append_files(file("a"), changelog=pandas.DataFrame({"a": [1]}))
