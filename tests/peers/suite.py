"""Runs the own tests of a release of PyIceberg or pypaimon, with lakebed below it and without, and compares.

Usage: python tests/peers/suite.py pyiceberg==0.11.1 [--tests FOLDER]

Fails where a test passes without lakebed and not with it. The release gets an environment of its own below
`.venv/suites`. Its tests are those of its source package, where this has some, or of a folder.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tarfile
import venv
from collections import Counter
from pathlib import Path
from typing import Any

import lakebed

HERE = Path(__file__).resolve().parent
SUITES = HERE.parents[1] / ".venv" / "suites"
EXTRAS = {"pyiceberg": "[pyarrow,sql-sqlite,pandas]", "pypaimon": ""}
NEEDED = {
    # Its fixtures are of pytest 7.
    "pyiceberg": (
        *("pytest<8", "pytest-lazy-fixture", "pytest-lazy-fixtures"),
        *("pytest-mock", "pytest-timeout", "requests-mock"),
        *("moto[server]", "boto3", "fastavro", "fsspec", "pytz"),
    ),
    "pypaimon": ("pytest", "pytest-timeout", "parameterized", "backports.zstd"),
}
CHOSEN = {
    "pyiceberg": ("-m", "(unmarked or parametrize) and not integration", "--ignore", "tests/integration"),
    # Those ask Java, or a Python that is not there.
    "pypaimon": ("--ignore", "pypaimon/tests/e2e", "--ignore", "pypaimon/tests/py36"),
}
TESTS = {"pyiceberg": "tests", "pypaimon": "pypaimon/tests"}


def environment(library: str, release: str) -> Path:
    """A folder with an environment that has the release and lakebed, and the release's source."""
    folder = SUITES / release
    if not (folder / "done").exists():
        shutil.rmtree(folder, ignore_errors=True)
        venv.create(folder, with_pip=True)
        pip = [str(folder / "bin" / "python"), "-m", "pip", "-q"]
        version = release.partition("==")[2]
        subprocess.run([*pip, "install", f"{library}{EXTRAS[library]}=={version}"], check=True)
        subprocess.run([*pip, "install", *NEEDED[library]], check=True)
        source = ["download", "--no-deps", "--no-binary", library, "-d", str(folder / "source"), release]
        subprocess.run([*pip, *source], check=True)
        (package,) = (folder / "source").iterdir()
        with tarfile.open(package) as archive:
            archive.extractall(folder / "source", filter="data")
        (folder / "below").mkdir()
        (folder / "below" / "lakebed").symlink_to(Path(lakebed.__file__).parent)
        (folder / "done").touch()
    return folder


def run(library: str, folder: Path, tests: Path, below: str) -> dict[str, Any]:
    """What each test ended with, and what lakebed answered."""
    # Each run has the tests as they come: some leave files beside themselves.
    copied = folder / "run"
    shutil.rmtree(copied, ignore_errors=True)
    (copied / TESTS[library]).parent.mkdir(parents=True)
    if library == "pypaimon":
        # It is a package within the library's own.
        (installed,) = folder.glob("lib/python*/site-packages/pypaimon")
        shutil.copytree(installed, copied / "pypaimon", dirs_exist_ok=True)
    shutil.copytree(tests, copied / TESTS[library], dirs_exist_ok=True)
    for settings in tests.parent.glob("pyproject.toml") if library == "pyiceberg" else ():
        shutil.copy(settings, copied)
    outcomes = folder / "outcomes.json"
    paths = [copied, folder / "below", HERE] if library == "pypaimon" else [folder / "below", HERE]
    given = {
        "LAKEBED_BELOW": below,
        "OUTCOMES": str(outcomes),
        "PYTHONPATH": os.pathsep.join(map(str, paths)),
    }
    options = ("-o", "filterwarnings=default", "--timeout", "300", "--continue-on-collection-errors")
    command = [str(folder / "bin" / "python"), "-m", "pytest", "-q", "-p", "outcomes_plugin", *options]
    subprocess.run(
        [*command, TESTS[library], *CHOSEN[library]], cwd=copied, env=os.environ | given, check=False
    )
    found: dict[str, Any] = json.loads(outcomes.read_text("utf-8"))
    return found


def main() -> None:
    """Prints the counts, and the tests that lakebed breaks."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("release")
    parser.add_argument("--tests", type=Path)
    given = parser.parse_args()
    library = given.release.partition("==")[0]
    folder = environment(library, given.release)
    tests = given.tests or next(folder.glob(f"source/*/{TESTS[library]}"), None)
    if tests is None or not any(tests.rglob("*test*.py")):
        sys.stdout.write(f"{given.release}: its source has no tests; --tests takes those of a clone\n")
        return
    own, found = (run(library, folder, tests.resolve(), below) for below in ("", library))
    counts = [dict(Counter(one["ended"].values())) for one in (own, found)]
    told = f"without lakebed {counts[0]}, with it {counts[1]}; {found['counts']}"
    sys.stdout.write(f"{given.release}: {told}\n")
    broken = [
        name
        for name, ended in own["ended"].items()
        if ended == "passed" != found["ended"].get(name, "absent")
    ]
    if broken or "passed" not in own["ended"].values():
        sys.exit("\n".join(["tests that pass without lakebed alone:", *broken]))


if __name__ == "__main__":
    main()
