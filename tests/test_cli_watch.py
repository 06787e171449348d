"""`--watch` on a terminal: each page at the newest snapshot, until an interrupt."""

from __future__ import annotations

import os
import pty
import re
import select
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from command_line import complaint

from shared_data import SAMPLE_TABLE

_LEFT = "\x1b[?1049l"


class Watch:
    """A command on a terminal of its own."""

    def __init__(self, *words: object, lines: int = 60) -> None:
        self._terminal, child = pty.openpty()
        environment = {**os.environ, "TERM": "xterm", "LINES": str(lines), "COLUMNS": "80"}
        command = [sys.executable, "-m", "lakebed", *map(str, words)]
        self.process = subprocess.Popen(command, stdin=child, stdout=child, stderr=child, env=environment)
        os.close(child)
        self.text = ""

    def until(self, pattern: str) -> None:
        """Reads on until something is printed."""
        deadline, start = time.monotonic() + 120, len(self.text)
        while not re.search(pattern, self.text[start:]):
            assert time.monotonic() < deadline, self.text[start:]
            if select.select([self._terminal], [], [], 1)[0]:
                self.text += os.read(self._terminal, 65536).decode(errors="replace")

    def end(self) -> int:
        """Interrupts it: its exit code."""
        self.process.send_signal(signal.SIGINT)
        self.until(re.escape(_LEFT))
        return self.process.wait(60)


@pytest.fixture
def table(tmp_path: Path) -> Path:
    """A table whose last snapshot is still to be committed."""
    folder = Path(shutil.copytree(SAMPLE_TABLE, tmp_path / "orders"))
    (folder / "snapshot" / "snapshot-10").rename(tmp_path / "snapshot-10")
    (folder / "snapshot" / "LATEST").write_text("9")
    return folder


@pytest.mark.parametrize(
    ("words", "before", "after"),
    [
        (("show",), r"snapshot\S* +\S*9\b", r"snapshot\S* +\S*10\b"),
        (("health",), r"snapshot_count\S* +\S*9\b", r"snapshot_count\S* +\S*10\b"),
        (("snapshots", "--columns", "snapshot_id", "--sort", "-snapshot_id"), r"\b9\b", r"\b10\b"),
        (("files", "--explain"), r"28 of 72", r"34 of 78"),
    ],
)
def test_each_page_is_of_the_newest_snapshot(
    table: Path, words: tuple[str, ...], before: str, after: str
) -> None:
    command, *options = words
    watch = Watch(command, table, *options, "--watch", "0.2")
    watch.until(f"(?s){before}.*Ctrl-C ends it")
    assert "every 0.2 s" in watch.text
    (table.parent / "snapshot-10").rename(table / "snapshot" / "snapshot-10")
    (table / "snapshot" / "LATEST").write_text("10")
    watch.until(f"(?s){after}.*Ctrl-C ends it")
    # A table that is not there for a while is a line.
    table.rename(table.parent / "away")
    watch.until(r"error: [^\n]*orders.*\n")
    (table.parent / "away").rename(table)
    watch.until(f"(?s){after}.*Ctrl-C ends it")
    assert watch.end() == 130


def test_a_table_that_is_not_there_is_an_error_at_once(tmp_path: Path) -> None:
    watch = Watch("show", tmp_path / "none", "--watch", "1")
    watch.until("error: ")
    assert watch.process.wait(60) == 1
    assert _LEFT not in watch.text


def test_a_long_page_is_cut() -> None:
    watch = Watch("health", SAMPLE_TABLE, "--watch", "5", lines=20)
    watch.until(r"Ctrl-C ends it")
    page = watch.text.rpartition("\x1b[H\x1b[J")[2].splitlines()
    assert len(page) == 20
    assert re.match(r"… \d\d more lines", page[18])
    assert watch.end() == 130


@pytest.mark.parametrize("words", [(), ("-o", "json"), ("--output-file", "rows")])
def test_it_is_for_terminals(words: tuple[str, ...]) -> None:
    line = complaint("files", SAMPLE_TABLE, "--watch", "1", *words, code=2)
    assert line.startswith("error: --watch is for a terminal")
