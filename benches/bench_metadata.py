"""Times opening Iceberg's table metadata of 1, 25 and 250 MB, beside PyIceberg and Python's own JSON parser.

Every contestant runs in fresh processes, on files of the page cache, after it has read a file of two
snapshots, which makes it import what it needs. The table gives the median of the runs and the highest peak of
memory above what the process had before. `x lakebed` are ratios to lakebed doing the same.
"""

from __future__ import annotations

import argparse
import json
import resource
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

import report

HERE = Path(__file__).resolve().parent
SIZES = (1, 25, 250)
COLUMNS = 200
"""Columns of each schema; one in fifty snapshots comes with a schema of its own."""

# --- Contestants: what is timed, after the import. ------------------------------------------------------


def lakebed_open() -> Callable[[str], int]:
    import lakebed

    return lambda path: lakebed.open_table(path).snapshot_id or 0


def lakebed_snapshots() -> Callable[[str], int]:
    import lakebed

    return lambda path: lakebed.open_table(path).snapshots().to_arrow().num_rows


def lakebed_history() -> Callable[[str], int]:
    import lakebed

    return lambda path: lakebed.open_table(path).metadata_table("history").to_arrow().num_rows


def pyiceberg_open() -> Callable[[str], int]:
    from pyiceberg.table import StaticTable

    def opened(path: str) -> int:
        snapshot = StaticTable.from_metadata(path).current_snapshot()
        return snapshot.snapshot_id if snapshot else 0

    return opened


def pyiceberg_snapshots() -> Callable[[str], int]:
    from pyiceberg.table import StaticTable

    return lambda path: int(StaticTable.from_metadata(path).inspect.snapshots().num_rows)


def pyiceberg_history() -> Callable[[str], int]:
    from pyiceberg.table import StaticTable

    return lambda path: int(StaticTable.from_metadata(path).inspect.history().num_rows)


def json_open() -> Callable[[str], int]:
    def loaded(path: str) -> int:
        found: int = json.loads(Path(path).read_bytes())["current-snapshot-id"]
        return found

    return loaded


TASKS: dict[str, dict[str, Callable[[], Callable[[str], int]]]] = {
    "open": {"lakebed": lakebed_open, "pyiceberg": pyiceberg_open, "json.loads": json_open},
    "snapshots": {"lakebed": lakebed_snapshots, "pyiceberg": pyiceberg_snapshots},
    "history": {"lakebed": lakebed_history, "pyiceberg": pyiceberg_history},
}

# --- Metadata of a size, as Iceberg Java writes it. -----------------------------------------------------


