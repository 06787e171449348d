"""What is where no table is."""

from __future__ import annotations

import contextlib
import os
from collections import deque
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

from lakebed._text import printable
from lakebed.storage.paths import URI

if TYPE_CHECKING:
    from lakebed.errors import TableNotFoundError

_NAMED = 5
# How many folders, and entries of one, are looked at: the path may be that of a whole disk.
_FOLDERS = 1_000
# How far up a table is looked for: from a bucket of a partition of two keys.
_LEVELS = 4


def explained(error: TableNotFoundError) -> TableNotFoundError:
    """The error for a local path, with what is there instead; that of anything else as it is.

    Cost: lists folders below the path until some tables are found, `_FOLDERS` at most, and a few of those
        above it.
    """
    if error.path is not None and not URI.match(error.path):
        # What cannot be looked at says nothing.
        with contextlib.suppress(OSError):
            error.message = _instead(error.path) or error.message
    return error


def _instead(path: str) -> str | None:
    folder, shown = Path(path), printable(path)
    if not folder.exists():
        if folder.suffix in (".json", ".gz"):
            # No folder was meant, and the error is about the file.
            return None
        of_catalog = "; for a table of a catalog: --catalog NAME, or open_table(catalog.load_table(…))"
        return f"there is no folder {shown}" + ("" if "/" in path else of_catalog)
    if not folder.is_dir():
        return f"{shown} is a file: a table is a folder, or a *.metadata.json of Iceberg"
    if _is_table(folder):
        # Of another format, or one whose metadata file cannot be chosen: the error says so.
        return None
    if below := _tables_below(folder):
        more = f", …: `lakebed find {shown}` has all" if len(below) > _NAMED else ""
        return f"{shown} is not a table; tables below it: {printable(', '.join(below[:_NAMED]))}{more}"
    for above in folder.absolute().parents[:_LEVELS]:
        if _is_table(above):
            return f"{shown} is not a table; it is a folder of the table {printable(str(above))}"
    return None


def _tables_below(folder: Path) -> list[str]:
    """Some tables below a folder, near ones first."""
    found, waiting, left = list[str](), deque([folder]), _FOLDERS
    while waiting and left and len(found) <= _NAMED:
        left -= 1
        with contextlib.suppress(OSError), os.scandir(waiting.popleft()) as entries:
            some = sorted(islice(entries, _FOLDERS), key=lambda entry: entry.name)
            for inner in [Path(entry.path) for entry in some if entry.is_dir(follow_symlinks=False)]:
                if _is_table(inner):
                    found.append(str(inner))
                else:
                    waiting.append(inner)
    return found


def _is_table(folder: Path) -> bool:
    return any(folder.glob("schema/schema-*")) or any(folder.glob("metadata/*.metadata.json"))
