"""Primitives of a report's page."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from lakebed._display import moment, size
from lakebed._html import escape

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from datetime import datetime


_JOINT = re.compile(r"(?<=[._/=-])(?=[^._/=-])")
_HEADING = re.compile(r"(</?h)([34])(?=>)")
# Bars are for those who see them.
_SIDES = {"": "", "left": ' class="left"', "bar": ' class="bar" aria-hidden="true"'}


def tiles(facts: Iterable[tuple[str, str, str]]) -> str:
    """Names, their values, and what is to be said of these, as texts."""
    cells = []
    for name, value, more in facts:
        below = f"<dd>{escape(more)}</dd>" if more else ""
        cells.append(f"<div><dt>{escape(name)}</dt><dd>{escape(value)}</dd>{below}</div>")
    return f'<dl class="tiles">{"".join(cells)}</dl>'


def table(
    caption: str, header: Sequence[str], rows: Iterable[Sequence[str]], left: Sequence[int] = ()
) -> str:
    """A table, which is scrolled where it is wider than the page.

    Args: caption and header, texts; rows, the insides of cells or whole ones, the first of each its name,
        fewer where one is wider; left, columns of words.
    """
    classes = ["left" if number in left else "" if name else "bar" for number, name in enumerate(header)]
    sides = [_SIDES[name] for name in ("", *classes[1:])]
    head = "".join(
        f'<th scope="col"{side}>{escape(name)}</th>' for name, side in zip(header, sides, strict=True)
    )
    body = "".join(
        f'<tr><th scope="row">{row[0]}</th>'
        + "".join(
            cell if cell.startswith("<td") else f"<td{side}>{cell}</td>"
            for cell, side in zip(row[1:], sides[1:], strict=False)
        )
        + "</tr>"
        for row in rows
    )
    whole = f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
    wide = f'<div class="wide" role="region" tabindex="0" aria-label="{escape(caption)}">{whole}</div>'
    return f"<h4>{escape(caption)}</h4>{wide}"


def share_bar(part: float, whole: float) -> str:
    """A cell that shows a number beside the largest one, for those who see it."""
    width = 100 * part / whole if whole else 0
    return f'<td class="bar" aria-hidden="true"><i style="width:{width:.1f}%"></i></td>'


def figure(title: str, svg: str, caption: str = "") -> str:
    """A picture with its title; nothing without one. Args: caption, text."""
    below = f"<figcaption>{escape(caption)}</figcaption>" if caption else ""
    return f"<figure><h4>{escape(title)}</h4>{svg}{below}</figure>" if svg else ""


def panels(*parts: str) -> str:
    """Figures side by side, as many as fit; nothing without any."""
    shown = "".join(parts)
    return f'<div class="panels">{shown}</div>' if shown else ""


def raised(text: str, levels: int = 1) -> str:
    """The same with headings some levels higher; what tables say is escaped, so none of them is theirs."""
    return _HEADING.sub(lambda found: f"{found[1]}{int(found[2]) - levels}", text)


def name(text: str) -> str:
    """A name, which may be broken into lines where its parts meet."""
    return "<wbr>".join(map(escape, _JOINT.split(text)))


def code(text: str) -> str:
    """Text in which words between backquotes are code."""
    parts = [escape(part) for part in text.split("`")]
    return "".join(f"<code>{part}</code>" if number % 2 else part for number, part in enumerate(parts))


def minute(time: datetime | str) -> str:
    """An instant; one that Python's calendar lacks is the text that JSON has."""
    return moment(time) if isinstance(time, str) else f"{time:%Y-%m-%d %H:%M} UTC"


def number(value: int | None) -> str:
    """A count with separators, a dash for an unknown one."""
    return "–" if value is None else f"{value:,}"


def in_bytes(value: float | None) -> str:
    """Bytes in words, a dash for an unknown number."""
    return "–" if value is None else size(value)
