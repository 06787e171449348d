"""`--watch`: a command that is run again and again, each time on a clean screen."""

from __future__ import annotations

import contextlib
import io
import shutil
import sys
import time
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, NoReturn

import click

from lakebed.cli.failures import Failure, one_line, warnings_as_lines

# Another screen than the one that has the shell's lines, and back; then how one is cleaned, and a line cut.
_ENTER, _LEAVE = "\x1b[?1049h\x1b[?25l", "\x1b[?25h\x1b[?1049l"
_CLEAN, _TO_END = "\x1b[H\x1b[J", "\x1b[0m"


class _Pages(io.TextIOWrapper):
    """What commands print to in the place of a terminal."""

    def __init__(self, bytes_: io.BytesIO, *, is_terminal: bool) -> None:
        super().__init__(bytes_, encoding="utf-8", newline="", write_through=True)
        self._is_terminal = is_terminal

    def isatty(self) -> bool:
        return self._is_terminal


def watched(command: click.Command) -> click.Command:
    """The command with an option `--watch`, which runs it every so many seconds until it is interrupted."""
    run = command.callback
    assert run is not None, command.name

    def callback(*, watch: float | None, **given: Any) -> Any:
        if watch is None:
            return run(**given)
        is_page = given.get("output", "table") == "table" and given.get("output_file") is None
        if not (is_page and sys.stdout.isatty()):
            raise click.UsageError("--watch is for a terminal, and not for -o and --output-file")
        return _again_and_again(partial(run, **given), watch)

    option = click.Option(
        ["--watch"],
        type=click.FloatRange(min=0.1),
        metavar="SECONDS",
        help="On a terminal: show it again every so many seconds, until Ctrl-C.",
    )
    command.params.append(option)
    command.callback = callback
    return command


def _again_and_again(run: Callable[[], Any], seconds: float) -> NoReturn:
    page = _printed(run, is_first=True)
    with _screen():
        while True:
            _show(page, f"every {seconds:g} s, {time.strftime('%H:%M:%S')}; Ctrl-C ends it")
            time.sleep(seconds)
            page = _printed(run, is_first=False)


def _printed(run: Callable[[], Any], *, is_first: bool) -> str:
    """What a run prints. Where one fails, the first time it is an error; later its line is what is shown."""
    pages = io.BytesIO()
    # Without a terminal for what is beside the rows there is no spinner.
    out, beside = _Pages(pages, is_terminal=True), _Pages(pages, is_terminal=False)
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(beside):
        try:
            with one_line(), warnings_as_lines():
                run()
        except Failure as failure:
            if is_first:
                raise
            failure.show()
        except (SystemExit, click.exceptions.Exit):
            # Of what is found, which is on the page: nobody gets the code of a command that has not ended.
            pass
    return pages.getvalue().decode(errors="replace")


def _show(page: str, last: str) -> None:
    """A page from its beginning, as much as fits, and a line below it."""
    lines, rows = page.splitlines(), shutil.get_terminal_size().lines
    if len(lines) > rows - 1:
        hidden = len(lines) - (rows - 2)
        lines = [*lines[: rows - 2], f"… {hidden:,} more lines"]
    sys.stdout.write(_CLEAN + "".join(f"{line}{_TO_END}\n" for line in lines) + last)
    sys.stdout.flush()


@contextlib.contextmanager
def _screen() -> Iterator[None]:
    sys.stdout.write(_ENTER)
    try:
        yield
    finally:
        sys.stdout.write(_LEAVE)
        sys.stdout.flush()
