"""The benchmark of planning: its protocol, wrong answers that it finds out, and other ends that it names."""

from __future__ import annotations

import json
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from trust import not_in_check

RUN = Path(__file__).resolve().parents[1] / "benches" / "planning" / "run.py"
RIGHT = "print(json.dumps({'files': FILES, 'seconds': 0.5}))"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("planning")


def bench(folder: Path, *options: object) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, RUN, "--folder", folder, "--files", "100", "--rounds", "1", *options]
    return subprocess.run(list(map(str, command)), capture_output=True, text=True, timeout=280)


def rows(shown: str) -> list[dict[str, str]]:
    header, _, *found = [line.split("|")[1:-1] for line in shown.splitlines() if line.startswith("|")]
    names = [cell.strip() for cell in header]
    return [dict(zip(names, (cell.strip() for cell in row), strict=True)) for row in found]


def program(folder: Path, name: str, body: str) -> str:
    """A reader whose answer is `body`, as an option."""
    path = folder / f"{name}.py"
    version = """if sys.argv[1] == "--version":\n    sys.exit(print('{"version": "1"}'))\n"""
    path.write_text(
        f"import json, sys, time\n{version}TABLE, FORMAT, TASK = sys.argv[1:]\nFILES = 100\n{body}\n"
    )
    return f"{name}={sys.executable} {path}"


@pytest.mark.parametrize(
    ("library", "table"), [("pyiceberg", "iceberg-deletes"), ("pypaimon", "paimon-keys")]
)
@not_in_check
def test_readers_in_python_find_what_was_written(library: str, table: str, folder: Path):
    pytest.importorskip(library)
    readers = ("lakebed", library, f"{library}+lakebed")
    file = folder / f"{table}.jsonl"
    chosen = ("--tables", table, "--readers", ",".join(readers), "--rounds", 0)
    done = bench(folder, *chosen, "--json", file)
    assert done.returncode == 0, done.stdout + done.stderr
    found = rows(done.stdout)
    tasks = ("plan", "partition", "bounds", "files", "first")
    assert [(row["task"], row["reader"]) for row in found] == [
        (task, one) for task in tasks for one in readers
    ]
    for row in found:
        assert float(row["seconds"]) >= 0, done.stdout
        assert float(row["processor s"]) > 0
        assert float(row["peak MB"]) > 10
    lines = [json.loads(line) for line in file.read_text().splitlines()]
    assert len(lines) == len(found)
    answers: dict[str, list[dict[str, Any]]] = {}
    for line in lines:
        assert line["answer"].pop("seconds") <= line["elapsed"]
        del line["answer"]["version"]
        answers.setdefault(line["task"], []).append(line["answer"])
    assert {task: of[0]["files"] for task, of in answers.items()} | {"bounds": 1} == {
        **dict.fromkeys(("plan", "files"), 100),
        "partition": 10,
        "bounds": 1,
        "first": 1,
    }
    # lakebed's first file is told with its rows.
    assert all(one == of[0] for task, of in answers.items() if task != "first" for one in of)
    picture = ElementTree.parse(folder / "planning.svg").getroot()
    assert picture.tag == "{http://www.w3.org/2000/svg}svg"
    shown = ["".join(text.itertext()) for text in picture.iter("{http://www.w3.org/2000/svg}text")]
    assert set(shown) >= {f"{table}, 100 files", *tasks, *readers}
    assert (folder / "planning.md").read_text() == done.stdout.rstrip("\n") + "\n"


def test_what_readers_end_with_is_said(folder: Path):
    bodies = {
        "right": RIGHT,
        "wrong": "print(json.dumps({'files': FILES, 'rows': 7, 'seconds': 0.5}))",
        "silent": "print(json.dumps({'seconds': 0.5}))",
        "timeless": "print(json.dumps({'files': FILES}))",
        "wordy": "print('loading'); " + RIGHT,
        "no-json": "print('100 files')",
        "nothing": "pass",
        "late": "time.sleep(600)",
        "broken": "sys.exit('it is | broken')",
        "hungry": "raise MemoryError",
        "other": "print(json.dumps({'cannot': 'it plans <nothing>'}))",
        "often": "print(json.dumps({'files': FILES, 'seconds': 0.25, 'runs': 6}))",
    }
    given = [word for name, body in bodies.items() for word in ("--reader", program(folder, name, body))]
    absent = folder / "absent.py"
    absent.write_text("""print('{"missing": "pip install absent"}')\n""")
    given += ["--reader", f"absent={sys.executable} {absent}", "--reader", f"nowhere={folder}/nowhere"]
    names = ",".join([*bodies, "absent", "nowhere"])
    file = folder / "ends.jsonl"
    chosen = ("--tables", "iceberg", "--tasks", "plan", "--readers", names, "--json", file)
    done = bench(folder, *chosen, "--timeout", 4, *given)
    # What is not the project's own may be wrong.
    assert done.returncode == 0, done.stderr
    found = {row["reader"]: row for row in rows(done.stdout)}
    seconds = {name: row["seconds"] for name, row in found.items()}
    assert seconds.pop("wrong").startswith("WRONG: rows 7, not ")
    assert seconds == {
        "right": "0.500",
        "silent": "WRONG: it tells seconds",
        "timeless": "WRONG: it tells files",
        "wordy": "0.500",
        "no-json": "answers no JSON: '100 files\\n'",
        "nothing": "answers no JSON: ''",
        "late": "> 4 s",
        "broken": "ended with 1: it is / broken",
        "hungry": "no memory",
        "often": "0.250",
    }
    assert found["often"]["processor s"] == "" != found["right"]["processor s"]
    assert found["often"]["whole s"] == "" != found["right"]["whole s"]
    # Whoever gave an answer is asked for another.
    asked = Counter(json.loads(line)["reader"] for line in file.read_text().splitlines())
    assert asked == {name: 2 if name in ("right", "wordy", "often") else 1 for name in bodies}
    below = [line for line in done.stdout.splitlines() if line.startswith("- ")]
    assert below[0] == "- absent is not installed: pip install absent"
    assert below[1].startswith("- nowhere is not installed: does not start: ")
    assert below[2:] == [
        "- other has no row of plan: it plans <nothing>",
        *(
            f"- {name} does not tell rows, bytes, deletes, which are not compared"
            for name in ("often", "right", "wordy")
        ),
    ]
    ElementTree.parse(folder / "planning.svg")


def test_a_wrong_answer_of_the_projects_own_reader_is_a_failure(folder: Path):
    wrong = program(folder, "lakebed", "print(json.dumps({'files': 99, 'seconds': 0.5}))")
    done = bench(folder, "--tables", "paimon", "--tasks", "first", "--readers", "lakebed", "--reader", wrong)
    assert done.returncode == 1, done.stderr
    assert [row["seconds"] for row in rows(done.stdout)] == ["WRONG: files 99, not 1"]


@pytest.mark.parametrize(
    ("option", "said"),
    [
        (("--readers", "lakebed,iceberg-rust"), "--readers: no iceberg-rust; there are lakebed, "),
        (("--tasks", "plan,scan"), "--tasks: no scan; there are plan, "),
        (("--tables", "delta"), "--tables: no delta; there are iceberg, "),
        (("--reader", "mine"), "'mine' is not NAME=COMMAND"),
    ],
)
def test_names_that_are_not_known_are_refused(option: tuple[str, str], said: str, folder: Path):
    done = bench(folder, *option)
    assert done.returncode == 2
    assert said in done.stderr
