"""`--catalog`: tables by their names in the catalogs of PyIceberg's configuration."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import command_line
import pytest
from click.testing import Result
from command_line import configure_catalogs
from interpreters import ran
from trust import not_in_check

import lakebed

Config = pytest.importorskip("pyiceberg.utils.config").Config
tables = pytest.importorskip("catalog_tables")

PLACES = (str(Path(__file__).parent), os.environ.get("PYTHONPATH", ""))
CODE = "import sys; from lakebed.cli import main; main()"


def run(home: Path, *words: str, folder: Path | None = None, **environment: str) -> Result:
    """The command, with the catalogs that files of these folders and the environment name."""
    with pytest.MonkeyPatch.context() as patch:
        for name, value in {"HOME": str(home), "PYICEBERG_HOME": str(home), **environment}.items():
            patch.setenv(name, value)
        patch.chdir(folder or Path())
        # PyIceberg reads its configuration once, when it is imported.
        patch.setattr("pyiceberg.catalog._ENV_CONFIG", Config())
        return command_line.run(*words)


def started(home: Path, *words: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """The command in a process of its own."""
    known = {"HOME": str(home), "PYICEBERG_HOME": str(home), "PYTHONPATH": os.pathsep.join(PLACES)}
    return ran("-c", CODE, *words, environment=known | environment)


@pytest.mark.parametrize("where", ["near", pytest.param("far", marks=not_in_check)])
def test_a_table_is_named_as_in_the_catalog(tmp_path: Path, where: str) -> None:
    catalog = (tables.far if where == "far" else tables.sqlite)(tmp_path)
    there = tables.orders(catalog)
    configure_catalogs(tmp_path, lake=catalog.properties)
    done = started(
        tmp_path, "files", "--catalog", "lake", "db.orders", "-o", "json", "--columns", "file_path"
    )
    assert (done.returncode, done.stderr) == (0, "")
    found = [json.loads(line)["file_path"] for line in done.stdout.splitlines()]
    assert found == lakebed.open_table(there).files().to_arrow()["file_path"].to_pylist()
    first = there.metadata.snapshots[0].snapshot_id
    shown = run(tmp_path, "show", "--catalog", "lake", "db.orders", "--snapshot", str(first), "-o", "json")
    assert (shown.exit_code, str(first) in shown.stdout) == (0, True)


@not_in_check
def test_the_environment_names_catalogs_too(tmp_path: Path) -> None:
    catalog, _ = tables.lake(tmp_path)
    name = "PYICEBERG_CATALOG__LAKE__"
    properties = {f"{name}{key.upper()}": value for key, value in catalog.properties.items()}
    done = run(tmp_path, "refs", "db.orders", "--catalog", "lake", "-o", "json", **properties)
    assert (done.exit_code, json.loads(done.stdout)["name"]) == (0, "main")


def test_what_is_not_there_is_one_line(tmp_path: Path) -> None:
    configure_catalogs(tmp_path, lake=tables.sqlite(tmp_path).properties)
    for name in ("db.nothing", "nowhere.orders"):
        done = run(tmp_path, "files", "--catalog", "lake", name)
        assert (done.exit_code, done.stderr) == (1, f"error: the catalog has no table {name}\n")
    done = run(tmp_path, "files", "--catalog", "other", "db.orders")
    assert done.exit_code == 2
    assert done.stderr.count("\n") == 1
    assert "has no catalog 'other'; there are lake" in done.stderr
    done = run(tmp_path, "files", "--catalog", "lake", "orders")
    assert (done.exit_code, done.stderr.count("\n")) == (1, 1)
    assert "called by namespace and name, such as db.orders" in done.stderr


def test_a_catalog_that_cannot_be_reached_keeps_its_password(tmp_path: Path) -> None:
    uri = f"odd://user:{tables.catalog_files.SECRET}@host/db"
    configure_catalogs(tmp_path, lake={"uri": uri}, sql={"uri": uri, "type": "sql"})
    for name in ("lake", "sql"):
        done = run(tmp_path, "files", "--catalog", name, "db.orders")
        assert done.exit_code == 2
        assert "host/db" in done.stderr or "odd" in done.stderr
        assert tables.catalog_files.SECRET not in done.stderr


def test_a_configuration_that_cannot_be_read_is_one_line(tmp_path: Path) -> None:
    (tmp_path / ".pyiceberg.yaml").write_text("catalog: {}")
    done = started(tmp_path, "files", "--catalog", "lake", "db.orders")
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)


def test_what_pyiceberg_lacks_is_said(tmp_path: Path) -> None:
    configure_catalogs(tmp_path, lake={"type": "sql", "uri": "sqlite://"})
    (tmp_path / "sqlalchemy.py").write_text("raise ImportError\n")
    path = os.pathsep.join([str(tmp_path), str(Path(__file__).parent)])
    done = started(tmp_path, "files", "--catalog", "lake", "db.orders", PYTHONPATH=path)
    assert (done.returncode, done.stderr.count("\n")) == (1, 1)
    assert "PyIceberg lacks what the catalog 'lake' needs: " in done.stderr


def test_without_pyiceberg_it_is_said_how_to_get_it(tmp_path: Path) -> None:
    (tmp_path / "pyiceberg.py").write_text("raise ImportError\n")
    done = started(tmp_path, "files", "--catalog", "lake", "db.orders", PYTHONPATH=str(tmp_path))
    assert done.returncode == 1
    assert "pip install 'lakebed[catalogs]'" in done.stderr


def test_advice_names_the_table_as_its_catalog_does(tmp_path: Path) -> None:
    catalog, _ = tables.lake(tmp_path)
    configure_catalogs(tmp_path, lake=catalog.properties)
    (tmp_path / "lakebed.toml").write_text("[thresholds]\nmanifests = 0\nsnapshots = 0\n")
    named = ("--catalog", "lake", "db.orders")
    environment = {"XDG_CONFIG_HOME": str(tmp_path / "none")}
    for words in (("health", *named), ("show", *named)):
        done = run(tmp_path, *words, folder=tmp_path, **environment)
        assert done.exit_code == 0, done.stderr
        said = done.stdout + done.stderr
        assert "`CALL lake.system.rewrite_manifests(table => 'db.orders')`" in said
        assert "`lakebed expire-plan db.orders --catalog lake " in said
    metrics = run(tmp_path, "health", *named, "db.gone", "-o", "openmetrics", folder=tmp_path)
    assert metrics.exit_code == 1
    assert 'lakebed_up{catalog="lake",namespace="db",table="orders"} 1' in metrics.stdout
    assert 'lakebed_up{catalog="lake",namespace="db",table="gone"} 0' in metrics.stdout
    assert 'table="gone",kind="table-not-found"} 1' in metrics.stdout
    nowhere = run(tmp_path, "health", "--catalog", "other", "db.orders", "-o", "openmetrics", folder=tmp_path)
    assert (nowhere.exit_code, 'kind="catalog"} 1' in nowhere.stdout) == (1, True)


def test_a_report_names_it_so_too(tmp_path: Path) -> None:
    catalog, there = tables.lake(tmp_path)
    with there.transaction() as change:
        change.set_properties({"commit.manifest.min-count-to-merge": "1"})
    page = lakebed.report(lakebed.open_table(catalog.load_table("db.orders")))
    assert "CALL lake.system.rewrite_manifests(table =&gt; &#x27;db.orders&#x27;)" in page
