"""The tables below a folder: what there is to open, and nothing else, for as few listings as that takes."""

from __future__ import annotations

import os
import shutil
import signal
import textwrap
import threading
from pathlib import Path
from typing import Any

import pyarrow.fs as pafs
import pytest
from click.testing import CliRunner
from counting_storage import CountingStorage
from interpreters import printed
from local_storage import Names, put_files
from raising import raises

import lakebed
from lakebed.cli import cli
from lakebed.errors import LakebedWarning, PredicateError, SchemaError, TableNotFoundError, UnsupportedError
from shared_data import PROJECT, SAMPLE_ICEBERG_TABLE, SAMPLE_TABLE, data_root

fsspec = pytest.importorskip("fsspec")
obstore = pytest.importorskip("obstore.store")

PAIMON = ("shop.db/orders", "paimon", "shop.orders")
ICEBERG = ("ice/orders", "iceberg", "ice.orders")


@pytest.fixture(scope="module")
def warehouse(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A table of each format, data that is none, and names that tables have too."""
    root = tmp_path_factory.mktemp("finding") / "wh"
    shutil.copytree(SAMPLE_TABLE, root / "shop.db" / "orders")
    shutil.copytree(SAMPLE_ICEBERG_TABLE, root / "ice" / "orders")
    branch = root / "shop.db" / "orders" / "branch" / "branch-dev"
    shutil.copytree(SAMPLE_TABLE / "schema", branch / "schema")
    for file in (
        "raw/dt=1/part-0",
        "raw/dt=2/part-0",
        "logs/schema/readme",
        "logs/metadata/x.json5",
        "readme",
    ):
        (root / file).parent.mkdir(parents=True, exist_ok=True)
        (root / file).write_bytes(b"x")
    return root


def found(prefix: str | Path, **options: Any) -> list[tuple[str, str, str]]:
    """Rows, locations below the prefix."""
    rows = lakebed.find_tables(prefix, **options).to_arrow().to_pylist()
    return [(row["location"].removeprefix(f"{prefix}/"), row["format"], row["name"]) for row in rows]


def golden(format_name: str) -> Path:
    root = data_root("golden", format_name)
    assert root is not None
    return root


@pytest.mark.filterwarnings("ignore::lakebed.errors.LakebedWarning")
@pytest.mark.parametrize("format_name", ["paimon", "iceberg"])
def test_what_is_found_is_what_can_be_opened(format_name: str) -> None:
    root = golden(format_name)
    tables = sorted(path.name for path in root.iterdir() if path.is_dir() and path.name != "expected")
    assert len(tables) > 10
    assert found(root) == [(name, format_name, name) for name in tables]
    assert {lakebed.open_table(root / name).format for name in tables} == {format_name}


def test_tables_of_both_formats_are_found(warehouse: Path) -> None:
    assert found(warehouse) == [ICEBERG, PAIMON]
    scan = lakebed.find_tables(warehouse)
    assert scan.to_arrow() == scan.to_arrow()
    assert scan.schema.names == ["location", "format", "name"]
    assert repr(scan).startswith(f"<lakebed tables below '{warehouse}'>")
    assert found(warehouse.as_uri(), storage=None)[0][0] == f"{warehouse}/ice/orders"


def test_columns_filter_and_limit(warehouse: Path) -> None:
    name = lakebed.find_tables(warehouse, columns=["name"], filter=lakebed.col("format") == "paimon")
    assert name.to_arrow().to_pylist() == [{"name": "shop.orders"}]
    assert found(warehouse, limit=1) == [ICEBERG]
    assert found(warehouse, limit=0) == []
    with pytest.raises(SchemaError, match="there are location, format, name"):
        lakebed.find_tables(warehouse, columns=["size"])
    with pytest.raises(PredicateError):
        lakebed.find_tables(warehouse, filter="format =")
    with pytest.raises(ValueError, match="limit must be at least 0"):
        lakebed.find_tables(warehouse, limit=-1)
    with pytest.raises(ValueError, match="concurrent_reads must be at least 1"):
        lakebed.find_tables(warehouse, concurrent_reads=0)


def test_the_prefix_may_be_a_table(warehouse: Path) -> None:
    table = warehouse / "shop.db" / "orders"
    assert found(table) == [(str(table), "paimon", "orders")]
    assert found(warehouse / "shop.db") == [("orders", "paimon", "orders")]


def test_a_table_in_both_formats_is_what_it_opens_as(warehouse: Path, tmp_path: Path) -> None:
    both = tmp_path / "db.db" / "t"
    shutil.copytree(SAMPLE_TABLE, both)
    shutil.copytree(SAMPLE_ICEBERG_TABLE / "metadata", both / "metadata")
    assert found(tmp_path) == [("db.db/t", "paimon", "db.t")]
    assert lakebed.open_table(both).format == "paimon"
    for file in (both / "schema").iterdir():
        file.unlink()
    assert found(tmp_path) == [("db.db/t", "iceberg", "db.t")]
    assert lakebed.open_table(both).format == "iceberg"


def test_a_damaged_table_is_a_row_too(tmp_path: Path) -> None:
    """What is wrong with it is said when it is opened."""
    for path in ("a/schema/schema-0", "b/metadata/v1.metadata.json", "c/metadata/v7.metadata.json"):
        (tmp_path / path).parent.mkdir(parents=True)
        (tmp_path / path).write_bytes(b"{")
    (tmp_path / "c" / "metadata" / "version-hint.text").write_text("9")
    (tmp_path / "d" / "metadata").mkdir(parents=True)
    (tmp_path / "d" / "metadata" / "version-hint.text").write_text("9")
    assert [row[0] for row in found(tmp_path)] == ["a", "b", "c", "d"]
    for name in "abcd":
        with pytest.raises(lakebed.errors.CorruptError):
            lakebed.open_table(tmp_path / name)


def memory(root: Path) -> tuple[str, Any]:
    store = obstore.MemoryStore()
    put_files(store.put, root, "b/wh/")
    return "memory://b/wh", store


def fsspec_memory(root: Path) -> tuple[str, Any]:
    files = fsspec.filesystem("memory")
    put_files(files.pipe, root, "/finding/")
    return "memory://finding", files


STORAGES = {
    "own": lambda root: (str(root), CountingStorage()),
    "pyarrow": lambda root: (str(root), pafs.LocalFileSystem()),
    "pyarrow below": lambda root: ("wh", pafs.SubTreeFileSystem(str(root.parent), pafs.LocalFileSystem())),
    "fsspec": lambda root: (str(root), fsspec.filesystem("file")),
    "fsspec memory": fsspec_memory,
    "obstore": lambda root: (str(root), obstore.LocalStore()),
    "obstore below": lambda root: (root.as_uri(), obstore.LocalStore(root.parent)),
    "obstore memory": memory,
    "by name": lambda root: (str(root), "obstore"),
}


@pytest.mark.parametrize("kind", STORAGES)
def test_every_storage_has_the_same_tables(warehouse: Path, kind: str) -> None:
    prefix, storage = STORAGES[kind](warehouse)
    assert found(prefix, storage=storage) == [ICEBERG, PAIMON]
    for location, format_name, _ in found(prefix, storage=storage):
        table = lakebed.open_table(f"{prefix}/{location}", storage=storage)
        assert table.format == format_name
    for nothing in ("nowhere", "readme"):
        if kind == "own":
            # It says that nothing is there, as it does of an empty folder.
            assert found(f"{prefix}/{nothing}", storage=storage) == []
            continue
        with raises(TableNotFoundError, path=f"{prefix}/{nothing}"):
            found(f"{prefix}/{nothing}", storage=storage)


@pytest.mark.parametrize("nothing", ["nowhere", "readme"])
def test_a_prefix_that_is_no_folder(warehouse: Path, nothing: str) -> None:
    scan = lakebed.find_tables(warehouse / nothing)
    with raises(TableNotFoundError, match="no folder at", path=str(warehouse / nothing)) as caught:
        scan.to_arrow()
    assert isinstance(caught.value, FileNotFoundError)


def test_prefixes_without_a_storage() -> None:
    with pytest.raises(UnsupportedError, match="no filesystem for this URI"):
        lakebed.find_tables("nosuch://key:c4n4ry@bucket/wh")
    with pytest.raises(TypeError, match="storage="):
        lakebed.find_tables("/wh", storage=7)


class Folders(CountingStorage):
    """A storage that tells folders from files, and lists so many at once."""

    def __init__(self, concurrent_reads: int | None = None, together: int = 1) -> None:
        super().__init__(concurrent_reads=concurrent_reads)
        self.together = threading.Barrier(together)
        self.listing = self.most_listed = 0

    def folders(self, prefix: str) -> Names:
        """The names of folders, once as many are asked for as come together."""
        with self._lock:
            self.listing += 1
            self.most_listed = max(self.most_listed, self.listing)
        if Path(prefix).name.startswith("db"):
            self.together.wait(timeout=60)
        folder = Path(prefix)
        names = [name for name in self.list(prefix) if (folder / name).is_dir()]
        with self._lock:
            self.listing -= 1
        if not folder.is_dir():
            raise FileNotFoundError(prefix)
        return names


def test_so_many_folders_are_listed(warehouse: Path) -> None:
    """One listing a folder outside of tables, and of each table the one that decides."""
    outside = ["", "ice", "logs", "logs/metadata", "logs/schema", "raw", "raw/dt=1", "raw/dt=2", "shop.db"]
    looked = ["ice/orders", "ice/orders/metadata", "shop.db/orders", "shop.db/orders/schema"]
    # Whether these make a table is to be seen in them.
    twice = ["logs/metadata", "logs/schema"]
    expected = sorted(f"{warehouse}/{path}".rstrip("/") for path in (*outside, *looked, *twice))
    storage = Folders()
    assert found(warehouse, storage=storage) == [ICEBERG, PAIMON]
    assert (sorted(storage.listings), storage.reads) == (expected, [])
    files = ["readme", "raw/dt=1/part-0", "raw/dt=2/part-0", "logs/schema/readme", "logs/metadata/x.json5"]
    plain = CountingStorage()
    assert found(warehouse, storage=plain) == [ICEBERG, PAIMON]
    assert sorted(plain.listings) == sorted(expected + [f"{warehouse}/{file}" for file in files])


@pytest.fixture(scope="module")
def many(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Twelve databases of twenty tables."""
    root = tmp_path_factory.mktemp("many")
    for database in range(12):
        for table in range(20):
            schema = root / f"db{database:02}.db" / f"t{table:02}" / "schema" / "schema-0"
            schema.parent.mkdir(parents=True)
            schema.touch()
    return root


@pytest.mark.parametrize(("own", "said", "most"), [(12, None, 12), (None, 12, 12), (2, 12, 12)])
def test_folders_are_listed_side_by_side(many: Path, own: int | None, said: int | None, most: int) -> None:
    storage = Folders(own, together=most)
    assert len(found(many, storage=storage, concurrent_reads=said)) == 240
    assert storage.most_listed == most


def test_no_more_folders_are_listed_at_once_than_was_said(many: Path) -> None:
    storage = Folders(8)
    assert len(found(many, storage=storage, concurrent_reads=3)) == 240
    assert storage.most_listed <= 3


def test_a_limit_stops_listing(many: Path) -> None:
    storage = Folders(2)
    names = [f"db00.t{table:02}" for table in range(3)]
    assert [row[2] for row in found(many, storage=storage, limit=3)] == names
    # The root, its databases, and tables of the first as far as the look-ahead comes.
    assert len(storage.listings) <= 1 + 12 + 2 * 6
    storage = Folders(2)
    assert lakebed.find_tables(many, storage=storage, limit=0).to_arrow().num_rows == 0
    assert storage.listings == []


def test_rows_are_streamed(many: Path) -> None:
    storage = Folders(2)
    reader = lakebed.find_tables(many, storage=storage).to_arrow_batch_reader()
    first = reader.read_next_batch()
    assert 0 < first.num_rows < 240
    assert len(storage.listings) < 1 + 12 + 2 * 240
    assert first.num_rows + sum(batch.num_rows for batch in reader) == 240


class Refusing(Folders):
    """A storage that lists some folder not."""

    def __init__(self, raised: Exception) -> None:
        super().__init__(4)
        self.raised = raised

    def folders(self, prefix: str) -> Names:
        """As `Folders`, but for one."""
        if prefix.endswith("/db03.db/t07"):
            raise self.raised
        return super().folders(prefix)


def test_a_folder_that_cannot_be_listed_is_an_error(many: Path) -> None:
    for raised in (PermissionError(13, "no", "there"), OSError(5, "broken"), RuntimeError("x")):
        with pytest.raises(type(raised)) as caught:
            found(many, storage=Refusing(raised))
        assert caught.value is raised
    # It went away after it was listed.
    assert len(found(many, storage=Refusing(FileNotFoundError("gone")))) == 239


@pytest.mark.parametrize("storage", [None, "pyarrow", "fsspec", "obstore"])
def test_links_are_not_followed_and_said(tmp_path: Path, storage: str | None) -> None:
    shutil.copytree(SAMPLE_TABLE / "schema", tmp_path / "db" / "t" / "schema")
    (tmp_path / "db" / "around").symlink_to(tmp_path)
    (tmp_path / "db" / "broken").symlink_to(tmp_path / "nowhere")
    (tmp_path / "db" / "file").symlink_to(tmp_path / "db" / "t" / "schema" / "schema-0")
    said = f'the folder "around" in "{tmp_path}/db" is not looked into: it is a link'
    with pytest.warns(LakebedWarning) as warned:
        assert found(tmp_path, storage=storage) == [("db/t", "paimon", "db.t")]
    assert [str(warning.message) for warning in warned] == [said]


def test_a_name_that_is_not_utf8_is_said(tmp_path: Path) -> None:
    try:
        os.mkdir(os.fsencode(tmp_path) + b"/a\xff")  # noqa: PTH102 - paths are text
    except OSError:
        pytest.skip("names are UTF-8 here")
    with pytest.warns(LakebedWarning, match="its name is not UTF-8"):
        assert found(tmp_path) == []


def test_names_that_are_none_are_said() -> None:
    class Odd:
        def read(self, path: str, start: int | None = None, end: int | None = None) -> bytes:
            raise FileNotFoundError(path)

        def list(self, prefix: str) -> list[str]:
            return ["", ".", "..", "a/b", "t"] if prefix == "wh" else ["schema"] * (prefix == "wh/t")

    with pytest.warns(LakebedWarning) as warned:
        assert found("wh", storage=Odd()) == []
    assert {str(warning.message) for warning in warned} == {
        f'the folder "{name}" in "wh" is not looked into: that is not a file name'
        for name in ("", ".", "..", "a/b")
    }


INTERRUPTED = """
    import os, signal, threading
    import lakebed

    class Hanging:
        def read(self, path, start=None, end=None):
            raise FileNotFoundError(path)

        def list(self, prefix):
            if prefix == "wh":
                return ["a", "b", "c"]
            os.kill(os.getpid(), signal.SIGINT)
            threading.Event().wait()

    signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        lakebed.find_tables("wh", storage=Hanging()).to_arrow()
    except KeyboardInterrupt:
        print("interrupted", flush=True)
    os._exit(0)
"""
ENDLESS = """
    import signal
    import lakebed

    class Endless:
        concurrent_reads = 1

        def read(self, path, start=None, end=None):
            raise FileNotFoundError(path)

        def list(self, prefix):
            return ["a"]

    class Empty(Endless):
        def list(self, prefix):
            return []

    # What is imported on the way is imported before the time begins.
    lakebed.find_tables("wh", storage=Empty()).to_arrow()
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.signal(signal.SIGALRM, signal.default_int_handler)
    signal.setitimer(signal.ITIMER_REAL, 0.2)
    try:
        lakebed.find_tables("wh", storage=Endless()).to_arrow()
    except KeyboardInterrupt:
        print("interrupted", flush=True)
"""


@pytest.mark.parametrize("code", [INTERRUPTED, ENDLESS], ids=["hanging", "endless"])
def test_an_interrupt_is_answered(code: str) -> None:
    assert printed("-c", textwrap.dedent(code), timeout=60) == "interrupted\n"


def found_until_interrupted(root: Path) -> None:
    # Here, since a busy machine may take longer to get from one line of a test to the next.
    signal.setitimer(signal.ITIMER_REAL, 0.001)
    while True:
        found(root)


def test_an_interrupt_is_answered_of_local_folders(many: Path) -> None:
    """However many there are without a table."""

    def stop(*_: object) -> None:
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGALRM, stop)
    for schema in many.rglob("schema-0"):
        schema.rename(schema.with_name("none"))
    try:
        with pytest.raises(KeyboardInterrupt):
            found_until_interrupted(many)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
        for schema in many.rglob("none"):
            schema.rename(schema.with_name("schema-0"))
    assert len(found(many)) == 240


