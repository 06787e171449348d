"""The pictures of a report."""

from __future__ import annotations

import math
from collections import Counter
from datetime import datetime
from typing import TYPE_CHECKING, Any

from lakebed import _display
from lakebed._display import count, threshold
from lakebed._text import printable
from lakebed.reporting import svg
from lakebed.reporting.numbers import SIZES, Commit
from lakebed.reporting.svg import Plot, Span

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from lakebed.reporting.numbers import Target

# Places across that points are drawn at.
_MOST_POINTS, _MOST_DOTS = 300, 120
# What a digit takes of the width of a phone [%].
_DIGIT = 2.4
# A lane of dots [px].
_LANE = 40


def bar(parts: Sequence[tuple[str, str, int]]) -> str:
    """Shares of one whole, side by side. Args: parts, class, name and bytes."""
    whole = sum(size for _, _, size in parts)
    drawn, x = list[str](), 0.0
    for class_, name, size in parts:
        width = 100 * size / whole if whole else 0
        if size:
            place = {"x": svg.percent(x), "width": svg.percent(max(width, 0.3)), "y": 0, "height": 30}
            text = svg.tip(f"{name}: {_display.size(size)}, {share(size, whole)}")
            drawn.append(svg.element("rect", text, **place, class_=f"part {class_}"))
        x += width
    label = ", ".join(f"{name} {share(size, whole)}" for _, name, size in parts if size)
    return svg.picture(f"Shares of {_display.size(whole)}: {label}", drawn, 30) if whole else ""


def over_time(
    rows: Sequence[dict[str, Any]], column: str, form: Callable[[float], str], of: str, class_: str = ""
) -> str:
    """A number of `growth` after each snapshot; nothing for fewer than two. Args: of, what is counted."""
    timed = [(time, row) for row in rows if (time := in_calendar(row["committed_at"])) is not None]
    timed = [(time, row) for time, row in timed if row[column] is not None]
    if len(timed) < 2:
        return ""
    span = Span([time for time, _ in timed])
    # Clocks of writers differ: a snapshot may be older than the one before.
    points = sorted(((span.x(time), row) for time, row in timed), key=lambda point: point[0])
    points = list({math.floor(x * _MOST_POINTS / 100): (x, row) for x, row in points}.values())
    first, last = timed[0][1][column], points[-1][1][column]
    label = f"{of} after each of {len(timed):,} snapshots: {form(first)} at first, {form(last)} at last"
    plot = Plot(label, max(row[column] for _, row in points), form)
    plot.curve([(x, row[column]) for x, row in points], class_)
    for (x, row), after in zip(points, [*(x for x, _ in points[1:]), 100.0], strict=True):
        when = _display.moment(row["committed_at"])
        plot.hit(x, after, f"{form(row[column])} after snapshot {row['snapshot_id']}, {when}")
    plot.dot(points[-1][0], last, form(last), class_)
    return plot.svg(span.ticks(), span.unit)


