"""What the Tab key completes: paths, tables of catalogs, columns, metadata tables, tags and branches.

Imported where a shell asks for completions, and else not.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Iterable
from functools import partial
from typing import TYPE_CHECKING, Any, TypeAlias

import click
from click.shell_completion import (
    BashComplete,
    CompletionItem,
    FishComplete,
    ShellComplete,
    ZshComplete,
    add_completion_class,
)

import lakebed
from lakebed._display import FIRST
from lakebed.advice.thresholds import NAMES
from lakebed.catalogs import catalog_names, list_tables, load_catalog
from lakebed.cli import options
from lakebed.cli.views import VIEWS, command_of
from lakebed.errors import LakebedError

if TYPE_CHECKING:
    from lakebed.scan import Scan
    from lakebed.table import Table

# Before click 8.2 its class has no parameters.
Items: TypeAlias = "list[CompletionItem[str]]"
Names = Callable[[dict[str, Any], click.Command], Iterable[str]]

# Before a word that begins with a minus, which click would take for an option.
_MARK = "\n"


class _Shell(ShellComplete):
    """Of every shell."""

    def get_completions(self, args: list[str], incomplete: str) -> Items:
        """The completions. `--sort` takes columns that begin with a minus."""
        # A context that ends with an option knows nothing of what is before it: it is parsed again.
        self.ctx_args = {**self.ctx_args, "obj": args}
        marked = _MARK + incomplete if args[-1:] == ["--sort"] else incomplete
        return super().get_completions(args, marked)


class _Bash(_Shell, BashComplete):
    pass


class _Zsh(_Shell, ZshComplete):
    pass


class _Fish(_Shell, FishComplete):
    # What is completed may have commas.
    source_template = FishComplete.source_template.replace('split ","', 'split -m 1 ","')


def install(cli: click.Group) -> None:
    """Has the commands say what completes their arguments, and the shells ask them."""
    for shell in (_Bash, _Zsh, _Fish):
        add_completion_class(shell)
    for command in cli.commands.values():
        for parameter in command.params:
            if completes := _COMPLETES.get(parameter.name or ""):
                parameter.shell_complete = completes  # type: ignore[method-assign, assignment]


def _path(kind: str, _context: click.Context, incomplete: str) -> Items:
    """The shell's own completion of paths. Args: kind, "dir" or "file"."""
    return [CompletionItem(incomplete, type=kind)]


def _table(context: click.Context, incomplete: str) -> Items:
    if _given(context).get("catalog"):
        return _named(_tables, context, incomplete)
    return _path("dir", context, incomplete)


def _prefix(context: click.Context, incomplete: str) -> Items:
    if _given(context).get("catalog"):
        return _named(_namespaces, context, incomplete)
    return _path("dir", context, incomplete)


def _named(names: Names, context: click.Context, incomplete: str) -> Items:
    """The names that begin with what is typed; none where nothing can be asked for them: the command itself
    says why.
    """
    # A shell would write over its prompt.
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            known = list(names(_given(context), context.command))
        except (LakebedError, OSError, ValueError, TypeError, ImportError, click.BadParameter):
            return []
    return [CompletionItem(name) for name in known if name.startswith(incomplete)]


def _listed(names: Names, context: click.Context, incomplete: str) -> Items:
    """The last of some names with commas between them, of those that are not there yet."""
    before, comma, last = incomplete.removeprefix(_MARK).rpartition(",")
    minus = "-" if last.startswith("-") else ""
    there = {name.removeprefix("-") for name in before.split(",")}
    found = _named(names, context, last.removeprefix("-"))
    return [
        CompletionItem(f"{before}{comma}{minus}{item.value}") for item in found if item.value not in there
    ]


def _given(context: click.Context) -> dict[str, Any]:
    """What the command was given so far, without an option that still has no value."""
    words: list[str] = (context.obj or [])[1:]
    if words and words[-1].startswith("-"):
        words = words[:-1]
    again = context.command.make_context(
        context.info_name, list(words), parent=context.parent, resilient_parsing=True
    )
    return again.params


def _catalogs(_given: dict[str, Any], _command: click.Command) -> Iterable[str]:
    return catalog_names() or ()


def _tables(given: dict[str, Any], _command: click.Command) -> Iterable[str]:
    return list_tables(load_catalog(given["catalog"]))


def _namespaces(given: dict[str, Any], command: click.Command) -> Iterable[str]:
    """Those that have tables, and those around these."""
    parts = [name.split(".") for name in _tables(given, command)]
    return dict.fromkeys(".".join(one[:depth]) for one in parts for depth in range(1, len(one)))


def _thresholds(_given: dict[str, Any], _command: click.Command) -> Iterable[str]:
    return [f"{name}=" for name in NAMES]


def _opened(given: dict[str, Any]) -> Table:
    """The table that the command was given, the first where it takes several."""
    named = given.get("table")
    name = named[0] if isinstance(named, tuple) and named else named
    if not isinstance(name, str):
        raise TypeError("no table yet")
    if not given.get("catalog"):
        name = os.path.expanduser(name)  # noqa: PTH111 - it may be a URI
    return options.reopened({**given, "table": name})


def _columns(given: dict[str, Any], command: click.Command) -> Iterable[str]:
    """The columns of what the command prints."""
    if command.name == "rewrite-paths":
        return FIRST["rewrite_paths"]
    if command.name == "find":
        scan: Scan = lakebed.find_tables(".")
    elif command.name == "avro":
        scan = lakebed.avro.read(given["file"])
    else:
        scan = _view(_opened(given), command.name or "", given)
    names: list[str] = scan.schema.names
    return names


def _view(table: Table, command: str, given: dict[str, Any]) -> Scan:
    own: dict[str, Any] = {"stats": given["stats"]} if given.get("stats") else {}
    if command == "diff":
        own |= {"snapshot_a": table.snapshot_id, "snapshot_b": table.snapshot_id}
    if command == "metadata":
        own["name"] = given["name"]
    view = next((view for view in VIEWS if command_of(view) == command), command)
    scan: Scan = getattr(table, view)(**own)
    return scan


def _columns_of_table(given: dict[str, Any], _command: click.Command) -> Iterable[str]:
    names: list[str] = _opened(given).schema.names
    return names


def _metadata_tables(given: dict[str, Any], _command: click.Command) -> Iterable[str]:
    return _opened(given).metadata_tables


def _refs(kind: str, given: dict[str, Any], _command: click.Command) -> Iterable[str]:
    refs = _opened(given).refs(columns=["name"], filter=f"type = '{kind}'").to_arrow()
    names: list[str] = refs["name"].to_pylist()
    return names


_COMPLETES: dict[str, Callable[[click.Context, str], Items]] = {
    "table": _table,
    "prefix": _prefix,
    **dict.fromkeys(("roots", "to", "cache"), partial(_path, "dir")),
    "file": partial(_path, "file"),
    **dict.fromkeys(("catalog", "catalogs"), partial(_named, _catalogs)),
    **dict.fromkeys(("columns", "sort"), partial(_listed, _columns)),
    "stats": partial(_listed, _columns_of_table),
    "given": partial(_named, _thresholds),
    "name": partial(_named, _metadata_tables),
    "tag": partial(_named, partial(_refs, "tag")),
    "branch": partial(_named, partial(_refs, "branch")),
}
"""By the names of parameters."""
