"""`lakebed mcp`: a server for assistants."""

from __future__ import annotations

import click

from lakebed._arguments import needing
from lakebed.cli import options


@click.command("mcp")
@click.argument("roots", metavar="ROOT...", nargs=-1)
@click.option(
    "--catalog",
    "catalogs",
    multiple=True,
    metavar="NAME",
    help="Tables of this catalog of PyIceberg's configuration too; its local files must be below a ROOT. May "
    "be repeated.",
)
@options.relocate
@click.option(
    "--rows",
    type=click.IntRange(1, 10_000),
    default=100,
    show_default=True,
    help="Rows of an answer at most.",
)
def command(roots: tuple[str, ...], catalogs: tuple[str, ...], relocate: dict[str, str], rows: int) -> None:
    """Answer assistants about the tables below each ROOT, a folder or URI, over standard input and output.

    A server of the Model Context Protocol with the tools find, show, health, files, plan, diff and
    expire_plan. It writes nothing, and opens no file that is neither below a ROOT nor of a catalog's table.
    pip install 'lakebed[mcp]'.

    \b
    lakebed mcp /data/warehouse s3://lake/db --catalog prod
    """  # noqa: D301 - click's mark of lines that stay as they are
    if not roots and not catalogs:
        raise click.UsageError("Missing argument 'ROOT...', or --catalog.")
    with needing("mcp"):
        from lakebed.mcp.server import server
    from lakebed.mcp.roots import Roots

    server(Roots.of(roots, catalogs, relocate), rows).run("stdio")
