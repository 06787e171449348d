"""What is odd about files and no error, as warnings at the line that read them."""

from __future__ import annotations

import os
import sys
import warnings
from pathlib import Path
from typing import TYPE_CHECKING

from lakebed._text import printable
from lakebed.errors import LakebedWarning

if TYPE_CHECKING:
    from collections.abc import Sequence

_PACKAGE = str(Path(__file__).parent) + os.sep


def warn(notes: Sequence[str]) -> None:
    """Warns of each note, at the innermost line outside this package. The compiled core calls it."""
    frame, level = sys._getframe(), 1
    while frame.f_back is not None and frame.f_code.co_filename.startswith(_PACKAGE):
        frame, level = frame.f_back, level + 1
    for note in notes:
        warnings.warn(printable(note), LakebedWarning, stacklevel=level)
