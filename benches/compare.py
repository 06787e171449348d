"""Compares two result files of `bench.py --json` by ratios, so that a slowdown is noticed on any machine.

What is compared is lakebed's time over that of a yardstick in the same run, on the same input and task: the
floor `walk`, else all other readers that both files have, by the geometric mean. Where there is neither it is
the time. Peaks of memory are compared as they are.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import geometric_mean
from typing import Any

PAST = 1.15
"""How much slower or larger counts as a regression: what two runs on a quiet machine stay below."""
MEMORY_NOISE_BYTES = 10_000_000
"""Peaks that differ by less are the same."""
OURS = "lakebed"
FLOOR = "walk"
CORE = "lakebed core"
"""Ours too, but not of the installed package: neither judged nor a yardstick."""

Key = tuple[str, str, str]
"""Input, task, reader."""


@dataclass(frozen=True)
class Change:
    """One of lakebed's measures in both files, in units of the yardstick."""

    input: str
    task: str
    reader: str
    measure: str
    old: float
    new: float

    @property
    def ratio(self) -> float:
        """New over old: above 1 is slower, or larger."""
        return self.new / self.old


def read(path: Path) -> dict[Key, dict[str, Any]]:
    """The results that have a time, by input, task and reader."""
    lines = (json.loads(line) for line in path.read_text().splitlines())
    return {(line["input"], line["task"], line["reader"]): line for line in lines if line["median"]}


def changes(old: Mapping[Key, dict[str, Any]], new: Mapping[Key, dict[str, Any]]) -> list[Change]:
    """What changed of all that lakebed did in both runs, the worst first."""
    found = []
    for key in old.keys() & new.keys():
        if not key[2].startswith(OURS) or key[2] == CORE:
            continue
        measure, before, after = _yardsticks(key, old, new)
        times = old[key]["median"] / before, new[key]["median"] / after
        found.append(Change(*key, measure, *times))
        peaks = old[key]["peak_bytes"], new[key]["peak_bytes"]
        if None not in peaks and peaks[1] > peaks[0] + MEMORY_NOISE_BYTES:
            found.append(Change(*key, "peak MB", *(max(peak, 1) / 1e6 for peak in peaks)))
    return sorted(found, key=lambda change: (-change.ratio, change.input, change.task, change.reader))


def _yardsticks(
    key: Key, old: Mapping[Key, dict[str, Any]], new: Mapping[Key, dict[str, Any]]
) -> tuple[str, float, float]:
    """What lakebed's time is divided by, in words, and in seconds in either run."""
    others = sorted(
        other for other in old.keys() & new.keys() if other[:2] == key[:2] and not other[2].startswith(OURS)
    )
    floors = [other for other in others if other[2] == FLOOR]
    chosen = floors or others
    if not chosen:
        return "seconds", 1.0, 1.0
    before, after = (geometric_mean([run[other]["median"] for other in chosen]) for run in (old, new))
    return f"x {FLOOR}" if floors else "x others", before, after


def table(found: Sequence[Change], past: float) -> str:
    """All changes in Markdown; those past the bound say so."""
    lines = [
        "| input | task | reader | measure | old | new | new / old |",
        "|---|---|---|---|---:|---:|---:|",
    ]
    for one in found:
        mark = " PAST" if one.ratio > past else ""
        names = f"| {one.input} | {one.task} | {one.reader} | {one.measure} "
        lines.append(f"{names}| {one.old:.3f} | {one.new:.3f} | {one.ratio:.2f}{mark} |")
    return "\n".join(lines)


def main(arguments: Sequence[str] | None = None) -> int:
    """Prints the comparison. Returns: 1 if anything is past the bound, 2 if nothing is in both files."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else None)
    parser.add_argument("old", type=Path)
    parser.add_argument("new", type=Path)
    parser.add_argument("--past", type=float, default=PAST, help=f"the ratio that fails (default {PAST})")
    options = parser.parse_args(arguments)
    found = changes(read(options.old), read(options.new))
    if not found:
        print("compare: the files have nothing of lakebed in common", file=sys.stderr)
        return 2
    worse = [one for one in found if one.ratio > options.past]
    print(f"{table(found, options.past)}\n\n{len(worse)} of {len(found)} past {options.past} x")
    return 1 if worse else 0


if __name__ == "__main__":
    sys.exit(main())
