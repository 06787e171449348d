"""Which partition `describe_files` finds a file in: by its bounds, by its folders, or where neither tells."""

from __future__ import annotations

import datetime as dt
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from raising import raises

import lakebed
from lakebed.errors import SchemaError

UTC = dt.timezone.utc
NOON = dt.datetime(2026, 5, 17, 12, tzinfo=UTC)
SCHEMA = pa.schema(
    [
        ("id", pa.int64()),
        ("region", pa.string()),
        ("at", pa.timestamp("us", "UTC")),
        ("ratio", pa.float64()),
        ("inner", pa.struct([("day", pa.date32())])),
    ]
)


def made(folder: Path, *by: str) -> lakebed.Table:
    return lakebed.create_table(folder / "t", SCHEMA, "iceberg", partition_by=list(by))


def written(folder: Path, **columns: list[Any]) -> Path:
    path = folder / "a.parquet"
    path.parent.mkdir(parents=True, exist_ok=True)
    kinds = {name: SCHEMA.field(name).type for name in columns}
    pq.write_table(pa.table({name: pa.array(values, kinds[name]) for name, values in columns.items()}), path)
    return path


def partition(table: lakebed.Table, path: Path) -> dict[str, Any]:
    (row,) = lakebed.describe_files([path], table).to_pylist()
    # The commit takes it, and its own filter finds it.
    assert table.append_files(lakebed.describe_files([path], table)).files().to_arrow().num_rows == 1
    return dict(row["partition"])


TRANSFORMS = [
    ("region", {"region": "region"}, {"region": ["emea", "emea"]}, "emea"),
    ("truncate(3, region)", {}, {"region": ["emea", "emeb"]}, "eme"),
    ("bucket(16, id)", {}, {"id": [34, 34]}, 3),
    ("day(at)", {}, {"at": [NOON, NOON + dt.timedelta(hours=11)]}, dt.date(2026, 5, 17)),
    ("hour(at)", {}, {"at": [NOON, NOON + dt.timedelta(minutes=59)]}, 494_172),
    ("month(at)", {}, {"at": [NOON, NOON + dt.timedelta(days=10)]}, 56 * 12 + 4),
    ("year(at)", {}, {"at": [NOON, NOON + dt.timedelta(days=100)]}, 56),
    ("region", {}, {"region": [None, None]}, None),
    ("day(inner.day)", {}, {"inner": [{"day": dt.date(2026, 1, 2)}]}, dt.date(2026, 1, 2)),
]


@pytest.mark.parametrize(("by", "_", "columns", "value"), TRANSFORMS, ids=str)
def test_bounds_of_one_partition_tell_it(
    tmp_path: Path, by: str, _: Any, columns: dict[str, Any], value: Any
):
    found = partition(made(tmp_path, by), written(tmp_path, **columns))
    assert list(found.values()) == [value]


@pytest.mark.parametrize(
    ("by", "columns", "message"),
    [
        ("region", {"region": ["emea", "apac"]}, "rows of two partitions: region is 'apac' and 'emea'"),
        ("region", {"region": ["emea", None]}, "region is null in some, and not in others"),
        ("day(at)", {"at": [NOON, NOON + dt.timedelta(hours=12)]}, "'2026-05-17' and '2026-05-18'"),
        # Both may be in the same bucket, and what is between them in another.
        ("bucket(1, id)", {"id": [1, 3]}, "rows of several id may be of several id_bucket"),
        ("region", {"id": [1]}, "neither its footer nor a folder tells its region"),
        # A footer does not say whether there is NaN.
        ("ratio", {"ratio": [0.5, 0.5]}, "neither its footer nor a folder tells its ratio"),
        ("region", {"region": []}, "neither its footer nor a folder tells its region"),
    ],
    ids=str,
)
def test_files_of_no_one_partition_are_refused(
    tmp_path: Path, by: str, columns: dict[str, Any], message: str
):
    table = made(tmp_path, by)
    name = next(iter(table.files().schema.field("partition").type)).name
    path = written(tmp_path, **columns)
    with raises(SchemaError, message, kind="mismatch", path=str(path), field=name):
        lakebed.describe_files([path], table)


