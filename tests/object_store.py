"""A server that speaks S3, a proxy before it that delays, counts and breaks requests, and its clients.

The server is moto's, in this process; `make test-servers` has the same tests talk to MinIO.
"""

from __future__ import annotations

import contextlib
import http.client
import logging
import os
import re
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from datetime import timedelta
from functools import cache
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, NamedTuple

from local_storage import put_files

BUCKET = "lake"
KEY, SECRET, TOKEN = "AKIDlakebed", "c4n4ry-secret", "c4n4ry-token"
"""What no message shows: `c4n4ry`."""
LIBRARIES = ["obstore", "pyarrow", "fsspec"]
# What MinIO is asked for; without its program the server is moto's.
MINIO = os.environ.get("LAKEBED_MINIO")


@contextlib.contextmanager
def server() -> Iterator[str]:
    """A server with an empty bucket: `host:port`."""
    with minio(MINIO) if MINIO else _moto() as address:
        made = http.client.HTTPConnection(address)
        if not MINIO:
            made.request("PUT", f"/{BUCKET}")
            assert made.getresponse().status == 200
        made.close()
        yield address
    # fsspec would give whoever asks for the same options next a filesystem of this server.
    if s3fs := sys.modules.get("s3fs"):
        s3fs.S3FileSystem.clear_instance_cache()


@contextlib.contextmanager
def _moto() -> Iterator[str]:
    from moto.server import ThreadedMotoServer

    logging.getLogger("werkzeug").setLevel(logging.ERROR)
    moto = ThreadedMotoServer("127.0.0.1", port=0, verbose=False)
    moto.start()
    # Which of its services is meant it would find at each request by listing the folders of all.
    serving: Any = moto._server
    serving.app.get_backend_for_host = cache(serving.app.get_backend_for_host)
    host, port = moto.get_host_and_port()
    # What a server of another module was given is kept for all of this process.
    reset = http.client.HTTPConnection(host, port)
    reset.request("POST", "/moto-api/reset")
    assert reset.getresponse().status == 200
    reset.close()
    yield f"{host}:{port}"
    moto.stop()


