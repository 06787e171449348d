"""The examples of a document: what is run, and what it prints.

A block of `python` is run. Where a block of `text` follows it directly, that is what it prints. In a block of
`console` lines that begin with `$ ` are commands, the others what a terminal of 84 columns shows of them. A
document's blocks share their names and a folder of their own, in which `examples` is the project's.

Usage: python tests/documents.py docs/jobs.md … puts into the documents what their examples print today.
"""

from __future__ import annotations

import contextlib
import io
import os
import re
import shlex
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple
from unittest import mock

import command_line

from lakebed.cli import health, output, render, views
from shared_data import PROJECT

HOW_TO = ("small-files", "who-wrote", "cost", "delete")
SHOWN = (
    *(f"docs/{name}.md" for name in ("index", "jobs", "history")),
    *(f"docs/how-to/{name}.md" for name in HOW_TO),
)
"""Documents whose examples show what they print."""
COLUMNS = 84
_BLOCK = re.compile(r"^```(python|console)\n(.*?)^```\n(?:\n```text\n(.*?)^```\n)?", re.MULTILINE | re.DOTALL)


class Block(NamedTuple):
    """An example: its language, its lines, where they start, and what is shown of it."""

    language: str
    code: str
    line: int
    shown: str | None


def blocks(text: str) -> Iterator[Block]:
    """The examples of a document, in order."""
    for found in _BLOCK.finditer(text):
        language, code, shown = found.groups()
        yield Block(language, code, text.count("\n", 0, found.start(2)), shown)


@contextlib.contextmanager
def terminal(columns: int) -> Iterator[None]:
    """Commands that run in this process print as to a terminal without colours."""

    class Terminal:
        """A stand-in for `sys` in the modules that ask whether they print to a terminal."""

        def __getattr__(self, name: str) -> Any:
            return self if name == "stdout" else getattr(sys, name)

        def isatty(self) -> bool:
            return True

    with contextlib.ExitStack() as stack:
        for module in (health, output, render, views):
            stack.enter_context(mock.patch.object(module, "sys", Terminal()))
        stack.enter_context(mock.patch.dict(os.environ, {"COLUMNS": str(columns), "NO_COLOR": "1"}))
        yield


@contextlib.contextmanager
def folder() -> Iterator[None]:
    """A folder of the document's own, in which it may write."""
    before = Path.cwd()
    with tempfile.TemporaryDirectory() as path:
        (Path(path) / "examples").symlink_to(PROJECT / "examples")
        os.chdir(path)
        try:
            yield
        finally:
            os.chdir(before)


def printed(text: str, name: str) -> Iterator[tuple[Block, str]]:
    """Runs a document's examples in the current folder: each with what it prints, trimmed."""
    names: dict[str, Any] = {}
    for block in blocks(text):
        if block.language == "console":
            with terminal(COLUMNS):
                lines = [_console(line) for line in block.code.splitlines() if line.startswith("$ ")]
            yield block, "\n".join(lines)
            continue
        out = io.StringIO()
        with contextlib.redirect_stdout(out):
            # On the document's own lines, for tracebacks.
            exec(compile("\n" * block.line + block.code, name, "exec"), names)
        yield block, _trimmed(out.getvalue())


def _console(line: str) -> str:
    program, *words = shlex.split(line.removeprefix("$ "), comments=True)
    assert program == "lakebed", line
    done = command_line.run(*words)
    assert done.exception is None or isinstance(done.exception, SystemExit), (line, done.exception)
    assert done.exit_code < 2, (line, done.stderr)
    return f"{line}\n{_trimmed(done.output)}"


def _trimmed(text: str) -> str:
    lines = [line.rstrip() for line in text.strip("\n").splitlines()]
    return "".join(f"{line}\n" for line in lines)


def filled(text: str, name: str) -> str:
    """The document with what its examples print in the place of what it shows."""
    with folder():
        found = list(printed(text, name))
    results = iter(found)

    def replaced(match: re.Match[str]) -> str:
        block, shows = next(results)
        if block.language == "console":
            return f"```console\n{shows}```\n" + match[0][match.end(2) - match.start(0) + len("```\n") :]
        if block.shown is None:
            return match[0]
        return f"```python\n{block.code}```\n\n```text\n{shows}```\n"

    return _BLOCK.sub(replaced, text)


def main() -> None:
    """Writes the documents that are named, or all that show what they print."""
    for name in sys.argv[1:] or SHOWN:
        path = PROJECT / name
        path.write_text(filled(path.read_text("utf-8"), name), "utf-8")


if __name__ == "__main__":
    main()
