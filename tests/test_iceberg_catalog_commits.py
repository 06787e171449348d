"""Commits to tables that a catalog loaded go through that catalog, and PyIceberg reads what comes of them."""

from __future__ import annotations

import pickle
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from iceberg_commits import files
from trust import long_or

import lakebed
from lakebed import errors

tables = pytest.importorskip("catalog_tables")
catalog_writer = pytest.importorskip("catalog_writer")
exceptions = pytest.importorskip("pyiceberg.exceptions")

Made = tuple[Any, Any]
"""A catalog, and a table in it without rows."""


@pytest.fixture(params=["near", "far"])
def made(request: pytest.FixtureRequest, tmp_path: Path) -> Made:
    catalog = (tables.far if request.param == "far" else tables.sqlite)(tmp_path)
    return catalog, catalog.create_table("db.t", pa.schema([("id", pa.int64())]))


def theirs(catalog: Any) -> list[str]:
    """The live files, as PyIceberg reads them."""
    paths = catalog.load_table("db.t").inspect.files()["file_path"].to_pylist()
    return sorted(path.rpartition("/")[2].removesuffix(".parquet") for path in paths)


def on_disk(folder: Path) -> set[str]:
    """Manifests and lists."""
    return {path.name for path in folder.rglob("*.avro")}


def test_commits_go_through_the_catalog(made: Made) -> None:
    catalog, there = made
    table = lakebed.open_table(there)
    one = table.append_files(files("1", "2"))
    assert one.snapshot_id == catalog.load_table("db.t").metadata.current_snapshot_id
    two = table.append_files(files("3"), options=lakebed.CommitOptions(properties={"who": "me"}))
    assert theirs(catalog) == ["1", "2", "3"]
    three = two.delete_files(["data/2.parquet"])
    four = one.rewrite_manifests()
    assert theirs(catalog) == ["1", "3"]
    now = catalog.load_table("db.t")
    found = [snapshot.summary.operation.value for snapshot in now.metadata.snapshots]
    assert found == ["append", "append", "delete", "replace"]
    assert now.metadata.snapshots[1].summary["who"] == "me"
    assert (four.snapshot_id, four.location) == (now.metadata.current_snapshot_id, table.location)
    assert len(now.metadata.snapshot_log) == 4
    assert [row.snapshot_id for row in now.metadata.snapshots] == [
        *(made.snapshot_id for made in (one, two, three, four))
    ]


def test_pyiceberg_goes_on_where_lakebed_was(made: Made, tmp_path: Path) -> None:
    catalog, there = made
    there.append(pa.table({"id": [1, 2]}))
    table = lakebed.open_table(there).append_files(files("ours"))
    catalog.load_table("db.t").append(pa.table({"id": [3]}))
    table = table.refresh()
    assert table.files().to_arrow()["record_count"].to_pylist() == [1, 7, 2]
    (path,) = (row["file_path"] for row in table.files().to_arrow().to_pylist() if row["record_count"] == 7)
    table.delete_files([path])
    assert sorted(catalog.load_table("db.t").scan().to_arrow()["id"].to_pylist()) == [1, 2, 3]


def five_commits(there: Any, enabled: str) -> None:
    """To a table whose log holds two versions of its metadata."""
    with there.transaction() as change:
        change.set_properties(
            {
                "write.metadata.delete-after-commit.enabled": enabled,
                "write.metadata.previous-versions-max": "2",
            }
        )
    table = lakebed.open_table(there)
    for name in "abcde":
        table = table.append_files(files(name))


def test_old_metadata_goes_where_the_table_says_so(made: Made, tmp_path: Path) -> None:
    catalog, there = made
    five_commits(there, "true")
    now = catalog.load_table("db.t")
    known = [now.metadata_location, *(log.metadata_file for log in now.metadata.metadata_log)]
    assert len(known) == 3
    left = [path.name for path in tmp_path.rglob("*.metadata.json")]
    assert sorted(left) == sorted(path.rpartition("/")[2] for path in known)
    assert theirs(catalog) == list("abcde")


def test_old_metadata_stays_where_the_table_does_not_say_so(made: Made, tmp_path: Path) -> None:
    _, there = made
    five_commits(there, "false")
    assert len(list(tmp_path.rglob("*.metadata.json"))) == 7


