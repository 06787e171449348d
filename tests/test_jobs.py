"""Files that are reached, those that are not, and those that an expiry would free."""

from __future__ import annotations

import json
import os
import shutil
import time
from collections.abc import Callable, Iterator
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as pads
import pytest
from command_line import output, printed, run
from counting_storage import CountingStorage
from covering import each_covering_iceberg_table, each_layout_of_golden_paimon_tables
from exchanging import exchanged
from json_files import edited

import lakebed
from iceberg_golden import GoldenTable as GoldenIcebergTable
from lakebed import Table
from lakebed.errors import LocationError, SchemaError, UnsupportedError
from lakebed.view import ViewScan
from shared_data import SAMPLE_ICEBERG_TABLE, SAMPLE_TABLE, GoldenTable

pytestmark = pytest.mark.filterwarnings("ignore::lakebed.errors.LakebedWarning")

NOW = timedelta(0)
# What decides which files there are.
LAYOUT = ("format", "several", "one ", "no ", "snapshot", "ref", "status", "content", "file_format")
CONTENT = ("data", "position deletes", "equality deletes", "deletion vectors")


def rows(scan: lakebed.Scan) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = scan.to_arrow().to_pylist()
    return found


def paths(scan: lakebed.Scan) -> list[str]:
    return sorted(row["file_path"] for row in rows(scan))


def of_kinds(found: list[dict[str, Any]], *kinds: str) -> dict[str, tuple[int, int]]:
    return {
        row["file_path"]: (row["first_snapshot_id"], row["last_snapshot_id"])
        for row in found
        if row["kind"] in kinds
    }


class Seen(dict[str, list[int]]):
    """Path → the snapshots that have it, in the order of commits."""

    def add(self, found: list[str], snapshot: int) -> None:
        for path in found:
            self.setdefault(path, []).append(snapshot)

    @property
    def ends(self) -> dict[str, tuple[int, int]]:
        return {path: (found[0], found[-1]) for path, found in self.items()}


def column(scan: lakebed.Scan, name: str) -> list[Any]:
    return [value for value in scan.to_arrow()[name].to_pylist() if value is not None]


@each_covering_iceberg_table(*LAYOUT)
def test_iceberg_files_are_those_of_every_snapshot(table: GoldenIcebergTable):
    opened = table.open()
    found = rows(opened.reachable())
    files, manifests, lists = Seen(), Seen(), Seen()
    for row in rows(opened.snapshots(columns=["snapshot_id", "manifest_list"])):
        at = opened.at(snapshot=row["snapshot_id"])
        files.add(column(at.files(columns=["file_path"]), "file_path"), row["snapshot_id"])
        files.add(column(at.deletes(columns=["file_path"]), "file_path"), row["snapshot_id"])
        manifests.add(column(at.manifests(columns=["path"]), "path"), row["snapshot_id"])
        lists.add([row["manifest_list"]] if row["manifest_list"] else [], row["snapshot_id"])
    assert of_kinds(found, *CONTENT) == files.ends
    assert of_kinds(found, "manifest") == manifests.ends
    assert of_kinds(found, "manifest list") == lists.ends
    assert len({row["file_path"] for row in found}) == len(found)
    assert sum(row["kind"] == "metadata" for row in found) >= 1


def of_paimon(table: Table) -> Iterator[tuple[str, int, Table]]:
    """What keeps files, by its name in rows, on the branch that a table stands on."""
    branch = "" if table.branch == "main" else f" of branch {table.branch}"
    for row in rows(table.snapshots()):
        yield (
            f"snapshot {row['snapshot_id']}{branch}",
            row["snapshot_id"],
            table.at(snapshot=row["snapshot_id"]),
        )
    for row in rows(table.refs()):
        if row["type"] == "tag":
            yield f"tag {row['name']}{branch}", row["snapshot_id"], table.at(tag=row["name"])


