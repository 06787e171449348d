"""A REST catalog of `lakebed.iceberg.serving` in a thread of the test's process."""

from __future__ import annotations

import json
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import SimpleNamespace
from typing import Any

import pytest
from planned_parts import SECRET

import lakebed
from iceberg_golden import GoldenTable
from lakebed.iceberg import Planner

uvicorn = pytest.importorskip("uvicorn")
serving = pytest.importorskip("lakebed.iceberg.serving")


@contextmanager
def served(catalog: Any, planner: Planner | None = None, **options: Any) -> Iterator[str]:
    """The address of a server in front of a catalog."""
    app = serving.app(catalog, planner or Planner(SECRET), **options)
    config = uvicorn.Config(app, "127.0.0.1", 0, log_level="error", lifespan="on")
    server, listening = uvicorn.Server(config), config.bind_socket()
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]})
    thread.start()
    while not server.started:
        assert thread.is_alive()
        time.sleep(0.01)
    try:
        yield f"http://127.0.0.1:{listening.getsockname()[1]}"
    finally:
        server.should_exit = True
        thread.join()
        listening.close()


class GoldenCatalog:
    """A catalog of PyIceberg's shape that has one golden table, where it was written: `golden.t`."""

    def __init__(self, table: GoldenTable) -> None:
        self.golden = table

    def load_table(self, name: tuple[str, ...]) -> Any:
        assert name == ("golden", "t")
        path = self.golden.path / self.golden.info["metadata_file"]
        files = SimpleNamespace(new_input=lambda _: SimpleNamespace(open=lambda: path.open("rb")))
        return SimpleNamespace(io=files, metadata_location=str(path))

    def opener(self) -> Callable[[Any], lakebed.Table]:
        opened = self.golden.open()
        return lambda _: opened


def asked(url: str, body: Any = None, method: str | None = None) -> tuple[int, Any]:
    """The status and the JSON of an answer; a body is posted."""
    data = None if body is None else body if isinstance(body, bytes) else json.dumps(body).encode()
    request = urllib.request.Request(url, data, {"Content-Type": "application/json"}, method=method)
    try:
        with urllib.request.urlopen(request) as answer:
            status, text = answer.status, answer.read()
    except urllib.error.HTTPError as error:
        with error:
            status, text = error.code, error.read()
    return status, json.loads(text) if text else None
