"""Putting lakebed below PyIceberg's own calls, and taking it away again."""

from __future__ import annotations

import os
import threading
from collections import Counter
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from lakebed.errors import UnsupportedError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

VERSIONS = ("0.12",)
"""The versions of PyIceberg whose own tests pass with lakebed below them."""


@dataclass(frozen=True)
class Status:
    """What lakebed has done below PyIceberg in this process since it was first installed."""

    installed: bool
    """Whether lakebed is below PyIceberg now."""
    version: str | None
    """PyIceberg's, once it was installed below it."""
    by_lakebed: dict[str, int] = field(default_factory=dict)
    """How often lakebed answered: `manifests`, `manifest lists`, `plans`, `inspect`."""
    by_pyiceberg: dict[tuple[str, str], int] = field(default_factory=dict)
    """How often PyIceberg's own code answered, by the same names and why."""


class _Tally:
    """Counts that threads share. A child of a fork begins with those of its parent and a lock of its own."""

    def __init__(self) -> None:
        self.by_lakebed: Counter[str] = Counter()
        self.by_pyiceberg: Counter[tuple[str, str]] = Counter()
        self.renew()

    def renew(self) -> None:
        """A lock that no other thread holds."""
        self.lock = threading.RLock()

    def answered(self, what: str, reason: str | None = None) -> None:
        """Counts an answer, of PyIceberg's own code where there is a reason."""
        with self.lock:
            if reason is None:
                self.by_lakebed[what] += 1
            else:
                self.by_pyiceberg[what, reason] += 1


TALLY = _Tally()


@dataclass
class _Place:
    """A function of PyIceberg's and what takes its place."""

    owner: Any
    name: str
    own: Any
    ours: Callable[..., Any]


class _State:
    """What is in place in this process."""

    def __init__(self) -> None:
        self.version: str | None = None
        self.is_installed = False
        self.places: list[_Place] = []


_STATE = _State()


def install() -> None:
    """Lets PyIceberg decode with lakebed until `uninstall`, in all threads: the same answers, sooner.

    `ManifestFile.fetch_manifest_entry` gives objects of subclasses of PyIceberg's `ManifestEntry` and
    `DataFile`, equal to its own, which make their values when they are asked for; pickles and copies of them
    are its own. `table.scan().plan_files()`, `table.inspect.files()` with what has its rows, and
    `inspect.entries()` are made of columns. All read through the table's own `FileIO`. What lakebed does not
    read as PyIceberg does, PyIceberg's own code reads: `status()` counts it, with the reason. Does nothing
    where it is installed already.

    Raises: ImportError without PyIceberg; UnsupportedError for a version of it that is not known to work.
    """
    with TALLY.lock:
        if _STATE.is_installed:
            return
        _STATE.version = _supported_version()
        from lakebed.pyiceberg.replacing import replacements

        if not _STATE.places:
            os.register_at_fork(after_in_child=TALLY.renew)
        _STATE.places = [_Place(owner, name, vars(owner)[name], ours) for owner, name, ours in replacements()]
        _STATE.is_installed = True
        for place in _STATE.places:
            setattr(place.owner, place.name, place.ours)


def uninstall() -> None:
    """Puts back what `install` found. Does nothing where it is not installed.

    Entries that were read before stay as they are. Where another library has since put a function of its own
    over one of lakebed's, that one stays, and what it calls is PyIceberg's own code again.
    """
    with TALLY.lock:
        if not _STATE.is_installed:
            return
        _STATE.is_installed = False
        for place in _STATE.places:
            if vars(place.owner).get(place.name) is place.ours:
                setattr(place.owner, place.name, place.own)


@contextmanager
def installed() -> Iterator[None]:
    """Installs lakebed below PyIceberg for a block, in all threads; leaves it where it was there before.

    >>> with lakebed.pyiceberg.installed():
    ...     tasks = table.scan(row_filter="region = 'emea'").plan_files()
    """
    was_installed = _STATE.is_installed
    install()
    try:
        yield
    finally:
        if not was_installed:
            uninstall()


def status() -> Status:
    """Whether lakebed is below PyIceberg, how often each of them has answered, and why PyIceberg did."""
    with TALLY.lock:
        return Status(_STATE.is_installed, _STATE.version, dict(TALLY.by_lakebed), dict(TALLY.by_pyiceberg))


def is_installed() -> bool:
    """Whether lakebed is below PyIceberg now."""
    return _STATE.is_installed


def own(name: str) -> Callable[..., Any]:
    """PyIceberg's own function of a place."""
    found: Callable[..., Any] = next(place.own for place in _STATE.places if place.name == name)
    return found


def _supported_version() -> str:
    import pyiceberg

    version = str(pyiceberg.__version__)
    if ".".join(version.split(".")[:2]) not in VERSIONS:
        known = ", ".join(f"{one}.*" for one in VERSIONS)
        message = f"PyIceberg {version} is not known to work with lakebed below it, but {known}"
        raise UnsupportedError(message, kind="unsupported")
    return version
