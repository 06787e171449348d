"""One command per view of a table."""

from __future__ import annotations

from typing import Any

import click

from lakebed.cli import options

VIEWS = {
    "snapshots": "One row per snapshot of the table.",
    "schemas": "One row per version of the schema.",
    "manifests": "One row per manifest of the snapshot.",
    "entries": "One row per manifest entry, as stored.",
    "files": "One row per live data file.",
}
_WITH_STATS = frozenset({"entries", "files"})


def view_command(view: str) -> click.Command:
    """The command that prints a view."""

    def run(
        table: str,
        snapshot: int | None,
        limit: int | None,
        output: str,
        output_file: str | None,
        **selection: Any,
    ) -> None:
        import lakebed
        from lakebed.cli.output import write

        opened = lakebed.open_table(table)
        if snapshot is not None:
            opened = opened.at(snapshot=snapshot)
        scan = getattr(opened, view)(limit=limit, **selection)
        write(scan, output, output_file, all_rows=limit is not None)

    decorators = [options.table, options.snapshot, options.where, options.columns]
    decorators += [options.stats] if view in _WITH_STATS else []
    decorators += [options.limit, options.output]
    for decorate in reversed(decorators):
        run = decorate(run)
    return click.command(name=view, help=VIEWS[view])(run)
