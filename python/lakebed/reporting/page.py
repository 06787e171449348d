"""A report as one HTML page, which needs nothing from elsewhere."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from lakebed._display import moment, size, threshold
from lakebed._html import escape
from lakebed.advice import verdict
from lakebed.reporting import pictures

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from datetime import datetime

    from lakebed.reporting.numbers import Numbers

_ROWS = 10
_STYLE = """
:root { color-scheme: light dark; --line: rgba(128, 128, 128, 0.35); --mark: #b45309; }
@media (prefers-color-scheme: dark) { :root { --mark: #f0a53c; } body { background: #15181c; color: #e4e6e8;
} } body { font: 15px/1.5 system-ui, sans-serif; margin: 0 auto; padding: 1rem; max-width: 60rem; }
h1 { font-size: 1.5rem; } h2 { font-size: 1.25rem; overflow-wrap: anywhere; border-top: 1px solid var(--line);
padding-top: 1rem; margin-top: 2rem; } h3 { font-size: 1rem; margin-bottom: 0.3rem; }
dl { display: grid; grid-template-columns: repeat(auto-fill, minmax(9.5rem, 1fr)); gap: 0.5rem 1rem; }
dt { opacity: 0.7; font-size: 0.85rem; } dd { margin: 0; font-weight: 600; font-variant-numeric:
tabular-nums; } figure { margin: 1rem 0; } figcaption { font-size: 0.9rem; opacity: 0.8; } svg { width: 100%;
height: auto; } .wide { overflow-x: auto; } table { border-collapse: collapse; font-variant-numeric:
tabular-nums; } td { white-space: nowrap; }
th, td { padding: 0.2rem 0.7rem 0.2rem 0; text-align: right; border-bottom: 1px solid
var(--line); } th:first-child, td:first-child { text-align: left; overflow-wrap: anywhere; min-width: 9rem;
white-space: normal; }
.finding { border-left: 4px solid var(--mark); padding-left: 0.7rem; margin: 0.7rem 0; }
.finding b { color: var(--mark); } code { overflow-wrap: anywhere; }
"""
_WHOLE = (
    ("data files", "file_count"),
    ("rows", "record_count"),
    ("partitions", "partition_count"),
    ("snapshots", "snapshot_count"),
    ("small files", "small_file_count"),
    ("delete files", "delete_file_count"),
    ("manifests", "manifest_count"),
)


def page(tables: Sequence[Numbers], small_bytes: int) -> str:
    """The page of some tables; each in a section of its own, behind a list of all where there are several."""
    title = "Report of lake tables" if len(tables) != 1 else f"Report of {tables[0].name}"
    several = [_overview(tables)] if len(tables) > 1 else []
    sections = [_section(number, table, small_bytes) for number, table in enumerate(tables)]
    return "\n".join(
        [
            '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">',
            '<meta name="viewport" content="width=device-width, initial-scale=1">',
            f"<title>{escape(title)}</title>\n<style>{_STYLE}</style>\n</head>\n<body>",
            f"<h1>{escape(title)}</h1>",
            *several,
            *sections,
            "</body>\n</html>\n",
        ]
    )


def _overview(tables: Sequence[Numbers]) -> str:
    header = ("table", "findings", "bytes", "data files", "small files", "snapshots", "manifests")
    columns = ("file_count", "small_file_count", "snapshot_count", "manifest_count")
    # Those with most to look at first.
    order = sorted(range(len(tables)), key=lambda number: -len(tables[number].findings))
    rows = []
    for number in order:
        table = tables[number]
        link = f'<a href="#table-{number}">{escape(table.name)}</a>'
        numbers = [_number(table.health[column]) for column in columns]
        rows.append([link, str(len(table.findings)), _bytes(table.health["file_size_in_bytes"]), *numbers])
    return _table(header, rows)


def _section(number: int, table: Numbers, small_bytes: int) -> str:
    health = table.health
    at = "no snapshot" if health["snapshot_id"] is None else f"snapshot {health['snapshot_id']}"
    committed = health["committed_at"]
    when = "" if committed is None else f", committed {_minute(committed)}"
    snapshots = f"{len(table.snapshots):,} snapshots that are still there, in UTC."
    facts = [("bytes", _bytes(health["file_size_in_bytes"]))]
    facts += [(label, _number(health[column])) for label, column in _WHOLE]
    parts = [
        f'<section id="table-{number}">\n<h2>{escape(table.name)}</h2>',
        f"<p>{escape(str(health['format']))} table at {escape(at + when)}.</p>",
        _facts(facts),
        _findings(table),
        _figure(pictures.growth(table.growth), "Bytes and data files that are live after each snapshot."),
        _figure(pictures.timeline(table.snapshots), snapshots),
        _figure(pictures.sizes(table.sizes), _sizes_note(health, small_bytes)),
        _partitions(table),
        _deletes(health),
        _clustering(health),
        "</section>",
    ]
    return "\n".join(filter(None, parts))


def _findings(table: Numbers) -> str:
    found = [
        f'<div class="finding"><b>{escape(finding.what)}</b><br>{_code(finding.next_step)}</div>'
        for finding in table.findings
    ]
    return f"<h3>Findings: {escape(verdict(table.findings))}</h3>" + "".join(found)


def _sizes_note(health: dict[str, Any], small_bytes: int) -> str:
    small, files = health["small_file_count"], health["file_count"]
    small_ones = f"{small:,} of {files:,} data files are small, below {threshold(small_bytes)}"
    return f"{small_ones}; each class of sizes ends at twice the one before."


def _partitions(table: Numbers) -> str:
    rows = table.partitions
    if len(rows) < 2:
        return ""
    header = ("partition", "bytes", "data files", "small files", "rows")

    def cells(row: dict[str, Any]) -> list[str]:
        numbers = [_number(row[name]) for name in ("file_count", "small_file_count", "record_count")]
        return [escape(row["label"]), _bytes(row["file_size_in_bytes"]), *numbers]

    small = sorted(rows, key=lambda row: (-(row["small_file_count"] or 0), row["label"]))
    small = [row for row in small if row["small_file_count"]][:_ROWS]
    most = f"<h3>Most small files: {len(small)} partitions</h3>" + _table(header, map(cells, small))
    parts = [
        f"<h3>Partitions: {len(rows):,}</h3>",
        _figure(pictures.partitions(rows), "Live data files alone."),
        f"<h3>The largest {min(_ROWS, len(rows))}</h3>" + _table(header, map(cells, rows[:_ROWS])),
        most if small else "",
    ]
    return "\n".join(filter(None, parts))


def _deletes(health: dict[str, Any]) -> str:
    columns = (
        ("position delete files", "position_delete_file_count"),
        ("deletion vectors", "deletion_vector_count"),
        ("equality delete files", "equality_delete_file_count"),
        ("deleted rows known", "delete_record_count"),
    )
    facts = [(label, _number(health[column])) for label, column in columns if health[column]]
    if not facts:
        return ""
    if health["deleted_record_ratio"]:
        facts.append(("of all rows", f"{health['deleted_record_ratio']:.1%}"))
    return "<h3>Deletes</h3>" + _facts(facts)


def _clustering(health: dict[str, Any]) -> str:
    now, after = (health[f"average_{of}partition_manifest_count"] for of in ("", "rewritten_"))
    most, most_after = (health[f"max_{of}partition_manifest_count"] for of in ("", "rewritten_"))
    if now is None or after is None:
        return ""
    manifests = health["rewritten_manifest_count"] + health["delete_manifest_count"]
    estimate = "after manifests are rewritten (estimate)"
    rows = [
        ["now", f"{now:,.1f}", _number(most), _number(health["manifest_count"])],
        [estimate, f"{after:,.1f}", _number(most_after), _number(manifests)],
    ]
    header = ("manifests read for one partition", "on average", "at most", "of")
    return "<h3>Clustering of manifests</h3>" + _table(header, rows)


def _facts(facts: Iterable[tuple[str, str]]) -> str:
    return f"<dl>{''.join(f'<div><dt>{label}</dt><dd>{value}</dd></div>' for label, value in facts)}</dl>"


def _table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Rows of HTML."""
    head = "".join(f"<th>{name}</th>" for name in header)
    body = "".join("<tr>" + "".join(f"<td>{cell}</td>" for cell in row) + "</tr>" for row in rows)
    return f'<div class="wide"><table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>'


def _figure(svg: str, caption: str) -> str:
    return f"<figure>{svg}<figcaption>{escape(caption)}</figcaption></figure>" if svg else ""


def _code(text: str) -> str:
    """Text in which words between backquotes are code."""
    parts = [escape(part) for part in text.split("`")]
    return "".join(f"<code>{part}</code>" if number % 2 else part for number, part in enumerate(parts))


def _minute(time: datetime | str) -> str:
    return moment(time) if isinstance(time, str) else f"{time:%Y-%m-%d %H:%M} UTC"


def _number(value: int | None) -> str:
    return "–" if value is None else f"{value:,}"


def _bytes(value: int | None) -> str:
    return "–" if value is None else escape(size(value))
