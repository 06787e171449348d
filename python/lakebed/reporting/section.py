"""What the page of a report says of one table."""

from __future__ import annotations

from collections import Counter
from statistics import median
from typing import TYPE_CHECKING, Any

from lakebed._display import count, size, threshold
from lakebed._html import escape
from lakebed.advice import verdict
from lakebed.reporting import html, pictures
from lakebed.reporting.html import figure, in_bytes, minute, number, panels
from lakebed.reporting.numbers import Commit, Writer

if TYPE_CHECKING:
    from collections.abc import Sequence

    from lakebed.advice.findings import Instruction
    from lakebed.reporting.numbers import Numbers

_ROWS, _MOST_WRITERS = 10, 7
# Kinds of `totals` whose files hold rows, and whose files say which rows are deleted.
_DATA = frozenset({"data", "changelog data", "extra"})
_DELETES = frozenset({"position deletes", "equality deletes", "deletion vectors", "index"})
# Columns of `partitions`, and what they are called.
_NAMES = {
    "file_size_in_bytes": "bytes",
    "file_count": "data files",
    "small_file_count": "small files",
    "record_count": "rows",
}


def section(place: int, table: Numbers, *, named: bool) -> str:
    """What is known of a table. Args: place, by which the list of all finds it; named, whether its name is
    above it.
    """
    class_, title = ("", f"<h2>{html.name(table.name)}</h2>") if named else (' class="only"', "")
    parts = [
        f'<section id="table-{place}"{class_}>\n{title}',
        _about(table),
        _tiles(table),
        _findings(table),
        f"<h3>Storage</h3>{_storage(table)}",
        _growth(table),
        _sizes(table),
        _skew(table),
        _deletes(table),
        _clustering(table.health),
        _overlaps(table),
        _writers(table.snapshots),
        "</section>",
    ]
    text = "\n".join(filter(None, parts))
    return text if named else html.raised(text)


def _about(table: Numbers) -> str:
    health = table.health
    catalog = "" if table.catalog is None else f" in the catalog {table.catalog}"
    version = "" if health["format_version"] is None else f", format version {health['format_version']}"
    at = "without a snapshot" if health["snapshot_id"] is None else f"at snapshot {health['snapshot_id']}"
    committed = health["committed_at"]
    when = "" if committed is None else f", committed {minute(committed)}"
    kind = str(health["format"]).capitalize()
    return (
        f'<p class="about">{escape(f"{kind} table{catalog}{version}, {at}{when}")}<br>'
        f"<code>{escape(table.location)}</code></p>"
    )


def _tiles(table: Numbers) -> str:
    health = table.health
    average = health["average_file_size_in_bytes"]
    oldest, ratio = health["oldest_snapshot_at"], health["deleted_record_ratio"]
    manifests = in_bytes(health["manifest_size_in_bytes"])
    return html.tiles(
        [
            ("live data", in_bytes(health["file_size_in_bytes"]), ""),
            (
                "data files",
                number(health["file_count"]),
                "" if average is None else f"{size(average)} each",
            ),
            ("rows", *_rows(health["record_count"])),
            (
                "deleted rows",
                "–" if ratio is None else pictures.share(ratio, 1),
                "" if ratio is None else "of all rows",
            ),
            (
                "snapshots",
                number(health["snapshot_count"]),
                "" if oldest is None else f"since {minute(oldest)[:10]}",
            ),
            ("manifests", number(health["manifest_count"]), manifests),
        ]
    )


def _rows(many: int) -> tuple[str, str]:
    """A number of rows in words, and the number itself where they are shorter."""
    for word, power in (("trillion", 12), ("billion", 9), ("million", 6)):
        if many >= 10**power:
            return f"{many / 10**power:,.1f} {word}", f"{many:,}"
    return f"{many:,}", ""


def _findings(table: Numbers) -> str:
    def shown(step: Instruction) -> str:
        typed = f"<code>{escape(step.command)}</code>" if step.command else ""
        return f"<li>{html.code(step.before)}{typed}{escape(step.after)}</li>"

    found = [
        f'<div class="finding"><b>{escape(finding.what)}</b><ul>'
        f"{''.join(map(shown, finding.steps(table.engine)))}</ul></div>"
        for finding in table.findings
    ]
    mood = "bad" if found else "good"
    whole = f'<span class="verdict {mood}">{escape(verdict(table.findings))}</span>'
    return f"<h3>Findings: {whole}</h3>{''.join(found)}"


