"""A benchmark of planning: makes tables, runs each reader that is there, prints a table, draws a picture.

`README.md` beside it says how to run it, what is measured, and how to add a reader.
"""

from __future__ import annotations

import argparse
import json
import os
import shlex
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

sys.path.append(str(Path(__file__).resolve().parents[1]))

import suite
from picture import drawn
from process_tree import Watch
from report import machine, markdown

HERE = Path(__file__).resolve().parent
TASKS = ("plan", "partition", "bounds", "files", "first")
TABLES = ("iceberg", "iceberg-deletes", "iceberg-small-manifests", "paimon", "paimon-keys")
"""Those of `tables.py`, which is not imported: what is imported here counts as memory of every reader."""
ENOUGH_SECONDS = 20.0
"""A reader whose first run takes longer has had its only run with it."""
_PREPARING_SECONDS = 1800.0
"""What a reader may take to tell its version: the first time it may fetch what it needs, and compile."""


def _script(name: str, *arguments: str, below: bool = False) -> tuple[str, ...]:
    """A reader of the project in this interpreter, with lakebed below its library or without."""
    setting = ("env", "LAKEBED_BELOW=1") if below else ()
    return (*setting, sys.executable, str(HERE / "readers" / f"with_{name}.py"), *arguments)


READERS = {
    "lakebed": _script("lakebed"),
    "pyiceberg": _script("pyiceberg"),
    "pyiceberg+lakebed": _script("pyiceberg", below=True),
    "iceberg-java": _script("java", "iceberg", "0"),
    "iceberg-java-warm": _script("java", "iceberg", "5"),
    "polars": _script("polars"),
    "duckdb": _script("duckdb"),
    "pypaimon": _script("pypaimon"),
    "pypaimon+lakebed": _script("pypaimon", below=True),
    "paimon-java": _script("java", "paimon", "0"),
    "paimon-java-warm": _script("java", "paimon", "5"),
}
"""The commands of those that come with the project, by name."""


@dataclass
class Run:
    """What one process showed: its answer, or why it gave none."""

    answer: dict[str, Any] = field(default_factory=dict)
    problem: str = ""
    elapsed: float = 0.0
    """From its start to its end [s]."""
    processor: float = 0.0
    """Of it and all its children [s]."""
    peak_bytes: int = 0


def run(command: Sequence[str], timeout: float) -> Run:
    """Runs a reader in a process group of its own, which is ended with it.

    Memory is the highest sum of its processes, sampled, or the peak of the largest where that is more.
    """
    with tempfile.TemporaryFile() as log:
        start = time.perf_counter()
        try:
            process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=log, start_new_session=True)
        except OSError as error:
            return Run(problem=f"does not start: {error}")
        late = threading.Event()

        def end() -> None:
            late.set()
            os.killpg(process.pid, 9)

        timer, watch = threading.Timer(timeout, end), Watch(process.pid)
        timer.start()
        watch.start()
        assert process.stdout is not None
        written = process.stdout.read()
        _, status, used = os.wait4(process.pid, 0)
        timer.cancel()
        process.returncode = os.waitstatus_to_exitcode(status)
        elapsed = time.perf_counter() - start
        watch.stop()
        log.seek(0)
        said = log.read().decode(errors="replace")
    peak = max(watch.peak.get("all", 0), used.ru_maxrss * 1024)
    found = Run({}, "", elapsed, used.ru_utime + used.ru_stime, peak)
    if late.is_set():
        found.problem = f"> {timeout:g} s"
    elif process.returncode != 0:
        found.problem = _ended(process.returncode, said)
    else:
        try:
            found.answer = dict(json.loads(written.decode().splitlines()[-1]))
        except (ValueError, IndexError, TypeError):
            found.problem = f"answers no JSON: {written[-80:].decode(errors='replace')!r}"
    return found


def _ended(code: int, said: str) -> str:
    """Why a process gave no answer."""
    lines = [line for line in said.splitlines() if line.strip()]
    if code == -9 or any(
        word in said for word in ("OutOfMemoryError", "MemoryError", "memory allocation of")
    ):
        return "no memory"
    return f"ended with {code}: {lines[-1].strip()[:60] if lines else ''}"


def checked(found: Run, expected: Mapping[str, int]) -> Run:
    """The run, with a problem if what it tells is not what the table has."""
    if not found.problem and "cannot" not in found.answer:
        wrong = [
            f"{name} {found.answer[name]:,}, not {right:,}"
            for name, right in expected.items()
            if found.answer.get(name, right) != right
        ]
        if not any(name in found.answer for name in expected) or "seconds" not in found.answer:
            wrong.append(f"it tells {', '.join(found.answer) or 'nothing'}")
        found.problem = f"WRONG: {'; '.join(wrong)}" if wrong else ""
    return found


