"""`lakebed diff`, `lakebed appends` and `lakebed file-history`: which files came and went."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import click

from lakebed._display import FIRST
from lakebed.cli import options

if TYPE_CHECKING:
    from lakebed.cli.rows import Picking
    from lakebed.scan import Scan
    from lakebed.table import Table

_SELECTION = (options.where, options.columns, options.stats, options.picking, options.output)


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
    picking: Picking,
    output: str,
    output_file: str | None,
    **selection: Any,
) -> None:
    """Files that the commit of each snapshot added and removed, oldest first.

    Which one it was of a file: --where "file_path = '…'".
    """
    if explain:
        from lakebed.cli.output import write_explain

        write_explain(open_table().file_history(**selection).explain(), output, output_file)
        return
    _write(open_table().file_history, (), picking, output, output_file, **selection)


def _write(
    view: Callable[..., Scan],
    places: tuple[int | str | None, ...],
    picking: Picking,
    output: str,
    output_file: str | None,
    **selection: Any,
) -> None:
    from lakebed.cli.output import write

    scan, name = picking.scan(view, *places, **selection), view.__name__
    first = () if selection["columns"] else FIRST[name]
    all_rows = picking.limit is not None
    rows = picking.of(scan, selection["columns"])
    write(rows, output, output_file, all_rows=all_rows, first=first, view=name)
