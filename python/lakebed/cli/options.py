"""Arguments and options that several commands share."""

from __future__ import annotations

import contextlib
import functools
import importlib
import runpy
import shlex
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar, cast

import click

import lakebed
from lakebed import _texts, fleet
from lakebed._arguments import unwrapping
from lakebed._display import words_of
from lakebed._native import FORMATS, Cache, ReadLimit
from lakebed.advice import TableName
from lakebed.advice.calls import ENGINES
from lakebed.advice.names import of_folders
from lakebed.catalogs import load_catalog, load_table
from lakebed.cli import render
from lakebed.cli.rows import Order, is_named
from lakebed.errors import LakebedError, PredicateError, SchemaError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from datetime import datetime

    from lakebed.scan import Scan
    from lakebed.table import Table

Command = TypeVar("Command", bound=Callable[..., Any])

OUTPUTS = ("table", "json", "csv", "arrow", "parquet")


def read_by(read: Callable[[Any], Any]) -> Callable[..., Any]:
    """A callback that reads a text, of which `read` says in a ValueError what is wrong with it."""

    def callback(_context: click.Context, _parameter: click.Parameter, value: Any) -> Any:
        try:
            return None if value is None else read(value)
        except ValueError as error:
            raise click.BadParameter(str(error)) from None

    return callback


names, prefixes = read_by(_texts.names), read_by(_texts.pairs)


def _imported(text: str) -> Any:
    """The object of a module or of a Python file, `MODULE:NAME`. Raises: ValueError where there is none."""
    module, _, name = text.rpartition(":")
    try:
        if module.endswith(".py"):
            found = runpy.run_path(module)[name]
        else:
            found = getattr(importlib.import_module(module), name)
        return unwrapping(found)
    except (ImportError, OSError, AttributeError, KeyError, TypeError) as error:
        raise ValueError(f"{text!r} is nothing that unwraps keys: {error}") from error


def _cache(context: click.Context, _: click.Parameter, folder: str | None) -> Cache | None:
    # Nor to make a folder.
    return None if folder is None or context.resilient_parsing else Cache(folder=folder)


def _read_keys(context: click.Context, parameter: click.Parameter, text: str | None) -> Any:
    # Whoever presses Tab does not want to run it.
    return None if context.resilient_parsing else read_by(_imported)(context, parameter, text)


catalog = click.option(
    "--catalog",
    metavar="NAME",
    help="TABLE is a name such as db.orders in this catalog of PyIceberg's configuration.",
)
relocate = click.option(
    "--relocate",
    multiple=True,
    callback=prefixes,
    metavar="OLD=NEW",
    help="For a table that was copied or moved: files that its metadata has below OLD are now below NEW. "
    "May be repeated.",
)
_OPENING = (
    catalog,
    click.option(
        "--format",
        type=click.Choice(FORMATS),
        help="The table format, where a folder could be taken for either.",
    ),
    relocate,
    click.option(
        "--allow",
        "allowed",
        multiple=True,
        metavar="PREFIX",
        help="Open only files below the table, below NEW of --relocate and below PREFIX, whatever metadata "
        "names. May be repeated.",
    ),
    click.option(
        "--keys",
        callback=_read_keys,
        metavar="MODULE:NAME",
        help="What unwraps keys of an encrypted table: a function of the wrapped bytes and a key's id, or "
        "a client with such a method; of a module, or of a file as in keys.py:unwrap.",
    ),
    click.option(
        "--cache",
        callback=_cache,
        metavar="FOLDER",
        help="Keep what is decoded of manifests in this folder, for you alone, and read it from there.",
    ),
)
_TRAVEL = (
    click.option("--snapshot", type=int, metavar="N", help="The table at snapshot N, not at the latest."),
    click.option("--tag", metavar="T", help="The table at tag T."),
    click.option(
        "--as-of",
        callback=read_by(_texts.instant),
        metavar="TIME",
        help="The table as it was at TIME: ISO 8601, in local time unless it names a zone, or milliseconds.",
    ),
    click.option(
        "--branch", metavar="B", help="The table on branch B, also with --snapshot, --tag or --as-of."
    ),
)