def generate(path: Path, megabytes: int) -> None:
    """A table that was committed to until its metadata was that long; nothing in it was expired."""
    snapshot_bytes = len(json.dumps(_snapshot(10**9)))
    schema_bytes = len(json.dumps(_schema(1000))) / 50
    count = max(2, round(megabytes * 1e6 / (snapshot_bytes + schema_bytes + 60)))
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_suffix(".partial")
    with partial.open("w") as file:
        head = {
            "format-version": 2,
            "table-uuid": "9c12d441-03fe-4693-9a96-a0705ddf69c1",
            "location": "s3://bucket/warehouse/db/orders",
            "last-sequence-number": count,
            "last-updated-ms": _time(count),
            "last-column-id": COLUMNS,
            "current-schema-id": count // 50,
        }
        file.write(json.dumps(head)[:-1])
        _write_list(file, "schemas", (_schema(number) for number in range(count // 50 + 1)))
        middle = {
            "default-spec-id": 0,
            "partition-specs": [{"spec-id": 0, "fields": []}],
            "last-partition-id": 999,
            "default-sort-order-id": 0,
            "sort-orders": [{"order-id": 0, "fields": []}],
            "properties": {"write.format.default": "parquet"},
            "current-snapshot-id": _id(count),
            "refs": {"main": {"snapshot-id": _id(count), "type": "branch"}},
        }
        file.write(", " + json.dumps(middle)[1:-1])
        _write_list(file, "snapshots", (_snapshot(number) for number in range(1, count + 1)))
        log = ({"timestamp-ms": _time(number), "snapshot-id": _id(number)} for number in range(1, count + 1))
        _write_list(file, "snapshot-log", log)
        file.write(', "metadata-log": []}')
    partial.rename(path)


def _write_list(file: IO[str], key: str, elements: Iterator[Any]) -> None:
    file.write(f', "{key}": [')
    for number, element in enumerate(elements):
        file.write((", " if number else "") + json.dumps(element))
    file.write("]")


def _id(number: int) -> int:
    """A number of 63 bits that looks as random as those of snapshots."""
    return (number * 0x9E3779B97F4A7C15) % 2**63 or 1


def _time(number: int) -> int:
    return 1_700_000_000_000 + 60_000 * number


def _schema(number: int) -> dict[str, Any]:
    fields = [
        {"id": field, "name": f"column_{field}", "required": False, "type": "string", "doc": "what it holds"}
        for field in range(1, COLUMNS + 1)
    ]
    return {"type": "struct", "schema-id": number, "fields": fields}


def _snapshot(number: int) -> dict[str, Any]:
    counts = ("data-files", "records", "files-size", "delete-files", "position-deletes", "equality-deletes")
    summary = {"operation": "append", "spark.app.id": "application_1700000000000_0001"}
    summary |= {f"{kind}-{name}": str(number) for kind in ("added", "total") for name in counts}
    parent = {"parent-snapshot-id": _id(number - 1)} if number > 1 else {}
    return {
        "sequence-number": number,
        "snapshot-id": _id(number),
        **parent,
        "timestamp-ms": _time(number),
        "summary": summary,
        "manifest-list": f"s3://bucket/warehouse/db/orders/metadata/snap-{_id(number)}-1-{number:032x}.avro",
        "schema-id": number // 50,
    }


# --- Running. -------------------------------------------------------------------------------------------


@dataclass
class Result:
    """What a contestant showed on one file: seconds, and the peak in bytes above the imported library."""

    size: int
    task: str
    reader: str
    seconds: list[float]
    peak_bytes: int
    answer: int | None = None


def run_one(task: str, reader: str, path: str, small: str) -> None:
    """One timed run in this process, after one on a small file; prints what it showed."""
    read = TASKS[task][reader]()
    read(small)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    start = time.perf_counter()
    answer = read(path)
    seconds = time.perf_counter() - start
    peak = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) * 1024
    print(json.dumps({"seconds": seconds, "peak": peak, "answer": answer}))


def measure(path: Path, small: Path, size: int, task: str, reader: str, repeats: int) -> Result:
    """The runs of one contestant on one file, each in a process of its own."""
    result = Result(size, task, reader, [], 0)
    for _ in range(repeats):
        command = [sys.executable, __file__, "--run", task, reader, str(path), str(small)]
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode:
            print(f"bench_metadata: {reader}, {task}: {done.stderr.strip()[-300:]}", file=sys.stderr)
            return result
        shown = json.loads(done.stdout)
        result.seconds.append(shown["seconds"])
        result.peak_bytes = max(result.peak_bytes, shown["peak"])
        result.answer = shown["answer"]
    return result


def table(results: list[Result]) -> str:
    """The results in Markdown, with ratios to lakebed on the same file and task."""
    lines = [
        "| metadata | task | reader | seconds | x lakebed | peak | x lakebed |",
        "|---:|---|---|---:|---:|---:|---:|",
    ]
    ours = {(one.size, one.task): one for one in results if one.reader == "lakebed"}
    for one in results:
        reference = ours.get((one.size, one.task))
        if not one.seconds or reference is None or not reference.seconds:
            lines.append(f"| {one.size} MB | {one.task} | {one.reader} | n/a | | | |")
            continue
        median, base = statistics.median(one.seconds), statistics.median(reference.seconds)
        peak, base_peak = one.peak_bytes / 1e6, max(reference.peak_bytes / 1e6, 0.1)
        lines.append(
            f"| {one.size} MB | {one.task} | {one.reader} | {median:.4f} | {median / base:.1f} "
            f"| {peak:.1f} MB | {peak / base_peak:.1f} |"
        )
    return "\n".join(lines)


def _file(cache: Path, megabytes: int) -> Path:
    """The metadata of that size, made where it is not there yet, and in the page cache."""
    path = cache / "metadata" / f"{megabytes}mb" / "metadata" / "v1.metadata.json"
    if not path.exists():
        generate(path, megabytes)
    path.read_bytes()
    return path


def main(arguments: list[str] | None = None) -> int:
    """Runs what was asked for and prints one table. Returns 1 if answers differ or are missing."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else None)
    parser.add_argument("--sizes", default=",".join(map(str, SIZES)), help="of the metadata, in MB")
    parser.add_argument("--repeats", type=int, default=3, help="timed runs (default 3)")
    parser.add_argument("--tasks", default=",".join(TASKS), help=f"some of {', '.join(TASKS)}")
    parser.add_argument("--cache", type=Path, default=HERE / ".cache", help="where the files are kept")
    parser.add_argument("--run", nargs=4, metavar=("TASK", "READER", "FILE", "SMALL"), help=argparse.SUPPRESS)
    options = parser.parse_args(arguments)
    if options.run:
        run_one(*options.run)
        return 0
    results: list[Result] = []
    small = _file(options.cache, 0)
    for size in map(int, options.sizes.split(",")):
        path = _file(options.cache, size)
        for task in options.tasks.split(","):
            results += [measure(path, small, size, task, reader, options.repeats) for reader in TASKS[task]]
    print(f"{report.machine()}\n\n{table(results)}")
    answers = {(one.size, one.task, one.answer) for one in results}
    return 0 if len(answers) == len({(one.size, one.task) for one in results}) else 1


if __name__ == "__main__":
    sys.exit(main())