def test_old_metadata_that_cannot_be_deleted_is_a_warning(
    made: Made, monkeypatch: pytest.MonkeyPatch
) -> None:
    catalog, there = made

    def refuse(*_: Any) -> None:
        raise PermissionError("no")

    monkeypatch.setattr(type(there.io), "delete", refuse)
    with pytest.warns(errors.LakebedWarning, match="an old metadata file stays: .*no"):
        five_commits(there, "true")
    assert theirs(catalog) == list("abcde")


def test_nothing_to_rewrite_is_no_commit(made: Made) -> None:
    catalog, there = made
    assert lakebed.open_table(there).rewrite_manifests().snapshot_id is None
    assert catalog.load_table("db.t").metadata_location == there.metadata_location


def test_what_does_not_fit_is_refused_before_anything_is_written(made: Made, tmp_path: Path) -> None:
    _, there = made
    with pytest.raises(errors.SchemaError, match="file_path"):
        lakebed.open_table(there).delete_files(["data/none.parquet"])
    assert on_disk(tmp_path) == set()


def test_a_staged_commit_is_discarded_where_it_was_written(made: Made, tmp_path: Path) -> None:
    _, there = made
    staged = lakebed.open_table(there).stage().append_files(files("1"))
    assert staged is not None
    assert {Path(file).name for file in staged.files} == on_disk(tmp_path)
    staged.discard()
    assert on_disk(tmp_path) == set()
    staged.discard()


class Writable(tables.Bucket):  # type: ignore[misc, name-defined]
    """A storage that writes too."""

    def write(self, path: str, data: bytes) -> None:
        with self.place(path).open("xb") as file:
            file.write(data)

    def remove(self, path: str) -> None:
        self.place(path).unlink()


def test_tables_elsewhere_are_made_by_catalogs() -> None:
    # Nothing is asked of the server, which is not there.
    with pytest.raises(errors.UnsupportedError, match=r"elsewhere by a catalog") as caught:
        lakebed.create_table("s3://key:c4n4ry@bucket/t", pa.schema([("id", pa.int64())]), "iceberg")
    assert caught.value.path is not None
    assert "c4n4ry" not in f"{caught.value}{caught.value.path}"


def test_commits_are_staged_on_any_storage_that_writes(tmp_path: Path) -> None:
    there = tables.far(tmp_path).create_table("db.t", pa.schema([("id", pa.int64())]))
    table = lakebed.open_table(there.metadata_location, storage=Writable(tmp_path / "bucket"))
    staged = table.stage().append_files(files("1"))
    assert staged is not None
    assert len(on_disk(tmp_path)) == 2
    assert all(file.startswith(f"{there.location()}/metadata/") for file in staged.files)
    staged.discard()
    assert on_disk(tmp_path) == set()
    with pytest.raises(errors.UnsupportedError, match=r"local file system alone.*catalog makes them"):
        table.append_files(files("1"))
    table = lakebed.open_table(there.metadata_location, storage=tables.Bucket(tmp_path / "bucket"))
    with pytest.raises(errors.UnsupportedError, match=r"staged where the storage writes.*without storage="):
        table.stage().append_files(files("1"))


def test_what_a_storage_raises_while_files_are_written_comes_as_it_is(tmp_path: Path) -> None:
    class Full(Writable):
        def write(self, path: str, data: bytes) -> None:
            if "/snap-" in path:
                raise OSError(28, "no space", path)
            super().write(path, data)

    there = tables.far(tmp_path).create_table("db.t", pa.schema([("id", pa.int64())]))
    table = lakebed.open_table(there, storage=Full(tmp_path / "bucket"))
    with pytest.raises(OSError, match="no space"):
        table.append_files(files("1"))
    assert on_disk(tmp_path) == set()


def test_a_commit_that_lost_begins_anew_from_what_won(made: Made, tmp_path: Path) -> None:
    catalog, _ = made

    def other(attempt: int) -> None:
        if attempt < 3:
            lakebed.open_table(catalog.load_table("db.t")).append_files(files(f"other{attempt}"))

    between = tables.Between(catalog, other)
    table = lakebed.open_table(between.load_table("db.t")).append_files(files("ours"))
    assert between.commits == 3
    assert theirs(catalog) == ["other1", "other2", "ours"]
    # One manifest and one list of each commit: what was lost is gone.
    assert len(on_disk(tmp_path)) == 6
    assert table.snapshots().to_arrow()["parent_id"].null_count == 1


