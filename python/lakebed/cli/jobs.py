"""`lakebed reachable`, `lakebed orphans` and `lakebed expire-plan`: what files are to a table."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any

import click

from lakebed._display import FIRST
from lakebed.cli import options

if TYPE_CHECKING:
    from lakebed.cli.rows import Picking
    from lakebed.table import Table
    from lakebed.view import ViewScan

_SELECTION = (options.where, options.columns, options.explain, options.picking, options.output)
_UNITS = {"s": "seconds", "m": "minutes", "h": "hours", "d": "days"}


def _age(
    _context: click.Context, _parameter: click.Parameter, value: str | None
) -> timedelta | datetime | None:
    """`3d`, `12h`, `0s`, or an instant as ISO 8601 has it."""
    if value is None:
        return None
    if match := re.fullmatch(r"(\d{1,9})\s*([smhd])", value.strip()):
        return timedelta(**{_UNITS[match[2]]: int(match[1])})
    try:
        return datetime.fromisoformat(value.replace("Z", "+00:00"))
    except ValueError:
        message = f"{value!r} is neither an age such as 3d, 12h or 30m nor an ISO 8601 time"
        raise click.BadParameter(message) from None


def _selecting(command: Callable[..., Any]) -> Callable[..., Any]:
    for decorate in reversed(_SELECTION):
        command = decorate(command)
    return command


@click.command("reachable")
@options.table
@_selecting
def reachable(open_table: Callable[[], Table], **selection: Any) -> None:
    """One row per file that anything of the table still reaches."""
    _write(open_table().reachable, "reachable", **selection)


@click.command("orphans")
@options.table
@click.option(
    "--older-than",
    callback=_age,
    default="3d",
    show_default=True,
    help="Only files modified longer ago, or before a time; younger ones may be of a commit under way.",
)
@click.option(
    "--listing",
    "listing_file",
    type=click.Path(exists=True, dir_okay=True),
    metavar="FILE",
    help="What lies there: Parquet, Arrow or CSV with path, size and modified, as an inventory has them.",
)
@click.option(
    "--equal-scheme", "equal_schemes", multiple=True, metavar="A=B", help="Scheme A means what B means."
)
@click.option(
    "--equal-authority",
    "equal_authorities",
    multiple=True,
    metavar="A=B",
    help="Bucket or host A means what B means.",
)
@_selecting
def orphans(
    open_table: Callable[[], Table],
    older_than: timedelta | datetime,
    listing_file: str | None,
    equal_schemes: tuple[str, ...],
    equal_authorities: tuple[str, ...],
    **selection: Any,
) -> None:
    """One row per file in the table's folders that nothing reaches. Nothing is deleted."""

    def view(**keywords: Any) -> ViewScan:
        return open_table().orphans(
            older_than,
            _dataset(listing_file),
            equal_schemes=_pairs("--equal-scheme", equal_schemes),
            equal_authorities=_pairs("--equal-authority", equal_authorities),
            **keywords,
        )

    _write(view, "orphans", **selection)


@click.command("expire-plan")
@options.table
@click.option(
    "--older-than", callback=_age, help="What is old, instead of the table's own rule: 5d, or a time."
)
@click.option(
    "--retain-last", type=click.IntRange(1), help="So many snapshots stay, whatever the table says."
)
@_selecting
def expire_plan(
    open_table: Callable[[], Table],
    older_than: timedelta | datetime | None,
    retain_last: int | None,
    **selection: Any,
) -> None:
    """Snapshots that an expiry would remove, and the files it would free. Nothing is deleted."""

    def view(**keywords: Any) -> ViewScan:
        return open_table().expire_plan(older_than, retain_last, **keywords)

    _write(view, "expire_plan", **selection)


def _dataset(file: str | None) -> Any:
    if file is None:
        return None
    from pyarrow import dataset

    endings = {"csv": "csv", "arrow": "ipc", "feather": "ipc", "ipc": "ipc"}
    return dataset.dataset(file, format=endings.get(file.rpartition(".")[2].lower(), "parquet"))


def _pairs(option: str, texts: tuple[str, ...]) -> dict[str, str]:
    pairs = [text.partition("=") for text in texts]
    if wrong := [text for text, (one, _, other) in zip(texts, pairs, strict=True) if not (one and other)]:
        raise click.BadParameter(f"{wrong[0]!r} is not A=B", param_hint=option)
    return {one: other for one, _, other in pairs}


def _write(
    view: Callable[..., ViewScan],
    name: str,
    picking: Picking,
    output: str,
    output_file: str | None,
    explain: bool,
    **selection: Any,
) -> None:
    from lakebed.cli.output import write, write_explain

    scan = picking.scan(view, **selection)
    if explain:
        write_explain(scan.explain(), output, output_file)
        return
    first = () if selection["columns"] else FIRST[name]
    rows = picking.of(scan, selection["columns"])
    write(rows, output, output_file, all_rows=picking.limit is not None, first=first)
