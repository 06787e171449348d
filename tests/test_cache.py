"""With a cache of manifests tables say the same, and storages are asked for what the cache lacks alone."""

from __future__ import annotations

import contextlib
import os
import pickle
import random
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow.fs as pafs
import pytest
from counting_storage import CountingStorage
from small_tables import ROWS, data, either, iceberg, manifests_of
from trust import long_or

import lakebed
from iceberg_golden import each_golden_iceberg_table
from lakebed.errors import LakebedError, LocationError, MissingFileError
from lakebed.storage.identity import identity_of
from shared_data import SAMPLE_ICEBERG_TABLE, SAMPLE_MOVED, SAMPLE_TABLE, each_golden_paimon_table

pytestmark = pytest.mark.filterwarnings("ignore::lakebed.errors.LakebedWarning")

VIEWS: tuple[tuple[str, dict[str, Any]], ...] = (
    ("entries", {}),
    ("files", {}),
    ("files", {"columns": ["file_path"]}),
    ("files", {"limit": 1}),
    ("plan", {}),
    ("plan", {"columns": ["file_path", "record_count"]}),
    ("deletes", {}),
    ("partitions", {}),
    ("buckets", {}),
    ("columns", {}),
    ("file_history", {}),
)


def answers(table: lakebed.Table) -> Iterator[tuple[str, Any]]:
    """What the views say, or which error they raise."""
    stated = [name for name in table.schema.names[:3] if name]
    filtered = [
        (view, {**extra, "where": f"`{name}` {test}"})
        for name in stated
        for test in ("IS NOT NULL", "= 1")
        for view, extra in (("plan", {}), ("files", {"stats": [name]}))
    ]
    for view, keywords in (*VIEWS, *filtered):
        try:
            found = getattr(table, view)(**keywords).to_arrow()
            # Equal, NaN too.
            rows: Any = (found.schema, repr(found.to_pylist()))
        except LakebedError as error:
            rows = (type(error), error.kind)
        yield f"{view} {keywords}", rows


def check_cached(opened: Any, folder: Path) -> None:
    """Compares a table without a cache, and with one that is empty, full, and full on disk alone."""
    wanted = dict(answers(opened(None)))
    both = lakebed.Cache(memory_bytes=1 << 28, folder=folder)
    on_disk = lakebed.Cache(memory_bytes=0, folder=folder)
    for name, cache in (("empty", both), ("full", both), ("on disk", on_disk)):
        for view, rows in answers(opened(cache)):
            assert rows == wanted[view], f"{view} by a cache that is {name}"
    kept, found = both.stats(), on_disk.stats()
    assert bool(kept["memory_hits"]) == bool(found["disk_hits"]) == bool(kept["disk_bytes"])
    assert (found["damaged"], found["failed_writes"], found["memory_bytes"]) == (0, 0, 0)


@each_golden_paimon_table()
def test_views_of_paimon_tables_say_the_same(table, tmp_path):
    check_cached(lambda cache: lakebed.open_table(table.path, cache=cache), tmp_path / "cache")


@each_golden_iceberg_table()
def test_views_of_iceberg_tables_say_the_same(table, tmp_path):
    def opened(cache: lakebed.Cache | None) -> lakebed.Table:
        keys = None if table.keys is None else table.keys.unwrap
        return lakebed.open_table(table.path, relocate=table.relocate, keys=keys, cache=cache)

    check_cached(opened, tmp_path / "cache")


@pytest.fixture(params=["paimon", "iceberg"])
def made(request, tmp_path) -> lakebed.Table:
    """A small table of some manifests."""
    return either(request.param, tmp_path / "table", *"abc")


def opened(table: lakebed.Table, cache: lakebed.Cache | None, storage: Any = None) -> lakebed.Table:
    return lakebed.open_table(table.location, cache=cache, storage=storage)


def test_what_is_kept_needs_no_file(made, tmp_path):
    wanted = made.plan().to_arrow()
    cache = lakebed.Cache(folder=tmp_path / "cache")
    assert opened(made, cache).plan().to_arrow() == wanted
    for manifest in manifests_of(made):
        manifest.unlink()
    for warm in (cache, lakebed.Cache(folder=tmp_path / "cache")):
        table = opened(made, warm)
        assert table.plan().to_arrow() == wanted
        # What asks whether files are there is told.
        assert "missing" in str(table.verify().to_arrow()["kind"].to_pylist())
        columns = ["file_path", "kind", "problem"]
        told = lakebed.open_table(made.location).repair_plan(columns=columns).to_arrow()
        assert table.repair_plan(columns=columns).to_arrow() == told
    with pytest.raises(MissingFileError):
        opened(made, lakebed.Cache()).plan().to_arrow()


