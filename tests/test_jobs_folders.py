"""Whose files the jobs look at: none of another table, whichever folder, link or listing leads to them."""

from __future__ import annotations

import json
import os
import shutil
import unicodedata
from collections.abc import Callable
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any
from urllib.parse import quote, quote_plus

import pyarrow as pa
import pytest
from catalog_tables import sqlite
from command_line import run
from exchanging import exchanged
from small_tables import (
    NOW,
    OLD,
    ROWS,
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
from lakebed.errors import CorruptError, LakebedWarning, LocationError, SchemaError, UnsupportedError
from lakebed.view import Bounds
from spark_rows import expected

NOTES = ("opened by its folder", ".*another table", ".*is not looked into")
pytestmark = [pytest.mark.filterwarnings(f"ignore:{note}:lakebed.errors.LakebedWarning") for note in NOTES]

# The location.


@pytest.mark.parametrize("by_file", [False, True])
def test_a_copy_has_no_orphans_and_frees_nothing(tmp_path: Path, by_file: bool):
    iceberg(tmp_path / "orders", "data/a.parquet", "data/b.parquet")
    copy = Path(shutil.copytree(tmp_path / "orders", tmp_path / "backup"))
    opened = lakebed.open_table(str(copy / "metadata/v3.metadata.json") if by_file else copy)
    given = listing(lying(tmp_path))
    for scan in (opened.orphans(None), opened.orphans(None, given), opened.expire_plan(NOW, 1)):
        with pytest.raises(LocationError, match="relocate=") as failed:
            found(scan)
        assert failed.value.field == "location"
    with pytest.raises(LocationError, match="relocate="):
        opened.orphans(None).job(Bounds())
    with pytest.raises(LocationError, match="relocate="):
        opened.expire_plan(NOW, 1).job(Bounds())
    done = run("orphans", opened.location)
    assert done.exit_code != 0
    assert "--relocate" in done.stderr
    shutil.rmtree(tmp_path / "orders")
    with pytest.raises(lakebed.LakebedError):
        found(opened.orphans(None))


def test_a_relocated_copy_has_its_own_files(tmp_path: Path):
    table = iceberg(tmp_path / "orders", "data/a.parquet", "data/b.parquet")
    copy = Path(shutil.copytree(tmp_path / "orders", tmp_path / "backup"))
    (orphan,) = lost(copy / "data/lost.parquet")
    moved = lakebed.open_table(copy, relocate={table.location: copy})
    assert found(moved.orphans(None)) == [orphan]
    freed = found(moved.expire_plan(NOW, 1))
    assert freed
    assert not set(freed) & set(found(table.reachable())), "of the original"
    assert all(Path(path).is_relative_to(copy) and Path(path).exists() for path in freed)
    freeing = moved.expire_plan(NOW, 1, columns=["file_path"])
    assert exchanged(freeing) == expected(freeing)


def test_files_that_relocation_leaves_out_are_refused(tmp_path: Path):
    table = iceberg(tmp_path / "second/t")
    first = data(tmp_path / "first/t", "data/a.parquet")
    table = table.append_files(lakebed.describe_file(table, first, ROWS))
    table = table.append_files(
        lakebed.describe_file(table, data(tmp_path / "second/t", "data/b.parquet"), ROWS)
    )
    now = tmp_path / "third/t"
    shutil.copytree(tmp_path / "second/t", now)
    shutil.move(first, now / "data/a.parquet")
    (orphan,) = lost(now / "data/lost.parquet")
    some = {str(tmp_path / "second/t"): str(now)}
    moved = lakebed.open_table(now, relocate=some)
    for scan in (moved.orphans(None), moved.expire_plan(NOW, 1)):
        with pytest.raises(LocationError, match="does not cover"):
            found(scan)
    with pytest.raises(LocationError, match="does not cover"):
        exchanged(moved.orphans(None), listed=True)
    every = some | {str(tmp_path / "first/t"): str(now)}
    assert found(lakebed.open_table(now, relocate=every).orphans(None)) == [orphan]
    # A file that stays where it was is said to.
    kept = some | {str(tmp_path / "first"): str(tmp_path / "first")}
    assert str(now / "data/a.parquet") in found(lakebed.open_table(now, relocate=kept).orphans(None))


@pytest.mark.parametrize("place", ["/", "", "other", "t/data", "nowhere"])
@pytest.mark.parametrize("by_file", [False, True])
def test_a_location_that_is_not_the_tables_is_refused(tmp_path: Path, place: str, by_file: bool):
    table = iceberg(tmp_path / "t", "data/a.parquet")
    iceberg(tmp_path / "other", "data/b.parquet")
    lost(tmp_path / "elsewhere.txt")
    location = place if place == "/" else str(tmp_path / place)
    changed(table, lambda metadata: metadata.update(location=location))
    opened = lakebed.open_table(str(newest(table)) if by_file else tmp_path / "t")
    for scan in (opened.orphans(None), opened.expire_plan(NOW, 1)):
        if by_file and place in ("t/data", "nowhere"):
            # Whoever points to the file, as a catalog does, says what the table is.
            continue
        with pytest.raises(LocationError):
            found(scan)


def test_metadata_may_be_kept_elsewhere(tmp_path: Path):
    table = iceberg(tmp_path / "t", "data/a.parquet")
    elsewhere = tmp_path / "kept/t"
    metadata = json.loads(newest(table).read_text())
    metadata["properties"]["write.metadata.path"] = str(elsewhere)
    elsewhere.mkdir(parents=True)
    pointed = elsewhere / "00003-x.metadata.json"
    pointed.write_text(json.dumps(metadata))
    (orphan,) = lost(tmp_path / "t/data/lost.parquet")
    # What has a newer state there, of which this one knows nothing, is another table.
    with pytest.raises(LocationError):
        found(lakebed.open_table(str(pointed)).orphans(None))
    metadata["metadata-log"].append({"timestamp-ms": 1, "metadata-file": str(newest(table))})
    pointed.write_text(json.dumps(metadata))
    # Anybody can write a file that says so: only a catalog can vouch for it.
    for scan in (orphans_of(str(pointed)), lakebed.open_table(str(pointed)).expire_plan(NOW, 1)):
        with pytest.raises(LocationError):
            found(scan)
    registered = sqlite(tmp_path).register_table("db.t", str(pointed))
    assert orphan in found(orphans_of(registered))
    changed(table, lambda metadata: metadata.update({"table-uuid": "00000000-0000-4000-8000-000000000000"}))
    for opened in (str(pointed), registered):
        with pytest.raises(LocationError):
            found(orphans_of(opened))


def orphans_of(opened: Any) -> lakebed.Scan:
    return lakebed.open_table(opened).orphans(None)


# Folders of other tables.


@pytest.mark.parametrize("outer", [iceberg, paimon])
@pytest.mark.parametrize("inner", [iceberg, paimon])
@pytest.mark.parametrize("folder", ["orders", "x/orders", "bucket-7", "day=1"])
def test_a_table_in_the_folder_keeps_its_files(
    outer: Callable[..., Table], inner: Callable[..., Table], folder: str, tmp_path: Path
):
    table = outer(tmp_path / "db", "bucket-0/a.parquet")
    nested = inner(tmp_path / "db" / folder, "bucket-0/b.parquet")
    (orphan,) = lost(tmp_path / "db/bucket-0/lost.parquet")
    lost(tmp_path / "db" / folder / "bucket-0/lost.parquet")
    if outer is iceberg or folder == "bucket-7":
        with pytest.warns(LakebedWarning, match="another table"):
            assert found(table.orphans(None)) == [orphan]
    else:
        assert found(table.orphans(None)) == [orphan]
    given = listing(lying(tmp_path)[::-1])
    assert found(table.orphans(None, given)) == [orphan]
    assert len(exchanged(table.orphans(None, given), listed=True)) == 1
    assert set(found(nested.orphans(None))) <= set(lying(tmp_path / "db" / folder))


def test_metadata_of_a_table_elsewhere_keeps_its_folder(tmp_path: Path):
    table = iceberg(tmp_path / "db", "data/a.parquet")
    other = iceberg(tmp_path / "other", "data/b.parquet")
    (tmp_path / "db/kept").mkdir()
    shutil.copy(newest(other), tmp_path / "db/kept/00001-x.metadata.json")
    with pytest.warns(LakebedWarning, match="kept"):
        assert found(table.orphans(None)) == []
    with pytest.warns(LakebedWarning, match="kept"):
        assert found(table.orphans(None, listing(lying(tmp_path)))) == []


def test_a_folder_that_two_formats_share_is_refused_by_one(tmp_path: Path):
    table = shared(tmp_path / "t", "bucket-0/data-a.parquet", "bucket-0/data-b.parquet")
    mirror = lakebed.open_table(tmp_path / "t", format="iceberg")
    for scan in (mirror.orphans(None), mirror.orphans(None, listing(lying(tmp_path)))):
        with pytest.raises(LocationError, match="paimon table too"):
            found(scan)
    assert found(table.orphans(None)) == []


def test_external_folders_of_paimon_are_not_looked_into(tmp_path: Path):
    outside = tmp_path / "ext"
    options = {
        "data-file.external-paths": f"file://{outside}",
        "data-file.external-paths.strategy": "round-robin",
    }
    tables = []
    for name in "ab":
        table = paimon(tmp_path / name, **options)
        path = data(outside, f"bucket-0/data-{name}.parquet")
        file = lakebed.describe_file(table, path, ROWS, columns={"bucket": 0})
        tables.append(table.append_files(file))
    (orphan,) = lost(tmp_path / "a/bucket-0/data-lost.parquet")
    lost(outside / "bucket-0/data-lost.parquet")
    with pytest.warns(LakebedWarning, match="not looked into"):
        assert found(tables[0].orphans(None)) == [orphan]
    assert found(tables[1].orphans(None, listing(lying(tmp_path)))) == []
    within = paimon(tmp_path / "c", **(options | {"data-file.external-paths": str(tmp_path / "c/ext")}))
    assert found(within.orphans(None)) == []
    inside = lost(tmp_path / "c/ext/bucket-0/data-lost.parquet")
    assert found(within.orphans(None)) == inside


# Links.


def test_links_lead_to_the_same_files(tmp_path: Path):
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "real", target_is_directory=True)
    table = iceberg(tmp_path / "link/t", "data/a.parquet")
    for folder in ("real/t", "link/t"):
        path = data(tmp_path / folder, f"data/{folder[:4]}.parquet")
        table = table.append_files(lakebed.describe_file(table, path, ROWS))
    (tmp_path / "link/t/alias").symlink_to(tmp_path / "real/t/data", target_is_directory=True)
    alias = data(tmp_path / "link/t", "alias/c.parquet")
    table.append_files(lakebed.describe_file(table, alias, ROWS))
    lost(tmp_path / "real/t/data/lost.parquet")
    for folder in ("real/t", "link/t"):
        opened = lakebed.open_table(tmp_path / folder)
        assert [Path(path).name for path in found(opened.orphans(None))] == ["lost.parquet"]
        for listed in ("real/t", "link/t"):
            paths = agreed(opened, listing(lying(tmp_path / listed)))
            assert [Path(path).name for path in paths] == ["lost.parquet"]


