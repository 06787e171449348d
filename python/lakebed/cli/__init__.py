"""The `lakebed` command. What it needs beyond click is imported when a command runs: help is quick."""

from __future__ import annotations

import contextlib
import sys
import warnings
from collections.abc import Iterator
from typing import Any, NoReturn

import click

from lakebed import __version__
from lakebed._text import printable
from lakebed.cli import avro, changes, find, metadata, show, verify, views
from lakebed.errors import LakebedError, LakebedWarning, PredicateError, SchemaError


class Failure(click.ClickException):
    """One line on standard error, whatever the message holds."""

    def show(self, file: Any = None) -> None:  # noqa: ARG002 - the base class has it
        """Prints `error: ` and the message."""
        # A caret below a text points nowhere once both stand in one line.
        lines = (" ".join(line.split()) for line in self.message.splitlines() if line.strip(" ^"))
        click.echo(f"error: {printable(': '.join(lines))}", err=True)


class BadTable(Failure):
    """What is read is wrong, or is not there."""

    exit_code = 1


class BadUsage(Failure):
    """What was asked for is wrong."""

    exit_code = 2


class _Group(click.Group):
    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        if not args:
            return super().parse_args(ctx, args)  # prints the help
        with _one_line():
            return super().parse_args(ctx, args)

    def invoke(self, ctx: click.Context) -> Any:
        with _one_line(), _warnings():
            result = super().invoke(ctx)
            # Here a closed pipe is still an exception that click ends quietly; at exit it would be noise.
            sys.stdout.flush()
        return result


@contextlib.contextmanager
def _one_line() -> Iterator[None]:
    """Errors of the block as failures of the command."""
    try:
        yield
    except click.UsageError as error:
        path = error.ctx.command_path if error.ctx else "lakebed"
        raise BadUsage(f"{error.format_message().rstrip('.')}; see `{path} --help`") from error
    except (PredicateError, SchemaError) as error:
        raise BadUsage(str(error)) from error
    except LakebedError as error:
        raise BadTable(str(error)) from error
    except BrokenPipeError:
        raise
    except OSError as error:
        raise BadTable(f"{error.filename}: {error.strerror}" if error.filename else str(error)) from error


@contextlib.contextmanager
def _warnings() -> Iterator[None]:
    """What lakebed warns of in the block, each once, as a line on standard error."""
    shown: set[str] = set()

    def show(message: Warning | str, category: type[Warning], *args: Any, **kwargs: Any) -> None:
        if not issubclass(category, LakebedWarning):
            others(message, category, *args, **kwargs)
        elif (line := " ".join(str(message).split())) not in shown:
            shown.add(line)
            click.echo(f"warning: {line}", err=True)

    with warnings.catch_warnings():
        warnings.filterwarnings("always", category=LakebedWarning)
        others, warnings.showwarning = warnings.showwarning, show
        yield


@click.group("lakebed", cls=_Group, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="lakebed")
def cli() -> None:
    """Metadata of lake tables: what a table is, its snapshots, manifests and files.

    TABLE is a local path or a URI, or with --catalog a table's name. Rows go to a terminal as a table that
    fits it, into a pipe as text with nothing left out; `-o json` prints one object a line.
    """


cli.add_command(show.command)
for _view in views.VIEWS:
    cli.add_command(views.view_command(_view))
cli.add_command(changes.diff)
cli.add_command(changes.appends)
cli.add_command(changes.file_history)
cli.add_command(metadata.command)
cli.add_command(avro.command)
cli.add_command(find.command)
cli.add_command(verify.command)


def main() -> NoReturn:
    """The entry point of the `lakebed` command: exits with 0, 1 (bad table) or 2 (bad usage)."""
    cli.main(prog_name="lakebed")