@contextlib.contextmanager
def minio(program: str) -> Iterator[str]:
    with tempfile.TemporaryDirectory() as folder, ThreadingHTTPServer(("127.0.0.1", 0), Proxied) as free:
        (Path(folder) / BUCKET).mkdir()  # how its bucket is made without a client
        address = f"127.0.0.1:{free.server_port}"
        free.server_close()
        users = {"MINIO_ROOT_USER": KEY, "MINIO_ROOT_PASSWORD": SECRET}
        command = [program, "server", folder, "--address", address, "--quiet"]
        process = subprocess.Popen(
            command, env={**os.environ, **users}, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        try:
            deadline = time.monotonic() + 60
            while not _answers(address):
                assert process.poll() is None, "MinIO has ended"
                assert time.monotonic() < deadline, "MinIO does not answer"
                time.sleep(0.1)
            yield address
        finally:
            process.terminate()
            process.wait()


def _answers(address: str) -> bool:
    connection = http.client.HTTPConnection(address, timeout=5)
    try:
        connection.request("GET", "/minio/health/cluster")
        return connection.getresponse().status == 200
    except OSError:
        return False
    finally:
        connection.close()


def variables(address: str) -> dict[str, str]:
    """What SDKs of AWS are told in the environment."""
    said = {"ACCESS_KEY_ID": KEY, "SECRET_ACCESS_KEY": SECRET, "ENDPOINT_URL": f"http://{address}"}
    said |= dict.fromkeys(("REGION", "DEFAULT_REGION"), "us-east-1")
    return {f"AWS_{name}": value for name, value in said.items()}


def upload(address: str, folder: Path, prefix: str) -> None:
    """The files of a folder as objects."""
    put_files(client("obstore", address, token=False).put, folder, f"{prefix}/")


def client(library: str, address: str, *, seconds: float = 60, token: bool = True) -> Any:
    """A library's own object for the bucket, which tries twice and waits at most `seconds` for an answer.

    A token is of no use here and no harm: it is what a message might show.
    """
    # MinIO takes none that it has not given.
    session = TOKEN if token and not MINIO else None
    if library == "obstore":
        from obstore.store import S3Store

        config: Any = {"token": session} if session else {}
        return S3Store(
            BUCKET,
            endpoint=f"http://{address}",
            region="us-east-1",
            access_key_id=KEY,
            secret_access_key=SECRET,
            config=config,
            client_options={"allow_http": True, "timeout": timedelta(seconds=seconds)},
            retry_config={
                "max_retries": 1,
                "retry_timeout": timedelta(seconds=2 * seconds),
                "backoff": {
                    "init_backoff": timedelta(milliseconds=10),
                    "max_backoff": timedelta(milliseconds=20),
                    "base": 2,
                },
            },
        )
    if library == "pyarrow":
        from pyarrow.fs import AwsStandardS3RetryStrategy, S3FileSystem

        return S3FileSystem(
            access_key=KEY,
            secret_key=SECRET,
            session_token=session,
            region="us-east-1",
            endpoint_override=address,
            scheme="http",
            request_timeout=seconds,
            connect_timeout=seconds,
            retry_strategy=AwsStandardS3RetryStrategy(max_attempts=2),
        )
    from s3fs import S3FileSystem as Files

    files = Files(
        key=KEY,
        secret=SECRET,
        token=session,
        client_kwargs={"endpoint_url": f"http://{address}", "region_name": "us-east-1"},
        config_kwargs={"read_timeout": seconds, "connect_timeout": seconds, "retries": {"max_attempts": 0}},
        skip_instance_cache=True,
    )
    files.retries = 2
    return files


class Asked(NamedTuple):
    """A request."""

    method: str
    path: str
    range: str | None


class Answer(NamedTuple):
    """What a server answers; `sent` bytes of the body leave, then the connection ends."""

    status: int
    headers: dict[str, str]
    body: bytes
    sent: int | None = None


Break = Callable[[Asked, Answer, dict[str, str]], Answer]
"""What becomes of an answer, given the headers of the request."""


class Proxy:
    """A proxy before a server: `delay` is slept before each answer, `breaks` makes another one of it."""

    def __init__(self, address: str, delay: float = 0.0) -> None:
        self.server = address
        self.delay = delay
        self.breaks: Break | None = None
        self.keys: set[str] = set()
        """Access keys by which requests were signed."""
        self.kept: dict[Asked, Answer] | None = None
        """Answers to requests that came before, where those are to cost nothing."""
        self.asked: list[Asked] = []
        self.now = self.most_at_once = 0
        self.lock = threading.Lock()
        self.ended = threading.Event()

    def forget(self) -> None:
        """What was asked so far is not counted, and nothing is broken any more."""
        with self.lock:
            self.asked, self.most_at_once, self.breaks = [], 0, None


@contextlib.contextmanager
def proxy(address: str, delay: float = 0.0) -> Iterator[tuple[str, Proxy]]:
    """A proxy, and where it is."""

    class Handler(Proxied):
        before = Proxy(address, delay)

    class Server(ThreadingHTTPServer):
        daemon_threads = True
        request_queue_size = 128

        def handle_error(self, request: Any, client_address: Any) -> None:
            """Clients that do not wait any longer are none of ours."""

    with Server(("127.0.0.1", 0), Handler) as listening:
        thread = threading.Thread(target=listening.serve_forever, kwargs={"poll_interval": 0.02})
        thread.start()
        try:
            yield f"127.0.0.1:{listening.server_port}", Handler.before
        finally:
            Handler.before.ended.set()
            listening.shutdown()
            thread.join()


class Proxied(BaseHTTPRequestHandler):
    """One connection of a client."""

    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    before: Proxy

    def log_message(self, *args: Any) -> None:
        """Tests print no requests."""

    def _answer(self) -> None:
        before = self.before
        asked = Asked(self.command, self.path, self.headers.get("Range"))
        key = re.search(r"Credential=([^/]+)/", self.headers.get("Authorization") or "")
        with before.lock:
            before.asked.append(asked)
            before.keys.add(key[1] if key else "")
            before.now += 1
            before.most_at_once = max(before.most_at_once, before.now)
            breaks = before.breaks
        try:
            before.ended.wait(before.delay)
            answer = self._forwarded()
            if breaks is not None:
                answer = breaks(asked, answer, dict(self.headers.items()))
        finally:
            with before.lock:
                before.now -= 1
        self._send(answer)

    def _forwarded(self) -> Answer:
        asked, kept = Asked(self.command, self.path, self.headers.get("Range")), self.before.kept
        if kept is None:
            return self._fetched()
        if asked not in kept:
            kept[asked] = self._fetched()
        return kept[asked]

    def _fetched(self) -> Answer:
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        connection = http.client.HTTPConnection(self.before.server, timeout=60)
        # With the host of the proxy, for which the client signed.
        connection.request(self.command, self.path, body or None, dict(self.headers.items()))
        response = connection.getresponse()
        headers = {
            name: value for name, value in response.getheaders() if name.lower() not in _OF_A_CONNECTION
        }
        answer = Answer(response.status, headers, response.read())
        connection.close()
        return answer

    def _send(self, answer: Answer) -> None:
        self.send_response(answer.status)
        length = {} if _has(answer.headers, "Content-Length") else {"Content-Length": str(len(answer.body))}
        for name, value in {**answer.headers, **length}.items():
            self.send_header(name, value)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(answer.body[: answer.sent])
        if answer.sent is not None:
            self.close_connection = True

    do_GET = do_HEAD = do_PUT = do_POST = do_DELETE = _answer  # noqa: N815 - the names that are called


_OF_A_CONNECTION = {"connection", "transfer-encoding", "keep-alive", "server", "date"}


def _has(headers: dict[str, str], name: str) -> bool:
    return name.lower() in (own.lower() for own in headers)
