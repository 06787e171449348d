"""The picture of the benchmark: bars of seconds on a logarithmic scale, as SVG for light and dark pages."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Mapping, Sequence
from xml.sax.saxutils import escape

_STYLE = """
svg { font: 11px system-ui, sans-serif }
.paper { fill: #ffffff } text { fill: #24292f } .soft { fill: #59636e } .line { stroke: #d1d9e0 }
.bar { fill: #8c959f } .ours { fill: #3f51b5 }
@media (prefers-color-scheme: dark) {
  .paper { fill: #0d1117 } text { fill: #e6edf3 } .soft { fill: #9198a1 } .line { stroke: #3d444d }
  .bar { fill: #6e7681 } .ours { fill: #8c9eff }
}"""
_LEFT, _PANEL, _GAP, _BAR = 130, 150, 18, 15
_NUMBER = 44
"""The width left beside the longest bar for its number."""


def drawn(seconds: Mapping[tuple[str, str], Mapping[str, float | str]], heading: str) -> str:
    """A row of panels for each table, a column for each task, a bar for each reader.

    Args: seconds, by table and task of each reader; a text where there is no number.
    """
    tables, tasks = (list(dict.fromkeys(of)) for of in zip(*seconds, strict=True))
    numbers = [value for of in seconds.values() for value in of.values() if isinstance(value, float)]
    low = math.floor(math.log10(min(numbers, default=0.01)))
    high = max(low + 1, math.ceil(math.log10(max(numbers, default=1.0))))
    width = _LEFT + len(tasks) * (_PANEL + _GAP)
    lines = textwrap.wrap(heading, width // 6)
    parts = [_text(8, 18 + 14 * row, line, "soft") for row, line in enumerate(lines)]
    top = 32 + 14 * len(lines)
    for table in tables:
        readers = list(dict.fromkeys(name for task in tasks for name in seconds.get((table, task), ())))
        parts.append(_text(8, top, table, weight="bold"))
        bottom = top + 24 + len(readers) * _BAR
        parts += [_text(_LEFT - 6, top + 31 + _BAR * row, name, end=True) for row, name in enumerate(readers)]
        for column, task in enumerate(tasks):
            left = _LEFT + column * (_PANEL + _GAP)
            parts.append(_text(left, top + 14, task, "soft"))
            parts += _scale(left, top + 20, bottom, low, high)
            found = seconds.get((table, task), {})
            for row, name in enumerate(readers):
                parts += _bar(left, top + 22 + _BAR * row, name, found.get(name), low, high)
        top = bottom + 34
    height = top - 10
    size = f'viewBox="0 0 {width} {height}" width="{width}" height="{height}"'
    paper = f'<rect class="paper" width="{width}" height="{height}"/>'
    title = "<title>Seconds of planning, on a logarithmic scale</title>"
    body = "\n".join(parts)
    head = f'<svg xmlns="http://www.w3.org/2000/svg" {size}>{title}<style>{_STYLE}\n</style>'
    return f"{head}\n{paper}\n{body}\n</svg>\n"


def _place(value: float, low: int, high: int) -> float:
    """How far along a panel's scale that many seconds are; its shortest bar can still be seen."""
    return max(2.0, (math.log10(value) - low) / (high - low) * (_PANEL - _NUMBER))


def _scale(left: float, top: float, bottom: float, low: int, high: int) -> Sequence[str]:
    lines = []
    for power in range(low, high + 1):
        x = left + (power - low) / (high - low) * (_PANEL - _NUMBER)
        lines.append(f'<line class="line" x1="{x:.1f}" x2="{x:.1f}" y1="{top}" y2="{bottom}"/>')
        lines.append(_text(x, bottom + 11, f"{10.0**power:g}", "soft", middle=True))
    return lines


def _bar(left: float, top: float, name: str, value: float | str | None, low: int, high: int) -> Sequence[str]:
    if value is None:
        return []
    if isinstance(value, str):
        return [_text(left + 3, top + 9, value, "soft")]
    length, kind = _place(value, low, high), "ours" if "lakebed" in name else "bar"
    bar = f'<rect class="{kind}" x="{left}" y="{top}" width="{length:.1f}" height="{_BAR - 4}"/>'
    return [bar, _text(left + length + 3, top + 9, f"{value:.3g}")]


def _text(
    x: float,
    y: float,
    text: str,
    kind: str = "",
    *,
    weight: str = "",
    end: bool = False,
    middle: bool = False,
) -> str:
    more = f' class="{kind}"' if kind else ""
    more += f' font-weight="{weight}"' if weight else ""
    more += ' text-anchor="end"' if end else ' text-anchor="middle"' if middle else ""
    return f'<text x="{x:.1f}" y="{y:.1f}"{more}>{escape(text)}</text>'
