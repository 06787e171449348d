"""Each program in examples/ runs as a user would run it, and prints what the sample tables hold."""

from __future__ import annotations

import pytest
from interpreters import printed as run

from shared_data import PROJECT

EXAMPLES = PROJECT / "examples"
# Rows per partition of the sample tables: 120 a day, late rows on the first two, one partition overwritten.
ROWS_2026_01_02_EMEA = 80


def test_every_example_is_tested() -> None:
    programs = {path.name for path in EXAMPLES.glob("*.py")}
    assert programs == {
        "plan_pyiceberg.py",
        "plan_pypaimon.py",
        "prune_partitions.py",
        "read_table.py",
        "spark_scan.py",
    }


def test_read_table() -> None:
    printed = run(EXAMPLES / "read_table.py")
    assert "COMPACT" in printed
    assert "OVERWRITE" in printed
    assert "Live files: 34;" in printed


def test_prune_partitions() -> None:
    printed = run(EXAMPLES / "prune_partitions.py")
    assert "2026-01-03" in printed
    assert "2026-01-02" not in printed


@pytest.mark.parametrize(
    ("library", "shown"),
    [
        ("pyiceberg", ("[4, 4, 4]", "3 files, 9 rows", "own code: {}")),
        ("pypaimon", ("['emea'] [2, 2, 2]", "[1, 3, 1, 3, 1, 3]", "a file of a few entries")),
    ],
)
def test_plans_of_other_libraries(library: str, shown: tuple[str, ...]) -> None:
    pytest.importorskip(library)
    printed = run(EXAMPLES / f"plan_{library}.py")
    assert [text for text in shown if text not in printed] == []


@pytest.mark.spark
def test_spark_scan() -> None:
    paimon, iceberg = run(EXAMPLES / "spark_scan.py").split("lakebed iceberg table")
    for printed, total in ((paimon, 1625), (iceberg, 1565)):
        rows = [line.split("|")[1:-1] for line in printed.splitlines() if line.startswith("|2026")]
        per_partition = {(dt.strip(), region.strip()): int(count) for dt, region, _, count, _ in rows}
        assert len(per_partition) == 12
        assert sum(per_partition.values()) == total
        assert per_partition["2026-01-02", "emea"] == ROWS_2026_01_02_EMEA
