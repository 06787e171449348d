"""What makes docs/peers.md and docs/answers.md: outcomes, and pages that are as the programs make them."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from signal import SIGKILL, SIGSTOP

import pytest
from trust import not_in_check

from shared_data import PROJECT

sys.path.insert(0, str(PROJECT / "tests" / "peers"))

import answers
import table


@pytest.fixture(scope="module", params=["lakebed", "fastavro", table.JAVA])
def reader(request: pytest.FixtureRequest) -> Iterator[table.Reader]:
    found = table.Reader(request.param)
    yield found
    found.close()


@pytest.mark.jvm
@pytest.mark.parametrize("codec", table.CODECS)
def test_outcomes_of_a_whole_and_a_cut_manifest(reader, codec):
    content = table.manifest(codec)
    assert reader.outcome(content) == f"rows {table.ENTRIES}"
    assert reader.outcome(content[:3]) == "refused"


@not_in_check
@pytest.mark.parametrize(("signal", "outcome"), [(SIGSTOP, "hang"), (SIGKILL, "crash")])
def test_a_process_that_waits_or_dies_is_begun_again(monkeypatch, signal, outcome):
    monkeypatch.setattr(table, "SECONDS", 2)
    reader, content = table.Reader("fastavro"), table.manifest("null")
    reader.process.send_signal(signal)
    assert reader.outcome(content) == outcome
    assert reader.outcome(content) == f"rows {table.ENTRIES}"
    reader.close()


def test_the_document_is_where_the_program_puts_its_tables():
    text = (PROJECT / "docs" / "peers.md").read_text("utf-8")
    assert text.count(table._BEGIN) == text.count(table._END) == 1


def test_the_page_of_answers_is_as_the_program_makes_it():
    stored, text = json.loads(answers.STORED.read_text("utf-8")), answers.PAGE.read_text("utf-8")
    assert answers.page(stored, text) == text
    assert list(stored["answers"]) == [question.test for question in answers.QUESTIONS]
    assert all(0 < found["equal"] <= found["asked"] for found in stored["answers"].values())
    equal, asked = (sum(found[kind] for found in stored["answers"].values()) for kind in ("equal", "asked"))
    assert f"{equal:,} of {asked:,}" in (PROJECT / "README.md").read_text("utf-8")


def test_questions_are_tests():
    for question in answers.QUESTIONS:
        file, _, name = question.test.partition("::")
        assert f"def {name}(" in (PROJECT / "tests" / file).read_text("utf-8")
