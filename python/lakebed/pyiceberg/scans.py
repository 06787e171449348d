"""`plan_files` of PyIceberg: its own evaluators, asked once per partition, over entries in columns."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import pyiceberg.table as tables
from pyiceberg.expressions import AlwaysTrue
from pyiceberg.expressions.visitors import _InclusiveMetricsEvaluator
from pyiceberg.manifest import DataFileContent
from pyiceberg.table import FileScanTask, _min_sequence_number
from pyiceberg.typedef import KeyDefaultDict
from pyiceberg.types import strtobool
from pyiceberg.utils.concurrent import ExecutorFactory

from lakebed._below import NotTheSameError
from lakebed.pyiceberg.ahead import PAUSE
from lakebed.pyiceberg.columns import FileInMemory, file_bytes
from lakebed.pyiceberg.deletes import FIRST_NUMBER, delete_index
from lakebed.pyiceberg.installing import BELOW
from lakebed.pyiceberg.records import columns_of, data_file, entries

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

DATA, POSITIONS = DataFileContent.DATA.value, DataFileContent.POSITION_DELETES.value


PLANNER: Any = getattr(tables, "ManifestGroupPlanner", tables.DataScan)
"""What makes a plan of manifests: before 0.12 the scan itself."""
_HAS_RESIDUALS = hasattr(PLANNER, "_build_residual_evaluator")
"""Whether tasks say what is left of a filter in their partition: since 0.9."""


class _Found(NamedTuple):
    """What a manifest has for a plan: as many of each."""

    files: list[Any]
    contents: list[int]
    sequence_numbers: list[int | None]
    partitions: list[tuple[Any, ...]]
    entries: Callable[[int], Any]


def plan_files(
    planner: Any, manifests: list[Any], manifest_entry_filter: Callable[[Any], bool] | None = None
) -> list[Any]:
    """The tasks of PyIceberg's own planner, in its order.

    Raises: NotTheSameError where its own code must plan; what it raises of filters.
    """
    if type(planner) is not PLANNER:
        raise NotTheSameError("a planner of another class")
    if manifest_entry_filter is not None:
        # It looks at each entry.
        raise NotTheSameError("a filter of entries")
    with PAUSE:
        return _planned(planner, manifests)


def _planned(planner: Any, manifests: list[Any]) -> list[Any]:
    found = _search(planner, manifests)
    if any(content > POSITIONS for one in found for content in one.contents):
        raise NotTheSameError("equality deletes, which PyIceberg refuses")
    deletes = delete_index()
    for one in found:
        for place, content in enumerate(one.contents):
            if content == POSITIONS:
                deletes.add_delete_file(one.entries(place), partition_key=one.files[place].partition)
    return _tasks(planner, found, deletes)


def _search(planner: Any, manifests: list[Any]) -> list[_Found]:
    """The files that may match, by manifest."""
    may_match: dict[int, Any] = KeyDefaultDict(planner._build_manifest_evaluator)
    wanted = [one for one in manifests if may_match[one.partition_spec_id](one)]
    # PyIceberg, too, makes them all before it reads.
    in_partition: dict[int, Any] = KeyDefaultDict(planner._build_partition_evaluator)
    by_metrics = _metrics_evaluator(planner)
    first = _min_sequence_number(wanted)
    wanted = [one for one in wanted if planner._check_sequence_number(first, one)]
    memories: dict[int, dict[tuple[Any, ...], bool]] = {one.partition_spec_id: {} for one in wanted}
    arguments = [
        (one, in_partition[one.partition_spec_id], memories[one.partition_spec_id]) for one in wanted
    ]
    has_filter = not isinstance(planner.row_filter, AlwaysTrue)

    def search(one: tuple[Any, ...]) -> _Found:
        manifest, evaluator, memory = one
        return _in_manifest(planner.io, manifest, has_filter, (evaluator, memory, by_metrics))

    return list(ExecutorFactory.get_or_create().map(search, arguments))


def _metrics_evaluator(planner: Any) -> Callable[[Any], bool]:
    if hasattr(planner, "_build_metrics_evaluator"):
        made: Callable[[Any], bool] = planner._build_metrics_evaluator()
        return made
    # Before 0.9. An evaluator has a state, and threads would share it.
    empty = strtobool(planner.options.get("include_empty_files", "false"))
    asked = (planner.table_metadata.schema(), planner.row_filter, planner.case_sensitive, empty)
    # What PyIceberg raises of a filter, it raises before it reads.
    _InclusiveMetricsEvaluator(*asked)
    return lambda file: _InclusiveMetricsEvaluator(*asked).eval(file)


def _in_manifest(io: Any, manifest: Any, has_filter: bool, tests: tuple[Any, ...]) -> _Found:
    data = file_bytes(io, manifest.manifest_path)
    columns = columns_of(data, manifest)
    if columns is None:
        return _by_pyiceberg(BELOW.own("fetch_manifest_entry")(manifest, FileInMemory(data)), tests)
    evaluator, memory, by_metrics = tests
    partitions, rows = columns.partition_keys(), columns.live_rows()
    if has_filter:
        kept = []
        for row in rows:
            is_in = memory.get(partitions[row])
            if is_in is None:
                is_in = memory[partitions[row]] = evaluator(data_file(columns, row))
            if is_in and by_metrics(data_file(columns, row)):
                kept.append(row)
        rows = kept
    elif min(columns.list_of("record_count"), default=1) <= 0:
        rows = [row for row in rows if by_metrics(data_file(columns, row))]
    files = [data_file(columns, row) for row in rows]
    contents, numbers = columns.contents, columns.inherited("sequence_number")
    rows_of: Sequence[int] = rows
    if len(rows) != len(contents):
        contents = [contents[row] for row in rows_of]
        numbers = [numbers[row] for row in rows_of]
        partitions = [partitions[row] for row in rows_of]
    return _Found(files, contents, numbers, partitions, lambda at: entries(columns, [rows_of[at]])[0])


def _by_pyiceberg(read: list[Any], tests: tuple[Any, ...]) -> _Found:
    """The same of entries that PyIceberg has read."""
    evaluator, _, by_metrics = tests
    kept = [one for one in read if evaluator(one.data_file) and by_metrics(one.data_file)]
    files = [one.data_file for one in kept]
    return _Found(
        files,
        [int(file.content) for file in files],
        [one.sequence_number for one in kept],
        [tuple(map(file.partition.__getitem__, range(len(file.partition)))) for file in files],
        kept.__getitem__,
    )


def _tasks(planner: Any, found: list[_Found], deletes: Any) -> list[Any]:
    residuals: dict[int, Any] = KeyDefaultDict(lambda spec_id: planner._build_residual_evaluator(spec_id))
    left: dict[tuple[int, tuple[Any, ...]], Any] = {}
    has_deletes = not deletes.is_empty()
    made = []
    for one in found:
        spec_id = one.files[0].spec_id if one.files else 0
        for file, content, number, partition in zip(*one[:4], strict=True):
            if content != DATA:
                continue
            rest = left.get((spec_id, partition))
            if rest is None and _HAS_RESIDUALS:
                rest = {"residual": residuals[spec_id](file).residual_for(file.partition)}
                left[spec_id, partition] = rest
            applied = None
            if has_deletes:
                number = number or FIRST_NUMBER
                applied = deletes.for_data_file(number, file, partition_key=file.partition)
            made.append(FileScanTask(file, delete_files=applied, **(rest or {})))
    return made
