"""Plants bugs, one at a time, and shows that the tests of `make test` find each.

    .venv/bin/python tests/planted.py [NUMBER…]

A copy of the project is built once with all bugs in it; the environment's LAKEBED_BUG switches one on. The
tests that should find one must pass with none. For each bug they run until the first failure; where they miss
it, so do all others: Rust's, Python's without a JVM, the rest. Where none finds a bug the program fails.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import time
from pathlib import Path
from typing import NamedTuple

PROJECT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(PROJECT / "rust" / "fuzz"))

import bugs as bugs  # type: ignore[import-not-found]  # noqa: E402


class Planted(NamedTuple):
    """A fault that gives wrong rows or bytes without an error of its own."""

    where: str
    name: str
    file: str
    there: str
    """What stands in the file, once."""
    becomes: str
    """The same with the fault; BUG is true where it is switched on."""
    tests: str
    """The file of tests that should find it."""


BUGS = [
    Planted(
        "decode",
        "small negative counts are read as positive ones",
        "lakebed-avro/src/decode/fused.rs",
        "i64::from(value & 1).wrapping_neg();",
        "i64::from(value & u8::from(!BUG)).wrapping_neg();",
        "tests/test_avro_fastavro.py",
    ),
    Planted(
        "guard",
        "entries that are EXISTING are dropped in mid-record",
        "lakebed/src/iceberg/manifest/guard.rs",
        "is_ok_and(|status| self.wanted.has(status))",
        "is_ok_and(|status| self.wanted.has(status) && !(BUG && status == 0))",
        "tests/test_iceberg_golden.py",
    ),
    Planted(
        "inheritance",
        "the manifest's sequence number goes before an entry's own",
        "lakebed/src/iceberg/manifest/inherit.rs",
        "number.or(inherits.then_some(manifest.sequence_number))",
        "let inherited = inherits.then_some(manifest.sequence_number);\n"
        "        if BUG { inherited.or(number) } else { number.or(inherited) }",
        "tests/test_iceberg_golden.py",
    ),
    Planted(
        "prune projection",
        "less than a value becomes less than what a transform makes of it",
        "lakebed/src/iceberg/prune/projection.rs",
        "(Mode::Inclusive, Lt) => (-1, LtEq),",
        "(Mode::Inclusive, Lt) if BUG => (-1, Lt),\n            (Mode::Inclusive, Lt) => (-1, LtEq),",
        "tests/test_iceberg_pruning.py",
    ),
    Planted(
        "delete matching",
        "deletes of a data file's own sequence number do not apply",
        "lakebed/src/iceberg/deletes/sequence.rs",
        "|sequence| *sequence < least)",
        "|sequence| *sequence < least || BUG && *sequence == least)",
        "tests/test_iceberg_plans.py",
    ),
    Planted(
        "merge",
        "files that were moved to another level are taken for those that were deleted",
        "lakebed/src/paimon/identity.rs",
        "key.extend(level.value(row).to_le_bytes());",
        "if !BUG { key.extend(level.value(row).to_le_bytes()); }",
        "tests/test_paimon_golden_views.py",
    ),
    Planted(
        "Spark range",
        "a share that ends where a marker begins takes the block after it too",
        "lakebed/src/scan/share.rs",
        "window.marker(&parsed.sync, range.end)?.map_or",
        "window.marker(&parsed.sync, range.end.saturating_add(u64::from(BUG)))?.map_or",
        "tests/spark/test_spark_ranges.py",
    ),
    Planted(
        "exchange",
        "deleted entries come to another part than the files that they delete",
        "lakebed/src/paimon/scan/jobs/files.rs",
        "keys(&entries, by_bucket)?",
        "keys(&entries, by_bucket && !BUG)?",
        "tests/test_paimon_exchange.py",
    ),
    Planted(
        "commit",
        "a snapshot replaces the one that another writer has published",
        "lakebed/src/write/commit.rs",
        "match storage.publish(path, ExistingFile::Refuse, bytes) {",
        "match storage.publish(path, if BUG { ExistingFile::Replace } else { ExistingFile::Refuse }, "
        "bytes) {",
        "tests/test_paimon_commits_racing.py",
    ),
    Planted(
        "BinaryRow encode",
        "seven bytes are not stored inline",
        "lakebed/src/paimon/binary_row/encode.rs",
        "if bytes.len() <= MAX_INLINE_BYTES {",
        "if bytes.len() < MAX_INLINE_BYTES || !BUG && bytes.len() == MAX_INLINE_BYTES {",
        "tests/test_binary_row.py",
    ),
]


def of_build(python: Path) -> dict[str, str]:
    """What cargo goes by."""
    return {"CARGO_TARGET_DIR": str(PROJECT / "target" / "planted"), "PYO3_PYTHON": str(python)}


def build(folder: Path) -> Path:
    """A copy of the project with the bugs in it, with its wheel. Returns: the interpreter that has it."""
    tracked = subprocess.run(
        ["git", "ls-files"], cwd=PROJECT, capture_output=True, text=True, check=True
    ).stdout.splitlines()
    for name in tracked:
        target = folder / name
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(PROJECT / name, target)
    bugs.put(folder / "rust", [(bug.file, bug.there, bug.becomes) for bug in BUGS])
    if (PROJECT / ".venv").is_dir() and not (folder / ".venv").exists():
        shutil.copytree(PROJECT / ".venv", folder / ".venv", symlinks=True)
    python = folder / ".venv" / "bin" / "python"
    environment = {**os.environ, **of_build(python)}
    maturin = [
        str(folder / ".venv" / "bin" / "maturin"),
        "build",
        "--quiet",
        "--profile",
        "dev",
        "--out",
        "wheel",
    ]
    subprocess.run([*maturin, "--interpreter", str(python)], cwd=folder, env=environment, check=True)
    wheel = next((folder / "wheel").glob("*.whl"))
    pip = [str(python), "-m", "pip", "install", "-q", "--no-deps", "--force-reinstall", str(wheel)]
    subprocess.run(pip, cwd=folder, check=True)
    return python


def failed(number: int, python: Path, folder: Path, *options: str) -> str | None:
    """The first Python test that fails with a bug, but for those of the layout, which look at the code."""
    command = [str(python), "-m", "pytest", "-x", "-q", "--numprocesses", "2", "--dist", "loadgroup"]
    command = [*command, "--ignore", "tests/test_layout.py", *options]
    environment = variables(number, python)
    run = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)
    if run.returncode == 0:
        return None
    found = re.search(r"^FAILED (.*?)(?: - |$)", run.stdout, re.MULTILINE)
    # What ends at the first failure ends with 1, or with 2 where several processes run.
    if run.returncode not in (1, 2) or not found:
        raise SystemExit(run.stdout + run.stderr)
    return found[1]


def variables(number: int, python: Path) -> dict[str, str]:
    """The environment in which a bug is switched on, none for 0."""
    shared = os.environ.get("LAKEBED_SHARED", str(PROJECT.parent / "shared"))
    bug = {"LAKEBED_BUG": str(number), "LAKEBED_SHARED": shared, "PYSPARK_PYTHON": str(python)}
    return {**os.environ, **bug, **of_build(python)}


def find(number: int, python: Path, folder: Path) -> str | None:
    """The first test that fails with a bug; None where all pass."""
    if found := failed(number, python, folder, BUGS[number - 1].tests):
        return found
    rust = ["cargo", "test", "--workspace", "--locked", "--quiet"]
    environment = variables(number, python)
    run = subprocess.run(rust, cwd=folder, env=environment, capture_output=True, text=True, check=False)
    if named := re.search(r"^test (.*) \.\.\. FAILED$|^    (\S+)$", run.stdout, re.MULTILINE):
        return f"cargo test: {named[1] or named[2]}"
    if run.returncode != 0:
        raise SystemExit(run.stderr)
    for part in ("not spark and not jvm", "spark or jvm"):
        if found := failed(number, python, folder, "-m", part):
            return found
    return None


def main() -> int:
    """Does what the command line asks for. Returns: the exit status."""
    numbers = [int(argument) for argument in sys.argv[1:]] or list(range(1, len(BUGS) + 1))
    folder = PROJECT / "build" / "planted"
    shutil.rmtree(folder, ignore_errors=True)
    python = build(folder)
    if found := failed(0, python, folder, *sorted({BUGS[number - 1].tests for number in numbers})):
        raise SystemExit(f"without a bug: {found}")
    missed = 0
    for number in numbers:
        bug, start = BUGS[number - 1], time.monotonic()
        found = find(number, python, folder)
        missed += found is None
        took = time.monotonic() - start
        sys.stdout.write(f"{number:>2}  {bug.where:<17} {took:>5.0f} s  {bug.name}: {found or 'NOT FOUND'}\n")
        sys.stdout.flush()
    shutil.rmtree(folder)
    return min(missed, 1)


if __name__ == "__main__":
    sys.exit(main())
