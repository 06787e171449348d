"""Times appends of one file to a Paimon table of many commits: lakebed's beside pypaimon's and Paimon Java's,
above what reading the last list and writing the new files takes. See README.md.

The table has a manifest and a snapshot for each commit. Run with `--side SIDE` this is the
process of one side.
"""

from __future__ import annotations

import argparse
import statistics
import subprocess
import sys
import time
import uuid
from collections.abc import Callable, Iterator, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any

import pyarrow as pa
import report
import suite
from corpus import once, restored, synced
from paimon_tables import java_classpath, java_version

import lakebed

OPTIONS = {
    # What small manifests cost is what is timed: nobody merges them, nor lets snapshots go.
    "manifest.merge-min-count": "1000000000",
    "write-only": "true",
}


def made(cache: Path, commits: int) -> Path:
    """The folder of the table in the cache, or of a new one: two thirds of a millisecond a commit."""
    root = cache / "warehouse" / "bench.db" / f"commits_{commits}"
    return once(root, lambda folder: _write(folder, commits))


def one_file(name: str) -> Any:
    """A data file that is nowhere."""
    path = pa.array([f"bucket-0/{name}.parquet"], pa.string())
    return pa.table({"file_path": path, "record_count": [10], "file_size_in_bytes": [1000]})


def _write(root: Path, commits: int) -> None:
    """Writes one commit by the front door, and as many others like it as are missing."""
    from lakebed import paimon

    schema = pa.schema([("id", pa.int64()), ("name", pa.string())])
    table = lakebed.create_table(root, schema, "paimon", properties=OPTIONS)
    table.append_files(one_file("data-0"))
    manifests = root / "manifest"
    first = paimon.read_snapshot(root / "snapshot" / "snapshot-1")
    record = paimon.read_manifest_list(manifests / first["deltaManifestList"]).to_arrow()
    entry = paimon.read_manifest(manifests / record["file_name"][0].as_py()).to_arrow()
    names = [f"manifest-{uuid.uuid4()}-0" for _ in range(1, commits)]
    sizes = []
    for number, name in enumerate(names, 1):
        column = entry.schema.get_field_index("file_name")
        renamed = entry.set_column(column, "file_name", pa.array([f"data-{number}.parquet"]))
        written = paimon.write_manifest(renamed)
        (manifests / name).write_bytes(written)
        sizes.append(len(written))
    records = pa.concat_tables([record] * (commits - 1))
    for name, values in (("file_name", pa.array(names)), ("file_size", pa.array(sizes, pa.int64()))):
        place = records.schema.get_field_index(name)
        records = records.set_column(place, records.schema.field(place), values)
    lists = {
        "base": pa.concat_tables([record, records.slice(0, commits - 2)]),
        "delta": records.slice(commits - 2),
    }
    said = {}
    for kind, rows in lists.items():
        written = paimon.write_manifest_list(rows)
        (manifests / f"manifest-list-made-{kind}").write_bytes(written)
        said |= {f"{kind}ManifestList": f"manifest-list-made-{kind}", f"{kind}ManifestListSize": len(written)}
    for number in range(2, commits + 1):
        # The lists of all are the last one's: nobody who appends reads those before.
        snapshot = {**first, **said, "id": number, "totalRecordCount": 10 * number}
        # As bytes: to a path each would be synced.
        written = paimon.write_snapshot(snapshot)
        (root / "snapshot" / f"snapshot-{number}").write_bytes(written)
    (root / "snapshot" / "LATEST").write_text(str(commits))


REFERENCE = "lakebed, unchecked"


def main(arguments: Sequence[str] | None = None) -> int:
    """Prints a table. Returns: 1 if a side left another number of snapshots than it made."""
    options = _options(arguments)
    cache = options.cache
    root = made(cache, options.commits)
    if options.side:
        for millis in SIDES[options.side](root, options.appends):
            print(millis, flush=True)
        return 0
    rows = [("side", "version", "first ms", "median ms", "least ms", "times lakebed")]
    medians: dict[str, float] = {}
    for side in options.sides:
        with restored(root / "snapshot" / "LATEST", lambda: filter(Path.is_dir, root.iterdir())):
            millis = _measured(side, root, cache, options)
            count = len(list((root / "snapshot").glob("snapshot-*"))) - options.commits
        if count != (0 if side == "floor" else options.appends):
            print(f"{side} made {count} snapshots", file=sys.stderr)
            return 1
        medians[side] = median = statistics.median(millis[1:])
        own = medians.get(REFERENCE)
        shown = [f"{number:.1f}" for number in (millis[0], median, min(millis))]
        rows.append((side, _version(side), *shown, f"{median / own:.1f}" if own else ""))
    print(report.markdown(rows, (0, 1)))
    return 0


def _measured(side: str, root: Path, cache: Path, options: argparse.Namespace) -> list[float]:
    command = [sys.executable, __file__, "--cache", str(options.cache), "--side", side]
    command += ["--commits", str(options.commits), "--appends", str(options.appends)]
    if side == "java":
        command = ["java", "-Xmx2g", "-cp", java_classpath(cache), "BenchAppend"]
        command += [str(root), str(options.appends)]
    told = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout
    return [float(line) for line in told.splitlines()]


def _lakebed(root: Path, count: int, check: bool) -> Iterator[float]:
    table = lakebed.open_table(root)
    for _ in range(count):
        file = one_file(f"data-{uuid.uuid4()}")
        begun = time.perf_counter()
        table = table.append_files(file, check_files=check)
        yield (time.perf_counter() - begun) * 1e3


def _pypaimon(root: Path, count: int) -> Iterator[float]:
    from pypaimon.table.file_store_table import FileStoreTable

    rows = pa.table({"id": pa.array([1], pa.int64()), "name": ["a"]})
    for _ in range(count):
        builder = FileStoreTable.from_path(str(root)).new_batch_write_builder()
        write, commit = builder.new_write(), builder.new_commit()
        write.write_arrow(rows)
        messages = write.prepare_commit()
        begun = time.perf_counter()
        commit.commit(messages)
        yield (time.perf_counter() - begun) * 1e3
        write.close()
        commit.close()


def _floor(root: Path, count: int) -> Iterator[float]:
    """Reads the base list, and writes as many bytes, and three short files, each to the disk."""
    (base,) = (root / "manifest").glob("manifest-list-made-base")
    for number in range(count):
        begun = time.perf_counter()
        for place, written in enumerate([base.read_bytes(), b"m" * 1200, b"l" * 900, b"s" * 900]):
            synced(root / "manifest" / f"floor-{number}-{place}", written)
        yield (time.perf_counter() - begun) * 1e3


SIDES: dict[str, Callable[[Path, int], Iterator[float]]] = {
    "floor": _floor,
    REFERENCE: lambda root, count: _lakebed(root, count, False),
    "lakebed": lambda root, count: _lakebed(root, count, True),
    "pypaimon": _pypaimon,
}


def _version(side: str) -> str:
    return {"floor": "", "java": java_version(), "pypaimon": version("pypaimon")}.get(
        side, version("lakebed")
    )


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    made = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else None)
    add: Any = made.add_argument
    add("--commits", type=int, default=10_000, help="commits that the table has, a manifest each")
    add("--appends", type=int, default=20, help="appends of each side")
    sides = [*SIDES, "java"]
    add("--sides", type=lambda text: text.split("/"), default=sides, help="which, with / between them")
    add("--side", default=None, help="be the process of this side")
    add("--cache", type=suite.cache, default=suite.CACHE, help="where the table is kept")
    return made.parse_args(arguments)


if __name__ == "__main__":
    sys.exit(main())
