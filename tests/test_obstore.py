"""Stores of obstore are storages as they are: which paths they open, and what of theirs reaches the user."""

from __future__ import annotations

import gc
import mmap
import os
import pickle
import weakref
from pathlib import Path
from typing import Any

import pyarrow.fs as pafs
import pytest
from counting_storage import CountingStorage
from interpreters import printed
from local_storage import put_files
from raising import raises

import lakebed
from lakebed.errors import LocationError, UnsupportedError
from lakebed.storage import ArrowStorage, FsspecStorage, ObstoreStorage, Storage, resolve
from shared_data import SAMPLE_ICEBERG_TABLE, SAMPLE_TABLE

fsspec = pytest.importorskip("fsspec")
obstore = pytest.importorskip("obstore.store")

AWS = {"region": "us-east-1", "access_key_id": "AKIDc4n4ry", "secret_access_key": "c4n4ry-secret"}
WRITTEN = "/tmp/lakebed/shop/orders"


def in_memory(root: Path, below: str = "") -> Any:
    """A store with the files of a folder."""
    store = obstore.MemoryStore()
    put_files(store.put, root, below)
    return store


def files(table: lakebed.Table) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = table.files().to_arrow().to_pylist()
    return rows


def local(root: Path) -> tuple[str, Any]:
    return str(root), obstore.LocalStore()


def local_uri(root: Path) -> tuple[str, Any]:
    return f"file://{root}", obstore.LocalStore()


def local_prefix(root: Path) -> tuple[str, Any]:
    return str(root), obstore.LocalStore(root.parent)


def local_key(root: Path) -> tuple[str, Any]:
    return root.name, obstore.LocalStore(root.parent)


def local_relative(root: Path) -> tuple[str, Any]:
    return str(root), obstore.LocalStore(os.path.relpath(root.parent))


def memory(root: Path) -> tuple[str, Any]:
    return "wh/db/t", in_memory(root, "wh/db/t/")


def memory_uri(root: Path) -> tuple[str, Any]:
    return "memory:///wh/db/t", in_memory(root, "wh/db/t/")


STORES = [local, local_uri, local_prefix, local_key, local_relative, memory, memory_uri]


@pytest.mark.parametrize("place", STORES)
def test_a_table_has_the_rows_of_the_local_one(place):
    location, store = place(SAMPLE_TABLE)
    found = lakebed.open_table(location, storage=store)
    expected = lakebed.open_table(SAMPLE_TABLE)
    names = ["bucket", "record_count", "partition"]
    assert found.files(columns=names).to_arrow() == expected.files(columns=names).to_arrow()
    assert found.snapshots().to_arrow().num_rows == expected.snapshots().to_arrow().num_rows


@pytest.mark.parametrize("place", STORES)
def test_an_iceberg_table_has_the_rows_of_the_local_one(place):
    location, store = place(SAMPLE_ICEBERG_TABLE)
    found = lakebed.open_table(location, storage=store, relocate={WRITTEN: location})
    local = lakebed.open_table(SAMPLE_ICEBERG_TABLE, relocate={WRITTEN: SAMPLE_ICEBERG_TABLE})
    assert files(found) == files(local)


def written(tmp_path: Path) -> tuple[str, Storage]:
    (tmp_path / "f").mkdir()
    (tmp_path / "f" / "ten").write_bytes(b"0123456789")
    (tmp_path / "f" / "none").write_bytes(b"")
    location, storage = resolve(*memory(tmp_path))
    assert isinstance(storage, Storage)
    return location, storage


def test_files_are_read_whole_or_in_part(tmp_path: Path):
    location, storage = written(tmp_path)
    path = f"{location}/f/ten"
    assert storage.read(path) == b"0123456789"
    assert storage.read(path, 2, 5) == b"234"
    assert storage.read(path, 7) == b"789"
    assert storage.read(path, 7, 99) == b"789"
    assert storage.read(path, None, 3) == b"012"
    assert storage.read(path, 10, 99) == storage.read(path, 3, 3) == storage.read(path, 12) == b""
    assert storage.read(f"{location}/f/none") == storage.read(f"{location}/f/none", 0, 9) == b""


def test_folders_are_listed_by_name(tmp_path: Path):
    location, storage = written(tmp_path)
    assert sorted(storage.list(f"{location}/f")) == ["none", "ten"]
    assert storage.list(location) == ["f"]
    assert storage.list(f"{location}/nothing") == []


def test_what_is_not_there_is_not_found_with_its_path(tmp_path: Path):
    location, storage = written(tmp_path)
    for end in (None, 9):
        with raises(FileNotFoundError, match="nothing", filename=f"{location}/nothing") as caught:
            storage.read(f"{location}/nothing", None, end)
        assert caught.value.__suppress_context__


