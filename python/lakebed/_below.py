"""lakebed below another library's own calls: what is in place, who answered, values as Python has them."""

from __future__ import annotations

import gc
import os
import threading
from collections import Counter
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import import_module, metadata
from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple

from lakebed._pyarrow import pa
from lakebed.errors import LakebedError, UnsupportedError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


class NotTheSameError(Exception):
    """Why the library's own code must answer; the text has no path."""


class Replacement(NamedTuple):
    """A function of the library's, and what takes its place."""

    owner: Any
    name: str
    ours: Callable[..., Any]


@dataclass
class _Place:
    """A replacement that was made, and what was there before."""

    replacement: Replacement
    own: Any


class Tally:
    """Counts that threads share. A child of a fork begins with those of its parent and a lock of its own."""

    def __init__(self) -> None:
        self.by_lakebed: Counter[str] = Counter()
        self.by_library: Counter[tuple[str, str]] = Counter()
        self.renew()

    def renew(self) -> None:
        """A lock that no other thread holds."""
        self.lock = threading.RLock()

    def answered(self, what: str, reason: str | None = None) -> None:
        """Counts an answer, of the library's own code where there is a reason."""
        with self.lock:
            if reason is None:
                self.by_lakebed[what] += 1
            else:
                self.by_library[what, reason] += 1


class Installation:
    """lakebed below one library, in this process."""

    def __init__(self, library: str, module: str, versions: tuple[str, ...], replacements: str) -> None:
        """Changes and imports nothing.

        Args: library, its name in texts; module, its package; versions, those that are known to work, as the
            first two numbers; replacements, the module whose function `replacements` tells what is replaced.
        """
        self._library, self._module, self._versions = library, module, versions
        self._replacements = replacements
        self._places: list[_Place] = []
        self.version: str | None = None
        self.is_installed = False
        self.tally = Tally()

    def install(self) -> None:
        """Puts all replacements in place. Does nothing where they are.

        Raises: ImportError without the library; UnsupportedError for a version of it that is not known.
        """
        with self.tally.lock:
            if self.is_installed:
                return
            self.version = self._supported_version()
            found = import_module(self._replacements).replacements()
            if not self._places:
                os.register_at_fork(after_in_child=self.tally.renew)
            self._places = [_Place(one, vars(one.owner)[one.name]) for one in found]
            self.is_installed = True
            for one in found:
                setattr(one.owner, one.name, one.ours)

    def uninstall(self) -> None:
        """Puts back what was there. Does nothing where nothing is in place; leaves what others put on top."""
        with self.tally.lock:
            if not self.is_installed:
                return
            self.is_installed = False
            for place in self._places:
                one = place.replacement
                if vars(one.owner).get(one.name) is one.ours:
                    setattr(one.owner, one.name, place.own)

    @contextmanager
    def installed(self) -> Iterator[None]:
        """For a block; leaves it as it was before."""
        was_installed = self.is_installed
        self.install()
        try:
            yield
        finally:
            if not was_installed:
                self.uninstall()

    def own(self, name: str) -> Callable[..., Any]:
        """The library's own function of a place."""
        found: Callable[..., Any] = next(one.own for one in self._places if one.replacement.name == name)
        return found

    def answered(self, what: str, made: Callable[[], Any]) -> Any:
        """What lakebed makes, None for the library's own code to do it; counts either."""
        try:
            found = made()
        except NotTheSameError as error:
            self.tally.answered(what, str(error))
            return None
        except LakebedError as error:
            # The library may read it all the same, or raises an error of its own; texts have paths.
            self.tally.answered(what, f"{type(error).__name__} ({getattr(error, 'kind', 'unknown')})")
            return None
        self.tally.answered(what)
        return found

    def _supported_version(self) -> str:
        module = import_module(self._module)
        version = str(getattr(module, "__version__", None) or metadata.version(self._module))
        if ".".join(version.split(".")[:2]) not in self._versions:
            known = ", ".join(f"{one}.*" for one in self._versions)
            message = f"{self._library} {version} is not known to work with lakebed below it, but {known}"
            raise UnsupportedError(message, kind="unsupported")
        return version


class Pause:
    """No collection of cyclic garbage while plans are made.

    A plan makes objects that all stay, without cycles. Collections would walk over them again and again, for
    longer than it takes to make them.
    """

    def __init__(self) -> None:
        self._plans, self._was_enabled = 0, False
        self._lock = threading.Lock()
        os.register_at_fork(after_in_child=self._renew)

    def __enter__(self) -> None:
        with self._lock:
            if not self._plans:
                self._was_enabled = gc.isenabled()
                gc.disable()
            self._plans += 1

    def __exit__(self, *_: object) -> None:
        with self._lock:
            self._plans -= 1
            self._collect_again()

    def _renew(self) -> None:
        """In a child of a fork: no other thread is there that could end the pause."""
        self._lock = threading.Lock()
        self._plans = 0
        self._collect_again()

    def _collect_again(self) -> None:
        if not self._plans and self._was_enabled:
            self._was_enabled = False
            gc.enable()


def integers(array: pa.Array) -> list[Any]:
    """Numbers, dates and times as the integers that they are stored as."""
    if array.null_count:
        return array.view(pa.int32() if array.type.bit_width == 32 else pa.int64()).to_pylist()  # type: ignore[no-any-return]
    raw = memoryview(array.buffers()[1] or b"").cast("B")
    values: Any = raw.cast("i") if array.type.bit_width == 32 else raw.cast("q")
    found: list[int] = values[array.offset : array.offset + len(array)].tolist()
    return found


def python_values(array: pa.Array) -> list[Any]:
    """What `to_pylist` gives, sooner; times and dates as the integers that they are stored as."""
    kind = array.type
    if pa.types.is_string(kind) or pa.types.is_binary(kind):
        return _pieces(array)
    if array.null_count == len(array):
        return [None] * len(array)
    if pa.types.is_list(kind) and not array.null_count:
        ends, flat = integers(array.offsets), python_values(array.values)
        return [flat[a:b] for a, b in pairwise(ends)]
    is_number = pa.types.is_signed_integer(kind) or pa.types.is_temporal(kind)
    return integers(array) if is_number and kind.bit_width >= 32 else array.to_pylist()


def _pieces(array: pa.Array) -> list[Any]:
    """Texts or bytes."""
    if array.null_count == len(array):
        return [None] * len(array)
    if array.null_count:
        return array.to_pylist()  # type: ignore[no-any-return]
    _, offsets, data = array.buffers()
    ends = memoryview(offsets).cast("i")[array.offset : array.offset + len(array) + 1].tolist()
    begin = ends[0]
    raw = bytes(memoryview(data)[begin : ends[-1]]) if data is not None else b""
    if pa.types.is_binary(array.type):
        return [raw[a - begin : b - begin] for a, b in pairwise(ends)]
    if raw.isascii():
        text = raw.decode("ascii")
        return [text[a - begin : b - begin] for a, b in pairwise(ends)]
    return [raw[a - begin : b - begin].decode() for a, b in pairwise(ends)]


def column_arrays(table: pa.Table) -> dict[str, pa.Array]:
    """The columns of a table, each as one array. Raises: NotTheSameError for more than one of them holds."""
    made: dict[str, pa.Array] = {}
    combined = table.combine_chunks()
    for name in combined.column_names:
        chunks = combined.column(name).chunks
        if len(chunks) > 1:
            raise NotTheSameError("more values than one column of Arrow holds")
        made[name] = chunks[0] if chunks else pa.array([], combined.schema.field(name).type)
    return made
