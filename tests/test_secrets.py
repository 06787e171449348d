"""No error, warning, log or repr shows a secret: a canary stands wherever one may, and all fails."""

from __future__ import annotations

import io
import json
import logging
import traceback
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from command_line import run
from iceberg_made import MadeTable as IcebergTable
from iceberg_made import entry, entry_schema, field, optional
from paimon_made import MadeTable as PaimonTable
from paimon_made import entry as added
from paimon_made import row

import lakebed
from lakebed import catalogs
from lakebed.locations import check_locations
from lakebed.table import Reopening
from lakebed.table.opening import Opening

CANARY = "c4n4ry"
URIS = [
    f"nosuch://key:{CANARY}@bucket/t?token={CANARY}#{CANARY}",
    f"memory://key:{CANARY}@bucket/t?token={CANARY}",
    f"s3a://key:{CANARY}@bucket/t?sig={CANARY}",
    f"abfs://container:{CANARY}@account/t?sig={CANARY}",
    f"https://user:{CANARY}@host/t?X-Amz-Signature={CANARY}",
]


@pytest.fixture
def said(caplog: pytest.LogCaptureFixture) -> Callable[[Callable[[], object]], str]:
    """Runs something and gives all that it says: a result, or an error with its causes, warnings and logs."""
    caplog.set_level(logging.DEBUG)

    def listen(work: Callable[[], object]) -> str:
        heard = io.StringIO()
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            try:
                heard.write(repr(work()))
            except (lakebed.LakebedError, OSError, ValueError, TypeError) as error:
                # Frames hold the source of the test itself.
                heard.writelines(traceback.TracebackException.from_exception(error).format_exception_only())
                while error is not None:
                    heard.write(f"{error!r} {error} {error.__dict__}")
                    within = None if error.__suppress_context__ else error.__context__
                    error = error.__cause__ or within  # type: ignore[assignment]
        heard.writelines(str(warning.message) for warning in caught)
        # Other libraries log what they like.
        heard.writelines(
            record.getMessage() for record in caplog.records if record.name.startswith("lakebed")
        )
        return heard.getvalue()

    return listen


class Storage:
    """A storage of the caller's own, of one file."""

    def __init__(self, files: dict[str, bytes]) -> None:
        self.files = files

    def read(self, path: str, start: int | None = None, end: int | None = None) -> bytes:
        if path not in self.files:
            raise FileNotFoundError(2, "no such file")
        return self.files[path][start:end]

    def list(self, prefix: str) -> list[str]:
        return [path.removeprefix(f"{prefix}/") for path in self.files if path.startswith(f"{prefix}/")]


@pytest.mark.parametrize("uri", [URIS[0], f"other+scheme://key:{CANARY}@bucket?{CANARY}"])
def test_a_uri_that_cannot_be_opened(said: Callable[..., str], uri: str):
    for work in (
        lakebed.open_table,
        lakebed.avro.read,
        lakebed.avro.read_schema,
        lakebed.paimon.read_manifest,
    ):
        assert CANARY not in said(lambda work=work: work(uri))
    result = run("files", uri)
    assert CANARY not in result.output


@pytest.mark.parametrize("uri", URIS)
def test_a_uri_that_a_callers_storage_reads(said: Callable[..., str], uri: str):
    broken = f"{uri}/metadata/v1.metadata.json"
    for files in ({}, {broken: b"{"}, {f"{uri}/schema/schema-0": b"[", f"{uri}/snapshot/LATEST": b"1"}):
        assert CANARY not in said(lambda files=files: lakebed.open_table(uri, storage=Storage(files)))
    assert CANARY not in said(lambda: check_locations([uri], ["s3://other"]))
    assert CANARY not in said(lambda: check_locations(["s3://b"], [uri]))


@pytest.mark.parametrize("uri", URIS)
@pytest.mark.parametrize("which", ["list", "manifest"])
def test_a_uri_in_metadata(said: Callable[..., str], tmp_path: Path, uri: str, which: str):
    made = IcebergTable(tmp_path / "t", (1, "id", "long"))
    record = made.manifest(entry())
    made.commit({**record, "manifest_path": uri} if which == "manifest" else record)
    if which == "list":
        made.metadata["snapshots"][0]["manifest-list"] = uri
        made.set()
    table = made.open()
    for view in (table.files, table.entries, table.plan, table.partitions, table.deletes):
        assert CANARY not in said(lambda view=view: view().to_arrow())
    assert CANARY not in repr(table) + table._repr_html_()
    assert CANARY not in run("files", made.root).output


ICEBERG_PROPERTIES = [
    "write.manifest.compression-codec",
    "write.manifest.compression-level",
    "write.metadata.compression-codec",
    "write.metadata.path",
    "write.metadata.previous-versions-max",
    "write.metadata.metrics.default",
    "commit.retry.num-retries",
    "schema.name-mapping.default",
    "s3.secret-access-key",
]
PAIMON_OPTIONS = [
    "bucket",
    "bucket-key",
    "bucket-function.type",
    "manifest.compression",
    "manifest.format",
    "manifest.target-file-size",
    "metadata.stats-mode",
    "file.compression.zstd-level",
    "merge-engine",
    "fs.s3a.secret.key",
]


@pytest.mark.parametrize("name", ICEBERG_PROPERTIES)
def test_values_of_iceberg_properties(said: Callable[..., str], tmp_path: Path, name: str):
    made = IcebergTable(tmp_path / "t", (1, "id", "long"), properties={name: CANARY})
    made.commit(made.manifest(entry()))
    rows = pa.table({"id": [1]})

    def use() -> object:
        table = lakebed.open_table(made.root)
        table.files(stats=["id"]).to_arrow()
        shown = repr(table) + table._repr_html_()
        file = lakebed.describe_file(table, str(made.root / "data" / "f.parquet"), rows, file_size_in_bytes=1)
        return shown, repr(table.append_files(file))

    assert CANARY not in said(use)


