"""The results as one Markdown table, and as JSON for whoever compares runs."""

from __future__ import annotations

import json
import os
import platform
from collections.abc import Container, Sequence
from datetime import date
from pathlib import Path

from corpus import kilobytes
from session import CLOCKS, FLOORS, Result

REFERENCE = "lakebed"
MEMORY_LIMIT_BYTES = 100_000_000
"""What streaming the files of any table may take above the imported library."""

_HEADER = (
    *("input", "written by", "codec", "block", "entries", "columns", "task", "reader", "version", "threads"),
    *("seconds", "rows/s", "MB/s", "peak MB", *(f"x {name}" for name in (REFERENCE, *FLOORS))),
)
_LEFT = {0, 1, 2, 6, 7, 8, 9}


def machine() -> str:
    """The line above the table: day, processor, cores, Python."""
    return f"{date.today()}, {_processor()}, {os.cpu_count()} cores, Python {platform.python_version()}"


def _processor() -> str:
    info = Path("/proc/cpuinfo")
    lines = info.read_text().splitlines() if info.exists() else []
    names = (line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    return next(names, platform.processor() or platform.machine())


def document(results: Sequence[Result], left_out: Sequence[str], clock: str = CLOCKS[0]) -> str:
    """All that a run prints: the machine, the table, what it says of targets, and what has no time."""
    of_what = "" if clock == CLOCKS[0] else f", seconds of the {clock}"
    lines = (*_memory_verdicts(results), *_value_rates(results), *_sizes(results))
    parts = [machine() + of_what, table(results), *lines]
    left = ["\n".join(["left out:", *(f"- {line}" for line in left_out)])] if left_out else []
    return "\n\n".join([*parts, *without_time(results), *left])


def without_time(results: Sequence[Result]) -> list[str]:
    """The errors of those that have none, in one part of a document."""
    of = [(one.contestant.label, one.contestant.task, one.corpus.input, one.error) for one in results]
    lines = [f"- {label}, {task}, {name}: {error}" for label, task, name, error in of if error]
    return ["\n".join(["n/a:", *lines])] if lines else []


def table(results: Sequence[Result]) -> str:
    """One row per reader, input and task; seconds are medians, MB/s count inflated bytes.

    Where a proxy has counted there are two more columns: requests and the most in flight, of the last run.
    """
    rows = [_row(result, results) for result in results]
    if not any(result.corpus.endpoint for result in results):
        return markdown([_HEADER, *rows], _LEFT)
    counted = [_counts(result) for result in results]
    more = [(*row, *counts) for row, counts in zip(rows, counted, strict=True)]
    return markdown([(*_HEADER, "requests", "in flight"), *more], _LEFT)


def _counts(result: Result) -> tuple[str, str]:
    last = result.answers[-1] if result.answers and not result.error else {}
    return str(last.get("requests", "")), str(last.get("in_flight", ""))


def markdown(rows: Sequence[tuple[str, ...]], left: Container[int]) -> str:
    """A table of a header and rows. Args: left, the columns of words; the others are numbers."""
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    lines = [_line(row, widths, left) for row in rows]
    rule = "|".join("-" * (width + 1) + ("-" if i in left else ":") for i, width in enumerate(widths))
    return "\n".join([lines[0], f"|{rule}|", *lines[1:]])


def _line(row: tuple[str, ...], widths: list[int], left: Container[int]) -> str:
    cells = (
        cell.ljust(width) if i in left else cell.rjust(width)
        for i, (cell, width) in enumerate(zip(row, widths, strict=True))
    )
    return f"| {' | '.join(cells)} |"


def _row(result: Result, results: Sequence[Result]) -> tuple[str, ...]:
    corpus, contestant, median = result.corpus, result.contestant, result.median
    peak = "" if result.peak_bytes is None else f"{result.peak_bytes / 1e6:.0f}"
    found = ["n/a", "", "", peak, *([""] * (1 + len(FLOORS)))]
    if median is not None:
        same = [one for one in results if (one.corpus, one.contestant.task) == (corpus, contestant.task)]
        medians = {one.contestant.label: one.median for one in reversed(same)}
        bases = [medians.get(label) for label in (REFERENCE, *FLOORS)]
        of_second = (f"{corpus.entries / median:,.0f}", f"{corpus.inflated_bytes / median / 1e6:,.0f}")
        ratios = ("" if base is None else f"{median / base:.2f}" for base in bases)
        found = [f"{median:.4f}", *of_second, peak, *ratios]
    table_is = (corpus.input, corpus.writer, corpus.codec, kilobytes(corpus.block_bytes))
    sizes = (f"{corpus.entries:,}", str(corpus.columns))
    return (
        *table_is,
        *sizes,
        contestant.task,
        contestant.label,
        contestant.version,
        contestant.threads,
        *found,
    )


def lakebed_failed(results: Sequence[Result]) -> bool:
    """Whether lakebed gave a wrong answer or none; what another reader refuses is a result."""
    return any(result.error and result.contestant.label.startswith(REFERENCE) for result in results)


def _memory_verdicts(results: Sequence[Result]) -> list[str]:
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


def _value_rates(results: Sequence[Result]) -> list[str]:
    """Values a second of what is decoded and encoded row by row."""
    return [
        f"{result.contestant.task} of {result.corpus.columns} columns by {result.contestant.label}: "
        f"{result.corpus.entries * result.corpus.columns / result.median / 1e6:,.2f} M values/s"
        for result in results
        if result.corpus.format == "rows" and result.median
    ]


def _sizes(results: Sequence[Result]) -> list[str]:
    """How large what was written is beside the files that its entries came from, one line for each writer."""
    return [
        f"{result.contestant.label}, {result.corpus.input}: {result.written_bytes:,} bytes, "
        f"{result.written_bytes / result.corpus.compressed_bytes - 1:+.1%} beside the "
        f"{result.corpus.compressed_bytes:,} by {result.corpus.writer}, {result.corpus.codec}"
        for result in results
        if result.written_bytes is not None
    ]


def write_json(results: Sequence[Result], path: Path) -> None:
    """Every run of every reader, one JSON object a line, for `compare.py`."""
    path.parent.mkdir(parents=True, exist_ok=True)
    lines = []
    for result in results:
        corpus, contestant = result.corpus, result.contestant
        line = {
            "machine": machine(),
            **{name: getattr(corpus, name) for name in ("input", "writer", "entries", "columns")},
            "manifests": len(corpus.manifests),
            "bytes": corpus.compressed_bytes,
            "bytes_inflated": corpus.inflated_bytes,
            "task": contestant.task,
            "reader": contestant.label,
            "version": contestant.version,
        }
        measured = ("median", "seconds", "peak_bytes", "written_bytes", "error", "answers")
        line |= {name: getattr(result, name) for name in measured}
        lines.append(json.dumps(line))
    path.write_text("\n".join(lines) + "\n")
