"""Interactive shells on a terminal of their own, in which the Tab key is pressed."""

from __future__ import annotations

import os
import pty
import re
import select
import shutil
import signal
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

# How each is started without anyone's files, and the documented line for its own.
SHELLS: dict[str, tuple[list[str], str]] = {
    "bash": (["--norc", "--noprofile", "-i"], 'eval "$(_LAKEBED_COMPLETE=bash_source lakebed)"'),
    "zsh": (
        ["-f", "-i"],
        'autoload -U compinit; compinit -u; eval "$(_LAKEBED_COMPLETE=zsh_source lakebed)"',
    ),
    "fish": (["--no-config", "-i"], "_LAKEBED_COMPLETE=fish_source lakebed | source"),
}
_BEGIN, _END, _TAB, _ENTER = "\x01", "\x05", "\t", "\r"
_DEADLINE = 120


class Shell:
    """A shell that knows the command, in a folder."""

    def __init__(self, name: str, folder: Path, environment: dict[str, str]) -> None:
        program = shutil.which(name)
        if program is None:
            pytest.skip(f"{name} is not installed")
        words, line = SHELLS[name]
        binary = folder / "bin"
        binary.mkdir()
        command = binary / "lakebed"
        command.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m lakebed "$@"\n')
        command.chmod(0o755)
        own = {
            **os.environ,
            "HOME": str(folder),
            "TERM": "dumb" if name != "fish" else "xterm",
            "COLUMNS": "200",
            "PATH": f"{binary}{os.pathsep}{os.environ['PATH']}",
            **environment,
        }
        self.process, self._terminal = pty.fork()
        if self.process == 0:
            os.chdir(folder)
            os.execve(program, [name, *words], own)
        self._read = ""
        self.run(line)

    def run(self, line: str) -> None:
        """Runs a line, and waits until it has ended."""
        self._type(f"{line}{_ENTER}")
        # What is echoed has another text than what is printed.
        self._type(f"echo run''ning{_ENTER}")
        self._until(lambda text: "running" in text)

    def completed(self, line: str) -> str:
        """The line after the Tab key, without the space or slash that shells put after a word."""
        self._read = ""
        self._type(f"{line}{_TAB}")
        # The line becomes an argument, which is printed once the completion is done.
        self._type(f"{_BEGIN}echo '<<''{_END}''>>'{_ENTER}")
        found = self._until(lambda text: re.search(r"<<lakebed [^<]*>>", text))
        whole: str = found[0]
        return whole.removeprefix("<<").removesuffix(">>").rstrip(" /")

    def end(self) -> None:
        """Ends it."""
        os.kill(self.process, signal.SIGKILL)
        os.waitpid(self.process, 0)
        os.close(self._terminal)

    def _type(self, keys: str) -> None:
        os.write(self._terminal, keys.encode())

    def _until(self, found: Callable[[str], Any]) -> Any:
        deadline = time.monotonic() + _DEADLINE
        while not (result := found(self._read)):
            assert time.monotonic() < deadline, f"the shell has not answered: {self._read!r}"
            if select.select([self._terminal], [], [], 1)[0]:
                self._read += os.read(self._terminal, 65536).decode(errors="replace")
        return result
