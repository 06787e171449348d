"""A real S3 server behind a proxy that answers late: MinIO, for readers that cannot be delayed in Python.

Server and proxy are those of the tests. As a program this is the proxy, in a process of its own:
`late_s3.py HOST:PORT MILLISECONDS` prints where it is, and for each line of input what it has counted since.
"""

from __future__ import annotations

import atexit
import functools
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from corpus import MissingInputError

sys.path.append(str(Path(__file__).resolve().parents[1] / "tests"))

import object_store
from object_store import BUCKET, KEY, SECRET  # noqa: F401 - of a server that lives as long as the run

REGION = "us-east-1"
BINARY = "MINIO"
"""The variable of the environment that names the binary, where it is not on PATH."""
_ENDS = ExitStack()
atexit.register(_ENDS.close)
_PROXIES: dict[str, subprocess.Popen[str]] = {}


@functools.cache
def proxy(target: str, milliseconds: int) -> str:
    """Starts one before that server, for as long as this process lives. Returns: its `host:port`."""
    command = (sys.executable, str(Path(__file__).resolve()), target, str(milliseconds))
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    atexit.register(process.communicate)
    endpoint: str = _line(process)
    _PROXIES[endpoint] = process
    return endpoint


def _line(process: subprocess.Popen[str]) -> Any:
    assert process.stdout is not None
    return json.loads(process.stdout.readline())


def counts(endpoint: str) -> dict[str, int]:
    """What a proxy has counted since it was last asked: `requests`, and the most of them `in_flight`."""
    process = _PROXIES[endpoint]
    assert process.stdin is not None
    process.stdin.write("\n")
    process.stdin.flush()
    found: dict[str, int] = _line(process)
    return found


def _serve(target: str, milliseconds: float) -> None:
    """Listens until standard input ends."""
    with object_store.proxy(target, milliseconds / 1000) as (endpoint, proxied):
        print(json.dumps(endpoint), flush=True)
        for _ in sys.stdin:
            with proxied.lock:
                counted = {"requests": len(proxied.asked), "in_flight": proxied.most_at_once}
                proxied.asked, proxied.most_at_once = [], proxied.now
            print(json.dumps(counted), flush=True)


def binary(cache: Path) -> str | None:
    """MinIO: what the environment names, what is on PATH, or what is kept in the cache; None without."""
    return os.environ.get(BINARY) or shutil.which("minio") or shutil.which(cache / "bin" / "minio")


@functools.cache
def server(cache: Path) -> str:
    """Starts MinIO with an empty bucket, for as long as this process lives. Returns: its `host:port`.

    Raises: MissingInputError: it is not there, or does not start.
    """
    program = binary(cache)
    if program is None:
        raise MissingInputError(
            "a MinIO server is needed, on PATH, at "
            f"{cache / 'bin' / 'minio'} or named by ${BINARY}: `go install github.com/minio/minio@latest`"
        )
    try:
        return _ENDS.enter_context(object_store.minio(program))
    except AssertionError as error:
        raise MissingInputError(str(error)) from error


def filesystem(endpoint: str) -> Any:
    """A `pyarrow.fs.S3FileSystem` on that server, or through that proxy."""
    from pyarrow.fs import S3FileSystem

    keys = {"access_key": KEY, "secret_key": SECRET, "region": REGION}
    return S3FileSystem(endpoint_override=endpoint, scheme="http", **keys)


def put(endpoint: str, contents: Mapping[str, bytes]) -> None:
    """Writes objects by their `s3://` paths, several at once."""
    bucket = filesystem(endpoint)

    def one(path: str, content: bytes) -> None:
        with bucket.open_output_stream(path.removeprefix("s3://")) as stream:
            stream.write(content)

    with ThreadPoolExecutor(8) as threads:
        list(threads.map(one, contents.keys(), contents.values()))


if __name__ == "__main__":
    _serve(sys.argv[1], float(sys.argv[2]))
