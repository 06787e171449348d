"""Primitives of pictures: SVG that is as wide as the page lets it be, with tooltips and without scripts.

Places across are percents of the width and places down are pixels, so that words keep their size on a phone.
Colours are classes of the page's style sheet, and so are light, dark and print.
"""

from __future__ import annotations

import math
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any

from lakebed._html import escape

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

# Pixels above and below what is drawn: half a line of the highest number; dates, and what they are.
_ABOVE, _DATES, _UNITS = 18, 18, 17
# Percents from either end at which words are aligned to it.
_END = 7.0
# Percents of the width, and pixels above their base, that numbers at lines take.
_SCALE_WIDTH, _SCALE_HEIGHT = 15.0, 11
_MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
_EPOCH = datetime(1970, 1, 1)
_MINUTE, _HOUR, _DAY, _MONTH = 60, 3_600, 86_400, 2_629_746
# Steps of time that people count in [s].
_STEPS = (
    *(1, 2, 5, 10, 15, 30),
    *(_MINUTE * n for n in (1, 2, 5, 10, 15, 30)),
    *(_HOUR * n for n in (1, 2, 3, 6, 12)),
    *(_DAY * n for n in (1, 2, 4, 7, 14)),
)
_MONTHS_STEPS = tuple(
    _MONTH * n for n in (1, 2, 3, 6, 12, 24, 60, 120, 240, 600, 1200, 2400, 6000, 12000, 24000, 60000)
)


def element(tag: str, *inside: str, **attributes: Any) -> str:
    """An element of SVG.

    Args: inside, elements; attributes, their underscores as dashes, floats with two digits, None for none.
    """
    texts = {
        name: number(value) if isinstance(value, float) else str(value) for name, value in attributes.items()
    }
    given = "".join(
        f' {name.strip("_").replace("_", "-")}="{escape(text)}"'
        for name, text in texts.items()
        if attributes[name] is not None
    )
    return f"<{tag}{given}>{''.join(inside)}</{tag}>" if inside else f"<{tag}{given}/>"


def number(value: float) -> str:
    """A coordinate, as short as two digits allow."""
    return f"{value:.2f}".rstrip("0").rstrip(".")


def percent(value: float) -> str:
    """A place across."""
    return f"{number(value)}%"


def tip(text: str) -> str:
    """What browsers show where the mouse rests on the element around."""
    return f"<title>{escape(text)}</title>"


def words(text: str, x: float, y: float, class_: str = "", anchor: str | None = None) -> str:
    """Text at a place; without an anchor it is aligned so that it stays within the picture."""
    anchor = anchor or ("start" if x < _END else "end" if x > 100 - _END else "middle")
    return element("text", escape(text), x=percent(x), y=y, class_=class_ or None, text_anchor=anchor)


def across(y: float, class_: str) -> str:
    """A line over the whole width."""
    return element("line", x1="0", x2="100%", y1=y, y2=y, class_=class_)


def upwards(x: float, y: float, to: float, class_: str) -> str:
    """A line at a place."""
    return element("line", x1=percent(x), x2=percent(x), y1=y, y2=to, class_=class_)


class Plot:
    """A picture with numbers upwards.

    Attributes: label, what it shows, for those who do not see it; height, of what is drawn [px]; top, the
        number at the upper edge; parts, elements; scale, the places of its lines and their numbers, which are
        above all else; scale_at, where these are, the end where less is drawn; beside, the places down
        between which a curve is there.
    """

    def __init__(
        self, label: str, top: float, form: Callable[[float], str], *, height: int = 130, scale_at: int = 0
    ) -> None:
        self.label, self.height, self.parts, self.scale_at = label, height, list[str](), scale_at
        self.scale = list[tuple[float, str]]()
        self.beside: tuple[float, float] | None = None
        lines = steps(top)
        self.top = lines[-1]
        for line in lines:
            y = self.y(line)
            self.parts.append(across(y, "grid" if line else "base"))
            if line:
                self.scale.append((y, form(line)))

    def y(self, value: float) -> float:
        """The place of a number [px]."""
        return round(_ABOVE + self.height * (1 - value / self.top), 1)

    def curve(self, points: Sequence[tuple[float, float]], class_: str = "") -> None:
        """An area below steps. Args: points, places across and their numbers, each up to the next place."""
        near = [self.y(value) for x, value in points if abs(x - self.scale_at) <= _SCALE_WIDTH]
        self.beside = (min(near), max(near)) if near else None
        places = [(number(x), number(self.y(value) - _ABOVE)) for x, value in points]
        (start, first), *others = places
        line = f"M{start} {first}" + "".join(f"H{x}V{y}" for x, y in others)
        inner = [
            element("path", d=f"{line}V{self.height}H{start}Z", class_="area"),
            element("path", d=line, class_="line"),
        ]
        box = {"x": 0, "y": _ABOVE, "width": "100%", "height": self.height, "class_": class_ or None}
        view = f"0 0 100 {self.height}"
        self.parts.append(element("svg", *inner, **box, viewBox=view, preserveAspectRatio="none"))

    def hit(self, x: float, after: float, text: str) -> None:
        """A tooltip over a part of the width."""
        place = {"x": percent(x), "width": percent(max(after - x, 0.3)), "y": _ABOVE, "height": self.height}
        self.parts.append(element("rect", tip(text), **place, class_="hit"))

    def bar(self, x: float, after: float, value: float, text: str, class_: str = "") -> None:
        """A bar, with its tooltip over the whole height."""
        gap = min((after - x) * 0.08, 1)
        y = self.y(value)
        place = {"x": percent(x + gap), "width": percent(after - x - 2 * gap)}
        self.parts.append(
            element("rect", **place, y=y, height=round(_ABOVE + self.height - y, 1), class_=f"bar {class_}")
        )
        self.hit(x, after, text)

    def dot(self, x: float, value: float, text: str, class_: str = "") -> None:
        """A point, and its number beside it."""
        self.parts.append(element("circle", cx=percent(x), cy=self.y(value), r=3.5, class_=f"dot {class_}"))
        self.parts.append(words(text, x, max(self.y(value) - 7, 10), "value"))

    def mark(self, x: float, text: str) -> None:
        """A line upwards, and what it means."""
        self.parts.append(upwards(x, 12, _ABOVE + self.height, "mark"))
        end = "end" if x > 50 else "start"
        self.parts.append(words(text, x + (-0.8 if x > 50 else 0.8), 11, "marked", end))

    def svg(self, ticks: Sequence[tuple[float, str]], unit: str) -> str:
        """The picture. Args: ticks, places across and their names; unit, what they are."""
        scale = [words(text, self.scale_at, self._base(y), "scale") for y, text in self.scale]
        return framed(self.label, [*self.parts, *scale], _ABOVE + self.height, ticks, unit)

    def _base(self, y: float) -> float:
        """Where the number of a line stands: above it, or below where a curve would strike it through."""
        above, below = y - 3, y + _SCALE_HEIGHT + 1

        def is_struck(base: float) -> bool:
            upper, lower = self.beside or (math.inf, -math.inf)
            return upper - 2 <= base and base - _SCALE_HEIGHT <= lower

        return below if is_struck(above) and not is_struck(below) else above


