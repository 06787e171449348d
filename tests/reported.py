"""What a run of the tests says at its end: why tests were skipped, how many ran, and how long each file took.

A run is whole where it was asked for a part of the suite by its marker alone. A whole run fails where fewer
tests ran than `AT_LEAST` says: nothing is skipped, or not even collected, without being seen. The slowest
files are named; no run fails by a clock, which differs by three times from one machine to the next.
"""

from __future__ import annotations

import re
import shutil
from collections import Counter, defaultdict
from collections.abc import Iterable

import pytest

from shared_data import PROJECT, SHARED_DATA

# Marker expression → tests that run with the data beside the project and Maven, without the data, without
# Maven, without either.
AT_LEAST = {
    "": (18_500, 6_000, 17_000, 5_600),
    "not spark and not jvm": (9_900, 5_500, 9_900, 5_500),
    "spark_35": (50, 10, 1, 1),
}
FOLDERS = {"spark_35": "tests/spark"}
"""Marker expression → the folder of all its tests, where only that is collected."""
SKIPS_SHOWN = 10
"""Lines of skips by reason; the last one sums up those for which no line is left."""


def whole(config: pytest.Config) -> str | None:
    """The marker expression of a run of all tests that it selects; None where the run is of some of them."""
    option = config.option
    # Some of these are options of plugins that may be switched off.
    narrowed = any(getattr(option, name, None) for name in ("keyword", "lf", "failedfirst", "deselect"))
    marker = str(option.markexpr)
    is_all = config.args_source is config.ArgsSource.TESTPATHS or config.args == [FOLDERS.get(marker)]
    return marker if is_all and not narrowed else None


def least(marker: str) -> int | None:
    """How many tests must run with this marker expression on this machine; None where that is not known."""
    here = (not SHARED_DATA.is_dir()) + 2 * (shutil.which("mvn") is None)
    return AT_LEAST[marker][here] if marker in AT_LEAST else None


def skips(reasons: Iterable[str]) -> list[str]:
    """At most `SKIPS_SHOWN` lines: how often tests were skipped for each reason, most often first."""
    counts = Counter(map(_kind, reasons)).most_common()
    shown, rest = counts[:SKIPS_SHOWN], counts[SKIPS_SHOWN:]
    if rest:
        shown, rest = counts[: SKIPS_SHOWN - 1], counts[SKIPS_SHOWN - 1 :]
    lines = [f"{count:>6}  {reason}" for reason, count in shown]
    if rest:
        lines.append(f"{sum(count for _, count in rest):>6}  for {len(rest)} other reasons")
    return lines


def _kind(reason: str) -> str:
    """A reason without the names of a single table, file or folder, so that those of one kind are one."""
    text = reason.removeprefix("Skipped: ").replace(str(PROJECT.parent), "…")
    text = re.sub(r"'[^']*'|\S*/\S+|\b\w+_\w+(\.\w+)*|\S*\d\S*", "…", text)
    # What an engine says of a single table is not told here.
    return re.split(r"(?<=fails): |(?<=open it): ", text)[0].strip()[:100]


def slowest(reports: Iterable[pytest.TestReport]) -> list[str]:
    """Seconds of the ten files that took longest, where the run took a minute at least: what their tests took
    with their fixtures, summed over workers.
    """
    seconds: dict[str, float] = defaultdict(float)
    for report in reports:
        seconds[report.nodeid.partition("::")[0]] += getattr(report, "duration", 0.0)
    if sum(seconds.values()) < 60:
        return []
    longest = sorted(seconds.items(), key=lambda pair: -pair[1])[:10]
    return [f"{taken:>6.0f} s  {file}" for file, taken in longest]


def failures(config: pytest.Config, ran: int) -> list[str]:
    """Why a run fails whose tests have passed; empty where it does not."""
    marker = whole(config)
    if marker is None or (wanted := least(marker)) is None or ran >= wanted:
        return []
    return [f"{ran} tests ran, {wanted} must at least: see what was skipped, and `AT_LEAST`"]
