"""Orphans are no files that another table names, wherever these lie, and none that links lead to."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from exchanging import exchanged
from small_tables import (
    ROWS,
    added,
    agreed,
    changed,
    data,
    found,
    iceberg,
    listing,
    lost,
    lying,
    newest,
    paimon,
    refused,
    shared,
)

import lakebed
from lakebed import Table
from lakebed.errors import LakebedWarning, LocationError

NOTES = ("opened by its folder", ".*another table", ".*is not looked into")
pytestmark = [pytest.mark.filterwarnings(f"ignore:{note}:lakebed.errors.LakebedWarning") for note in NOTES]


def orphans(table: Table) -> list[str]:
    """What is found by one process, with and without a listing, and by several."""
    paths = found(table.orphans(None))
    assert agreed(table, listing(lying(Path(table.location))[::-1])) == paths
    rows = exchanged(table.orphans(None, columns=["file_path"]), listed=True)
    assert sorted(json.loads(row)[0] for row in rows) == paths
    return paths


# Tables in the folder.


@pytest.mark.parametrize("made", [iceberg, paimon])
@pytest.mark.parametrize("folder", ["b", "x/b", "_b", ".h/b", "metadata/b", "bucket-0/b", "snapshot/b"])
def test_files_of_a_nested_table_live_in_any_folder(made: Callable[..., Table], folder: str, tmp_path: Path):
    outer = made(tmp_path / "a", "bucket-0/a.parquet")
    named, once, by_path = (tmp_path / "a" / name for name in ("of-b", "earlier", "bucket-0"))
    inner = added(
        iceberg(tmp_path / "a" / folder, **{"write.data.path": str(once)}),
        *(data(place, "live.parquet") for place in (once, named)),
        data(by_path, "of-b.parquet"),
    )
    inner.update_properties({"write.data.path": str(named)})
    (orphan, *_) = lost(by_path / "lost.parquet", named / "lost.parquet")
    assert orphans(outer) == [orphan]


def test_files_of_earlier_snapshots_and_branches_of_a_nested_table_live(tmp_path: Path):
    outer = iceberg(tmp_path / "a", "data/a.parquet")
    shared = tmp_path / "a/shared"
    paths = [data(shared, f"{number}.parquet") for number in range(4)]
    inner = added(iceberg(tmp_path / "a/b"), *paths[:2])
    inner.create_branch("kept")
    inner = added(lakebed.open_table(inner.location).at(branch="kept"), paths[2])
    lakebed.open_table(inner.location).delete_files([paths[0]])
    assert orphans(outer) == [paths[3]]


def test_external_files_of_a_nested_paimon_table_live(tmp_path: Path):
    outer = iceberg(tmp_path / "a", "data/a.parquet")
    outside = tmp_path / "a/ext"
    options = {"data-file.external-paths": str(outside), "data-file.external-paths.strategy": "round-robin"}
    inner = paimon(tmp_path / "a/_p", **options)
    for path in (data(outside, "bucket-0/data-0.parquet"), data(tmp_path / "a/by-path", "data-1.parquet")):
        file = lakebed.describe_file(inner, path, ROWS, columns={"bucket": 0})
        inner = inner.append_files(file)
    (orphan, *_) = lost(tmp_path / "a/by-path/lost.parquet", outside / "bucket-0/lost.parquet")
    assert orphans(outer) == [orphan]


def test_a_table_of_another_format_in_the_same_folder_keeps_its_files(tmp_path: Path):
    table = shared(tmp_path / "t", "bucket-0/data-a.parquet", "bucket-0/data-b.parquet")
    (orphan,) = lost(tmp_path / "t/bucket-0/data-lost.parquet")
    assert orphans(lakebed.open_table(table.location, format="paimon")) == [orphan]


@pytest.mark.parametrize("earlier", [False, True])
def test_nested_tables_are_moved_with_the_outer_one(earlier: bool, tmp_path: Path):
    iceberg(tmp_path / "old/a", "data/a.parquet")
    named = tmp_path / "old/a/of-b"
    inner = added(
        iceberg(tmp_path / "old/a/b", **{"write.data.path": str(named)}),
        data(named, "live.parquet"),
        data(tmp_path / "old/a/data", "of-b.parquet"),
    )
    if earlier:
        inner.update_properties({"write.data.path": f"{inner.location}/data"})
    (tmp_path / "old").rename(tmp_path / "new")
    orphan, *_ = sorted(
        lost(tmp_path / "new/a/data/lost.parquet", tmp_path / "new/a/b/lost.parquet"), reverse=True
    )
    if not earlier:
        lost(tmp_path / "new/a/of-b/lost.parquet")
    moved = {str(tmp_path / "old"): str(tmp_path / "new")}
    assert orphans(lakebed.open_table(tmp_path / "new/a", relocate=moved)) == [orphan]


def test_a_nested_table_of_which_files_are_unknown_is_refused(tmp_path: Path):
    outer = iceberg(tmp_path / "a", "data/a.parquet")
    inner = iceberg(tmp_path / "a/_b", "data/b.parquet")
    (manifest,) = (path for path in Path(inner.location, "metadata").glob("*-m0.avro"))
    manifest.unlink()
    with pytest.raises(LocationError, match="cannot be read"):
        orphans(outer)


def test_a_table_behind_a_link_keeps_its_files(tmp_path: Path):
    outer = iceberg(tmp_path / "a", "data/a.parquet")
    inner = added(iceberg(tmp_path / "b"), data(tmp_path / "a/shared", "live.parquet"))
    (tmp_path / "a/b").symlink_to(inner.location)
    # Links that lead to the table itself hide nothing.
    (tmp_path / "a/data/self").symlink_to(outer.location)
    (orphan,) = lost(tmp_path / "a/data/lost.parquet")
    assert found(outer.orphans(None)) == [orphan]


# Files that are links.


@pytest.mark.parametrize("made", [iceberg, paimon])
def test_a_link_keeps_the_file_that_it_leads_to(made: Callable[..., Table], tmp_path: Path):
    folder = tmp_path / "t"
    made(folder, "bucket-0/a.parquet", "bucket-0/b.parquet", "bucket-0/c.parquet")
    (folder / "bucket-1").mkdir()
    for name, lies in (("a", "t/bucket-1/data-a"), ("b", "t/bucket-1/data-b"), ("c", "outside-c")):
        (folder / f"bucket-0/{name}.parquet").rename(tmp_path / lies)
    # One link to the file, two in a row, one out of the table.
    (folder / "bucket-0/a.parquet").symlink_to("../bucket-1/data-a")
    (folder / "bucket-0/b.parquet").symlink_to(folder / "bucket-1/link-b")
    (folder / "bucket-1/link-b").symlink_to("data-b")
    (folder / "bucket-0/c.parquet").symlink_to(tmp_path / "outside-c")
    (orphan, *_) = lost(folder / "bucket-1/data-lost")
    (folder / "bucket-1/link-lost").symlink_to("data-lost")
    # Another name of a file that lives.
    (folder / "bucket-1/link-a").symlink_to("data-a")
    assert orphans(lakebed.open_table(folder)) == [orphan, str(folder / "bucket-1/link-lost")]


def test_a_link_elsewhere_keeps_the_file_that_it_leads_to(tmp_path: Path):
    stored = data(tmp_path / "t", "data/stored.parquet")
    (tmp_path / "links").mkdir()
    (tmp_path / "links/a.parquet").symlink_to(stored)
    table = added(iceberg(tmp_path / "t"), str(tmp_path / "links/a.parquet"))
    (orphan,) = lost(tmp_path / "t/data/lost.parquet")
    assert orphans(table) == [orphan]


def has_statistics(path: str) -> Callable[[dict[str, Any]], object]:
    """A change of the metadata: the first snapshot has this statistics file."""
    sizes = {"file-size-in-bytes": 4, "file-footer-size-in-bytes": 4, "blob-metadata": []}
    return lambda metadata: metadata.update(
        statistics=[{"snapshot-id": metadata["current-snapshot-id"], "statistics-path": path, **sizes}]
    )


def test_one_path_with_two_prefixes_is_refused_through_links_too(tmp_path: Path):
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "real")
    table = iceberg(tmp_path / "link/t", "data/a.parquet")
    (statistics,) = lost(tmp_path / "link/t/metadata/x.stats")
    for path in (statistics, os.path.realpath(statistics)):
        changed(table, has_statistics(f"hdfs://one{path}"))
        opened = lakebed.open_table(table.location)
        refused(opened, listing(lying(tmp_path / "link/t")), "equal_schemes")
        with pytest.raises(LocationError, match="equal_schemes"):
            found(opened.orphans(None))


# Listings.


def test_names_in_other_scripts_are_told_apart(tmp_path: Path):
    cities = ["北京", "上海", "서울", "부산", "Рига", "Омск", "Çan", "Şan"]
    table = iceberg(tmp_path / "t", *(f"data/city={city}/part-0.parquet" for city in cities[::2]))
    files = [path for path in lying(tmp_path / "t") if "/data/" not in path]
    orphans = lost(*(tmp_path / f"t/data/city={city}/part-0.parquet" for city in cities[1::2]))
    # An inventory that is older than what is reached.
    assert agreed(table, listing([*files, *orphans])) == orphans


def test_metadata_of_a_table_elsewhere_is_passed_over(tmp_path: Path):
    outer = iceberg(tmp_path / "a", "data/a.parquet")
    other = iceberg(tmp_path / "other", "data/b.parquet")
    kept = tmp_path / "a/_kept"
    kept.mkdir()
    (kept / "00001-x.metadata.json").write_bytes(newest(other).read_bytes())
    (orphan,) = lost(tmp_path / "a/data/lost.parquet")
    with pytest.warns(LakebedWarning, match="_kept"):
        assert orphans(outer) == [orphan]