def _storage(table: Numbers) -> str:
    storage = table.storage
    if storage.kinds is None:
        return f'<div class="panel"><p class="note">{html.code(storage.note)}</p></div>'

    def added(prefix: str, wanted: Sequence[str]) -> tuple[int, int]:
        rows = [kind for kind in storage.kinds or () if kind["kind"] in wanted]
        files = sum(row[f"{prefix}_file_count"] or 0 for row in rows)
        return files, sum(row[f"{prefix}_file_size_in_bytes"] or 0 for row in rows)

    kinds = {row["kind"] for row in storage.kinds}
    deletes = "deletes and indexes" if "index" in kinds else "deletes"
    parts = [
        ("data", "live data", *added("current", [*_DATA & kinds])),
        ("deletes", f"live {deletes}", *added("current", [*_DELETES & kinds])),
        ("meta", "live metadata", *added("current", [*kinds - _DATA - _DELETES])),
        ("older", "older snapshots, tags or branches only", *added("older", [*kinds])),
    ]
    if storage.has_orphans:
        parts.append(("orphans", "orphans, older than 3 days", *added("orphan", [*kinds])))
    whole = sum(part[3] for part in parts)
    rows = [
        [
            f'<span class="swatch {mark}"></span>{escape(name)}',
            escape(size(own)),
            escape(pictures.share(own, whole)),
            f"{files:,}",
        ]
        for mark, name, files, own in parts
    ]
    shares = pictures.bar([(mark, name, own) for mark, name, _, own in parts])
    looked = (
        ""
        if storage.has_orphans
        else "Orphan files were not looked for: `orphans=True` or `--orphans` does. "
    )
    note = f'<p class="note">{html.code((looked + storage.note).strip())}</p>'
    shown = html.table("Storage by kind", ("kind", "bytes", "share", "files"), rows)
    return f'<div class="panel">{shares}{shown}{note}</div>'


def _growth(table: Numbers) -> str:
    over_time = pictures.over_time
    shown = panels(
        figure("Live bytes", over_time(table.growth, "file_size_in_bytes", pictures.size, "bytes", "data")),
        figure("Live data files", over_time(table.growth, "file_count", _whole, "data files", "files")),
    )
    return f"<h3>Growth</h3>{shown}" if shown else ""


def _whole(value: float) -> str:
    return f"{value:,.0f}"


def _sizes(table: Numbers) -> str:
    health, small_bytes = table.health, table.small_bytes
    small, files = health["small_file_count"], health["file_count"]
    note = (
        f"{small:,} of {files:,} data files are small, below {threshold(small_bytes)} (orange). "
        f"The target is {table.target.words}."
    )
    shown = panels(figure("Data files by size", pictures.sizes(table.sizes, table.target, small_bytes), note))
    return f"<h3>Sizes of data files</h3>{shown}" if shown else ""


def _skew(table: Numbers) -> str:
    rows = table.partitions
    if len(rows) < 2:
        return ""
    sizes = [row["file_size_in_bytes"] or 0 for row in rows]
    largest = f"The largest has {pictures.share(sizes[0], sum(sizes))} of all bytes"
    usual = median(sizes)
    times = f", {sizes[0] / usual:,.1f} times as much as the median one with {size(usual)}." if usual else "."
    parts = [
        f'<h3>Partitions: {len(rows):,}</h3><p class="note">{escape(largest + times)}</p>',
        _partitions(f"The largest {min(_ROWS, len(rows))} partitions", rows[:_ROWS], [*_NAMES]),
    ]
    # Of fewer the table shows all.
    if len(rows) > _ROWS:
        bytes_of = pictures.skew(rows, "file_size_in_bytes", pictures.size, "bytes")
        files_of = pictures.skew(rows, "file_count", _whole, "data files", "files")
        small = sorted(rows, key=lambda row: (-(row["small_file_count"] or 0), row["label"]))
        small = [row for row in small if row["small_file_count"]][:_ROWS]
        columns = sorted(_NAMES, key=lambda name: name != "small_file_count")
        parts.insert(
            1, panels(figure("Bytes of each partition", bytes_of), figure("Data files of each", files_of))
        )
        parts.append(_partitions(f"Most small files: {count(len(small), 'partition')}", small, columns))
    return "\n".join(filter(None, parts))


def _partitions(caption: str, rows: Sequence[dict[str, Any]], columns: Sequence[str]) -> str:
    """A table of partitions. Args: columns, of which the first is shown as a bar too."""
    if not rows:
        return ""
    forms = {column: in_bytes if column == "file_size_in_bytes" else number for column in columns}
    cells = [
        [
            html.name(row["label"]),
            html.share_bar(row[columns[0]] or 0, rows[0][columns[0]] or 0),
            *(escape(forms[column](row[column])) for column in columns),
        ]
        for row in rows
    ]
    header = ("partition", "", *(_NAMES[column] for column in columns))
    return f'<div class="panel">{html.table(caption, header, cells)}</div>'


