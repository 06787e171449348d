"""The log of a clean-up: a line of JSON for each file before anything happens to it, and one after."""

from __future__ import annotations

import fcntl
import json
import os
from datetime import datetime, timezone
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lakebed.errors import CommitConflictError, CorruptError, LocationError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from types import TracebackType

    from typing_extensions import Self

_FORM = "lakebed clean-up 1"


class CleanupLog:
    """A log that is open; of several processes one at a time.

    Its first line says of which table and plan it is. Then a line for each file: `path`, `size` [bytes],
    `reason`, `at`, `outcome`, which is "removing" or "moving" before and "removed", "moved", "failed" after;
    and for an expiry lines about its commit.
    """

    def __init__(self, path: str | os.PathLike[str], header: dict[str, Any] | None) -> None:
        """Opens a log, or begins it.

        Args: header, what it is of; None for one that is there, whatever it is of.
        Raises: LocationError for a log of something else; CorruptError for a file that is none;
            CommitConflictError where another process has it open; OSError.
        """
        self.path = os.fspath(path)
        if header is not None:
            Path(self.path).absolute().parent.mkdir(parents=True, exist_ok=True)
        self._file = Path(self.path).open("r+b" if header is None else "a+b")  # noqa: SIM115 - `close` does
        try:
            self._lock()
            self.header = self._begin(header)
        except BaseException:
            self._file.close()
            raise

    def _lock(self) -> None:
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            message = "another process writes this log"
            raise CommitConflictError(message, kind="conflict", path=self.path, retryable=True) from None

    def _begin(self, header: dict[str, Any] | None) -> dict[str, Any]:
        self._file.seek(0)
        first = self._file.readline()
        own = header_line({})[:-2]
        is_cut = not first.endswith(b"\n") and (first.startswith(own) or own.startswith(first))
        if is_cut and header is not None:
            # Nothing yet, or a first line that was cut: nothing has happened.
            self._file.truncate(0)
            self._append(header_line(header))
            return header
        found = next(decoded([first]), None)
        if found is None or not is_header(found):
            raise CorruptError("no log of a clean-up", kind="json", path=self.path, record=0)
        check_header(found, header or {}, self.path)
        self._end_line()
        return found

    def _end_line(self) -> None:
        """Ends a last line that was cut, so that what follows is a line of its own."""
        size = self._file.seek(0, os.SEEK_END)
        self._file.seek(size - 1)
        if self._file.read(1) != b"\n":
            self._file.seek(0, os.SEEK_END)
            self._file.write(b"\n")

    def append(self, lines: Iterable[dict[str, Any]]) -> None:
        """Writes lines, each with the time; they are on the disk when this returns. Raises: OSError."""
        self._append(encoded(dated(lines)))

    def _append(self, data: bytes) -> None:
        self._file.seek(0, os.SEEK_END)
        self._file.write(data)
        self._file.flush()
        os.fsync(self._file.fileno())

    def lines(self) -> Iterator[dict[str, Any]]:
        """The lines after the first, in order; one that was cut when a process ended is passed over."""
        with Path(self.path).open("rb") as file:
            file.readline()
            yield from decoded(file)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._file.close()


def header_line(header: dict[str, Any]) -> bytes:
    """The first line of a log. Args: header, what it is of."""
    return encoded([{"log": _FORM, **header}])


def is_header(line: dict[str, Any]) -> bool:
    """Whether a line is the first one of a log."""
    return line.get("log") == _FORM


def check_header(found: dict[str, Any], header: dict[str, Any], path: str) -> None:
    """Refuses a log of something else than the header says. Raises: LocationError."""
    for name, value in header.items():
        if found.get(name) != value and name != "opened":
            message = f"the log is of another clean-up, whose {name} is {found.get(name)!r}, not {value!r}"
            raise LocationError(message, kind="location", path=path, field=name)


def dated(lines: Iterable[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    """Lines, each with the time."""
    now = datetime.now(timezone.utc).isoformat(timespec="milliseconds")
    return ({**line, "at": now} for line in lines)


def encoded(lines: Iterable[dict[str, Any]]) -> bytes:
    """Lines as they are stored."""
    texts = (json.dumps(line, ensure_ascii=False, separators=(",", ":")) for line in lines)
    return "".join(f"{text}\n" for text in texts).encode("utf-8", "surrogatepass")


def decoded(lines: Iterable[bytes]) -> Iterator[dict[str, Any]]:
    """Stored lines; one that was cut when a process ended is passed over."""
    for line in lines:
        try:
            found = json.loads(line)
        except ValueError:
            continue
        if isinstance(found, dict):
            yield found
