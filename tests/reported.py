"""What a run of the tests says at its end: why tests were skipped, how many ran, and how long each file took.

A run is whole where it was asked for a part of the suite by its marker alone. A whole run fails where fewer
tests ran than `AT_LEAST` says: nothing is skipped, or not even collected, without being seen. In CI it
also fails where a file took longer than its budget, so that the suite stays one that is run before each push;
elsewhere those files are only named, since a clock says nothing of a machine that does other work too.
"""

from __future__ import annotations

import os
import re
import shutil
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence

import pytest
from trust import THOROUGH

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

# Seconds that the tests of a file take together, summed over workers: two to three times what they take on
# two cores beside all others, so that a busy machine does not fail for it.
BUDGET = 120
# How many times longer a machine may take that others use too.
SLOWDOWN = "2"
BUDGETS = {
    "tests/engines/test_iceberg_engine.py": 200,
    "tests/engines/test_iceberg_engine_writers.py": 200,
    "tests/engines/test_paimon_engine.py": 250,
    "tests/model/test_histories.py": 200,
    "tests/spark/test_spark_cluster.py": 250,
    "tests/spark/test_spark_every_function.py": 200,
    "tests/spark/test_spark_health.py": 300,
    "tests/spark/test_spark_histories.py": 200,
    "tests/spark/test_spark_iceberg.py": 200,
    "tests/spark/test_spark_iceberg_plans.py": 250,
    "tests/spark/test_spark_iceberg_runtime.py": 250,
    "tests/spark/test_spark_views.py": 300,
    "tests/test_benches.py": 300,
    "tests/test_iceberg_pruning.py": 200,
    "tests/test_paimon_plans.py": 250,
}


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


def seconds_of_files(reports: Iterable[pytest.TestReport]) -> dict[str, float]:
    """Test file → seconds that its tests took with their fixtures, summed over workers."""
    seconds: dict[str, float] = defaultdict(float)
    for report in reports:
        seconds[report.nodeid.partition("::")[0]] += getattr(report, "duration", 0.0)
    return seconds


def slowest(reports: Iterable[pytest.TestReport]) -> list[str]:
    """One line for each of the ten files that took longest, where the run took a minute at least."""
    seconds = seconds_of_files(reports)
    if sum(seconds.values()) < 60:
        return []
    longest = sorted(seconds.items(), key=lambda pair: -pair[1])[:10]
    return [f"{taken:>6.0f} s  {file}" for file, taken in longest]


def over_budget(seconds: dict[str, float]) -> list[str]:
    """One line for each file that took longer than it may; none in the long form, which has no budget."""
    if THOROUGH:
        return []
    slowdown = float(os.environ.get("LAKEBED_SLOWDOWN", SLOWDOWN))
    late = [
        (file, taken, budget)
        for file, taken in seconds.items()
        if taken > slowdown * (budget := BUDGETS.get(file, BUDGET))
    ]
    return [f"{file} took {taken:.0f} s, its budget is {budget} s" for file, taken, budget in late]


def failures(config: pytest.Config, ran: int, reports: Sequence[pytest.TestReport]) -> list[str]:
    """Why a run fails whose tests have passed; empty where it does not."""
    marker = whole(config)
    if marker is None:
        return []
    found = over_budget(seconds_of_files(reports)) if os.environ.get("CI") else []
    if (wanted := least(marker)) is not None and ran < wanted:
        found.append(f"{ran} tests ran, {wanted} must at least: see what was skipped, and `AT_LEAST`")
    return found