def test_times_of_modification(tmp_path: Path):
    location, storage = written(tmp_path)
    assert storage.modified(f"{location}/f/ten") > 1_600_000_000_000  # type: ignore[attr-defined]
    assert storage.modified(f"{location}/f") is None  # type: ignore[attr-defined]


def s3(bucket: str = "bucket", **options: Any) -> Any:
    return obstore.S3Store(bucket, **AWS, **options)


AZURE = {"account_name": "account", "skip_signature": True}


@pytest.mark.parametrize(
    ("store", "location", "path", "key"),
    [
        (s3(), "s3://bucket/db/t", "s3://bucket/db/t/x", "db/t/x"),
        (s3(), "s3a://bucket/db/t", "s3://bucket/other/a%20b#c?d", "other/a%20b#c?d"),
        (s3(), "s3://bucket", "s3://bucket/t/x", "t/x"),
        (s3(prefix="wh/"), "s3://bucket/wh/db/t", "s3://bucket/wh/db/t/x", "db/t/x"),
        (s3(prefix="wh"), "s3://bucket/wh/db/t", "s3n://bucket/wh/data/x", "data/x"),
        (s3(prefix="wh"), "s3://bucket/wh", "s3://bucket/wh", ""),
        (s3(prefix="wh"), "db/t", "db/t/x", "db/t/x"),
        (s3(prefix="wh"), "db/t", "s3://bucket/wh/data/x", "data/x"),
        (obstore.GCSStore("b", skip_signature=True), "gs://b/t", "gcs://b/u/x", "u/x"),
        (obstore.AzureStore("c", **AZURE), "az://c/t", "abfss://c@account.dfs.core.windows.net/u", "u"),
        (obstore.AzureStore("c", **AZURE), "abfs://c@account.dfs.core.windows.net/t", "az://c/t/x", "t/x"),
        (obstore.HTTPStore("https://host/wh"), "https://host/wh/t", "https://host/wh/u/x", "u/x"),
        (obstore.LocalStore("/tmp"), "/tmp/t", "file:/tmp/u/x", "u/x"),
        (obstore.LocalStore(), "/wh/t", "/wh/u/x", "wh/u/x"),
    ],
)
def test_what_a_store_calls_paths(store, location, path, key):
    assert ObstoreStorage(store, location)._inner(path) == key


@pytest.mark.parametrize(
    ("store", "location"),
    [
        (s3(), "s3://bucket2/db/t"),
        (s3(), "gs://bucket/db/t"),
        (s3(), "https://bucket/db/t"),
        (s3(prefix="wh"), "s3://bucket/other/t"),
        (s3(prefix="wh"), "s3://bucket/wh2/t"),
        (obstore.AzureStore("c", **AZURE), "abfss://c@another.dfs.core.windows.net/t"),
        (obstore.AzureStore("c", **AZURE), "abfss://d@account.dfs.core.windows.net/t"),
        (obstore.HTTPStore("https://user:c4n4ry@host/wh?sig=c4n4ry"), "https://host/other/t"),
        (obstore.LocalStore("/tmp"), "/other/t"),
    ],
)
def test_a_store_of_another_place_is_refused(store, location):
    with pytest.raises(UnsupportedError, match="give the store of its bucket, or relocate=") as caught:
        lakebed.open_table(location, storage=store)
    assert caught.value.path == location
    assert "c4n4ry" not in str(caught.value)
    assert location in str(caught.value)


@pytest.mark.parametrize("path", ["s3://elsewhere/x", "s3://bucket/other/x"])
def test_metadata_that_leads_out_of_the_store_is_refused(path):
    with raises(UnsupportedError, match="relocate=", path=path):
        ObstoreStorage(s3(prefix="wh"), "s3://bucket/wh/t").read(path)


class Told:
    """A store of no server, which raises what obstore would."""

    prefix = None
    config = {"bucket": "bucket", "token": "c4n4ry-token"}  # noqa: RUF012 - as the library has it
    __module__ = "obstore.store"

    def __init__(self, error: Exception) -> None:
        self.error = error

    def get(self, path, options=None):
        raise self.error

    def head(self, path):
        raise self.error

    def get_range(self, path, *, start, end):
        raise self.error


S3Store = type("S3Store", (Told,), {"__module__": "obstore.store"})


