"""The log of a clean-up that many processes write at once: a folder of parts."""

from __future__ import annotations

import contextlib
import io
import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias
from uuid import uuid4

from lakebed._pyarrow import pa
from lakebed.cleaning.log import CleanupLog, check_header, dated, decoded, encoded, header_line, is_header
from lakebed.cleaning.places import Place, TableFiles, check_apart, place_of
from lakebed.errors import CorruptError, LocationError, UnsupportedError
from lakebed.storage.paths import absolute, local_path
from lakebed.storage.protocols import PublishingStorage, Storage
from lakebed.storage.removal import LocalFiles

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from types import TracebackType

    from typing_extensions import Self

    from lakebed.table import Table

_HEADER = "log.json"
_PART = ".jsonl"


@dataclass(frozen=True)
class LogFolder:
    """Where a shared log is: a local folder that all processes have, or one on the table's storage.

    Attributes: storage, what writes it; path, without a last slash.
    """

    storage: Any = field(repr=False)
    path: str

    @staticmethod
    def of(table: TableFiles, log: str | os.PathLike[str]) -> LogFolder:
        """The folder of a path, or of a URI on the storage of a table.

        Raises: LocationError for one that is not apart from the table; UnsupportedError for a URI where the
            storage does not write, publish and list.
        """
        text = os.fspath(log).rstrip("/")
        storage: object = table.opening.storage
        if (local := local_path(text)) is not None:
            folder = LogFolder(LocalFiles(), absolute(local))
        elif isinstance(storage, PublishingStorage) and isinstance(storage, Storage):
            folder = LogFolder(storage, text)
        else:
            message = (
                "the storage of the table does not write a log: open the table with storage='obstore', or "
                "give a folder that the driver and all executors have"
            )
            raise UnsupportedError(message, kind="unsupported", field="log")
        place = Place(folder.path, is_local=isinstance(folder.storage, LocalFiles))
        check_apart(place_of(table, table.location), place, "the log")
        return folder

    def begun(self, header: dict[str, Any], shares: int) -> SharedLog:
        """The log, which is begun unless it is there.

        Args: header, what it is of; shares, how many the files of a new log are divided into.
        Raises: LocationError for a log of something else; as `opened`.
        """
        path = f"{self.path}/{_HEADER}"
        try:
            self.storage.read(path)
        except FileNotFoundError:
            # Another may have begun it just now.
            with contextlib.suppress(FileExistsError):
                self.storage.publish(path, header_line({**header, "shares": shares}), False)
        log = self.opened()
        check_header(log.header, header, self.path)
        return log

    def opened(self, share: int | None = None) -> SharedLog:
        """A log that is there. Args: share, whose lines are read and written; None for all.

        Raises: LocationError where there is none; CorruptError for a file that is none; OSError.
        """
        try:
            found = next(decoded(bytes(self.storage.read(f"{self.path}/{_HEADER}")).splitlines()), None)
        except FileNotFoundError:
            message = "no log is here: the driver and all executors have to have its folder"
            raise LocationError(message, kind="location", path=self.path, field="log") from None
        if found is None or not is_header(found):
            raise CorruptError("no log of a clean-up", kind="json", path=self.path, record=0)
        return SharedLog(self, found, share)


class SharedLog:
    """A log that is open, as `CleanupLog`, but that several processes may write at once.

    `log.json` says of which table and plan it is, and in how many shares its files are. Each turn is a file
    of its own, with a name that no other has: `00000012-00003-….jsonl`, the twelfth of share 3 or later.
    """

    def __init__(self, folder: LogFolder, header: dict[str, Any], share: int | None) -> None:
        self.header, self._folder = header, folder
        self._share = "all" if share is None else f"{share:05}"
        self._turn = max((int(name[:8]) for name in self._names()), default=0)

    def _names(self) -> list[str]:
        """The parts, in the order of turns."""
        names = self._folder.storage.list(self._folder.path)
        return sorted(name for name in names if name.endswith(_PART) and not name.startswith("."))

    def _new(self, suffix: str, data: bytes) -> str:
        self._turn += 1
        name = f"{self._turn:08}-{self._share}-{uuid4().hex}{suffix}"
        self._folder.storage.write(f"{self._folder.path}/{name}", data)
        return name

    def append(self, lines: Iterable[dict[str, Any]]) -> None:
        """Writes lines, each with the time; they are stored when this returns. Raises: OSError."""
        self._new(_PART, encoded(dated(lines)))

    def lines(self) -> Iterator[dict[str, Any]]:
        """The lines of the share, in the order of turns."""
        for name in self._names():
            if self._share in ("all", name.split("-")[1]):
                yield from decoded(self._read(name).splitlines())

    def _read(self, name: str) -> bytes:
        return bytes(self._folder.storage.read(f"{self._folder.path}/{name}"))

    def keep(self, rows: pa.Table) -> str:
        """Writes rows of a `Cleanup` beside the parts. Returns: the name of their file."""
        sink = io.BytesIO()
        with pa.ipc.new_stream(sink, rows.schema) as writer:
            writer.write_table(rows)
        return self._new(".arrow", sink.getvalue())

    def kept(self, name: str) -> pa.Table:
        """The rows of a file that `keep` wrote. Raises: OSError."""
        return pa.ipc.open_stream(self._read(name)).read_all()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        pass


AnyLog: TypeAlias = CleanupLog | SharedLog


def header_of_log(log: str) -> dict[str, Any]:
    """What a log on this machine is of. Raises: as `opened_log`."""
    if Path(log).is_dir():
        return LogFolder(LocalFiles(), absolute(log)).opened().header
    with CleanupLog(log, None) as opened:
        return opened.header


def opened_log(log: str | os.PathLike[str], table: Table) -> AnyLog:
    """A log of `lakebed.apply`, a local file, or of `lakebed.spark.apply`, a folder. Raises: as both."""
    local = local_path(os.fspath(log))
    if local is not None and not Path(local).is_dir():
        return CleanupLog(log, None)
    return LogFolder.of(table, log).opened()
