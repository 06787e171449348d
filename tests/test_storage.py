"""Storages of other libraries speak one protocol, and no message repeats a password."""

from __future__ import annotations

import contextlib
from pathlib import Path

import pytest
from local_storage import LocalStorage
from raising import raises

import lakebed
from lakebed._native import without_credentials
from lakebed.errors import LimitError, LocationError, UnsupportedError
from lakebed.storage import ArrowStorage, FsspecStorage, Storage, resolve

fsspec = pytest.importorskip("fsspec")
pafs = pytest.importorskip("pyarrow.fs")

FILES = {"snapshot/LATEST": b"7", "snapshot/snapshot-7": b"0123456789", "schema/schema-0": b"{}"}


def local(root: Path) -> tuple[str, object]:
    return str(root), pafs.LocalFileSystem()


def local_uri(root: Path) -> tuple[str, object]:
    return f"file://{root}", pafs.LocalFileSystem()


def below(root: Path) -> tuple[str, object]:
    return root.name, pafs.SubTreeFileSystem(str(root.parent), pafs.LocalFileSystem())


def bucket(root: Path) -> tuple[str, object]:
    """A URI of a bucket, on a filesystem that knows the bucket as a folder."""
    return f"s3://key:secret@{root.name}", pafs.SubTreeFileSystem(str(root.parent), pafs.LocalFileSystem())


def fsspec_local(root: Path) -> tuple[str, object]:
    return f"file://{root}/", fsspec.filesystem("file")


def fsspec_memory(root: Path) -> tuple[str, object]:
    memory = fsspec.filesystem("memory")
    for name, content in FILES.items():
        memory.pipe(f"{root}/{name}", content)
    return f"memory:/{root}", memory


def fsspec_by_scheme(root: Path) -> tuple[str, None]:
    location, _ = fsspec_memory(root)
    return location, None


@pytest.fixture(params=[local, local_uri, below, bucket, fsspec_local, fsspec_memory, fsspec_by_scheme])
def table(request, tmp_path: Path) -> tuple[str, Storage]:
    for name, content in FILES.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_bytes(content)
    location, storage = resolve(*request.param(tmp_path))
    assert isinstance(storage, Storage)
    return location, storage


def test_files_are_read_whole_or_in_part(table):
    location, storage = table
    path = f"{location}/snapshot/snapshot-7"
    assert storage.read(path) == b"0123456789"
    assert storage.read(path, 2, 5) == b"234"
    assert storage.read(path, 7) == b"789"
    assert storage.read(path, None, 3) == b"012"


def test_directories_are_listed_by_name(table):
    location, storage = table
    assert sorted(storage.list(f"{location}/snapshot")) == ["LATEST", "snapshot-7"]
    assert sorted(storage.list(location)) == ["schema", "snapshot"]


def test_what_is_not_there_is_empty_or_not_found(table):
    location, storage = table
    with pytest.raises(FileNotFoundError):
        storage.read(f"{location}/snapshot/snapshot-8")
    with contextlib.suppress(FileNotFoundError):
        assert storage.list(f"{location}/tag") == []


def test_new_files_are_seen_at_once(tmp_path: Path):
    location, storage = resolve(*fsspec_memory(tmp_path))
    assert storage is not None
    assert len(storage.list(f"{location}/snapshot")) == 2
    fsspec.filesystem("memory").pipe(f"{tmp_path}/snapshot/snapshot-8", b"")
    assert len(storage.list(f"{location}/snapshot")) == 3


@pytest.mark.parametrize(
    "path", ["/wh/db/t", "/wh/db/t/", Path("/wh/db/t"), "file:///wh/db/t", "file:/wh/db/t"]
)
def test_local_paths_are_left_to_the_core(path):
    assert resolve(path) == ("/wh/db/t", None)


def test_the_root_directory_stays_itself():
    assert resolve("/") == ("/", None)


def test_paths_in_file_uris_are_unquoted():
    assert resolve("file:///wh/a%20b") == ("/wh/a b", None)


def test_the_users_own_storage_gets_paths_as_written():
    class Own:
        def read(self, path, start=None, end=None):
            return b""

        def list(self, prefix):
            return []

    own = Own()
    assert resolve("own://somewhere/t", own) == ("own://somewhere/t", own)


def test_what_is_not_a_storage_is_refused():
    with pytest.raises(TypeError, match="storage="):
        resolve("/t", object())
    with pytest.raises(TypeError, match="text"):
        resolve(b"/t")  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("uri", "shown"),
    [
        ("s3://key:secret@bucket/t?session_token=secret", "s3://bucket/t"),
        ("hdfs://user@namenode:8020/t", "hdfs://namenode:8020/t"),
        (
            "abfs://container@account.dfs.core.windows.net/t",
            "abfs://container@account.dfs.core.windows.net/t",
        ),
        ("abfs://container:secret@account/t", "abfs://container@account/t"),
        ("/local/a@b?c", "/local/a@b?c"),
    ],
)
def test_credentials_are_not_shown(uri, shown):
    assert without_credentials(uri) == shown


