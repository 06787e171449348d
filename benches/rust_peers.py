"""The program of the Rust peers and the floors, built on first use."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from functools import cache
from pathlib import Path

from corpus import Corpus, MissingInputError
from session import FLOORS, Contestant

_MANIFEST = Path(__file__).resolve().parent / "peers" / "Cargo.toml"
FLOORED_TASKS = frozenset({"entries", "projected", "stats", "guard", "files", "churn", "plan"})
"""Tasks that read all Avro files of an input, so that they cannot be faster than the floors."""


def contestants(corpus: Corpus, task: str) -> list[Contestant]:
    """The floors below a task, then its Rust readers. Raises: as `_build`."""
    if not corpus.manifests:
        return []
    return [
        Contestant.from_binary(_build(), line, corpus, task)
        for line in _listed()
        if line["format"] in (None, corpus.format)
        and (task in FLOORED_TASKS if line["peer"] in FLOORS else line["task"] == task)
    ]


@cache
def _build() -> Path:
    """Builds `manifest-peers` (minutes, the first time). Raises: MissingInputError: there is no cargo."""
    if shutil.which("cargo") is None:
        raise MissingInputError("cargo is needed to build the Rust peers: install Rust, or give --no-rust")
    print("building the Rust peers", file=sys.stderr, flush=True)
    subprocess.run(
        ["cargo", "build", "--quiet", "--release", "--locked", "--manifest-path", str(_MANIFEST)], check=True
    )
    return _MANIFEST.parent / "target" / "release" / "manifest-peers"


@cache
def _listed() -> list[dict[str, str | None]]:
    """Its readers: peer, version, task, format."""
    lines = subprocess.run([_build(), "--list"], check=True, capture_output=True, text=True).stdout
    return [json.loads(line) for line in lines.splitlines()]
