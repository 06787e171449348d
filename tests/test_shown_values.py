"""Values are shown as they are, at every door: times of all years, and names and texts of all kinds."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Callable
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any, Literal

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from command_line import output, printed, run
from json_files import edited

import lakebed
from lakebed._arguments import milliseconds
from lakebed._values import to_json_values
from lakebed.errors import LakebedError, PredicateError, SchemaError, SnapshotNotFoundError, UnsupportedError
from lakebed.table import Table

Format = Literal["iceberg", "paimon"]
LAST = 2**63 - 1
DAYS = [2_932_897, 2**31 - 1, -719_163, -(2**31), 0]
DATES = ["+10000-01-01", "+5881580-07-11", "0000-12-31", "-5877641-06-23", "1970-01-01"]


@pytest.mark.parametrize(
    ("kind", "number", "text"),
    [
        *((pa.date32(), day, date) for day, date in zip(DAYS, DATES, strict=True)),
        (pa.date64(), 253_402_300_800_000, "+10000-01-01"),
        (pa.timestamp("s"), 253_402_300_799, "9999-12-31T23:59:59"),
        (pa.timestamp("s"), 253_402_300_800, "+10000-01-01T00:00:00"),
        (pa.timestamp("s"), LAST, "+292277026596-12-04T15:30:07"),
        (pa.timestamp("ms"), -62_135_596_800_001, "0000-12-31T23:59:59.999"),
        (pa.timestamp("ms", "UTC"), -62_167_219_200_001, "-0001-12-31T23:59:59.999Z"),
        (pa.timestamp("us"), LAST, "+294247-01-10T04:00:54.775807"),
        (pa.timestamp("us", "UTC"), -LAST - 1, "-290308-12-21T19:59:05.224192Z"),
        (pa.timestamp("ns"), LAST, "2262-04-11T23:47:16.854775807"),
        (pa.time32("s"), 86_399, "23:59:59"),
        (pa.time64("us"), 86_400_000_000, "24:00:00.000000"),
        (pa.time64("us"), -1, "-00:00:00.000001"),
    ],
)
def test_times_of_all_years(kind: pa.DataType, number: int, text: str) -> None:
    stored = pa.int32() if kind.bit_width == 32 else pa.int64()
    values = pa.array([None, number, 0], stored).cast(kind)
    # What is beside a value does not change how it is written.
    beside = to_json_values(pa.array([0], stored).cast(kind))[0]
    assert to_json_values(values) == [None, text, beside]
    assert to_json_values(values.slice(1, 1)) == [text]
    assert to_json_values(pa.array([{"d": values[1]}], pa.struct([("d", kind)]))) == [{"d": text}]
    assert to_json_values(pa.array([[values[1]]], pa.list_(kind))) == [[text]]


def test_times_are_the_same_on_both_sides_of_the_calendar() -> None:
    """The days that pyarrow writes are those that are computed, 400 years later."""
    days = [-719_162, -365, -1, 0, 59, 60, 11_016, 11_017, 2_932_896]
    near = to_json_values(pa.array(days, pa.date32()))
    far = to_json_values(pa.array([day + 146_097 * 30 for day in days], pa.date32()))
    for one, other in zip(near, far, strict=True):
        year, _, rest = other.removeprefix("+").partition("-")
        assert f"{int(year) - 12_000:04}-{rest}" == one


def far_table(folder: Path, format_name: Format) -> Table:
    """Partitioned by dates of all kinds of years, with timestamps as far."""
    schema = pa.schema([("d", pa.date32()), ("ts", pa.timestamp("us")), ("s", pa.string())])
    rows = [
        pa.table({"d": pa.array([day], pa.date32()), "ts": pa.array([at], pa.timestamp("us")), "s": [text]})
        for day, at, text in zip(
            DAYS,
            [LAST, -LAST, 0, None, 253_402_300_800_000_000],
            ["=1+1", "-5", "@x", "\tq", "a"],
            strict=True,
        )
    ]
    properties = {} if format_name == "iceberg" else {"bucket": "-1"}
    table = lakebed.create_table(folder, schema, format_name, partition_by=["d"], properties=properties)
    described = []
    for number, one in enumerate(rows):
        place = (
            f"data/{number}.parquet"
            if format_name == "iceberg"
            else f"d={DAYS[number]}/bucket-0/{number}.parquet"
        )
        (folder / place).parent.mkdir(parents=True, exist_ok=True)
        pq.write_table(one, folder / place)
        described.append(lakebed.describe_file(table, place, one))
    return table.append_files(pa.concat_tables([pa.table(one) for one in described]))


@pytest.fixture(scope="module", params=["iceberg", "paimon"])
def far(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Table:
    return far_table(tmp_path_factory.mktemp("far") / "t", request.param)


def test_every_form_of_the_command_line_has_them(far: Table) -> None:
    rows = printed("partitions", far.location, "--columns", "partition")
    assert sorted(row["partition"]["d"] for row in rows) == sorted(DATES)
    for form in ("csv", "table"):
        shown = output("partitions", far.location, "--columns", "partition", "-o", form)
        assert all(date in shown for date in DATES)
    stats = printed("files", far.location, "--stats", "ts,d", "--columns", "stats")
    bounds = {name: [row["stats"][name]["lower_bound"] for row in stats] for name in ("ts", "d")}
    assert set(bounds["d"]) == set(DATES)
    assert {"+294247-01-10T04:00:54.775807", "-290308-12-21T19:59:05.224193", None} <= set(bounds["ts"])
    assert "+10000-01-01" in output("show", far.location)


def test_notebooks_and_reports_have_them(far: Table) -> None:
    for text in (far.partitions()._repr_html_(), lakebed.report(far)):
        # Names may be broken between their parts.
        assert all(date in text.replace("<wbr>", "") for date in DATES)
    assert "valueToutTofTrange" not in far.files(stats=["ts"])._repr_html_()


def test_a_filter_takes_them_as_they_are_shown(far: Table) -> None:
    for date in DATES:
        (found,) = to_json_values(
            far.files(where=f"d = DATE '{date}'").to_arrow()["partition"].combine_chunks()
        )
        assert found["d"] == date


def test_pandas_says_what_it_does_not_have(far: Table) -> None:
    pytest.importorskip("pandas")
    with pytest.raises(UnsupportedError, match=r"to_arrow\(\) has"):
        far.files().to_pandas()


def committed_at(folder: Path, millis: int) -> Table:
    """A table whose snapshots are all of one time."""
    far_table(folder, "iceberg")
    for path in (folder / "metadata").glob("*.metadata.json"):
        with edited(path) as metadata:
            for snapshot in metadata.get("snapshots", []):
                snapshot["timestamp-ms"] = millis
    return lakebed.open_table(folder)


def test_snapshots_of_far_years_are_in_health_and_reports(tmp_path: Path) -> None:
    table = committed_at(tmp_path / "t", 253_402_300_800_000)
    assert "committed +10000-01-01 00:00:00 UTC" in lakebed.report(table)
    assert table.health().findings() is not None
    assert "+10000-01-01 00:00:00 UTC" in output("show", table.location)
    metrics = output("health", table.location, "-o", "openmetrics")
    assert re.search(r"committed_at_timestamp_seconds\{.*\} 253402300800\.0$", metrics, re.MULTILINE)
    failed = run("health", table.location, "--fail-if", "committed_at > TIMESTAMP '2020-01-01 00:00:00'")
    assert (failed.exit_code, type(failed.exception)) == (1, SystemExit)
    assert "committed_at is +10000-01-01T00:00:00.000000Z" in failed.output


@pytest.mark.parametrize(
    "millis", [253_402_300_799_999, 253_400_000_000_000, -62_135_596_800_000, -62_135_510_400_000]
)
def test_snapshots_at_the_ends_of_the_calendar_are_in_reports(tmp_path: Path, millis: int) -> None:
    """Around them there is no time to be left free."""
    assert "<svg" in lakebed.report(committed_at(tmp_path / "t", millis))


def cells(output: str) -> list[list[str]]:
    return list(csv.reader(io.StringIO(output, newline="")))


def test_csv_is_data_unless_it_is_for_a_spreadsheet(tmp_path: Path) -> None:
    texts = [
        "=1+1",
        "+1",
        "-1",
        "@x",
        "\t=1",
        "\r=1",
        " =1",
        "\uff1d1",
        "a\x1b[0m\x00",
        "a,b;c",
        "plain",
        "-",
        None,
    ]
    numbers = [-1.5, -2.0, float("-inf"), 0.0, *[1.0] * 9]
    rows = pa.table({"=text": texts, "number": numbers, "whole": [-1] * 13, "list": [["=1"]] * 13})
    schema = {
        "type": "record",
        "name": "r",
        "fields": [
            {"name": "text", "type": ["null", "string"]},
            {"name": "number", "type": "double"},
            {"name": "whole", "type": "long"},
            {"name": "list", "type": {"type": "array", "items": "string"}},
        ],
    }
    file = tmp_path / "rows.avro"
    lakebed.avro.write(rows.rename_columns(["text", "number", "whole", "list"]), file, schema)
    data = cells(output("avro", file, "-o", "csv"))[1:]
    assert [row[0] for row in data] == [text or "" for text in texts]
    shown = cells(output("avro", file, "-o", "csv", "--spreadsheet"))[1:]
    assert [row[0] for row in shown] == [
        "'=1+1",
        "'+1",
        "'-1",
        "'@x",
        "\\t=1",
        "\\r=1",
        "' =1",
        "'\uff1d1",
        "a\\x1b[0m\\x00",
        "a,b;c",
        "plain",
        "'-",
        "",
    ]
    for column in (1, 2, 3):
        assert [row[column] for row in shown] == [row[column] for row in data]
    assert {row[2] for row in shown} == {"-1"}
    for form in ("json", "table", "arrow"):
        refused = run("avro", file, "-o", form, "--spreadsheet")
        assert refused.exit_code == 2
        assert "--spreadsheet is of -o csv" in refused.output
    target = tmp_path / "rows.csv"
    output("avro", file, "-o", "csv", "--spreadsheet", "--output-file", target)
    assert [row[0] for row in cells(target.read_text("utf-8"))][1] == "'=1+1"


def test_far_years_are_no_formulas(far: Table) -> None:
    columns = ("--columns", "partition,record_count")
    shown = cells(output("files", far.location, "-o", "csv", "--spreadsheet", *columns))
    assert {row[1] for row in shown[1:]} == {"1"}
    assert all(row[0].startswith('{"d":"') for row in shown[1:])


def with_nul(folder: Path) -> Table:
    lakebed.create_table(folder, pa.schema([("id", pa.int64())]), "iceberg")
    inner = {"id": 10, "name": "a\0b", "required": False, "type": "int"}
    struct = {"type": "struct", "fields": [inner]}
    with edited(folder / "metadata/v1.metadata.json") as metadata:
        metadata["schemas"][0]["fields"] += [
            {"id": 8, "name": "n\0l", "required": False, "type": "string"},
            {"id": 9, "name": "s", "required": False, "type": struct},
        ]
    return lakebed.open_table(folder)


def test_a_name_that_arrow_does_not_have(tmp_path: Path) -> None:
    table = with_nul(tmp_path / "t")
    with pytest.raises(UnsupportedError, match=r'no column "(n.0l|a.0b)": names have no NUL') as caught:
        table.schema  # noqa: B018 - read for its error
    assert caught.value.field in ("n\0l", "a\0b")
    assert "names have no NUL" in table._repr_html_()
    assert table.files(stats=["id"]).to_arrow().num_rows == 0
    for stats in (["n\0l"], ["s.a\0b"]):
        scan = table.files(stats=stats)
        for read in (
            scan.to_arrow,
            lambda scan=scan: scan.schema,
            lambda scan=scan: pa.table(scan),
            scan._repr_html_,
        ):
            with pytest.raises(LakebedError):
                read()
    assert "a\\\\u0000b" in output("schemas", table.location)
    formats: list[Format] = ["iceberg", "paimon"]
    for made in formats:
        for schema in (
            pa.schema([("a\0b", pa.int32())]),
            pa.schema([("a", pa.struct([("x\0y", pa.int32())]))]),
        ):
            with pytest.raises(UnsupportedError, match="names have no NUL"):
                lakebed.create_table(tmp_path / "new", schema, made)
    assert not (tmp_path / "new").exists()


LONE = "a\ud800"


@pytest.mark.parametrize(
    "ask",
    [
        *(
            lambda table, view=view: getattr(table, view)(filter=f"s = '{LONE}'")
            for view in (
                "files",
                "plan",
                "partitions",
                "manifests",
                "snapshots",
                "reachable",
                "entries",
                "growth",
            )
        ),
        lambda table: table.files(where=lakebed.col(LONE) == 1),
        lambda table: table.files(where=lakebed.col("s") == LONE),
        lambda table: table.files().filter(f"x = '{LONE}'"),
        lambda table: lakebed.find_tables(table.location, filter=LONE),
        lambda table: table.metadata_table("snapshots", filter=LONE),
        lambda table: table.files(columns=[LONE]),
        lambda table: table.files(stats=[LONE]),
        lambda table: table.at(tag=LONE),
        lambda table: table.at(branch=LONE),
        lambda table: table.diff(LONE, 1),
        lambda table: table.appends(LONE),
        lambda table: table.metadata_table(LONE),
        lambda _: lakebed.open_table(LONE),
        lambda _: lakebed.open_table(f"s3://b/{LONE}"),
        lambda _: lakebed.open_table("a\0b"),
        lambda table: lakebed.open_table(table.location, relocate={LONE: "/x"}),
        lambda table: lakebed.open_table(table.location, allowed_prefixes=[LONE]),
        lambda _: lakebed.find_tables(LONE),
        lambda _: lakebed.avro.read(LONE),
        lambda table: table.create_tag(LONE),
        lambda table: table.create_branch(LONE),
    ],
)
def test_texts_that_no_table_has_are_typed_errors(far: Table, ask: Callable[[Table], Any]) -> None:
    with pytest.raises(LakebedError) as caught:
        ask(far)
    str(caught.value).encode()


def test_a_filter_with_a_lone_surrogate_is_no_filter(far: Table) -> None:
    with pytest.raises(PredicateError, match="lone surrogate"):
        far.files(where=LONE)


HUGE = 2**70
ENDS = [
    datetime.max,
    datetime.min,
    datetime.max.replace(tzinfo=timezone(timedelta(hours=-14))),
    datetime.min.replace(tzinfo=timezone(timedelta(hours=14))),
]


@pytest.mark.parametrize("time", ENDS, ids=str)
def test_the_ends_of_the_calendar_are_times(far: Table, time: datetime) -> None:
    if time.year == 9999:
        assert far.at(timestamp=time).snapshot_id == far.snapshot_id
    else:
        with pytest.raises(SnapshotNotFoundError):
            far.at(timestamp=time)
    assert far.orphans(time).to_arrow().num_rows == 0
    assert far.expire_plan(time).to_arrow().num_rows == 0


def test_instants_are_the_same_by_any_clock() -> None:
    assert milliseconds(ENDS[2]) == 253_402_300_799_999 + 14 * 3_600_000
    assert milliseconds(ENDS[3]) == -62_135_596_800_000 - 14 * 3_600_000
    assert milliseconds(datetime(1969, 12, 31, 23, 59, 59, 999_999, timezone.utc)) == -1


def test_ages_and_numbers_of_any_size(far: Table) -> None:
    count = far.files().to_arrow().num_rows
    assert far.orphans(timedelta.max).to_arrow().num_rows == 0
    assert far.expire_plan(timedelta.max).to_arrow().num_rows == 0
    assert far.expire_plan(None, HUGE).to_arrow().num_rows == 0
    assert far.at(timestamp=HUGE).snapshot_id == far.snapshot_id
    assert far.files(limit=HUGE).to_arrow().num_rows == count
    assert far.files(threads=HUGE).to_arrow().num_rows == count
    assert far.plan(row_limit=HUGE).to_arrow().num_rows == count
    assert far.health(small_bytes=HUGE).to_arrow()["small_file_count"].to_pylist() == [count]
    for ask in (
        lambda: far.at(snapshot=HUGE),
        lambda: far.at(timestamp=-HUGE),
        lambda: far.diff(HUGE, 1),
        lambda: far.appends(-HUGE),
    ):
        with pytest.raises(SnapshotNotFoundError):
            ask()
    place = far.location
    missing, refused = run("files", place, "--snapshot", HUGE), run("files", place, "--as-of", "9" * 5000)
    assert (missing.exit_code, refused.exit_code) == (1, 2)
    assert f"no snapshot {HUGE}" in missing.output
    assert "error:" in refused.output
    shown = output("files", place, "--as-of", HUGE, "--limit", HUGE, "--columns", "record_count")
    assert shown.count("1") == count
    output("health", place, "--small-bytes", "9" * 400)
    output("orphans", place, "--older-than", "999999999d")
    output("expire-plan", place, "--older-than", "999999999d", "--retain-last", HUGE)


@pytest.mark.parametrize("name", ["iceberg", "paimon"])
def test_retention_of_any_length(tmp_path: Path, name: Format) -> None:
    table = far_table(tmp_path / name, name)
    if name == "iceberg":
        assert table.create_tag("t", max_age=timedelta.max).tag == "t"
        with pytest.raises(SchemaError):
            table.create_tag("u", max_age=timedelta.min)
    else:
        with pytest.raises(SchemaError, match="longer than"):
            table.create_tag("t", max_age=timedelta.max)
    table.expire_snapshots(timedelta.max)
    table.expire_snapshots(datetime.max, HUGE)
    with pytest.raises(SnapshotNotFoundError):
        table.rollback_to(HUGE)