@pytest.mark.parametrize("name", PAIMON_OPTIONS)
def test_values_of_paimon_options(said: Callable[..., str], tmp_path: Path, name: str):
    made = PaimonTable(tmp_path / "t", ("id", "BIGINT"), options={name: CANARY})
    made.commit()

    def use() -> object:
        table = lakebed.open_table(made.root)
        table.files(stats=["id"], where="id = 1").to_arrow()
        shown = repr(table) + table._repr_html_()
        return shown, repr(table.rewrite_manifests())

    assert CANARY not in said(use)


LITERALS = [
    f"id = '{CANARY}'",
    f"id IN (1, '{CANARY}')",
    f"id = DATE '{CANARY}'",
    f"id LIKE '{CANARY}'",
    f"name = '{CANARY}' AND",
    f"name = '{CANARY}",
    f"(name = '{CANARY}'",
    f"name > '{CANARY}' OR id = = 1",
    f"nowhere = '{CANARY}'",
    f"name LIKE '{CANARY}' ESCAPE '{CANARY}'",
    f"bucket(0, name) = '{CANARY}'",
    f"starts_with(id, '{CANARY}')",
    f"name = X'{CANARY}'",
    f"name = UUID '{CANARY}'",
]


@pytest.mark.parametrize("where", LITERALS)
def test_literals_of_filters(said: Callable[..., str], tmp_path: Path, where: str):
    made = IcebergTable(tmp_path / "i", (1, "id", "long"), (2, "name", "string"))
    made.commit(made.manifest(entry()))
    paimon = PaimonTable(tmp_path / "p", ("id", "BIGINT"), ("name", "STRING"))
    paimon.commit()
    for root in (made.root, paimon.root):
        table = lakebed.open_table(root)
        for view in (table.files, table.plan):
            assert CANARY not in said(lambda view=view: view(where=where).to_arrow())
        assert CANARY not in run("files", root, "--where", where).output


def damaged(file: Path) -> Iterator[None]:
    """Cuts and flips a file, one after the other; it ends as it was."""
    content = file.read_bytes()
    for cut in range(0, len(content), max(1, len(content) // 40)):
        file.write_bytes(content[:cut])
        yield
    for place in range(0, len(content), max(1, len(content) // 120)):
        changed = bytearray(content)
        changed[place] ^= 0x41
        file.write_bytes(changed)
        yield
    file.write_bytes(content)


def files_of(root: Path, **options: Any) -> int:
    return int(lakebed.open_table(root).files(**options).to_arrow().num_rows)


def test_values_in_manifests(said: Callable[..., str], tmp_path: Path):
    """Partition values, bounds and key metadata, in every file of a table in turn."""
    spec = [{"name": "city", "transform": "identity", "source-id": 2, "field-id": 1000}]
    made = IcebergTable(tmp_path / "t", (1, "id", "long"), (2, "city", "string"), spec=spec)
    secret = CANARY.encode()
    values: dict[str, Any] = {"partition": {"city": CANARY}, "key_metadata": secret}
    bounds: dict[str, Any] = {"lower_bounds": {1: secret, 2: secret}, "upper_bounds": {1: secret}}
    schema = entry_schema(2, [field(1000, "city", optional("string"))])
    manifest = made.manifest(entry(**values, **bounds), schema=schema, codec="null")
    made.commit({**manifest, "key_metadata": secret}, codec="null")
    for name in ("m.avro", "snap-1.avro"):
        for _ in damaged(made.root / "metadata" / name):
            assert CANARY not in said(
                lambda: files_of(made.root, stats=["id", "city"], where="id = 1 AND city > 'a'")
            )


def test_values_in_paimon_manifests(said: Callable[..., str], tmp_path: Path):
    made = PaimonTable(tmp_path / "t", ("id", "BIGINT"), ("city", "STRING"), partitionKeys=["city"])
    partition = row([("city", pa.string())], city=CANARY + "-longer-than-seven")
    made.commit(added(0, "f.parquet", partition))
    for file in sorted((made.root / "manifest").iterdir()):
        for _ in damaged(file):
            assert CANARY not in said(lambda: files_of(made.root, where="city > 'a'", columns=["partition"]))


def test_values_in_table_metadata(said: Callable[..., str], tmp_path: Path):
    made = IcebergTable(tmp_path / "t", (1, "id", "long"), properties={"s3.secret-access-key": CANARY})
    made.commit(made.manifest(entry()))
    metadata = json.loads((made.root / "metadata" / "v1.metadata.json").read_text())
    for key in metadata:
        made.write("v1.metadata.json", json.dumps({**metadata, key: CANARY}).encode())
        heard = said(lambda: lakebed.open_table(made.root).files().to_arrow().num_rows)
        assert CANARY not in heard, key


class Loader:
    """What loads a catalog, with all that it was given."""

    def __repr__(self) -> str:
        return CANARY


def test_what_asks_a_catalog_and_opens_again_shows_no_secrets():
    properties = {"token": CANARY}
    entry = catalogs.PaimonEntry(Loader(), URIS[2], None)
    pointers = [
        catalogs._IcebergPointer(dict, "c", properties, ("db", "t"), None),
        catalogs._PaimonPointer(Loader(), "db.t"),
    ]
    for pointer in pointers:
        moved = ((URIS[2], URIS[3]),)
        opening: Any = Opening(Loader(), URIS[2], moved, (URIS[2],), lakebed.Limits(), 3, entry, pointer)  # type: ignore[arg-type]
        opening = (opening, Reopening(opening, "iceberg", "main", None))
        assert CANARY not in f"{pointer!r} {entry!r} {opening!r}"