@each_layout_of_golden_paimon_tables()
def test_paimon_files_are_those_of_every_snapshot_tag_and_branch(table: GoldenTable):
    opened = lakebed.open_table(table.path)
    found = rows(opened.reachable())
    files, manifests, indexes = set(), set(), set()
    holders = {"table", *(f"changelog {row['snapshot_id']}" for row in rows(opened.changelogs()))}
    for branch in [row["name"] for row in rows(opened.refs()) if row["type"] == "branch"]:
        holders.add(f"branch {branch}")
        for name, _, at in of_paimon(opened.at(branch=branch)):
            holders.add(name)
            files.update(column(at.files(columns=["file_path"]), "file_path"))
            manifests.update(column(at.manifests(columns=["path"]), "path"))
            indexes.update(column(at.indexes(columns=["file_path"]), "file_path"))
    # Changelogs keep files of their own.
    reached = {row["file_path"] for row in found if not row["last_reached_by"].startswith("changelog")}
    of_kind = {kind: set(of_kinds(found, kind)) & reached for kind in ("data", "manifest", "index")}
    assert of_kind["data"] == files
    assert manifests <= of_kind["manifest"]
    assert of_kind["index"] == indexes
    assert {row["first_reached_by"] for row in found} | {row["last_reached_by"] for row in found} <= holders
    assert len({row["file_path"] for row in found}) == len(found)
    for row in found:
        # Writers record sizes, and where they do the files have them; what engines deleted is gone.
        file = Path(row["file_path"].removeprefix("file:"))
        if row["kind"] in ("snapshot", "tag", "manifest list", "manifest") and file.exists():
            assert row["file_size_in_bytes"] == file.stat().st_size


def lying(folder: Path) -> set[str]:
    return {str(file) for file in folder.rglob("*") if file.is_file()}


@each_covering_iceberg_table(*LAYOUT)
def test_iceberg_orphans_are_what_lies_there_and_is_not_reached(table: GoldenIcebergTable):
    opened = table.open()
    reached = set(paths(opened.reachable()))
    reached |= {str(table.file(path)) for path in reached if not path.startswith(str(table.path))}

    def is_hidden(file: str) -> bool:
        return any(name.startswith(("_", ".")) for name in Path(file).relative_to(table.path).parts)

    expected = sorted(file for file in lying(table.path) - reached if not is_hidden(file))
    assert paths(opened.orphans(older_than=None)) == expected


def planted(folder: Path, *names: str) -> list[str]:
    for name in names:
        file = folder / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(b"orphan")
    return sorted(str(folder / name) for name in names)


@pytest.fixture
def paimon(tmp_path: Path) -> Path:
    return Path(shutil.copytree(SAMPLE_TABLE, tmp_path / "orders"))


@pytest.fixture
def bucket(paimon: Path) -> str:
    """A bucket's folder, below the table's."""
    keys = lakebed.open_table(paimon).schemas().to_arrow()["partition_keys"].to_pylist()[-1]
    return "/".join([*(f"{key}=1" for key in keys), "bucket-0"])


def test_paimon_orphans_are_looked_for_where_the_engine_looks(paimon: Path, bucket: str):
    table = lakebed.open_table(paimon)
    before = paths(table.orphans(NOW))
    expected = planted(
        paimon,
        "manifest/manifest-x",
        "index/index-x",
        "statistics/stats-x",
        f"{bucket}/data-x.orc",
        "snapshot/x",
    )
    planted(
        paimon, "readme", "schema/x", "tag/x", "other/bucket-0/x", f"{bucket}/deeper/x", "snapshot/snapshot-x"
    )
    time.sleep(0.01)
    found = table.orphans(NOW)
    assert paths(found) == sorted(before + expected)
    assert found.schema.names[:3] == ["file_path", "file_size_in_bytes", "modified_at"]
    assert {row["file_size_in_bytes"] for row in rows(found) if row["file_path"] in expected} == {6}
    for row in rows(found):
        modified = Path(row["file_path"]).stat().st_mtime
        assert abs(row["modified_at"].timestamp() - modified) < 0.002


def test_young_files_are_no_orphans(paimon: Path, bucket: str):
    old, _ = planted(paimon, f"{bucket}/data-a.orc", f"{bucket}/data-b.orc")
    day = 24 * 60 * 60
    os.utime(old, (time.time() - 4 * day,) * 2)
    table = lakebed.open_table(paimon)
    assert [
        path for path in paths(table.orphans()) if "/data-" in path and path.endswith(("a.orc", "b.orc"))
    ] == [old]
    before = datetime.now(timezone.utc) - timedelta(days=5)
    assert old not in paths(table.orphans(before))
    assert paths(table.orphans(timedelta(days=5))) == paths(table.orphans(before))


def test_what_a_commit_added_meanwhile_is_reached(paimon: Path):
    standing = lakebed.open_table(paimon)
    before = paths(standing.orphans(None))
    standing.create_tag("later")
    assert paths(standing.orphans(None)) == before


