"""The pictures of a report: SVG by matplotlib, whose lines and words take the page's own colour."""

from __future__ import annotations

import io
import re
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any

from lakebed._display import size, threshold
from lakebed._text import printable
from lakebed.reporting.numbers import SIZES

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from matplotlib.axes import Axes

# A placeholder for the colour of the page's text until the picture is in the page; and colours that are seen
# on light and on dark.
_INK = "#010203"
_BLUE, _ORANGE = "#3b82c4", "#d9822b"
_MOST_BARS = 20


def growth(rows: Sequence[dict[str, Any]]) -> str:
    """Bytes and data files over time."""
    times, rows = _timed(rows)

    def draw(axes: Axes) -> None:
        axes.step(times, [row["file_size_in_bytes"] for row in rows], where="post", color=_BLUE, marker=".")
        axes.set_ylabel("bytes (blue)")
        axes.yaxis.set_major_formatter(_in_bytes)
        axes.set_ylim(bottom=0)
        _date(axes)
        files = axes.twinx()
        files.step(times, [row["file_count"] for row in rows], where="post", color=_ORANGE, marker=".")
        files.set_ylabel("data files (orange)")
        files.set_ylim(bottom=0)

    return _svg("growth", "Bytes and data files after each snapshot", draw) if len(rows) > 1 else ""


def timeline(rows: Sequence[dict[str, Any]]) -> str:
    """Snapshots by the time and the kind of their commit."""
    times, rows = _timed(rows)

    def draw(axes: Axes) -> None:
        kinds = sorted({str(row["operation"]) for row in rows})
        places = [kinds.index(str(row["operation"])) for row in rows]
        axes.scatter(times, places, color=_BLUE, s=18, alpha=0.7)
        _date(axes)
        axes.set_yticks(range(len(kinds)), [_cut(kind) for kind in kinds])
        axes.set_ylim(-0.7, len(kinds) - 0.3)

    return _svg("timeline", "When snapshots were committed, by what they did", draw, 2.0) if rows else ""


def sizes(counts: Sequence[int]) -> str:
    """Data files by size."""
    shown = [number for number, count in enumerate(counts) if count]

    def draw(axes: Axes) -> None:
        classes = range(shown[0], shown[-1] + 1)
        names = [f"< {threshold(SIZES[number])}" if number < len(SIZES) else "larger" for number in classes]
        axes.bar(range(len(names)), [counts[number] for number in classes], color=_BLUE)
        axes.set_xticks(range(len(names)), names, rotation=40, ha="right")
        axes.set_ylabel("data files")

    return _svg("sizes", "How many data files there are of each size", draw) if shown else ""


def partitions(rows: Sequence[dict[str, Any]]) -> str:
    """The bytes of partitions: each by name where they are few, all as a curve where they are many."""
    of_each = [row["file_size_in_bytes"] for row in rows]

    def bars(axes: Axes) -> None:
        axes.barh([_cut(row["label"]) for row in rows], of_each, color=_BLUE)
        axes.invert_yaxis()
        axes.xaxis.set_major_formatter(_in_bytes)

    def curve(axes: Axes) -> None:
        places, counts = range(1, len(rows) + 1), [row["file_count"] for row in rows]
        axes.fill_between(places, of_each, color=_BLUE, alpha=0.5, step="mid")
        axes.set_xlabel("partitions, the largest first")
        axes.set_ylabel("bytes (blue)")
        axes.yaxis.set_major_formatter(_in_bytes)
        files = axes.twinx()
        files.plot(places, counts, color=_ORANGE, linestyle="", marker=".", markersize=2)
        files.set_ylabel("data files (orange)")
        files.set_ylim(bottom=0)

    if len(rows) < 2:
        return ""
    if len(rows) <= _MOST_BARS:
        return _svg("partitions", "Bytes of each partition", bars, 0.8 + 0.28 * len(rows))
    return _svg("partitions", "Bytes and data files of each partition", curve)


def _svg(name: str, title: str, draw: Callable[[Axes], None], height: float = 3.0) -> str:
    """A picture as text for a page; the same for the same numbers."""
    try:
        from matplotlib import rc_context
        from matplotlib.figure import Figure
    except ImportError as error:
        raise ImportError("reports draw with matplotlib: pip install 'lakebed[report]'") from error
    inked = ("text.color", "axes.edgecolor", "axes.labelcolor", "xtick.color", "ytick.color")
    style = {
        **dict.fromkeys(inked, _INK),
        "svg.fonttype": "none",
        "svg.hashsalt": f"lakebed {name}",
        "font.family": ["sans-serif"],
        "axes.spines.top": False,
        "font.size": 10,
        "axes.titlesize": 11,
        "text.parse_math": False,
    }
    with rc_context(style):
        figure = Figure(figsize=(7.2, height), layout="constrained")
        axes = figure.subplots()
        draw(axes)
        text = io.StringIO()
        figure.savefig(text, format="svg", transparent=True, metadata={"Date": None, "Creator": None})
    # Without the head of a file of its own, in the page's colour, as wide as the page allows, and with names
    # that no other picture of the page has.
    svg = text.getvalue()
    svg = svg[svg.index("<svg") :].replace(_INK, "currentColor")
    svg = re.sub(r"<metadata>.*?</metadata>", "", svg, flags=re.DOTALL)
    for measure in ("width", "height"):
        svg = re.sub(rf'(<svg[^>]*?) {measure}="[^"]*"', r"\1", svg, count=1)
    return svg.replace("<svg", f'<svg role="img" aria-label="{title}"', 1)


def _in_bytes(value: float, _: float) -> str:
    return size(max(value, 0))


_DAY = timedelta(days=1)


def _date(axes: Axes) -> None:
    """Times below a picture, as short as keeps them distinct."""
    from matplotlib import dates

    made: Any = dates
    # Around the time of one snapshot are some 53 months, and of the intervals six months is the longest.
    locator = made.AutoDateLocator(
        maxticks={**dict.fromkeys(range(made.MICROSECONDLY + 1), 7), made.MONTHLY: 10}
    )
    # What is left free at both sides may be beyond the calendar, which matplotlib refuses.
    first, last = made.date2num([datetime.min + _DAY, datetime.max - _DAY])
    low, high = axes.get_xlim()
    axes.set_xlim(max(low, first), min(high, last))
    axes.xaxis.set_major_locator(locator)
    axes.xaxis.set_major_formatter(made.ConciseDateFormatter(locator))


def _timed(rows: Sequence[dict[str, Any]]) -> tuple[list[Any], list[dict[str, Any]]]:
    """The times of rows, in UTC without a zone, which matplotlib need not know of, and their rows: those that
    have a time in Python's calendar, which ends with the year 9999. The types of matplotlib know of no times.
    """
    timed = [(row["committed_at"], row) for row in rows if row["committed_at"] is not None]
    # Of other years texts are longer.
    timed = [(time, row) for time, row in timed if time[:1].isdigit() and time[:4] != "0000"]
    times = [datetime.fromisoformat(time.removesuffix("Z")) for time, _ in timed]
    return times, [row for _, row in timed]


def _cut(text: str) -> str:
    text = printable(text)
    return text if len(text) <= 28 else f"{text[:27]}…"
