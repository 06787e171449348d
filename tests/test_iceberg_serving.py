"""`lakebed serve-plans`: what it answers over HTTP, and what PyIceberg's client reads through it."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from command_line import configure_catalogs
from iceberg_commits import files
from planned_parts import SECRET, in_parts, whole

import lakebed
from lakebed.errors import LimitError, PlanNotFoundError, PredicateError
from lakebed.iceberg import Planner, SubmittedPlans, error_answer

tables = pytest.importorskip("catalog_tables")
rest = pytest.importorskip("pyiceberg.catalog.rest")
servers = pytest.importorskip("plan_server")
asked, served = servers.asked, servers.served

ORDERS = "/v1/namespaces/db/tables/orders"
EMEA = {"filter": {"type": "eq", "term": "region", "value": "emea"}}


@pytest.fixture(scope="module")
def lake(tmp_path_factory: pytest.TempPathFactory) -> tuple[Any, Any]:
    """A catalog with a table of five appends, of a file in each partition."""
    catalog, table = tables.lake(tmp_path_factory.mktemp("serving"), commits=5)
    catalog.create_namespace(("db", "inner"))
    return catalog, table


@pytest.fixture(scope="module")
def url(lake: tuple[Any, Any]) -> Iterator[str]:
    with served(lake[0], in_parts(2, 3)) as address:
        yield address


def test_a_client_is_told_what_there_is(url: str, lake: tuple[Any, Any]) -> None:
    status, config = asked(f"{url}/v1/config?warehouse=any")
    assert (status, config["defaults"], config["overrides"]) == (200, {"scan-planning-mode": "server"}, {})
    table = "/v1/{prefix}/namespaces/{namespace}/tables/{table}"
    assert sorted(config["endpoints"]) == sorted(
        [
            "GET /v1/{prefix}/namespaces",
            "GET /v1/{prefix}/namespaces/{namespace}",
            "HEAD /v1/{prefix}/namespaces/{namespace}",
            "GET /v1/{prefix}/namespaces/{namespace}/tables",
            *(f"{method} {table}" for method in ("GET", "HEAD")),
            *(f"POST {table}/{what}" for what in ("plan", "tasks")),
            *(f"{method} {table}/plan/{{plan-id}}" for method in ("GET", "DELETE")),
        ]
    )
    assert asked(f"{url}/v1/namespaces") == (200, {"namespaces": [["db"]]})
    assert asked(f"{url}/v1/namespaces?parent=db") == (200, {"namespaces": [["db", "inner"]]})
    assert asked(f"{url}/v1/namespaces/db")[1]["namespace"] == ["db"]
    assert asked(f"{url}/v1/namespaces/db%1Finner/tables") == (200, {"identifiers": []})
    assert asked(f"{url}/v1/namespaces/db/tables") == (
        200,
        {"identifiers": [{"namespace": ["db"], "name": "orders"}]},
    )
    assert asked(url + ORDERS, method="HEAD") == (200, None)
    status, loaded = asked(url + ORDERS)
    there = lake[0].load_table("db.orders")
    assert (status, loaded["metadata-location"]) == (200, there.metadata_location)
    assert loaded["metadata"] == json.loads(Path(there.metadata_location.removeprefix("file://")).read_text())
    assert loaded["config"] == {"scan-planning-mode": "server"}


@pytest.mark.parametrize(
    ("method", "path", "body", "status", "kind"),
    [
        ("GET", "/v1/namespaces/none", None, 404, "NoSuchNamespaceException"),
        ("GET", "/v1/namespaces/none/tables", None, 404, "NoSuchNamespaceException"),
        ("GET", "/v1/namespaces/db/tables/none", None, 404, "NoSuchTableException"),
        ("POST", "/v1/namespaces/db/tables/none/plan", {}, 404, "NoSuchTableException"),
        ("POST", f"{ORDERS}/plan", b"{", 400, "BadRequestException"),
        ("POST", f"{ORDERS}/plan", b"[" * 100_000, 400, "BadRequestException"),
        ("POST", f"{ORDERS}/plan", b'"' + b"x" * (17 << 20), 400, "BadRequestException"),
        ("POST", f"{ORDERS}/plan", [], 400, "BadRequestException"),
        ("POST", f"{ORDERS}/plan", {"snapshot-id": 1}, 400, "BadRequestException"),
        ("POST", f"{ORDERS}/plan", {"filter": {"type": "eq", "term": "x", "value": 1}}, 400, "BadRequest…"),
        ("POST", f"{ORDERS}/plan", {"stats-fields": ["x"]}, 400, "BadRequestException"),
        ("POST", f"{ORDERS}/plan", {"snapshot-id": 1, "start-snapshot-id": 2}, 400, "BadRequestException"),
        ("POST", f"{ORDERS}/tasks", {"plan-task": "x"}, 404, "NoSuchPlanTaskException"),
        ("POST", f"{ORDERS}/tasks", {}, 400, "BadRequestException"),
        ("GET", f"{ORDERS}/plan/x", None, 404, "NoSuchPlanIdException"),
        ("DELETE", f"{ORDERS}/plan/x", None, 404, "NoSuchPlanIdException"),
        ("POST", "/v1/namespaces/db/tables", {}, 406, "UnsupportedOperationException"),
        ("DELETE", ORDERS, None, 406, "UnsupportedOperationException"),
        ("GET", "/v1/namespaces/db/views", None, 406, "UnsupportedOperationException"),
        ("POST", "/v1/oauth/tokens", {}, 406, "UnsupportedOperationException"),
    ],
)
def test_errors_are_those_of_the_specification(
    url: str, method: str, path: str, body: Any, status: int, kind: str
) -> None:
    code, answer = asked(url + path, body, method)
    assert (code, answer["error"]["code"]) == (status, status)
    assert answer["error"]["type"].startswith(kind.rstrip("…"))
    assert answer["error"]["message"]


def test_parts_are_those_of_the_planner(url: str, lake: tuple[Any, Any]) -> None:
    table = lakebed.open_table(lake[1].refresh())
    status, answer = asked(f"{url}{ORDERS}/plan", EMEA)
    assert (status, answer["status"], len(answer["plan-tasks"])) == (200, "completed", 3)
    assert asked(f"{url}{ORDERS}/plan/{answer['plan-id']}", method="DELETE") == (204, None)
    task = answer["plan-tasks"][0]
    planner = in_parts(2, 3)
    assert asked(f"{url}{ORDERS}/tasks", {"plan-task": task}) == (
        200,
        planner.fetch(table, {"plan-task": task}),
    )


@pytest.mark.parametrize("filter", ["True", "region == 'emea'", "id > 1 and region != 'apac'"])
def test_pyiceberg_reads_the_same_rows(url: str, lake: tuple[Any, Any], filter: str) -> None:
    there = rest.RestCatalog("there", uri=url)
    assert there.supports_server_side_planning()
    row_filter = "id is null or id is not null" if filter == "True" else filter
    read, own = (
        table.scan(row_filter=row_filter).to_arrow().sort_by([("id", "ascending"), ("region", "ascending")])
        for table in (there.load_table("db.orders"), lake[0].load_table("db.orders"))
    )
    assert own.num_rows > 0
    assert read.equals(own)
    there.close()


def test_a_plan_is_fetched_later(lake: tuple[Any, Any]) -> None:
    with served(lake[0], whole(), wait=0) as url:
        status, submitted = asked(f"{url}{ORDERS}/plan", EMEA)
        assert (status, submitted["status"]) == (200, "submitted")
        where = f"{url}{ORDERS}/plan/{submitted['plan-id']}"
        deadline = time.monotonic() + 60
        while (answer := asked(where))[1]["status"] == "submitted":
            assert time.monotonic() < deadline
        assert answer[1]["status"] == "completed"
        assert len(answer[1]["file-scan-tasks"]) == 5
        assert asked(where, method="DELETE") == (204, None)
        assert asked(where) == (200, {"status": "cancelled"})
        # A plan that fails says why, where it is asked for.
        _, submitted = asked(f"{url}{ORDERS}/plan", {"snapshot-id": 1})
        where = f"{url}{ORDERS}/plan/{submitted['plan-id']}"
        while (answer := asked(where))[1]["status"] == "submitted":
            assert time.monotonic() < deadline
        assert answer[1]["status"] == "failed"
        assert answer[1]["error"]["code"] == 400


class Slow(Planner):
    """A planner that plans when it is told to."""

    def told(self, until: threading.Event) -> Slow:
        object.__setattr__(self, "until", until)
        return self

    def plan_text(self, *given: Any) -> str:
        assert self.until.wait(60)  # type: ignore[attr-defined]
        return super().plan_text(*given)


@pytest.fixture
def opened(tmp_path: Path) -> lakebed.Table:
    made = lakebed.create_table(tmp_path / "t", pa.schema([("id", pa.int64())]), "iceberg")
    return made.append_files(files("a"))


def test_plans_are_bounded_and_cancelled(opened: lakebed.Table) -> None:
    until = threading.Event()
    with SubmittedPlans(Slow(SECRET).told(until), workers=1, most=2) as plans:
        first, second = (json.loads(plans.plan(opened, {}, 0))["plan-id"] for _ in range(2))
        with pytest.raises(LimitError, match="2 plans are under way") as caught:
            plans.plan(opened, {}, 0)
        assert error_answer(caught.value)[0] == 503
        assert json.loads(plans.poll(opened, first)) == {"status": "submitted"}
        plans.cancel(opened, first)
        plans.cancel(opened, second)
        assert json.loads(plans.poll(opened, first)) == {"status": "cancelled"}
        until.set()
    assert json.loads(plans.poll(opened, first)) == {"status": "cancelled"}
    # One that is of this secret and not kept needs no cancelling, and has no answer.
    plans.cancel(opened, plans.planner.new_plan_id(opened))
    with pytest.raises(PlanNotFoundError, match="is not kept"):
        plans.poll(opened, plans.planner.new_plan_id(opened))


def test_plans_that_nobody_fetches_are_dropped(opened: lakebed.Table) -> None:
    with SubmittedPlans(whole(), most=1, max_age=timedelta(0)) as plans:
        for _ in range(3):
            plan_id = json.loads(plans.plan(opened, {}, 0)).get("plan-id")
        with pytest.raises(PlanNotFoundError):
            plans.poll(opened, plan_id)
    with SubmittedPlans(whole(), most=1) as plans:
        # What was answered at once is not kept.
        for _ in range(3):
            assert json.loads(plans.plan(opened, {}, 60))["status"] == "completed"
        with pytest.raises(PredicateError):
            plans.plan(opened, {"filter": {"type": "eq", "term": "x", "value": 1}}, 60)
        assert json.loads(plans.plan(opened, {}, 60))["status"] == "completed"


def test_what_breaks_is_not_shown(lake: tuple[Any, Any]) -> None:
    def broken(_: Any) -> lakebed.Table:
        raise RuntimeError("s3://key:secret@bucket")

    with served(lake[0], whole(), open_table=broken) as url:
        status, answer = asked(f"{url}{ORDERS}/plan", {})
    assert (status, answer["error"]["type"]) == (500, "ServiceFailureException")
    assert answer["error"]["message"] == "the server failed: RuntimeError"


def test_storage_that_fails_is_of_the_server() -> None:
    assert error_answer(OSError(5, "Input/output error"))[0] == 500
    assert error_answer(TimeoutError(110, "Connection timed out"))[0] == 503


@pytest.fixture
def run(lake: tuple[Any, Any], tmp_path: Path) -> Iterator[Callable[..., subprocess.Popen[str]]]:
    """Starts the command with the catalog `lake` in PyIceberg's configuration."""
    properties = {name: lake[0].properties[name] for name in ("uri", "warehouse")}
    configure_catalogs(tmp_path, lake={"type": "sql", **properties})

    begun: list[subprocess.Popen[str]] = []

    def started(*words: str, **environment: str) -> subprocess.Popen[str]:
        process = subprocess.Popen(
            [sys.executable, "-m", "lakebed", "serve-plans", *words],
            env={**os.environ, "PYICEBERG_HOME": str(tmp_path), **environment},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        begun.append(process)
        return process

    yield started
    for process in begun:
        process.kill()
        process.communicate()


def test_the_command_serves_until_it_is_ended(
    run: Callable[..., subprocess.Popen[str]], lake: tuple[Any, Any]
) -> None:
    secret = "a secret of the tests"
    words = ("lake", "--port", "0", "--tasks-per-part", "1", "--secret-env", "OUR_SECRET")
    server = run(*words, OUR_SECRET=secret)
    assert server.stdout is not None
    address = server.stdout.readline().strip()
    assert address.startswith("http://127.0.0.1:")
    _, answer = asked(f"{address}{ORDERS}/plan", EMEA)
    server.send_signal(signal.SIGINT)
    left = server.communicate(timeout=60)
    # Another process with the secret answers its parts.
    table, other = lakebed.open_table(lake[1].refresh()), Planner(secret.encode())
    parts = [other.fetch(table, {"plan-task": task}) for task in answer["plan-tasks"]]
    assert sum(len(part["file-scan-tasks"]) for part in parts) == 5
    assert secret not in "".join(left)


def test_the_command_is_checked(run: Callable[..., subprocess.Popen[str]], tmp_path: Path) -> None:
    _, said = run("lake", LAKEBED_PLAN_SECRET="short").communicate()
    assert "16 bytes or more" in said
    assert "LAKEBED_PLAN_SECRET" in said
    _, said = run("other").communicate()
    assert "no catalog 'other'" in said
    (tmp_path / "uvicorn.py").write_text("raise ModuleNotFoundError(name='uvicorn')\n")
    path = os.pathsep.join([str(tmp_path), os.environ.get("PYTHONPATH", "")])
    _, said = run("lake", PYTHONPATH=path).communicate()
    assert "pip install 'lakebed[serve]'" in said
