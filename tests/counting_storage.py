"""A storage of local files that counts what it is asked for."""

from __future__ import annotations

import threading
import time

from local_storage import LocalStorage, Names, WritableLocalStorage

Asked = list[tuple[str, int | None, int | None]]


class CountingStorage(LocalStorage):
    """Reads and listings, in the order in which they came, and how many reads there were at one time."""

    def __init__(self, seconds: float = 0.0, concurrent_reads: int | None = None) -> None:
        """Each request takes that many seconds more."""
        self.seconds = seconds
        self.concurrent_reads = concurrent_reads
        self.reads: Asked = []
        self.listings: Names = []
        self.now = self.most_at_once = 0
        self._lock = threading.Lock()

    def read(self, path: str, start: int | None = None, end: int | None = None) -> bytes:
        with self._lock:
            self.reads.append((path, start, end))
            self.now += 1
            self.most_at_once = max(self.most_at_once, self.now)
        try:
            time.sleep(self.seconds)
            return super().read(path, start, end)
        finally:
            with self._lock:
                self.now -= 1

    def list(self, prefix: str) -> Names:
        with self._lock:
            self.listings.append(prefix)
        time.sleep(self.seconds)
        return super().list(prefix)

    def forget(self) -> None:
        """What was asked so far is not counted."""
        self.reads, self.listings, self.most_at_once = [], [], 0

    @property
    def asked(self) -> int:
        """Requests so far."""
        return len(self.reads) + len(self.listings)

    def manifests(self) -> Names:
        """Names of manifests that were asked for, in that order."""
        names = [path.rsplit("/", 1) for path, _, _ in self.reads]
        return [
            name
            for folder, name in names
            if (folder.endswith("/manifest") and not name.startswith("manifest-list"))
            or (name.endswith(".avro") and not name.startswith("snap-"))
        ]


class WritableStorage(WritableLocalStorage, CountingStorage):
    """The same, which can be written to."""
