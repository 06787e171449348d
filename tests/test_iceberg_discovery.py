"""Which metadata file a folder's table is: by hint, by name, or given itself."""

from __future__ import annotations

import gzip
import json
import shutil
from pathlib import Path

import pytest
from command_line import run
from test_iceberg_metadata import METADATA

import lakebed
from lakebed.errors import MissingFileError, TableNotFoundError


def write(table: Path, name: str, updated: int = 0) -> None:
    """A metadata file that says when it was written: its name is told by that."""
    file = table / "metadata" / name
    file.parent.mkdir(parents=True, exist_ok=True)
    content = json.dumps(METADATA | {"properties": {"name": name}, "last-updated-ms": updated}).encode()
    file.write_bytes(gzip.compress(content) if ".gz" in name else content)


def hint(table: Path, content: str) -> None:
    (table / "metadata" / "version-hint.text").write_text(content)


def found(location: Path | str) -> str:
    """The name of the metadata file that a location leads to."""
    return lakebed.open_table(location, format="iceberg").properties["name"]


@pytest.mark.parametrize("ending", [".metadata.json", ".gz.metadata.json", ".metadata.json.gz"])
@pytest.mark.parametrize("text", ["2", "2\n", " 2 \nignored"])
def test_a_hint_is_a_lower_bound(tmp_path: Path, ending: str, text: str):
    for version in (1, 2, 3, 4, 6):
        write(tmp_path, f"v{version}{ending}")
    hint(tmp_path, text)
    assert found(tmp_path) == f"v4{ending}", "5 is not there, so 6 is of no commit"


@pytest.mark.parametrize("text", ["00002-b.metadata.json", "00002-b"])
def test_a_hint_may_name_a_file(tmp_path: Path, text: str):
    for name in ("00001-a.metadata.json", "00002-b.metadata.json", "00003-c.metadata.json"):
        write(tmp_path, name)
    hint(tmp_path, text)
    assert found(tmp_path) == "00002-b.metadata.json"


@pytest.mark.parametrize("text", ["", "\n", "final", "garbage!", "../../secret", "-1", "-3"])
def test_a_hint_that_names_nothing_is_as_good_as_none(tmp_path: Path, text: str):
    for version in (9, 10):
        write(tmp_path, f"v{version}.metadata.json")
    hint(tmp_path, text)
    assert found(tmp_path) == "v10.metadata.json"


def test_a_hint_at_nothing_is_an_error(tmp_path: Path):
    write(tmp_path, "v1.metadata.json")
    hint(tmp_path, "7")
    with pytest.raises(MissingFileError, match=r"says 7.*v7\.metadata\.json") as caught:
        found(tmp_path)
    assert caught.value.path == str(tmp_path / "metadata" / "version-hint.text")


@pytest.mark.filterwarnings("ignore:opened by its folder:lakebed.errors.LakebedWarning")
def test_of_files_of_one_version_the_last_one_written_counts(tmp_path: Path):
    write(tmp_path, "00002-b.metadata.json", 5)
    write(tmp_path, "00010-z.metadata.json", 10)
    write(tmp_path, "00010-a.gz.metadata.json", 20)
    assert found(tmp_path) == "00010-a.gz.metadata.json"


@pytest.mark.parametrize("whole", [True, False])
def test_files_that_are_no_version_are_passed_over(tmp_path: Path, whole: bool):
    write(tmp_path, "v1.metadata.json")
    for name in (
        ".v9.metadata.json.crc",
        ".v9.metadata.json",
        "v9.metadata.json.tmp",
        "vfinal.metadata.json",
        "9c12d441-03fe-4693-9a96-a0705ddf69c1.metadata.json",
        "99999999-03fe-4693-9a96-a0705ddf69c1.metadata.json",
        "00000000-0000-4000-8000-000000000000.metadata.json",
        "snap-99-1.avro",
    ):
        write(tmp_path, name)
        if not whole:
            (tmp_path / "metadata" / name).write_bytes(b"{")
    assert found(tmp_path) == "v1.metadata.json"


def test_a_file_may_be_given_itself(tmp_path: Path):
    write(tmp_path, "v1.metadata.json")
    write(tmp_path, "vfinal.metadata.json")
    table = lakebed.open_table(tmp_path / "metadata" / "vfinal.metadata.json")
    assert table.properties["name"] == "vfinal.metadata.json"
    assert table.location == str(tmp_path)
    assert table.snapshot_id == METADATA["current-snapshot-id"]


def test_where_nothing_is_the_error_says_what_was_looked_for(tmp_path: Path):
    with pytest.raises(TableNotFoundError, match=r"version-hint\.text"):
        found(tmp_path)
    with pytest.raises(TableNotFoundError, match="no Iceberg metadata file"):
        found(tmp_path / "metadata" / "v1.metadata.json")
    write(tmp_path, "vfinal.metadata.json")
    with pytest.raises(TableNotFoundError, match=r"vfinal\.metadata\.json.*open the file itself"):
        found(tmp_path)


def test_a_copied_table_is_read_where_it_is(tmp_path: Path):
    old, new = tmp_path / "old", tmp_path / "new"
    write(old, "v1.metadata.json")
    shutil.copytree(old, new)
    table = lakebed.open_table(new, relocate={"s3://bucket/": tmp_path})
    assert table.snapshots().to_arrow()["manifest_list"].to_pylist() == ["s3://bucket/t/metadata/snap.avro"]
    with pytest.raises(MissingFileError) as caught:
        table.manifests().to_arrow()
    assert str(tmp_path / "t" / "metadata" / "snap.avro") in str(caught.value)


def test_the_command_line_relocates_too(tmp_path: Path):
    write(tmp_path / "t", "v1.metadata.json")
    result = run("manifests", tmp_path / "t", "--relocate", f"s3://bucket/={tmp_path}/")
    assert result.exit_code == 1
    assert str(tmp_path / "t" / "metadata" / "snap.avro") in result.stderr
    assert run("files", tmp_path, "--relocate", "no-prefix").exit_code == 2