@pytest.mark.parametrize("source", [SAMPLE_TABLE, SAMPLE_ICEBERG_TABLE])
@pytest.mark.parametrize("library", ["native", "pyarrow", "fsspec", "obstore"])
def test_every_storage_lists_the_same(source: Path, library: str, tmp_path: Path):
    folder = Path(shutil.copytree(source, tmp_path / "t"))
    names = (
        ["manifest/x", "statistics/y"] if source == SAMPLE_TABLE else ["metadata/x.avro", "data/x/y.parquet"]
    )
    expected = planted(folder, *names)
    options: dict[str, Any] = {} if library == "native" else {"storage": library}
    table = lakebed.open_table(folder, relocate=moved(folder), **options)
    found = [row for row in rows(table.orphans(None)) if Path(row["file_path"]).name.startswith(("x", "y"))]
    assert sorted(row["file_path"].removeprefix("file://") for row in found) == expected
    assert {row["file_size_in_bytes"] for row in found} == {6}
    assert all(row["modified_at"] is not None for row in found)


def moved(folder: Path) -> dict[str, str]:
    """Where the metadata of a copied Iceberg table says that it is → where it is."""
    files = sorted((folder / "metadata").glob("*.metadata.json")) if (folder / "metadata").is_dir() else []
    return {json.loads(file.read_text())["location"]: str(folder) for file in files}


def test_a_storage_that_lists_names_alone_is_recognized(paimon: Path):
    table = lakebed.open_table(paimon, storage=CountingStorage())
    with pytest.raises(UnsupportedError, match="listing="):
        rows(table.orphans())


def listing(files: list[str], modified: datetime | None = None, prefix: str = "") -> pa.Table:
    at = modified or datetime(2020, 1, 1, tzinfo=timezone.utc)
    times = pa.array([at] * len(files), pa.timestamp("us", "UTC"))
    return pa.table({"path": [prefix + file for file in files], "size": [7] * len(files), "modified": times})


def test_a_listing_stands_for_the_folders(paimon: Path, bucket: str, tmp_path: Path):
    table = lakebed.open_table(paimon, storage=CountingStorage())
    files = sorted(lying(paimon))
    expected = [f"{paimon}/{bucket}/data-gone.orc", f"{paimon}/manifest/x"]
    elsewhere = [f"{paimon}2/manifest/x", "s3://other/manifest/x", f"{paimon}/readme"]
    whole = listing([*files, *expected, *elsewhere])
    known = set(paths(lakebed.open_table(paimon).orphans(None)))
    pads.write_dataset(whole, tmp_path / "inventory", format="parquet")
    for given in (
        whole,
        whole.cast(
            pa.schema([("path", pa.large_string()), ("size", pa.int32()), ("modified", pa.timestamp("s"))])
        ),
        pads.dataset(tmp_path / "inventory"),
        whole.drop_columns("size"),
    ):
        found = table.orphans(listing=given)
        assert set(paths(found)) == {*expected, *known}
        assert paths(found) == paths(found), "read again"
    assert {row["file_size_in_bytes"] for row in rows(table.orphans(listing=whole))} == {7}
    # With a file of the table, which shows that the listing is of its folder.
    young = listing([*expected, *files], datetime.now(timezone.utc))
    assert rows(table.orphans(listing=young)) == []
    assert set(paths(table.orphans(None, young))) == {*expected, *known}


@pytest.mark.parametrize(
    "wrong",
    [
        {"path": ["/a"]},
        {"path": [1], "modified": pa.array([0], pa.timestamp("s"))},
        {"path": ["/a"], "modified": [0]},
        {"path": ["/a"], "size": ["x"], "modified": pa.array([0], pa.timestamp("s"))},
    ],
)
def test_a_listing_of_other_columns_is_refused(paimon: Path, wrong: dict[str, Any]):
    with pytest.raises(SchemaError, match=r"of a listing|a listing has"):
        rows(lakebed.open_table(paimon).orphans(listing=pa.table(wrong)))


@pytest.mark.parametrize(("path", "modified"), [(None, 0), ("manifest/x", 0), ("/there/manifest/x", None)])
def test_a_listing_that_leaves_out_what_decides_is_refused(
    paimon: Path, path: str | None, modified: int | None
):
    if path is not None and path.startswith("/there"):
        path = path.replace("/there", str(paimon))
    given = pa.table(
        {"path": pa.array([path], pa.string()), "modified": pa.array([modified], pa.timestamp("s"))}
    )
    with pytest.raises(SchemaError):
        rows(lakebed.open_table(paimon).orphans(listing=given))


def test_no_arrow_is_no_listing(paimon: Path):
    with pytest.raises(TypeError, match="Arrow"):
        lakebed.open_table(paimon).orphans(listing=["/a"])


@pytest.fixture
def iceberg(tmp_path: Path) -> Table:
    folder = Path(shutil.copytree(SAMPLE_ICEBERG_TABLE, tmp_path / "t"))
    return lakebed.open_table(folder, relocate=moved(folder))


