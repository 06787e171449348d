"""Alert rules, the dashboard and the recipes of `examples/alerts`, by the programs that they are for.

What is not installed is skipped: `make test-recipes` installs Airflow, Dagster and dbt; promtool is in
Debian's package `prometheus`.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from command_line import run
from paimon_real import MadeTable

import lakebed
from shared_data import PROJECT, SAMPLE_TABLE

ALERTS = PROJECT / "examples" / "alerts"
RECIPES = os.environ.get("LAKEBED_RECIPES")
PROMTOOL = shutil.which(os.environ.get("LAKEBED_PROMTOOL", "promtool"))
METRIC = re.compile(r"\blakebed_\w+")


def promtool(*words: object, text: str | None = None) -> subprocess.CompletedProcess[str]:
    if PROMTOOL is None:
        pytest.skip("no promtool, which Debian's package prometheus has")
    return subprocess.run(
        [PROMTOOL, *map(str, words)], input=text, capture_output=True, text=True, check=False
    )


def metrics() -> str:
    """Those of a table that can be read and one that cannot."""
    return run("health", SAMPLE_TABLE, "/no/such", "-o", "openmetrics").stdout


def expressions() -> list[str]:
    """Those of the dashboard."""
    dashboard = json.loads((ALERTS / "dashboard.json").read_text())
    found = [target["expr"] for panel in dashboard["panels"] for target in panel["targets"]]
    return [re.sub(r"\$\w+", "x", expression) for expression in found]


def test_all_metrics_that_are_asked_for_are_written() -> None:
    written = set(METRIC.findall(metrics()))
    asked = {
        name for text in (*expressions(), (ALERTS / "rules.yml").read_text()) for name in METRIC.findall(text)
    }
    assert len(asked) > 8
    assert asked - written == set()


def test_the_dashboard_is_one() -> None:
    dashboard = json.loads((ALERTS / "dashboard.json").read_text())
    panels = dashboard["panels"]
    assert len({panel["id"] for panel in panels}) == len(panels)
    taken: set[tuple[int, int]] = set()
    for panel in panels:
        at = panel["gridPos"]
        cells = {(at["x"] + x, at["y"] + y) for x in range(at["w"]) for y in range(at["h"])}
        assert max(x for x, _ in cells) < 24
        assert not cells & taken, panel["title"]
        taken |= cells
    variables = {variable["name"] for variable in dashboard["templating"]["list"]}
    assert set(re.findall(r"\$\{?(\w+)", json.dumps(panels))) <= variables


def test_promtool_reads_the_metrics() -> None:
    done = promtool("check", "metrics", text=metrics())
    # 1: they are wrong. 3: names may be better; they are those of the columns.
    assert done.returncode in (0, 3), done.stderr
    assert {line for line in done.stderr.splitlines() if '"_count" suffix' not in line} == set()


def test_promtool_takes_the_rules() -> None:
    for words in (("check", "rules", ALERTS / "rules.yml"), ("test", "rules", ALERTS / "rules_test.yml")):
        done = promtool(*words)
        assert done.returncode == 0, done.stdout + done.stderr


def test_promtool_takes_the_expressions_of_the_dashboard(tmp_path: Path) -> None:
    rules = [{"record": f"panel:{i}", "expr": text} for i, text in enumerate(expressions())]
    (tmp_path / "rules.yml").write_text(json.dumps({"groups": [{"name": "panels", "rules": rules}]}))
    done = promtool("check", "rules", tmp_path / "rules.yml")
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.fixture
def sick(tmp_path: Path) -> str:
    """A table with a problem: it says itself that one manifest is enough."""
    made = MadeTable(tmp_path / "shop.db" / "sick")
    made.create({"bucket": "-1", "manifest.merge-min-count": "1"})
    for number in range(2):
        made.now().append_files(made.written("emea", f"a{number}", number))
    assert [one["column"] for one in made.now().health().findings()] == ["small_manifest_count"]
    return str(made.root)


def test_the_script_for_cron(tmp_path: Path, sick: str) -> None:
    command = tmp_path / "bin" / "lakebed"
    command.parent.mkdir()
    command.write_text(f'#!/bin/sh\nexec {sys.executable} -m lakebed "$@"\n')
    command.chmod(0o755)
    environment = os.environ | {"PATH": f"{command.parent}:{os.environ['PATH']}"}
    written = tmp_path / "lakebed.prom"
    for tables, code in (([sick], 0), ([sick, "/no/such"], 1), (["/no/such"], 1)):
        words = [str(ALERTS / "health.sh"), str(written), *tables]
        done = subprocess.run(words, env=environment, capture_output=True, text=True, check=False)
        assert (done.returncode, done.stderr.count("\n")) == (code, code)
        lines = written.read_text().splitlines()
        assert len([line for line in lines if line.startswith("lakebed_up{")]) == len(tables)
        found = [
            line[-1] for line in lines if line.startswith("lakebed_findings{") and "small_manifest" in line
        ]
        assert found == ["1"] * (sick in tables)


def recipe(tool: str, tmp_path: Path) -> tuple[Path, dict[str, str]]:
    """The programs of a scheduler, and an environment in which they find lakebed."""
    if RECIPES is None:
        pytest.skip("no schedulers: make test-recipes installs them")
    programs = Path(RECIPES, tool, "bin")
    place = tmp_path / "packages"
    place.mkdir()
    (place / "lakebed").symlink_to(Path(lakebed.__file__).parent)
    return programs, os.environ | {"PYTHONPATH": str(place)}


def ran(words: list[Any], environment: dict[str, str], folder: Path) -> subprocess.CompletedProcess[str]:
    words = [str(word) for word in words]
    return subprocess.run(words, env=environment, cwd=folder, capture_output=True, text=True, check=False)


def test_the_checks_of_dagster(tmp_path: Path, sick: str) -> None:
    programs, environment = recipe("dagster", tmp_path)
    program = (
        "import json, dagster_checks\n"
        "done = dagster_checks.defs.get_implicit_global_asset_job_def().execute_in_process()\n"
        "(check,) = done.get_asset_check_evaluations()\n"
        "print(json.dumps([check.passed, check.metadata['advice'].value]))\n"
    )
    for table, passes in ((SAMPLE_TABLE, True), (sick, False)):
        done = ran([programs / "python", "-c", program], environment | {"ORDERS": str(table)}, ALERTS)
        assert done.returncode == 0, done.stderr
        passed, advice = json.loads(done.stdout.splitlines()[-1])
        assert (passed, "sys.compact_manifest" in advice) == (passes, not passes)


def test_the_tests_of_dbt(tmp_path: Path, sick: str) -> None:
    programs, environment = recipe("dbt", tmp_path)
    project = shutil.copytree(ALERTS / "dbt", tmp_path / "dbt")
    written = project / "health.parquet"
    assert run("health", SAMPLE_TABLE, sick, "-o", "parquet", "--output-file", written).exit_code == 0
    for small_files, code in ((34, 0), (33, 1)):
        words = [programs / "dbt", "test", "--vars", json.dumps({"small_files": small_files})]
        done = ran(words, environment, project)
        assert done.returncode == code, done.stdout
        assert ("Failure in test few_small_files" in done.stdout) == (code == 1)


def test_the_dag_of_airflow(tmp_path: Path, sick: str) -> None:
    programs, environment = recipe("airflow", tmp_path)
    home = tmp_path / "airflow"
    (home / "dags").mkdir(parents=True)
    shutil.copy(ALERTS / "airflow_dag.py", home / "dags")
    environment |= {"AIRFLOW_HOME": str(home), "AIRFLOW__CORE__LOAD_EXAMPLES": "False"}
    assert ran([programs / "airflow", "db", "migrate"], environment, home).returncode == 0
    for tables, state in (([str(SAMPLE_TABLE)], "success"), ([str(SAMPLE_TABLE), sick], "failed")):
        told = environment | {"AIRFLOW_VAR_LAKE_TABLES": json.dumps(tables)}
        done = ran([programs / "airflow", "dags", "test", "table_health"], told, home)
        said = done.stdout + done.stderr
        assert f"state={state}" in said, said
        assert ("AirflowFailException" in said) == (state == "failed")


def test_the_calls_that_a_dag_of_airflow_types(tmp_path: Path) -> None:
    programs, environment = recipe("airflow", tmp_path)
    home = tmp_path / "airflow"
    (home / "dags").mkdir(parents=True)
    shutil.copy(ALERTS / "airflow_mend.py", home / "dags")
    schema = pa.schema([("id", pa.int64())])
    table = lakebed.create_table(tmp_path / "shop" / "orders", schema, "iceberg")
    for number in range(6):
        rows = pa.table({"id": [number]}, schema=schema)
        table = table.append_files(
            lakebed.describe_file(table, f"data/{number}.parquet", rows, file_size_in_bytes=9)
        )
    environment |= {"AIRFLOW_HOME": str(home), "AIRFLOW__CORE__LOAD_EXAMPLES": "False"}
    environment |= {"AIRFLOW_VAR_LAKE_TABLES": json.dumps([str(SAMPLE_TABLE), str(table.location)])}
    assert ran([programs / "airflow", "db", "migrate"], environment, home).returncode == 0
    done = ran([programs / "airflow", "tasks", "test", "table_mending", "calls"], environment, home)
    assert done.stdout.count("ALTER TABLE shop.orders EXECUTE optimize(") >= 1, done.stdout + done.stderr


def test_pages_show_the_recipes_that_are_run() -> None:
    pages = [PROJECT / "docs" / name for name in ("alerts.md", "how-to/airflow.md")]
    shown = re.findall(
        r"^```\w+ title=\"(examples/alerts/[^\"]+)\"\n(.*?)^```$",
        "\n".join(page.read_text("utf-8") for page in pages),
        re.MULTILINE | re.DOTALL,
    )
    assert {name for name, _ in shown} >= {f"examples/alerts/{path.name}" for path in ALERTS.glob("*.py")}
    assert {Path(name).suffix for name, _ in shown} == {".py", ".sh", ".sql"}
    for name, text in shown:
        assert (PROJECT / name).read_text("utf-8") == text, name
