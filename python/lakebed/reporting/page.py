"""A report as one HTML page, which needs nothing from elsewhere."""

from __future__ import annotations

from importlib.resources import files
from typing import TYPE_CHECKING

from lakebed import _native, fleet
from lakebed._display import count, size
from lakebed._html import escape
from lakebed.reporting import html, pictures
from lakebed.reporting.html import in_bytes, minute, number
from lakebed.reporting.numbers import Numbers, UnreadableTable
from lakebed.reporting.section import section
from lakebed.reporting.svg import day

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime


_FOOT = (
    "1 kB is 1,000 bytes, 1 KiB 1,024. Times are UTC. "
    "Numbers are read from metadata; no data file was opened."
)
_MADE_BY = f"lakebed {_native.__version__}"
# Nothing is loaded from anywhere, and nothing runs.
_POLICY = "default-src 'none'; style-src 'unsafe-inline'"


def page(tables: Sequence[Numbers | UnreadableTable], now: datetime) -> str:
    """The page of some tables; each in a section of its own, behind a list of all where there are several.

    Args: now, when it is made, in UTC.
    """
    style = files("lakebed.reporting").joinpath("page.css").read_text("utf-8")
    several = len(tables) != 1
    title = f"Report of {len(tables):,} tables" if several else tables[0].name
    made = f"{day(now)}, {now:%H:%M} UTC"
    read = {place: table for place, table in enumerate(tables) if isinstance(table, Numbers)}
    read = dict(
        sorted(read.items(), key=lambda one: (fleet.rank(one[1].findings, one[1].health), one[1].name))
    )
    is_list = several or not read
    sections = [section(place, table, named=several) for place, table in read.items()]
    return "\n".join(
        [
            '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">',
            '<meta name="viewport" content="width=device-width, initial-scale=1">',
            f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">',
            f"<title>{escape(title)}, {day(now)}</title>\n<style>\n{style}</style>\n</head>\n<body>\n<main>",
            f'<h1>{html.name(title)}</h1>\n<p class="about">Made on {made} by {_MADE_BY}</p>',
            *([_overview(tables, read)] if is_list else []),
            *sections,
            f"</main>\n<footer>{_FOOT}</footer>\n</body>\n</html>\n",
        ]
    )


def _overview(tables: Sequence[Numbers | UnreadableTable], places: dict[int, Numbers]) -> str:
    """All tables in a list. Args: places, those that were read, by their places, in the order of the list."""
    read = [*places.values()]
    whole = sum(table.health["file_size_in_bytes"] or 0 for table in read)
    poor, unread = sum(1 for table in read if table.findings), len(tables) - len(read)
    facts = [
        ("tables", f"{len(tables):,}", f"{unread:,} not read" if unread else ""),
        ("with problems", f"{poor:,}", f"{len(read) - poor:,} without" if poor else ""),
        ("live data", size(whole), count(sum(table.health["file_count"] for table in read), "file")),
        ("snapshots", f"{sum(table.health['snapshot_count'] for table in read):,}", ""),
    ]
    header = (
        "table",
        "problems",
        "bytes",
        "",
        "data files",
        "small",
        "deleted rows",
        "snapshots",
        "last commit",
    )
    most = max((table.health["file_size_in_bytes"] or 0 for table in read), default=0)
    rows = [_line(place, table, most) for place, table in places.items()]
    errors = [_error(table) for table in tables if isinstance(table, UnreadableTable)]
    shown = html.table("Those with the worst problems first", header, rows, left=(1,))
    shown = f'<div class="panel">{html.raised(shown, 2)}</div>' if rows else ""
    return f'<nav aria-label="all tables">{html.tiles(facts)}{"".join(errors)}{shown}</nav>'


def _error(table: UnreadableTable) -> str:
    return (
        f'<div class="finding error"><b>{html.name(table.name)}: not read</b><br>{escape(table.error)}</div>'
    )


def _line(place: int, table: Numbers, most: int) -> list[str]:
    health = table.health
    worst = fleet.worst_of(table.findings)
    more = f" (and {len(table.findings) - 1:,} more)" if len(table.findings) > 1 else ""
    ratio = health["deleted_record_ratio"]
    committed = health["committed_at"]
    problems = f"{escape(worst.what)}{more}" if worst else '<span class="verdict good">none</span>'
    return [
        f'<a href="#table-{place}">{html.name(table.name)}</a>',
        f'<td class="left text">{problems}</td>',
        escape(in_bytes(health["file_size_in_bytes"])),
        html.share_bar(health["file_size_in_bytes"] or 0, most),
        number(health["file_count"]),
        escape(pictures.share(health["small_file_count"], health["file_count"])),
        "–" if ratio is None else escape(pictures.share(ratio, 1)),
        number(health["snapshot_count"]),
        "–" if committed is None else escape(minute(committed).partition(" ")[0]),
    ]
