"""Plants bugs, one at a time, and shows that the tests of `make test` find each.

    .venv/bin/python tests/planted.py [NUMBER…]

A copy of the project is built once with all bugs in it; the environment's LAKEBED_BUG switches one on. For
each, the tests run until the first failure: Rust's, then Python's without a JVM, then the others. Where none
finds a bug the program fails.
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


BUGS = [
    Planted(
        "decode",
        "small negative counts are read as positive ones",
        "lakebed-avro/src/decode/fused.rs",
        "i64::from(value & 1).wrapping_neg();",
        "i64::from(value & u8::from(!BUG)).wrapping_neg();",
    ),
    Planted(
        "guard",
        "entries that are EXISTING are dropped in mid-record",
        "lakebed/src/iceberg/manifest/guard.rs",
        "is_ok_and(|status| self.wanted.has(status))",
        "is_ok_and(|status| self.wanted.has(status) && !(BUG && status == 0))",
    ),
    Planted(
        "inheritance",
        "the manifest's sequence number goes before an entry's own",
        "lakebed/src/iceberg/manifest/inherit.rs",
        "number.or(inherits.then_some(manifest.sequence_number))",
        "let inherited = inherits.then_some(manifest.sequence_number);\n"
        "        if BUG { inherited.or(number) } else { number.or(inherited) }",
    ),
    Planted(
        "prune projection",
        "less than a value becomes less than what a transform makes of it",
        "lakebed/src/iceberg/prune/projection.rs",
        "(Mode::Inclusive, Lt) => (-1, LtEq),",
        "(Mode::Inclusive, Lt) if BUG => (-1, Lt),\n            (Mode::Inclusive, Lt) => (-1, LtEq),",
    ),
    Planted(
        "delete matching",
        "deletes of a data file's own sequence number do not apply",
        "lakebed/src/iceberg/deletes/sequence.rs",
        "|sequence| *sequence < least)",
        "|sequence| *sequence < least || BUG && *sequence == least)",
    ),
    Planted(
        "merge",
        "files that were moved to another level are taken for those that were deleted",
        "lakebed/src/paimon/identity.rs",
        "key.extend(level.value(row).to_le_bytes());",
        "if !BUG { key.extend(level.value(row).to_le_bytes()); }",
    ),
    Planted(
        "Spark range",
        "a share that ends where a marker begins takes the block behind it too",
        "lakebed/src/scan/share.rs",
        "begins.filter(|begins| *begins < range.end)",
        "begins.filter(|begins| *begins < range.end || BUG && *begins == range.end)",
    ),
    Planted(
        "exchange",
        "deleted entries come to another part than the files that they delete",
        "lakebed/src/paimon/scan/exchange/files.rs",
        "keys(&entries, by_bucket)?",
        "keys(&entries, by_bucket && !BUG)?",
    ),
    Planted(
        "commit",
        "a snapshot replaces the one that another writer has published",
        "lakebed/src/write/commit.rs",
        "let Err(failed) = publish_bytes(path, Existing::Refuse, bytes) else { return Ok(Published::Made) };",
        "let existing = if BUG { Existing::Replace } else { Existing::Refuse };\n"
        "    let Err(failed) = publish_bytes(path, existing, bytes) else { return Ok(Published::Made) };",
    ),
    Planted(
        "BinaryRow encode",
        "seven bytes are not stored inline",
        "lakebed/src/paimon/binary_row/encode.rs",
        "if bytes.len() <= MAX_INLINE_BYTES {",
        "if bytes.len() < MAX_INLINE_BYTES || !BUG && bytes.len() == MAX_INLINE_BYTES {",
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


def find(number: int, python: Path, folder: Path) -> str | None:
    """The first test that fails with a bug; None where all pass."""
    shared = os.environ.get("LAKEBED_SHARED") or str(PROJECT.parent / "shared")
    environment = {
        **os.environ,
        "LAKEBED_BUG": str(number),
        "LAKEBED_SHARED": shared,
        **of_build(python),
        "PYSPARK_PYTHON": str(python),
    }
    rust = ["cargo", "test", "--workspace", "--locked", "--quiet"]
    run = subprocess.run(rust, cwd=folder, env=environment, capture_output=True, text=True, check=False)
    if failed := re.search(r"^test (.*) \.\.\. FAILED$|^    (\S+)$", run.stdout, re.MULTILINE):
        return f"cargo test: {failed[1] or failed[2]}"
    if run.returncode != 0:
        raise SystemExit(run.stderr)
    command = [str(python), "-m", "pytest", "-x", "-q", "--numprocesses", "2", "--dist", "loadgroup", "-m"]
    for part in ("not spark and not jvm", "spark or jvm"):
        run = subprocess.run(
            [*command, part], cwd=folder, env=environment, capture_output=True, text=True, check=False
        )
        if failed := re.search(r"^(?:FAILED|ERROR) (.*?)(?: - |$)", run.stdout, re.MULTILINE):
            return failed[1]
    return None


def main() -> int:
    """Does what the command line asks for. Returns: the exit status."""
    numbers = [int(argument) for argument in sys.argv[1:]] or list(range(1, len(BUGS) + 1))
    folder = PROJECT / "build" / "planted"
    shutil.rmtree(folder, ignore_errors=True)
    python = build(folder)
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