def test_a_linked_folder_in_the_table_keeps_its_files(tmp_path: Path):
    table = iceberg(tmp_path / "t")
    (tmp_path / "disk").mkdir()
    (tmp_path / "t/data").symlink_to(tmp_path / "disk", target_is_directory=True)
    for path in (data(tmp_path, "disk/a.parquet"), data(tmp_path, "t/data/b.parquet")):
        table = table.append_files(lakebed.describe_file(table, path, ROWS))
    with pytest.warns(LakebedWarning, match="it is a link"):
        assert found(table.orphans(None)) == []
    names = [f"{tmp_path}/t/data/{name}.parquet" for name in "ab"]
    assert agreed(table, listing([*lying(tmp_path / "t"), *names])) == []


# Listings.


@pytest.fixture
def partitioned(tmp_path: Path) -> Table:
    return iceberg(tmp_path / "t", "data/day=1/a b.parquet", "data/day=2/Großes é+.parquet")


@pytest.mark.parametrize(
    "spelled",
    [
        quote,
        quote_plus,
        lambda path: quote_plus(path, safe="/"),
        lambda path: path.replace("=", "%3d"),
        str.lower,
        lambda path: unicodedata.normalize("NFD", path),
    ],
)
def test_paths_in_another_spelling_are_refused(partitioned: Table, spelled: Callable[[str], str]):
    folder = Path(partitioned.location)
    paths = lying(folder)
    prefix = f"{folder}/"
    other = [prefix + spelled(path.removeprefix(prefix)) for path in paths]
    refused(partitioned, listing(other), "unquote_plus")
    mixed = [one if "day=1" in one else two for one, two in zip(paths, other, strict=True)]
    refused(partitioned, listing(mixed), "unquote_plus")


