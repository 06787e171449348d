"""Prints what `bench_spark.py` measured as a model of a table of 150 million files; see SCALING.md.

    python benches/spark_model.py LOCAL.json CLUSTER.json

of `bench_spark.py --json LOCAL.json`, and the same with `--master local-cluster[1,2,2048]`, for the memory of
a driver whose executors are other processes. With `--write` the tables in SCALING.md are replaced.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

import report
import suite
from bench_spark import JVMS, PYTHONS
from spark_sides import TASK_BYTES

SCALING = Path(__file__).with_name("SCALING.md")
BEGIN, END = "<!-- by spark_model.py -->\n", "<!-- end -->"

FILES, MANIFESTS, GIGABYTES = 150_000_000, 4_400, 160
GROUPS = 10_000
"""Partitions of the modelled table: a guess, which only the bytes shuffled depend on."""
CORES = (1, 16, 128)
READERS = ("lakebed", "lakebed, by Spark", "iceberg")
TASKS = ("sum", "partitions", "maps", "readable")
SMALL, WIDE = "iceberg-10k", "iceberg-36mb"
_MILLION, _MEGA, _GIGA = 10**6, 1e6, 1e9


@dataclass(frozen=True)
class Measured:
    """What one reader showed at one task on one table, as `report.write_json` wrote it."""

    line: dict[str, Any]

    @property
    def seconds(self) -> float:
        """Of the clock, the median of the timed runs."""
        return median(self.line["seconds"])

    @property
    def gigabytes(self) -> float:
        """What the manifests are in files."""
        return float(self.line["bytes"]) / _GIGA

    def cpu(self, kinds: Sequence[str] = (*JVMS, *PYTHONS)) -> float:
        """Seconds of processors, the median of the timed runs."""
        runs = [run["cpu_seconds"] for run in self.line["answers"][1:]]
        return median(sum(run.get(name, 0.0) for name in kinds) for run in runs)

    def last(self, name: str) -> int:
        """A number of the last run."""
        return int(self.line["answers"][-1][name])

    def peak(self, *kinds: str) -> float:
        """The most memory of these processes [MB]."""
        return (
            max(sum(run["peak_bytes"].get(kind, 0) for kind in kinds) for run in self.line["answers"]) / _MEGA
        )


class Results:
    """The lines of a result file."""

    def __init__(self, path: Path) -> None:
        lines = [json.loads(line) for line in path.read_text().splitlines()]
        self.measured = [Measured(line) for line in lines if line["seconds"] and not line["error"]]

    def of(self, name: str, task: str, reader: str) -> Measured | None:
        """What that reader showed at a task on a table."""
        wanted = (name, task, reader)
        for one in self.measured:
            if (one.line["input"], one.line["task"], one.line["reader"]) == wanted:
                return one
        return None


@dataclass(frozen=True)
class Costs:
    """What a task takes with a reader: once, and for each gigabyte of manifests of 36 MB.

    A slope is what the wide table takes above the smallest, over the bytes it has more.
    """

    task: str
    reader: str
    fixed_seconds: float
    python: float
    jvm: float
    sent: float
    returned: float

    @classmethod
    def of(cls, results: Results, task: str, reader: str) -> Costs | None:
        small, wide = results.of(SMALL, task, reader), results.of(WIDE, task, reader)
        if small is None or wide is None:
            return None
        more = wide.gigabytes - small.gigabytes
        slopes = [max(0.0, wide.cpu(kinds) - small.cpu(kinds)) / more for kinds in (PYTHONS, JVMS)]
        crossed = [
            max(0, wide.last(name) - small.last(name)) / _GIGA / more
            for name in ("to_python_bytes", "from_python_bytes")
        ]
        return cls(task, reader, small.seconds, *slopes, *crossed)

    @property
    def cpu(self) -> float:
        """Seconds of processors for a gigabyte."""
        return self.python + self.jvm


def model(results: Results) -> Iterator[str]:
    """What follows for the modelled table."""
    found = [costs for task in TASKS for reader in READERS if (costs := Costs.of(results, task, reader))]
    yield "Costs, from the wide and the smallest table:"
    header = suite.words("task,reader,once [s],Python cpu s/GB,JVM cpu s/GB,GB to Python/GB,GB to JVM/GB")
    numbers = [(c.fixed_seconds, c.python, c.jvm, c.sent, c.returned) for c in found]
    rows = [(c.task, c.reader, *(f"{n:.2f}" for n in own)) for c, own in zip(found, numbers, strict=True)]
    yield report.markdown([header, *rows], {0, 1})
    yield f"{FILES:,} files in {MANIFESTS:,} manifests of together {GIGABYTES} GB:"
    of_cores = (f"{n} cores [{unit}]" for unit in ("s", "Gbit/s") for n in CORES)
    header = ("task", "reader", "cpu s", *of_cores)
    yield report.markdown([header, *(_projected(costs) for costs in found)], {0, 1})
    yield from _shuffled(results)


def memory(results: Results) -> Iterator[str]:
    """Peaks by role and table."""
    peaks = ("driver JVM MB", "driver Python MB", "executor JVM MB", "workers MB")
    header = ("table", "manifests", "task", "reader", *peaks)
    roles = ("driver", "client", "executor", "workers")
    rows = [
        (
            *(one.line["input"], f"{one.line['manifests']:,}", one.line["task"], one.line["reader"]),
            *(f"{one.peak(role):,.0f}" for role in roles),
        )
        for one in results.measured
    ]
    yield "Peaks of memory with an executor of two cores beside the driver:"
    yield report.markdown([header, *rows], {0, 2, 3})


def _projected(costs: Costs) -> tuple[str, ...]:
    """Seconds are those of the cores with nothing to wait for; bits are what they would have to be given."""
    tasks = -(-GIGABYTES * _GIGA // TASK_BYTES)
    spent = costs.cpu * GIGABYTES
    # The last wave is full: a task is that much smaller.
    times = [costs.fixed_seconds + spent / min(cores, tasks) for cores in CORES]
    gigabits = [8 * GIGABYTES / seconds for seconds in times]
    return (
        *(costs.task, costs.reader, f"{spent:,.0f}"),
        *(f"{seconds:,.0f}" for seconds in times),
        *(f"{speed:,.2f}" for speed in gigabits),
    )


def _shuffled(results: Results) -> Iterator[str]:
    for reader in READERS[:2]:
        one = results.of(WIDE, "partitions", reader)
        if one is not None:
            # The step with most rows is the one that sums up, before the exchange.
            row = one.last("shuffle_bytes") / one.last("step_rows")
            tasks = -(-GIGABYTES * _GIGA // TASK_BYTES)
            yield (
                f"{reader}, `partitions`: {row:.0f} bytes shuffled for a group and task: {tasks:,.0f} tasks "
                f"that meet {GROUPS:,} partitions each shuffle {row * tasks * GROUPS / _MEGA:,.0f} MB."
            )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else None)
    parser.add_argument("local", type=Path, help="of a run on local[2]")
    parser.add_argument("cluster", type=Path, nargs="?", help="of a run on local-cluster[1,2,2048]")
    parser.add_argument("--write", action="store_true", help="put the tables into SCALING.md")
    options = parser.parse_args()
    parts = [*model(Results(options.local))]
    parts += memory(Results(options.cluster)) if options.cluster else []
    text = "\n\n".join(parts)
    print(text)
    if options.write:
        before, rest = SCALING.read_text().split(BEGIN)
        after = rest.partition(END)[2]
        SCALING.write_text(f"{before}{BEGIN}\n{text}\n\n{END}{after}")


if __name__ == "__main__":
    main()
