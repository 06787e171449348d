"""A storage of local files in which something happens at a call, and whose listings may lag behind."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import unquote

Contents = list[tuple[str, bool, int | None, int | None]]


@dataclass
class Event:
    """What happens during a read.

    Args: at, before which call: the number of a call, or with `folder` of a listing of folders of that name;
        after, once its answer is known instead; happen, what happens.
    """

    at: int
    folder: str | None
    after: bool
    happen: Callable[[str], object]
    seen: int = 0
    is_over: bool = False

    def is_at(self, asked: str, path: str) -> bool:
        """Counts a call; whether it is the one."""
        if self.folder is None or (asked == "list" and path.rpartition("/")[2] == self.folder):
            self.seen += 1
            return self.seen == self.at
        return False


class WatchedStorage:
    """Local files, asked for one at a time."""

    concurrent_reads = 1

    def __init__(self) -> None:
        self.events: list[Event] = []
        self.lagging: dict[str, list[str]] = {}
        """Folder → the names that its listings show, whatever is there."""
        self.failed: list[Exception] = []
        """Errors of what happened."""
        self._lock = threading.RLock()

    def lag(self, folder: Path) -> None:
        """From now on listings of a folder show what is there now."""
        self.lagging[os.path.realpath(folder)] = os.listdir(folder) if folder.is_dir() else []  # noqa: PTH208 - names

    def read(self, path: str, start: int | None = None, end: int | None = None) -> bytes:
        """The bytes of a file."""
        path = _local(path)
        with self._around("read", path):
            return Path(path).read_bytes()[start:end]

    def list(self, prefix: str) -> list[str]:
        """The names in a folder."""
        path = _local(prefix)
        with self._around("list", path):
            if (names := self.lagging.get(os.path.realpath(path))) is not None:
                return names
            return os.listdir(path) if Path(path).is_dir() else []  # noqa: PTH208 - names

    def contents(self, prefix: str) -> Contents:
        """The names in a folder, with sizes and times."""
        path = _local(prefix)
        with self._around("list", path):
            found: Contents = []
            shown = self.lagging.get(os.path.realpath(path))
            for entry in os.scandir(path):
                if shown is None or entry.name in shown:
                    stat = entry.stat()
                    found.append((entry.name, entry.is_dir(), stat.st_size, int(stat.st_mtime * 1000)))
            return found

    def remove_files(self, paths: Sequence[str]) -> Sequence[OSError | None]:
        """Removes files. Nothing happens at this call: what is committed after the last look is lost."""
        for path in paths:
            Path(_local(path)).unlink(missing_ok=True)
        return [None] * len(paths)

    def _around(self, asked: str, path: str) -> _Around:
        return _Around(self, asked, path)

    def happens(self, asked: str, path: str, after: bool) -> None:
        """Lets happen what is due at a call, each once. The calls that it makes itself are not counted."""
        with self._lock:
            for event in self.events:
                if event.after == after and not event.is_over and event.is_at(asked, path):
                    event.is_over = True
                    # A thread of its own, as another program has: this one is inside of a read.
                    where = f"{'after' if after else 'before'} call {event.at}, {asked} …/{_end(path)}"
                    thread = threading.Thread(target=self._happen, args=(event, where))
                    thread.start()
                    thread.join()

    def _happen(self, event: Event, where: str) -> None:
        try:
            event.happen(where)
        except Exception as error:  # noqa: BLE001 - a thread has nobody to raise it to
            self.failed.append(error)


@dataclass
class _Around:
    storage: WatchedStorage
    asked: str
    path: str

    def __enter__(self) -> None:
        self.storage.happens(self.asked, self.path, after=False)

    def __exit__(self, *failed: object) -> None:
        self.storage.happens(self.asked, self.path, after=True)


def _local(path: str) -> str:
    return unquote(path[7:]) if path.startswith("file://") else path


def _end(path: str) -> str:
    return "/".join(path.split("/")[-2:])