def test_names_that_only_look_encoded_are_names(tmp_path: Path):
    table = iceberg(tmp_path / "t", "data/x=a%3Db/f.parquet", "data/x=a=b/g.parquet", "data/50%.parquet")
    files = lying(tmp_path / "t")
    orphans = lost(
        tmp_path / "t/data/x=a%3Db/lost.parquet",
        tmp_path / "t/data/x=a%3Db/g.parquet",
        tmp_path / "t/data/F%25",
    )
    assert agreed(table, listing([*files, *orphans])) == orphans
    assert found(table.orphans(None)) == orphans


def test_encoded_partitions_of_paimon_are_refused(tmp_path: Path):
    rows = pa.table({"id": [1], "day": ["x"]})
    table = lakebed.create_table(
        tmp_path / "t", rows.schema, "paimon", partition_by=["day"], properties={"bucket": "-1"}
    )
    lost(tmp_path / "t/day=x/bucket-0/data-lost.parquet")
    files = lying(tmp_path / "t")
    refused(table, listing([path.replace("=", "%3D") for path in files]), "unquote_plus")


@pytest.mark.parametrize("made", [iceberg, paimon])
def test_a_listing_without_any_file_of_the_table_is_refused(made: Callable[..., Table], tmp_path: Path):
    table = made(tmp_path / "t", "bucket-0/a.parquet")
    orphans = lost(tmp_path / "t/bucket-0/lost.parquet")
    live = str(tmp_path / "t/bucket-0/a.parquet")
    for paths in ([], orphans, [f"/elsewhere{path}" for path in lying(tmp_path)], [f"s3://b{tmp_path}/u/x"]):
        refused(table, listing(paths), "none of the files")
    # Of data alone it is enough.
    assert found(table.orphans(listing=listing([*orphans, live]))) == orphans
    # A table without snapshots is there all the same.
    empty = made(tmp_path / "empty")
    (orphan,) = lost(tmp_path / "empty/bucket-0/lost.parquet")
    assert agreed(empty, listing(lying(tmp_path / "empty"))) == [orphan]


