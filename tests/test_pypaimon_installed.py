"""pypaimon with lakebed below it: its own calls give the same, of every golden table, and are put back."""

from __future__ import annotations

import gc
import multiprocessing
import pickle
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from inspect import signature
from pathlib import Path
from typing import Any

import pyarrow.compute as pc
import pytest
from below_libraries import check_put_back
from outcomes import outcome
from raising import raises

import lakebed
import lakebed.pypaimon
from lakebed.errors import UnsupportedError
from lakebed.pypaimon.installing import BELOW
from shared_data import GoldenTable, each_golden_paimon_table

file_managers = pytest.importorskip("pypaimon.manifest.manifest_file_manager")
asked = pytest.importorskip("pypaimon_asked")
tables = pytest.importorskip("pypaimon_tables")
from pypaimon.manifest.schema.data_file_meta import DataFileMeta  # noqa: E402

from lakebed.pypaimon import replacing  # noqa: E402

FILTERS_RECORDS = "early_record_filter" in signature(file_managers.ManifestFileManager.read).parameters


@pytest.fixture(autouse=True)
def _put_back(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    # The tables of the tests are small.
    monkeypatch.setattr("lakebed.pypaimon.columns.SMALL", 0)
    yield
    lakebed.pypaimon.uninstall()


@each_golden_paimon_table()
def test_answers_are_pypaimons_own(table: GoldenTable, tmp_path: Path) -> None:
    expected = asked.answers(tables.linked(table.path, tmp_path))
    with lakebed.pypaimon.installed():
        before = lakebed.pypaimon.status()
        found = asked.answers(tables.linked(table.path, tmp_path))
        after = lakebed.pypaimon.status()
    assert asked.differences(expected, found) == []
    if expected["manifests"][0] == "made" and expected["entries"][0] == "made":
        assert after.by_pypaimon == before.by_pypaimon


@each_golden_paimon_table("*tags*", "*branch*", "rolled_back", "evolve_*", "pk_dv")
def test_older_versions_and_branches_are_pypaimons_own(table: GoldenTable, tmp_path: Path) -> None:
    opened = tables.linked(table.path, tmp_path)
    views = [
        opened.copy({"scan.snapshot-id": path.name.removeprefix("snapshot-")})
        for path in sorted((table.path / "snapshot").glob("snapshot-*"))
    ]
    views += [
        opened.copy({"scan.tag-name": path.name.removeprefix("tag-")})
        for path in sorted(table.path.glob("tag/tag-*"))
    ]
    for path in sorted(table.path.glob("branch/branch-*")):
        views.append(opened.copy({"branch": path.name.removeprefix("branch-")}))
    expected = [outcome(lambda view=view: asked.planned(view)) for view in views]  # type: ignore[misc]
    with lakebed.pypaimon.installed():
        assert [outcome(lambda view=view: asked.planned(view)) for view in views] == expected  # type: ignore[misc]
    assert any(kind == "made" for kind, _ in expected)


@pytest.fixture
def orders(tmp_path: Path) -> Any:
    return tables.paimon_orders(tmp_path, commits=3)


def test_uninstall_restores_what_was_there() -> None:
    check_put_back(lakebed.pypaimon, replacing.replacements)


def test_another_function_on_top_stays_and_reaches_pypaimons_own(
    orders: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    manager = file_managers.ManifestFileManager
    lakebed.pypaimon.install()
    below = manager.read

    def on_top(*args: Any, **named: Any) -> Any:
        return below(*args, **named)

    monkeypatch.setattr(manager, "read", on_top)
    lakebed.pypaimon.uninstall()
    assert manager.read is on_top
    assert {type(one.file) for one in asked.entries(orders, drop_stats=True)} == {DataFileMeta}
    monkeypatch.undo()
    manager.read = below.__wrapped__


def test_importing_lakebed_changes_nothing() -> None:
    code = (
        "import sys, lakebed, lakebed.pypaimon; assert 'pypaimon' not in sys.modules;"
        "from pypaimon.manifest import manifest_file_manager as m;"
        "assert m.ManifestFileManager.read.__module__ == m.__name__;"
        "assert not lakebed.pypaimon.status().installed"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_an_unknown_version_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    import pypaimon

    before = file_managers.ManifestFileManager.read
    monkeypatch.setattr(pypaimon, "__version__", "2.2.0", raising=False)
    with raises(UnsupportedError, match=r"pypaimon 2\.2\.0 .* 2\.1\.\*"):
        lakebed.pypaimon.install()
    assert file_managers.ManifestFileManager.read is before
    assert not lakebed.pypaimon.status().installed


def test_status_counts_who_answered(orders: Any) -> None:
    lakebed.pypaimon.install()
    before = lakebed.pypaimon.status()
    assert len(asked.planned(orders)) == 2
    after = lakebed.pypaimon.status()
    counts = {name: after.by_lakebed[name] - before.by_lakebed.get(name, 0) for name in after.by_lakebed}
    assert counts == {"manifests": 3, "manifest lists": 2}
    assert after.by_pypaimon == before.by_pypaimon
    assert after.version


def test_files_of_few_entries_are_left_to_pypaimon(orders: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.undo()
    lakebed.pypaimon.install()
    before = lakebed.pypaimon.status()
    assert len(asked.planned(orders)) == 2
    after = lakebed.pypaimon.status()
    assert after.by_lakebed == before.by_lakebed
    assert {reason for _, reason in after.by_pypaimon.keys() - before.by_pypaimon.keys()} <= {
        "a file of a few entries, which pypaimon's own code reads sooner"
    }
    assert sum(after.by_pypaimon.values()) - sum(before.by_pypaimon.values()) == 5


@pytest.mark.parametrize("damage", ["codec", "cut", "field", "flipped"])
def test_what_lakebed_does_not_read_pypaimon_reads_or_refuses(orders: Any, damage: str) -> None:
    (manifest, *_) = asked.manifests(orders)
    path = Path(f"{orders.table_path}/manifest/{manifest.file_name}".removeprefix("file://"))
    data = path.read_bytes()
    changes = {
        "codec": (b"avro.codec", b"avro.codeX"),
        "field": (b"_VALUE_STATS_COLS", b"_VALUE_STATS_COLX"),
        "flipped": (data[-40:], bytes(byte ^ 255 for byte in data[-40:])),
    }
    path.write_bytes(data.replace(*changes[damage]) if damage in changes else data[:-20])

    def read() -> Any:
        kind, value = outcome(lambda: asked.shown(asked.entries(orders, drop_stats=False)))
        # An error's text says where in memory fastavro was.
        return (kind, value if kind == "made" else None), outcome(lambda: asked.planned(orders))[0]

    own = read()
    with lakebed.pypaimon.installed():
        before = lakebed.pypaimon.status().by_pypaimon
        assert read() == own
        after = lakebed.pypaimon.status().by_pypaimon
    reasons = {reason for what, reason in after if after[what, reason] != before.get((what, reason))}
    # Before 2.0 pypaimon does not compress, so that nothing is lost with the codec.
    assert len(reasons) == 1 or own[0][0] == "made"
    assert not any(path.name in reason for reason in reasons)


def test_files_can_be_changed_like_pypaimons(orders: Any) -> None:
    own, *_ = asked.entries(orders, drop_stats=False)
    with lakebed.pypaimon.installed():
        entry, *_ = asked.entries(orders, drop_stats=False)
        other, *_ = asked.entries(orders, drop_stats=False)
    file = entry.file
    assert isinstance(file, DataFileMeta)
    for one in (entry, other, own):
        # Statistics are equal to none but themselves, of pypaimon's own files too.
        one.file.key_stats = one.file.value_stats = None
    assert entry == other == own
    assert own == entry
    assert repr(entry) == repr(own)
    file.row_count = 7
    file.min_key = None
    assert (file.row_count, file.min_key, vars(file)["row_count"]) == (7, None, 7)
    assert file != other.file
    assert other.file != own.file.assign_first_row_id(5)
    assert type(pickle.loads(pickle.dumps(file))) is DataFileMeta
    assert asked.shown(other.file.assign_first_row_id(5)) == asked.shown(own.file.assign_first_row_id(5))
    assert asked.shown(other.copy_without_stats()) == asked.shown(own.copy_without_stats())
    with pytest.raises(AttributeError, match="nothing"):
        file.nothing  # noqa: B018
    with pytest.raises(TypeError, match="unhashable"):
        hash(file)


def test_pickled_splits_need_no_lakebed(orders: Any, tmp_path: Path) -> None:
    expected = asked.planned(orders)
    with lakebed.pypaimon.installed():
        splits = orders.new_read_builder().new_scan().plan().splits()
    (tmp_path / "splits").write_bytes(pickle.dumps(splits))
    code = (
        "import pickle, sys; sys.modules['lakebed'] = None; sys.path.insert(0, sys.argv[2]);"
        "splits = pickle.load(open(sys.argv[1], 'rb'));"
        "print([[(f.file_name, f.row_count, f.key_stats.null_counts) for f in s.files] for s in splits])"
    )
    command = [sys.executable, "-c", code, str(tmp_path / "splits"), str(Path(__file__).parent)]
    text = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    assert text.strip() == str(
        [[(f.file_name, f.row_count, f.key_stats.null_counts) for f in one.files] for one in splits]
    )
    assert asked.shown_splits(pickle.loads(pickle.dumps(splits))) == expected


def test_a_filter_of_the_callers_keeps_what_it_saw(orders: Any) -> None:
    (manifest, *_) = asked.manifests(orders)
    seen: list[Any] = []

    def is_wanted(entry: Any) -> bool:
        seen.append(entry)
        return True

    def read() -> Any:
        seen.clear()
        manager = file_managers.ManifestFileManager(orders)
        return asked.shown(manager.read(manifest.file_name, is_wanted)), asked.shown(seen)

    expected = read()
    with lakebed.pypaimon.installed():
        assert read() == expected
    # They have statistics, and what is given has none.
    assert expected[0] != expected[1]


@pytest.mark.skipif(not FILTERS_RECORDS, reason="pypaimon before 2.0 has no filter of records")
def test_a_filter_of_whole_records_is_left_to_pypaimon(orders: Any) -> None:
    def read() -> Any:
        manager = file_managers.ManifestFileManager(orders)
        named = {"early_record_filter": lambda record: record["_FILE"]["_ROW_COUNT"] > 1}
        return asked.shown(manager.read_entries_parallel(asked.manifests(orders), **named))

    expected = read()
    with lakebed.pypaimon.installed():
        assert read() == expected
    assert lakebed.pypaimon.status().by_pypaimon["manifests", "a filter of records"] >= 3


def test_whoever_watches_files_being_made_sees_them(orders: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[str] = []
    own = DataFileMeta.__init__

    def watched(self: Any, *args: Any, **named: Any) -> None:
        own(self, *args, **named)
        made.append(self.file_name)

    lakebed.pypaimon.install()
    monkeypatch.setattr(DataFileMeta, "__init__", watched)
    # pypaimon copies each without its statistics.
    assert len(asked.entries(orders, drop_stats=True)) * 2 == len(made)
    assert lakebed.pypaimon.status().by_pypaimon["manifests", "another constructor of files"] >= 3


def _overwritten(folder: Path) -> tuple[Any, str]:
    """A table after an append and after a partition was written anew, which pypaimon before 2.0 refuses."""
    table = tables.paimon_orders(folder, commits=3)
    tables.paimon_append(table)
    builder = table.new_batch_write_builder().overwrite({"region": "emea"})
    write, commit = builder.new_write(), builder.new_commit()
    write.write_arrow(tables.ROWS.filter(pc.equal(tables.ROWS["region"], "emea")))
    messages = write.prepare_commit()
    return table, outcome(lambda: commit.commit(messages))[0]


def test_commits_write_what_they_read(tmp_path: Path) -> None:
    own, own_ended = _overwritten(tmp_path / "own")
    with lakebed.pypaimon.installed():
        found, ended = _overwritten(tmp_path / "lakebed")
    assert ended == own_ended
    counts = [[file.row_count for split in asked.splits(one) for file in split.files] for one in (found, own)]
    assert counts[0] == counts[1]
    assert sum(counts[0]) == (6 if ended == "made" else 12)
    assert lakebed.open_table(found).verify().to_arrow().num_rows == 0


def test_threads_share_it(orders: Any) -> None:
    expected = asked.planned(orders)

    def turn(_: int) -> bool:
        with lakebed.pypaimon.installed():
            return bool(asked.planned(orders) == expected)

    with ThreadPoolExecutor(8) as pool:
        assert all(pool.map(turn, range(64)))
    lakebed.pypaimon.uninstall()
    assert gc.isenabled()


def test_threads_make_one_value(orders: Any) -> None:
    with lakebed.pypaimon.installed():
        files = [one.file for one in asked.entries(orders, drop_stats=False)]
    with ThreadPoolExecutor(8) as pool:
        made = list(pool.map(lambda _: [id(one.value_stats) for one in files], range(64)))
    assert made == made[:1] * 64


def test_a_fork_has_it_too(orders: Any) -> None:
    lakebed.pypaimon.install()
    context = multiprocessing.get_context("fork")
    here, there = context.Pipe()
    # A thread holds the lock of the counts when the process forks.
    with BELOW.tally.lock, ThreadPoolExecutor(1) as pool:
        child = context.Process(target=lambda: there.send(asked.planned(orders)))
        pool.submit(child.start).result()
    assert here.poll(60)
    assert here.recv() == asked.planned(orders)
    child.join()


def test_files_are_read_once_and_by_the_tables_own_file_io(orders: Any) -> None:
    class Counted(type(orders.file_io)):  # type: ignore[misc]
        def new_input_stream(self, path: str) -> Any:
            opened.append(Path(path).name)
            return super().new_input_stream(path)

    opened: list[str] = []
    orders.file_io.__class__ = Counted
    asked.planned(orders)
    expected = list(opened)
    opened.clear()
    with lakebed.pypaimon.installed():
        asked.planned(orders)
    read = [sorted(name for name in some if name.startswith("manifest-")) for some in (opened, expected)]
    assert read[0] == read[1]
    assert len(read[0]) == 5
    manifests = asked.manifests(orders)
    if not FILTERS_RECORDS:
        return
    with lakebed.pypaimon.installed():
        opened.clear()
        # What pypaimon's own code must read, it reads from memory.
        named = {"early_record_filter": lambda _: True}
        file_managers.ManifestFileManager(orders).read_entries_parallel(manifests, **named)
    assert sorted(opened) == sorted(one.file_name for one in manifests)
