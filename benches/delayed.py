"""Storages that answer late, as over a network: each request takes so long, then is local.

Each reader gets the delay where it asks its storage: lakebed by a filesystem of fsspec, PyIceberg by a FileIO
on the same filesystem, pypaimon in the methods of its FileIO. A request is a listing, a question about a
file, or opening one to read; what is read of an open file comes at once.
"""

from __future__ import annotations

import functools
import io
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import IO, Any

from fsspec import AbstractFileSystem
from fsspec.implementations.local import LocalFileSystem

MILLISECONDS = "delayed.milliseconds"
"""The property of a table of PyIceberg that says how late its FileIO is."""


class DelayedFileSystem(AbstractFileSystem):  # type: ignore[misc]  # fsspec has no types
    """Local files, each request of which takes that many milliseconds more."""

    cachable = False

    def __init__(self, milliseconds: float) -> None:
        super().__init__()
        self._seconds = milliseconds / 1000
        self._local = LocalFileSystem()

    def wait(self) -> None:
        """What a request costs."""
        time.sleep(self._seconds)

    @classmethod
    def _strip_protocol(cls, path: str) -> str:
        return str(LocalFileSystem._strip_protocol(path))

    def ls(self, path: str, detail: bool = True, **_: Any) -> Any:
        """As fsspec has it: one request."""
        self.wait()
        return self._local.ls(path, detail=detail)

    def info(self, path: str, **_: Any) -> Any:
        """As fsspec has it: one request."""
        self.wait()
        return self._local.info(path)

    def _open(self, path: str, mode: str = "rb", **_: Any) -> IO[bytes]:
        self.wait()
        if mode == "wb":
            Path(path).parent.mkdir(parents=True, exist_ok=True)
            return Path(path).open("wb")
        if mode != "rb":
            raise NotImplementedError(f"only reading and writing anew, not {mode!r}")
        return io.BytesIO(Path(path).read_bytes())


def pyiceberg_properties(milliseconds: float) -> dict[str, str]:
    """What has PyIceberg load a FileIO that is so late."""
    return {"py-io-impl": "delayed_pyiceberg.DelayedFileIO", MILLISECONDS: str(milliseconds)}


def delay_methods(owner: type, names: tuple[str, ...], milliseconds: float) -> None:
    """Has those methods of a class sleep first. What one of them calls of the others is the same request."""
    inside = threading.local()

    def late(method: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(method)
        def waits(*arguments: Any, **named: Any) -> Any:
            if getattr(inside, "request", False):
                return method(*arguments, **named)
            inside.request = True
            try:
                time.sleep(milliseconds / 1000)
                return method(*arguments, **named)
            finally:
                inside.request = False

        return waits

    for name in names:
        setattr(owner, name, late(getattr(owner, name)))
