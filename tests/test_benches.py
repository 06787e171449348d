"""The bench runs on inputs it has made itself, one of each format, and gives every reader a time."""

from __future__ import annotations

import importlib
import json
import os
import re
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from http.client import HTTPConnection
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib.util import find_spec
from pathlib import Path
from typing import Any
from urllib.request import urlopen

import pyarrow as pa
import pytest
from spark_runtimes import require_python_for_spark
from trust import QUICK, THOROUGH, not_in_check

import lakebed

BENCHES = Path(__file__).resolve().parents[1] / "benches"
OURS = ("lakebed", "lakebed, all cores")
TIMED: dict[str, set[tuple[str, str]]] = {
    "pypaimon": {
        *((reader, task) for task in ("entries", "encode") for reader in OURS),
        ("lakebed", "stats"),
        ("lakebed", "guard"),
        ("fastavro", "entries"),
        ("pypaimon", "entries"),
        ("pypaimon", "stats"),
        ("pypaimon plan", "guard"),
        ("pypaimon on lakebed", "entries"),
        ("pypaimon plan on lakebed", "files"),
        ("pypaimon", "encode"),
    },
    "pyiceberg": {
        *(
            (reader, task)
            for task in ("entries", "files", "plan", "plan-stream", "encode")
            for reader in OURS
        ),
        ("lakebed, stats of all", "files"),
        ("lakebed", "guard"),
        ("lakebed.avro", "entries"),
        ("fastavro", "entries"),
        ("polars", "entries"),
        ("duckdb", "entries"),
        ("pyiceberg", "entries"),
        ("pyiceberg plan", "guard"),
        ("pyiceberg inspect.files", "files"),
        ("pyiceberg", "plan"),
        ("pyiceberg on lakebed", "plan"),
        ("pyiceberg", "encode"),
        ("pyiceberg-core", "entries"),
    },
    "pyiceberg-1k": {
        *(
            (reader, task)
            for task in ("objects", "values")
            for reader in ("pyiceberg", "pyiceberg on lakebed")
        ),
        ("pyiceberg-core", "objects"),
    },
    "strings-deflate": {
        *((reader, task) for task in ("entries", "projected", "encode") for reader in OURS),
        *(("polars", task) for task in ("entries", "projected", "encode")),
        ("duckdb", "entries"),
        ("fastavro", "entries"),
        ("fastavro", "encode"),
    },
    **{
        table: {
            (reader, task)
            for task in ("entries", "projected", "stats", "files", "plan")
            for reader in ("lakebed", "lakebed of plain Avro")
        }
        for table in ("iceberg-parquet", "iceberg-encrypted")
    },
    "binary-rows": {(reader, task) for reader in ("lakebed", "pypaimon") for task in ("decode", "encode")},
    "metadata-1mb": {
        *((reader, task) for reader in ("lakebed", "pyiceberg") for task in ("open", "snapshots", "history")),
        ("json.loads", "open"),
    },
}
NEEDED = {
    "pyiceberg-1k": "pyiceberg",
    "iceberg-parquet": "pyspark",
    "iceberg-encrypted": "pyspark",
    "strings-deflate": "polars",
    "binary-rows": "pypaimon",
    "metadata-1mb": "pyiceberg",
}


def run(program: str, *arguments: object, **environment: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(BENCHES / program), *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, timeout=280, env=os.environ | environment)


def results(program: str, folder: Path, *arguments: object, **environment: str) -> tuple[list[Any], str]:
    """The results of a bench with its cache in that folder, and what it prints."""
    file = folder / "results.jsonl"
    done = run(program, *arguments, "--repeats", 1, "--cache", folder, "--json", file, **environment)
    assert done.returncode == 0, done.stdout + done.stderr
    return [json.loads(line) for line in file.read_text().splitlines()], done.stdout


# DuckDB reads Avro and Iceberg by extensions, which DuckDB 2 does not have as packages.
if WITHOUT := find_spec("duckdb_extension_avro") is None:
    TIMED = {name: {cell for cell in cells if cell[0] != "duckdb"} for name, cells in TIMED.items()}

# Of one input of each format a reader is asked for its first task; the long form asks for all, the quick one
# asks lakebed alone.
if not THOROUGH:
    TIMED = {
        name: {
            min(cell for cell in TIMED[name] if cell[0] == reader)
            for reader, _ in TIMED[name]
            if reader in OURS or not QUICK
        }
        for name in ("pypaimon", "pyiceberg")
    }


