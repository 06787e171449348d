"""Every way a table can be broken gives one typed error that says where, in one line, and no rows."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest
from command_line import complaint
from local_storage import LocalStorage
from raising import raises

import lakebed
from lakebed import errors
from shared_data import golden_paimon_tables


def manifests(table: Path) -> list[Path]:
    """The manifests of the latest snapshot."""
    return [Path(row["path"]) for row in lakebed.open_table(table).manifests().to_arrow().to_pylist()]


def of_another_table(table: Path) -> Path:
    """Puts a manifest of another table in the place of one of this table's."""
    foreign = next(t.path for t in golden_paimon_tables() if t.name != table.name)
    damaged = manifests(table)[-1]
    shutil.copy(manifests(foreign)[0], damaged)
    return damaged


def missing(table: Path) -> Path:
    damaged = manifests(table)[-1]
    damaged.unlink()
    return damaged


def changed(table: Path, change: Callable[[bytes], bytes]) -> Path:
    damaged = manifests(table)[-1]
    damaged.write_bytes(change(damaged.read_bytes()))
    return damaged


def truncated(table: Path) -> Path:
    return changed(table, lambda content: content[:-20])


def flipped(table: Path) -> Path:
    """Breaks the sync marker that ends the last block."""
    return changed(table, lambda content: content[:-1] + bytes([content[-1] ^ 1]))


def longer(table: Path) -> Path:
    return changed(table, lambda content: content + b"\0")


def without_lists(table: Path) -> Path:
    for path in (table / "manifest").glob("manifest-list-*"):
        path.unlink()
    return table / "manifest"


def without_schemas(table: Path) -> Path:
    for path in (table / "schema").iterdir():
        path.unlink()
    return table


def snapshot_cut(table: Path) -> Path:
    latest = max((table / "snapshot").glob("snapshot-*"), key=lambda path: int(path.name.partition("-")[2]))
    latest.write_text(latest.read_text()[:-2])
    return latest


@dataclass(frozen=True)
class Damage:
    do: Callable[[Path], Path]
    error: type[errors.LakebedError]
    kinds: str
    placed: bool = False


DAMAGES = [
    Damage(missing, errors.MissingFileError, "missing"),
    Damage(truncated, errors.TruncatedError, "truncated", placed=True),
    Damage(flipped, errors.CorruptError, "sync", placed=True),
    Damage(longer, errors.CorruptError, "mismatch", placed=True),
    # Which of them depends on the sizes of the two manifests.
    Damage(of_another_table, errors.CorruptError, "truncated mismatch", placed=True),
    Damage(without_lists, errors.MissingFileError, "missing"),
    Damage(without_schemas, errors.TableNotFoundError, "table-not-found"),
    Damage(snapshot_cut, errors.CorruptError, "json"),
]


@pytest.fixture(params=DAMAGES, ids=lambda damage: damage.do.__name__)
def damaged(request, sample_table: Path) -> tuple[Path, Path, Damage]:
    if request.param.do is of_another_table and not golden_paimon_tables():
        pytest.skip("there is no other table to take a manifest from")
    return sample_table, request.param.do(sample_table), request.param


@pytest.mark.parametrize("view", ["files", "entries"])
def test_a_damaged_table_is_one_typed_error(damaged, view):
    table, place, damage = damaged
    with pytest.raises(damage.error) as caught:
        getattr(lakebed.open_table(table), view)().to_arrow()
    error = caught.value
    assert error.kind in damage.kinds.split()
    assert error.path
    assert str(place) in error.path
    assert error.path in str(error)
    if damage.placed:
        assert error.offset is not None
        assert str(error.offset) in str(error)


def test_a_truncated_manifest_is_wrong_at_its_end(sample_table: Path):
    damaged = truncated(sample_table)
    with raises(errors.TruncatedError, offset=damaged.stat().st_size):
        lakebed.open_table(sample_table).files().to_arrow()


@pytest.mark.parametrize("view", ["files", "entries"])
def test_a_damaged_table_is_one_line_on_the_command_line(damaged, view):
    table, place, _ = damaged
    assert place.name in complaint(view, table, "-o", "json")


@pytest.mark.parametrize("format", [None, "iceberg"])
@pytest.mark.parametrize("content", [None, [], ["snapshot"], ["schema"], ["metadata"], ["data"]])
def test_what_is_no_table_is_not_found(tmp_path: Path, content, format):
    path = tmp_path / "table"
    for folder in content or []:
        (path / folder).mkdir(parents=True)
    if content == []:
        path.mkdir()
    with raises(errors.TableNotFoundError, kind="table-not-found", path=str(path)):
        lakebed.open_table(path, format=format)


@pytest.mark.parametrize(
    ("keywords", "error", "word"),
    [
        ({"where": "no_such = 1"}, errors.PredicateError, "no_such"),
        ({"where": "bucket = 'text'"}, errors.PredicateError, "bucket"),
        ({"where": "bucket = "}, errors.PredicateError, "text ends"),
        ({"where": ""}, errors.PredicateError, "text ends"),
        ({"columns": ["no_such"]}, errors.SchemaError, "no_such"),
        ({"stats": ["no_such"]}, errors.SchemaError, "no_such"),
    ],
)
def test_wrong_questions_are_refused_before_anything_is_read(sample_table: Path, keywords, error, word):
    table = lakebed.open_table(sample_table)
    shutil.rmtree(sample_table / "manifest")
    with pytest.raises(error, match=word):
        table.files(**keywords)


def test_a_storage_that_fails_is_heard(sample_table: Path):
    class Failing(LocalStorage):
        def read(self, path: str, start: int | None = None, end: int | None = None) -> bytes:
            if "manifest" in path:
                raise PermissionError(13, "not for you", path)
            return super().read(path, start, end)

    table = lakebed.open_table(str(sample_table), storage=Failing())
    with pytest.raises(PermissionError, match="not for you"):
        table.files().to_arrow()
