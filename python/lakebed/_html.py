"""Small HTML tables for notebooks."""

from __future__ import annotations

import html
from typing import TYPE_CHECKING

from lakebed._text import printable

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence


def table(header: Sequence[str], rows: Iterable[Sequence[str]], caption: str = "") -> str:
    """An HTML table; texts are escaped, control characters in them spelled out, and long ones cut to 80
    characters with the whole in the tooltip.

    Args: header, names, or `name: type` with the type in a smaller second line; rows; caption.
    """
    top = f"<caption>{escape(caption)}</caption>" if caption else ""
    head = "".join(map(_heading, header))
    body = "".join(f"<tr>{''.join(map(_cell, row))}</tr>" for row in rows)
    return f"<table>{top}<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def escape(text: str) -> str:
    """The text as HTML shows it."""
    return html.escape(printable(text), quote=True)


def _heading(text: str) -> str:
    name, _, kind = text.partition(": ")
    return f"<th>{escape(name)}<br><small>{escape(kind)}</small></th>" if kind else f"<th>{escape(name)}</th>"


def _cell(text: str) -> str:
    if len(text) <= 80:
        return f"<td>{escape(text)}</td>"
    return f'<td title="{escape(text)}">{escape(text[:79])}…</td>'