@pytest.mark.parametrize(
    "name", ["GenericError", "PermissionDeniedError", "UnauthenticatedError", "NotFoundError"]
)
def test_what_a_store_raises_is_an_oserror_with_the_path_and_no_secret(name):
    import obstore.exceptions

    text = (
        "Server gave https://user:c4n4ry@host/x?sig=c4n4ry: 403: <?xml?><Error><Code>Denied</Code>"
        "<Header>c4n4ry</Header></Error>\n\nDebug source:\nc4n4ry"
    )
    error = getattr(obstore.exceptions, name)("token c4n4ry-token: " + text)
    storage = ObstoreStorage(S3Store(error), "s3://bucket/t")
    for range_ in ((), (0, 9)):
        with raises(OSError, match="403: Denied", filename="s3://bucket/t/x") as caught:
            storage.read("s3://bucket/t/x", *range_)
        assert isinstance(caught.value, FileNotFoundError) is (name == "NotFoundError")
        assert isinstance(caught.value, PermissionError) is name.endswith(("DeniedError", "catedError"))
        assert "c4n4ry" not in f"{caught.value} {caught.value!r} {caught.value.__cause__}"
        assert caught.value.__suppress_context__


def test_bytes_stay_where_obstore_keeps_them(tmp_path: Path):
    location, storage = written(tmp_path)
    read = storage.read(f"{location}/f/ten", 0, 9)
    assert isinstance(read, memoryview)
    assert type(read.obj).__module__ == "obstore"


class Buffers(CountingStorage):
    """A storage whose bytes are other objects than `bytes`."""

    def __init__(self, made: Any) -> None:
        super().__init__()
        self.made = made

    def read(self, path, start=None, end=None):
        return self.made(super().read(path, start, end))


def mapped(content: bytes) -> mmap.mmap:
    made = mmap.mmap(-1, len(content))
    made.write(content)
    return made


@pytest.mark.parametrize("made", [bytes, bytearray, memoryview, mapped, lambda content: content + b""])
def test_a_storage_may_give_any_buffer(made):
    table = lakebed.open_table(SAMPLE_TABLE, storage=Buffers(made))
    assert files(table) == files(lakebed.open_table(SAMPLE_TABLE))


@pytest.mark.parametrize("made", [str, lambda _: None, lambda _: 7])
def test_a_storage_that_gives_no_bytes_is_a_mistake(made):
    with pytest.raises(TypeError):
        lakebed.open_table(SAMPLE_TABLE, storage=Buffers(made))


def test_a_buffer_is_let_go_of_with_the_table():
    class Owner(bytearray):
        pass

    alive: list[weakref.ref[Owner]] = []

    def made(content: bytes) -> memoryview:
        owner = Owner(content)
        alive.append(weakref.ref(owner))
        return memoryview(owner).toreadonly()

    table = lakebed.open_table(SAMPLE_TABLE, storage=Buffers(made))
    table.files().to_arrow()
    del table
    gc.collect()
    assert alive
    assert [one for one in alive if one() is not None] == []


@pytest.mark.parametrize("name", ["obstore", "pyarrow", "fsspec"])
@pytest.mark.parametrize("form", ["{}", "file://{}"])
def test_a_library_is_picked_by_name(name, form, monkeypatch):
    location = form.format(SAMPLE_TABLE)
    kind = {"obstore": ObstoreStorage, "pyarrow": ArrowStorage, "fsspec": FsspecStorage}[name]
    assert isinstance(resolve(location, name)[1], kind)
    expected = lakebed.open_table(SAMPLE_TABLE)
    names = ["bucket", "record_count", "partition"]
    found = lakebed.open_table(location, storage=name)
    assert found.files(columns=names).to_arrow() == expected.files(columns=names).to_arrow()
    monkeypatch.chdir(SAMPLE_TABLE.parent)
    found = lakebed.open_table(SAMPLE_TABLE.name, storage=name)
    assert found.snapshots().to_arrow() == expected.snapshots().to_arrow()


@pytest.mark.parametrize("name", ["obstore", "pyarrow", "fsspec"])
def test_letters_of_paths_are_themselves(name, tmp_path: Path):
    folder = tmp_path / "a b%20c#d?é"
    folder.mkdir()
    (folder / "x%41").write_bytes(b"1")
    location, storage = resolve(folder, name)
    assert storage is not None
    assert storage.list(location) == ["x%41"]
    assert storage.read(f"{location}/x%41") == storage.read(f"{location}/x%41", 0, 2) == b"1"
    if name == "obstore":
        location, storage = resolve(folder.as_uri(), name)
        assert storage is not None
        assert storage.read(f"{location}/x%41") == b"1"


def test_names_of_no_library_are_refused():
    with pytest.raises(ValueError, match="'obstore', 'pyarrow', 'fsspec'"):
        lakebed.open_table("s3://bucket/t", storage="boto")


