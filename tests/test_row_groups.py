"""Ranges of Parquet manifests: each row group is of one range, and its entries are those of the whole."""

from __future__ import annotations

import shutil
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from columnar_damage import thrift, thrift_bytes
from counting_storage import CountingStorage
from row_groups import in_ranges, manifests, record_lengths, regroup, regrouped

import lakebed
from iceberg_golden import golden
from lakebed.errors import CorruptError, TruncatedError
from lakebed.spark.inputs import Reading, contents
from lakebed.view import Bounds
from shared_data import GoldenTable as GoldenPaimonTable
from shared_data import each_golden_paimon_table
from spark_rows import expected, sorted_rows

TABLES = (
    "append_manifest_v4",
    "dv_v4",
    "eq_deletes_v4",
    "nested_v4",
    "part_time_v4",
    "row_lineage_v4",
    "spec_evolution_v4",
    "upgrade_v2_v3_v4",
)
FIELDS = ["file_path", "record_count", "first_row_id", "sequence_number"]


@pytest.mark.parametrize("name", TABLES)
def test_ranges_have_the_rows_of_the_whole_once(name: str, tmp_path: Path) -> None:
    golden_table = golden(name)
    table = regrouped(golden_table, tmp_path / "t", rows=2)
    paths = {str(path) for path in manifests(table.entries())}
    assert paths
    moved = lambda rows: [row.replace(str(tmp_path / "t"), str(golden_table.path)) for row in rows]  # noqa: E731
    for view in ("entries", "files", "deletes"):
        rows = expected(getattr(table, view)())
        # Other row groups do not change what a table says.
        assert sorted(moved(rows)) == expected(getattr(golden_table.open(), view)()), view
        for step in (700, 3000):
            found, counts = in_ranges(getattr(table, view)(), step)
            assert sorted_rows(found) == rows, (view, step)
            if view == "entries":
                assert {path for path, _ in counts} >= paths
                of_groups = [count for path, count in counts if path in paths and count]
                assert len(of_groups) > len(paths), "entries of one manifest came of several ranges"


def test_row_groups_that_iceberg_wrote() -> None:
    """Of one manifest, as it is: its entries inherit row ids."""
    table = golden("append_manifest_v4").open()
    scan = table.entries()
    (path,) = manifests(scan)
    found, counts = in_ranges(scan, 4000)
    assert sorted_rows(found) == expected(scan)
    assert len([count for name, count in counts if name == str(path) and count]) > 1


@each_golden_paimon_table("manifest_fmt_parquet")
def test_paimons_manifests(table: GoldenPaimonTable, tmp_path: Path) -> None:
    copy = Path(shutil.copytree(table.path, tmp_path / "t"))
    opened = lakebed.open_table(copy)
    rows = {view: expected(getattr(opened, view)()) for view in ("entries", "files")}
    for manifest in opened.entries().planned_manifests():
        path = Path(manifest["path"])
        assert path.read_bytes().startswith(b"PAR1")
        path.chmod(0o644)
        regroup(path, rows=1)
    for view, whole in rows.items():
        found, counts = in_ranges(getattr(opened, view)(), 700, are_recorded=False)
        assert sorted_rows(found) == whole
        assert len([count for _, count in counts if count]) > 1


def test_row_ids_follow_those_of_the_row_groups_before(tmp_path: Path) -> None:
    """Also where they are the only column asked for, and where none of the columns is."""
    table = regrouped(golden("append_manifest_v4"), tmp_path / "t", rows=1)
    for columns in (["first_row_id"], FIELDS, ["file_path"]):
        scan = table.files(columns=columns)
        found, counts = in_ranges(scan, 500)
        assert len(counts) > 10
        assert sorted_rows(found) == expected(scan)
    ids = table.files(columns=["first_row_id"]).to_arrow()["first_row_id"].to_pylist()
    assert None not in ids
    assert len({*ids}) == len(ids)


def test_ranges_of_every_cut(tmp_path: Path) -> None:
    table = regrouped(golden("row_lineage_v4"), tmp_path / "t", rows=1)
    scan = table.entries(columns=FIELDS)
    rows, (path, *_) = expected(scan), [*manifests(scan)]
    groups = pq.read_metadata(path)
    ends = [groups.row_group(number).column(0).data_page_offset for number in range(groups.num_row_groups)]
    for step in {end + more for end in ends for more in (-1, 0, 1)} | {1 << 20}:
        found, _ = in_ranges(scan, step)
        assert sorted_rows(found) == rows, step