def _deletes(table: Numbers) -> str:
    health = table.health
    columns = (
        ("position delete files", "position_delete_file_count"),
        ("deletion vectors", "deletion_vector_count"),
        ("equality delete files", "equality_delete_file_count"),
        ("of no live data file", "dangling_delete_file_count"),
        ("deleted rows known", "delete_record_count"),
    )
    facts = [(name, number(health[column]), "") for name, column in columns if health[column]]
    shown = any(row["delete_file_count"] for row in table.growth)
    if not facts and not shown:
        return ""
    if health["deleted_record_ratio"]:
        facts.append(("of all rows", pictures.share(health["deleted_record_ratio"], 1), ""))
    over_time = (
        pictures.over_time(table.growth, "delete_file_count", _whole, "delete files", "deletes")
        if shown
        else ""
    )
    title = "Live delete files and deletion vectors"
    return f"<h3>Deletes</h3>{html.tiles(facts) if facts else ''}{panels(figure(title, over_time))}"


def _clustering(health: dict[str, Any]) -> str:
    now, after = (health[f"average_{of}partition_manifest_count"] for of in ("", "rewritten_"))
    most, most_after = (health[f"max_{of}partition_manifest_count"] for of in ("", "rewritten_"))
    if now is None or after is None:
        return ""
    manifests = health["rewritten_manifest_count"] + health["delete_manifest_count"]
    estimate = "after manifests are rewritten (estimate)"
    whole = max(now, after)
    rows = [
        ["now", html.share_bar(now, whole), f"{now:,.1f}", number(most), number(health["manifest_count"])],
        [estimate, html.share_bar(after, whole), f"{after:,.1f}", number(most_after), number(manifests)],
    ]
    header = ("when", "", "on average", "at most", "of")
    shown = html.table("Manifests that a query of one partition reads", header, rows)
    return f'<h3>Clustering of manifests</h3><div class="panel">{shown}</div>'


def _overlaps(table: Numbers) -> str:
    """How many data files a value of a column meets, and how many if they were sorted by it."""
    title = "<h3>Overlap of data files</h3>"
    if table.overlaps is None:
        note = "Left out, for there are many bounds: `overlap` or `lakebed overlap TABLE` reads them."
        return f'{title}<div class="panel"><p class="note">{html.code(note)}</p></div>'
    if all(one.most < 2 for one in table.overlaps):
        return ""
    shown = table.overlaps[:_ROWS]
    most = max(one.average for one in shown)
    rows = [
        [
            escape(one.column),
            html.share_bar(one.average, most),
            *(escape(f"{depth:,.1f}") for depth in (one.average, one.sorted_)),
            number(one.most),
        ]
        for one in shown
    ]
    caption = "Files of a partition that a query of one value reads, by their bounds"
    if len(shown) < len(table.overlaps):
        caption += f": {len(shown)} of {len(table.overlaps):,} columns, what sorting would change most first"
    header = ("column", "", "on average", "if sorted by it", "at most")
    return f'{title}<div class="panel">{html.table(caption, header, rows)}</div>'


def _writers(snapshots: Sequence[Commit]) -> str:
    if not snapshots:
        return ""
    groups = _grouped(snapshots)
    named = [(" · ".join(filter(None, writer)) or "not told", own) for writer, own in groups]
    header = ("engine", "application", "user", "snapshots", "what they did", "last commit")
    rows = []
    for writer, own in groups:
        did = Counter(str(one.operation).lower() for one in own).most_common()
        last = max((one.committed_at or "" for one in own), default="")
        cells = [escape(part or "–") for part in writer]
        operations = escape(", ".join(f"{name} {many:,}" for name, many in did))
        rows.append([*cells, f"{len(own):,}", operations, escape(minute(last)[:16]) if last else "–"])
    shown = html.table("Writers, as summaries of snapshots name them", header, rows, left=(1, 2, 4))
    timeline = panels(figure("Snapshots over time", pictures.lanes(named)))
    title = f"<h3>Who wrote the {count(len(snapshots), 'snapshot')}</h3>"
    return f'{title}{timeline}<div class="panel">{shown}</div>'


def _grouped(snapshots: Sequence[Commit]) -> list[tuple[Writer, list[Commit]]]:
    """Snapshots by their writer, those with most first; what is left over is last, as others."""
    groups = dict[Writer, list[Commit]]()
    for one in snapshots:
        groups.setdefault(one.writer, []).append(one)
    if len(groups) > _MOST_WRITERS:
        groups = _without_applications(groups)
    ordered = sorted(groups.items(), key=lambda group: -len(group[1]))
    first, rest = ordered[:_MOST_WRITERS], ordered[_MOST_WRITERS:]
    if rest:
        first.append((Writer(f"{len(rest):,} others", None, None), [one for _, own in rest for one in own]))
    return first


def _without_applications(groups: dict[Writer, list[Commit]]) -> dict[Writer, list[Commit]]:
    """Writers of one engine and user together: each run of a job may be an application of its own."""
    merged = dict[tuple[str | None, str | None], list[Commit]]()
    many = Counter((writer.engine, writer.user) for writer in groups if writer.application)
    for writer, own in groups.items():
        merged.setdefault((writer.engine, writer.user), []).extend(own)
    return {
        Writer(engine, count(many[engine, user], "application") if many[engine, user] else None, user): own
        for (engine, user), own in merged.items()
    }
