"""One command per view of a table, with an option for each keyword of the view's method."""

from __future__ import annotations

import inspect
import re
import sys
from collections.abc import Callable
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import click

from lakebed._display import FIRST, threshold
from lakebed._specs import SPEC, Specs
from lakebed.cli import cleaning, options, render
from lakebed.cli.keywords import OF_KEYWORDS
from lakebed.cli.output import BINARY, write, write_explain
from lakebed.cli.rows import Order, ShownRows
from lakebed.cli.watching import watched
from lakebed.table import Table
from lakebed.view import KEYWORDS

if TYPE_CHECKING:
    from lakebed.cli.rows import Read
    from lakebed.scan import Scan
    from lakebed.view import ViewScan

VIEWS = tuple(name for name in KEYWORDS if name != "health")
"""All views but `health`, whose command takes several tables."""

# The order in which a terminal gets the rows of groups, unless `--sort` says another.
_TERMINAL_SORT = {
    "partitions": ["-file_size_in_bytes"],
    "buckets": ["-file_size_in_bytes"],
    "overlap": ["-average_depth"],
}
# Made from so little that no step of reading them is left out.
_WITHOUT_STEPS = (
    "snapshots",
    "changelogs",
    "refs",
    "schemas",
    "manifests",
    "indexes",
    "metadata_table",
    "dangling_deletes",
    "repair_plan",
)
_of_table = click.option("--columns", metavar="A,B", callback=options.names, help="Columns of the table.")
# Made whole before their first row, or nearly so: a terminal gets the size of their files in all.
_OF_FILES = ("orphans", "reachable", "expire_plan", "dangling_deletes", "compaction_plan")
_PLANS = ("orphans", "expire_plan", "dangling_deletes", "repair_plan")
_EXTRA_HELP = {
    "diff": "A and B are snapshots, names of tags or branches, or times: what B lacks was removed, what A "
    "lacks was added.",
    "appends": "AFTER is a snapshot, the name of a tag or branch, or a time; without it, all appends that "
    "are still known.",
    "changes": "AFTER and TO are snapshots, names of tags or branches, or times; without TO, up to the "
    "snapshot that the table is at.",
    "metadata_table": 'NAME is "files" for what the engine calls TABLE$files; without NAME, the names there '
    "are.",
    "orphans": "Nothing is deleted: `lakebed apply` does so, with the rows that --plan-file keeps.",
    "expire_plan": "Nothing is deleted: `lakebed apply` does so, with the rows that --plan-file keeps.",
    "repair_plan": "Nothing is changed: `lakebed apply` does so, with the rows that --plan-file keeps.",
    "verify": "Exits with 0 where nothing is wrong or all findings are warnings, and with 1 where one is an "
    "error, or the table cannot be opened.",
}


def view_command(name: str) -> click.Command:
    """The command of a name, which prints a view."""
    (view,) = (view for view in VIEWS if command_of(view) == name)
    method = getattr(Table, view)
    parameters = inspect.signature(method).parameters
    known = OF_KEYWORDS if "columns" in KEYWORDS[view] else {**OF_KEYWORDS, "columns": _of_table}
    keywords = {
        name: known[name]
        if name in known
        else click.option(f"--{name.replace('_', '-')}", is_flag=True, help=said(method, name))
        for name, one in parameters.items()
        if name in known or isinstance(one.default, bool)
    }

    def run(
        open_table: Callable[[], Table],
        output: str,
        output_file: str | None,
        order: Order,
        explain: bool = False,
        plan_file: str | None = None,
        **selection: Any,
    ) -> None:
        table = open_table()
        if view == "metadata_table" and selection["name"] is None:
            click.echo("\n".join(table.metadata_tables))
            return
        is_shown = sys.stdout.isatty() and output == "table" and output_file is None
        read: Callable[..., ViewScan] = getattr(table, view)
        # Those of `overlap` are the table's.
        columns = selection.pop("columns") if "columns" in KEYWORDS[view] else None
        first = () if columns else (*order.columns, *FIRST.get(view, ()))
        if is_shown and not order.sort and not columns:
            order = Order(_TERMINAL_SORT.get(view, ()), order.limit)
        needed = order.needed(columns, *(("severity",) if view == "verify" else ()))
        chosen = {} if needed is None else {"columns": needed}
        own = {name: given for name, given in selection.items() if name not in ("where", "filter", "stats")}
        with options.hinting(table, view, lambda: read(**own), selection["filter"]):
            scan = read(**selection, **chosen, limit=order.view_limit)
        if explain:
            write_explain(scan.explain(), output, output_file)
            return
        specs = Specs({}) if output in BINARY else scan.specs
        # Whether the specs of rows are read only for how their partitions are shown.
        hides_spec = columns is not None and SPEC not in columns and specs.differ_in(scan.schema)
        if hides_spec and SPEC not in scan.schema.names:
            scan = read(**selection, columns=[*(needed or ()), SPEC], limit=order.view_limit)
        rows: Scan | Read = scan
        fails = False
        if order.sort or view == "verify" or plan_file is not None or (is_shown and view in _OF_FILES):
            with render.progress("reading"):
                # A plan is kept with all columns, and printed as it is kept.
                all_columns = read(**selection, limit=order.view_limit) if plan_file is not None else scan
                whole = order.read(all_columns)
            if plan_file is not None:
                cleaning.keep(plan_file, whole.rows, table)
            fails = view == "verify" and "error" in whole.rows["severity"].to_pylist()
            kept = [*(columns or ()), *((SPEC,) if hides_spec else ())]
            rows = whole if columns is None else whole.select(kept)
        shown = ShownRows(rows, specs, hides_spec) if specs.absent else rows
        all_rows = order.limit is not None or view == "verify"
        write(shown, output, output_file, all_rows=all_rows, first=first, view=view)
        if is_shown and order.limit is None and view in (*_OF_FILES, "files"):
            sized = rows if view in _OF_FILES else read(**selection, columns=["file_size_in_bytes"])
            render.note(render.total_of_files(sized))
        if is_shown and "small_bytes" in selection:
            render.note(f"small: below {threshold(selection['small_bytes'])} (--small-bytes)")
        if fails:
            raise click.exceptions.Exit(1)

    decorators: list[Callable[..., Any]] = [options.table, *keywords.values()]
    decorators += [] if "where" in keywords else [options.no_where]
    decorators += [] if view in _WITHOUT_STEPS else [options.explain]
    decorators += [cleaning.plan_file] if view in _PLANS else []
    for decorate in reversed([*decorators, options.order, options.output]):
        run = decorate(run)
    described = inspect.getdoc(method) or ""
    text = [described.partition("\n\n")[0], _EXTRA_HELP.get(view, "")]
    command = click.command(name=name, help="\n\n".join(filter(None, text)))(run)
    for option in command.params:
        default = parameters[option.name].default if option.name in parameters else None
        if isinstance(option, click.Option) and isinstance(default, timedelta):
            option.default, option.show_default = f"{default.days}d", True
    return watched(command)


def command_of(view: str) -> str:
    """The name of a view's command."""
    return "metadata" if view == "metadata_table" else view.replace("_", "-")


def said(method: Callable[..., Any], argument: str) -> str:
    """What the docstring of a view says of an argument, as a sentence."""
    words = re.search(rf"^    {argument}: (.+?)[:;.]", inspect.getdoc(method) or "", re.MULTILINE | re.DOTALL)
    assert words, f"no word of {argument}"
    text = " ".join(words[1].split())
    return f"{text[0].upper()}{text[1:]}."
