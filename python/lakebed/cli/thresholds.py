"""Options that say from which number on something is a problem."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, cast

import click

from lakebed import _texts
from lakebed.advice import Thresholds
from lakebed.advice.configuration import checked, configured
from lakebed.advice.thresholds import NAMES
from lakebed.cli.options import Command, read_by

if TYPE_CHECKING:
    from collections.abc import Mapping

    from lakebed.table import Table


small_bytes = click.option(
    "--small-bytes",
    callback=read_by(_texts.size),
    default="32MiB",
    show_default=True,
    metavar="SIZE",
    help="Data files with fewer bytes are small. SIZE is such as 16MB or 128MiB.",
)
_small_bytes = click.option(
    "--small-bytes",
    callback=read_by(_texts.size),
    metavar="SIZE",
    help="Data files with fewer bytes are small. SIZE is such as 16MB or 128MiB.  "
    "[default: 32MiB, less where the table's own files are smaller]",
)
_threshold = click.option(
    "--threshold",
    "given",
    multiple=True,
    callback=read_by(lambda texts: dict(map(_threshold_of, texts))),
    metavar="NAME=N",
    help="From which number on something is a problem, such as snapshots=1000 (--thresholds lists them); "
    "before lakebed.toml, which is before the table's properties. May be repeated.",
)


def _threshold_of(text: str) -> tuple[str, float]:
    """A threshold and its value. Raises: ValueError."""
    name, _, value = text.partition("=")
    if name not in NAMES:
        raise ValueError(f"{name!r} is no threshold; they are {', '.join(NAMES)}")
    try:
        return name, checked(name, value)
    except ValueError as error:
        raise ValueError(f"{name} {error}") from None


def thresholds(command: Command) -> Command:
    """`--small-bytes` and `--threshold`. The command gets `limits_of`, which says those of a table."""

    @functools.wraps(command)
    def run(small_bytes: int | None, given: dict[str, float], **others: Any) -> Any:
        asked = given if small_bytes is None else {**given, "small_bytes": small_bytes}
        return command(limits_of=thresholds_of(asked), **others)

    return cast("Command", _small_bytes(_threshold(run)))


def thresholds_of(asked: Mapping[str, float]) -> Callable[[Table], Thresholds]:
    """What says a table's thresholds: those asked for, those of `lakebed.toml`, the table's.

    Raises: ConfigurationError, OSError.
    """
    given = [("command line", asked), *configured()]
    return lambda table: Thresholds.of(table.format, table.properties, *given)
