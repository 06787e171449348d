"""Appends to tables of many manifests: the lists before become the next base list, all of them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from file_rows import file_rows

import lakebed
from lakebed import Table, paimon
from lakebed.errors import LakebedError

COLUMNS = pa.schema([("id", pa.int64())])
MANIFESTS = 1500


def lists(table: Table) -> list[Path]:
    said = paimon.read_snapshot(Path(table.location, f"snapshot/snapshot-{table.snapshot_id}"))
    return [Path(table.location, "manifest", said[f"{kind}ManifestList"]) for kind in ("base", "delta")]


def listed(table: Table) -> pa.Table:
    return pa.concat_tables(paimon.read_manifest_list(path).to_arrow() for path in lists(table))


def many(tmp_path: Path, **written: Any) -> Table:
    """A table whose base list has as many manifests, which nobody needs who does not look into them."""
    table = lakebed.create_table(tmp_path / "t", COLUMNS, "paimon")
    table = table.append_files(file_rows("bucket-0/a"))
    base, delta = lists(table)
    record = paimon.read_manifest_list(delta).to_arrow()
    place = record.schema.get_field_index("file_name")
    names = pa.array([f"manifest-{number * 7919 % 99991:x}-{number}" for number in range(MANIFESTS)])
    records = pa.concat_tables([record] * MANIFESTS).set_column(place, record.schema.field(place), names)
    list_bytes = paimon.write_manifest_list(records, **written)
    assert list_bytes is not None
    base.write_bytes(list_bytes)
    path = Path(table.location, "snapshot/snapshot-1")
    said = {**paimon.read_snapshot(path), "baseManifestListSize": len(list_bytes)}
    path.write_bytes(paimon.write_snapshot(said) or b"")
    return lakebed.open_table(table.location)


@pytest.mark.parametrize(
    ("written", "copied"),
    [({}, True), ({"layout": "2.1"}, True), ({"codec": "deflate"}, False), ({"block_bytes": 1000}, False)],
    ids=str,
)
def test_lists_are_joined(written: dict[str, Any], copied: bool, tmp_path: Path) -> None:
    """Blocks of a list as it would be written here are copied, others and small ones made anew."""
    table = many(tmp_path, **written)
    before, payload = listed(table), lists(table)[0].read_bytes()[4000:4100]
    for name in ("b", "c"):
        table = table.append_files(file_rows(f"bucket-0/{name}"), check_files=False)
        after = listed(table)
        assert after.slice(0, len(before)).to_pylist() == before.to_pylist()
        assert len(after) == len(before) + 1
        assert (payload in lists(table)[0].read_bytes()) == copied
        before = after
    ours = paimon.write_manifest_list(before.slice(0, len(before) - 1))
    assert ours is not None
    assert abs(len(ours) - lists(table)[0].stat().st_size) < len(ours) // 10


def test_a_list_that_is_damaged_is_not_passed_on(tmp_path: Path) -> None:
    table = many(tmp_path)
    base = lists(table)[0]
    damaged = bytearray(base.read_bytes())
    damaged[4000:4050] = bytes(50)
    base.write_bytes(damaged)
    before = sorted(Path(table.location, "manifest").iterdir())
    with pytest.raises(LakebedError) as refused:
        table.append_files(file_rows("bucket-0/b"), check_files=False)
    assert refused.value.path == str(base)
    assert sorted(Path(table.location, "manifest").iterdir()) == before
