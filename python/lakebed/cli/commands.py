"""All commands by name: what `lakebed --help` prints of each, and how it is made once it is asked for.

Importing them all takes several times as long as printing the help.
"""

from __future__ import annotations

from collections.abc import Iterator, MutableMapping
from importlib import import_module

import click

# In the order of a first look; views have the names of their methods.
SECTIONS = {
    "A table": {
        "show": "Format, columns, snapshot, size and problems, on one screen.",
        "health": "Problems of one table or several, and what ends them.",
        "report": "One HTML page about tables, with pictures.",
        "find": "The tables below a folder, or of a catalog.",
    },
    "Its files": {
        "files": "Live files, delete files included.",
        "partitions": "Partitions, with their files, rows and bytes.",
        "buckets": "Buckets, with the same.",
        "plan": "Data files that a query must read, with their deletes.",
        "deletes": "Delete files and deletion vectors, and what they apply to.",
        "diff": "Files that are live in one of two snapshots.",
        "appends": "Data files that appends added after a snapshot.",
        "changes": "Data files in which commits after a snapshot changed rows.",
        "columns": "Columns, with nulls, bounds and bytes over all files.",
        "overlap": "How many files may have a value of a column, by partition.",
        "compaction-plan": "Files that an engine's compaction would rewrite.",
    },
    "Its history": {
        "snapshots": "Snapshots, the oldest first.",
        "growth": "What was live after each commit, and what it changed.",
        "file-history": "Files that each commit added and removed.",
        "refs": "Branches and tags.",
        "schemas": "Versions of the schema.",
        "changelogs": "Changelogs that are kept beyond their snapshots (Paimon).",
    },
    "What it keeps": {
        "verify": "What is wrong with the table's files.",
        "reachable": "All files that anything of the table needs.",
        "orphans": "Files in its folders that nothing needs.",
        "expire-plan": "Files that expiring snapshots would free.",
        "apply": "Do what a plan says that was reviewed.",
        "restore": "Move files back that `apply` put into quarantine.",
        "rewrite-paths": "Write the metadata anew for another place.",
        "totals": "Numbers and bytes of each kind of file, needed or not.",
        "dangling-deletes": "Deletes that apply to no live file.",
        "repair-plan": "What can be done about what is wrong.",
    },
    "Its metadata": {
        "manifests": "Manifests of the snapshot.",
        "entries": "Entries of its manifests, as stored.",
        "indexes": "Index files of the snapshot (Paimon).",
        "metadata": "A metadata table of the engine's own.",
        "avro": "Schema, codec, blocks and first rows of an Avro file.",
    },
    "Beside tables": {
        "demo": "Write two small tables, and show what commands say of them.",
        "doctor": "What is installed, what does not work, and what to do.",
        "mcp": "Answer assistants about tables.",
        "serve-plans": "Serve a catalog's tables with plans, as a REST catalog.",
    },
}
# Where those are that are not a view's.
_OWN = {
    "apply": "cleaning.apply",
    "avro": "avro.command",
    "demo": "demo.command",
    "doctor": "doctor.command",
    "find": "find.command",
    "health": "health.command",
    "mcp": "mcp.command",
    "report": "report.command",
    "restore": "cleaning.restore",
    "rewrite-paths": "rewriting.command",
    "serve-plans": "serve_plans.command",
    "show": "show.command",
}


class Commands(MutableMapping[str, click.Command]):
    """The commands, each imported when it is asked for."""

    def __init__(self) -> None:
        names = (name for lines in SECTIONS.values() for name in lines)
        self._made: dict[str, click.Command | None] = dict.fromkeys(names)

    def __getitem__(self, name: str) -> click.Command:
        made = self._made[name]
        if made is None:
            made = self._made[name] = _made(name)
        return made

    def __setitem__(self, name: str, command: click.Command) -> None:
        self._made[name] = command

    def __delitem__(self, name: str) -> None:
        del self._made[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._made)

    def __len__(self) -> int:
        return len(self._made)


def _made(name: str) -> click.Command:
    if home := _OWN.get(name):
        module, attribute = home.split(".")
        command: click.Command = getattr(import_module(f"lakebed.cli.{module}"), attribute)
        return command
    from lakebed.cli import views

    return views.view_command(name)