def test_requests_of_a_range(tmp_path: Path) -> None:
    table = regrouped(golden("append_manifest_v4"), tmp_path / "t", rows=1)
    job = table.files().job(Bounds())
    assert job is not None
    storage = CountingStorage()
    reading = Reading(lakebed.LIMITS, storage=storage)
    large = [one for one in job.manifests if one["counted"] and one["path"].endswith(".parquet")]
    pieces = reading.pieces(large, 1000)
    assert len(storage.reads) == 3 * len(large), (
        "whether it is as long as recorded, its beginning, its footer"
    )
    for piece in pieces:
        storage.forget()
        found = list(contents([piece], storage, lakebed.LIMITS))
        # These row groups are small, so that what it needs of those before is one request.
        needed = 1 if piece.start == 0 else 2
        assert len(storage.reads) == needed * len(found)


def test_one_row_group_is_not_divided(tmp_path: Path) -> None:
    table = regrouped(golden("append_manifest_v4"), tmp_path / "t", rows=100_000)
    found, counts = in_ranges(table.entries(), 100)
    assert not [path for path, _ in counts if path.endswith(".parquet")]
    assert sorted_rows(found) == expected(table.entries())


def test_fewer_entries_than_the_list_records_are_an_error(tmp_path: Path) -> None:
    table = regrouped(golden("append_manifest_v4"), tmp_path / "t", rows=1)
    (path, *_) = manifests(table.entries())
    pq.write_table(pq.read_table(path).slice(1), path, row_group_size=1, store_schema=False)
    record_lengths(golden("append_manifest_v4"), tmp_path / "t")
    with pytest.raises(CorruptError, match="its list records") as refused:
        in_ranges(table.entries(), 1000)
    assert refused.value.kind == "mismatch"
    assert str(refused.value.path).endswith(path.name)


def test_a_damaged_row_group_is_an_error_at_its_place(tmp_path: Path) -> None:
    table = regrouped(golden("row_lineage_v4"), tmp_path / "t", rows=1)
    (path, *_) = manifests(table.entries())
    content, groups = bytearray(path.read_bytes()), pq.read_metadata(path)
    number = groups.num_row_groups - 1
    column = groups.row_group(number).column(0)
    start = column.dictionary_page_offset or column.data_page_offset
    content[start : start + 8] = b"\xff" * 8
    path.write_bytes(content)
    for whole in (True, False):
        with pytest.raises(CorruptError) as refused:
            table.entries().to_arrow() if whole else in_ranges(table.entries(), 1000)
        assert (refused.value.block, refused.value.field) == (number, "status")
        assert start <= (refused.value.offset or 0) < start + column.total_compressed_size
        assert str(refused.value.path).endswith(path.name)


def test_a_manifest_that_was_cut_meanwhile_is_an_error(tmp_path: Path) -> None:
    table = regrouped(golden("row_lineage_v4"), tmp_path / "t", rows=1)
    job = table.entries().job(Bounds())
    assert job is not None
    pieces = [piece for piece in Reading(lakebed.LIMITS).pieces(job.manifests, 1000) if piece.header]
    path = Path(pieces[-1].path)
    last = pq.read_metadata(path).row_group(pq.read_metadata(path).num_row_groups - 1).column(0)
    path.write_bytes(path.read_bytes()[: last.data_page_offset])
    with pytest.raises(TruncatedError, match=path.name):
        list(contents(pieces, None, lakebed.LIMITS))


def test_another_length_or_encryption_is_read_whole(tmp_path: Path) -> None:
    table = regrouped(golden("row_lineage_v4"), tmp_path / "t", rows=1)
    (path, *_) = manifests(table.entries())
    regroup(path, rows=3)
    with pytest.warns(lakebed.errors.LakebedWarning, match="its list records"):
        rows = expected(table.entries())
    found, counts = in_ranges(table.entries(), 1000)
    assert sorted_rows(found) == rows
    assert not [name for name, _ in counts if name == str(path)]
    encrypted = golden("encrypted_v4").open()
    assert not [one for one in encrypted.entries().planned_manifests() if one["divisible"]]


def test_row_groups_out_of_order_are_read_whole(tmp_path: Path) -> None:
    """Those in front of one, over which row ids are counted, are then not those of lower offsets."""
    table = regrouped(golden("row_lineage_v4"), tmp_path / "t", rows=1)
    (path, *_) = manifests(table.entries())
    content = path.read_bytes()
    at = len(content) - 8 - int.from_bytes(content[-8:-4], "little")
    footer, _ = thrift(content, at)
    footer.get(4)[1:] = reversed(footer.get(4)[1:])
    end = thrift_bytes(footer)
    path.write_bytes(content[:at] + end + len(end).to_bytes(4, "little") + b"PAR1")
    record_lengths(golden("row_lineage_v4"), tmp_path / "t")
    found, counts = in_ranges(table.entries(), 1000)
    assert sorted_rows(found) == expected(table.entries())
    assert not [name for name, _ in counts if name == str(path)]
