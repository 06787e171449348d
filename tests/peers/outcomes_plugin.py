"""A plugin of pytest's: puts lakebed below a library, and writes what each test of a run ended with."""

from __future__ import annotations

import importlib
import json
import os
from pathlib import Path
from typing import Any

LIBRARY = os.environ.get("LAKEBED_BELOW")
"""pyiceberg or pypaimon; else the library is left as it is."""
_ended: dict[str, str] = {}


def pytest_configure() -> None:
    """Before the tests are collected."""
    if LIBRARY:
        importlib.import_module(f"lakebed.{LIBRARY}").install()
    if LIBRARY == "pypaimon":
        # Its tests have small files, which lakebed would leave to it.
        columns: Any = importlib.import_module("lakebed.pypaimon.columns")
        columns.SMALL = 0


def pytest_runtest_logreport(report: Any) -> None:
    """A test that fails before or after its call has failed."""
    if report.when == "call" or report.outcome != "passed":
        _ended[report.nodeid] = report.outcome


def pytest_sessionfinish() -> None:
    """To the file that the environment names."""
    counts = {}
    if LIBRARY:
        status = importlib.import_module(f"lakebed.{LIBRARY}").status()
        counts = {"by_lakebed": status.by_lakebed, "own": list(vars(status)[f"by_{LIBRARY}"].items())}
    Path(os.environ["OUTCOMES"]).write_text(json.dumps({"ended": _ended, "counts": counts}), "utf-8")