def framed(
    label: str, parts: Sequence[str], bottom: int, ticks: Sequence[tuple[float, str]], unit: str
) -> str:
    """A picture above its axis. Args: bottom, where the axis is [px]."""
    axis = [words(text, x, bottom + 14, "tick") for x, text in ticks]
    notches = [upwards(x, bottom, bottom + 4, "base") for x, _ in ticks]
    below = words(unit, 50, bottom + _DATES + 12, "unit", "middle")
    return picture(label, [*parts, *notches, *axis, below], bottom + _DATES + _UNITS)


def picture(label: str, parts: Sequence[str], height: int) -> str:
    """Elements as one picture."""
    return element("svg", *parts, role="img", aria_label=label, width="100%", height=height)


def steps(top: float, most: int = 4) -> list[float]:
    """Round numbers from 0 on, the last one not below `top`."""
    rough = max(top, 1) / most
    power = 10.0 ** math.floor(math.log10(rough))
    # Halves of bytes and of files there are none.
    factors = (1, 2, 5, 10) if power <= 1 else (1, 2, 2.5, 5, 10)
    step = max(next(power * factor for factor in factors if power * factor >= rough * 0.999), 1)
    return [step * count for count in range(math.ceil(max(top, 1) / step) + 1)]


class Span:
    """Times from the first to the last, across a picture, in UTC and without a zone.

    Attributes: first, last.
    """

    def __init__(self, times: Sequence[datetime]) -> None:
        self.first, self.last = min(times), max(times)

    def x(self, time: datetime) -> float:
        """The place of a time; one time alone is in the middle."""
        length = self.last - self.first
        return 100 * ((time - self.first) / length) if length else 50.0

    def ticks(self, most: int = 5) -> list[tuple[float, str]]:
        """Places and names of round times."""
        length = (self.last - self.first).total_seconds()
        if length < 1:
            return [(50.0, self.first.strftime("%H:%M:%S"))]
        step = next(step for step in (*_STEPS, *_MONTHS_STEPS) if length <= step * most)
        times = self._seconds(step) if step < _MONTH else self._months(round(step / _MONTH))
        return [(self.x(time), _short(time, step)) for time in times if self.first <= time <= self.last]

    def _seconds(self, step: int) -> list[datetime]:
        """Multiples of a step since 1970."""
        unit = timedelta(seconds=step)
        first, last = -((_EPOCH - self.first) // unit), (self.last - _EPOCH) // unit
        return [_EPOCH + count * unit for count in range(first, last + 1)]

    def _months(self, step: int) -> list[datetime]:
        """First days of months."""
        first, last = (time.year * 12 + time.month - 1 for time in (self.first, self.last))
        months = range(-(-first // step) * step, last + 1, step)
        return [datetime(month // 12, month % 12 + 1, 1) for month in months if month >= 12]

    @property
    def unit(self) -> str:
        """What the axis shows, from when to when."""
        if self.first.date() == self.last.date():
            return f"time of commit (UTC), {day(self.first)}"
        return f"time of commit (UTC), {day(self.first)} to {day(self.last)}"


def day(time: datetime) -> str:
    """A day in words that are the same wherever they are made."""
    return f"{time.day} {_MONTHS[time.month - 1]} {time.year}"


def _short(time: datetime, step: float) -> str:
    if step >= 12 * _MONTH:
        return str(time.year)
    if step >= _MONTH:
        return f"{_MONTHS[time.month - 1]} {time.year}"
    if step >= _DAY or time == datetime(time.year, time.month, time.day):
        return f"{time.day} {_MONTHS[time.month - 1]}"
    return time.strftime("%H:%M" if step >= _MINUTE else "%H:%M:%S")
