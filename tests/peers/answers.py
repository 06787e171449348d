"""What engines answered of the golden tables, and how often lakebed's answer is equal: tables, in Markdown.

Usage: python tests/peers/answers.py runs the tests that ask (in their long form), stores their outcomes in
`tests/data/answers.json` and puts the tables into `docs/answers.md`. With `--stored` it makes the tables of
what is stored.
"""

from __future__ import annotations

import argparse
import json
import os
from collections import Counter
from datetime import datetime, timezone
from pathlib import Path
from typing import Any, NamedTuple

PROJECT = Path(__file__).resolve().parent.parent.parent
STORED = PROJECT / "tests" / "data" / "answers.json"
PAGE = PROJECT / "docs" / "answers.md"
_BEGIN, _END = "<!-- by tests/peers/answers.py -->", "<!-- end -->"


class Question(NamedTuple):
    """What is asked of each table, snapshot or filter; which view answers, and which test compares."""

    engine: str
    asked: str
    view: str
    test: str


_PAIMON, _ICEBERG = "Paimon Java", "Iceberg Java"
# Of each file of tests: the test, what is asked, and by which view. Names are without `test_`.
_ASKED = {
    (_PAIMON, "paimon_golden"): (
        ("manifest_lists", "records of manifest lists", "`read_manifest_list`"),
        ("manifests", "entries of manifests", "`read_manifest`"),
        ("rows_inside_manifests", "partitions, keys and statistics in entries", "`decode_rows`"),
    ),
    (_PAIMON, "paimon_golden_views"): (
        ("live_files", "live files and rows of every snapshot, tag and branch", "`files()`"),
        ("files_are_those_of_the_engines_own_view", "`$files`", "`files()`"),
        (
            "partitions_and_statistics",
            "partitions and statistics with the columns' types",
            "`entries()`, `files()`",
        ),
    ),
    (_PAIMON, "paimon_system_tables"): (("system_table", "system tables, each", "`metadata_table(…)`"),),
    (_PAIMON, "paimon_plans"): (
        ("plans_are_those_of_the_engine", "plans, a table or branch with all its filters", "`plan(where=…)`"),
    ),
    (_ICEBERG, "iceberg_golden"): (
        ("entries", "entries of manifests", "`entries()`"),
        ("files", "live files", "`files()`"),
        ("deletes", "deletes", "`deletes()`"),
        ("statistics", "statistics with the columns' types", "`stats=[…]`"),
        ("manifests", "manifests", "`manifests()`"),
        ("partitions", "partitions", "`partitions()`"),
    ),
    (_ICEBERG, "iceberg_system_tables"): (
        ("metadata_tables", "metadata tables, each", "`metadata_table(…)`"),
    ),
    (_ICEBERG, "iceberg_plans"): (
        (
            "the_files_and_their_deletes_are_those_of_the_engine",
            "plans: files, and the deletes of each",
            "`plan()`",
        ),
    ),
}
QUESTIONS = [
    Question(engine, asked, view, f"test_{file}.py::test_{test}")
    for (engine, file), asking in _ASKED.items()
    for test, asked, view in asking
]


class Outcomes:
    """A plugin of pytest that counts what became of each test."""

    def __init__(self) -> None:
        self.counts: dict[str, Counter[str]] = {}

    def pytest_runtest_logreport(self, report: Any) -> None:
        """Counts a test once: by its call, or where that did not come by what its set-up came to."""
        if report.when == "call" or (report.when == "setup" and not report.passed):
            name = report.nodeid.partition("[")[0].rpartition("/")[2]
            self.counts.setdefault(name, Counter())[report.outcome] += 1


def ask() -> dict[str, Any]:
    """Runs the tests: the date, and of each question how many answers there are and how many are equal."""
    import pytest

    outcomes = Outcomes()
    tests = [str(PROJECT / "tests" / question.test) for question in QUESTIONS]
    pytest.main(["-q", "-p", "no:cacheprovider", *tests], plugins=[outcomes])
    found = {}
    for question in QUESTIONS:
        counts = outcomes.counts.get(question.test, Counter())
        # Skipped are tables of which the engine has no answer of the kind.
        found[question.test] = {"asked": counts["passed"] + counts["failed"], "equal": counts["passed"]}
    return {"date": str(datetime.now(timezone.utc).date()), "answers": found}


def tables(stored: dict[str, Any]) -> str:
    """The tables of these outcomes, one for each engine."""
    lines = [f"{stored['date']}.", ""]
    for engine in dict.fromkeys(question.engine for question in QUESTIONS):
        lines += [f"| {engine} answers | lakebed | asked | equal |", "|---|---|---:|---:|"]
        for question in QUESTIONS:
            if question.engine == engine:
                answers = stored["answers"][question.test]
                lines.append(
                    f"| {question.asked} | {question.view} | {answers['asked']} | {answers['equal']} |"
                )
        lines.append("")
    return "\n".join(lines)


def page(stored: dict[str, Any], text: str) -> str:
    """The page with the tables of these outcomes."""
    before, _, rest = text.partition(_BEGIN)
    _, _, after = rest.partition(_END)
    return f"{before}{_BEGIN}\n{tables(stored)}{_END}{after}"


def main() -> None:
    """Asks, unless what is stored is enough, and writes the page."""
    made = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else None)
    made.add_argument("--stored", action="store_true", help="make the tables of tests/data/answers.json")
    if not made.parse_args().stored:
        os.environ["LAKEBED_TRUST"] = "1"
        STORED.write_text(json.dumps(ask(), indent=1) + "\n", "utf-8")
    stored = json.loads(STORED.read_text("utf-8"))
    PAGE.write_text(page(stored, PAGE.read_text("utf-8")), "utf-8")


if __name__ == "__main__":
    main()
