"""Errors as one line on standard error and an exit code."""

from __future__ import annotations

import contextlib
import warnings
from collections.abc import Iterator
from typing import Any

import click

from lakebed._text import printable
from lakebed.errors import ConfigurationError, LakebedError, LakebedWarning, PredicateError, SchemaError


class Failure(click.ClickException):
    """One line on standard error, whatever the message holds."""

    def show(self, file: Any = None) -> None:  # noqa: ARG002 - the base class has it
        """Prints `error: ` and the message."""
        # A caret below a text points nowhere once both are in one line.
        lines = (" ".join(line.split()) for line in self.message.splitlines() if line.strip(" ^"))
        click.echo(f"error: {printable(': '.join(lines))}", err=True)


class BadTable(Failure):
    """What is read is wrong, or is not there."""

    exit_code = 1


class BadUsage(Failure):
    """What was asked for is wrong."""

    exit_code = 2


def kind_of(failure: Failure) -> str:
    """Of which kind an error was: `kind` of lakebed's own, "io" where a storage failed, "extra" where what is
    needed is not installed, "catalog" for a catalog that cannot be loaded.
    """
    error = failure.__cause__
    of_others = {ImportError: "extra", click.UsageError: "catalog"}
    named = (kind for cls, kind in of_others.items() if isinstance(error, cls))
    return getattr(error, "kind", None) or next(named, "io")


@contextlib.contextmanager
def one_line() -> Iterator[None]:
    """Errors of the block as failures of the command."""
    try:
        yield
    except click.UsageError as error:
        path = error.ctx.command_path if error.ctx else "lakebed"
        message = error.format_message().rstrip(".")
        see = f"see `{path} --help`"
        raise BadUsage(
            f"{message} {see.capitalize()}" if message[-1:] == "?" else f"{message}; {see}"
        ) from error
    except (ConfigurationError, PredicateError, SchemaError) as error:
        raise BadUsage(str(error)) from error
    except (LakebedError, ImportError) as error:
        # ImportError is of an extra that is not installed.
        raise BadTable(str(error)) from error
    except BrokenPipeError:
        raise
    except OSError as error:
        raise BadTable(f"{error.filename}: {error.strerror}" if error.filename else str(error)) from error


@contextlib.contextmanager
def warnings_as_lines() -> Iterator[None]:
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
