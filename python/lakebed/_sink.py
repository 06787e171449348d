"""What users may give where a file is written, and how Avro files are."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from types import SimpleNamespace
from typing import IO, Any, TypeAlias, Union

from lakebed._arguments import positive
from lakebed._keywords import WRITING, WRITING_DEFAULTS, Function, Writing, spell_out
from lakebed.limits import LIMITS

Sink: TypeAlias = Union[str, "os.PathLike[str]", IO[bytes]]
"""A local path, or an open binary file."""


_DEFAULTS = {**WRITING_DEFAULTS, "limits": LIMITS}


def target(sink: Sink | None) -> str | IO[bytes] | None:
    """A sink as the compiled core takes it: paths as texts."""
    return os.fspath(sink) if isinstance(sink, os.PathLike) else sink


def writer(codec: str) -> Callable[[Function], Function]:
    """Makes a function a writer: its signature and its docstring have each of the keywords of `Writing`."""

    def decorate(function: Function) -> Function:
        spell_out(function, Writing, WRITING, {**_DEFAULTS, "codec": codec})
        return function

    return decorate


def options(name: str, codec: str, given: Mapping[str, Any], **own: Any) -> SimpleNamespace:
    """What a writer was given of its keywords, checked, as the compiled core takes it.

    Args: name, of the writer; codec, its default; own, what only it takes.
    Raises: TypeError for a keyword that it does not take; as `encoding`.
    """
    wanted: dict[str, Any] = {**dict.fromkeys(Writing.__annotations__), **_DEFAULTS, "codec": codec}
    for keyword in given.keys() - wanted.keys():
        raise TypeError(f"{name}() got an unexpected keyword argument {keyword!r}")
    wanted |= given
    overwrite, limits = wanted.pop("overwrite"), wanted.pop("limits")
    return SimpleNamespace(encoding=encoding(**wanted), overwrite=overwrite, limits=limits, **own)


def encoding(
    codec: str, level: int | None, block_bytes: int, sync: bytes | None, verify: bool, threads: int | None
) -> SimpleNamespace:
    """How records are written, checked, as the compiled core takes it.

    Raises: ValueError (a marker of other than 16 bytes, blocks of none).
    """
    marker = os.urandom(16) if sync is None else bytes(sync)
    if len(marker) != 16:
        raise ValueError(f"a sync marker has 16 bytes, not {len(marker)}")
    positive("block_bytes", block_bytes)
    return SimpleNamespace(
        codec=codec,
        level=level,
        block_bytes=block_bytes,
        sync=marker,
        verify=verify,
        threads=positive("threads", threads),
    )