@pytest.mark.parametrize("name", TIMED)
def test_every_reader_is_timed(name: str, tmp_path: Path) -> None:
    for module in ("lakebed", "fastavro", NEEDED.get(name, name)):
        pytest.importorskip(module)
    readers, tasks = (",".join(sorted(set(names))) for names in zip(*TIMED[name], strict=True))
    chosen = ("--tables", name, "--readers", readers, "--tasks", tasks)
    lines, shown = results("bench.py", tmp_path, *chosen, "--entries", 200, "--no-rust")
    medians = {(line["reader"], line["task"]): line["median"] for line in lines}
    assert medians.keys() >= TIMED[name]
    assert all(medians[key] > 0 for key in TIMED[name]), shown
    rows = [line for line in shown.splitlines() if line.startswith(f"| {name} ")]
    assert len(rows) == len(lines)


@not_in_check
def test_jobs_are_timed_and_goals_shown(tmp_path: Path) -> None:
    sizes = ("--files", 400, "--snapshots", 20, "--repeats", 1, "--sides", "lakebed")
    done = run("bench_jobs.py", *sizes, "--cache", tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    rows = [line.split("|") for line in done.stdout.splitlines() if line.startswith("| ")]
    found = {row[1].strip(): row[7].strip() for row in rows[1:]}
    # 20 files a commit, of which two delete as many again; of a thousand orphans one commit has 20.
    files = {"manifests": "440", "plan": "360", "orphans": "20", "growth": "20", "file_history": "440"}
    files |= {"paimon_orphans": "20", "paimon_expire_plan": "18"}
    assert found.items() >= files.items()
    assert found.keys() > files.keys()
    goals = [line for line in done.stdout.splitlines() if line.startswith("- ")]
    assert len(goals) == 4
    assert all(line.endswith((": there", ": MISSED")) for line in goals)


@not_in_check
def test_numbers_of_others_are_measured_on_right_answers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(str(BENCHES))
    goals = importlib.import_module("bench_goals").GOALS
    done = run("bench_goals.py", "--share", 0.002, "--repeats", 1, "--cache", tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    rows = [
        [cell.strip() for cell in line.split("|")[1:-1]] for line in done.stdout.splitlines() if "|" in line
    ]
    header, _, *found = rows
    assert [row[0] for row in found] == list(goals)
    for row in found:
        cells = dict(zip(header, row, strict=True))
        assert float(cells["seconds"]) > 0, done.stdout
        assert float(cells["processor s"]) > 0, done.stdout
        assert cells["met"].endswith(", of 0.002 of it")
    # A wrong answer is no time.
    lakebed.create_table(tmp_path / "empty", pa.schema([("id", pa.int64())]), "iceberg")
    wrong = run("bench_goals.py", "--goal", "limit-10", "--table", tmp_path / "empty")
    assert (wrong.returncode, wrong.stdout) == (1, "")
    assert "ValueError: the answer is 0, not 10" in wrong.stderr


@not_in_check
@pytest.mark.spark
def test_removals_of_orphans_are_timed(tmp_path: Path) -> None:
    pytest.importorskip("pyspark")
    sizes = ("--files", 400, "--orphans", 50, "--snapshots", 10)
    lines, shown = results("bench_orphans.py", tmp_path, *sizes, "--sides", "lakebed,lakebed on Spark")
    medians = {(line["reader"], line["task"]): line["median"] for line in lines}
    assert set(medians) == {
        (side, task) for side in ("lakebed", "lakebed on Spark") for task in ("find", "remove")
    }
    assert all(seconds > 0 for seconds in medians.values()), shown
    rows = [line.split("|") for line in shown.splitlines() if line.startswith("| ")]
    assert {row[8].strip() for row in rows[1:]} == {"50"}


@not_in_check
@pytest.mark.parametrize(("format_name", "peer"), [("iceberg", "pyiceberg"), ("paimon", "pypaimon")])
def test_late_storages_are_late_for_every_reader(format_name: str, peer: str, tmp_path: Path) -> None:
    pytest.importorskip(peer)
    readers = f"lakebed,{peer}"
    chosen = ("--tables", f"latency-{format_name}-100ms", "--tasks", "files", "--readers", readers)
    lines, shown = results("bench.py", tmp_path, *chosen, "--entries", 40, "--no-rust")
    medians = {line["reader"]: line["median"] for line in lines}
    assert medians.keys() == {*readers.split(","), "lakebed, 32 threads"}
    # Metadata or snapshot, then a list, then manifests: no reader can ask for one before it has the other.
    assert all(seconds is not None and seconds >= 0.3 for seconds in medians.values()), shown


class Objects(BaseHTTPRequestHandler):
    """A server of one object: ranges, questions about it, and answers in chunks."""

    protocol_version = "HTTP/1.1"
    timeout = 1
    content = bytes(range(256)) * 1000

    def do_HEAD(self) -> None:
        self.send_response(200)
        self.send_header("Content-Length", str(len(self.content)))
        self.end_headers()

    def do_GET(self) -> None:
        asked = re.match(r"bytes=(\d+)-(\d+)", self.headers.get("Range", ""))
        content = self.content[int(asked[1]) : int(asked[2]) + 1] if asked else self.content
        self.send_response(206 if asked else 200)
        self.send_header("X-Asked-Of", self.headers["Host"])
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        for at in range(0, len(content), 100_000):
            piece = content[at : at + 100_000]
            self.wfile.write(b"%x\r\n%b\r\n" % (len(piece), piece))
        self.wfile.write(b"0\r\n\r\n")

    def do_PUT(self) -> None:
        type(self).content = self.rfile.read(int(self.headers["Content-Length"]))
        self.send_response(200)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *_: Any) -> None:
        """Says nothing."""


@pytest.fixture
def late_s3(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.syspath_prepend(str(BENCHES))
    return importlib.import_module("late_s3")


@not_in_check
def test_the_late_proxy_relays_waits_and_counts(late_s3: Any) -> None:
    with ThreadingHTTPServer(("127.0.0.1", 0), Objects) as server, ThreadPoolExecutor(4) as threads:
        threads.submit(server.serve_forever)
        try:
            endpoint = late_s3.proxy(f"127.0.0.1:{server.server_port}", 200)
            connection = HTTPConnection(endpoint, timeout=20)

            def answer(method: str, **asked: Any) -> tuple[int, bytes, Any]:
                connection.request(method, "/bench/object", **asked)
                found = connection.getresponse()
                return found.status, found.read(), found.headers

            started = time.monotonic()
            new = bytes(range(255)) * 2000
            assert answer("PUT", body=new)[:2] == (200, b"")
            status, body, headers = answer("GET")
            assert (status, body, headers["X-Asked-Of"]) == (200, new, endpoint)
            assert answer("GET", headers={"Range": "bytes=5-9"})[:2] == (206, new[5:10])
            assert answer("HEAD")[2]["Content-Length"] == str(len(new))
            assert time.monotonic() - started >= 0.8
            assert late_s3.counts(endpoint) == {"requests": 4, "in_flight": 1}
            together = [
                threads.submit(lambda: urlopen(f"http://{endpoint}/bench/object").read()) for _ in "123"
            ]
            assert [one.result() for one in together] == [new] * 3
            assert late_s3.counts(endpoint) == {"requests": 3, "in_flight": 3}
            # The server ends what is idle; the client's connection, which is the proxy's, stays.
            time.sleep(1.5)
            assert answer("GET")[:2] == (200, new)
            connection.close()
        finally:
            server.shutdown()


LATE_PEERS = [("iceberg", () if WITHOUT else ("duckdb",)), ("paimon", ("pypaimon", "pypaimon-rust"))]


@pytest.mark.parametrize(("format_name", "peers"), LATE_PEERS if THOROUGH else LATE_PEERS[:1])
def test_readers_of_a_late_s3_server_are_timed(
    format_name: str, peers: tuple[str, ...], tmp_path: Path, late_s3: Any
) -> None:
    for peer in peers:
        pytest.importorskip(peer.replace("-", "_"))
    if format_name == "iceberg":
        pytest.importorskip("pyiceberg")
    if late_s3.binary(BENCHES / ".cache") is None:
        pytest.skip(f"no MinIO server on PATH, and ${late_s3.BINARY} names none")
    readers = ("lakebed",) if QUICK else ("lakebed", *peers)
    table, named = f"latency-s3-{format_name}-100ms", ",".join(readers)
    chosen = ("--tables", table, "--tasks", "files", "--readers", named, "--entries", 40, "--no-rust")
    environment = {late_s3.BINARY: str(late_s3.binary(BENCHES / ".cache"))}
    found, shown = results("bench.py", tmp_path, *chosen, **environment)
    lines = {line["reader"]: line for line in found}
    assert lines.keys() >= {*readers}
    assert all(lines[reader]["median"] >= 0.3 for reader in readers), shown
    # Metadata or snapshot, a list, and each of the four manifests.
    assert all(answer["requests"] >= 6 for reader in readers for answer in lines[reader]["answers"])


def write_results(path: Path, **medians: float) -> Path:
    """A result file of one input and task, with those medians and peaks of a megabyte a reader."""
    lines: list[dict[str, Any]] = [
        {"input": "table", "task": "entries", "reader": reader, "median": median, "peak_bytes": 1_000_000}
        for reader, median in medians.items()
    ]
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return path


@pytest.mark.parametrize(
    ("new", "code", "ratio"),
    [
        # A machine that is twice as slow is no slower lakebed.
        ({"lakebed": 3.0, "walk": 2.0, "fastavro": 40.0}, 0, "1.00"),
        ({"lakebed": 2.0, "walk": 1.0, "fastavro": 40.0}, 1, "1.33 PAST"),
        ({"lakebed": 0.9, "walk": 1.0, "fastavro": 1.0}, 0, "0.60"),
        # Without a floor in both files the other readers are the yardstick.
        ({"lakebed": 3.0, "fastavro": 20.0}, 1, "2.00 PAST"),
    ],
)
def test_results_are_compared_by_ratios(new: dict[str, float], code: int, ratio: str, tmp_path: Path) -> None:
    old = write_results(tmp_path / "old.jsonl", lakebed=1.5, walk=1.0, fastavro=20.0)
    done = run("compare.py", old, write_results(tmp_path / "new.jsonl", **new))
    assert (done.returncode, done.stderr) == (code, "")
    (row,) = [line for line in done.stdout.splitlines() if line.startswith("| table ")]
    assert row.endswith(f"| {ratio} |")


def test_a_larger_peak_is_past_the_bound_too(tmp_path: Path) -> None:
    old = write_results(tmp_path / "old.jsonl", lakebed=1.5, walk=1.0)
    new = write_results(tmp_path / "new.jsonl", lakebed=1.5, walk=1.0)
    new.write_text(new.read_text().replace("1000000", "50000000"))
    done = run("compare.py", old, new, "--past", 2)
    assert done.returncode == 1
    assert "| peak MB | 1.000 | 50.000 | 50.00 PAST |" in done.stdout
    assert done.stdout.endswith("1 of 2 past 2.0 x\n")


def test_files_without_a_common_result_are_refused(tmp_path: Path) -> None:
    old = write_results(tmp_path / "old.jsonl", walk=1.0)
    assert run("compare.py", old, old).returncode == 2


def test_counts_that_grow_are_named() -> None:
    sys.path.insert(0, str(BENCHES))
    try:
        compared = importlib.import_module("instructions").compared
    finally:
        sys.path.remove(str(BENCHES))
    lines, slower = compared(
        {"decode a": 1000, "decode b": 1000}, {"decode a": 1019, "decode b": 1021, "c": 5}
    )
    assert slower == ["decode b"]
    assert [line.split("|")[4].strip() for line in lines[2:]] == ["+1.90%", "+2.10% MORE", "new"]


@pytest.mark.spark
def test_views_in_spark_are_timed(tmp_path: Path) -> None:
    for module in ("pyspark", "pyiceberg"):
        pytest.importorskip(module)
    require_python_for_spark()
    chosen = ("--tables", "pyiceberg", "--readers", "lakebed", "--tasks", "sum", "--entries", 200)
    lines, _ = results("bench_spark.py", tmp_path, *chosen)
    assert {line["reader"] for line in lines} == {"lakebed", "lakebed, by Spark"}
    for reader, answer in ((line["reader"], answer) for line in lines for answer in line["answers"]):
        assert answer["rows"] == 200
        assert answer["tasks"] > 0
        # Of a small table the driver has the rows.
        assert (answer["from_python_bytes"] > 0) == (reader == "lakebed, by Spark")
        assert answer["peak_bytes"]["driver"] > 0


def spark_result(name: str, size: int) -> str:
    """What was measured, as if there were a second of Python for a gigabyte and another of the JVM."""
    answer = {
        "cpu_seconds": {"workers": 1 + size / 1e9, "driver": 2 + size / 1e9},
        "to_python_bytes": 0,
        "from_python_bytes": 4 * size,
    }
    line = {"input": name, "task": "sum", "reader": "lakebed", "bytes": size, "error": None}
    return json.dumps({**line, "seconds": [3.0], "answers": [answer, answer]})


def test_the_model_is_what_was_measured_times_what_there_is(tmp_path: Path) -> None:
    file = tmp_path / "results.jsonl"
    file.write_text("\n".join([spark_result("iceberg-10k", 10**6), spark_result("iceberg-36mb", 10**8)]))
    done = run("spark_model.py", file)
    assert done.returncode == 0, done.stderr
    rows = [[cell.strip() for cell in line.split("|")[1:-1]] for line in done.stdout.splitlines()]
    costs, projected = (row for row in rows if row[:2] == ["sum", "lakebed"])
    assert costs[2:] == ["3.00", "1.00", "1.00", "0.00", "4.00"]
    assert projected[2:6] == ["320", "323", "23", "6"], "cpu seconds, then those of 1, 16 and 128 cores"