def test_credentials_are_not_in_messages():
    with raises(UnsupportedError, match="pass storage=", path="nosuch://bucket/t") as caught:
        resolve("nosuch://key:secret@bucket/t?token=secret")
    assert "secret" not in str(caught.value)
    assert caught.value.__cause__ is None


def test_adapters_show_where_they_are(table):
    location, storage = table
    assert location in repr(storage)
    assert "secret" not in repr(storage)


def test_times_of_modification_are_known_or_none(table):
    location, storage = table
    for path in ("snapshot/snapshot-7", "snapshot"):
        time = storage.modified(f"{location}/{path}")
        assert time is None or time > 1_600_000_000_000


@pytest.mark.parametrize(
    ("location", "path", "inner"),
    [
        ("s3://bucket/t", "s3a://bucket/other/a%20b#c?d.avro", "bucket/other/a%20b#c?d.avro"),
        ("s3://bucket/t", "s3://elsewhere/x.avro", "elsewhere/x.avro"),
        ("gs://bucket/t", "gs://bucket/a//b", "bucket/a//b"),
        ("abfss://c@a.dfs.core.windows.net/t", "abfs://c@a.dfs.core.windows.net/x", "c/x"),
        ("hdfs://nn:8020/t", "/warehouse/x", "/warehouse/x"),
        ("hdfs://nn:8020/t", "hdfs://nn/warehouse/x", "/warehouse/x"),
        ("file:///t", "file:/warehouse/a%20b", "/warehouse/a%20b"),
        ("bucket/t", "s3://bucket/x", "bucket/x"),
        ("/mnt/t", "/mnt/u/x", "/mnt/u/x"),
    ],
)
def test_paths_that_metadata_names_in_full_reach_the_filesystem(location, path, inner):
    root = location.rpartition("//")[2]
    assert ArrowStorage(pafs.LocalFileSystem(), location, root)._inner(path) == inner


@pytest.mark.parametrize("path", ["file:/x", "/x", "gs://bucket/x"])
def test_paths_on_another_filesystem_are_refused(path):
    for storage in (
        ArrowStorage(pafs.LocalFileSystem(), "s3://bucket/t", "bucket/t"),
        FsspecStorage(fsspec.filesystem("memory"), "s3://bucket/t", "bucket/t"),
    ):
        with raises(UnsupportedError, match="relocate=", path=path):
            storage.read(path)


def test_fsspec_takes_the_other_schemes_of_its_family():
    storage = FsspecStorage(fsspec.filesystem("memory"), "memory://t", "/t")
    fsspec.filesystem("memory").pipe("/elsewhere/x", b"1")
    assert storage.read("memory://elsewhere/x") == b"1"


class Failing(LocalStorage):
    """A storage of the caller's own that raises on reading."""

    def __init__(self, raised: Exception) -> None:
        self.raised = raised

    def read(self, path: str, start: int | None = None, end: int | None = None) -> bytes:
        raise self.raised


def test_no_memory_for_what_a_storage_reads_is_a_limit_with_its_path():
    raised = MemoryError()
    with pytest.raises(LimitError, match="no memory for what the storage reads") as caught:
        lakebed.open_table("s3://b/t/metadata/v1.metadata.json", storage=Failing(raised))
    assert (caught.value.kind, caught.value.path) == ("limit", "s3://b/t/metadata/v1.metadata.json")
    assert caught.value.__cause__ is raised


def test_what_a_storage_raises_otherwise_comes_as_it_was():
    for raised in (OSError(5, "broken"), LocationError("elsewhere", kind="location"), RuntimeError("x")):
        with pytest.raises(type(raised)) as caught:
            lakebed.open_table("s3://b/t/metadata/v1.metadata.json", storage=Failing(raised))
        assert caught.value is raised


def test_an_object_without_bytes_has_no_range_and_is_read_all_the_same(tmp_path: Path):
    """Object stores answer with an error of their own where a range of nothing is asked for."""

    class Objects(fsspec.get_filesystem_class("memory")):  # type: ignore[misc]
        def cat_file(self, path, start=None, end=None, **options):
            if start is not None and self.size(path) <= start:
                raise OSError(22, "the requested range is not satisfiable")
            return super().cat_file(path, start, end, **options)

    objects = Objects()
    objects.pipe(f"{tmp_path}/empty", b"")
    objects.pipe(f"{tmp_path}/full", b"abc")
    _, storage = resolve(f"memory:/{tmp_path}", objects)
    assert storage is not None
    assert storage.read(f"memory:/{tmp_path}/empty", 0, 10) == b""
    assert storage.read(f"memory:/{tmp_path}/full", 0, 10) == b"abc"
    with pytest.raises(OSError, match="not satisfiable"):
        storage.read(f"memory:/{tmp_path}/full", 3, 10)
