"""The `lakebed` command. Other libraries than click are imported when a command needs them: help is quick."""

from __future__ import annotations

import os
import sys
from typing import Any, NoReturn

import click

from lakebed import __version__
from lakebed.cli.commands import SECTIONS, Commands
from lakebed.cli.failures import one_line, warnings_as_lines

# What shells say of programs that a signal ended, which is how other tools end here.
_INTERRUPTED, _BROKEN_PIPE = 130, 141
# What shells set to ask for completions.
_COMPLETE = "_LAKEBED_COMPLETE"


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
            from pathlib import Path

            near = get_close_matches(name, self.commands, 1)
            near = near or ([f"show {name}"] if "/" in name or Path(name).exists() else [])
            raise click.UsageError(
                f"No such command {name!r}" + (f", did you mean `lakebed {near[0]}`?" if near else "")
            )
        return super().resolve_command(ctx, args)

    def format_commands(self, _ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """The commands by what they are about, each with a few words."""
        for title, lines in SECTIONS.items():
            with formatter.section(title):
                formatter.write_dl(list(lines.items()))


@click.group(
    "lakebed", cls=_Group, commands=Commands(), context_settings={"help_option_names": ["-h", "--help"]}
)
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


def main() -> NoReturn:
    """Runs the command: exits with 0, 1 (bad table) or 2 (bad usage); with 130 after an interrupt, and with
    141 where nobody reads its output any more, both without a word.
    """
    if _COMPLETE in os.environ:
        from lakebed.cli import completion

        completion.install(cli)
    cli.main(prog_name="lakebed", complete_var=_COMPLETE)
