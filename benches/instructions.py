"""Counts the instructions of the decode and encode loops by callgrind, and holds them against those recorded.

Other work on the machine changes no count, so a loop that became slower shows where times would hide it.
Counts depend on the compiler, whose version is recorded with them. Needs valgrind.
"""

from __future__ import annotations

import argparse
import json
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

PROJECT = Path(__file__).resolve().parents[1]
RECORDED = Path(__file__).with_name("instructions.json")
TOLERANCE = 0.02
"""By how much a count may grow before it is a regression; below that it is the compiler's mood."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Prints every case beside its record. Returns: 1 if one takes more, 2 if there is no valgrind."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else None)
    parser.add_argument("--record", action="store_true", help="write these counts down as those to keep")
    parser.add_argument("--cases", default="", help="only cases whose name has this in it")
    options = parser.parse_args(arguments)
    if shutil.which("valgrind") is None:
        print("instructions: valgrind is needed (apt-get install valgrind)", file=sys.stderr)
        return 2
    program = build()
    cases = subprocess.run([program], check=True, capture_output=True, text=True).stdout.splitlines()
    counts = {case: count(program, case) for case in cases if options.cases in case}
    if options.record:
        RECORDED.write_text(json.dumps({"rustc": compiler(), "instructions": counts}, indent=2) + "\n")
    recorded: dict[str, Any] = json.loads(RECORDED.read_text())
    if recorded["rustc"] != compiler():
        print(f"recorded with {recorded['rustc']}, counted with {compiler()}\n")
    lines, slower = compared(recorded["instructions"], counts)
    print("\n".join(lines))
    return 1 if slower else 0


def compared(recorded: dict[str, int], counts: dict[str, int]) -> tuple[list[str], list[str]]:
    """The lines of a Markdown table, and the cases whose count has grown beyond the tolerance."""
    lines = ["| case | recorded | counted | change |", "|---|---:|---:|---:|"]
    slower = []
    for case, counted in counts.items():
        before = recorded.get(case)
        change = "new" if before is None else f"{counted / before - 1:+.2%}"
        if before is not None and counted > before * (1 + TOLERANCE):
            slower.append(case)
            change += " MORE"
        lines.append(f"| {case} | {'' if before is None else f'{before:,}'} | {counted:,} | {change} |")
    return lines, slower


def build() -> Path:
    """The program that runs one case, in the profile of benches."""
    command = ["cargo", "bench", "--locked", "-p", "lakebed-avro", "--bench", "instructions", "--no-run"]
    done = subprocess.run(
        [*command, "--message-format=json"], cwd=PROJECT, check=True, stdout=subprocess.PIPE, text=True
    )
    built = (json.loads(line) for line in done.stdout.splitlines())
    return Path(next(line["executable"] for line in built if line.get("executable")))


def count(program: Path, case: str) -> int:
    """The instructions inside the function that is counted, of one run."""
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "callgrind.out"
        options = ["--tool=callgrind", "--toggle-collect=*counted_*", f"--callgrind-out-file={out}"]
        subprocess.run(
            ["valgrind", *options, program, *case.split()], check=True, capture_output=True, text=True
        )
        found = re.search(r"^(?:summary|totals): (\d+)", out.read_text(), re.MULTILINE)
    if found is None:
        raise ValueError(f"callgrind counted nothing of {case}")
    return int(found[1])


def compiler() -> str:
    """The version of rustc."""
    return subprocess.run(["rustc", "--version"], check=True, capture_output=True, text=True).stdout.strip()


if __name__ == "__main__":
    sys.exit(main())
