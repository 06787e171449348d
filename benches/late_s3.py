"""A real S3 server behind a proxy that answers late: MinIO, for readers that cannot be delayed in Python.

As a program this is the proxy, in a process of its own: `late_s3.py HOST:PORT MILLISECONDS` prints the port
that it listens on, and ends with its input. It waits once for each request, then relays it, and counts.
"""

from __future__ import annotations

import asyncio
import atexit
import functools
import json
import os
import shutil
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from tempfile import mkdtemp
from typing import IO, Any

from corpus import MissingInputError

BUCKET = "bench"
REGION = "us-east-1"
KEY, SECRET = "lakebed-bench", "lakebed-bench"
"""Of a server that lives as long as the run, on this machine's loopback only."""
BINARY = "MINIO"
"""The variable of the environment that names the binary, where it is not on PATH."""
_HOST = "127.0.0.1"
_COUNTS = "/-/counts"
"""What the proxy answers itself: the counts since this was last asked."""
_ENOUGH_SECONDS = 30


class _Proxy:
    def __init__(self, target: str, milliseconds: float) -> None:
        self._host, _, self._port = target.rpartition(":")
        self._seconds = milliseconds / 1000
        self._requests = self._now = self._most = 0

    async def serve(self) -> None:
        """Listens until standard input ends."""
        server = await asyncio.start_server(self._connected, _HOST, 0, backlog=1024)
        async with server:
            print(server.sockets[0].getsockname()[1], flush=True)
            await asyncio.to_thread(sys.stdin.read)

    async def _connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """A client's connection, with one of its own to the server: requests in turn, as HTTP/1.1 has it."""
        upstream: tuple[asyncio.StreamReader, asyncio.StreamWriter] | None = None
        # Cancelled where the proxy ends.
        with suppress(ConnectionError, asyncio.IncompleteReadError, asyncio.CancelledError):
            while True:
                head = await reader.readuntil(b"\r\n\r\n")
                method, path = head.split(b" ", 2)[:2]
                if path == _COUNTS.encode():
                    self._tell(writer)
                    continue
                # A server ends connections that are idle for long; the client's stays as it is.
                if upstream is None or upstream[0].at_eof():
                    upstream = await asyncio.open_connection(self._host, int(self._port))
                await self._relay(method, head, reader, writer, upstream)
        for stream in (writer, *([upstream[1]] if upstream else [])):
            stream.close()

    async def _relay(
        self,
        method: bytes,
        head: bytes,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
        upstream: tuple[asyncio.StreamReader, asyncio.StreamWriter],
    ) -> None:
        """One request and its answer, as they are: signatures cover the head, `Host` among it."""
        answers, asks = upstream
        self._requests += 1
        self._now += 1
        self._most = max(self._most, self._now)
        try:
            await asyncio.sleep(self._seconds)
            asks.write(head)
            await _body(head, reader, asks)
            while (answer := await answers.readuntil(b"\r\n\r\n")).split(b" ", 2)[1] == b"100":
                writer.write(answer)
            writer.write(answer)
            if method != b"HEAD" and answer.split(b" ", 2)[1] not in (b"204", b"304"):
                await _body(answer, answers, writer)
            await writer.drain()
        finally:
            self._now -= 1

    def _tell(self, writer: asyncio.StreamWriter) -> None:
        counts = json.dumps({"requests": self._requests, "in_flight": self._most}).encode()
        self._requests, self._most = 0, self._now
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%b" % (len(counts), counts))


async def _body(head: bytes, source: asyncio.StreamReader, sink: asyncio.StreamWriter) -> None:
    """Relays what follows a head: as many bytes as it says, or chunks until the empty one."""
    named = (line.partition(b":") for line in head.split(b"\r\n")[1:])
    fields = {name.strip().lower(): value.strip() for name, _, value in named}
    if fields.get(b"transfer-encoding", b"").lower() == b"chunked":
        while True:
            line = await source.readuntil(b"\r\n")
            size = int(line.split(b";")[0], 16)
            sink.write(line + await source.readexactly(size + 2))
            await sink.drain()
            if size == 0:
                return
    left = int(fields.get(b"content-length", b"0"))
    while left:
        piece = await source.read(min(left, 1 << 18))
        if not piece:
            raise ConnectionResetError
        left -= len(piece)
        sink.write(piece)
        await sink.drain()


@functools.cache
def proxy(target: str, milliseconds: int) -> str:
    """Starts one before that server, for as long as this process lives. Returns: its `host:port`."""
    command = (sys.executable, str(Path(__file__).resolve()), target, str(milliseconds))
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    atexit.register(process.communicate)
    return f"{_HOST}:{_line(process.stdout)}"


def _line(stream: IO[str] | None) -> str:
    assert stream is not None
    return stream.readline().strip()


def counts(endpoint: str) -> dict[str, int]:
    """What a proxy has counted since it was last asked: `requests`, and the most of them `in_flight`."""
    with urllib.request.urlopen(f"http://{endpoint}{_COUNTS}", timeout=_ENOUGH_SECONDS) as answer:
        found: dict[str, int] = json.load(answer)
    return found


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
    cache.mkdir(parents=True, exist_ok=True)
    folder, endpoint = mkdtemp(prefix="minio-", dir=cache), f"{_HOST}:{_free_port()}"
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    process = subprocess.Popen(
        (program, "server", folder, "--address", endpoint, "--quiet"),
        env=os.environ | {"MINIO_ROOT_USER": KEY, "MINIO_ROOT_PASSWORD": SECRET, "MINIO_BROWSER": "off"},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    atexit.register(process.wait)
    atexit.register(process.terminate)
    _until_ready(process, endpoint)
    filesystem(endpoint).create_dir(BUCKET)
    return endpoint


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind((_HOST, 0))
        port: int = probe.getsockname()[1]
    return port


def _until_ready(process: subprocess.Popen[bytes], endpoint: str) -> None:
    for _ in range(_ENOUGH_SECONDS * 10):
        if process.poll() is not None:
            break
        with suppress(OSError), urllib.request.urlopen(f"http://{endpoint}/minio/health/ready", timeout=5):
            return
        time.sleep(0.1)
    raise MissingInputError(f"MinIO does not start on {endpoint}")


def filesystem(endpoint: str) -> Any:
    """A `pyarrow.fs.S3FileSystem` on that server, or through that proxy."""
    from pyarrow.fs import S3FileSystem

    return S3FileSystem(
        endpoint_override=endpoint,
        scheme="http",
        access_key=KEY,
        secret_key=SECRET,
        region=REGION,
        allow_bucket_creation=True,
    )


def put(endpoint: str, contents: Mapping[str, bytes]) -> None:
    """Writes objects by their `s3://` paths, several at once."""
    bucket = filesystem(endpoint)

    def one(path: str, content: bytes) -> None:
        with bucket.open_output_stream(path.removeprefix("s3://")) as stream:
            stream.write(content)

    with ThreadPoolExecutor(8) as threads:
        list(threads.map(one, contents.keys(), contents.values()))


if __name__ == "__main__":
    asyncio.run(_Proxy(sys.argv[1], float(sys.argv[2])).serve())
