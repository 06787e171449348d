"""One command per view of a table."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import click

from lakebed._display import FIRST, threshold
from lakebed.cli import options

if TYPE_CHECKING:
    from lakebed.cli.rows import Picking
    from lakebed.table import Table

VIEWS = {
    "snapshots": "One row per snapshot of the table.",
    "changelogs": "(Paimon) One row per long-lived changelog, whose snapshot expired.",
    "refs": "One row per branch and tag.",
    "schemas": "One row per version of the schema.",
    "manifests": "One row per manifest of the snapshot.",
    "entries": "One row per manifest entry, as stored.",
    "files": "One row per live file.",
    "partitions": "One row per partition that has files.",
    "buckets": "One row per bucket that has files.",
    "health": "One row about how the table is: file sizes, deletes, layout of the manifests.",
    "deletes": "One row per deletion vector or delete file.",
    "plan": "One row per data file that a query must read, with the deletes that apply to it.",
    "indexes": "(Paimon) One row per index file.",
    "growth": "One row per snapshot: what is live there, what its commit added and removed.",
}
# The order in which a terminal gets the rows of groups, unless `--sort` says another.
_TERMINAL_SORT = {"partitions": ["-file_size_in_bytes"], "buckets": ["-file_size_in_bytes"]}
_WITH_STATS = frozenset({"entries", "files", "plan"})
_WITH_EXPLAIN = frozenset(
    ("entries", "files", "partitions", "buckets", "health", "deletes", "plan", "growth"),
)


def view_command(view: str) -> click.Command:
    """The command that prints a view."""

    def run(
        open_table: Callable[[], Table],
        output: str,
        output_file: str | None,
        picking: Picking,
        explain: bool = False,
        **selection: Any,
    ) -> None:
        from lakebed.cli import render
        from lakebed.cli.output import write, write_explain

        scan = picking.scan(getattr(open_table(), view), **selection)
        if explain:
            write_explain(scan.explain(), output, output_file)
            return
        is_shown = sys.stdout.isatty() and output == "table" and output_file is None
        if is_shown and not picking.sort:
            sort = [name for name in _TERMINAL_SORT.get(view, []) if name[1:] in scan.schema.names]
            picking = replace(picking, sort=sort)
        first = () if selection["columns"] else FIRST[view]
        rows, all_rows = picking.of(scan, selection["columns"]), picking.limit is not None
        write(rows, output, output_file, all_rows=all_rows, first=first, view=view)
        if is_shown and "small_bytes" in selection:
            render.note(f"small: below {threshold(selection['small_bytes'])} (--small-bytes)")

    decorators = [options.table, options.where, options.columns]
    decorators += [options.stats] if view in _WITH_STATS else []
    decorators += [options.deletes, options.row_limit] if view == "plan" else []
    decorators += [options.small_bytes] if view == "partitions" else []
    decorators += [options.explain] if view in _WITH_EXPLAIN else []
    decorators += [options.picking, options.output]
    for decorate in reversed(decorators):
        run = decorate(run)
    return click.command(name=view, help=VIEWS[view])(run)
