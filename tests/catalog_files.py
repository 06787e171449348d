"""A `FileIO` of PyIceberg and one of pypaimon whose URIs lead to local folders, as if these were far away."""

from __future__ import annotations

import threading
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

pyarrow_io = pytest.importorskip("pyiceberg.io.pyarrow")
local_io = pytest.importorskip("pypaimon.filesystem.local_file_io")

BUCKET = "s3://lake"
ROOT = "test.root"
"""The property that says which folder the bucket is."""
SECRET = "wJalrXUtnFEMI"

asked: Counter[str] = Counter()
"""How often each file was opened for reading, by its name."""
failing: set[str] = set()
"""Names of files that cannot be read."""
_lock = threading.Lock()


def _place(path: str, root: str) -> str:
    if not path.startswith(f"{BUCKET}/"):
        raise ValueError(f"{path} is not in the bucket")
    return root + path[len(BUCKET) :]


def _ask(path: str) -> None:
    name = path.rpartition("/")[2]
    with _lock:
        asked[name] += 1
    if name in failing:
        raise RuntimeError(f"no answer to https://lake.example/{name}?X-Signature=abc of {SECRET}")


class HalfFile:
    """A file that takes half of what is written to it."""

    def __init__(self, file: Any) -> None:
        self.file = file

    def create(self, overwrite: bool = False) -> Any:
        self.stream = self.file.create(overwrite)
        return self

    def write(self, data: bytes) -> None:
        self.stream.write(data[: len(data) // 2])
        raise RuntimeError("the connection is gone")

    def close(self) -> None:
        self.stream.close()


class FarFiles(pyarrow_io.PyArrowFileIO):  # type: ignore[misc, name-defined]
    """What `py-io-impl` names."""

    def new_input(self, location: str) -> Any:
        _ask(location)
        return self._called(location, super().new_input(_place(location, self.properties[ROOT])))

    def new_output(self, location: str) -> Any:
        place = _place(location, self.properties[ROOT])
        Path(place).parent.mkdir(parents=True, exist_ok=True)
        file = self._called(location, super().new_output(place))
        return HalfFile(file) if location.rpartition("/")[2] in failing else file

    @staticmethod
    def _called(location: str, file: Any) -> Any:
        file._location = location
        return file

    def delete(self, location: Any) -> None:
        super().delete(_place(location, self.properties[ROOT]))


class FarPaimonFiles(local_io.LocalFileIO):  # type: ignore[misc, name-defined]
    """What pypaimon would make for a bucket."""

    def __init__(self, root: str) -> None:
        super().__init__()
        self.root = root

    def new_input_stream(self, path: str) -> Any:
        _ask(path)
        return super().new_input_stream(_place(path, self.root))

    def list_status(self, path: str) -> Any:
        return super().list_status(_place(path, self.root))

    def get_file_status(self, path: str) -> Any:
        return super().get_file_status(path if path.startswith("/") else _place(path, self.root))
