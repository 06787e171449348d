"""Paimon's commits on object stores: whoever puts the next snapshot first has made it; nobody replaces it."""

from __future__ import annotations

import random
import re
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from object_store import BUCKET, MINIO, Answer, Asked, client, proxy, server
from paimon_commits import FIRST, SCHEMA, SECOND, every_commit_on_a_server, files, folder, names
from trust import long_or
from writers import Writer, killed, left, race

import lakebed
from lakebed import CommitOptions, Table
from lakebed.errors import LakebedError, UnsupportedError, is_retryable

obstore = pytest.importorskip("obstore.store")
pytest.importorskip("s3fs")

LOCATION = "memory:///wh/shop.db/orders"


class Store(lakebed.storage.ObstoreStorage):
    """A store whose `publish` of some files is broken in some way."""

    def __init__(self, breaks: str = "", of: str = "/snapshot-") -> None:
        super().__init__(obstore.MemoryStore(), LOCATION)
        self.breaks, self.of = breaks, of

    def publish(self, path: str, data: bytes, replace: bool) -> None:
        breaks = self.breaks if self.of in path else ""
        if breaks == "a request that never comes":
            raise TimeoutError(110, "no answer", path)
        super().publish(path, data, replace or self.breaks == "ignores the condition")
        if breaks == "an answer that is lost":
            raise ConnectionResetError(104, "connection reset", path)
        if breaks == "asked twice by its client":
            raise FileExistsError(17, "the name is taken", path)

    def paths(self, prefix: str = "") -> list[str]:
        found = obstore_listed(self._filesystem)
        return sorted(path for path in found if prefix in path)


def obstore_listed(store: Any) -> list[str]:
    return [file["path"] for batch in store.list() for file in batch]


def created(storage: Any, location: str = LOCATION) -> Table:
    return lakebed.create_table(location, SCHEMA, "paimon", partition_by=["day"], storage=storage)


