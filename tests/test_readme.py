"""Python and commands of the README and the documents are run, in the project's folder, block after block."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import command_line
import documents
import pytest

from shared_data import PROJECT, SAMPLE_TABLE

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

PYTHON = (
    "README.md",
    *(
        f"docs/{name}.md"
        for name in ("concepts", "python", "engines", "writing", "writing-paimon", "migration", "storage")
    ),
)
DOCUMENTS = (*PYTHON, "docs/command-line.md", "docs/alerts.md", "docs/spark.md")
TEXTS = {name: (PROJECT / name).read_text("utf-8") for name in DOCUMENTS}


def blocks(document: str, *, spark: bool = False) -> str:
    """The Python blocks that need Spark, or those that do not, as one program on the document's own lines."""
    program = ""
    for block in documents.blocks(TEXTS[document]):
        if ("lakebed.spark" in block.code) is spark:
            program += "\n" * (block.line - program.count("\n")) + block.code
    return program


def run(document: str, **names: Any) -> dict[str, Any]:
    """What the names stand for when the document's blocks have run."""
    program = blocks(document, spark="spark" in names)
    assert program.strip()
    exec(compile(program, document, "exec"), names)
    return names


@pytest.fixture(autouse=True)
def project_folder(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(PROJECT)


@pytest.fixture
def far_tables(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """What the examples of other storage find: a bucket, and a catalog that PyIceberg finds."""
    pytest.importorskip("obstore")
    import catalog_tables
    from object_store import BUCKET, server, upload, variables
    from pyiceberg.utils.config import Config

    catalog, _ = catalog_tables.lake(tmp_path, commits=1)
    for name in ("uri", "warehouse"):
        monkeypatch.setenv(f"PYICEBERG_CATALOG__LAKE__{name.upper()}", catalog.properties[name])
    # It reads the environment when it is imported.
    monkeypatch.setattr("pyiceberg.catalog._ENV_CONFIG", Config())
    with server() as address:
        assert BUCKET == "lake"
        upload(address, SAMPLE_TABLE, "warehouse/shop.db/orders")
        for name, value in {**variables(address), "AWS_ALLOW_HTTP": "true"}.items():
            monkeypatch.setenv(name, value)
        yield


@pytest.mark.parametrize("document", PYTHON)
@pytest.mark.usefixtures("far_tables")
def test_the_python_blocks_run(document: str, capsys: pytest.CaptureFixture[str]) -> None:
    names = run(document)
    if document == "README.md":
        assert (names["t"].format, names["t"].snapshot_id) == ("paimon", 10)  # as its comment says
    if document == "docs/python.md":
        assert names["t"].snapshot_id == 10
        assert names["far"].location == "s3://lake/warehouse/shop.db/orders"
        assert names["of_catalog"].format == "iceberg"
        assert "shop.orders 10\n" in capsys.readouterr().out


@pytest.mark.parametrize("document", documents.SHOWN)
def test_examples_print_what_is_shown(document: str) -> None:
    text = (PROJECT / document).read_text("utf-8")
    with documents.folder():
        for block, shows in documents.printed(text, document):
            expected = block.code if block.language == "console" else block.shown or ""
            assert shows == expected, f"python tests/documents.py {document} writes it anew"


def test_every_document_with_examples_is_run() -> None:
    with_code = {
        str(path.relative_to(PROJECT))
        for path in (PROJECT / "docs").rglob("*.md")
        if any(True for _ in documents.blocks(path.read_text("utf-8")))
    }
    assert with_code - {*DOCUMENTS, *documents.SHOWN} == set()


COMMANDS = [
    line for text in TEXTS.values() for line in re.findall(r"^(lakebed .*?)(?:  +#.*)?$", text, re.MULTILINE)
]


@pytest.mark.parametrize("line", dict.fromkeys(COMMANDS))
def test_the_commands_run(line: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "examples").symlink_to(PROJECT / "examples")
    monkeypatch.chdir(tmp_path)
    if set(line) & set("|$"):
        code, out, err = _by_a_shell(line)
    else:
        # In this process: a process for each takes most of a second.
        done = command_line.run(*shlex.split(line)[1:])
        code, out, err = done.exit_code, done.stdout, done.stderr
    assert (code, err) == (0, "")
    assert out or "--output-file" in line


def _by_a_shell(line: str) -> tuple[int, str, str]:
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    done = subprocess.run(
        ["bash", "-c", line], env={**os.environ, "PATH": path}, capture_output=True, text=True, check=False
    )
    return done.returncode, done.stdout, done.stderr


@pytest.mark.spark
def test_the_spark_block_runs(spark: SparkSession) -> None:
    run("docs/spark.md", spark=spark)
