"""Paimon's times beyond what Arrow has room for: compared and committed as they are, shown as null."""

from __future__ import annotations

import json
import struct
import warnings
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from command_line import printed, run
from paimon_made import ADD, MadeTable, entry

import lakebed
from lakebed.errors import LakebedWarning, PredicateError, SchemaError

DAY = 86_400_000
# Milliseconds of midnights, and nanoseconds.
FAR, NEXT_TO_IT, EARLY, NEAR = (
    253_402_214_400_000,
    253_402_128_000_000,
    -62_135_596_800_000,
    1_704_067_200_000,
)
TEXTS = {FAR: "9999-12-31", NEXT_TO_IT: "9999-12-30", EARLY: "0001-01-01", NEAR: "2024-01-01"}
# The last nanosecond that Arrow's timestamps of nanoseconds have.
LAST_MILLIS, LAST_NANOS = divmod(2**63 - 1, 1_000_000)
# Past the last microsecond that those of microseconds have: the year 294247.
BEYOND_MICROS = 2**63 // 1000 + DAY


def row(millis: int | None, nanos: int = 0) -> bytes:
    """One time of more than three digits as a BinaryRow."""
    null = int(millis is None) << 8
    slot = struct.pack("<II", nanos, 16)
    return struct.pack(">i", 1) + struct.pack("<Q", null) + slot + struct.pack("<q", millis or 0)


def short_row(millis: int) -> bytes:
    """One time of at most three digits."""
    return struct.pack(">i", 1) + bytes(8) + struct.pack("<q", millis)


def bounds(lower: bytes, upper: bytes) -> dict[str, Any]:
    return {"_MIN_VALUES": lower, "_MAX_VALUES": upper, "_NULL_COUNTS": [0]}


def folder(millis: int | None) -> str:
    return "until=" + ("__DEFAULT_PARTITION__" if millis is None else f"{TEXTS[millis]}T00%3A00")


@pytest.fixture
def measured(tmp_path: Path) -> lakebed.Table:
    """Files whose statistics are before, across and beyond what nanoseconds have room for."""
    made = MadeTable(tmp_path / "t", ("until", "TIMESTAMP(9)"))
    files = {
        "early": (row(EARLY), row(EARLY, 999_999)),
        "near": (row(NEAR), row(LAST_MILLIS, LAST_NANOS)),
        "across": (row(NEAR), row(LAST_MILLIS, LAST_NANOS + 1)),
        "far": (row(FAR, 1), row(FAR, 2)),
    }
    made.commit(*(entry(ADD, f"{name}.parquet", value_stats=bounds(*both)) for name, both in files.items()))
    return lakebed.open_table(made.root)


def names(scan: Any) -> list[str]:
    return sorted(Path(path).stem for path in scan.to_arrow()["file_path"].to_pylist())


@pytest.mark.parametrize(
    ("where", "expected"),
    [
        ("until >= '9999-12-31'", ["far"]),
        ("until <= '9999-12-31'", ["across", "early", "near"]),
        ("until = '9999-12-31 00:00:00.000000001'", ["far"]),
        ("until IN ('9999-12-31 00:00:00.000000003', '9999-12-31')", []),
        ("until > '9999-12-31 00:00:00.000000002'", []),
        ("until < '0001-01-01 00:00:00.000000001'", ["early"]),
        ("until < '0001-01-01'", []),
        ("until > '2262-04-11 23:47:16.854775807'", ["across", "far"]),
        ("until > '2262-04-11 23:47:16.854775808'", ["far"]),
        ("until BETWEEN '3000-01-01' AND '9999-12-30'", []),
        ("until NOT BETWEEN '0001-01-01' AND '9999-12-30'", ["far"]),
        ("until <> '9999-12-31'", ["across", "early", "far", "near"]),
        ("until <=> NULL", []),
    ],
)
def test_statistics_are_compared_as_they_are_stored(measured: lakebed.Table, where: str, expected: list[str]):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert names(measured.plan(where=where, columns=["file_path"])) == expected
        assert names(measured.files(where=where)) == expected


