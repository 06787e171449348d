"""How `describe_files` reads: through every storage, few requests a file, many files at once."""

from __future__ import annotations

import threading
import time
from pathlib import Path

import pyarrow as pa
import pyarrow.fs
import pyarrow.orc as orc
import pyarrow.parquet as pq
import pytest
from counting_storage import CountingStorage
from local_storage import LocalStorage
from raising import raises

import lakebed
from lakebed.errors import CorruptError, UnsupportedError

ROWS = pa.table({"id": pa.array([1, 2], pa.int64()), "text": ["a", None]})
WIDE = pa.table({f"column {number:04}": ["x" * 40, "y" * 40] for number in range(600)})


class SizedStorage(CountingStorage):
    """One that knows sizes, which takes a request."""

    sizes = 0

    def size(self, path: str) -> int | None:
        self.sizes += 1
        place = self.place(path)
        return place.stat().st_size if place.is_file() else None


def written(folder: Path, count: int, rows: pa.Table = ROWS) -> list[str]:
    folder.mkdir(parents=True, exist_ok=True)
    paths = [str(folder / f"{number:05}.parquet") for number in range(count)]
    for path in paths:
        pq.write_table(rows, path)
    return paths


def test_most_files_take_one_read_of_their_end(tmp_path: Path):
    paths = written(tmp_path, 3, pa.table({"id": range(100_000)}))
    size = Path(paths[0]).stat().st_size
    assert size > 64 << 10
    storage = SizedStorage()
    lakebed.describe_files(paths, storage=storage)
    assert sorted(storage.reads) == [(path, size - (64 << 10), size) for path in paths]
    assert storage.sizes == 3
    # Where sizes are known, nobody asks for them.
    inventory = pa.table({"file_path": paths, "size": [size] * 3})
    lakebed.describe_files(inventory, storage=storage)
    assert (len(storage.reads), storage.sizes) == (6, 3)


@pytest.mark.parametrize("write", [pq.write_table, orc.write_table])
def test_a_longer_footer_takes_a_second(tmp_path: Path, write):
    path = tmp_path / "wide"
    write(WIDE, path)
    storage = SizedStorage()
    rows = lakebed.describe_files([path], storage=storage)
    (_, (_, start, end)) = storage.reads
    assert len(storage.reads) == 2
    assert end == path.stat().st_size
    assert start is not None
    assert end is not None
    assert end - start > 64 << 10
    assert rows["stats"].type.num_fields == 600


def test_a_storage_that_knows_no_sizes_reads_whole_files(tmp_path: Path):
    (path,) = written(tmp_path, 1)
    storage = CountingStorage()
    assert lakebed.describe_files([path], storage=storage)["record_count"].to_pylist() == [2]
    assert storage.reads == [(path, None, None)]
    with raises(UnsupportedError, "lists no folders", path=str(tmp_path)):
        lakebed.describe_files(tmp_path, storage=storage)


@pytest.mark.parametrize("size", [10, 400, 10**6])
def test_sizes_that_are_wrong_are_an_error(tmp_path: Path, size: int):
    (path,) = written(tmp_path, 1)
    inventory = pa.table({"file_path": [path], "file_size_in_bytes": [size]})
    with raises((CorruptError, UnsupportedError), path=path):
        lakebed.describe_files(inventory)


def test_many_files_are_read_at_once_and_no_thread_is_left(tmp_path: Path):
    paths = written(tmp_path, 640)
    storage, before = SizedStorage(seconds=0.03, concurrent_reads=64), threading.active_count()
    began = time.monotonic()
    rows = lakebed.describe_files(paths, storage=storage)
    took = time.monotonic() - began
    assert rows["file_path"].to_pylist() == paths
    assert storage.most_at_once > 32
    # One after the other they would take 19 seconds.
    assert took < 6
    assert threading.active_count() == before
    with pytest.raises(FileNotFoundError):
        lakebed.describe_files([*paths[:100], "absent", *paths[100:]], storage=storage)
    assert threading.active_count() == before


def test_storages_of_libraries(tmp_path: Path):
    paths = written(tmp_path / "x" / "deep", 3)
    expected = lakebed.describe_files(paths).drop(["file_path"]).to_pylist()

    fsspec = pytest.importorskip("fsspec")
    memory = fsspec.filesystem("memory")
    for path in paths:
        memory.pipe(f"/bucket/x/deep/{Path(path).name}", Path(path).read_bytes())
    found = [lakebed.describe_files("memory://bucket/x", storage=memory)]
    subtree = pa.fs.SubTreeFileSystem(str(tmp_path), pa.fs.LocalFileSystem())
    found.append(lakebed.describe_files("x", storage=subtree))
    obstore = pytest.importorskip("obstore")
    store = obstore.store.MemoryStore()
    for path in paths:
        store.put(f"x/deep/{Path(path).name}", Path(path).read_bytes())
    found.append(lakebed.describe_files("memory:///x", storage=store))
    for one in (
        lakebed.describe_files("memory://bucket/x/deep/00000.parquet", storage=memory),
        lakebed.describe_files("memory:///x/deep/00000.parquet", storage=store),
        lakebed.describe_files(paths[0]),
    ):
        assert one.drop(["file_path"]).to_pylist() == expected[:1]
    found += [lakebed.describe_files(f"file://{tmp_path}/x"), lakebed.describe_files(tmp_path / "x")]
    for rows in found:
        assert rows.drop(["file_path"]).to_pylist() == expected
        assert all(path.endswith(".parquet") for path in rows["file_path"].to_pylist())


def test_a_table_reads_through_its_own_storage(tmp_path: Path):
    class Elsewhere(SizedStorage):
        """Paths that only it knows."""

        def place(self, path: str) -> Path:
            return tmp_path / path.removeprefix("far://")

    written(tmp_path / "bucket" / "x", 1)
    lakebed.create_table(tmp_path / "bucket" / "t", ROWS.schema, "iceberg")
    storage = Elsewhere()
    table = lakebed.open_table("far://bucket/t", storage=storage)
    storage.forget()
    (row,) = lakebed.describe_files(["far://bucket/x/00000.parquet"], table).to_pylist()
    assert (row["file_path"], row["record_count"]) == ("far://bucket/x/00000.parquet", 2)
    assert storage.sizes == 1
    # Nothing of the table is read again.
    assert [path for path, _, _ in storage.reads] == ["far://bucket/x/00000.parquet"]


def test_avro_is_read_piece_by_piece(tmp_path: Path):
    rows = pa.table({"text": ["x" * 1000] * 20_000})
    path = tmp_path / "a.avro"
    lakebed.avro.write(rows, path, codec="null")
    storage = SizedStorage()
    assert lakebed.describe_files([path], storage=storage)["record_count"].to_pylist() == [20_000]
    most = max((end or 0) - (start or 0) for _, start, end in storage.reads)
    assert most <= 4 << 20
    assert isinstance(storage, LocalStorage)
