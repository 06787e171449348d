"""What a command has for each keyword of a view's method."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import click

from lakebed import _texts
from lakebed.cli import options, thresholds

_version = options.read_by(_texts.version_or_time)


def _dataset(context: click.Context, _parameter: click.Parameter, file: str | None) -> Any:
    """What is there, as a file has it."""
    if file is None or context.resilient_parsing:
        return None
    from pyarrow import dataset

    endings = {"csv": "csv", "arrow": "ipc", "feather": "ipc", "ipc": "ipc"}
    return dataset.dataset(file, format=endings.get(file.rpartition(".")[2].lower(), "parquet"))


OF_KEYWORDS: dict[str, Callable[..., Any]] = {
    "snapshot_a": click.argument("snapshot_a", metavar="A", callback=_version),
    "snapshot_b": click.argument("snapshot_b", metavar="B", callback=_version),
    "after": click.argument("after", metavar="[AFTER]", callback=_version, required=False),
    "to": click.argument("to", metavar="[TO]", callback=_version, required=False),
    "name": click.argument(
        "name", required=False, callback=lambda _context, _parameter, name: name and name.removeprefix("$")
    ),
    "older_than": click.option(
        "--older-than",
        callback=options.read_by(_texts.age),
        metavar="AGE",
        help="What is old: an age such as 5d or 12h, or a time.",
    ),
    "listing": click.option(
        "--listing",
        type=click.Path(exists=True, dir_okay=True),
        callback=_dataset,
        metavar="FILE",
        help="What is there: Parquet, Arrow or CSV with path, size and modified, as an inventory has them.",
    ),
    "retain_last": click.option(
        "--retain-last", type=click.IntRange(1), help="So many snapshots stay, whatever the table says."
    ),
    "equal_schemes": click.option(
        "--equal-scheme",
        "equal_schemes",
        multiple=True,
        callback=options.prefixes,
        metavar="A=B",
        help="Scheme A means what B means.",
    ),
    "equal_authorities": click.option(
        "--equal-authority",
        "equal_authorities",
        multiple=True,
        callback=options.prefixes,
        metavar="A=B",
        help="Bucket or host A means what B means.",
    ),
    "engine": click.option(
        "--engine", type=click.Choice(["spark"]), default="spark", help="Whose compaction.", show_default=True
    ),
    "kinds": click.option(
        "--kinds",
        metavar="A,B",
        callback=options.names,
        help="Of hints, main, lists, rollback, snapshots, manifests, duplicates, vectors, foreign_deletes, "
        "data_files, delete_files, sizes and metrics; without it hints and main.",
    ),
    "options": click.option(
        "--option",
        "options",
        multiple=True,
        callback=options.prefixes,
        metavar="NAME=TEXT",
        help="An option of the engine's.",
    ),
    "deletes": click.option(
        "--deletes",
        type=click.Choice(["list", "ids"]),
        default="list",
        show_default=True,
        help="Deletes of a file in full, or as their row numbers, from 0, in the output of `deletes` with "
        "the same --where.",
    ),
    "row_limit": click.option(
        "--row-limit",
        type=click.IntRange(min=0),
        metavar="N",
        help="Stop at the file with which the files hold N rows of the table, where that can be known.",
    ),
    "small_bytes": thresholds.small_bytes,
    "columns": options.columns,
    "where": options.where,
    "filter": options.filter,
    "stats": click.option(
        "--stats", metavar="A,B", callback=options.names, help="Typed bounds and counts of these columns."
    ),
}
