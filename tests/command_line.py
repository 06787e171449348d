"""The command line, run in this process, and the rows that it prints."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa
from click.testing import CliRunner, Result

from lakebed._values import to_rows
from lakebed.cli import cli
from shared_data import SAMPLE_MOVED


def moved(relocate: Mapping[str, str]) -> tuple[str, ...]:
    """The options that say where a table is now."""
    return tuple(word for old, new in relocate.items() for word in ("--relocate", f"{old}={new}"))


MOVED = moved(SAMPLE_MOVED)


def configure_catalogs(folder: Path, **catalogs: Mapping[str, object]) -> None:
    """Writes PyIceberg's configuration: the properties of each catalog."""
    lines = ["catalog:"]
    for name, properties in catalogs.items():
        lines += [f"  {name}:", *(f"    {key}: {value}" for key, value in properties.items())]
    (folder / ".pyiceberg.yaml").write_text("\n".join(lines))


def run(*words: object) -> Result:
    """What became of a command."""
    return CliRunner().invoke(cli, list(map(str, words)))


def output(*words: object) -> str:
    """What a command prints, which must not fail."""
    result = run(*words)
    assert result.exit_code == 0, result.output
    return result.stdout


def complaint(*words: object, code: int = 1) -> str:
    """The one line that a command says which fails and prints nothing."""
    result = run(*words)
    assert (result.exit_code, result.stdout) == (code, ""), result.output
    (line,) = result.stderr.splitlines()
    return line


def printed(*words: object) -> list[dict[str, Any]]:
    """The rows that it prints in JSON."""
    return [json.loads(line) for line in output(*words, "-o", "json").splitlines()]


def as_printed(read: pa.Table) -> list[dict[str, Any]]:
    """The rows of a table as those."""
    return [dict(zip(read.schema.names, row, strict=True)) for row in to_rows(read)]
