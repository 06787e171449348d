"""What starting costs: `import lakebed` beyond the interpreter and beyond pyarrow, and the command line.

Each line is the median and the best of several fresh processes, one kind after the other in turns, and the
median of the processor time, which other work on the machine changes less. Below them stands how large the
installed package is when it is packed as a wheel is.
"""

from __future__ import annotations

import resource
import statistics
import subprocess
import sys
import time
import zlib
from pathlib import Path

RUNS = 15
TABLE = Path(__file__).resolve().parents[1] / "examples" / "sample_table"
COMMAND = ("-c", "from lakebed.cli import main; main()")
WAYS: dict[str, tuple[str, ...]] = {
    "nothing": ("-c", "pass"),
    "import lakebed": ("-c", "import lakebed"),
    "lakebed.open_table": ("-c", "import lakebed; lakebed.open_table"),
    "import pyarrow": ("-c", "import pyarrow"),
    "import click, rich": ("-c", "import click, rich"),
    "pyarrow and open_table": ("-c", "import pyarrow, lakebed; lakebed.open_table"),
    "lakebed --help": (*COMMAND, "--help"),
    "lakebed show": (*COMMAND, "show", str(TABLE)),
    "lakebed files": (*COMMAND, "files", str(TABLE)),
}


def main() -> None:
    times: dict[str, list[tuple[float, float]]] = {name: [] for name in WAYS}
    for _ in range(RUNS + 1):
        for name, arguments in WAYS.items():
            times[name].append(timed(arguments))
    # The first of each fills caches.
    medians = {
        name: [statistics.median(column) for column in zip(*found[1:], strict=True)]
        for name, found in times.items()
    }
    for name, (wall, cpu) in medians.items():
        best = min(found for found, _ in times[name][1:])
        print(f"{name:24} {wall:7.1f} ms  (best {best:.1f}, cpu {cpu:.1f})")
    for name, less, limit in (
        ("import lakebed", "nothing", ""),
        ("pyarrow and open_table", "import pyarrow", ", to stay below 60"),
    ):
        wall, cpu = (whole - part for whole, part in zip(medians[name], medians[less], strict=True))
        print(f"{'lakebed beyond ' + less.removeprefix('import '):24} {wall:7.1f} ms  (cpu {cpu:.1f}{limit})")
    for name, other, most in (
        ("lakebed --help", "import click, rich", 1.2),
        ("lakebed show", "import pyarrow", 2.0),
    ):
        wall, cpu = (whole / part for whole, part in zip(medians[name], medians[other], strict=True))
        print(f"{name} takes {wall:.2f} times {other} (cpu {cpu:.2f}, to stay below {most})")
    print(f"{'packed':24} {packed_bytes() / 1e6:7.1f} MB  (to stay below 4)")


def timed(arguments: tuple[str, ...]) -> tuple[float, float]:
    """Wall and processor time of one process of this interpreter [ms]."""
    before, start = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    subprocess.run([sys.executable, *arguments], check=True, stdout=subprocess.DEVNULL)
    wall, after = time.perf_counter() - start, resource.getrusage(resource.RUSAGE_CHILDREN)
    return 1000 * wall, 1000 * (after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)


def packed_bytes() -> int:
    """The installed package's files, each deflated as a wheel has them."""
    import lakebed

    files = [path for path in Path(lakebed.__file__).parent.rglob("*") if path.is_file()]
    return sum(len(zlib.compress(path.read_bytes(), 9)) for path in files if path.suffix != ".pyc")


if __name__ == "__main__":
    main()
