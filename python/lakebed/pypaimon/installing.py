"""Putting lakebed below pypaimon's own calls, and taking it away again."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from lakebed._below import Installation

if TYPE_CHECKING:
    from collections.abc import Iterator

VERSIONS = ("1.3", "1.4", "2.0", "2.1")
"""The versions of pypaimon whose own tests pass with lakebed below them."""
BELOW = Installation("pypaimon", "pypaimon", VERSIONS, "lakebed.pypaimon.replacing")


@dataclass(frozen=True)
class Status:
    """What lakebed has done below pypaimon in this process since it was first installed."""

    installed: bool
    """Whether lakebed is below pypaimon now."""
    version: str | None
    """pypaimon's, once it was installed below it."""
    by_lakebed: dict[str, int] = field(default_factory=dict)
    """How often lakebed answered: `manifests`, `manifest lists`."""
    by_pypaimon: dict[tuple[str, str], int] = field(default_factory=dict)
    """How often pypaimon's own code answered, by the same names and why."""


def install() -> None:
    """Lets pypaimon read manifests with lakebed until `uninstall`, in all threads: the same answers, sooner.

    `table.new_read_builder().new_scan().plan()`, with filters, limits and shards, and all else that reads
    manifests (commits, `$files`, streams) get entries whose files are objects of a subclass of pypaimon's
    `DataFileMeta`, equal to its own, which make keys and statistics when they are asked for; pickles and
    copies of them are its own. Filters are pypaimon's own, and so is all reading, through the table's own
    `FileIO`. What lakebed does not read as pypaimon does, pypaimon's own code reads: `status()` counts it,
    with the reason. Plans that pypaimon lets pypaimon-rust make stay as they are. Does nothing where it is
    installed already.

    Raises: ImportError without pypaimon; UnsupportedError for a version of it that is not known to work.
    """
    BELOW.install()


def uninstall() -> None:
    """Puts back what `install` found. Does nothing where it is not installed.

    Files that were read before stay as they are. Where another library has since put a function of its own
    over one of lakebed's, that one stays, and what it calls is pypaimon's own code again.
    """
    BELOW.uninstall()


@contextmanager
def installed() -> Iterator[None]:
    """Installs lakebed below pypaimon for a block, in all threads; leaves it where it was there before.

    >>> with lakebed.pypaimon.installed():
    ...     splits = table.new_read_builder().new_scan().plan().splits()
    """
    with BELOW.installed():
        yield


def status() -> Status:
    """Whether lakebed is below pypaimon, how often each of them has answered, and why pypaimon did."""
    tally = BELOW.tally
    with tally.lock:
        return Status(BELOW.is_installed, BELOW.version, dict(tally.by_lakebed), dict(tally.by_library))
