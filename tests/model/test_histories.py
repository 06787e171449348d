"""Jobs over random histories never name a file that lives, and find those that nothing names; what is removed
by their rows was among them, and does not live.

What lives is told by a reader of its own (`alive.py`).
"""

from __future__ import annotations

import tempfile
from collections import Counter
from pathlib import Path

import pytest
from trust import long_or

from model.histories import History, Job, Outcome, locally, outcome, random_history
from model.smaller import smallest

pytestmark = pytest.mark.filterwarnings("ignore::lakebed.errors.LakebedWarning")

EACH = long_or(25, 200, quick=12)
RUNS = long_or(4, 50, quick=2)
"""Of each format: so many runs of so many histories."""
SHARED_MEMORY = Path("/dev/shm")
"""Where there is one, a sync costs nothing."""


def asked(history: History, job: Job = locally, walks_when_asked: bool = False) -> Outcome:
    """What comes of a history, in a folder of its own."""
    with tempfile.TemporaryDirectory(dir=SHARED_MEMORY if SHARED_MEMORY.is_dir() else None) as folder:
        return outcome(history, Path(folder), job, walks_when_asked)


def counted(
    kind: str, seeds: range, job: Job = locally, on_storage: bool = True, walks_when_asked: bool = False
) -> Counter[str]:
    """Lets histories happen, and counts what came of them.

    Args: on_storage, whether something may happen at what the job asks of its storage; walks_when_asked, as
        `outcome` has it.
    Raises: AssertionError with the smallest history in which something that lives is named, or something that
        nothing names is not found.
    """

    def once(history: History) -> Outcome:
        return asked(history, job, walks_when_asked)

    seen: Counter[str] = Counter(histories=len(seeds))
    for seed in seeds:
        history = random_history(kind, seed, on_storage)
        came = once(history)
        if came.wrong:
            small = smallest(history, lambda one: bool(once(one).wrong))
            # What races may end otherwise when it is told again.
            told = again if (again := once(small)).wrong else came
            pytest.fail("\n".join([f"seed {seed}: {small}", *told.log, *told.wrong]), pytrace=False)
        seen["answers"] += came.rows is not None
        seen["rows"] += bool(came.rows)
        seen["strays found"] += came.strays > 0
        seen["acts"] += history.acts
        seen["removals"] += came.removed > 0
        if history.during:
            seen["races"] += 1
            seen["answers of races"] += came.rows is not None
    return seen


@pytest.mark.parametrize("kind", ["iceberg", "paimon"])
@pytest.mark.parametrize(
    "run", [pytest.param(run, marks=pytest.mark.xdist_group(f"histories-{run}")) for run in range(RUNS)]
)
@pytest.mark.timeout(1500)
def test_what_lives_is_never_named(kind: str, run: int) -> None:
    seen = counted(kind, range(run * EACH, (run + 1) * EACH))
    # Errors are answers too where what lives cannot be told, but not always.
    assert seen["answers"] >= 0.4 * seen["histories"], seen
    assert seen["rows"] >= 0.3 * seen["histories"], seen
    assert seen["strays found"] >= 0.15 * (seen["histories"] - seen["acts"]), seen
    assert seen["removals"] >= 0.15 * seen["acts"], seen
    assert seen["answers of races"] >= 0.4 * seen["races"], seen
