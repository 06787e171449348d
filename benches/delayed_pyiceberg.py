"""A FileIO of PyIceberg whose requests take longer; a module of its own, since PyIceberg finds it by name."""

from __future__ import annotations

from typing import Any

from delayed import MILLISECONDS, DelayedFileSystem
from pyiceberg.io.fsspec import FsspecFileIO


class DelayedFileIO(FsspecFileIO):
    """Every path is local, on one filesystem that is as late as the table's properties say."""

    def __init__(self, properties: dict[str, Any]) -> None:
        super().__init__(properties)
        self._delayed = DelayedFileSystem(float(properties[MILLISECONDS]))

    def _get_fs_from_uri(self, *_: object) -> DelayedFileSystem:
        return self._delayed
