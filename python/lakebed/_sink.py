"""What users may give where a file is written, and how Avro files are."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import IO, TypeAlias, Union

from lakebed._arguments import positive

Sink: TypeAlias = Union[str, "os.PathLike[str]", IO[bytes]]
"""A local path, or an open binary file."""


@dataclass(frozen=True)
class Encoding:
    """The options that every writer of Avro files takes, whose attributes the compiled core reads."""

    codec: str
    level: int | None
    block_bytes: int
    sync: bytes
    verify: bool
    threads: int | None


def target(sink: Sink | None) -> str | IO[bytes] | None:
    """A sink as the compiled core takes it: paths as texts."""
    return os.fspath(sink) if isinstance(sink, os.PathLike) else sink


def encoding(
    codec: str, level: int | None, block_bytes: int, sync: bytes | None, verify: bool, threads: int | None
) -> Encoding:
    """The same, checked. Raises: ValueError (a marker of other than 16 bytes, blocks of none)."""
    marker = os.urandom(16) if sync is None else bytes(sync)
    if len(marker) != 16:
        raise ValueError(f"a sync marker has 16 bytes, not {len(marker)}")
    positive("block_bytes", block_bytes)
    return Encoding(codec, level, block_bytes, marker, verify, positive("threads", threads))