@dataclass
class Cell:
    """The runs of one reader and task on one table; the first counts only if there is no other."""

    files: int
    table: str
    task: str
    reader: str
    version: str
    expected: Mapping[str, int]
    runs: list[Run] = field(default_factory=list)

    @property
    def problem(self) -> str:
        """That of the first run that had one."""
        return next((one.problem for one in self.runs if one.problem), "")

    @property
    def cannot(self) -> str:
        """Why the reader does not have the task."""
        return next((str(one.answer["cannot"]) for one in self.runs if "cannot" in one.answer), "")

    @property
    def untold(self) -> str:
        """The numbers that were to be compared and that it does not tell."""
        return ", ".join(name for name in self.expected if name not in self.runs[0].answer)

    @property
    def counted(self) -> list[Run]:
        """The runs that count."""
        return self.runs[1:] or self.runs

    @property
    def seconds(self) -> float | None:
        """The median of the task, without the start of the process; None where there is a problem."""
        if self.problem or self.cannot:
            return None
        return statistics.median(float(one.answer["seconds"]) for one in self.counted)

    def more(self) -> bool:
        """Whether another round has a place for it."""
        return not (self.problem or self.cannot) and self.runs[0].elapsed <= ENOUGH_SECONDS


def measured(cells: Sequence[Cell], commands: Mapping[str, Sequence[str]], made: Any, options: Any) -> None:
    """Runs the readers of a table and task in turns: a round that warms the page cache, then the others."""
    for number in range(options.rounds + 1):
        for cell in cells:
            if number == 0 or cell.more():
                suite.progress(
                    f"{cell.table} of {cell.files:,}: {cell.task} by {cell.reader}, round {number}"
                )
                command = (*commands[cell.reader], made["path"], made["format"], cell.task)
                cell.runs.append(checked(run(command, options.timeout), cell.expected))


_HEADER = (
    "files",
    "table",
    "task",
    "reader",
    "version",
    "seconds",
    "x lakebed",
    "whole s",
    "processor s",
    "peak MB",
)


def table_of(cells: Sequence[Cell]) -> str:
    """A row for each reader, task and table; readers that do not have a task have no row."""
    bases = {(cell.table, cell.files, cell.task): cell.seconds for cell in cells if cell.reader == "lakebed"}
    rows: list[tuple[str, ...]] = [_HEADER]
    for cell in cells:
        if cell.cannot:
            continue
        numbers = [cell.problem.replace("|", "/"), "", "", "", ""]
        if cell.seconds is not None:
            base = bases.get((cell.table, cell.files, cell.task))
            peak = statistics.median(one.peak_bytes for one in cell.counted) / 1e6
            numbers = [
                f"{cell.seconds:.3f}",
                f"{cell.seconds / base:.1f}" if base else "",
                "",
                "",
                f"{peak:,.0f}",
            ]
            # Of a process that has done the task more than once, only the last time and memory tell of it.
            if cell.runs[0].answer.get("runs", 1) == 1:
                wholes = ((one.elapsed, one.processor) for one in cell.counted)
                numbers[2:4] = (f"{statistics.median(of):.2f}" for of in zip(*wholes, strict=True))
        rows.append((f"{cell.files:,}", cell.table, cell.task, cell.reader, cell.version, *numbers))
    return markdown(rows, range(1, 5))


def notes(cells: Sequence[Cell], missing: Mapping[str, str]) -> Iterator[str]:
    """What the table does not say: readers that are not there, tasks they do not have, numbers not told."""
    yield from (f"{name} is not installed: {what}" for name, what in missing.items())
    cannot: dict[tuple[str, str], list[str]] = {}
    for cell in cells:
        if cell.cannot:
            cannot.setdefault((cell.reader, cell.cannot), []).append(cell.task)
    for (reader, why), tasks in cannot.items():
        yield f"{reader} has no row of {', '.join(dict.fromkeys(tasks))}: {why}"
    untold = {(cell.reader, cell.untold) for cell in cells if cell.seconds is not None and cell.untold}
    yield from (f"{reader} does not tell {names}, which are not compared" for reader, names in sorted(untold))


def main(arguments: Sequence[str] | None = None) -> int:
    """Returns: 0; 1 if a reader that comes with the project was wrong; 2 for a name that is not known."""
    options = _options(arguments)
    commands = READERS | dict(options.reader)
    chosen = options.readers or tuple(commands)
    known = {
        "--tables": (options.tables, TABLES),
        "--tasks": (options.tasks, TASKS),
        "--readers": (chosen, commands),
    }
    for option, (given, names) in known.items():
        if unknown := [name for name in given if name not in names]:
            sys.stderr.write(f"{option}: no {', '.join(unknown)}; there are {', '.join(names)}\n")
            return 2
    there, missing = _there({name: commands[name] for name in chosen})
    load, cells = os.getloadavg()[0], []
    for files in options.files:
        for table in options.tables:
            made = _made(options.folder, table, files)
            for task in options.tasks:
                of = (files, table, task)
                some = [
                    Cell(*of, name, str(told["version"]), made["expected"][task])
                    for name, told in there.items()
                    if made["format"] in told.get("formats", [made["format"]])
                ]
                measured(some, commands, made, options)
                cells += some
                _write(options, cells, missing, load)
    wrong = [cell for cell in cells if cell.problem.startswith("WRONG") and cell.reader in READERS]
    print(_write(options, cells, missing, load))
    return 1 if wrong else 0