def test_a_commit_to_another_branch_meanwhile_is_no_harm(made: Made) -> None:
    """It takes the sequence number that the commit to main was to have, which a catalog refuses."""
    catalog, there = made
    one = lakebed.open_table(there).append_files(files("1"))
    catalog.load_table("db.t").manage_snapshots().create_branch(one.snapshot_id, "dev").commit()

    def other(attempt: int) -> None:
        if attempt == 1:
            catalog.load_table("db.t").append(pa.table({"id": [1]}), branch="dev")

    between = tables.Between(catalog, other)
    table = lakebed.open_table(between.load_table("db.t")).append_files(files("2"))
    assert theirs(catalog) == ["1", "2"]
    assert sorted(table.snapshots().to_arrow()["sequence_number"].to_pylist()) == [1, 2, 3]
    assert between.commits == 2


def test_a_file_that_another_deleted_meanwhile_is_reported(made: Made, tmp_path: Path) -> None:
    catalog, there = made
    lakebed.open_table(there).append_files(files("1", "2"))

    def other(attempt: int) -> None:
        lakebed.open_table(catalog.load_table("db.t")).delete_files(["data/1.parquet"])

    between = tables.Between(catalog, other)
    with pytest.raises(errors.SchemaError, match=r"1\.parquet"):
        lakebed.open_table(between.load_table("db.t")).delete_files(["data/1.parquet"])
    assert theirs(catalog) == ["2"]


def test_a_commit_that_loses_every_race_is_a_conflict(made: Made, tmp_path: Path) -> None:
    catalog, there = made
    with there.transaction() as transaction:
        transaction.set_properties({"commit.retry.num-retries": "2"})

    def other(attempt: int) -> None:
        raise exceptions.CommitFailedException("another was first")

    between = tables.Between(catalog, other)
    with pytest.raises(errors.CommitConflictError, match="3 attempts lost to other commits") as caught:
        lakebed.open_table(between.load_table("db.t")).append_files(files("1"))
    assert (caught.value.kind, caught.value.retryable, between.commits) == ("conflict", True, 3)
    assert on_disk(tmp_path) == set()


class OfOneCatalog(exceptions.CommitFailedException):  # type: ignore[misc, name-defined]
    """A catalog's own kind of conflict."""


def named_alike(base: type[Exception]) -> type[Exception]:
    """An error of another library that has the name of PyIceberg's."""
    return type(base.__name__, (Exception,), {})


@pytest.mark.parametrize(
    ("error", "lost"),
    [
        (OfOneCatalog("another was first"), True),
        (named_alike(exceptions.CommitFailedException)("unknown"), False),
        (named_alike(exceptions.BadRequestError)("unknown"), False),
        (UnicodeDecodeError("utf-8", b"", 0, 1, "an answer that does not parse"), False),
    ],
    ids=["own kind of conflict", "named as a conflict", "named as a refusal", "answer that does not parse"],
)
def test_errors_of_catalogs_are_told_apart_by_class(
    made: Made, tmp_path: Path, error: Exception, lost: bool
) -> None:
    """What is no refusal of PyIceberg's may have happened: its files stay."""
    catalog, _ = made

    def other(attempt: int) -> None:
        if attempt == 1:
            raise error

    between = tables.Between(catalog, other)
    between.properties = catalog.properties
    if lost:
        lakebed.open_table(between.load_table("db.t")).append_files(files("1"))
        assert (theirs(catalog), between.commits) == (["1"], 2)
    else:
        with pytest.raises(OSError, match="may have happened, or may yet: its files stay"):
            lakebed.open_table(between.load_table("db.t")).append_files(files("1"))
        assert len(on_disk(tmp_path)) == 2


@pytest.mark.parametrize("error", [exceptions.CommitStateUnknownException, TimeoutError, RuntimeError])
def test_a_commit_whose_answer_is_lost_is_made(made: Made, error: type[Exception]) -> None:
    catalog, _ = made

    class Lost(tables.Between):  # type: ignore[misc, name-defined]
        def commit_table(self, *given: Any) -> Any:
            super().commit_table(*given)
            raise error("no answer")

    lost = Lost(catalog, lambda _: None)
    table = lakebed.open_table(lost.load_table("db.t")).append_files(files("1"))
    assert lost.commits == 1
    assert table.files().to_arrow().num_rows == 1
    assert theirs(catalog) == ["1"]


