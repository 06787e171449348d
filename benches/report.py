"""The results as one Markdown table, and as JSON for whoever compares runs."""

from __future__ import annotations

import json
import os
import platform
from collections.abc import Sequence
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING

from corpus import kilobytes
from session import FLOOR

if TYPE_CHECKING:
    from session import Result

REFERENCE = "lakebed"
MEMORY_LIMIT_BYTES = 150_000_000
"""What streaming the files of 300,000 entries may take above the imported library."""

_HEADER = (
    "written by",
    "codec",
    "block",
    "entries",
    "columns",
    "task",
    "reader",
    "version",
    "threads",
    "seconds",
    "rows/s",
    "MB/s",
    "x lakebed",
    "peak MB",
)
_LEFT = {0, 1, 5, 6, 7, 8}


def machine() -> str:
    """The line above the table: day, processor, cores, Python."""
    return f"{date.today()}, {_processor()}, {os.cpu_count()} cores, Python {platform.python_version()}"


def _processor() -> str:
    info = Path("/proc/cpuinfo")
    lines = info.read_text().splitlines() if info.exists() else []
    names = (line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    return next(names, platform.processor() or platform.machine())


def table(results: Sequence[Result]) -> str:
    """One row per reader, corpus and task; seconds are medians, MB/s count inflated bytes."""
    rows = [_HEADER, *(_row(result, _reference(result, results)) for result in results)]
    widths = [max(len(row[i]) for row in rows) for i in range(len(_HEADER))]
    lines = [_line(row, widths) for row in rows]
    rule = "|".join("-" * (width + 1) + ("-" if i in _LEFT else ":") for i, width in enumerate(widths))
    return "\n".join([lines[0], f"|{rule}|", *lines[1:]])


def _line(row: tuple[str, ...], widths: list[int]) -> str:
    cells = (
        cell.ljust(width) if i in _LEFT else cell.rjust(width)
        for i, (cell, width) in enumerate(zip(row, widths, strict=True))
    )
    return f"| {' | '.join(cells)} |"


def _reference(result: Result, results: Sequence[Result]) -> float | None:
    """The median of lakebed, one thread, on the same task and corpus."""
    for other in results:
        same = other.corpus == result.corpus and other.contestant.task == result.contestant.task
        if same and other.contestant.label == REFERENCE:
            return other.median
    return None


def _row(result: Result, reference: float | None) -> tuple[str, ...]:
    corpus, contestant, median = result.corpus, result.contestant, result.median
    found = (
        ("n/a", "", "", "")
        if median is None
        else (
            f"{median:.4f}",
            f"{corpus.entries / median:,.0f}",
            f"{corpus.inflated_bytes / median / 1e6:,.0f}",
            "" if reference is None else f"{median / reference:.2f}",
        )
    )
    return (
        corpus.writer,
        corpus.codec,
        kilobytes(corpus.block_bytes),
        f"{corpus.entries:,}",
        str(corpus.columns),
        contestant.task,
        contestant.label,
        contestant.version,
        contestant.threads,
        *found,
        "" if result.peak_bytes is None else f"{result.peak_bytes / 1e6:.0f}",
    )


def errors(results: Sequence[Result]) -> list[str]:
    """One line per reader that did not give the right answer: its own words."""
    return [
        f"{result.contestant.label}, {result.contestant.task}, {result.corpus.name}: {result.error}"
        for result in results
        if result.error
    ]


def lakebed_failed(results: Sequence[Result]) -> bool:
    """Whether lakebed itself is among them; what another reader refuses is a result."""
    return any(result.error and result.contestant.label.startswith(REFERENCE) for result in results)


def memory_verdicts(results: Sequence[Result]) -> list[str]:
    """Whether lakebed streamed within its limit, one line for each table on which that was measured."""
    return [
        f"files() streamed over {result.corpus.entries:,} entries by {result.corpus.writer}: "
        f"peak {result.peak_bytes / 1e6:.0f} MB above the imported library, "
        f"{'within' if result.peak_bytes <= MEMORY_LIMIT_BYTES else 'OVER'} "
        f"the limit of {MEMORY_LIMIT_BYTES / 1e6:.0f} MB"
        for result in results
        if (result.contestant.label, result.contestant.task) == (REFERENCE, "stream")
        and result.peak_bytes is not None
    ]


def floor_verdicts(results: Sequence[Result]) -> list[str]:
    """How far lakebed on one thread is above inflating and walking alone, one line for each table."""
    lines = []
    for result in results:
        reference = _reference(result, results)
        if result.contestant.label == FLOOR and result.median and reference:
            lines.append(
                f"{result.contestant.task}, {result.corpus.entries:,} entries by {result.corpus.writer}: "
                f"lakebed on one thread {reference:.3f} s, {reference / result.median:.2f} x {FLOOR} "
                f"({result.median:.3f} s)"
            )
    return lines


def size_verdicts(results: Sequence[Result]) -> list[str]:
    """How large what was written is beside the files that its entries came from, one line for each writer."""
    return [
        f"{result.contestant.label}: {result.written_bytes:,} bytes, "
        f"{result.written_bytes / result.corpus.compressed_bytes - 1:+.1%} beside the "
        f"{result.corpus.compressed_bytes:,} by {result.corpus.writer}, {result.corpus.codec}"
        for result in results
        if result.written_bytes is not None
    ]


def write_json(results: Sequence[Result], path: Path) -> None:
    """Every run of every reader, one JSON object a line."""
    path.parent.mkdir(parents=True, exist_ok=True)
    lines = [
        json.dumps(
            {
                "machine": machine(),
                "table": result.corpus.name,
                "writer": result.corpus.writer,
                "entries": result.corpus.entries,
                "bytes_inflated": result.corpus.inflated_bytes,
                "task": result.contestant.task,
                "reader": result.contestant.label,
                "version": result.contestant.version,
                "seconds": result.seconds,
                "peak_bytes": result.peak_bytes,
                "written_bytes": result.written_bytes,
                "error": result.error,
            }
        )
        for result in results
    ]
    path.write_text("\n".join(lines) + "\n")