def test_bounds_beyond_arrows_nanoseconds_are_null_and_no_others(measured: lakebed.Table):
    scan = measured.files(columns=["file_name"], stats=["until"])
    with pytest.warns(LakebedWarning, match="until.*shown as null") as caught:
        read = scan.to_arrow()
    assert len(caught) == 1
    file_names = [Path(name).stem for name in read["file_name"].to_pylist()]
    stats = dict(zip(file_names, read["stats"].combine_chunks().field("until"), strict=True))
    kept = {
        name: [bound for bound in ("lower_bound", "upper_bound") if stats[name][bound].is_valid]
        for name in stats
    }
    both = ["lower_bound", "upper_bound"]
    assert kept == {"early": [], "near": both, "across": ["lower_bound"], "far": []}
    assert stats["near"]["upper_bound"].value == 2**63 - 1
    assert {name: value["null_count"].as_py() for name, value in stats.items()} == dict.fromkeys(kept, 0)
    texts = measured.metadata_table("files").to_arrow()["max_value_stats"].to_pylist()
    assert "{until=9999-12-31T00:00:00.000000002}" in texts
    findings = measured.verify().to_arrow().to_pylist()
    assert [finding for finding in findings if "until" in finding["message"]] == []


@pytest.mark.parametrize(
    ("kind", "make"), [("TIMESTAMP(3)", short_row), ("TIMESTAMP(6)", row), ("TIMESTAMP_LTZ(6)", row)]
)
def test_so_are_times_beyond_microseconds(tmp_path: Path, kind: str, make: Any):
    made = MadeTable(tmp_path / "t", ("until", kind))
    near = make(NEAR)
    made.commit(
        entry(ADD, "near.parquet", value_stats=bounds(near, near)),
        entry(ADD, "beyond.parquet", value_stats=bounds(near, make(BEYOND_MICROS))),
    )
    table = lakebed.open_table(made.root)
    assert names(table.plan(where="until > '2024-01-01'")) == ["beyond"]
    assert names(table.plan(where="until >= '294247-01-11'")) == ["beyond"]
    assert names(table.plan(where="until > '9999999-01-01'")) == []
    with pytest.warns(LakebedWarning, match=r"timestamp|Timestamp"):
        stats = table.files(stats=["until"]).to_arrow()["stats"].combine_chunks().field("until")
    assert stats.field("upper_bound").null_count == 1
    assert stats.field("lower_bound").null_count == 0


@pytest.fixture(params=["TIMESTAMP(9)", "TIMESTAMP_LTZ(9)"])
def partitioned(request: pytest.FixtureRequest, tmp_path: Path) -> lakebed.Table:
    """A partition of each time, and one without."""
    made = MadeTable(tmp_path / "t", ("until", request.param), ("id", "INT"), partitionKeys=["until"])
    times = [None, NEAR, EARLY, FAR, NEXT_TO_IT, FAR]
    for number, millis in enumerate(times):
        made.commit(entry(ADD, f"{number}.parquet", row(millis)))
    return lakebed.open_table(made.root)


def paths(table: lakebed.Table, **how: Any) -> list[str]:
    found = table.files(columns=["file_path"], **how).to_arrow()["file_path"].to_pylist()
    return [path.removeprefix(f"{table.location}/").replace("/bucket-0", "") for path in found]


