"""Pictures of reports: scales, times and shares, and what is drawn of many snapshots and partitions."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any
from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lakebed.reporting import pictures, svg
from lakebed.reporting.numbers import SIZES, Commit, Target, Writer
from lakebed.reporting.svg import Span

MIB = 1 << 20
START = datetime(2026, 3, 1)


def drawn(text: str, class_: str) -> list[dict[str, str]]:
    """The attributes of a picture's elements of a class."""
    parts = ElementTree.fromstring(text).iter()
    return [part.attrib for part in parts if class_ in part.attrib.get("class", "").split()]


def texts(text: str, class_: str) -> list[str]:
    return [
        part.text or "" for part in ElementTree.fromstring(text).iter() if part.attrib.get("class") == class_
    ]


def tips(text: str) -> list[str]:
    return [part.text or "" for part in ElementTree.fromstring(text).iter() if part.tag == "title"]


@given(st.floats(0, 1e18))
def test_scales_are_round_and_reach_the_highest_number(top: float) -> None:
    lines = svg.steps(top)
    assert lines[0] == 0
    assert lines[-1] >= top * 0.999999
    assert lines[-2] <= max(top, 1)
    assert 2 <= len(lines) <= 6
    assert all(float(line).is_integer() for line in lines)


@given(st.datetimes(), st.timedeltas(timedelta(0), timedelta(days=4_000_000)))
def test_times_of_a_scale_are_within_it_and_few(first: datetime, length: timedelta) -> None:
    last = datetime.max if datetime.max - first < length else first + length
    span = Span([last, first])
    ticks = span.ticks()
    assert len(ticks) <= 6
    assert all(-1e-6 <= x <= 100 + 1e-6 for x, _ in ticks)
    assert [x for x, _ in ticks] == sorted(x for x, _ in ticks)
    if last - first < timedelta(hours=20):
        assert len({name for _, name in ticks}) == len(ticks)
    assert span.x(first) == (50 if first == last else 0)
    assert str(first.year) in span.unit


@pytest.mark.parametrize(
    ("length", "names"),
    [
        (timedelta(0), ["00:00:00"]),
        (timedelta(seconds=9), ["1 Mar", "00:00:02", "00:00:04", "00:00:06", "00:00:08"]),
        (timedelta(hours=30), ["1 Mar", "06:00", "12:00", "18:00", "2 Mar", "06:00"]),
        (timedelta(days=4), ["1 Mar", "2 Mar", "3 Mar", "4 Mar", "5 Mar"]),
        (timedelta(days=150), ["Mar 2026", "Apr 2026", "May 2026", "Jun 2026", "Jul 2026"]),
        (timedelta(days=1000), ["2027", "2028"]),
    ],
)
def test_names_of_times_are_those_that_people_count_in(length: timedelta, names: list[str]) -> None:
    assert [name for _, name in Span([START, START + length]).ticks()] == names


def growth(many: int, **more: Any) -> list[dict[str, Any]]:
    times = (START + timedelta(hours=number) for number in range(many))
    return [
        {
            "snapshot_id": number,
            "committed_at": f"{time:%Y-%m-%dT%H:%M:%S}.000000Z",
            "files": number % 7,
            **more,
        }
        for number, time in enumerate(times)
    ]


def counted(value: float) -> str:
    return f"{value:.0f}"


def test_growth_of_many_snapshots_is_drawn_by_some() -> None:
    few = pictures.over_time(growth(5), "files", counted, "files")
    assert tips(few)[0] == "0 after snapshot 0, 2026-03-01 00:00:00 UTC"
    assert len(tips(few)) == 5
    (label,) = [ElementTree.fromstring(few).attrib["aria-label"]]
    assert label == "files after each of 5 snapshots: 0 at first, 4 at last"
    many = pictures.over_time(growth(20_000), "files", counted, "files")
    assert 250 <= len(tips(many)) <= 301
    assert tips(many)[-1].startswith(f"{19_999 % 7} after snapshot 19999,"), "the last one is always drawn"
    assert len(many) < 100_000


def test_growth_that_cannot_be_drawn_is_no_picture() -> None:
    assert pictures.over_time(growth(1), "files", counted, "files") == ""
    beyond = [{**row, "committed_at": "+10000-01-01T00:00:00.000000Z"} for row in growth(3)]
    assert pictures.over_time(beyond, "files", counted, "files") == ""
    assert pictures.over_time(growth(3, files=None), "files", counted, "files") == ""
    assert "<svg" in pictures.over_time([*growth(3), *growth(1, files=None)], "files", counted, "files")


def test_snapshots_by_a_slow_clock_are_in_the_order_of_their_times() -> None:
    rows = growth(4)
    rows[1], rows[2] = rows[2], rows[1]
    hits = drawn(pictures.over_time(rows, "files", counted, "files"), "hit")
    places = [float(hit["x"].rstrip("%")) for hit in hits]
    assert places == sorted(places)


def sizes(*files: tuple[int, int]) -> list[int]:
    """Counts by class. Args: sizes and how many files have them."""
    counts = [0] * (len(SIZES) + 1)
    for size, many in files:
        counts[sum(size >= bound for bound in SIZES)] += many
    return counts