def test_rows_of_an_inventory_that_are_not_files_are_passed_over(tmp_path: Path):
    table = iceberg(tmp_path / "t", "data/day=1/a.parquet")
    folder = tmp_path / "t"
    lost(folder / "data/day=2/new.parquet", folder / "data/day=1/new.parquet", folder / "data/day=1/lost")
    files = lying(folder)
    new = [path for path in files if path.endswith("new.parquet")]
    later = datetime.now(timezone.utc) + timedelta(days=400)
    markers = [f"{folder}/", f"{folder}/data/", f"{folder}/data/day=2/", f"{folder}/data/day=2_$folder$"]
    folders = [f"{folder}/data", f"{folder}/data/day=1", f"{folder}/data/day=2"]
    # Older versions of a file, and a file twice.
    paths = [*markers, *folders, *new, *files, *files]
    times = [later if path in new and at >= len(paths) - len(files) else OLD for at, path in enumerate(paths)]
    assert agreed(table, listing(paths, times)) == [f"{folder}/data/day=1/lost"]
    is_latest = [path not in new for path in files]
    assert agreed(table, listing(files, is_latest=is_latest)) == [f"{folder}/data/day=1/lost"]
    deleted = [path in new for path in files]
    assert agreed(table, listing(files, is_delete_marker=deleted)) == [f"{folder}/data/day=1/lost"]
    with pytest.raises(SchemaError, match="is_latest"):
        found(table.orphans(listing=listing(files, is_latest=["true"] * len(files))))
    without = listing(files).set_column(1, "size", pa.nulls(len(files), pa.int64()))
    assert f"{folder}/data/day=1/lost" in found(table.orphans(listing=without))


def test_keys_without_a_bucket_are_refused(tmp_path: Path):
    table = iceberg(tmp_path / "t", "data/a.parquet")
    with pytest.raises(SchemaError, match="not absolute"):
        found(table.orphans(listing=listing(["t/data/a.parquet", "t/metadata/v1.metadata.json"])))


def test_one_path_in_two_places_is_refused_also_for_statistics(tmp_path: Path):
    table = iceberg(tmp_path / "t", "data/a.parquet")
    folder = str(tmp_path / "t")
    (statistics,) = lost(f"{folder}/metadata/x.stats")
    files = lying(tmp_path / "t")
    elsewhere = listing([f"s3://two{path}" for path in files])
    # A path without scheme and bucket is the same in all.
    assert agreed(table, elsewhere) == [f"s3://two{statistics}"]
    sizes = {"file-size-in-bytes": 4, "file-footer-size-in-bytes": 4, "blob-metadata": []}
    named = {"snapshot-id": table.snapshot_id, "statistics-path": f"s3://one{statistics}", **sizes}
    changed(table, lambda metadata: metadata.update(statistics=[named]))
    opened = lakebed.open_table(folder)
    refused(opened, elsewhere, "equal_authorities")
    refused(opened, listing(files), "equal_schemes")
    assert found(opened.orphans(listing=elsewhere, equal_authorities={"two": "one"})) == []


