"""Programs run by this interpreter, in processes of their own."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any


def ran(
    *words: object, environment: Mapping[str, str] = {}, timeout: float = 300, cwd: Path | None = None
) -> subprocess.CompletedProcess[str]:
    """What became of a program and its arguments. Args: environment, beside the variables of this process."""
    # None of a Spark session, whose gateway this process may have.
    own = {name: value for name, value in os.environ.items() if not name.startswith("PYSPARK_GATEWAY")}
    how: dict[str, Any] = {"env": {**own, **environment}, "timeout": timeout, "cwd": cwd}
    command = [sys.executable, *map(str, words)]
    return subprocess.run(command, capture_output=True, text=True, check=False, **how)


def printed(*words: object, **how: Any) -> str:
    """What it prints; it must not fail. Args: how, as of `ran`."""
    done = ran(*words, **how)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout
