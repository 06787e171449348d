"""`--catalog`: tables by their names in the catalogs of PyIceberg's configuration."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import pytest
from interpreters import ran
from trust import not_in_check

import lakebed

tables = pytest.importorskip("catalog_tables")

CODE = "import sys; from lakebed.cli import main; main()"


def run(folder: Path, *words: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """The command in a process of its own: PyIceberg reads its configuration once."""
    paths = os.pathsep.join([str(Path(__file__).parent), os.environ.get("PYTHONPATH", "")])
    known = {"HOME": str(folder), "PYICEBERG_HOME": str(folder), "PYTHONPATH": paths}
    return ran("-c", CODE, *words, environment=known | environment)


def configured(folder: Path, **catalogs: dict[str, str]) -> None:
    lines = ["catalog:"]
    for name, properties in catalogs.items():
        lines += [f"  {name}:", *(f"    {key}: {value}" for key, value in properties.items())]
    (folder / ".pyiceberg.yaml").write_text("\n".join(lines))


@pytest.mark.parametrize("where", ["near", pytest.param("far", marks=not_in_check)])
def test_a_table_is_named_as_in_the_catalog(tmp_path: Path, where: str) -> None:
    catalog = (tables.far if where == "far" else tables.sqlite)(tmp_path)
    there = tables.orders(catalog)
    configured(tmp_path, lake=catalog.properties)
    done = run(tmp_path, "files", "--catalog", "lake", "db.orders", "-o", "json", "--columns", "file_path")
    assert (done.returncode, done.stderr) == (0, "")
    found = [json.loads(line)["file_path"] for line in done.stdout.splitlines()]
    assert found == lakebed.open_table(there).files().to_arrow()["file_path"].to_pylist()
    first = there.metadata.snapshots[0].snapshot_id
    done = run(tmp_path, "show", "--catalog", "lake", "db.orders", "--snapshot", str(first), "-o", "json")
    assert (done.returncode, str(first) in done.stdout) == (0, True)


@not_in_check
def test_the_environment_names_catalogs_too(tmp_path: Path) -> None:
    catalog = tables.sqlite(tmp_path)
    tables.orders(catalog)
    name = "PYICEBERG_CATALOG__LAKE__"
    properties = {f"{name}{key.upper()}": value for key, value in catalog.properties.items()}
    done = run(tmp_path, "refs", "db.orders", "--catalog", "lake", "-o", "json", **properties)
    assert (done.returncode, json.loads(done.stdout)["name"]) == (0, "main")


def test_what_is_not_there_is_one_line(tmp_path: Path) -> None:
    configured(tmp_path, lake=tables.sqlite(tmp_path).properties)
    for name in ("db.nothing", "nowhere.orders"):
        done = run(tmp_path, "files", "--catalog", "lake", name)
        assert (done.returncode, done.stderr) == (1, f"error: the catalog has no table {name}\n")
    done = run(tmp_path, "files", "--catalog", "other", "db.orders")
    assert done.returncode == 2
    assert done.stderr.count("\n") == 1
    assert "has no catalog 'other'; there are lake" in done.stderr
    done = run(tmp_path, "files", "--catalog", "lake", "orders")
    assert (done.returncode, done.stderr.count("\n")) == (1, 1)
    assert "called by namespace and name, such as db.orders" in done.stderr


def test_a_catalog_that_cannot_be_reached_keeps_its_password(tmp_path: Path) -> None:
    uri = f"odd://user:{tables.catalog_files.SECRET}@host/db"
    configured(tmp_path, lake={"uri": uri}, sql={"uri": uri, "type": "sql"})
    for name in ("lake", "sql"):
        done = run(tmp_path, "files", "--catalog", name, "db.orders")
        assert done.returncode == 2
        assert "host/db" in done.stderr or "odd" in done.stderr
        assert tables.catalog_files.SECRET not in done.stderr


def test_a_configuration_that_cannot_be_read_is_one_line(tmp_path: Path) -> None:
    (tmp_path / ".pyiceberg.yaml").write_text("catalog: {}")
    done = run(tmp_path, "files", "--catalog", "lake", "db.orders")
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)


def test_what_pyiceberg_lacks_is_said(tmp_path: Path) -> None:
    configured(tmp_path, lake={"type": "sql", "uri": "sqlite://"})
    (tmp_path / "sqlalchemy.py").write_text("raise ImportError\n")
    path = os.pathsep.join([str(tmp_path), str(Path(__file__).parent)])
    done = run(tmp_path, "files", "--catalog", "lake", "db.orders", PYTHONPATH=path)
    assert (done.returncode, done.stderr.count("\n")) == (1, 1)
    assert "PyIceberg lacks what the catalog 'lake' needs: " in done.stderr


def test_without_pyiceberg_it_is_said_how_to_get_it(tmp_path: Path) -> None:
    (tmp_path / "pyiceberg.py").write_text("raise ImportError\n")
    done = run(tmp_path, "files", "--catalog", "lake", "db.orders", PYTHONPATH=str(tmp_path))
    assert done.returncode == 1
    assert "pip install 'lakebed[catalogs]'" in done.stderr
