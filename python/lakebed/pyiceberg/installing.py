"""Putting lakebed below PyIceberg's own calls, and taking it away again."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from lakebed._below import Installation

if TYPE_CHECKING:
    from collections.abc import Iterator

VERSIONS = ("0.8", "0.9", "0.10", "0.11", "0.12")
"""The versions of PyIceberg whose own tests pass with lakebed below them."""
BELOW = Installation("PyIceberg", "pyiceberg", VERSIONS, "lakebed.pyiceberg.replacing")


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


def install() -> None:
    """Lets PyIceberg decode with lakebed until `uninstall`, in all threads: the same answers, sooner.

    `ManifestFile.fetch_manifest_entry` gives objects of subclasses of PyIceberg's `ManifestEntry` and
    `DataFile`, equal to its own, which make their values when they are asked for; pickles and copies of them
    are its own. `table.scan().plan_files()` and, since 0.10, `table.inspect.files()` with what has its rows
    and `inspect.entries()` are made of columns. All read through the table's own `FileIO`. What lakebed does
    not read as PyIceberg does, PyIceberg's own code reads: `status()` counts it, with the reason. Does
    nothing where it is installed already.

    Raises: ImportError without PyIceberg; UnsupportedError for a version of it that is not known to work.
    """
    BELOW.install()


def uninstall() -> None:
    """Puts back what `install` found. Does nothing where it is not installed.

    Entries that were read before stay as they are. Where another library has since put a function of its own
    over one of lakebed's, that one stays, and what it calls is PyIceberg's own code again.
    """
    BELOW.uninstall()


@contextmanager
def installed() -> Iterator[None]:
    """Installs lakebed below PyIceberg for a block, in all threads; leaves it where it was there before.

    >>> with lakebed.pyiceberg.installed():
    ...     tasks = table.scan(row_filter="region = 'emea'").plan_files()
    """
    with BELOW.installed():
        yield


def status() -> Status:
    """Whether lakebed is below PyIceberg, how often each of them has answered, and why PyIceberg did."""
    tally = BELOW.tally
    with tally.lock:
        return Status(BELOW.is_installed, BELOW.version, dict(tally.by_lakebed), dict(tally.by_library))
