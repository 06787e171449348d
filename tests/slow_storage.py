"""A storage that can be called to the very end of a program: what its methods need is bound to them.

It has a module of its own, since one in a program's main module would keep that module, and all in it.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

from local_storage import LocalStorage


class Slow(LocalStorage):
    """Each read takes a while."""

    seconds = 0.0

    def read(
        self,
        path: str,
        start: int | None = None,
        end: int | None = None,
        *,
        sleep: Callable[[float], None] = time.sleep,
        to_path: Callable[[str], Path] = Path,
        read_bytes: Callable[[Path], bytes] = Path.read_bytes,
    ) -> bytes:
        """The bytes of a local file."""
        sleep(self.seconds)
        return read_bytes(to_path(path))[start:end]
