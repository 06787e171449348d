"""`lakebed demo`: the sample tables out of the package, and what commands say of them."""

from __future__ import annotations

import re
import shlex
import subprocess
import tarfile
from importlib import resources
from pathlib import Path

from command_line import complaint, output
from interpreters import ran

import lakebed
from shared_data import PROJECT, SAMPLE_ICEBERG_TABLE, SAMPLE_TABLE

SAMPLES = {"paimon_orders": SAMPLE_TABLE, "iceberg_orders": SAMPLE_ICEBERG_TABLE}


def contents(folder: Path) -> dict[str, bytes]:
    """The files of a table."""
    files = (path for path in folder.rglob("*") if path.is_file() and path.name != "README.md")
    return {str(path.relative_to(folder)): path.read_bytes() for path in files}


def test_every_command_prints_what_it_prints_by_itself(tmp_path: Path) -> None:
    shown = output("demo", tmp_path / "demo")
    commands = re.findall(r"^\$ lakebed (.*)\n\n((?:.|\n)*?)(?=\n== |\nThe tables stay)", shown, re.MULTILINE)
    found = [shlex.split(words)[0] for words, _ in commands]
    assert found == ["show", "health", "files", "show", "plan", "plan"]
    for words, printed in commands:
        assert printed == output(*shlex.split(words)) != ""
    assert "--explain" in commands[-1][0]


def test_the_tables_are_the_samples(tmp_path: Path) -> None:
    output("demo", tmp_path)
    for name, sample in SAMPLES.items():
        # Else run `make sample-tables`, or `.ci/demo_tables.sh python/lakebed/cli/demo_tables.tar.gz`.
        assert contents(tmp_path / name) == contents(sample) != {}


def test_it_needs_the_package_alone(tmp_path: Path) -> None:
    # Another folder to work in, and one of its own for what is temporary.
    done = ran("-m", "lakebed", "demo", cwd=tmp_path, environment={"TMPDIR": str(tmp_path)})
    assert (done.returncode, done.stderr) == (0, "")
    (folder,) = tmp_path.iterdir()
    assert f"The tables stay in {folder}." in done.stdout
    assert lakebed.find_tables(folder).to_arrow().num_rows == 2
    archive = resources.files("lakebed.cli").joinpath("demo_tables.tar.gz")
    assert len(archive.read_bytes()) < 100_000


def test_what_is_there_is_not_written_over(tmp_path: Path) -> None:
    output("demo", tmp_path)
    file = tmp_path / "paimon_orders" / "snapshot" / "LATEST"
    file.write_text("mine")
    assert "give another folder" in complaint("demo", tmp_path, code=2)
    assert file.read_text() == "mine"


def test_the_archive_is_made_again_with_the_same_files(tmp_path: Path) -> None:
    made = tmp_path / "made.tar.gz"
    subprocess.run([PROJECT / ".ci" / "demo_tables.sh", made], check=True)
    there = resources.files("lakebed.cli").joinpath("demo_tables.tar.gz")
    with tarfile.open(made) as ours, there.open("rb") as file, tarfile.open(fileobj=file) as theirs:
        own = [(one.name, one.size, one.mode) for one in ours]
        assert own == [(one.name, one.size, one.mode) for one in theirs]
