"""The program of the Rust peers and the floors, built on first use."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from functools import cache
from pathlib import Path

from corpus import MissingInputError

_MANIFEST = Path(__file__).resolve().parent / "peers" / "Cargo.toml"


@cache
def build() -> Path:
    """Builds `manifest-peers` (minutes, the first time). Raises: MissingInputError: there is no cargo."""
    if shutil.which("cargo") is None:
        raise MissingInputError("cargo is needed to build the Rust peers: install Rust, or give --no-rust")
    print("building the Rust peers", file=sys.stderr, flush=True)
    subprocess.run(
        ["cargo", "build", "--quiet", "--release", "--locked", "--manifest-path", str(_MANIFEST)], check=True
    )
    return _MANIFEST.parent / "target" / "release" / "manifest-peers"


@cache
def listed() -> list[dict[str, str | None]]:
    """Its readers: peer, version, task, format. Raises: as `build`."""
    lines = subprocess.run([build(), "--list"], check=True, capture_output=True, text=True).stdout
    return [json.loads(line) for line in lines.splitlines()]
