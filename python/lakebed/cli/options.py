"""Arguments and options that several commands share."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import click

Command = TypeVar("Command", bound=Callable[..., Any])

FORMATS = ("table", "json", "csv", "arrow", "parquet")


def _names(_context: click.Context, _parameter: click.Parameter, value: str | None) -> list[str] | None:
    return None if value is None else [name.strip() for name in value.split(",")]


table = click.argument("table")
snapshot = click.option(
    "--snapshot", type=int, metavar="N", help="The table at snapshot N, not at the latest."
)
where = click.option(
    "--where", metavar="SQL", help="Condition, such as \"dt >= '2026-01-01' AND bucket = 3\"."
)
columns = click.option("--columns", metavar="A,B", callback=_names, help="These columns, in this order.")
stats = click.option(
    "--stats", metavar="A,B", callback=_names, help="Typed bounds and counts of these columns."
)
limit = click.option("--limit", type=click.IntRange(min=0), metavar="N", help="N rows at most.")


def output(command: Command) -> Command:
    """`-o` and `--output-file`."""
    form = click.option(
        "-o",
        "--output",
        type=click.Choice(FORMATS),
        default="table",
        show_default=True,
        help="Form of the rows. json: one object a line. arrow: IPC file, or IPC stream on standard output.",
    )
    file = click.option(
        "--output-file",
        type=click.Path(dir_okay=False),
        metavar="F",
        help="Write to F instead of standard output; F appears only when it is complete.",
    )
    return form(file(command))