def test_every_commit_is_made_as_on_a_local_disk(tmp_path: Path) -> None:
    store = Store()
    tables = [created(store), lakebed.create_table(tmp_path / "t", SCHEMA, "paimon", partition_by=["day"])]
    seen = []
    for table in tables:
        table = table.append_files(files(FIRST, "a", "b"), options=CommitOptions(user="me", identifier=1))
        second = CommitOptions(user="me", identifier=2)
        table = table.append_files(files(SECOND, "c"), options=second)
        assert table.append_files(files(SECOND, "c"), options=second).snapshot_id == 2
        table = table.delete_files([f"{folder(FIRST)}/a"])
        tagged = table.create_tag("before")
        with pytest.raises(FileExistsError):
            table.create_tag("before")
        table = table.overwrite_partitions(files(FIRST, "d", rows=3), {"day": FIRST})
        table = table.rewrite_manifests(sort=True)
        columns = ["snapshot_id", "operation", "total_record_count", "delta_record_count"]
        seen.append((names(tagged), names(table), table.snapshots(columns=columns).to_arrow().to_pylist()))
    assert seen[0] == seen[1]
    with pytest.raises(FileExistsError):
        created(store)
    local = {str(file.relative_to(tmp_path / "t")) for file in (tmp_path / "t").rglob("*") if file.is_file()}
    stored = {path.split("orders/", 1)[1] for path in store.paths()}

    def kinds(paths: set[str]) -> list[str]:
        return sorted(re.sub(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", "UUID", path) for path in paths)

    assert kinds(stored) == kinds(local)
    opened = lakebed.open_table(LOCATION, storage=store)
    assert names(opened) == seen[0][1]
    assert names(opened.at(tag="before")) == seen[0][0]


def test_a_store_that_passes_over_the_condition_is_found_out_before_a_commit_is_made() -> None:
    store = Store()
    table = created(store).append_files(files(FIRST, "a"))
    before = store.paths()
    store.breaks = "ignores the condition"
    with pytest.raises(UnsupportedError, match="two writers would lose commits") as caught:
        table.append_files(files(FIRST, "b"))
    assert "/manifest/" in (caught.value.path or "")
    assert store.paths() == before
    assert names(lakebed.open_table(LOCATION, storage=store)) == ["a"]


@pytest.mark.parametrize("breaks", ["an answer that is lost", "asked twice by its client"])
def test_a_commit_whose_answer_is_lost_is_made(breaks: str) -> None:
    store = Store()
    table = created(store)
    store.breaks = breaks
    for number, name in enumerate("abc", 1):
        table = table.append_files(files(FIRST, name))
        assert table.snapshot_id == number
    assert names(table) == ["a", "b", "c"]
    assert len(store.paths("snapshot-")) == 3


@pytest.mark.parametrize("breaks", ["an answer that is lost", "asked twice by its client"])
def test_a_table_and_a_tag_whose_answers_are_lost_are_made(breaks: str) -> None:
    store = Store(breaks, of="/schema-")
    table = created(store).append_files(files(FIRST, "a"))
    store.of = "/tag-"
    assert names(table.create_tag("now")) == ["a"]
    # What was there before is another's, with the same bytes too.
    with pytest.raises(FileExistsError):
        table.create_tag("now")
    store.of = "/schema-"
    with pytest.raises(FileExistsError):
        created(store)


def test_what_a_commit_wrote_stays_where_the_store_does_not_say_whether_it_was_made() -> None:
    store = Store()
    table = created(store)
    store.breaks = "a request that never comes"
    with pytest.raises(TimeoutError, match="snapshot-1") as caught:
        table.append_files(files(FIRST, "a"))
    # Though nobody has answered in time.
    assert not is_retryable(caught.value)
    assert store.paths("snapshot-") == []
    assert len(store.paths("/manifest/")) == 3, "a server may still do what its client has given up on"
    store.breaks = ""
    assert names(table.append_files(files(FIRST, "a"))) == ["a"]


def test_writers_in_one_process_lose_nothing() -> None:
    store = Store()
    commits = long_or(10, 50)
    created(store)
    failed = []

    def write(writer: str) -> None:
        try:
            table = lakebed.open_table(LOCATION, storage=store)
            for number in range(commits):
                table = table.append_files(files(FIRST, f"{writer}-{number}"))
        except (LakebedError, OSError) as error:
            failed.append(error)

    with ThreadPoolExecutor(2) as threads:
        list(threads.map(write, "ab"))
    assert failed == []
    table = lakebed.open_table(LOCATION, storage=store)
    assert names(table) == sorted(f"{writer}-{number}" for writer in "ab" for number in range(commits))
    assert table.snapshot_id == 2 * commits
    # What lost is removed.
    assert len(store.paths("/manifest/")) == 3 * 2 * commits


@pytest.mark.parametrize("library", ["pyarrow", "fsspec"])
def test_storages_without_a_conditional_put_are_refused_with_what_to_do(library: str, tmp_path: Path) -> None:
    lakebed.create_table(tmp_path / "t", SCHEMA, "paimon", partition_by=["day"]).append_files(
        files(FIRST, "a")
    )
    table = lakebed.open_table(tmp_path / "t", storage=library)
    for refused in (
        lambda: table.append_files(files(FIRST, "b")),
        lambda: table.create_tag("now"),
        lambda: lakebed.create_table(tmp_path / "u", SCHEMA, "paimon", storage=library),
    ):
        with pytest.raises(UnsupportedError, match='storage="obstore"'):
            refused()
    assert not (tmp_path / "u").exists()


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    with server() as address:
        yield address


def test_commits_through_a_server_of_s3(address: str, tmp_path: Path) -> None:
    with proxy(address) as (before, counted):
        store = client("obstore", before)
        uri = f"s3://{BUCKET}/one/shop.db/orders"
        table = created(store, uri)
        for name in "ab":
            table = table.append_files(files(FIRST, name))
        counted.forget()
        table = table.append_files(files(FIRST, "c"))
        puts = [asked.path.rpartition("/")[2] for asked in counted.asked if asked.method == "PUT"]
    # A manifest, two lists, the question whether the server knows conditions, the snapshot, and the hint.
    assert len(puts) == 6, puts
    assert puts[-2:] == ["snapshot-3", "LATEST"]
    assert puts[3] == puts[0]
    download(client("obstore", address), "one/", tmp_path)
    assert names(lakebed.open_table(tmp_path / "shop.db/orders")) == ["a", "b", "c"]
    pypaimon = pytest.importorskip("pypaimon")
    peer = pypaimon.CatalogFactory.create({"warehouse": str(tmp_path)}).get_table("shop.orders")
    splits = peer.new_read_builder().new_scan().plan().splits()
    assert sorted(file.file_name for split in splits for file in split.files) == ["a", "b", "c"]


def test_a_store_whose_conditional_put_is_off_is_refused(address: str) -> None:
    uri = f"s3://{BUCKET}/off/orders"
    table = created(client("obstore", address), uri)
    off = obstore.S3Store.from_url(f"s3://{BUCKET}", **off_configuration(address))
    with pytest.raises(UnsupportedError, match="conditional put"):
        lakebed.open_table(uri, storage=off).append_files(files(FIRST, "a"))
    assert table.refresh().snapshot_id is None
    assert [path for path in obstore_listed(off) if path.startswith("off/orders/manifest")] == []


def test_a_server_without_conditional_puts_is_refused_with_what_to_do(address: str) -> None:
    def breaks(asked: Asked, answer: Answer, headers: dict[str, str]) -> Answer:
        if "if-none-match" in (name.lower() for name in headers):
            return Answer(501, {}, b"<Error><Code>NotImplemented</Code></Error>")
        return answer

    uri = f"s3://{BUCKET}/without/orders"
    created(client("obstore", address), uri)
    with proxy(address) as (before, broken):
        table = lakebed.open_table(uri, storage=client("obstore", before))
        broken.breaks = breaks
        with pytest.raises(UnsupportedError, match="commit through a catalog") as caught:
            table.append_files(files(FIRST, "a"))
        assert (caught.value.path or "").startswith(f"{uri}/manifest/")
    left_behind = [path for path in obstore_listed(client("obstore", address)) if "without/orders/" in path]
    assert left_behind == ["without/orders/schema/schema-0"]


def off_configuration(address: str) -> dict[str, Any]:
    made = client("obstore", address)
    return {
        "config": {**made.config, "conditional_put": "disabled"},
        "client_options": made.client_options,
        "retry_config": made.retry_config,
    }


@pytest.mark.skipif(
    not MINIO, reason="moto does not decide in one step whose put came first: make test-servers"
)
def test_writers_on_a_server_lose_nothing(address: str) -> None:
    commits, uri = 50, f"s3://{BUCKET}/race/t"
    table = lakebed.create_table(
        uri, pa.schema([("id", pa.int64())]), "paimon", storage=client("obstore", address)
    )
    race(
        *(Writer(every_commit_on_a_server, address, uri, name, commits) for name in ("a", "b")),
        commits=commits,
    )
    table = table.refresh()
    assert set(names(table)) == {*left("a", commits), *left("b", commits)}
    kinds = [row["operation"] for row in table.snapshots().to_arrow().to_pylist()]
    assert kinds.count("APPEND") == 2 * commits


@pytest.mark.skipif(
    not MINIO, reason="moto does not decide in one step whose put came first: make test-servers"
)
def test_a_killed_writer_leaves_nothing_half_done_on_a_server(address: str) -> None:
    uri = f"s3://{BUCKET}/kill/t"
    table = lakebed.create_table(
        uri, pa.schema([("id", pa.int64())]), "paimon", storage=client("obstore", address)
    )
    chance = random.Random(7)
    acknowledged: set[str] = set()
    for kill in range(long_or(6, 200)):
        done = killed(Writer(every_commit_on_a_server, address, uri, str(kill), 1000), chance, 0.5)
        acknowledged |= set(left(str(kill), done))
        table = table.refresh()
        assert acknowledged <= set(names(table))
    for snapshot in table.snapshots(columns=["snapshot_id"]).to_arrow()["snapshot_id"].to_pylist():
        names(table.at(snapshot=snapshot))


def download(store: Any, prefix: str, folder: Path) -> None:
    for path in obstore_listed(store):
        if path.startswith(prefix):
            file = folder / path.removeprefix(prefix)
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(bytes(store.get(path).bytes()))