FOLDERS = [
    ("region", "region=a%2Fb", {"id": [1]}, "a/b"),
    ("region", "region=__HIVE_DEFAULT_PARTITION__", {"id": [1]}, None),
    ("region", "x=1/region=emea/y=2", {"region": ["emea"]}, "emea"),
    ("id", "id=7", {"region": ["a"]}, 7),
    ("day(at)", "at=2026-05-17 12:00:00", {"id": [1]}, dt.date(2026, 5, 17)),
    ("day(at)", "at_day=2026-05-17", {"id": [1]}, dt.date(2026, 5, 17)),
    ("month(at)", "at_month=2026-05", {"at": [NOON]}, 56 * 12 + 4),
    ("year(at)", "at_year=2026", {"id": [1]}, 56),
    ("hour(at)", "at_hour=2026-05-17-12", {"id": [1]}, 494_172),
    ("bucket(16, id)", "id_bucket=3", {"region": ["a"]}, 3),
    ("truncate(3, region)", "region_trunc=eme", {"id": [1]}, "eme"),
    ("ratio", "ratio=0.5", {"id": [1]}, 0.5),
]


@pytest.mark.parametrize(("by", "folder", "columns", "value"), FOLDERS, ids=str)
def test_folders_tell_partitions(tmp_path: Path, by: str, folder: str, columns: dict[str, Any], value: Any):
    found = partition(made(tmp_path, by), written(tmp_path / folder, **columns))
    assert list(found.values()) == [value]


@pytest.mark.parametrize(
    ("by", "folder", "columns", "message", "kind"),
    [
        ("region", "region=apac", {"region": ["emea"]}, "its folder says otherwise", "mismatch"),
        ("region", "region=apac", {"region": [None]}, "its folder says otherwise", "mismatch"),
        ("month(at)", "at_month=2026-06", {"at": [NOON]}, "its folder says otherwise", "mismatch"),
        ("id", "id=seven", {"region": ["a"]}, "id is 'seven', which is no int64", "argument"),
        ("bucket(16, id)", "id_bucket=16", {"region": ["a"]}, "is '16', which it cannot be", "argument"),
        ("year(at)", "at_year=99999999999", {"id": [1]}, "which it cannot be", "argument"),
        ("month(at)", "at_month=May", {"id": [1]}, "at_month is 'May', which it cannot be", "argument"),
    ],
    ids=str,
)
def test_folders_that_say_otherwise_are_refused(
    tmp_path: Path, by: str, folder: str, columns: dict[str, Any], message: str, kind: str
):
    path = written(tmp_path / folder, **columns)
    with raises(SchemaError, message, kind=kind, path=str(path)):
        lakebed.describe_files([path], made(tmp_path, by))


def test_each_file_of_many_has_its_own(tmp_path: Path):
    table = made(tmp_path, "region", "day(at)")
    for number, region in enumerate(("a", "b", None)):
        day = NOON + dt.timedelta(days=number)
        written(tmp_path / "x" / str(number), region=[region], at=[day])
    rows = lakebed.describe_files(tmp_path / "x", table)
    assert rows["partition"].to_pylist() == [
        {"region": region, "at_day": dt.date(2026, 5, 17 + number)}
        for number, region in enumerate(("a", "b", None))
    ]


def test_a_required_column_may_be_in_the_folder_alone(tmp_path: Path):
    schema = pa.schema([("id", pa.int64()), pa.field("region", pa.string(), nullable=False)])
    table = lakebed.create_table(tmp_path / "t", schema, "iceberg", partition_by=["region"])
    assert partition(table, written(tmp_path / "region=emea", id=[1])) == {"region": "emea"}
    with raises(SchemaError, "the file lacks it", field="region"):
        lakebed.describe_files([written(tmp_path, id=[1])], table)


def test_the_default_spec_is_that_of_new_files(tmp_path: Path):
    table = made(tmp_path, "region").update_spec(remove=["region"], add=["day(at)"])
    (row,) = lakebed.describe_files([written(tmp_path, at=[NOON])], table).to_pylist()
    assert (row["spec_id"], row["partition"]) == (1, {"region": None, "at_day": dt.date(2026, 5, 17)})