def test_sizes_are_drawn_beside_the_target() -> None:
    text = pictures.sizes(sizes((1000, 3), (100 * MIB, 5)), Target(512 * MIB, "option"), 32 * MIB)
    assert texts(text, "marked") == ["target 512 MiB"]
    assert drawn(text, "bar")[0]["class"].split() == ["bar", "warn"]
    assert "3 data files below 64 KiB, 38 %" in tips(text)
    assert "5 data files from 64 MiB to 128 MiB, 62 %" in tips(text)
    # The target is where the class ends that has files up to it.
    bars, (mark,) = drawn(text, "bar"), drawn(text, "mark")
    assert float(mark["x1"].rstrip("%")) == pytest.approx(100 * 14 / len(bars), abs=0.1)
    assert pictures.sizes([0] * (len(SIZES) + 1), Target(1, "option"), 1) == ""


@pytest.mark.parametrize("target", [None, 1, 1 << 10, 3 * MIB, 1 << 60])
@pytest.mark.parametrize("size", [0, 1 << 16, 1 << 33, 1 << 50])
def test_any_target_is_within_the_picture(size: int, target: int | None) -> None:
    text = pictures.sizes(sizes((size, 1)), Target(target, "option"), 0)
    marks = [float(mark["x1"].rstrip("%")) for mark in drawn(text, "mark")]
    assert len(marks) == (target is not None)
    assert all(0 <= mark <= 100 for mark in marks)
    places = [float(bar["x"].rstrip("%")) for bar in drawn(text, "bar")]
    assert all(0 <= place <= 100 for place in places)


@pytest.mark.parametrize("target", [1 << 14, 3 * MIB, 128 * MIB, 512 * MIB, 1 << 60])
@pytest.mark.parametrize("small", [1, 30, 123_456])
def test_no_number_is_over_the_target(small: int, target: int) -> None:
    text = pictures.sizes(sizes((1000, small), (6 * MIB, 10)), Target(target, "option"), 32 * MIB)
    (mark,), (name,) = drawn(text, "mark"), drawn(text, "marked")
    line, words = float(mark["x1"].rstrip("%")), float(name["x"].rstrip("%"))
    (end,) = {float(number["x"].rstrip("%")) for number in drawn(text, "scale")}
    widest = max(map(len, texts(text, "scale")))
    # Two percents of a phone are a digit.
    assert abs(end - line) > 2 * widest
    # The name goes away from where the numbers are, or is far from them.
    assert (words - line) * (end - line) < 0 or abs(end - line) > 50


def test_the_target_is_within_what_is_drawn() -> None:
    text = pictures.sizes(sizes((1000, 16)), Target(512 * MIB, "option"), 32 * MIB)
    (mark,) = drawn(text, "mark")
    assert float(mark["x1"].rstrip("%")) < 95


@pytest.mark.parametrize("files", [*range(1, 60), 199, 201, 205])
def test_a_curve_strikes_no_number_of_the_scale_through(files: int) -> None:
    rows = [{**row, "files": files} for row in growth(2)]
    text = pictures.over_time(rows, "files", counted, "files")
    (dot,) = drawn(text, "dot")
    curve, numbers = float(dot["cy"]), [float(number["y"]) for number in drawn(text, "scale")]
    assert numbers
    # Digits are nine pixels high, the curve is two.
    assert not any(base - 9 <= curve + 1 and curve - 1 <= base for base in numbers)


def test_the_largest_of_many_partitions_is_drawn() -> None:
    rows = [{"label": f"p={number}", "files": 1} for number in range(5000)]
    rows[3217]["files"] = 99
    text = pictures.skew(rows, "files", counted, "files")
    assert "p=3217: 99" in tips(text)
    assert len(tips(text)) <= 300


def commits(many: int, writer: Writer) -> list[Commit]:
    return [Commit(row["snapshot_id"], row["committed_at"], "append", writer) for row in growth(many)]


def test_snapshots_of_a_writer_are_a_lane() -> None:
    own = commits(9, Writer("spark 4.0.1", None, None))[::4]
    text = pictures.lanes([("spark 4.0.1", own), ("not told", commits(300, Writer(None, None, None)))])
    assert texts(text, "lane") == ["spark 4.0.1", "not told"]
    assert "snapshot 0, 2026-03-01 00:00:00 UTC: append" in tips(text)
    assert any("snapshots, " in tip and "append " in tip for tip in tips(text))
    assert len(drawn(text, "dot")) <= 130


def test_shares_are_those_of_one_whole() -> None:
    text = pictures.bar([("data", "live data", 600), ("meta", "metadata", 0), ("older", "older", 400)])
    widths = [float(part["width"].rstrip("%")) for part in drawn(text, "part")]
    assert widths == [60, 40]
    assert tips(text) == ["live data: 600 B, 60 %", "older: 400 B, 40 %"]
    assert pictures.bar([("data", "live data", 0)]) == ""


@pytest.mark.parametrize(
    ("part", "whole", "text"),
    [(0, 0, "0 %"), (0, 5, "0 %"), (1, 3, "33 %"), (1, 50, "2.0 %"), (1, 10**6, "< 0.1 %"), (5, 5, "100 %")],
)
def test_shares_are_short(part: int, whole: int, text: str) -> None:
    assert pictures.share(part, whole) == text
