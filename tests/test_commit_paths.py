"""What a commit names can be opened again, and a table that could not be made leaves nothing behind."""

from __future__ import annotations

import contextlib
import os
import stat
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from counting_storage import WritableStorage
from file_rows import index_row
from iceberg_commits import statistics
from raising import raises

import lakebed
from lakebed import LakebedError, Table, open_table
from lakebed.errors import LocationError, SchemaError

SCHEMA = pa.schema([("id", pa.int64()), ("name", pa.string())])
# Characters that guards of paths refuse, climbing in several spellings, and what is no file.
BAD = [
    "x\ny/a",
    "x\0y/a",
    "x\ry/a",
    "x\x85y/a",
    "x\x7f/a",
    "../a",
    "x/../../a",
    "%2e%2e/a",
    "./x/./a",
    "x\\a",
    "",
    "x/",
]


def files(path: str, **columns: Any) -> pa.Table:
    given = {"file_path": [path], "record_count": [7], "file_size_in_bytes": [1], "file_format": ["PARQUET"]}
    return pa.table(given | columns)


def deletes(path: str, **columns: Any) -> pa.Table:
    return files(path, content=[1], **columns)


def vector(path: str, target: str) -> pa.Table:
    own = {"content_offset": [4], "content_size_in_bytes": [40], "referenced_data_file": [target]}
    return deletes(path, **own).set_column(3, "file_format", pa.array(["PUFFIN"]))


ICEBERG: dict[str, Callable[[Table, str], Any]] = {
    "append_files": lambda t, path: t.append_files(files(path)),
    "overwrite_files": lambda t, path: t.overwrite_files(files(path), removed=["data/a.parquet"]),
    "replace_files": lambda t, path: t.replace_files(["data/a.parquet"], files(path)),
    "row_delta": lambda t, path: t.add_deletes(files=files(path)),
    "row_delta, delete files": lambda t, path: t.add_deletes(deletes=deletes(path)),
    "staged": lambda t, path: t.stage().append_files(files(path)),
    "statistics": lambda t, path: t.set_statistics(statistics(t, f"{t.location}/{path}")),
    "statistics of partitions": lambda t, path: t.set_statistics(
        statistics(t, f"{t.location}/{path}"), of_partitions=True
    ),
}