def test_partitions_are_told_apart_by_what_is_stored(partitioned: lakebed.Table):
    every = [folder(None), folder(NEAR), folder(EARLY), folder(FAR), folder(NEXT_TO_IT), folder(FAR)]
    assert paths(partitioned) == [f"{place}/{n}.parquet" for n, place in enumerate(every)]
    for view in ("partitions", "buckets"):
        with pytest.warns(LakebedWarning, match="until"):
            rows = getattr(partitioned, view)(columns=["partition", "file_count"]).to_arrow().to_pylist()
        assert [row["file_count"] for row in rows] == [1, 1, 1, 2, 1]
        assert [row["partition"]["until"] is None for row in rows] == [True, False, True, True, True]
    for where, expected in {
        "until = '9999-12-31'": [3, 5],
        "until <> '9999-12-31'": [1, 2, 4],
        "until IS NULL": [0],
        "until IS NOT NULL": [1, 2, 3, 4, 5],
        "until < '0001-01-02'": [2],
        "until IN ('9999-12-30', '2024-01-01')": [1, 4],
    }.items():
        assert [int(Path(path).stem) for path in paths(partitioned, where=where)] == expected, where
        found = names(partitioned.plan(where=where, columns=["file_path"]))
        assert found == [str(number) for number in expected]
    names_of = partitioned.metadata_table("partitions").to_arrow()["partition"].to_pylist()
    assert "until=9999-12-31 00:00:00.000000000" in names_of
    with pytest.warns(LakebedWarning, match="until"):
        assert (
            partitioned.manifests().to_arrow()["partition_lower"].combine_chunks().field("until").null_count
            == 5
        )
    assert partitioned.health().to_arrow()["partition_count"].to_pylist() == [5]


def test_the_command_line_says_what_is_not_shown(partitioned: lakebed.Table):
    done = run("partitions", partitioned.location, "-o", "json", "--columns", "partition")
    assert done.exit_code == 0, done.stderr
    shown = [json.loads(line)["partition"]["until"] for line in done.stdout.splitlines()]
    assert [text and text[:10] for text in shown] == [None, "2024-01-01", None, None, None]
    assert "shown as null" in done.stderr
    assert len(printed("files", partitioned.location, "--where", "until = '9999-12-30'")) == 1


def given(until: Any, name: str, place: int | None) -> pa.Table:
    """A file of one partition, to be committed."""
    return pa.table(
        {
            "file_path": [f"{folder(place)}/bucket-0/{name}"],
            "record_count": pa.array([1]),
            "file_size_in_bytes": pa.array([1]),
            "partition": pa.array([{"until": until}], pa.struct([("until", pa.timestamp("us"))])),
        }
    )


def test_a_file_is_described_by_rows_with_far_times(tmp_path: Path):
    schema = pa.schema([("until", pa.timestamp("ns")), ("at", pa.timestamp("ns")), ("id", pa.int32())])
    table = lakebed.create_table(tmp_path / "t", schema, "paimon", partition_by=["until"])
    far, first = datetime(9999, 12, 31), datetime(9999, 12, 30, 12)
    rows = pa.table(
        {"until": pa.array([far, far]), "at": pa.array([first, far]), "id": pa.array([1, 2], pa.int32())}
    )
    described = lakebed.describe_file(table, f"{folder(FAR)}/bucket-0/a.parquet", rows, file_size_in_bytes=1)
    assert described["partition"][0].as_py() == {"until": far}
    assert described["stats"][0].as_py()["at"]["lower_bound"] == first
    table = table.append_files(described)
    assert paths(table) == [f"{folder(FAR)}/a.parquet"]
    assert paths(table, where="at >= '9999-12-31' AND until = '9999-12-31'") == [f"{folder(FAR)}/a.parquet"]
    assert paths(table, where="at < '9999-12-30 12:00:00'") == []
    assert paths(table, where="until < '9999-12-31'") == []


class Later(datetime):
    """A kind of datetime."""


def test_a_partitions_values_are_of_its_type(tmp_path: Path):
    schema = pa.schema([("until", pa.timestamp("ns")), ("id", pa.int32())])
    table = lakebed.create_table(tmp_path / "t", schema, "paimon", partition_by=["until"])
    new = given(datetime(9999, 12, 31), "c", FAR)
    made = table.overwrite_partitions(new, {"until": Later(9999, 12, 31)})
    assert paths(made) == [f"{folder(FAR)}/c"]
    for value in ("9999-12-31", object(), 2**70):
        with pytest.raises(SchemaError, match="has no value") as refused:
            table.overwrite_partitions(new, {"until": value})
        assert refused.value.field == "until"