@pytest.mark.skipif(not Path("/proc/self/task").is_dir(), reason="counts threads in /proc")
def test_no_thread_is_left_behind(many: Path) -> None:
    code = f"""
import os, time, lakebed
lakebed.find_tables({str(many)!r}).to_arrow()
before = len(os.listdir("/proc/self/task"))
for limit in (None, 1, 30):
    lakebed.find_tables({str(many)!r}, concurrent_reads=16, limit=limit).to_arrow()
    reader = lakebed.find_tables({str(many)!r}, concurrent_reads=16).to_arrow_batch_reader()
    reader.read_next_batch()
    del reader
# One that waits for more work ends by itself, soon.
end = time.monotonic() + 30
while len(os.listdir("/proc/self/task")) > before and time.monotonic() < end:
    time.sleep(0.1)
print(len(os.listdir("/proc/self/task")) - before)
"""
    assert printed("-c", code, timeout=60).split() == ["0"]


def test_the_command_prints_a_row_a_table(warehouse: Path) -> None:
    def run(*words: str) -> Any:
        return CliRunner().invoke(cli, ["find", *words], prog_name="lakebed")

    printed = run(str(warehouse), "-o", "csv").stdout.splitlines()
    rows = [f"{warehouse}/{location},{kind},{name}" for location, kind, name in (ICEBERG, PAIMON)]
    assert printed == ["location,format,name", *rows]
    one = run(
        str(warehouse), "--filter", "format = 'paimon'", "--columns", "name", "--limit", "5", "-o", "json"
    )
    assert one.stdout == '{"name": "shop.orders"}\n'
    missing = run(str(warehouse / "nowhere"))
    assert (missing.exit_code, missing.stdout) == (1, "")
    assert missing.stderr.startswith('error: no folder at "')
    assert run().exit_code == run(str(warehouse), "--columns", "size").exit_code == 2


def test_the_examples_are_found() -> None:
    rows = lakebed.find_tables(PROJECT / "examples", columns=["format", "name"]).to_arrow().to_pylist()
    assert [row["format"] for row in rows] == ["iceberg", "paimon"]
