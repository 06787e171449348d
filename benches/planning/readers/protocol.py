"""The protocol of the benchmark's readers, for those in Python. `../README.md` has it in words."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable, Iterable, Sequence
from typing import Any


class CannotError(Exception):
    """The reader does not have this task of this table; the message says why."""


def serve(
    formats: Sequence[str],
    install: str,
    version: Callable[[], str],
    answer: Callable[[str, str, str], dict[str, Any]],
) -> None:
    """Answers the one question on the command line, by one line of JSON.

    Args: formats, those that it reads; install, what a machine without the reader lacks, as a command;
    version, imports what is read with, and tells its version; answer, from a table's path, its format and a
    task to the numbers that are found.
    """
    asked = sys.argv[1:]
    try:
        told: dict[str, Any] = {"version": version()}
    except ImportError as error:
        told = {"missing": f"{install} ({error})"}
    if asked == ["--version"]:
        told["formats"] = formats
    elif "missing" not in told:
        start = time.perf_counter()
        try:
            told |= answer(*asked)
        except CannotError as error:
            told |= {"cannot": str(error)}
        told["seconds"] = time.perf_counter() - start
    print(json.dumps(told))


def total(rows: Iterable[tuple[int, ...]], *names: str) -> dict[str, int]:
    """The number of files, and sums of their other numbers, by these names."""
    files, sums = 0, [0] * len(names)
    for numbers in rows:
        files += 1
        for place, number in enumerate(numbers):
            sums[place] += number
    return {"files": files, **dict(zip(names, sums, strict=True))}
