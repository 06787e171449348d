"""`lakebed serve-plans`: a REST catalog that plans."""

from __future__ import annotations

import os

import click

from lakebed._arguments import needing
from lakebed.catalogs import load_catalog


@click.command("serve-plans")
@click.argument("catalog", metavar="CATALOG")
@click.option("--host", default="127.0.0.1", show_default=True, help="Where to listen.")
@click.option(
    "--port", type=click.IntRange(0, 65_535), default=8181, show_default=True, help="0 for any that is free."
)
@click.option(
    "--secret-env",
    metavar="NAME",
    default="LAKEBED_PLAN_SECRET",
    show_default=True,
    help="The environment variable with the secret that signs plan tasks, 16 bytes or more. Without it a new "
    "secret is made, which ends with the server.",
)
@click.option(
    "--tasks-per-part",
    type=click.IntRange(1),
    default=2_000,
    show_default=True,
    help="Scan tasks of one answer at most; the rest is fetched in parts.",
)
@click.option(
    "--wait",
    type=click.FloatRange(0),
    default=10.0,
    show_default=True,
    help="Seconds that a plan may take before the client is told to ask for it later.",
)
@click.option(
    "--workers", type=click.IntRange(1), default=2, show_default=True, help="Plans and parts made at a time."
)
def command(
    catalog: str, host: str, port: int, secret_env: str, tasks_per_part: int, wait: float, workers: int
) -> None:
    """Serve the tables of CATALOG, of PyIceberg's configuration, as a REST catalog that plans scans itself.

    Engines read through it (scan-planning-mode=server) and get their plans in parts. It writes nothing, asks
    nobody who they are, and gives no credentials for files: engines need their own.
    pip install 'lakebed[serve]'.

    \b
    lakebed serve-plans prod --port 8181
    """  # noqa: D301 - click's mark of lines that stay as they are
    import secrets

    with needing("serve", "anyio", "starlette", "uvicorn"):
        import uvicorn

        from lakebed.iceberg import serving
    from lakebed.iceberg import Planner

    secret = os.environ.get(secret_env, "").encode()
    try:
        planner = Planner(secret or secrets.token_bytes(32), tasks_per_part=tasks_per_part)
    except ValueError as error:
        raise click.BadParameter(str(error), param_hint=f"${secret_env}") from error
    try:
        app = serving.app(load_catalog(catalog), planner, workers=workers, wait=wait)
    except ValueError as error:
        raise click.BadParameter(str(error), param_hint="CATALOG") from error
    server = uvicorn.Config(app, host, port, log_level="warning", access_log=False)
    listening = server.bind_socket()
    # Whoever reads the address may connect: it waits until the server takes it.
    listening.listen()
    shown = f"[{host}]" if ":" in host else host
    click.echo(f"http://{shown}:{listening.getsockname()[1]}")
    uvicorn.Server(server).run(sockets=[listening])
