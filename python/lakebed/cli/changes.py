"""`lakebed diff`, `lakebed appends` and `lakebed file-history`: which files came and went."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import click

from lakebed.cli import options
from lakebed.cli.views import FIRST

if TYPE_CHECKING:
    from lakebed.scan import Scan
    from lakebed.table import Table

_SELECTION = (options.where, options.columns, options.stats, options.limit, options.output)


def _version(_context: click.Context, _parameter: click.Parameter, value: str | None) -> int | str | None:
    # Digits are an id: a tag that is called so is reached by --tag alone.
    return int(value) if value is not None and value.isdecimal() else value


def _selecting(command: Callable[..., Any]) -> Callable[..., Any]:
    for decorate in reversed(_SELECTION):
        command = decorate(command)
    return command


@click.command("diff")
@options.table
@click.argument("a", callback=_version)
@click.argument("b", callback=_version)
@_selecting
def diff(open_table: Callable[[], Table], a: int | str, b: int | str, **selection: Any) -> None:
    """Files that are live in A or in B, not in both.

    A and B are snapshots, or names of tags or branches: what B lacks was removed, what A lacks was added.
    """
    _write(open_table().diff, (a, b), **selection)


@click.command("appends")
@options.table
@click.argument("after", callback=_version, required=False)
@_selecting
def appends(open_table: Callable[[], Table], after: int | str | None, **selection: Any) -> None:
    """Data files that appends added after AFTER, a snapshot or the name of a tag or branch.

    Without AFTER, those of all appends that are still known.
    """
    _write(open_table().appends, (after,), **selection)


@click.command("file-history")
@options.table
@options.explain
@_selecting
def file_history(
    open_table: Callable[[], Table],
    explain: bool,
    limit: int | None,
    output: str,
    output_file: str | None,
    **selection: Any,
) -> None:
    """Files that the commit of each snapshot added and removed, oldest first.

    Which one it was of a file: --where "file_path = '…'".
    """
    from lakebed.cli.output import write, write_explain

    scan = open_table().file_history(limit=limit, **selection)
    if explain:
        write_explain(scan.explain(), output, output_file)
        return
    first = () if selection["columns"] else ("change", "snapshot_id", "committed_at", *FIRST["files"])
    write(scan, output, output_file, all_rows=limit is not None, first=first)


def _write(
    view: Callable[..., Scan],
    places: tuple[int | str | None, ...],
    limit: int | None,
    output: str,
    output_file: str | None,
    **selection: Any,
) -> None:
    from lakebed.cli.output import write

    scan = view(*places, limit=limit, **selection)
    first = () if selection["columns"] else ("change", *FIRST["files"])
    write(scan, output, output_file, all_rows=limit is not None, first=first)
