"""`lakebed avro`: what is in an Avro file."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import click

import lakebed
from lakebed._display import count, size
from lakebed.cli import options, render
from lakebed.cli.output import write

if TYPE_CHECKING:
    import pyarrow as pa

# What a writer's own metadata may take of the screen.
_METADATA_LENGTH = 200


@click.command("avro")
@click.argument("file")
@options.columns
@options.output
def command(file: str, columns: list[str] | None, output: str, output_file: str | None) -> None:
    """An Avro file: its schema, codec, blocks and first rows.

    With -o other than table, or with --output-file: all its rows.
    """
    scan = lakebed.avro.read(file, columns=columns)
    if output != "table" or output_file is not None:
        write(scan, output, output_file, all_rows=True)
        return
    with render.progress("reading"):
        schema, metadata = lakebed.avro.read_schema(file), lakebed.avro.read_metadata(file)
        blocks = lakebed.avro.read_blocks(file)
        rows = scan.head()
    _print(schema, metadata, blocks, rows)


def _print(schema: dict[str, Any], metadata: dict[str, bytes], blocks: pa.Table, rows: pa.Table) -> None:
    row_count, stored = (sum(blocks[name].to_pylist()) for name in ("row_count", "size_in_bytes"))
    own = {key: value for key, value in metadata.items() if key not in ("avro.schema", "avro.codec")}
    about = [
        ("record", ".".join(filter(None, (schema.get("namespace"), schema["name"])))),
        ("codec", metadata.get("avro.codec", b"null").decode(errors="replace")),
        ("blocks", f"{blocks.num_rows:,} ({count(row_count, 'row')}, {size(stored)} as stored)"),
        *((key, _shortened(value)) for key, value in sorted(own.items())),
    ]
    fields = [(field["name"], _type(field["type"])) for field in schema["fields"]]
    render.sections([("Avro file", about), ("fields", fields)])
    click.echo()
    if sys.stdout.isatty():
        render.terminal_table(rows, None)
    else:
        for line in render.plain_lines(rows.to_reader()):
            click.echo(line)


def _type(schema: Any) -> str:
    import json

    return schema if isinstance(schema, str) else json.dumps(schema)


def _shortened(value: bytes) -> str:
    text = value.decode(errors="replace")
    return text if len(text) <= _METADATA_LENGTH else f"{text[:_METADATA_LENGTH]}… ({len(value):,} bytes)"
