"""Paths that metadata names are opened only where they may lead."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import fsspec
import pyarrow as pa
import pytest
from command_line import run
from iceberg_made import MadeTable, entry
from paimon_made import MadeTable as PaimonTable
from paimon_made import entry as added
from raising import raises

import lakebed
from lakebed import check_locations, errors
from shared_data import Case, each_case


@each_case("check_locations")
def test_a_path_is_below_a_prefix_or_not(case: Case):
    marked = check_locations([case["path"]], case["allowed"], policy="mark")
    assert marked.to_pylist() == [case["expect"]]
    if case["expect"] is False:
        with raises(errors.LocationError, kind="location", record=1) as caught:
            check_locations([None, case["path"]], case["allowed"])
        assert "secret" not in str(caught.value)
        assert "secret" not in str(caught.value.path)
        assert len(str(caught.value).splitlines()) == 1


@pytest.mark.parametrize("kind", [pa.string(), pa.large_string(), pa.dictionary(pa.int8(), pa.string())])
def test_columns_of_any_text_and_chunks(kind: pa.DataType):
    first, second = (pa.array(paths, pa.string()).cast(kind) for paths in (["/t/a", None], ["/u/b", "/t/c"]))
    answer = [True, None, False, True]
    assert check_locations(pa.chunked_array([first, second]), ["/t"], policy="mark").to_pylist() == answer
    assert check_locations(second, ["/t"], policy="ignore").to_pylist() == [True, True]
    with raises(errors.LocationError, record=2):
        check_locations(pa.chunked_array([first, second]), ["/t"])
    assert check_locations(pa.chunked_array([], kind), ["/t"]).to_pylist() == []


@pytest.mark.parametrize(
    ("paths", "prefixes", "policy"),
    [
        (["/t"], ["/t/../u"], "mark"),
        (["/t"], [""], "mark"),
        (["/t"], ["/t"], "sometimes"),
        (["/t"], ["s3:///"], "error"),
    ],
)
def test_what_is_no_prefix_or_policy_is_refused(paths: list[str], prefixes: list[str], policy: str):
    with pytest.raises(errors.SchemaError):
        check_locations(paths, prefixes, policy=policy)


def whole(tmp_path: Path, list_path: Callable[[str], str], manifest_path: Callable[[str], str]) -> MadeTable:
    """A table whose metadata names its list and manifest in other words."""
    made = MadeTable(tmp_path / "t", (1, "id", "long"))
    record = made.manifest(entry())
    made.commit({**record, "manifest_path": manifest_path(record["manifest_path"])})
    snapshot = made.metadata["snapshots"][0]
    snapshot["manifest-list"] = list_path(snapshot["manifest-list"])
    made.write("v1.metadata.json", json.dumps(made.metadata).encode())
    return made


def same(path: str) -> str:
    return path


MALFORMED = [
    lambda path: path.replace("/metadata/", "/metadata/../metadata/"),
    lambda path: path.replace("/metadata/", "/metadata/%2e%2e/metadata/"),
    lambda _: "http://169.254.169.254/latest",
    lambda _: "s3://key:canary@bucket/x?token=canary",
    lambda path: "file://host" + path,
    lambda path: path + "\x00",
    lambda path: path.replace("/", "\\"),
]


@pytest.mark.parametrize("malformed", MALFORMED)
@pytest.mark.parametrize("which", ["list", "manifest"])
def test_a_malformed_path_is_never_opened(tmp_path: Path, malformed: Callable[[str], str], which: str):
    made = whole(tmp_path, *((malformed, same) if which == "list" else (same, malformed)))
    with raises(errors.LocationError, kind="location") as caught:
        made.open().files().to_arrow()
    assert "canary" not in repr(caught.value) + str(caught.value) + str(caught.value.path)


def moved_out(tmp_path: Path) -> MadeTable:
    """A table with a manifest outside its folder, which is legal."""
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()

    def move(path: str) -> str:
        return str(Path(path).rename(elsewhere / Path(path).name))

    return whole(tmp_path, same, move)


def test_a_table_reaches_its_own_storage_unless_prefixes_are_given(tmp_path: Path):
    made = moved_out(tmp_path)
    assert len(made.open().files().to_arrow()) == 1
    with pytest.raises(errors.LocationError):
        lakebed.open_table(made.root, allowed_prefixes=[]).files().to_arrow()
    for prefixes in ([tmp_path], [f"file://{tmp_path}/elsewhere/"], ["/none", f"{tmp_path}/elsewhere"]):
        assert len(lakebed.open_table(made.root, allowed_prefixes=prefixes).files().to_arrow()) == 1
    with pytest.raises(errors.SchemaError):
        lakebed.open_table(made.root, allowed_prefixes=["relative/../folder"])


def test_where_files_were_moved_to_is_allowed(tmp_path: Path):
    made = moved_out(tmp_path)
    (tmp_path / "elsewhere").rename(tmp_path / "now")
    relocate = {str(tmp_path / "elsewhere"): tmp_path / "now"}
    assert len(lakebed.open_table(made.root, relocate=relocate, allowed_prefixes=[]).files().to_arrow()) == 1


def test_a_table_named_by_its_metadata_file_is_in_its_folder(tmp_path: Path):
    made = whole(tmp_path, same, same)
    file = made.root / "metadata" / "v1.metadata.json"
    assert len(lakebed.open_table(file, allowed_prefixes=[]).files().to_arrow()) == 1


@pytest.mark.parametrize("name", ["../manifest/manifest-1-0", "a/b", "..", ""])
def test_a_paimon_manifest_is_named_by_a_bare_name(tmp_path: Path, name: str):
    made = PaimonTable(tmp_path / "t", ("id", "BIGINT"))
    listed = made._manifest("manifest-1-0", [added(0, "f.parquet")])
    made.write_snapshot(1, made._list("list-0", []), made._list("list-1", [{**listed, "_FILE_NAME": name}]))
    with raises(errors.CorruptError, kind="mismatch"):
        lakebed.open_table(made.root).files().to_arrow()


def test_the_command_line_takes_prefixes(tmp_path: Path):
    made = moved_out(tmp_path)
    for prefix, code in ((f"{tmp_path}/elsewhere", 0), (f"{tmp_path}/else", 1)):
        assert run("files", made.root, "--allow", prefix, "-o", "json").exit_code == code


def test_a_remote_table_reaches_no_local_file(tmp_path: Path):
    made = whole(tmp_path, same, lambda path: f"file://{path}")
    memory = fsspec.filesystem("memory")
    for file in (made.root / "metadata").iterdir():
        memory.pipe(f"/t/metadata/{file.name}", file.read_bytes())

    class Any:
        """A storage that would read anything."""

        def read(self, path: str, start: int | None = None, end: int | None = None) -> bytes:
            if path.startswith("memory://"):
                return bytes(memory.cat_file(path.removeprefix("memory://"), start, end))
            return Path(path.removeprefix("file://")).read_bytes()

        def list(self, prefix: str) -> list[str]:
            return [Path(name).name for name in memory.ls(prefix.removeprefix("memory://"), detail=False)]

    relocate = {f"{made.root}/elsewhere": "memory://t"}
    table = lakebed.open_table("memory://t", storage=Any(), relocate=relocate)
    with pytest.raises(errors.LocationError, match="another kind of storage"):
        table.files().to_arrow()
