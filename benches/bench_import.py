"""What `import lakebed` costs beyond the interpreter, and beyond pyarrow; and how soon help is there.

Each line is the median and the best of several fresh processes, one kind after the other in turns.
"""

from __future__ import annotations

import statistics
import subprocess
import sys
import time

RUNS = 15
WAYS = {
    "nothing": "pass",
    "import lakebed": "import lakebed",
    "import pyarrow": "import pyarrow",
    "import pyarrow, lakebed": "import pyarrow, lakebed",
    "lakebed --help": "from lakebed.cli import cli; cli(['--help'])",
}


def main() -> None:
    times: dict[str, list[float]] = {name: [] for name in WAYS}
    for _ in range(RUNS + 1):
        for name, code in WAYS.items():
            start = time.perf_counter()
            subprocess.run([sys.executable, "-c", code], check=True, stdout=subprocess.DEVNULL)
            times[name].append(1000 * (time.perf_counter() - start))
    # The first of each fills caches.
    medians = {name: statistics.median(found[1:]) for name, found in times.items()}
    for name, found in times.items():
        print(f"{name:24} {medians[name]:7.1f} ms  (best {min(found[1:]):.1f})")
    print(f"{'lakebed alone':24} {medians['import lakebed'] - medians['nothing']:7.1f} ms")
    beyond = medians["import pyarrow, lakebed"] - medians["import pyarrow"]
    print(f"{'lakebed beyond pyarrow':24} {beyond:7.1f} ms  (to stay below 60)")


if __name__ == "__main__":
    main()