def _there(commands: Mapping[str, Sequence[str]]) -> tuple[dict[str, dict[str, Any]], dict[str, str]]:
    """What the readers that are installed tell of themselves, and what the others lack."""
    there, missing = {}, {}
    for name, command in commands.items():
        suite.progress(f"{name}: is it there?")
        found = run((*command, "--version"), _PREPARING_SECONDS)
        if "version" in found.answer:
            there[name] = found.answer
        else:
            missing[name] = str(found.answer.get("missing") or found.problem or "it tells no version")
    return there, missing


def _made(folder: Path, table: str, files: int) -> dict[str, Any]:
    """As `tables.Made`; by another process, whose memory no reader inherits."""
    suite.progress(f"{table} of {files:,}: the table")
    command = (sys.executable, str(HERE / "tables.py"), str(folder), table, str(files))
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
    made: dict[str, Any] = json.loads(done.stdout)
    return made


def _write(
    options: argparse.Namespace, cells: Sequence[Cell], missing: Mapping[str, str], load: float
) -> str:
    """Table, picture and single runs, as far as they are, in the folder. Returns: the table's document."""
    loads = f"load {load:.1f} before, {os.getloadavg()[0]:.1f} after"
    rounds = f"medians of {options.rounds} rounds" if options.rounds else "one run each"
    heading = f"{machine()}, {loads}, {rounds}"
    lines = "".join(f"- {line}\n" for line in notes(cells, missing))
    text = f"{heading}\n\n{table_of(cells)}\n\n{lines}".rstrip() + "\n"
    (options.folder / "planning.md").write_text(text)
    (options.folder / "planning.svg").write_text(
        drawn(_drawable(cells), f"Seconds, on a logarithmic scale. {heading}")
    )
    if options.json:
        options.json.write_text("".join(f"{json.dumps(line)}\n" for line in _lines(cells)))
    return text


def _drawable(cells: Sequence[Cell]) -> dict[tuple[str, str], dict[str, float | str]]:
    """Seconds or problems of the readers by table and task, of the largest tables."""
    found: dict[tuple[str, str], dict[str, float | str]] = {}
    largest = max(cell.files for cell in cells)
    for cell in cells:
        if cell.files == largest and not cell.cannot:
            seconds = cell.seconds
            of = found.setdefault((f"{cell.table}, {largest:,} files", cell.task), {})
            of[cell.reader] = cell.problem.partition(":")[0] if seconds is None else seconds
    return found


def _lines(cells: Sequence[Cell]) -> Iterator[dict[str, Any]]:
    for cell in cells:
        of = {name: getattr(cell, name) for name in ("files", "table", "task", "reader", "version")}
        for number, one in enumerate(cell.runs):
            numbers = {"elapsed": one.elapsed, "processor": one.processor, "peak_bytes": one.peak_bytes}
            yield {**of, "round": number, "answer": one.answer, "problem": one.problem, **numbers}


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    def numbers(text: str) -> tuple[int, ...]:
        return tuple(int(word) for word in suite.words(text))

    def reader(text: str) -> tuple[str, tuple[str, ...]]:
        name, _, command = text.partition("=")
        if not (name and command):
            raise argparse.ArgumentTypeError(f"{text!r} is not NAME=COMMAND")
        return name, tuple(shlex.split(command))

    def folder(text: str) -> Path:
        path = Path(text).resolve()
        path.mkdir(parents=True, exist_ok=True)
        return path

    made = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else None)
    add: Any = made.add_argument
    add(
        "--files", type=numbers, default=(10_000, 100_000, 1_000_000), help="sizes of tables, comma-separated"
    )
    add("--tables", type=suite.words, default=TABLES, help=f"which of {', '.join(TABLES)}")
    add("--tasks", type=suite.words, default=TASKS, help=f"which of {', '.join(TASKS)}")
    add(
        "--readers",
        type=suite.words,
        default=(),
        help=f"which of {', '.join(READERS)} and of --reader; all of them",
    )
    add(
        "--reader",
        type=reader,
        action="append",
        default=[],
        metavar="NAME=COMMAND",
        help="one more, or another command",
    )
    add("--rounds", type=int, default=3, help="how often each reader is measured")
    add("--timeout", type=float, default=300.0, help="seconds after which a run is ended")
    add(
        "--folder",
        type=folder,
        default=suite.CACHE / "planning",
        help="where tables, picture and results are kept",
    )
    add("--json", type=Path, default=None, help="also write every run there, one JSON object a line")
    return made.parse_args(arguments)


if __name__ == "__main__":
    sys.exit(main())