@pytest.mark.parametrize("name", ["obstore", "pyarrow", "fsspec"])
def test_a_library_that_cannot_says_why_without_secrets(name):
    with pytest.raises(UnsupportedError, match=f"{name}: ") as caught:
        resolve("nosuch://key:c4n4ry@bucket/t?token=c4n4ry", name)
    assert "c4n4ry" not in str(caught.value)


@pytest.mark.parametrize(
    ("uri", "kind", "key"),
    [
        ("s3n://bucket/t", obstore.S3Store, "t"),
        ("gcs://bucket/t", obstore.GCSStore, "t"),
        ("wasbs://c@account.blob.core.windows.net/t", obstore.AzureStore, "t"),
        ("abfss://c@account.dfs.core.windows.net/t", obstore.AzureStore, "t"),
        ("https://bucket.s3.eu-west-1.amazonaws.com/t", obstore.HTTPStore, "t"),
        ("https://account.blob.core.windows.net/c/t", obstore.HTTPStore, "c/t"),
        ("http://host:8080/t", obstore.HTTPStore, "t"),
    ],
)
def test_obstore_opens_every_scheme_of_a_family(uri, kind, key, monkeypatch):
    monkeypatch.setenv("AWS_REGION", "eu-west-1")
    location, storage = resolve(uri, "obstore")
    assert isinstance(storage, ObstoreStorage)
    assert (location, type(storage._filesystem)) == (uri, kind)
    assert storage._inner(f"{location}/x") == f"{key}/x"


def test_obstore_does_not_pass_over_options_in_a_uri():
    with pytest.raises(UnsupportedError, match="takes no options or credentials in a URI"):
        resolve("s3://bucket/t?region=eu-west-1", "obstore")


def test_a_pipe_is_refused(tmp_path: Path):
    (tmp_path / "metadata").mkdir()
    os.mkfifo(tmp_path / "metadata" / "v1.metadata.json")
    for location, store in (local(tmp_path), local_prefix(tmp_path)):
        with pytest.raises(LocationError, match="not a regular file"):
            lakebed.open_table(f"{location}/metadata/v1.metadata.json", storage=store)


@pytest.mark.parametrize(
    ("location", "storage"),
    [
        (SAMPLE_TABLE, pafs.LocalFileSystem()),
        (SAMPLE_TABLE, fsspec.filesystem("file")),
        (SAMPLE_TABLE, obstore.LocalStore(SAMPLE_TABLE.parent)),
        *((SAMPLE_TABLE, name) for name in ("obstore", "pyarrow", "fsspec")),
    ],
)
def test_storages_are_pickled_and_read_then(location, storage):
    where, adapter = resolve(location, storage)
    again = pickle.loads(pickle.dumps(adapter))
    assert (
        bytes(again.read(f"{where}/snapshot/LATEST")) == (SAMPLE_TABLE / "snapshot" / "LATEST").read_bytes()
    )
    assert lakebed.open_table(where, storage=again).snapshot_id == 10


@pytest.mark.parametrize("storage", [None, CountingStorage()])
def test_reads_at_once_may_be_said_for_any_storage(storage):
    table = lakebed.open_table(SAMPLE_TABLE, storage=storage, concurrent_reads=3)
    assert files(table) == files(lakebed.open_table(SAMPLE_TABLE))
    with pytest.raises(ValueError, match="concurrent_reads must be at least 1"):
        lakebed.open_table(SAMPLE_TABLE, storage=storage, concurrent_reads=0)


@pytest.mark.parametrize(("own", "said", "most"), [(2, 5, 5), (None, 3, 3), (6, 1, 1), (4, None, 4)])
def test_no_more_reads_are_in_flight_than_was_said(own, said, most):
    storage = CountingStorage(0.02, own)
    table = lakebed.open_table(SAMPLE_TABLE, storage=storage, concurrent_reads=said)
    storage.forget()
    table.files().to_arrow()
    table.at(snapshot=9).snapshots().to_arrow()
    assert 1 <= storage.most_at_once <= most
    assert said is None or storage.most_at_once == most


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_forked_process_gets_an_error_and_does_not_hang():
    code = f"""
import os, lakebed
table = lakebed.open_table({str(SAMPLE_TABLE)!r}, storage="obstore")
if (child := os.fork()) == 0:
    try:
        table.files().to_arrow()
    except OSError as error:
        os._exit(7 if "forked" in error.strerror and error.filename else 8)
    os._exit(9)
print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), table.files().to_arrow().num_rows)
"""
    assert printed("-c", code, timeout=60).split()[0] == "7"
