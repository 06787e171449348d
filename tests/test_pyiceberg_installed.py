"""PyIceberg with lakebed below it: its own calls give the same, of every golden table, and are put back."""

from __future__ import annotations

import copy
import gc
import multiprocessing
import pickle
import subprocess
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import MemberDescriptorType
from typing import Any

import pyarrow as pa
import pytest
from below_libraries import check_put_back
from outcomes import outcome
from pyiceberg_peer import forget_manifests, peer
from raising import raises

import lakebed
import lakebed.pyiceberg
from iceberg_golden import GoldenTable, each_golden_iceberg_table
from lakebed.errors import UnsupportedError
from lakebed.pyiceberg.installing import BELOW

pyiceberg = pytest.importorskip("pyiceberg")
manifests = pytest.importorskip("pyiceberg.manifest")
tables = pytest.importorskip("pyiceberg.table")
catalog_tables = pytest.importorskip("catalog_tables")
planned_tables = pytest.importorskip("planned_tables")
from pyiceberg.utils.lazydict import LazyDict  # noqa: E402

from lakebed.pyiceberg import replacing  # noqa: E402

# Some writers record lengths that their manifests do not have.
pytestmark = pytest.mark.filterwarnings("ignore::lakebed.errors.LakebedWarning")

INSPECTED = ("files", "data_files", "delete_files", "entries", "partitions")


@pytest.fixture(autouse=True)
def _put_back() -> Iterator[None]:
    yield
    lakebed.pyiceberg.uninstall()


def shown(value: Any) -> Any:
    """A value with its type, and with what a record holds."""
    if isinstance(value, LazyDict):
        return ("LazyDict", repr(dict(value)))
    if hasattr(value, "_data"):
        return (type(value).__name__, [shown(one) for one in value._data], getattr(value, "_spec_id", None))
    if hasattr(value, "_position_to_field_name"):
        # Of a record before 0.10, whose attributes these are. What a partition calls them, and whether it
        # has 0 or an equal enum where a content is not stored, depends on what its other threads read.
        found = [getattr(value, name, None) for name in (*value._position_to_field_name, "spec_id")]
        return (type(value).__name__, [shown(one + 0 if one == 0 else one) for one in found])
    if isinstance(value, list):
        return [shown(one) for one in value]
    # As text, since NaN is not equal to itself.
    return (type(value).__name__, repr(value))


def by_attributes(entry: Any) -> list[Any]:
    """What the attributes of an entry and of its file say, without its list."""
    # Before 0.10 slots.
    kinds = (property, MemberDescriptorType)
    names = [name for name, value in vars(manifests.DataFile).items() if isinstance(value, kinds)]
    of_file = [(name, shown(getattr(entry.data_file, name))) for name in names]
    return [entry.status, entry.snapshot_id, entry.sequence_number, entry.file_sequence_number, of_file]


def filters(schema: Any) -> list[str]:
    """Some filters of the columns that a table has."""
    found = []
    texts = {
        "int": "> 2",
        "long": "= 1",
        "string": "< 'm'",
        "date": ">= '2026-01-02'",
        "double": "is not nan",
    }
    for field in schema.fields:
        if field.field_type.is_primitive:
            found.append(f'"{field.name}" is not null')
            if str(field.field_type) in texts:
                found.append(f'"{field.name}" {texts[str(field.field_type)]}')
    return found[:6]


def planned(table: Any, **options: Any) -> list[Any]:
    return [
        (
            shown(task.file),
            sorted(map(repr, map(shown, task.delete_files))),
            repr(getattr(task, "residual", None)),
        )
        for task in table.scan(**options).plan_files()
    ]


def answers(table: Any, snapshot: Any) -> dict[str, tuple[str, Any]]:
    """What PyIceberg says of a snapshot, by what is asked."""
    io, snapshot_id = table.io, snapshot.snapshot_id

    def read(live: bool, show: Callable[[Any], Any]) -> tuple[str, Any]:
        return outcome(
            lambda: [show(one) for m in snapshot.manifests(io) for one in m.fetch_manifest_entry(io, live)]
        )

    made = {
        "manifests": outcome(lambda: shown(snapshot.manifests(io))),
        "entries read": read(False, shown),
        "live entries": read(True, shown),
        "attributes": read(True, by_attributes),
        "pickles": read(False, lambda entry: shown(pickle.loads(pickle.dumps(entry)))),
        "copies": read(False, lambda entry: shown(copy.copy(copy.deepcopy(entry)))),
        "plan": outcome(lambda: planned(table, snapshot_id=snapshot_id)),
        "upper case": outcome(
            lambda: planned(
                table,
                snapshot_id=snapshot_id,
                row_filter=f"{table.schema().fields[0].name.upper()} is null",
                case_sensitive=False,
            )
        ),
    }
    for text in filters(table.schema()):
        made[text] = outcome(
            lambda text=text: planned(table, snapshot_id=snapshot_id, row_filter=text)  # type: ignore[misc]
        )
    for name in INSPECTED:
        made[name] = outcome(lambda name=name: getattr(table.inspect, name)(snapshot_id))  # type: ignore[misc]
    return made