def test_other_prefixes_are_an_error_and_no_orphan(iceberg: Table, tmp_path: Path):
    folder = str(tmp_path / "t")
    files = sorted(lying(tmp_path / "t"))
    expected = len(rows(iceberg.orphans(None)))
    assert paths(iceberg.orphans(listing=listing(files))) == paths(iceberg.orphans(None))
    of_bucket = listing(files, prefix="s3://bucket")
    # What the metadata leaves out is any: the engine says so too.
    assert len(rows(iceberg.orphans(listing=of_bucket))) == expected
    there = lakebed.open_table(
        folder,
        relocate={prefix: "s3://one" + now for prefix, now in moved(Path(folder)).items()},
        storage=Mounted(),
    )
    with pytest.raises(LocationError, match="equal_authorities"):
        rows(there.orphans(listing=of_bucket))
    with pytest.raises(LocationError, match="equal_authorities"):
        exchanged(there.orphans(listing=of_bucket), listed=True)
    same = there.orphans(listing=of_bucket, equal_authorities={"bucket": "one"})
    assert len(exchanged(same, listed=True)) == expected
    assert len(rows(there.orphans(listing=of_bucket, equal_authorities={"bucket": "one"}))) == expected
    with pytest.raises(LocationError, match="equal_schemes"):
        rows(there.orphans(listing=listing(files, prefix="oss://one")))
    assert (
        len(rows(there.orphans(listing=listing(files, prefix="oss://one"), equal_schemes={"oss": "s3"})))
        == expected
    )


class Mounted(CountingStorage):
    """A bucket whose keys are paths of this machine."""

    def place(self, path: str) -> Path:
        return Path(path.removeprefix("s3://one"))


def test_tables_whose_files_may_be_others_have_neither(tmp_path: Path):
    folder = Path(shutil.copytree(SAMPLE_ICEBERG_TABLE, tmp_path / "t"))
    for file in (folder / "metadata").glob("*.metadata.json"):
        with edited(file) as metadata:
            metadata["properties"] = {**metadata.get("properties", {}), "gc.enabled": "false"}
    table = lakebed.open_table(folder, relocate=moved(folder))
    assert rows(table.reachable())
    for view in (table.orphans(), table.expire_plan()):
        with pytest.raises(UnsupportedError, match=r"gc\.enabled"):
            rows(view)


@each_layout_of_golden_paimon_tables()
def test_an_expiry_frees_what_nothing_else_reaches(table: GoldenTable):
    opened = lakebed.open_table(table.path)
    all_of_it = rows(opened.reachable())
    found = rows(opened.expire_plan(NOW, 1))
    going = {row["first_reached_by"] for row in found if row["kind"] in ("snapshot", "changelog")}
    plain = [{name: row[name] for name in all_of_it[0]} for row in found]
    assert all(row in all_of_it for row in plain)
    expected = [row for row in all_of_it if {row["first_reached_by"], row["last_reached_by"]} <= going]
    # What the first and the last that go reach may be reached in between by what stays.
    assert {row["file_path"] for row in found} <= {row["file_path"] for row in expected}
    early = rows(opened.expire_plan(datetime(2000, 1, 1, tzinfo=timezone.utc)))
    # Changelogs that are kept longer go by the table's own rule, some day.
    assert early == [] or "changelog.time-retained" in opened.properties


def timeless(scan: ViewScan) -> pa.Table:
    """The rows without what differs from one plan to the next."""
    return scan.to_arrow().drop_columns(
        [name for name in ("planned_at", "plan") if name in scan.schema.names]
    )


@pytest.mark.parametrize("source", [SAMPLE_TABLE, SAMPLE_ICEBERG_TABLE])
def test_rows_are_selected_limited_and_explained(source: Path, tmp_path: Path):
    folder = Path(shutil.copytree(source, tmp_path / "t"))
    table = lakebed.open_table(folder, relocate=moved(folder))
    views: list[Callable[..., ViewScan]] = [
        table.reachable,
        lambda **more: table.orphans(None, **more),
        lambda **more: table.expire_plan(NOW, 1, **more),
    ]
    for view in views:
        whole = timeless(view())
        assert view(columns=["file_path"]).to_arrow() == whole.select(["file_path"])
        assert timeless(view(limit=1)) == whole.slice(0, 1)
        assert timeless(view(filter="file_path IS NULL")) == whole.filter(whole["file_path"].is_null())
        assert timeless(view(threads=1)).sort_by("file_path") == whole.sort_by("file_path")
        steps = view().explain().steps
        assert steps[-1].kept == whole.num_rows
        with pytest.raises(SchemaError):
            view(columns=["x"])
        assert view().to_arrow_batch_reader().schema.names == view().schema.names