def test_a_refreshed_table_asks_for_what_is_new_alone(made):
    storage = CountingStorage()
    table = opened(made, lakebed.Cache(), storage)
    table.plan().to_arrow()
    before = {path.name for path in manifests_of(made)}
    is_paimon = made.format == "paimon"
    file = data(Path(made.location), f"{'bucket-0' if is_paimon else 'data'}/d.parquet")
    bucket: dict[str, Any] = {"columns": {"bucket": 0}} if is_paimon else {}
    made.append_files(lakebed.describe_file(made, file, ROWS, **bucket))
    storage.forget()
    table = table.refresh()
    assert table.plan().to_arrow() == lakebed.open_table(made.location).plan().to_arrow()
    asked = set(storage.manifests()) & {path.name for path in manifests_of(made)}
    assert asked
    assert not asked & before


def test_a_scan_that_stops_early_keeps_nothing_wrong(made):
    cache = lakebed.Cache()
    table = opened(made, cache)
    assert len(table.entries(limit=1).to_arrow()) == 1
    assert table.entries().to_arrow() == made.entries().to_arrow()


def test_what_needs_more_than_its_share_is_not_kept(made, tmp_path):
    cache = lakebed.Cache(memory_bytes=1024)
    for _ in range(2):
        assert opened(made, cache).plan().to_arrow() == made.plan().to_arrow()
    stats = cache.stats()
    assert (stats["memory_bytes"], stats["memory_hits"]) == (0, 0)
    # One that the folder takes all the same.
    cache = lakebed.Cache(memory_bytes=0, folder=tmp_path / "cache", disk_bytes=1)
    assert opened(made, cache).plan().to_arrow() == made.plan().to_arrow()
    assert cache.stats()["disk_bytes"] == 0


def test_places_that_metadata_may_not_name_are_refused_though_they_are_kept(tmp_path):
    folder = Path(shutil.copytree(SAMPLE_ICEBERG_TABLE, tmp_path / "table"))
    moved = {old: str(folder) for old in SAMPLE_MOVED}
    elsewhere = tmp_path / "elsewhere"
    (folder / "metadata").rename(elsewhere)
    (folder / "metadata").mkdir()
    for file in elsewhere.glob("*.json"):
        shutil.copy(file, folder / "metadata")
    for file in elsewhere.glob("version-hint*"):
        shutil.copy(file, folder / "metadata")
    old = next(iter(moved))
    how: dict[str, Any] = {
        "relocate": {**moved, f"{old}/metadata/": f"{elsewhere}/"},
        "cache": lakebed.Cache(),
    }
    wanted = lakebed.open_table(folder, **how).files().to_arrow()
    assert lakebed.open_table(folder, **how).files().to_arrow() == wanted
    refused = lakebed.open_table(folder, relocate=moved, allowed_prefixes=[], cache=how["cache"])
    with pytest.raises((MissingFileError, LocationError)):
        refused.files().to_arrow()


def test_storages_with_equal_paths_are_told_apart(tmp_path):
    tables = {name: iceberg(tmp_path / name, f"{name}.parquet") for name in ("one", "two")}
    # Two tables whose files have equal names, as in copies of a bucket.
    for name in tables:
        shutil.copytree(tmp_path / name, tmp_path / "root" / name / "t")
    cache = lakebed.Cache(folder=tmp_path / "cache")
    for name in ("one", "two", "one", "two"):
        here = pafs.SubTreeFileSystem(str(tmp_path / "root" / name), pafs.LocalFileSystem())
        (written,) = {table.location for key, table in tables.items() if key == name}
        table = lakebed.open_table("t", storage=here, relocate={written: "t"}, cache=cache)
        (path,) = table.files().to_arrow()["file_path"].to_pylist()
        assert path.endswith(f"{name}.parquet")


def test_identities_have_no_secrets_and_tell_where():
    def name(**options: Any) -> str:
        given = {"access_key": "AKIA-x", "secret_key": "hidden-y", "region": "r", **options}
        _, storage = lakebed.storage.resolve("bucket/t", pafs.S3FileSystem(**given))
        identity, is_shared = identity_of(storage)
        assert is_shared
        assert "hidden-y" not in identity
        assert "AKIA-x" not in identity
        return identity

    assert name(endpoint_override="http://one:1") != name(endpoint_override="http://two:1")
    assert name(endpoint_override="http://one:1") == name(
        endpoint_override="http://one:1", secret_key="hidden-y2", session_token="hidden-y"
    )


def test_storages_that_say_who_they_are_share_what_is_on_disk(made, tmp_path):
    class Named(CountingStorage):
        identity = "the lake"

    for storage_class, shared in ((CountingStorage, False), (Named, True)):
        folder = tmp_path / storage_class.__name__
        opened(made, lakebed.Cache(folder=folder), storage_class()).plan().to_arrow()
        storage = storage_class()
        opened(made, lakebed.Cache(folder=folder), storage).plan().to_arrow()
        assert bool(storage.manifests()) is not shared
        assert any(folder.iterdir()) is shared
    wrong = type("Wrong", (CountingStorage,), {"identity": 1})()
    with pytest.raises(TypeError, match="identity takes a text"):
        opened(made, lakebed.Cache(), wrong)
    # Nobody asks it without a cache.
    assert opened(made, None, wrong).plan().to_arrow().num_rows == 3