@each_golden_iceberg_table()
def test_answers_are_pyicebergs_own(table: GoldenTable) -> None:
    other = peer(str(table.path / table.info["metadata_file"]), table.file)
    opened = tables.Table(("golden",), other.metadata, "", other.files, None)
    for snapshot in opened.metadata.snapshots[-1:]:
        forget_manifests()
        expected = answers(opened, snapshot)
        forget_manifests()
        with lakebed.pyiceberg.installed():
            found = answers(opened, snapshot)
        assert found.keys() == expected.keys()
        for asked, (kind, value) in expected.items():
            assert found[asked][0] == kind, (asked, found[asked][1], value)
            if isinstance(value, pa.Table):
                assert found[asked][1].schema.equals(value.schema, check_metadata=True), asked
                # As text, since NaN is not equal to itself.
                assert str(found[asked][1].to_pylist()) == str(value.to_pylist()), asked
            else:
                assert found[asked][1] == value, asked


@pytest.fixture
def orders(tmp_path: Path) -> Any:
    return catalog_tables.orders(catalog_tables.sqlite(tmp_path), commits=3)


def test_uninstall_restores_what_was_there() -> None:
    check_put_back(lakebed.pyiceberg, replacing.replacements)


def test_another_function_on_top_stays_and_reaches_pyicebergs_own(
    orders: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    lakebed.pyiceberg.install()
    below = manifests.ManifestFile.fetch_manifest_entry

    def on_top(*args: Any, **named: Any) -> Any:
        return below(*args, **named)

    monkeypatch.setattr(manifests.ManifestFile, "fetch_manifest_entry", on_top)
    lakebed.pyiceberg.uninstall()
    assert manifests.ManifestFile.fetch_manifest_entry is on_top
    (manifest, *_) = orders.current_snapshot().manifests(orders.io)
    assert {type(one) for one in manifest.fetch_manifest_entry(orders.io)} == {manifests.ManifestEntry}
    monkeypatch.undo()
    manifests.ManifestFile.fetch_manifest_entry = below.__wrapped__


def test_importing_lakebed_changes_nothing() -> None:
    code = (
        "import pyiceberg.manifest as m; own = m.ManifestFile.fetch_manifest_entry;"
        "import lakebed, lakebed.pyiceberg; assert m.ManifestFile.fetch_manifest_entry is own;"
        "assert not lakebed.pyiceberg.status().installed"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_an_unknown_version_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    import pyiceberg

    before = manifests.ManifestFile.fetch_manifest_entry
    monkeypatch.setattr(pyiceberg, "__version__", "0.13.1")
    with raises(UnsupportedError, match=r"0\.13\.1 .* 0\.12\.\*"):
        lakebed.pyiceberg.install()
    assert manifests.ManifestFile.fetch_manifest_entry is before
    assert not lakebed.pyiceberg.status().installed


def test_status_counts_who_answered_and_why(orders: Any) -> None:
    lakebed.pyiceberg.install()
    before = lakebed.pyiceberg.status()
    tasks = list(orders.scan().plan_files())
    orders.inspect.files()
    after = lakebed.pyiceberg.status()
    assert len(tasks) == 6
    counts = {name: after.by_lakebed[name] - before.by_lakebed.get(name, 0) for name in after.by_lakebed}
    # Before 0.11 PyIceberg keeps what a list has.
    assert counts.pop("manifest lists") in (1, 2)
    # Before 0.10 PyIceberg's own code inspects, by entries that lakebed reads.
    assert counts in ({"manifests": 3, "plans": 1, "inspect": 3}, {"manifests": 6, "plans": 1})
    assert after.by_pyiceberg == before.by_pyiceberg
    assert after.version


@pytest.mark.parametrize("damage", ["codec", "cut"])
def test_what_lakebed_does_not_read_pyiceberg_reads_or_refuses(orders: Any, damage: str) -> None:
    (manifest, *_) = orders.current_snapshot().manifests(orders.io)
    path = Path(manifest.manifest_path.removeprefix("file://"))
    data = path.read_bytes()
    bad = data.replace(b"avro.codec", b"avro.codeX") if damage == "codec" else data[:-20]
    path.write_bytes(bad)

    def ends(read: Callable[[], Any]) -> tuple[str, Any]:
        # Of a cut file PyIceberg decodes bytes from behind its buffer: what it raises then is chance.
        kind, value = outcome(read)
        return (kind, value) if damage == "codec" or kind == "made" else ("raised", None)

    own = ends(lambda: shown(manifest.fetch_manifest_entry(orders.io)))
    with lakebed.pyiceberg.installed():
        before = lakebed.pyiceberg.status().by_pyiceberg
        assert ends(lambda: shown(manifest.fetch_manifest_entry(orders.io))) == own
        planned_by = ends(lambda: planned(orders))
        after = lakebed.pyiceberg.status().by_pyiceberg
    assert planned_by == ends(lambda: planned(orders))
    reasons = {reason for what, reason in after.keys() - before.keys() if what == "manifests"}
    assert len(reasons) <= 1
    assert sum(after.values()) > sum(before.values())
    assert not any(str(path) in reason for _, reason in after)


def test_records_can_be_changed_like_pyicebergs(orders: Any) -> None:
    (manifest, *_) = orders.current_snapshot().manifests(orders.io)
    own, _ = manifest.fetch_manifest_entry(orders.io)
    with lakebed.pyiceberg.installed():
        entry, _ = manifest.fetch_manifest_entry(orders.io)
        other, _ = manifest.fetch_manifest_entry(orders.io)
    file = entry.data_file
    assert isinstance(file, manifests.DataFile)
    assert isinstance(entry, manifests.ManifestEntry)
    assert file.lower_bounds is file.lower_bounds
    bounds, partition = file.lower_bounds, file.partition
    assert (file == other.data_file, hash(file), entry == other) == (True, hash(other.data_file), True)
    file[1] = "elsewhere"
    assert (file.file_path, file.lower_bounds is bounds, file.partition is partition) == (
        "elsewhere",
        True,
        True,
    )
    file.spec_id = 7
    # Before 0.12 that changes the status.
    entry.snapshot_id = own.snapshot_id = 5
    assert [entry[at] for at in range(4)] == [own[at] for at in range(4)]
    assert (file.spec_id, file.record_count) == (7, other.data_file[4])
    assert (repr(other) == repr(entry)) == (repr(own) == "ManifestEntry[]"), "as before 0.10"
    assert type(pickle.loads(pickle.dumps(file))) is manifests.DataFile
    assert pickle.loads(pickle.dumps(file)).spec_id == 7
    with pytest.raises(AttributeError, match="nothing"):
        file.nothing  # noqa: B018
    with pytest.raises(AttributeError, match="nothing"):
        entry.nothing  # noqa: B018


@pytest.mark.parametrize("kind", ["positions", "equality"])
def test_deletes_are_found_or_refused_as_before(tmp_path: Path, kind: str) -> None:
    made = planned_tables.RowsTable(tmp_path)
    some, other = made.files
    table = made.commit_with(
        made.position_deletes({some: [1, 3], other: [0]}) if kind == "positions" else made.equality_deletes(4)
    )
    own = outcome(lambda: planned(table)), outcome(lambda: table.scan().to_arrow().to_pylist())
    with lakebed.pyiceberg.installed():
        found = outcome(lambda: planned(table)), outcome(lambda: table.scan().to_arrow().to_pylist())
        limited = table.scan(limit=2).to_arrow() if kind == "positions" else None
    assert found == own
    assert own[0][0] == ("made" if kind == "positions" else "ValueError")
    assert limited is None or len(limited) == 2


def test_commits_write_what_they_read(orders: Any) -> None:
    with lakebed.pyiceberg.installed():
        orders.delete("id = 1")
        orders.append(orders.scan().to_arrow())
    before = sorted(map(str, orders.scan().to_arrow().to_pylist()))
    with lakebed.pyiceberg.installed():
        assert sorted(map(str, orders.scan().to_arrow().to_pylist())) == before
    found = lakebed.open_table(orders).verify().to_arrow()["field"].to_pylist()
    # PyIceberg up to 0.9.0 adds up the files of a summary wrongly.
    assert found == [] or pyiceberg.__version__.startswith(("0.8.", "0.9.0"))


def test_threads_share_it(orders: Any) -> None:
    expected, files = planned(orders), orders.inspect.files().num_rows

    def turn(_: int) -> bool:
        with lakebed.pyiceberg.installed():
            return planned(orders) == expected and orders.inspect.files().num_rows == files

    with ThreadPoolExecutor(8) as pool:
        assert all(pool.map(turn, range(64)))
    lakebed.pyiceberg.uninstall()
    assert gc.isenabled()


def test_a_fork_has_it_too(orders: Any) -> None:
    lakebed.pyiceberg.install()
    context = multiprocessing.get_context("fork")
    here, there = context.Pipe()
    # A thread holds the lock of the counts when the process forks.
    with BELOW.tally.lock, ThreadPoolExecutor(1) as pool:
        child = context.Process(target=_count, args=(there, orders.current_snapshot(), orders.io))
        pool.submit(child.start).result()
    assert here.poll(60)
    assert here.recv() == len(planned(orders))
    child.join()


def _count(connection: Any, snapshot: Any, io: Any) -> None:
    read = [one for manifest in snapshot.manifests(io) for one in manifest.fetch_manifest_entry(io)]
    connection.send(len(read))
