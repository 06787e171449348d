"""`lakebed demo`: two small tables, and what commands say of them."""

from __future__ import annotations

import shlex
import tempfile
from pathlib import Path

import click

# The archive of `make sample-tables`: the folders in it, and what they are called here.
_ARCHIVE = "demo_tables.tar.gz"
_FOLDERS = {"sample_table": "paimon_orders", "sample_iceberg_table": "iceberg_orders"}
# Where the Iceberg table was when it was written.
_WRITTEN = "/tmp/lakebed/shop/orders"
_IN_ONE_REGION = ("--where", "region = 'emea'")
_COLUMNS = ("--columns", "partition,record_count,file_size_in_bytes")


@click.command("demo")
@click.argument("folder", required=False, type=click.Path(file_okay=False, path_type=Path))
def command(folder: Path | None) -> None:
    """Write two small tables into FOLDER, or into a temporary one, and show what commands say of them.

    The tables, one of each format, are in the package: nothing is downloaded. They are metadata alone,
    without data files, and stay in the folder, where you may try other commands.
    """
    folder = Path(tempfile.mkdtemp(prefix="lakebed-demo-")) if folder is None else folder
    _unpack(folder)
    paimon, iceberg = (str(folder / name) for name in _FOLDERS.values())
    moved = (iceberg, "--relocate", f"{_WRITTEN}={iceberg}")
    _show("What a Paimon table is", "show", paimon)
    _show("How it is, and what to do about it", "health", paimon)
    _show("Its files in one region", "files", paimon, *_IN_ONE_REGION, *_COLUMNS)
    _show("What an Iceberg table is; it was copied to here, which --relocate says", "show", *moved)
    _show("The files that a query of it must read", "plan", *moved, *_IN_ONE_REGION, *_COLUMNS)
    _show("How they were found, step by step", "plan", *moved, *_IN_ONE_REGION, "--explain")
    click.echo(f"\nThe tables stay in {folder}. `lakebed --help` has more commands.")


def _unpack(folder: Path) -> None:
    """Raises: click.UsageError where the tables are there already; OSError."""
    import tarfile
    from importlib import resources

    there = [name for name in _FOLDERS.values() if (folder / name).exists()]
    if there:
        raise click.UsageError(f"{folder / there[0]} is there already: give another folder, or none")
    with (
        resources.files(__package__).joinpath(_ARCHIVE).open("rb") as file,
        tarfile.open(fileobj=file) as tar,
    ):
        for member in tar:
            if (content := tar.extractfile(member)) is not None:
                table, _, name = member.name.partition("/")
                target = folder / _FOLDERS[table] / name
                target.parent.mkdir(parents=True, exist_ok=True)
                target.write_bytes(content.read())


def _show(title: str, *words: str) -> None:
    """A command as one would type it, and what it prints."""
    typed = (f'"{word}"' if " " in word and "'" in word else shlex.quote(word) for word in words)
    click.echo(f"\n== {title}\n$ lakebed {' '.join(typed)}\n")
    group = click.get_current_context().find_root().command
    group.main([*words], prog_name="lakebed", standalone_mode=False)
