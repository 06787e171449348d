"""Which library reads tables from an object store best: requests a file, time of a plan, credentials found.

    python benches/object_stores.py [--milliseconds 30] [--rounds 5]

Prints the table of docs/storage.md. A table of 400 manifests by PyIceberg lies on moto; a proxy before it, in
a process of its own, answers what was asked before by itself, after the delay, so that little but waiting is
timed.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import iceberg_tables

import lakebed

PROJECT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(PROJECT / "tests"))

from object_store import BUCKET, KEY, SECRET, client, proxy, server, upload  # noqa: E402

MANIFESTS = 400


def serve(pipe: Any, folder: Path) -> None:
    """The server and its proxy, for one who asks by a pipe."""
    with server() as address, proxy(address) as (before, counted):
        upload(address, folder, "t")
        counted.kept = {}
        pipe.send(before)
        while (asked := pipe.recv()) is not None:
            with counted.lock:
                if "milliseconds" in asked:
                    counted.delay = asked["milliseconds"] / 1000
                files = {one.path for one in counted.asked}
                pipe.send((len(counted.asked), len(files), counted.most_at_once, counted.keys))
                counted.asked, counted.most_at_once, counted.keys = [], 0, set()


def ask(pipe: Any, **what: Any) -> Any:
    pipe.send(what)
    return pipe.recv()


@contextlib.contextmanager
def profile() -> Iterator[dict[str, str]]:
    """A profile of AWS's in files, and an environment that has them."""
    with tempfile.TemporaryDirectory() as folder:
        credentials, config = Path(folder, "credentials"), Path(folder, "config")
        credentials.write_text(f"[lake]\naws_access_key_id = {KEY}\naws_secret_access_key = {SECRET}\n")
        config.write_text("[profile lake]\nregion = eu-west-1\n")
        yield {
            "AWS_SHARED_CREDENTIALS_FILE": str(credentials),
            "AWS_CONFIG_FILE": str(config),
            "AWS_PROFILE": "lake",
        }


def finds(library: str, address: str, pipe: Any, said: dict[str, str]) -> bool:
    """Whether a library signs its requests by the key that an environment leads to."""
    ask(pipe)
    clean = {name: value for name, value in os.environ.items() if not name.startswith("AWS_")}
    # No service of the machine's cloud is asked, which would have to time out.
    environment = {
        **clean,
        "AWS_ENDPOINT_URL": f"http://{address}",
        "AWS_EC2_METADATA_DISABLED": "true",
        **said,
    }
    # In a process of its own, which has nothing but the environment.
    code = f"import lakebed; lakebed.open_table('s3://{BUCKET}/probe', storage={library!r})"
    with contextlib.suppress(subprocess.TimeoutExpired):
        subprocess.run(
            [sys.executable, "-c", code], env=environment, capture_output=True, check=False, timeout=60
        )
    return KEY in ask(pipe)[-1]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--milliseconds", type=int, default=30)
    parser.add_argument("--rounds", type=int, default=5)
    given = parser.parse_args()
    corpus = iceberg_tables.by_pyiceberg(
        PROJECT / "benches" / ".cache", 10 * MANIFESTS, None, manifests=MANIFESTS
    )
    metadata = Path(corpus.path)
    folder = metadata.parent.parent
    spawned = get_context("spawn")
    pipe, end = spawned.Pipe()
    process = spawned.Process(target=serve, args=(end, folder), daemon=True)
    process.start()
    address = pipe.recv()
    location = f"s3://{BUCKET}/t"
    relocate = {str(folder): location, f"file://{folder}": location}
    timed = f"`open_table` | plan of {MANIFESTS} manifests"
    print(f"| library | requests a file | at once | {timed} | environment | profile |")
    print("|---|---:|---:|---:|---:|---|---|")
    for library in ("obstore", "pyarrow", "fsspec"):
        storage = client(library, address)
        ask(pipe, milliseconds=0)
        _run(storage, location, metadata, relocate)  # what is kept then is not asked of the server again
        ask(pipe, milliseconds=given.milliseconds)
        runs = [_run(storage, location, metadata, relocate) for _ in range(given.rounds)]
        opening, planning = (statistics.median(seconds) for seconds in zip(*runs, strict=True))
        asked, files, at_once, _ = ask(pipe)
        keys = {"AWS_ACCESS_KEY_ID": KEY, "AWS_SECRET_ACCESS_KEY": SECRET, "AWS_REGION": "us-east-1"}
        with profile() as files_of_aws:
            found = [finds(library, address, pipe, said) for said in (keys, files_of_aws)]
        print(
            f"| {library} | {asked / files / given.rounds:.1f} | {at_once} | {opening:.2f} s "
            f"| {planning:.2f} s | {' | '.join('yes' if one else 'no' for one in found)} |",
            flush=True,
        )
    pipe.send(None)
    process.join()


def _run(storage: Any, location: str, metadata: Path, relocate: dict[str, str]) -> tuple[float, float]:
    """Seconds to open a table and to plan it."""
    start = time.perf_counter()
    table = lakebed.open_table(f"{location}/metadata/{metadata.name}", storage=storage, relocate=relocate)
    opened = time.perf_counter()
    assert table.plan(columns=["file_path"]).to_arrow().num_rows == 10 * MANIFESTS
    return opened - start, time.perf_counter() - opened


if __name__ == "__main__":
    main()
