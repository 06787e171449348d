"""Tables of both formats on a server that speaks S3, through each library: the rows of the local tables."""

from __future__ import annotations

import pickle
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from file_rows import file_rows
from object_store import BUCKET, LIBRARIES, client, proxy, server, upload, variables

import lakebed
from lakebed.storage import ArrowStorage, FsspecStorage, ObstoreStorage, resolve
from shared_data import SAMPLE_ICEBERG_TABLE, SAMPLE_MOVED, SAMPLE_TABLE, sample_of

pytest.importorskip("obstore")
pytest.importorskip("s3fs")

WRITTEN = next(iter(SAMPLE_MOVED))
PAIMON, ICEBERG = f"s3://{BUCKET}/wh/shop.db/orders", f"s3://{BUCKET}/ice/orders"
KINDS = {"obstore": ObstoreStorage, "pyarrow": ArrowStorage, "fsspec": FsspecStorage}


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    with server() as address:
        for folder, uri in ((SAMPLE_TABLE, PAIMON), (SAMPLE_ICEBERG_TABLE, ICEBERG)):
            upload(address, folder, uri.removeprefix(f"s3://{BUCKET}/"))
        yield address


@pytest.fixture
def environment(address: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """What SDKs of AWS are told there."""
    # s3fs keeps clients of other tests, which looked for credentials when there were none.
    pytest.importorskip("s3fs").S3FileSystem.clear_instance_cache()
    for name, value in variables(address).items():
        monkeypatch.setenv(name, value)


def opened(format_name: str, storage: Any, **options: Any) -> lakebed.Table:
    if format_name == "paimon":
        return lakebed.open_table(PAIMON, storage=storage, **options)
    return lakebed.open_table(ICEBERG, storage=storage, relocate={WRITTEN: ICEBERG}, **options)


def rows(table: lakebed.Table) -> dict[str, str]:
    """Rows of views, whose paths tell where the table is."""
    views = {
        "files": table.files(stats=["amount"]),
        "plan": table.plan(where="region = 'emea'"),
        "deletes": table.deletes(),
        "partitions": table.partitions(),
        "snapshots": table.snapshots(),
        "refs": table.refs(),
        "schemas": table.schemas(),
        "manifests": table.manifests(),
        "diff": table.diff(*table.snapshots().to_arrow().column("snapshot_id").to_pylist()[:2]),
    }
    found = {}
    for name, view in views.items():
        text = repr(view.to_arrow().to_pylist())
        for prefix in (PAIMON, str(SAMPLE_TABLE)):
            text = text.replace(prefix, "…")
        found[name] = text
    return found


@pytest.mark.parametrize("format_name", ["paimon", "iceberg"])
@pytest.mark.parametrize("library", LIBRARIES)
def test_a_table_has_the_rows_of_the_local_one(address: str, library: str, format_name: str) -> None:
    assert rows(opened(format_name, client(library, address))) == rows(sample_of(format_name))


@pytest.mark.usefixtures("environment")
@pytest.mark.parametrize("format_name", ["paimon", "iceberg"])
@pytest.mark.parametrize("library", [*LIBRARIES, None])
def test_a_uri_takes_what_the_environment_says(library: str | None, format_name: str) -> None:
    assert (
        opened(format_name, library).files().to_arrow().num_rows
        == sample_of(format_name).files().to_arrow().num_rows
    )
    if library is not None:
        assert isinstance(resolve(PAIMON, library)[1], KINDS[library])


@pytest.mark.parametrize("library", LIBRARIES)
def test_reads_are_pickled_with_their_storage(address: str, library: str) -> None:
    location, storage = resolve(PAIMON, client(library, address))
    again = pickle.loads(pickle.dumps(storage))
    assert (
        bytes(again.read(f"{location}/snapshot/LATEST"))
        == (SAMPLE_TABLE / "snapshot" / "LATEST").read_bytes()
    )
    assert lakebed.open_table(location, storage=again).snapshot_id == 10


@pytest.mark.parametrize("library", LIBRARIES)
def test_ranges_folders_and_times(address: str, library: str) -> None:
    location, storage = resolve(PAIMON, client(library, address))
    assert storage is not None
    path, whole = f"{location}/snapshot/snapshot-1", (SAMPLE_TABLE / "snapshot" / "snapshot-1").read_bytes()
    for start, end in ((None, None), (0, 10), (5, 9), (7, None), (0, len(whole) + 1), (len(whole) - 1, 9999)):
        assert bytes(storage.read(path, start, end)) == whole[start:end]
    assert sorted(storage.list(f"{location}/snapshot")) == sorted(
        p.name for p in (SAMPLE_TABLE / "snapshot").iterdir()
    )
    assert sorted(storage.list(location)) == sorted(p.name for p in SAMPLE_TABLE.iterdir())
    assert storage.modified(path) > 1_600_000_000_000  # type: ignore[attr-defined]
    with pytest.raises(FileNotFoundError) as caught:
        storage.read(f"{location}/nothing")
    assert f"{location}/nothing" in str(caught.value)


@pytest.mark.parametrize("library", LIBRARIES)
def test_a_table_that_is_not_there(address: str, library: str) -> None:
    nowhere = f"s3://{BUCKET}/nowhere/t"
    with pytest.raises(lakebed.errors.TableNotFoundError) as caught:
        lakebed.open_table(nowhere, storage=client(library, address))
    assert nowhere in str(caught.value)


@pytest.mark.parametrize("library", LIBRARIES)
def test_no_more_reads_are_in_flight_than_was_said(address: str, library: str) -> None:
    with proxy(address, delay=0.05) as (before, counted):
        table = opened("iceberg", client(library, before), concurrent_reads=3)
        counted.forget()
        table.files().to_arrow()
        assert counted.most_at_once <= 3
        objects = {asked.path for asked in counted.asked}
        assert len(objects) == 11


@pytest.mark.parametrize(("library", "most"), [("obstore", 1), ("pyarrow", 2), ("fsspec", 1)])
@pytest.mark.parametrize("format_name", ["paimon", "iceberg"])
def test_requests_of_a_file(address: str, library: str, most: int, format_name: str) -> None:
    with proxy(address) as (before, counted):
        table = opened(format_name, client(library, before))
        counted.forget()
        table.plan().to_arrow()
        assert len(counted.asked) == most * len({asked.path for asked in counted.asked})


@pytest.mark.parametrize("library", LIBRARIES)
def test_single_files_are_read(address: str, library: str) -> None:
    storage = client(library, address)
    snapshot = lakebed.paimon.read_snapshot(f"{PAIMON}/snapshot/snapshot-1", storage=storage)
    assert snapshot == lakebed.paimon.read_snapshot(SAMPLE_TABLE / "snapshot" / "snapshot-1")
    name = min((SAMPLE_ICEBERG_TABLE / "metadata").glob("snap-*")).name
    found = lakebed.iceberg.read_manifest_list(f"{ICEBERG}/metadata/{name}", storage=storage).to_arrow()
    assert found == lakebed.iceberg.read_manifest_list(SAMPLE_ICEBERG_TABLE / "metadata" / name).to_arrow()


@pytest.mark.usefixtures("environment")
def test_metadata_is_written_anew_to_a_store(address: str, tmp_path: Path):
    table = lakebed.create_table(tmp_path / "t", pa.schema([("id", pa.int64())]), "iceberg")
    table = table.append_files(file_rows("data/a.parquet"))
    new = f"s3://{BUCKET}/moved/t"
    prefixes = {str(tmp_path / "t"): new}
    copied = lakebed.rewrite_paths(table, prefixes, to=new).to_arrow().to_pylist()
    # Metadata is where it is to be; no row is left but of the data.
    assert [(row["kind"], row["target"]) for row in copied] == [("data", f"{new}/data/a.parquet")]
    after = lakebed.open_table(new, storage="obstore")
    assert after.snapshot_id == table.snapshot_id
    assert after.files().to_arrow()["file_path"].to_pylist() == [f"{new}/data/a.parquet"]
    table = table.append_files(file_rows("data/b.parquet"))
    with pytest.raises(OSError, match="already"):
        lakebed.rewrite_paths(table, prefixes, to=new)
    # What was there is as it was, though the second copy has gone.
    assert after.refresh().snapshot_id == after.snapshot_id
    assert not [row for row in after.verify().to_arrow().to_pylist() if row["severity"] == "error"]
    for library in ("pyarrow", "fsspec"):
        with pytest.raises(lakebed.errors.UnsupportedError, match="read-only"):
            lakebed.rewrite_paths(table, prefixes, to=f"s3://{BUCKET}/refused", storage=library)
    listed = client("obstore", address).list("refused/").collect()
    assert not listed
