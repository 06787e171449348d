"""Small HTML tables for notebooks, light and dark: colours are the page's own."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lakebed._text import printable

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

_LONGEST = 60
_STYLE = """
.lakebed table { border-collapse: collapse; font-variant-numeric: tabular-nums; }
.lakebed caption { text-align: left; padding: 2px 8px; font-weight: 600; white-space: nowrap; }
.lakebed th, .lakebed td { padding: 2px 8px; white-space: nowrap; border: 0; }
.lakebed thead tr { border-bottom: 1px solid rgba(128, 128, 128, 0.6); }
.lakebed tbody tr { border-bottom: 1px solid rgba(128, 128, 128, 0.2); background: none; }
.lakebed p { margin: 4px 8px; opacity: 0.7; font-size: 90%; }
""".replace("\n", " ")


def table(
    header: Sequence[str],
    rows: Iterable[Sequence[str]],
    *,
    caption: str = "",
    numbers: Sequence[int] = (),
    types: Sequence[str] = (),
    note: str = "",
) -> str:
    """An HTML table with one line a row; texts are escaped, control characters in them spelled out, and long
    ones cut, with the whole in the tooltip: of paths the end is left, of other texts the beginning.

    Args: header, names; rows; caption; numbers, the columns that are aligned to the right; types, of the
        columns, for the tooltips of their names; note, a line below.
    """
    top = f"<caption>{escape(caption)}</caption>" if caption else ""
    sides = ["right" if number in numbers else "left" for number in range(len(header))]
    titles = [f' title="{escape(kind)}"' for kind in types] or [""] * len(header)
    head = "".join(
        f'<th{title} style="text-align: {side}">{escape(name)}</th>'
        for name, title, side in zip(header, titles, sides, strict=True)
    )
    body = "".join(f"<tr>{''.join(map(_cell, row, sides))}</tr>" for row in rows)
    thead = f"<thead><tr>{head}</tr></thead>" if any(header) else ""
    whole = f"<table>{top}{thead}<tbody>{body}</tbody></table>"
    below = f"<p>{escape(note)}</p>" if note else ""
    return f'<div class="lakebed"><style>{_STYLE}</style>{whole}{below}</div>'


def escape(text: str) -> str:
    """The text as HTML shows it."""
    from html import escape  # which loads all names of HTML's entities

    return escape(printable(text), quote=True)


def _cell(text: str, side: str) -> str:
    style = f"text-align: {side}" + ("; opacity: 0.5" if text == "null" else "")
    if len(text) <= _LONGEST:
        return f'<td style="{style}">{escape(text)}</td>'
    is_path = "/" in text and not any(char in text for char in ' {["')
    short = f"…{text[1 - _LONGEST :]}" if is_path else f"{text[: _LONGEST - 1]}…"
    return f'<td style="{style}" title="{escape(text)}">{escape(short)}</td>'
