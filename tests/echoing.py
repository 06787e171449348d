"""A server that denies everything and repeats what it was asked, headers and all, and clients of it."""

from __future__ import annotations

import contextlib
import json
import threading
from collections.abc import Callable, Iterator
from datetime import datetime, timedelta, timezone
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

CANARY = "c4n4ry"
"""What no message shows. Each credential of a client has it."""
TOKEN, SECRET = f"{CANARY}-Token-9f", f"{CANARY}Secret0123456789abcdef"
FORMS = {
    "message": lambda told: f"<Error><Code>AccessDenied</Code><Message>denied for {told}</Message></Error>",
    "elements": lambda told: (
        f"<Error><Code>AccessDenied</Code><Message><a>{told}</a><b>1</b></Message></Error>"
    ),
    "xml": lambda told: f'<?xml version="1.0"?><Code>AccessDenied</Code><Header>{told}</Header>',
    "html": lambda told: f"<html><body><h1>Forbidden</h1>{told}</body></html>",
    "json": lambda told: json.dumps({"error": {"message": f"denied for {told}", "code": 403, "type": told}}),
    "text": lambda told: f"denied for {told}",
}


@contextlib.contextmanager
def echo(form: str) -> Iterator[str]:
    """The server's `host:port`."""

    class Handler(BaseHTTPRequestHandler):
        def _answer(self) -> None:
            # Each value alone as well: no name says then that it is secret.
            body = self.rfile.read(int(self.headers.get("Content-Length", 0))).decode("utf-8", "replace")
            told = " ".join([*self.headers.values(), str(dict(self.headers)), self.path, body])
            for mark in "<>&":
                told = told.replace(mark, " ")
            answer = FORMS[form](told).encode()
            self.send_response(403)
            self.send_header("Content-Type", "application/json" if form == "json" else "application/xml")
            self.send_header("Content-Length", str(len(answer)))
            self.end_headers()
            if self.command != "HEAD":
                self.wfile.write(answer)

        do_GET = do_HEAD = do_POST = do_PUT = do_PROPFIND = _answer  # noqa: N815 - methods of HTTP

        def log_message(self, *_: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"127.0.0.1:{server.server_port}"
        server.shutdown()


def _arrow_s3(address: str) -> Any:
    from pyarrow import fs

    return fs.S3FileSystem(
        access_key="AKID",
        secret_key=SECRET,
        session_token=TOKEN,
        endpoint_override=address,
        scheme="http",
        region="us-east-1",
        retry_strategy=fs.AwsStandardS3RetryStrategy(max_attempts=1),
    )


def _arrow_gcs(address: str) -> Any:
    from pyarrow import fs

    return fs.GcsFileSystem(
        access_token=TOKEN,
        credential_token_expiration=datetime.now(timezone.utc) + timedelta(hours=1),
        scheme="http",
        endpoint_override=address,
        retry_time_limit=timedelta(seconds=1),
    )


def _s3fs(address: str) -> Any:
    import s3fs

    return s3fs.S3FileSystem(
        key="AKID",
        secret=SECRET,
        token=TOKEN,
        endpoint_url=f"http://{address}",
        config_kwargs={"retries": {"max_attempts": 0}},
        skip_instance_cache=True,
    )


def _obstore(address: str) -> Any:
    from obstore.store import S3Store

    return S3Store(
        "lake",
        endpoint=f"http://{address}",
        region="us-east-1",
        access_key_id="AKID",
        secret_access_key=SECRET,
        token=TOKEN,
        client_options={"allow_http": True},
        retry_config={"max_retries": 0},
    )


def _obstore_http(address: str) -> Any:
    from obstore.store import HTTPStore

    options: Any = {"allow_http": True, "default_headers": {"Authorization": f"Bearer {TOKEN}"}}
    return HTTPStore(f"http://{address}", client_options=options, retry_config={"max_retries": 0})


def _http(_address: str) -> Any:
    import fsspec

    headers = {"Authorization": f"Bearer {TOKEN}"}
    return fsspec.filesystem("http", client_kwargs={"headers": headers}, skip_instance_cache=True)


CLIENTS: dict[str, tuple[str, Callable[[str], Any]]] = {
    "pyarrow s3": ("s3://lake/wh", _arrow_s3),
    "pyarrow gcs": ("gs://lake/wh", _arrow_gcs),
    "s3fs": ("s3://lake/wh", _s3fs),
    "obstore s3": ("s3://lake/wh", _obstore),
    "obstore http": ("http://{address}/wh", _obstore_http),
    "fsspec http": (f"http://user:{TOKEN}@{{address}}/wh", _http),
}
"""Where a table is, and what makes a client."""
