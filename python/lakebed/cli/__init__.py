"""The `lakebed` command. Other libraries than click are imported when a command needs them: help is quick."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any, NoReturn

import click

from lakebed import __version__
from lakebed.cli import (
    avro,
    cleaning,
    demo,
    doctor,
    find,
    health,
    mcp,
    report,
    rewriting,
    serve_plans,
    show,
    views,
)
from lakebed.cli.failures import one_line, warnings_as_lines
from lakebed.cli.watching import watched

# What shells say of programs that a signal ended, which is how other tools end here.
_INTERRUPTED, _BROKEN_PIPE = 130, 141
# What shells set to ask for completions.
_COMPLETE = "_LAKEBED_COMPLETE"
# The commands of a first look, in its order; then the rest.
_GROUPS = (
    ("A table", ("show", "health", "report", "find")),
    ("Its files", ("files", "partitions", "buckets", "plan", "deletes", "diff", "appends", "changes")),
    ("Its history", ("snapshots", "growth", "file-history", "refs", "schemas", "changelogs")),
    ("What it keeps", ("verify", "reachable", "orphans", "expire-plan", "apply", "restore", "rewrite-paths")),
    ("Its metadata", ("manifests", "entries", "indexes", "metadata", "avro")),
    ("Beside tables", ("demo", "doctor", "mcp", "serve-plans")),
)


class _Group(click.Group):
    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        if not args:
            return super().parse_args(ctx, args)  # prints the help
        with one_line():
            return super().parse_args(ctx, args)

    def invoke(self, ctx: click.Context) -> Any:
        try:
            with one_line(), warnings_as_lines():
                result = super().invoke(ctx)
                # Here a closed pipe is still an exception; at exit it would be noise.
                sys.stdout.flush()
            return result
        except KeyboardInterrupt:
            sys.exit(_INTERRUPTED)
        except BrokenPipeError:
            # Else the interpreter's last flush would complain.
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            sys.exit(_BROKEN_PIPE)

    def resolve_command(self, ctx: click.Context, args: list[str]) -> Any:
        """The command named; one that is not there is answered with the one that may be meant."""
        name = args[0]
        is_unknown = not name.startswith("-") and self.get_command(ctx, name) is None
        if is_unknown and not ctx.resilient_parsing:
            from difflib import get_close_matches

            near = get_close_matches(name, self.commands, 1)
            near = near or ([f"show {name}"] if "/" in name or Path(name).exists() else [])
            raise click.UsageError(
                f"No such command {name!r}" + (f", did you mean `lakebed {near[0]}`?" if near else "")
            )
        return super().resolve_command(ctx, args)

    def format_commands(self, _ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """The commands by what they are about, with the first line of each one's help."""
        for title, names in _GROUPS:
            ordered = {name for _, others in _GROUPS for name in others}
            more = (views.command_of(view) for view in views.VIEWS if views.section_of(view) == title)
            names = (*names, *(name for name in more if name not in ordered))
            rows = [(name, self.commands[name].get_short_help_str(limit=200)) for name in names]
            with formatter.section(title):
                formatter.write_dl(rows)


@click.group("lakebed", cls=_Group, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="lakebed")
def cli() -> None:
    """Metadata of lake tables: their state and problems, snapshots, manifests and files.

    TABLE is a local path or a URI, or with --catalog a table's name. Rows are printed to a terminal as a
    table that fits it, into a pipe as text with nothing left out; `-o json` prints one object a line.

    \b
    lakebed show warehouse/db.db/orders
    lakebed health s3://lake/db/orders
    lakebed files warehouse/db.db/orders --where "dt = '2026-01-02'" --sort -file_size_in_bytes
    lakebed partitions --catalog prod db.orders -o json | head

    \b
    Completion, in ~/.bashrc (zsh and fish likewise):
    eval "$(_LAKEBED_COMPLETE=bash_source lakebed)"
    """  # noqa: D301 - click's mark of lines that stay as they are


for _command in (report, find, rewriting, avro, demo, doctor, mcp, serve_plans):
    cli.add_command(_command.command)
for _cleaning in (cleaning.apply, cleaning.restore):
    cli.add_command(_cleaning)
for _command in (show, health):
    cli.add_command(watched(_command.command))
for _view in views.VIEWS:
    cli.add_command(watched(views.view_command(_view)))


def main() -> NoReturn:
    """Runs the command: exits with 0, 1 (bad table) or 2 (bad usage); with 130 after an interrupt, and with
    141 where nobody reads its output any more, both without a word.
    """
    if _COMPLETE in os.environ:
        from lakebed.cli import completion

        completion.install(cli)
    cli.main(prog_name="lakebed", complete_var=_COMPLETE)
