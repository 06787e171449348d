"""Thresholds of `lakebed.toml`: that of the project, then that of the user."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lakebed._texts import size
from lakebed.advice.thresholds import NAMES, WHOLE
from lakebed.errors import ConfigurationError

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

if TYPE_CHECKING:
    from collections.abc import Iterator

FILE = "lakebed.toml"
"""What the files are called."""

_TABLE = "thresholds"


def configured(folder: Path | None = None) -> list[tuple[str, dict[str, float]]]:
    """Where thresholds are configured, and what they are; the first to count first.

    `lakebed.toml` of the folder, or of the nearest one above it that has such a file, then that of
    `$XDG_CONFIG_HOME/lakebed` (`~/.config/lakebed`). Of both, `[thresholds]` is read.

    Args: folder, the working directory unless it is given.
    Raises: ConfigurationError, with the file and the key; OSError for a file that cannot be read.
    """
    return [(str(path), read(path)) for path in _files(Path.cwd() if folder is None else folder)]


def read(path: Path) -> dict[str, float]:
    """The thresholds of one file. Raises: as `configured`."""
    try:
        document = tomllib.loads(path.read_bytes().decode("utf-8"))
    except (UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise _wrong(path, None, "toml", f"is not TOML: {error}") from error
    table = document.get(_TABLE, {})
    if not isinstance(table, dict):
        raise _wrong(path, _TABLE, "type", f"is {table!r}, not a table")
    found = {}
    for name, value in table.items():
        key = f"{_TABLE}.{name}"
        if name not in NAMES:
            raise _wrong(path, key, "unknown-key", f"is no threshold; they are {', '.join(NAMES)}")
        try:
            found[name] = checked(name, value)
        except ValueError as error:
            raise _wrong(path, key, "type", str(error)) from None
    return found


def checked(name: str, value: Any) -> float:
    """The value of a threshold, which may be a text: `small_bytes` takes a unit. Raises: ValueError."""
    if name == "small_bytes" and isinstance(value, str):
        return size(value)
    is_whole = name in WHOLE
    try:
        number = float(value) if isinstance(value, str) and not is_whole else value
        number = int(number) if isinstance(number, str) else number
    except ValueError:
        number = None
    if (
        not isinstance(number, int if is_whole else int | float)
        or isinstance(number, bool)
        or not number >= 0
    ):
        raise ValueError(f"is {value!r}, not {'a whole number' if is_whole else 'a number'} of 0 or more")
    return number


def _files(folder: Path) -> Iterator[Path]:
    near = (above / FILE for above in (folder, *folder.parents))
    home = os.environ.get("XDG_CONFIG_HOME") or Path.home() / ".config"
    project = next((path for path in near if path.is_file()), None)
    user = Path(home, "lakebed", FILE)
    if project is not None:
        yield project
    if user.is_file() and user != project:
        yield user


def _wrong(path: Path, key: str | None, kind: str, message: str) -> ConfigurationError:
    place = str(path) if key is None else f"{path}: {key}"
    return ConfigurationError(f"{place} {message}", kind=kind, path=str(path), field=key)
