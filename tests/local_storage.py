"""The least storages of local files, from which tests derive theirs."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

Names = list[str]


def put_files(put: Callable[[str, bytes], object], folder: Path, below: str) -> None:
    """Puts the files of a folder below a prefix."""
    for file in folder.rglob("*"):
        if file.is_file():
            put(f"{below}{file.relative_to(folder)}", file.read_bytes())


class LocalStorage:
    """What a storage is at least."""

    def place(self, path: str) -> Path:
        """Where on this machine a path is."""
        return Path(path)

    def read(self, path: str, start: int | None = None, end: int | None = None) -> bytes:
        """The bytes of a local file."""
        return self.place(path).read_bytes()[start:end]

    def list(self, prefix: str) -> Names:
        """The names in a local folder; none where there is none."""
        folder = self.place(prefix)
        return [child.name for child in folder.iterdir()] if folder.is_dir() else []


class SomeFiles(LocalStorage):
    """A storage of local files, some of which have another content, by the ends of their paths."""

    def __init__(self, **contents: bytes) -> None:
        self.contents = contents

    def read(self, path: str, start: int | None = None, end: int | None = None) -> bytes:
        content = next((one for name, one in self.contents.items() if path.endswith(name)), None)
        return super().read(path, start, end) if content is None else content[start:end]


class WritableLocalStorage(LocalStorage):
    """The same, which can be written to."""

    def write(self, path: str, data: bytes) -> None:
        Path(path).parent.mkdir(parents=True, exist_ok=True)
        Path(path).write_bytes(data)

    def remove(self, path: str) -> None:
        Path(path).unlink()

    def publish(self, path: str, data: bytes, replace: bool) -> None:
        if Path(path).exists() and not replace:
            raise FileExistsError(path)
        self.write(path, data)