# What says that files may be deleted.


@pytest.mark.parametrize(
    ("value", "is_enabled"),
    [("true", True), ("TRUE", True), ("false", False), ("no", False), ("", False), (" true", False)],
)
def test_gc_enabled_is_read_as_java_does(value: str, is_enabled: bool, tmp_path: Path):
    table = iceberg(tmp_path / "t", "data/a.parquet")
    changed(table, lambda metadata: metadata["properties"].update({"gc.enabled": value}))
    opened = lakebed.open_table(tmp_path / "t")
    for scan in (opened.orphans(None), opened.expire_plan(NOW, 1)):
        if is_enabled:
            found(scan)
        else:
            with pytest.raises(UnsupportedError, match=r"gc\.enabled"):
                found(scan)


def older_main(metadata: dict[str, Any]) -> None:
    metadata["refs"]["main"]["snapshot-id"] = metadata["snapshots"][0]["snapshot-id"]


def no_current(metadata: dict[str, Any]) -> None:
    metadata["current-snapshot-id"] = -1


def lost_tag(metadata: dict[str, Any]) -> None:
    metadata["refs"]["kept"] = {"type": "tag", "snapshot-id": 7}


@pytest.mark.filterwarnings("ignore::lakebed.errors.LakebedWarning")
@pytest.mark.parametrize("change", [older_main, no_current, lost_tag])
def test_refs_that_contradict_the_snapshots_are_refused(
    change: Callable[[dict[str, Any]], None], tmp_path: Path
):
    table = iceberg(tmp_path / "t", "data/a.parquet", "data/b.parquet")
    changed(table, change)
    opened = lakebed.open_table(tmp_path / "t")
    assert opened.snapshots().to_arrow().num_rows == 2
    for scan in (opened.orphans(None), opened.expire_plan(NOW, 1)):
        with pytest.raises(CorruptError, match="refs"):
            found(scan)


# Files that lakebed itself leaves.


def test_files_of_killed_writers_are_orphans(tmp_path: Path):
    table = iceberg(tmp_path / "i", "data/a.parquet")
    left = lost(
        tmp_path / "i/metadata/.v3.metadata.json.12.0.lakebed-tmp",
        tmp_path / "i/metadata/.snap-1-1-x.avro.12.3.lakebed-tmp",
    )
    lost(tmp_path / "i/metadata/.hidden", tmp_path / "i/_h/.v3.metadata.json.12.0.lakebed-tmp")
    assert found(table.orphans(None)) == left
    assert found(table.orphans()) == [], "young ones may be written just now"
    table = paimon(tmp_path / "p", "bucket-0/data-a.parquet")
    table.create_branch("b")
    folders = (
        "snapshot",
        "schema",
        "tag",
        "manifest",
        "consumer",
        "branch/branch-b/schema",
        "branch/branch-b/snapshot",
    )
    left = lost(*(tmp_path / "p" / folder / ".x-1.12.0.lakebed-tmp" for folder in folders))
    lost(tmp_path / "p/schema/x", tmp_path / "p/tag/.y")
    for file in left:
        os.utime(file, (0, 0))
    assert found(lakebed.open_table(tmp_path / "p").orphans()) == left


def test_a_branch_without_any_file_reaches_nothing(tmp_path: Path):
    """What is left of a branch whose writer was killed before its first file, or after its last."""
    table = paimon(tmp_path / "p", "bucket-0/data-a.parquet")
    left = lost(tmp_path / "p/branch/branch-b/schema/.schema-0.12.0.lakebed-tmp")
    (tmp_path / "p/branch/branch-c").mkdir()
    for view in (table.verify(), table.orphans(older_than=NOW), table.expire_plan(NOW, 1), table.refs()):
        assert "branch-c" not in str(view.to_arrow().to_pylist())
    assert found(table.orphans(NOW)) == left
    assert found(table.orphans()) == []
    file = tmp_path / "p/branch/branch-c/tag/tag-of"
    file.parent.mkdir()
    file.write_text("{}")
    with pytest.raises(CorruptError, match='branch "c" has no schema'):
        table.orphans().to_arrow()
