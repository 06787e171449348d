"""What the Tab key completes in real shells, and what the command tells them."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from command_line import configure_catalogs
from interpreters import ran
from shells import SHELLS, Shell

from shared_data import SAMPLE_ICEBERG_TABLE, SAMPLE_TABLE

HERE = str(Path(__file__).parent)


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with tables, and a catalog of PyIceberg's that names one."""
    folder = tmp_path_factory.mktemp("home")
    shutil.copytree(SAMPLE_TABLE, folder / "warehouse" / "orders")
    shutil.copytree(SAMPLE_ICEBERG_TABLE, folder / "warehouse" / "iceberg")
    (folder / "words.txt").write_text("no folder")
    tables = pytest.importorskip("catalog_tables")
    catalog = tables.sqlite(folder)
    tables.orders(catalog, commits=1)
    configure_catalogs(folder, lake=catalog.properties)
    return folder


@pytest.fixture(scope="module", params=list(SHELLS))
def shell(
    request: pytest.FixtureRequest, home: Path, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Shell]:
    folder = tmp_path_factory.mktemp(request.param)
    for path in home.iterdir():
        (folder / path.name).symlink_to(path)
    started = Shell(request.param, folder, {"PYICEBERG_HOME": str(folder)})
    yield started
    started.end()


COMPLETED = [
    ("sho", "show"),
    ("show wareh", "show warehouse"),
    ("show warehouse/or", "show warehouse/orders"),
    ("show ~/wareh", "show ~/warehouse"),
    ("find wareh", "find warehouse"),
    ("files warehouse/orders --colu", "files warehouse/orders --columns"),
    ("files warehouse/orders --columns min_s", "files warehouse/orders --columns min_sequence_number"),
    (
        "files warehouse/orders --columns bucket,min_s",
        "files warehouse/orders --columns bucket,min_sequence_number",
    ),
    ("files ~/warehouse/orders --sort -min_s", "files ~/warehouse/orders --sort -min_sequence_number"),
    ("files --catalog la", "files --catalog lake"),
    ("files --catalog lake db.o", "files --catalog lake db.orders"),
    ("find --catalog lake d", "find --catalog lake db"),
    ("health warehouse/orders --threshold snap", "health warehouse/orders --threshold snapshots="),
    (
        "files --catalog lake db.orders --columns sort_",
        "files --catalog lake db.orders --columns sort_order_id",
    ),
    ("metadata warehouse/orders file_i", "metadata warehouse/orders file_indexes"),
    ("health warehouse/orders --columns snapshot_c", "health warehouse/orders --columns snapshot_count"),
    ("files warehouse/iceberg --branch au", "files warehouse/iceberg --branch audit"),
]


@pytest.mark.parametrize(("typed", "whole"), COMPLETED, ids=[typed for typed, _ in COMPLETED])
def test_tab_completes(shell: Shell, typed: str, whole: str) -> None:
    assert shell.completed(f"lakebed {typed}") == f"lakebed {whole}"


def told(home: Path, *words: str) -> list[str]:
    """The values that a shell is told for the last word."""
    asked = {
        "_LAKEBED_COMPLETE": "bash_complete",
        "COMP_WORDS": " ".join(("lakebed", *words)),
        "COMP_CWORD": str(len(words)),
        "PYICEBERG_HOME": str(home),
        "PYTHONPATH": os.pathsep.join(filter(None, (HERE, os.environ.get("PYTHONPATH")))),
    }
    done = ran("-m", "lakebed", environment=asked, cwd=home)
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout.split()


@pytest.mark.parametrize(
    ("words", "values"),
    [
        (("fi",), {"plain,files", "plain,file-history", "plain,find"}),
        (("files", ""), {"dir,"}),
        (("files", "warehouse/orders", "--sort", "-bu,bucket,-lev"), {"plain,-bu,bucket,-level"}),
        (("files", "warehouse/orders", "--columns", "bucket,buck"), set()),
        (("files", "warehouse/orders", "--stats", "am"), {"plain,amount"}),
        (("diff", "warehouse/orders", "1", "2", "--columns", "ch"), {"plain,change"}),
        (("metadata", "warehouse/orders", "files", "--columns", "file_f"), {"plain,file_format"}),
        (("files", "warehouse/orders", "--tag", ""), {"plain,first-load"}),
        (("find", "warehouse", "--columns", "f"), {"plain,format"}),
        (("rewrite-paths", "warehouse/orders", "--columns", "so"), {"plain,source"}),
        (("avro", "wo"), {"file,wo"}),
        (("find", "--catalog", "lake", ""), {"plain,db"}),
        (("find", "--catalog", "lake", "db", "d"), {"plain,db"}),
        (
            ("report", "warehouse/orders", "--threshold", "small_"),
            {"plain,small_bytes=", "plain,small_files="},
        ),
        # What cannot be known completes nothing, without a word.
        (("files", "nothing", "--columns", "f"), set()),
        (("files", "--columns", "f"), set()),
        (("files", "--catalog", "other", "db."), set()),
        (("nothing", "x"), set()),
    ],
)
def test_what_shells_are_told(home: Path, words: tuple[str, ...], values: set[str]) -> None:
    assert set(told(home, *words)) == values


def test_nothing_of_the_users_is_run(home: Path) -> None:
    (home / "keys.py").write_text("from pathlib import Path\nPath('ran').touch()\ndef unwrap(*_): ...\n")
    words = ("files", "warehouse/orders", "--keys", "keys.py:unwrap", "--columns", "min_s")
    assert told(home, *words) == ["plain,min_sequence_number"]
    assert not (home / "ran").exists()