@pytest.mark.parametrize("static", [True, False])
def test_an_overwrite_takes_the_one_partition(tmp_path: Path, static: bool):
    schema = pa.schema([("until", pa.timestamp("ns")), ("id", pa.int32())])
    table = lakebed.create_table(tmp_path / "t", schema, "paimon", partition_by=["until"])
    far, next_to_it = datetime(9999, 12, 31), datetime(9999, 12, 30)
    for until, name, place in [(None, "n", None), (far, "a", FAR), (next_to_it, "b", NEXT_TO_IT)]:
        table = table.append_files(given(until, name, place))
    before = [f"{folder(None)}/n", f"{folder(FAR)}/a", f"{folder(NEXT_TO_IT)}/b"]
    assert paths(table) == before
    new = given(far, "c", FAR)
    table = table.overwrite_partitions(new, {"until": far} if static else None)
    assert sorted(paths(table)) == sorted([before[0], f"{folder(FAR)}/c", before[2]])
    table = table.overwrite_partitions(given(None, "m", None), {"until": None} if static else None)
    assert sorted(paths(table)) == sorted([f"{folder(None)}/m", f"{folder(FAR)}/c", before[2]])
    # Manifests that lakebed writes bound their partitions as they are.
    for sort in (False, True):
        table = table.rewrite_manifests(sort=sort)
        assert paths(table, where="until = '9999-12-30'") == [before[2]]
        assert sorted(paths(table, where="until > '9999-01-01'")) == sorted([before[2], f"{folder(FAR)}/c"])
    with pytest.warns(LakebedWarning, match="until"):
        rows = table.files(where="until = '9999-12-31'").to_arrow()
    table = table.delete_files(rows)
    assert sorted(paths(table)) == sorted([f"{folder(None)}/m", before[2]])


def test_statistics_that_are_committed_are_stored_as_they_are(tmp_path: Path):
    table = lakebed.create_table(tmp_path / "t", pa.schema([("until", pa.timestamp("ns"))]), "paimon")
    bound = pa.struct([(side, pa.timestamp("us")) for side in ("lower_bound", "upper_bound")])
    stats = pa.array(
        [{"until": {"lower_bound": datetime(2024, 1, 1), "upper_bound": datetime(9999, 12, 31)}}],
        pa.struct([("until", bound)]),
    )
    files = given(None, "a", None).drop_columns(["partition"]).set_column(0, "file_path", [["bucket-0/a"]])
    table = table.append_files(files.append_column("stats", stats))
    assert len(names(table.plan(where="until >= '9999-12-31'"))) == 1
    assert len(names(table.plan(where="until > '9999-12-31'"))) == 0


@pytest.mark.parametrize(
    ("kind", "where"),
    [
        ("TIMESTAMP(9)", "until > '9999-12-31T00:00:00Z'"),
        ("TIMESTAMP(6)", "until > '9999-12-31 00:00:00.000000001'"),
        ("TIMESTAMP(9)", "until > 'never'"),
    ],
)
def test_a_literal_that_is_no_such_time_is_refused(tmp_path: Path, kind: str, where: str):
    made = MadeTable(tmp_path / "t", ("until", kind))
    made.commit()
    with pytest.raises(PredicateError, match="until"):
        lakebed.open_table(made.root).plan(where=where)


def test_a_partition_of_bytes_may_be_null(tmp_path: Path):
    for kind in ("BYTES", "BINARY(4)", "VARBINARY(4)"):
        made = MadeTable(tmp_path / kind[:3], ("key", kind), ("id", "INT"), partitionKeys=["key"])
        null = struct.pack(">i", 1) + struct.pack("<Q", 1 << 8) + bytes(8)
        made.commit(entry(ADD, "a.parquet", null))
        table = lakebed.open_table(made.root)
        assert paths(table) == ["key=__DEFAULT_PARTITION__/a.parquet"]
        assert table.partitions(columns=["partition"]).to_arrow().to_pylist() == [
            {"partition": {"key": None}}
        ]
        assert table.orphans(older_than=timedelta(0)).to_arrow().num_rows == 0
        assert len(names(table.plan(where="key IS NULL"))) == 1