@pytest.mark.parametrize("seed", range(long_or(20, 300)))
def test_a_damaged_folder_changes_no_answer(seed, tmp_path):
    """Files are cut, changed, swapped, emptied, lengthened or replaced, in any order."""
    draw, folder = random.Random(seed), tmp_path / "cache"
    table = lakebed.open_table(SAMPLE_TABLE, cache=lakebed.Cache(folder=folder))
    wanted = [table.files().to_arrow(), table.plan().to_arrow()]
    for _ in range(3):
        files = sorted(folder.iterdir())
        for file in files:
            whole, at = file.read_bytes(), draw.randrange(file.stat().st_size)
            damage = draw.choice(("cut", "flip", "swap", "empty", "longer", "other", "gone", "none"))
            if damage == "cut":
                file.write_bytes(whole[:at])
            elif damage == "flip":
                file.write_bytes(whole[:at] + bytes([whole[at] ^ 1 << draw.randrange(8)]) + whole[at + 1 :])
            elif damage == "swap":
                shutil.copy(draw.choice(sorted(folder.iterdir())), tmp_path / "other")
                (tmp_path / "other").replace(file)
            elif damage == "empty":
                file.write_bytes(b"")
            elif damage == "longer":
                file.write_bytes(whole + draw.randbytes(10))
            elif damage == "other":
                file.write_bytes(draw.randbytes(5000))
            elif damage == "gone":
                file.unlink()
        cache = lakebed.Cache(memory_bytes=draw.choice((0, 1 << 28)), folder=folder)
        table = lakebed.open_table(SAMPLE_TABLE, cache=cache)
        assert [table.files().to_arrow(), table.plan().to_arrow()] == wanted
        assert cache.stats()["failed_writes"] == 0


def test_a_folder_that_others_may_use_is_refused(tmp_path):
    folder = tmp_path / "cache"
    lakebed.Cache(folder=folder)
    assert folder.stat().st_mode & 0o777 == 0o700
    for mode in (0o755, 0o770, 0o701):
        folder.chmod(mode)
        with pytest.raises(LocationError, match="its mode is to be 0700"):
            lakebed.Cache(folder=folder)
    folder.chmod(0o700)
    (tmp_path / "link").symlink_to(folder)
    (tmp_path / "file").touch()
    for other in ("link", "file"):
        with pytest.raises(LocationError, match="no folder, or a link"):
            lakebed.Cache(folder=tmp_path / other)
    with pytest.raises(OSError, match="No such file or directory"):
        lakebed.Cache(folder=tmp_path / "no" / "parent")


@pytest.mark.skipif(os.geteuid() != 0, reason="only root gives a folder to another user")
def test_a_folder_of_another_user_is_refused(tmp_path):
    folder = tmp_path / "cache"
    lakebed.Cache(folder=folder)
    os.chown(folder, 12345, -1)
    with pytest.raises(LocationError, match="this one belongs to another"):
        lakebed.Cache(folder=folder)
    assert not list(folder.iterdir())


def test_a_cache_shows_and_pickles_its_settings(tmp_path):
    folder = str(tmp_path / "cache")
    cache = lakebed.Cache(memory_bytes=5, folder=folder, disk_bytes=7)
    again = pickle.loads(pickle.dumps(cache))
    for one in (cache, again):
        assert (one.memory_bytes, one.folder, one.disk_bytes) == (5, folder, 7)
        assert repr(one) == f'Cache(memory_bytes=5, folder="{folder}", disk_bytes=7)'
    assert repr(lakebed.Cache(memory_bytes=5)) == "Cache(memory_bytes=5)"
    with pytest.raises(OverflowError):
        lakebed.Cache(memory_bytes=-1)
    with contextlib.suppress(AttributeError):
        cache.memory_bytes = 6  # type: ignore[misc]
        raise AssertionError


def test_stats_count_and_clear_empties(made, tmp_path):
    cache = lakebed.Cache(folder=tmp_path / "cache")
    opened(made, cache).plan().to_arrow()
    count = cache.stats()["misses"]
    opened(made, cache).plan().to_arrow()
    stats = cache.stats()
    assert (stats["misses"], stats["memory_hits"], stats["disk_hits"]) == (count, count, 0)
    assert stats["memory_bytes"] > 0
    assert stats["disk_bytes"] == sum(file.stat().st_size for file in (tmp_path / "cache").iterdir())
    cache.clear()
    assert (cache.stats()["memory_bytes"], cache.stats()["disk_bytes"]) == (0, 0)
    assert not any((tmp_path / "cache").iterdir())
    opened(made, cache).plan().to_arrow()
    assert cache.stats()["misses"] == 2 * count
