"""Tests have a short form and a long one, and those of trust print what they found as figures.

`LAKEBED_TRUST=1`, which `make trust` sets, asks for the long form. With `LAKEBED_QUICK=1` `make check`
takes golden tables through tests that together have what all have, and repeats less; the short form takes
all of them. Of filters that engines planned by, the short form takes every other, `make check` every third.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from typing import TypeVar
from zlib import crc32

import pytest

THOROUGH = bool(os.environ.get("LAKEBED_TRUST"))
QUICK = bool(os.environ.get("LAKEBED_QUICK")) and not THOROUGH

not_in_check = pytest.mark.skipif(QUICK, reason="make test has it: it waits, or starts processes")

Figure = Callable[[str, str], None]
"""Takes a goal and what was found, in words; what the fixture `figure` gives."""

_T = TypeVar("_T")


def long_or(usual: _T, thorough: _T, quick: _T | None = None) -> _T:
    """One of two sizes of a test, or of three."""
    if QUICK and quick is not None:
        return quick
    return thorough if THOROUGH else usual


def some(rows: Sequence[_T], name: str) -> Sequence[_T]:
    """Every other row in the short form, every third with `QUICK`, each name's from another on; else all."""
    step = 1 if THOROUGH else 3 if QUICK else 2
    return rows[crc32(name.encode()) % step :: step]


def in_turn(items: Sequence[_T], name: str) -> Sequence[_T]:
    """One of them, another for another name; in the long form all."""
    return items if THOROUGH else items[crc32(name.encode()) % len(items) :][:1]