def sizes(counts: Sequence[int], target: Target, small_bytes: int) -> str:
    """Data files by size, beside the size that is wanted."""
    shown = [number for number, files in enumerate(counts) if files]
    if not shown:
        return ""
    wanted = None if target.size is None else math.log2(target.size) - math.log2(SIZES[0]) + 1
    wanted = None if wanted is None else min(max(wanted, 0.0), float(len(counts)))
    # A class more beside the target leaves room for its name.
    ends = [
        shown[0],
        shown[-1] + 1,
        *([] if wanted is None else [math.floor(wanted), math.floor(wanted) + 1]),
    ]
    first, last = max(min(ends) - 1, 0), min(max(max(ends), min(ends) + 4), len(counts))
    width = 100 / (last - first)
    whole = sum(counts)
    most = max(range(len(counts)), key=counts.__getitem__)
    label = f"{count(whole, 'data file')} by size, most of them {_class(most)}"
    # There is room for the scale where bars are lower, unless its numbers would be over the target's line.
    at_end = max(counts[first : first + 2]) > max(counts[last - 2 : last])
    mark = None if wanted is None else (wanted - first) * width
    if mark is not None and abs(mark - 100 * at_end) < _DIGIT * len(f"{max(counts):,}"):
        at_end = not at_end
    plot = Plot(label, max(counts), lambda value: f"{value:,.0f}", scale_at=100 if at_end else 0)
    for number in range(first, last):
        x = (number - first) * width
        text = f"{count(counts[number], 'data file')} {_class(number)}, {share(counts[number], whole)}"
        is_small = number < len(SIZES) and SIZES[number] <= small_bytes
        plot.bar(x, x + width, counts[number], text, "warn" if is_small else "")
    if mark is not None and target.size is not None:
        plot.mark(mark, f"target {threshold(target.size)}")
    every = -(-(last - first) // 5)
    bounds = [
        number for number in range(first, last) if number < len(SIZES) and (number - first) % every == 0
    ]
    ticks = [((number + 1 - first) * width, threshold(SIZES[number])) for number in bounds]
    return plot.svg(ticks, "size of a data file (each class ends at twice the one before)")


def _class(number: int) -> str:
    if number == 0:
        return f"below {threshold(SIZES[0])}"
    if number == len(SIZES):
        return f"of {threshold(SIZES[-1])} and more"
    return f"from {threshold(SIZES[number - 1])} to {threshold(SIZES[number])}"


def skew(
    rows: Sequence[dict[str, Any]], column: str, form: Callable[[float], str], of: str, class_: str = ""
) -> str:
    """A number of each partition, in the order of their rows. Args: of, what is counted."""
    many = len(rows)
    points = dict[int, tuple[int, dict[str, Any]]]()
    for place, row in enumerate(rows):
        slot = place * _MOST_POINTS // many if many > _MOST_POINTS else place
        if slot not in points or (row[column] or 0) > (points[slot][1][column] or 0):
            points[slot] = place, row
    most = max(row[column] or 0 for row in rows)
    plot = Plot(
        f"{of} of each of {many:,} partitions, {form(most)} at most", most, form, height=90, scale_at=100
    )
    places = [*(place for place, _ in points.values()), many]
    for (place, row), after in zip(points.values(), places[1:], strict=True):
        text = f"{printable(row['label'])}: {form(row[column] or 0)}"
        plot.bar(100 * place / many, 100 * after / many, row[column] or 0, text, class_)
    step = round(svg.steps(many)[1])
    named = dict.fromkeys([1, *range(step, many + 1, step)])
    ticks = [(100 * (place - 0.5) / many, f"{place:,}") for place in named]
    return plot.svg(ticks, "partitions, the one with most bytes first")


def lanes(groups: Sequence[tuple[str, Sequence[Commit]]]) -> str:
    """Snapshots by the time of their commit, in a lane for each group. Args: groups, by their names."""
    timed = [(time, one) for _, own in groups for one in own if (time := in_calendar(one.committed_at))]
    if not timed:
        return ""
    span = Span([time for time, _ in timed])
    parts = list[str]()
    for number, (name, own) in enumerate(groups):
        y = number * _LANE + 16
        parts.append(svg.words(_cut(name), 0, y, "lane"))
        parts.append(svg.words(count(len(own), "snapshot"), 100, y, "scale"))
        parts.append(svg.across(y + 14, "grid"))
        parts += [_dot(x, y + 14, at) for x, at in _gathered(own, span)]
    label = "; ".join(f"{name}: {count(len(own), 'snapshot')}" for name, own in groups)
    return svg.framed(
        f"Snapshots by writer and time. {label}", parts, len(groups) * _LANE + 4, span.ticks(), span.unit
    )


def _gathered(snapshots: Sequence[Commit], span: Span) -> list[tuple[float, list[Commit]]]:
    """Snapshots that are drawn at one place, with it."""
    places = dict[int, list[Commit]]()
    for one in snapshots:
        if (time := in_calendar(one.committed_at)) is not None:
            places.setdefault(round(span.x(time) * _MOST_DOTS / 100), []).append(one)
    return [(100 * place / _MOST_DOTS, own) for place, own in sorted(places.items())]


def _dot(x: float, y: int, own: Sequence[Commit]) -> str:
    first, last = (_display.moment(one.committed_at or "") for one in (own[0], own[-1]))
    operations = ", ".join(
        f"{name} {many}" for name, many in Counter(one.operation or "?" for one in own).items()
    )
    if len(own) == 1:
        text = f"snapshot {own[0].snapshot_id}, {first}: {own[0].operation}"
    else:
        text = f"{len(own):,} snapshots, {first} to {last}: {operations}"
    radius = min(3.5 + math.log2(len(own)), 9.0)
    # Dots at the ends are whole.
    return svg.element(
        "circle", svg.tip(text), cx=svg.percent(min(max(x, 1.0), 99.0)), cy=y, r=radius, class_="dot"
    )


def in_calendar(text: str | None) -> datetime | None:
    """A time as JSON has it, in UTC and without a zone; None for those beyond Python's calendar."""
    if text is None or not text[:1].isdigit() or text[:4] == "0000":
        return None
    return datetime.fromisoformat(text.removesuffix("Z"))


def size(value: float) -> str:
    """Bytes in words, short enough for an axis."""
    number, unit = _display.size(value).split(" ")
    return f"{number.removesuffix('.0')} {unit}"


def share(part: float, whole: float) -> str:
    """A part of a whole in percent."""
    if not whole:
        return "0 %"
    percents = 100 * part / whole
    return (
        f"{percents:.0f} %"
        if percents >= 10 or percents == 0
        else f"{percents:.1f} %"
        if percents >= 0.1
        else "< 0.1 %"
    )


def _cut(text: str) -> str:
    text = printable(text)
    return text if len(text) <= 44 else f"{text[:43]}…"