def everything(folder: Path) -> dict[str, bytes]:
    return {str(path): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.mark.parametrize("path", BAD)
def test_iceberg_commits_refuse_a_path_that_nobody_could_open(tmp_path: Path, path: str):
    table = lakebed.create_table(tmp_path / "t", SCHEMA, "iceberg").append_files(files("data/a.parquet"))
    before = everything(tmp_path)
    for commit in ICEBERG.values():
        with pytest.raises(LocationError, match="may not be opened") as caught:
            commit(table, path)
        assert caught.value.path is not None
        assert len(str(caught.value).splitlines()) == 1
    assert everything(tmp_path) == before


def test_a_deletion_vector_is_refused_likewise(tmp_path: Path):
    table = lakebed.create_table(tmp_path / "t", SCHEMA, "iceberg", format_version=3)
    table = table.append_files(files("data/a.parquet"))
    for path, target, field in [
        ("x\ny.puffin", "data/a.parquet", "file_path"),
        ("v.puffin", "x\ny", "referenced_data_file"),
    ]:
        with raises(LocationError, field=field, record=0):
            table.add_deletes(deletes=vector(path, target))


def test_what_is_outside_of_allowed_prefixes_is_not_committed(tmp_path: Path):
    lakebed.create_table(tmp_path / "t", SCHEMA, "iceberg")
    elsewhere = tmp_path / "elsewhere" / "a.parquet"
    table = open_table(tmp_path / "t", format="iceberg", allowed_prefixes=[])
    with pytest.raises(LocationError, match=r"not below an allowed prefix|another kind of storage"):
        table.append_files(files(str(elsewhere)))
    table = open_table(tmp_path / "t", format="iceberg", allowed_prefixes=[elsewhere.parent])
    assert table.append_files(files(str(elsewhere))).files().to_arrow().num_rows == 1


@pytest.mark.parametrize("path", BAD)
def test_paimon_commits_refuse_a_path_that_nobody_could_open(tmp_path: Path, path: str):
    table = lakebed.create_table(tmp_path / "t", SCHEMA, "paimon", properties={"bucket": "-1"})
    own = files("bucket-0/a.parquet").drop(["file_format"])
    table = table.append_files(own)
    before = everything(tmp_path)
    outside = files(f"{tmp_path}/outside/{path}").drop(["file_format"])
    for commit in (
        lambda: table.append_files(outside),
        lambda: table.replace_files(["bucket-0/a.parquet"], outside),
        lambda: table.overwrite_partitions(outside, {}),
        lambda: table.overwrite_files(outside, where="TRUE"),
    ):
        with raises(LakebedError, field="file_path", record=0) as caught:
            commit()
        assert len(str(caught.value).splitlines()) == 1
    assert everything(tmp_path) == before


def test_the_place_of_an_index_file_is_refused_likewise(tmp_path: Path):
    options = {"bucket": "-1", "deletion-vectors.enabled": "true"}
    table = lakebed.create_table(tmp_path / "t", SCHEMA, "paimon", properties=options)
    table = table.append_files(files("bucket-0/a.orc").drop(["file_format"]))
    index = index_row("i", ("a.orc", 1, 22, 1), external_path="/x\ny/i")
    with raises(LocationError, field="external_path"):
        table.add_deletes(index, removed_deletes=[])


@pytest.mark.parametrize("value", ["x\ny", "x\x85y", ".."])
def test_values_that_become_folders_lead_nowhere_else(tmp_path: Path, value: str):
    table = lakebed.create_table(
        tmp_path / "t", SCHEMA, "paimon", partition_by=["name"], properties={"bucket": "-1"}
    )
    named = [
        f"{table.location}/name={folder}/bucket-0/a.orc" for folder in (value, value.replace("\n", "%0A"))
    ]
    committed = 0
    for path in named:
        partition = pa.array([{"name": value}], pa.struct([("name", pa.string())]))
        given = files(path, partition=partition).drop(["file_format"])
        with contextlib.suppress(SchemaError, LocationError):
            table = table.append_files(given)
            committed += 1
    # What was committed can be looked at in every way.
    assert table.files().to_arrow().num_rows == min(committed, 1)
    assert table.orphans().to_arrow().num_rows >= 0


PLACES = ["x\ny/t", "x\0y/t", "x\x85/t", "x\\y/t"]


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("format", ["iceberg", "paimon"])
def test_no_table_is_made_at_a_place_that_nobody_could_open(tmp_path: Path, format: Any, place: str):
    with pytest.raises(LocationError, match=r"may not be opened|has no NUL"):
        lakebed.create_table(f"{tmp_path}/{place}", SCHEMA, format)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("format", ["iceberg", "paimon"])
def test_a_climbing_location_is_where_it_leads(tmp_path: Path, format: Any, monkeypatch: pytest.MonkeyPatch):
    (tmp_path / "real" / "a").mkdir(parents=True)
    (tmp_path / "link").symlink_to(tmp_path / "real" / "a")
    monkeypatch.chdir(tmp_path)
    table = lakebed.create_table("link/../t", SCHEMA, format)
    assert ".." not in table.location
    assert open_table(tmp_path / "real" / "t").format == table.format


@pytest.mark.parametrize("format", ["iceberg", "paimon"])
def test_a_refused_table_leaves_nothing(tmp_path: Path, format: Any):
    (tmp_path / "file").write_bytes(b"")
    refused: list[tuple[type[Exception], Callable[[], Any]]] = [
        (
            LakebedError,
            lambda: lakebed.create_table(tmp_path / "t", SCHEMA, format, partition_by=["missing"]),
        ),
        (OSError, lambda: lakebed.create_table(tmp_path / "file" / "t", SCHEMA, format)),
    ]
    for error, make in refused:
        with pytest.raises(error):
            make()
    assert [path.name for path in tmp_path.iterdir()] == ["file"]


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
@pytest.mark.parametrize("format", ["iceberg", "paimon"])
def test_folders_that_were_made_go_with_the_table(tmp_path: Path, format: Any):
    name = "metadata" if format == "iceberg" else "schema"
    (tmp_path / "t" / name).mkdir(parents=True)
    (tmp_path / "t" / name).chmod(stat.S_IRUSR | stat.S_IXUSR)
    with pytest.raises(PermissionError):
        lakebed.create_table(tmp_path / "t", SCHEMA, format)
    assert list((tmp_path / "t" / name).iterdir()) == []


class Torn(WritableStorage):
    """A storage that fails while it publishes, and may leave a part of the file."""

    def __init__(self, part: float | None) -> None:
        super().__init__()
        self.part = part
        self.published = 0

    def publish(self, path: str, data: bytes, replace: bool) -> None:
        self.published += 1
        if self.published > 1 or (Path(path).exists() and not replace):
            return super().publish(path, data, replace)
        if self.part is not None:
            self.write(path, data[: int(len(data) * self.part)])
        raise ConnectionError("the line is dead")


def left_by(storage: Torn, folder: Path) -> list[Path]:
    """The files that are there after a table could not be made."""
    with pytest.raises(ConnectionError, match="dead"):
        lakebed.create_table(folder / "t", SCHEMA, "paimon", storage=storage)
    return [path for path in folder.rglob("*") if path.is_file()]


@pytest.mark.parametrize("part", [None, 0.1, 0.5])
def test_a_storage_that_fails_midway_leaves_no_table(tmp_path: Path, part: float | None):
    storage = Torn(part)
    assert left_by(storage, tmp_path) == []
    assert lakebed.create_table(tmp_path / "t", SCHEMA, "paimon", storage=storage).snapshot_id is None


def test_a_file_that_another_writer_may_have_begun_stays(tmp_path: Path):
    """Nobody can tell whose an empty file is."""
    storage = Torn(0.0)
    (begun,) = left_by(storage, tmp_path)
    assert begun.name == "schema-0"
    with pytest.raises(FileExistsError):
        lakebed.create_table(tmp_path / "t", SCHEMA, "paimon", storage=storage)
    assert begun.exists()


class Blind(Torn):
    """A storage of which nothing that it has published can be read."""

    def read(self, path: str, start: int | None = None, end: int | None = None) -> bytes:
        if self.published > 1:
            raise ConnectionError("the line is dead")
        return super().read(path, start, end)


def test_a_table_that_cannot_be_opened_is_not_made(tmp_path: Path):
    storage = Blind(None)
    storage.published = 1
    assert left_by(storage, tmp_path) == []


def test_a_new_table_is_guarded(tmp_path: Path):
    table = lakebed.create_table(tmp_path / "t", SCHEMA, "paimon", properties={"bucket": "-1"})
    given = files(f"{tmp_path}/x\ny/a.orc").drop(["file_format"])
    with pytest.raises(LakebedError):
        table.append_files(given)
    assert table.refresh().snapshot_id is None