def test_a_commit_that_may_still_happen_keeps_its_files(made: Made, tmp_path: Path) -> None:
    catalog, _ = made

    def fails(attempt: int) -> None:
        raise exceptions.CommitStateUnknownException(f"504 of {tables.catalog_files.SECRET}")

    between = tables.Between(catalog, fails)
    between.properties = catalog.properties
    with pytest.raises(OSError, match="may have happened, or may yet: its files stay") as caught:
        lakebed.open_table(between.load_table("db.t")).append_files(files("1"))
    assert not isinstance(caught.value, errors.CommitConflictError)
    assert not errors.is_retryable(pickle.loads(pickle.dumps(caught.value)))
    assert len(on_disk(tmp_path)) == 2
    assert between.commits == 1
    if "s3.secret-access-key" in catalog.properties:
        assert tables.catalog_files.SECRET not in str(caught.value)


def test_a_commit_that_is_refused_leaves_nothing(made: Made, tmp_path: Path) -> None:
    catalog, _ = made

    def refuses(attempt: int) -> None:
        raise exceptions.ForbiddenError("NotAuthorizedException: not you")

    between = tables.Between(catalog, refuses)
    with pytest.raises(OSError, match="ForbiddenError: NotAuthorizedException"):
        lakebed.open_table(between.load_table("db.t")).append_files(files("1"))
    assert (on_disk(tmp_path), between.commits) == (set(), 1)


def test_a_table_that_is_gone_is_reported(made: Made, tmp_path: Path) -> None:
    catalog, _ = made
    table = lakebed.open_table(
        tables.Between(catalog, lambda _: catalog.drop_table("db.t")).load_table("db.t")
    )
    with pytest.raises(errors.TableNotFoundError, match=r"no table db\.t"):
        table.append_files(files("1"))
    assert on_disk(tmp_path) == set()


def test_tables_that_no_catalog_commits_are_refused(tmp_path: Path) -> None:
    catalog = tables.sqlite(tmp_path)
    there = catalog.create_table("db.t", pa.schema([("id", pa.int64())]))
    static = pytest.importorskip("pyiceberg.table").StaticTable.from_metadata(there.metadata_location)
    with pytest.raises(errors.UnsupportedError, match="without a catalog"):
        lakebed.open_table(static).append_files(files("1"))
    with pytest.raises(errors.UnsupportedError, match="relocate="):
        lakebed.open_table(there, relocate={"/a": "/b"}).append_files(files("1"))
    there.catalog = object()
    with pytest.raises(errors.UnsupportedError, match="the catalog cannot commit"):
        lakebed.open_table(there).append_files(files("1"))


def test_commits_to_a_folder_of_pypaimon_stay_as_they_were(tmp_path: Path) -> None:
    there = tables.paimon_orders(tmp_path)
    table = lakebed.open_table(there).create_tag("one")
    assert table.refs().to_arrow().num_rows == 2
    assert table.refresh().snapshot_id == 2
    # As in a REST catalog, which keeps the snapshots.
    there.catalog_environment.supports_version_management = True
    with pytest.raises(errors.UnsupportedError, match="the table's catalog makes its commits"):
        lakebed.open_table(there).create_tag("two")


@pytest.mark.parametrize("other", ["lakebed", "pyiceberg"])
def test_two_writers_lose_nothing(tmp_path: Path, other: str) -> None:
    catalog = tables.sqlite(tmp_path)
    catalog.create_table("db.t", pa.schema([("id", pa.int64())]))
    catalog_writer.race(catalog, {"a": "lakebed", "b": other}, long_or(10, 50, 4))


def test_a_killed_writer_breaks_nothing(tmp_path: Path) -> None:
    catalog_writer.kill(tables.sqlite(tmp_path))


def test_threads_of_one_catalog_lose_nothing(tmp_path: Path) -> None:
    catalog = tables.sqlite(tmp_path)
    table = lakebed.open_table(catalog.create_table("db.t", pa.schema([("id", pa.int64())])))
    commits = long_or(5, 25, 2)

    def write(writer: int) -> None:
        for number in range(commits):
            table.append_files(files(f"{writer}-{number}"))

    with ThreadPoolExecutor(2) as threads:
        list(threads.map(write, range(2)))
    assert theirs(catalog) == sorted(f"{writer}-{number}" for writer in range(2) for number in range(commits))