@pytest.mark.parametrize("source", [SAMPLE_TABLE, SAMPLE_ICEBERG_TABLE])
def test_a_filter_on_kinds_spares_what_cannot_match(source: Path, tmp_path: Path):
    folder, storage = Path(shutil.copytree(source, tmp_path / "t")), CountingStorage()
    table = lakebed.open_table(folder, storage=storage, relocate=moved(folder))
    views: list[Callable[..., ViewScan]] = [table.reachable, lambda **more: table.expire_plan(NOW, 1, **more)]
    for view in views:
        whole = timeless(view())
        kinds = [*whole["kind"].unique().to_pylist(), "extra", "no kind"]
        for kind in kinds:
            storage.forget()
            found = timeless(view(filter=f"kind = '{kind}'"))
            assert found == whole.filter(pc.equal(whole["kind"], kind)), kind
            of_entries = ("data", "extra") if table.format == "paimon" else CONTENT
            read = [name for name in storage.manifests() if not name.startswith("index-")]
            assert bool(read) == (kind in of_entries and kind in {*kinds[:-2], "extra"}), kind
        lists = [path for path, _, _ in storage.reads if "manifest-list" in path or "snap-" in path]
        assert lists == [], "of no kind"
        either = timeless(view(filter="kind = 'manifest' OR file_size_in_bytes >= 0"))
        is_either = pc.or_kleene(
            pc.equal(whole["kind"], "manifest"), pc.greater_equal(whole["file_size_in_bytes"], 0)
        )
        assert either == whole.filter(is_either)


def test_manifests_are_read_once(paimon: Path):
    storage = CountingStorage()
    table = lakebed.open_table(paimon, storage=storage)
    storage.forget()
    manifests = [row for row in rows(table.reachable()) if row["kind"] == "manifest"]
    read = storage.manifests()
    assert sorted(name for name in read if not name.startswith("index-")) == sorted(
        Path(row["file_path"]).name for row in manifests
    )
    steps = table.reachable().explain().steps
    assert steps[0].kept == len(manifests)
    assert steps[0].total is not None
    assert steps[0].total > len(manifests), "snapshots share manifests"
    storage.forget()
    rows(table.reachable(limit=1))
    assert storage.manifests() == [], "files of the metadata come first"


@pytest.mark.parametrize("wrong", [{"older_than": 3}, {"older_than": timedelta(days=-1)}, {"retain_last": 0}])
def test_what_is_no_age_is_refused(paimon: Path, wrong: dict[str, Any]):
    with pytest.raises((TypeError, ValueError)):
        lakebed.open_table(paimon).expire_plan(**wrong)


def test_paths_of_a_listing_are_absolute_wherever_the_table_was_opened(
    paimon: Path, monkeypatch: pytest.MonkeyPatch
):
    (orphan,) = planted(paimon, "manifest/manifest-lost")
    files = [*sorted(lying(paimon))]
    old = datetime(2020, 1, 1, tzinfo=timezone.utc)
    listing = pa.table({"path": files, "size": [6] * len(files), "modified": [old] * len(files)})
    monkeypatch.chdir(paimon.parent)
    for location in (paimon.name, f"../{paimon.parent.name}/{paimon.name}"):
        found = paths(lakebed.open_table(location).orphans(None, listing))
        assert found == [f"{location}{orphan.removeprefix(str(paimon))}"]


def test_the_commands_say_the_same(paimon: Path, bucket: str, tmp_path: Path):
    (orphan,) = planted(paimon, f"{bucket}/data-x.orc")
    # Older than any clock's step back between the commands.
    os.utime(orphan, (0, 0))
    table = lakebed.open_table(paimon)
    inventory = tmp_path / "inventory.csv"
    files = "".join(f"{file},6,2020-01-01T00:00:00Z\n" for file in sorted(lying(paimon)))
    inventory.write_text("path,size,modified\n" + files)
    for arguments, scan in (
        (["reachable"], table.reachable()),
        (["orphans", "--older-than", "0s"], table.orphans(NOW)),
        (["orphans", "--listing", str(inventory)], table.orphans(None)),
        (["expire-plan", "--older-than", "0s", "--retain-last", "1"], table.expire_plan(NOW, 1)),
    ):
        rows = printed(arguments[0], paimon, *arguments[1:], "--columns", "file_path")
        assert sorted(row["file_path"] for row in rows) == paths(scan)
    assert run("orphans", paimon, "--older-than", "soon").exit_code == 2
    assert "listed files" in output("orphans", paimon, "--older-than", "0s", "--explain")