def table(command: Command, *, required: bool = True) -> Command:
    """TABLE, how to open it and at which version. The command gets `open_table`, which does; None without
    TABLE, where that need not be given.
    """

    @functools.wraps(command)
    def run(
        table: str | None, opener: Callable[..., Callable[[], Table]], catalog: str | None, **others: Any
    ) -> Any:
        def open_table() -> Table:
            return opener(load_table(loaded(catalog), table) if catalog and table else table)()

        return command(open_table=None if table is None else open_table, **others)

    return cast("Command", click.argument("table", required=required)(_opening(run)))


optional_table = functools.partial(table, required=False)
"""As `table`, where TABLE need not be given."""


def reopened(given: dict[str, Any]) -> Table:
    """A table as another command was given it: `table`, `catalog`, `format`, `branch`, `relocate`."""
    table, catalog = given["table"], given.get("catalog")
    how = {"format": given.get("format"), "relocate": given.get("relocate") or {}}
    return _opened(load_table(loaded(catalog), table) if catalog else table, how, given.get("branch"), {})


def tables(command: Command) -> Command:
    """One TABLE or several, folders of tables and namespaces, as `table`. The command gets `tables`, each
    one's name and what opens it, and `is_fleet`, whether more than one table was asked for.
    """

    @functools.wraps(command)
    def run(
        table: tuple[str, ...], opener: Callable[..., Callable[[], Table]], catalog: str | None, **others: Any
    ) -> Any:
        if not table and not catalog:
            raise click.UsageError("Missing argument 'TABLE...'.")
        # One table may have all reads that its storage serves.
        limited = functools.partial(opener, reads=ReadLimit(fleet.READS))
        first = opener if len(table) == 1 else limited
        with render.progress("looking for tables"):
            if catalog:
                named = _of_catalog(catalog, table, opener, limited)
            else:
                named = fleet.of_paths(table, first, limited)
        is_fleet = [one.name for one in named] != list(table[:1])
        return command(tables=named, is_fleet=is_fleet, **others)

    return cast("Command", click.argument("table", nargs=-1)(_opening(run)))


def _of_catalog(
    catalog: str, wanted: tuple[str, ...], single: fleet.Opener, within: fleet.Opener
) -> list[fleet.NamedTable]:
    """The tables of a catalog. One that cannot be loaded is what is wrong with each table that is named."""
    try:
        return fleet.of_catalog(loaded(catalog), wanted, single, within)
    except (click.BadParameter, LakebedError, OSError) as error:
        if not wanted:
            raise
        return [fleet.NamedTable(name, name, fleet.raising(error)) for name in wanted]


def _opening(command: Callable[..., Any]) -> Callable[..., Any]:
    """How tables are opened: `opener`, for a path or a catalog's table, and `catalog`."""

    @functools.wraps(command)
    def run(
        snapshot: int | None,
        tag: str | None,
        as_of: datetime | int | None,
        branch: str | None,
        format: str | None,
        relocate: dict[str, str],
        allowed: tuple[str, ...],
        keys: Any,
        cache: Cache | None,
        **others: Any,
    ) -> Any:
        places = {"snapshot": snapshot, "tag": tag, "timestamp": as_of}
        at = {name: place for name, place in places.items() if place is not None}
        if len(at) > 1:
            raise click.UsageError("--snapshot, --tag and --as-of exclude each other")
        how: dict[str, Any] = {"format": format, "relocate": relocate, "allowed_prefixes": allowed or None}
        how |= {"keys": keys, "cache": cache}

        def opener(table: Any, reads: ReadLimit | None = None) -> Callable[[], Table]:
            return functools.partial(_opened, table, {**how, "concurrent_reads": reads}, branch, at)

        return command(opener=opener, **others)

    decorated: Callable[..., Any] = run
    for option in reversed((*_TRAVEL, *_OPENING)):
        decorated = option(decorated)
    return decorated


def as_opened(table: str) -> str:
    """A table as it is given to a command, with the options by which this one opens it."""
    given = click.get_current_context().params
    words = [table]
    for option in ("catalog", "format", "branch"):
        words += [f"--{option}", given[option]] if given.get(option) else []
    for old, new in (given.get("relocate") or {}).items():
        words += ["--relocate", f"{old}={new}"]
    return shlex.join(words)


def named(table: str) -> tuple[TableName, str]:
    """What a table is called that is given to a command, and the path that was given: "" where it is a name
    in a catalog.
    """
    catalog = click.get_current_context().params.get("catalog")
    if catalog is not None:
        return TableName(catalog, tuple(table.split("."))), ""
    return TableName(None, of_folders(table)), table


