"""The Rust example that plans a table on S3: it prints the files that lakebed plans in Python."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pytest
from file_rows import file_rows
from object_store import BUCKET, SECRET, Answer, Asked, client, proxy, server, upload, variables
from trust import not_in_check

import lakebed
from shared_data import PROJECT, SAMPLE_TABLE

pytest.importorskip("obstore")

pytestmark = [
    not_in_check,  # it compiles, where `make test-rust` has not done so before
    pytest.mark.skipif(shutil.which("cargo") is None, reason="needs cargo"),
]

PAIMON, ICEBERG = f"s3://{BUCKET}/shop.db/orders", f"s3://{BUCKET}/ice/orders"
EMEA = "region = 'emea'"


@pytest.fixture(scope="module")
def program() -> Path:
    command = ("cargo", "build", "--quiet", "--locked", "--example", "plan_on_s3")
    subprocess.run(command, cwd=PROJECT / "rust" / "lakebed-object-store", check=True)
    return PROJECT / "target" / "debug" / "examples" / "plan_on_s3"


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with server() as address:
        upload(address, SAMPLE_TABLE, PAIMON.removeprefix(f"s3://{BUCKET}/"))
        schema = pa.schema([("id", pa.int64()), ("region", pa.string())])
        here, there = (str(tmp_path_factory.mktemp(name) / "t") for name in ("here", "there"))
        table = lakebed.create_table(here, schema, "iceberg", partition_by=["region"])
        for number, region in enumerate(["emea", "apac", "emea", "us"]):
            file = {"record_count": number, "partition": {"region": region}}
            table = table.append_files(file_rows(f"data/{number}.parquet", **file))
        lakebed.rewrite_paths(table, {here: ICEBERG}, to=there)
        upload(address, Path(there), ICEBERG.removeprefix(f"s3://{BUCKET}/"))
        yield address


def run(
    program: Path, address: str, *arguments: str, secret: str = SECRET
) -> subprocess.CompletedProcess[str]:
    environment = variables(address) | {"AWS_SECRET_ACCESS_KEY": secret, "AWS_ALLOW_HTTP": "true"}
    return subprocess.run(
        (program, *arguments), env=environment, capture_output=True, text=True, check=False, timeout=60
    )


@pytest.mark.parametrize("where", [None, EMEA])
@pytest.mark.parametrize(("location", "most"), [(PAIMON, 34), (ICEBERG, 4)])
def test_it_prints_the_plan(program: Path, address: str, location: str, most: int, where: str | None) -> None:
    table = lakebed.open_table(location, storage=client("obstore", address))
    plan = table.plan(where=where, columns=["file_path", "record_count"]).to_arrow().to_pylist()
    assert len(plan) == most if where is None else 0 < len(plan) < most
    printed = run(program, address, location, *([where] if where else []))
    assert printed.returncode == 0, printed.stderr
    assert printed.stdout.splitlines() == [f"{file['file_path']}\t{file['record_count']}" for file in plan]


def test_its_requests_are_side_by_side(program: Path, address: str) -> None:
    with proxy(address, delay=0.1) as (before, counted):
        assert run(program, before, PAIMON).returncode == 0
        assert counted.most_at_once >= 4
        assert len({asked.path for asked in counted.asked if asked.method == "GET"}) > 10


def test_its_errors_name_the_path_and_no_secret(program: Path, address: str) -> None:
    nowhere = f"s3://{BUCKET}/nowhere"
    missing = run(program, address, nowhere)
    assert missing.returncode == 1
    assert "TableNotFound" in missing.stderr
    assert nowhere in missing.stderr

    def denies(asked: Asked, answer: Answer, headers: dict[str, str]) -> Answer:
        told = f"<Error><Code>AccessDenied</Code><Message>{asked} {headers} {SECRET}</Message></Error>"
        return Answer(403, {}, told.encode())

    with proxy(address) as (before, counted):
        counted.breaks = denies
        denied = run(program, before, PAIMON)
    assert denied.returncode == 1
    assert PAIMON in denied.stderr
    assert "403" in denied.stderr
    assert not [word for word in (SECRET, "AWS4-HMAC-SHA256", "Credential=") if word in denied.stderr], (
        denied.stderr
    )
