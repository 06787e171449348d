"""`lakebed doctor`: whether what lakebed works with is there and works."""

from __future__ import annotations

import json
from itertools import groupby

import click

from lakebed.advice import Finding
from lakebed.cli import options, render


@click.command("doctor")
@click.option(
    "--timeout",
    type=click.FloatRange(min=0, min_open=True),
    default=20,
    show_default=True,
    metavar="SECONDS",
    help="How long a catalog may take to answer.",
)
@options.page_or_json("Form of the answer. json: one object a line.")
def command(timeout: float, output: str) -> None:
    """What is installed and found: packages, credentials, catalogs, URIs; what does not work, and what to do.

    Credentials are named, never shown. Catalogs of PyIceberg's configuration are loaded; else no server is
    asked. Exits with 1 where something does not work; what is merely not installed is no problem.
    """
    from lakebed.cli import environment

    with render.progress("looking"):
        checks = list(environment.checks(timeout))
    wrong = [check for check in checks if check.state == environment.PROBLEM]
    if output == "json":
        for check in checks:
            click.echo(json.dumps(check.to_dict(), ensure_ascii=False))
    else:
        for section, found in groupby(checks, key=lambda check: check.section):
            rows = [(check.name, check.detail) for check in found]
            render.sections([(section, rows)], {check.name for check in wrong if check.section == section})
            click.echo()
        render.problems([Finding(check.name, check.detail, check.next_step) for check in wrong])
    if wrong:
        raise click.exceptions.Exit(1)
