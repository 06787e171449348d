"""Tests of trust have a short form and a long one, and print what they found as figures.

`LAKEBED_TRUST=1`, which `make trust` sets, asks for the long form.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import TypeVar

THOROUGH = bool(os.environ.get("LAKEBED_TRUST"))

Figure = Callable[[str, str], None]
"""Takes a goal and what was found, in words; what the fixture `figure` gives."""

_T = TypeVar("_T")


def long_or(usual: _T, thorough: _T) -> _T:
    """One of two sizes of a test."""
    return thorough if THOROUGH else usual
