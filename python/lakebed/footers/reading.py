"""The ends of many files, read side by side."""

from __future__ import annotations

import errno
import os
from dataclasses import dataclass
from typing import TYPE_CHECKING, cast

from lakebed import _native
from lakebed._threads import in_order
from lakebed.errors import CorruptError, TruncatedError, UnsupportedError
from lakebed.footers import avro, orc, parquet
from lakebed.footers.avro import AvroFooter
from lakebed.footers.orc import OrcFooter
from lakebed.footers.parquet import ParquetFooter
from lakebed.limits import LIMITS, Limits
from lakebed.storage import resolve
from lakebed.storage.protocols import SizedStorage

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from lakebed.footers.footer import Footer
    from lakebed.storage import Storage

# Enough for most footers, so that one request is enough for most files.
_END_BYTES = 64 << 10
# Of storages that do not say how many reads they serve at once.
_READS = 64


@dataclass(frozen=True)
class DataFile:
    """A file to describe.

    Attributes: path, as its row is to name it; location, where it is read; size [bytes], None to ask.
    """

    path: str
    location: str
    size: int | None = None


def storage_of(location: str, storage: object | None) -> Storage:
    """What reads files at a place; local files too are read in Python here.

    Raises: as `open_table`.
    """
    _, reader = resolve(location, storage)
    if reader is None:
        _, reader = resolve(location, "pyarrow")
    return cast("Storage", reader)


def reads_of(storage: Storage) -> int:
    """How many files are read at once."""
    return getattr(storage, "concurrent_reads", None) or _READS


def footers_of(
    files: Sequence[DataFile], storage: Storage, limits: Limits = LIMITS
) -> Iterator[tuple[DataFile, int, Footer]]:
    """Each file with its size [bytes] and its footer, in their order.

    Raises: FileNotFoundError; CorruptError and its kin, UnsupportedError, EncryptionError and LimitError with
        the file's path; OSError of the storage.
    Cost: of each file whose size is not known the request that asks for it, and one for its last 64 KiB; one
        more where the footer is longer. Avro files are read whole. As many files are read at once as the
        storage serves; about as many footers are held.
    """
    for file, read in in_order(files, lambda file: footer_of(file, storage, limits), reads_of(storage)):
        yield file, *read


def footer_of(file: DataFile, storage: Storage, limits: Limits = LIMITS) -> tuple[int, Footer]:
    """The size [bytes] and the footer of one file. Raises: as `footers_of`."""
    return _Reading(file, storage, limits).footer()


class _Reading:
    """One file that is read."""

    def __init__(self, file: DataFile, storage: Storage, limits: Limits) -> None:
        self._file, self._storage, self._limits = file, storage, limits
        self._shown = _native.without_credentials(file.path)
        self._whole: bytes | None = None

    def footer(self) -> tuple[int, Footer]:
        """The file's size and its footer."""
        size = self._size()
        if size == 0:
            message = f"the file is empty, it has no footer ({self._shown})"
            raise TruncatedError(message, kind="truncated", path=self._shown, offset=0)
        end = self._bytes(max(0, size - _END_BYTES), size)
        if end.endswith((parquet.MAGIC, parquet.ENCRYPTED)):
            return size, self._ended(ParquetFooter, end, size)
        if end[:-1].endswith(orc.MAGIC):
            return size, self._ended(OrcFooter, end, size)
        head = end if size <= _END_BYTES else self._bytes(0, len(avro.MAGIC))
        if head.startswith(avro.MAGIC):
            return size, AvroFooter(self._bytes, size, self._shown, self._limits)
        if head.startswith((parquet.MAGIC, parquet.ENCRYPTED, orc.MAGIC)):
            message = f"the file ends without its footer ({self._shown})"
            raise TruncatedError(message, kind="truncated", path=self._shown, offset=size)
        message = f"the file is neither Parquet nor ORC nor Avro ({self._shown})"
        raise UnsupportedError(message, kind="magic", path=self._shown)

    def _size(self) -> int:
        if self._file.size is not None:
            return self._file.size
        if isinstance(self._storage, SizedStorage):
            size = self._storage.size(self._file.location)
            if size is None:
                raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), self._shown)
            return size
        self._whole = bytes(self._storage.read(self._file.location))
        return len(self._whole)

    def _ended(self, kind: type[ParquetFooter | OrcFooter], end: bytes, size: int) -> Footer:
        """The footer at the end of the file, of which some bytes are here."""
        read = kind.read(end, size, self._shown, self._limits)
        if isinstance(read, int):
            read = kind.read(self._bytes(size - read, size), size, self._shown, self._limits)
        assert not isinstance(read, int)
        return read

    def _bytes(self, start: int, end: int) -> bytes:
        if self._whole is not None:
            return self._whole[start:end]
        read = bytes(self._storage.read(self._file.location, start, end))
        if len(read) != end - start:
            message = (
                f"{end - start} bytes from byte {start} are {len(read)}: the file is not as long as said"
            )
            raise CorruptError(f"{message} ({self._shown})", kind="length", path=self._shown, offset=start)
        return read
