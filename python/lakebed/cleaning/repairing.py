"""Repairs a table by reviewed rows: a hint is written anew, or a commit leaves out what is not there."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from lakebed._native import FileChangeKind, IcebergAction, PaimonChange
from lakebed.cleaning.looking import NOT_NAMED
from lakebed.cleaning.outcome import rows_of
from lakebed.cleaning.places import respelled
from lakebed.commits.change import Change, CommitOptions
from lakebed.commits.iceberg import Repairs, file_change
from lakebed.commits.inputs import named_deletes, pairs_of, paths_of
from lakebed.commits.transaction import commit
from lakebed.errors import CommitConflictError, SchemaError
from lakebed.table.jobs import contradictions, repairs

if TYPE_CHECKING:
    import pyarrow as pa

    from lakebed.cleaning.described import Contradictions
    from lakebed.cleaning.log import CleanupLog
    from lakebed.cleaning.rows import ReviewedPlan
    from lakebed.table import Table

KEY = ("kind", "file_path", "content_offset", "snapshot_id")
"""What tells a repair from the others of a table."""

UNKNOWN = "nobody knows how many rows engines would return less or more"
CHANGED = "it loses or returns other rows than it did when it was planned"

_OF_LISTS = ("manifests", "duplicates")
_OF_FILES = ("vectors", "foreign_deletes", "data_files", "delete_files")
_DESCRIBED = ("sizes", "metrics")
_GROUPS = {
    "iceberg": (
        *(("hints",), ("main",), ("lists",), ("rollback",), ("snapshots",)),
        _OF_LISTS + _OF_FILES + _DESCRIBED,
    ),
    "paimon": (
        *(("hints",), ("lists",), ("rollback",), ("snapshots",)),
        _OF_LISTS + _DESCRIBED,
        _OF_FILES,
    ),
}
"""The kinds that are repaired together, in order."""
_SAID = "lakebed-repair"
_ROWS = ["rows_lost", "rows_back"]
_COLUMNS = [*KEY, *_ROWS]

Row = dict[str, Any]
Key = tuple[Any, ...]


class _Look:
    """What is to be repaired now.

    Attributes: rows, as the table names it, by its spelling in plans; described, what looked into data files,
        if anything did.
    """

    def __init__(self, table: Table, kinds: list[str]) -> None:
        self.described = contradictions(table, kinds)
        rows = repairs(table, kinds, self.described, {"columns": _COLUMNS}).to_arrow()
        spelled = respelled(rows, table).to_pylist()
        self.rows = {_key(one): row for one, row in zip(spelled, rows.to_pylist(), strict=True)}


def repaired(plan: ReviewedPlan, table: Table, log: CleanupLog) -> tuple[Table, pa.Table]:
    """Makes the repairs among the rows that a fresh look still names.

    Returns: the table after it, and the rows of a `Cleanup`.
    Raises: as `Table.repair_plan`, and as the commits.
    """
    kinds, rows = plan.rules["kinds"], plan.files.to_pylist()
    done = {_key(line) for line in log.lines() if line.get("outcome") == "repaired"}
    begun = {_key(line) for line in log.lines() if line.get("outcome") == "repairing"}
    look = _Look(table, kinds)
    # A run that was broken off may have done it.
    after = {key for key in begun - done if key not in look.rows}
    log.append(_lines(rows, after, "repaired"))
    done |= after
    reasons: dict[Key, str | None] = {}
    is_fresh = True
    groups = [[row for row in rows if row["kind"] in kinds] for kinds in _GROUPS[table.format]]
    while groups:
        mine = groups.pop(0)
        if mine and not is_fresh:
            look, is_fresh = _Look(table, kinds), True
        reasons |= {_key(row): _reason(row, look.rows) for row in mine}
        wanted = [row for row in mine if reasons[_key(row)] is None]
        if not wanted:
            continue
        keys = {_key(row) for row in wanted}
        log.append(_lines(rows, keys, "repairing"))
        before, is_fresh = table, False
        try:
            named = [look.rows[_key(row)] for row in wanted]
            table = _repair(table, wanted[0]["kind"], named, look.described)
        except (SchemaError, CommitConflictError):
            # Another commit has changed the table since the look.
            table = table.refresh()
            if table.snapshot_id == before.snapshot_id:
                raise
            groups.insert(0, mine)
            continue
        log.append(_lines(rows, keys, "repaired"))
        done |= keys
    became = [("repaired", None) if _key(row) in done else ("kept", reasons[_key(row)]) for row in rows]
    columns = [plan.files[name] for name in ("file_path", "kind", "file_size_in_bytes")]
    return table, rows_of([*columns, *zip(*became, strict=True)])


def _key(row: Row) -> Key:
    return tuple(row[name] for name in KEY)


def _reason(row: Row, found: dict[Key, Row]) -> str | None:
    """Why nothing is done."""
    now = found.get(_key(row))
    if now is None:
        return NOT_NAMED
    if any(now[name] is None for name in _ROWS):
        return UNKNOWN
    return None if all(now[name] == row[name] for name in _ROWS) else CHANGED


def _lines(rows: list[Row], wanted: set[Key], outcome: str) -> list[Row]:
    return [
        {**{name: row[name] for name in _COLUMNS}, "outcome": outcome} for row in rows if _key(row) in wanted
    ]


def _repair(table: Table, kind: str, rows: list[Row], described: Contradictions | None = None) -> Table:
    if kind == "hints":
        table.core.rewrite_hints([row["file_path"] for row in rows])
        return table.refresh()
    if kind == "main":
        return table.set_current_snapshot(rows[0]["snapshot_id"])
    if kind == "lists":
        return _relisted(table, rows[0]["snapshot_id"])
    if kind == "rollback":
        return _back(table, rows[0]["snapshot_id"])
    if kind == "snapshots":
        ids = sorted(row["snapshot_id"] for row in rows)
        of_iceberg, of_paimon = IcebergAction.remove_snapshots(ids), PaimonChange.remove_snapshots(ids)
        return commit(table, Change("repair", of_iceberg, of_paimon))[0]
    return commit(table, *_changes(table, rows, described))[0]


def _relisted(table: Table, snapshot: int) -> Table:
    """The table at a new snapshot, which has what the lists of this one had."""
    options = CommitOptions(properties={_SAID: "lists 1"})
    of_iceberg = IcebergAction.rebuild_list(snapshot, pairs_of(options.properties))
    of_paimon = PaimonChange.mend_manifests(False, False, True, 0, None)
    return commit(table, Change("repair", of_iceberg, of_paimon, options))[0]


def _back(table: Table, snapshot: int) -> Table:
    """The table at the state of an older snapshot; no snapshot is removed."""
    if table.format == "iceberg":
        return table.rollback_to(snapshot).table
    options = CommitOptions(properties={_SAID: f"rollback to {snapshot}"})
    return commit(table, Change("repair", paimon=PaimonChange.restore_snapshot(snapshot), options=options))[0]


def _changes(table: Table, rows: list[Row], looked: Contradictions | None) -> list[Change]:
    """What changes the lists of a table and the files in them, in one commit."""
    of: dict[str, list[Row]] = {kind: [] for kind in _OF_LISTS + _OF_FILES + _DESCRIBED}
    for row in rows:
        of[row["kind"]].append(row)
    said = ", ".join(f"{kind} {len(some)}" for kind, some in of.items() if some)
    options = CommitOptions(properties={_SAID: said})
    paths = {kind: [row["file_path"] for row in some] for kind, some in of.items()}
    names = {kind: [(row["file_path"], row["content_offset"]) for row in some] for kind, some in of.items()}
    data, deletes = paths["data_files"], names["delete_files"]
    wanted = [(kind, path) for kind in _DESCRIBED for path in paths[kind]]
    described = None if looked is None else looked.corrected(wanted)
    if table.format == "iceberg":
        action = file_change(
            FileChangeKind.OVERWRITE,
            options,
            removed=data,
            removed_deletes=named_deletes(deletes),
            repairs=Repairs(
                restores_rows=True,
                left_out=paths["manifests"],
                duplicates=names["duplicates"],
                moved=names["foreign_deletes"],
                merged=paths["vectors"],
                described=described,
            ),
            merge=False,
        )
        return [Change("repair", action, options=options)]
    if described is not None or paths["manifests"] or paths["duplicates"]:
        lost = sum(row["rows_lost"] for row in rows)
        leaves_out, lists_once = bool(paths["manifests"]), bool(paths["duplicates"])
        mended = PaimonChange.mend_manifests(leaves_out, lists_once, False, lost, described)
        return [Change("repair", paimon=mended, options=options)]
    of_data = PaimonChange.overwrite_files(None, paths_of(data), None) if data else None
    of_deletes = PaimonChange.restore_rows(deletes) if deletes else None
    changes = (change for change in (of_data, of_deletes) if change is not None)
    return [Change("repair", paimon=change, options=options) for change in changes]
