"""What pypaimon is asked of a table, with lakebed below it and without; importing this needs pypaimon."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable, Iterator
from datetime import date, datetime
from enum import Enum
from typing import Any

import pytest
from outcomes import outcome
from trust import some

file_managers = pytest.importorskip("pypaimon.manifest.manifest_file_manager")
list_managers = pytest.importorskip("pypaimon.manifest.manifest_list_manager")
Answers = dict[str, tuple[str, Any]]


def shown(value: Any) -> Any:
    """A value with its type, and with what it holds: rows of statistics are equal to none but themselves."""
    name = type(value).__name__
    if isinstance(value, list | tuple):
        return (name, [shown(one) for one in value])
    if isinstance(value, dict):
        return (name, {key: shown(one) for key, one in value.items()})
    if name == "DataField":
        return (name, value.id, value.name, str(value.type))
    if isinstance(value, Enum | datetime | date) or not hasattr(value, "__dict__"):
        # As text, since NaN is not equal to itself.
        return (name, repr(value))
    return (name, sorted((key, shown(one)) for key, one in vars(value).items()))


def shown_splits(found: list[Any]) -> list[Any]:
    return [shown(split) for split in found]


def planned(table: Any, change: Callable[[Any], Any] = lambda builder: builder) -> list[Any]:
    """What the splits of a plan hold."""
    return shown_splits(splits(table, change))


def splits(table: Any, change: Callable[[Any], Any] = lambda builder: builder) -> list[Any]:
    """The splits of a plan."""
    made: list[Any] = change(table.new_read_builder()).new_scan().plan().splits()
    return made


def manifests(table: Any) -> list[Any]:
    """What the lists of the latest snapshot name."""
    snapshot = latest_snapshot(table)
    return [] if snapshot is None else list(list_managers.ManifestListManager(table).read_all(snapshot))


def latest_snapshot(table: Any) -> Any:
    """As each version of pypaimon finds it."""
    if callable(getattr(table, "snapshot_manager", None)):
        return table.snapshot_manager().get_latest_snapshot()
    from pypaimon.snapshot.snapshot_manager import SnapshotManager

    return SnapshotManager(table).get_latest_snapshot()


def entries(table: Any, drop_stats: bool) -> list[Any]:
    """The entries of the manifests, as they are stored."""
    manager = file_managers.ManifestFileManager(table)
    return [
        one for manifest in manifests(table) for one in manager.read(manifest.file_name, None, drop_stats)
    ]


def filters(table: Any) -> Iterator[tuple[str, Callable[[Any], Any]]]:
    """Filters of each column, with a value that its statistics have."""
    found: dict[str, Any] = {}
    kind, read = outcome(lambda: entries(table, drop_stats=False))
    for entry in read if kind == "made" else ():
        for row in (entry.file.value_stats.min_values, entry.partition):
            for at, field in enumerate(row.fields):
                if field.name not in found and at < len(row):
                    kind, value = outcome(lambda row=row, at=at: row.get_field(at))  # type: ignore[misc]
                    if kind == "made" and value is not None:
                        found[field.name] = value
    # Of 60 columns some are enough.
    for field in table.fields[:12]:
        name, value = field.name, found.get(field.name)
        if value is not None:
            for method in ("equal", "less_than", "greater_or_equal"):
                yield f"{method} {name}", _filter(method, name, value)
            yield f"is_in {name}", _filter("is_in", name, [value])
        yield f"is_null {name}", _filter("is_null", name)


def _filter(method: str, *args: Any) -> Callable[[Any], Any]:
    return lambda builder: builder.with_filter(getattr(builder.new_predicate_builder(), method)(*args))


def _sharded(change: Callable[[Any], Any], table: Any) -> list[Any]:
    scan = change(table.new_read_builder().new_scan())
    return shown_splits(scan.plan().splits())


def answers(table: Any) -> Answers:
    """What pypaimon says of a table, by what is asked."""
    names = [field.name for field in table.fields]
    made = {
        "manifests": outcome(lambda: shown(manifests(table))),
        "entries": outcome(lambda: shown(entries(table, drop_stats=False))),
        "without statistics": outcome(lambda: shown(entries(table, drop_stats=True))),
        "attributes": outcome(lambda: [_attributes(one) for one in entries(table, drop_stats=False)]),
        "texts": outcome(lambda: [_text(one.file) for one in entries(table, drop_stats=True)]),
        "pickles": outcome(
            lambda: [_known(pickle.loads(pickle.dumps(one))) for one in entries(table, drop_stats=False)]
        ),
        "copies": outcome(
            lambda: [_known(copy.copy(copy.deepcopy(one))) for one in entries(table, drop_stats=True)]
        ),
        "plan": outcome(lambda: planned(table)),
        "projected": outcome(lambda: planned(table, lambda one: one.with_projection(names[:1]))),
        "limit": outcome(lambda: planned(table, lambda one: one.with_limit(1))),
        "shard": outcome(lambda: _sharded(lambda scan: scan.with_shard(1, 3), table)),
        "slice": outcome(lambda: _sharded(lambda scan: scan.with_slice(1, 4), table)),
        "explained": outcome(lambda: _explained(table)),
    }
    for name, change in some(list(filters(table)), str(table.table_path)):
        made[name] = outcome(lambda change=change: planned(table, change))  # type: ignore[misc]
    return made


def _known(entry: Any) -> Any:
    """What is shown of an entry whose file must be of pypaimon's own class."""
    assert type(entry.file).__module__.startswith("pypaimon."), type(entry.file)
    return shown(entry)


def _attributes(entry: Any) -> list[Any]:
    """What the attributes of a file say, asked one by one, and by pypaimon's own methods."""
    file = entry.file
    names = type(file).__dataclass_fields__
    assert all(getattr(file, name) is getattr(file, name) for name in names)
    return [shown(getattr(file, name)) for name in names]


def _text(file: Any) -> str:
    # The statistics of keys show where they are in memory.
    file.key_stats = None
    return repr(file)


def _explained(table: Any) -> Any:
    builder = table.new_read_builder()
    return shown(builder.explain()) if hasattr(builder, "explain") else None


def differences(expected: Answers, found: Answers) -> list[Any]:
    """What was asked and answered otherwise."""
    assert expected.keys() == found.keys()
    return [(asked, found[asked], answer) for asked, answer in expected.items() if found[asked] != answer]
