"""Jobs over random histories never name a file that lives, and find those that nothing names.

People delete files by these rows. What lives is told by a reader of its own (`alive.py`).
"""

from __future__ import annotations

import tempfile
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import HealthCheck, Phase, given, seed, settings
from trust import long_or

from model.histories import History, Job, Outcome, histories, locally, outcome

pytestmark = pytest.mark.filterwarnings("ignore::lakebed.errors.LakebedWarning")

EACH = long_or(25, 200, quick=12)
RUNS = long_or(4, 50, quick=2)
"""Of each format: so many runs of so many histories."""
SHARED_MEMORY = Path("/dev/shm")
"""Where there is one, a sync costs nothing."""


def folder() -> tempfile.TemporaryDirectory[str]:
    return tempfile.TemporaryDirectory(dir=SHARED_MEMORY if SHARED_MEMORY.is_dir() else None)


def checked(history: History, seen: Counter[str], job: Job = locally) -> Outcome:
    with folder() as place:
        came = outcome(history, Path(place), job)
    assert came.wrong == [], "\n".join(["", *came.log, *came.wrong])
    seen["histories"] += 1
    seen["answers"] += came.rows is not None
    seen["rows"] += bool(came.rows)
    seen["races"] += not came.is_calm
    seen["answers of races"] += not came.is_calm and came.rows is not None
    seen["strays found"] += came.strays > 0
    return came


@pytest.mark.parametrize("kind", ["iceberg", "paimon"])
@pytest.mark.parametrize(
    "run", [pytest.param(run, marks=pytest.mark.xdist_group(f"histories-{run}")) for run in range(RUNS)]
)
@pytest.mark.timeout(1500)
def test_what_lives_is_never_named(kind: str, run: int) -> None:
    seen: Counter[str] = Counter()

    @seed(run)
    @settings(
        max_examples=EACH,
        deadline=None,
        database=None,
        report_multiple_bugs=False,
        phases=[Phase.generate, Phase.shrink],
        suppress_health_check=list(HealthCheck),
    )
    @given(histories(kind))
    def holds(history: History) -> None:
        checked(history, seen)

    holds()
    assert seen["answers"] >= 0.7 * seen["histories"], seen
    assert seen["rows"] >= 0.5 * seen["histories"], seen
    assert seen["answers of races"] >= 0.5 * seen["races"], seen
    assert seen["strays found"] >= 0.3 * seen["histories"], seen