def _opened(table: Any, how: dict[str, Any], branch: str | None, at: dict[str, Any]) -> Table:
    opened = lakebed.open_table(table, **how)
    if branch is not None:
        opened = opened.at(branch=branch)
    return opened.at(**at) if at else opened


def loaded(catalog: str) -> Any:
    """A catalog of PyIceberg's configuration."""
    try:
        return load_catalog(catalog)
    except ValueError as error:
        raise click.BadParameter(str(error), param_hint="--catalog") from error


columns = click.option("--columns", metavar="A,B", callback=names, help="These columns, in this order.")
where = click.option(
    "--where",
    metavar="SQL",
    help="Condition on the table's columns, such as \"dt >= '2026-01-01' AND bucket = 3\": only files that "
    "may have such rows.",
)
filter = click.option(
    "--filter",
    metavar="SQL",
    help="Condition on the columns of the output, printed or not, such as 'file_size_in_bytes < 1MB'.",
)


def _no_where(_context: click.Context, _parameter: click.Parameter, value: str | None) -> None:
    if value is not None:
        raise click.UsageError(
            "--where tests columns of the table, for rows that are made of its files; "
            "--filter tests the columns of this output"
        )


no_where = click.option("--where", hidden=True, expose_value=False, callback=_no_where)
explain = click.option(
    "--explain", is_flag=True, help="Show what each step of the scan keeps, and why, instead of the rows."
)
limit = click.option("--limit", type=click.IntRange(min=0), metavar="N", help="N rows at most.")
_sort = click.option(
    "--sort", metavar="A,-B", callback=names, help="Order by these columns; largest first after a minus."
)


def order(command: Command) -> Command:
    """`--sort` and `--limit`. The command gets `order`, which has them."""

    @functools.wraps(command)
    def run(sort: list[str] | None, limit: int | None, **others: Any) -> Any:
        return command(order=Order(sort or (), limit), **others)

    return cast("Command", _sort(limit(run)))


@contextlib.contextmanager
def hinting(table: Table, view: str, of_all: Callable[[], Scan], condition: str | None) -> Iterator[None]:
    """Says more of what is wrong with a view's columns, or with a condition on them, in the block.

    Args: of_all, the view with all of its columns; condition, on these.
    """
    try:
        yield
    except SchemaError as error:
        if error.kind == "unknown-column" and error.field in table.schema.names:
            error.message += "; values of the table's columns are in partition, and --stats has their bounds"
        raise
    except PredicateError as error:
        for field in of_all().schema if condition else ():
            if is_named(field.name, condition or "") and (words := words_of(field, view)):
                meant = ", ".join(f"{number} ({word})" for number, word in words.items())
                error.message += f"; {field.name} is {meant}"
        raise


engine = click.option(
    "--engine",
    type=click.Choice(ENGINES),
    default=ENGINES[0],
    show_default=True,
    help="Whose calls are shown, where it has some for a problem. flink: SQL for Paimon, Java for Iceberg.",
)


def page_or_json(text: str) -> Callable[[Command], Command]:
    """`-o` of a command that has a page in words instead of rows."""
    forms = click.Choice(["table", "json"])
    return click.option("-o", "--output", type=forms, default="table", show_default=True, help=text)


def output_or(*others: str) -> Callable[[Command], Command]:
    """`-o`, `--spreadsheet` and `--output-file`, with more forms than `OUTPUTS`."""

    def decorate(command: Command) -> Command:
        @functools.wraps(command)
        def run(output: str, spreadsheet: bool, **others: Any) -> Any:
            if spreadsheet and output != "csv":
                raise click.UsageError("--spreadsheet is of -o csv")
            return command(output="spreadsheet" if spreadsheet else output, **others)

        form = click.option(
            "-o",
            "--output",
            type=click.Choice([*OUTPUTS, *others]),
            default="table",
            show_default=True,
            help="Form of the rows. json: one object a line. arrow: IPC file, or IPC stream on standard "
            "output.",
        )
        file = click.option(
            "--output-file",
            type=click.Path(dir_okay=False),
            metavar="F",
            help="Write to F instead of standard output; F appears only when it is complete.",
        )
        spreadsheet = click.option(
            "--spreadsheet",
            is_flag=True,
            help="With -o csv, for spreadsheet programs: text that they would run as a formula gets ' before "
            "it, and control characters are spelled out.",
        )
        decorated: Any = run
        return cast("Command", form(spreadsheet(file(decorated))))

    return decorate


output = output_or()
