"""Removes or moves files that a look has left, batch by batch, with a line of the log before and after."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

from lakebed._pyarrow import pa
from lakebed.cleaning.outcome import rows_of
from lakebed.cleaning.places import Remover, TableFiles, check_apart, full, moved, place_of
from lakebed.storage.failures import words_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from lakebed.cleaning.rows import ReviewedPlan
    from lakebed.cleaning.shared_log import AnyLog

BATCH = 1000
"""Files of one request, and of one turn of the log."""


class Removal:
    """Removes the files of a table, or moves them to a quarantine.

    Args: view, the one whose rows are acted on; files_per_second, at most so many go.
    Raises: LocationError for a quarantine that is not apart from the table; UnsupportedError for a storage
        that does not remove or copy files.
    """

    def __init__(self, table: TableFiles, view: str, quarantine: Any, files_per_second: float) -> None:
        self._place, self._remover = place_of(table, table.location), Remover(table)
        self._table, self._rate, self._view = table, files_per_second, view
        self._quarantine = None
        if quarantine is not None:
            self._quarantine = place_of(table, str(quarantine))
            check_apart(self._place, self._quarantine, "the quarantine")
            self._copying = self._remover.copying()

    def header(self, plan: ReviewedPlan) -> dict[str, Any]:
        """What the log is of."""
        return header_of(
            plan, self._place.location, None if self._quarantine is None else self._quarantine.location
        )

    def done(self, verdicts: pa.Table, log: AnyLog) -> pa.Table:
        """Does what a look has left. Args: verdicts, the files, with a `reason` where one is kept.

        Returns: the rows of a `Cleanup`.
        """
        begun = frozenset(line["to"] for line in log.lines() if line.get("outcome") == "moving")
        rows = [rows_of()]
        for start in range(0, verdicts.num_rows, BATCH):
            began = time.monotonic()
            batch = verdicts.slice(start, BATCH)
            columns = [batch[name].to_pylist() for name in ("file_path", "file_size_in_bytes", "reason")]
            reasons = [
                reason or (None if self._place.relative(path) else "it is not in the table's folder")
                for path, _, reason in zip(*columns, strict=True)
            ]
            files = [
                (path, size)
                for path, size, reason in zip(*columns[:2], reasons, strict=True)
                if reason is None
            ]
            outcomes = dict(self._batch(files, log, begun)) if files else {}
            rows.append(_rows(batch, reasons, outcomes))
            if files:
                time.sleep(max(0.0, len(files) / self._rate - (time.monotonic() - began)))
        return pa.concat_tables(rows)

    def _batch(
        self, files: list[tuple[str, int | None]], log: AnyLog, begun: frozenset[str]
    ) -> Iterator[tuple[str, tuple[str, str | None]]]:
        """Of each file what became of it, and why where nothing did."""
        targets = {path: self._target(path) for path, _ in files}
        doing, did = ("removing", "removed") if self._quarantine is None else ("moving", "moved")
        lines = [
            {"path": full(self._table, path), "size": size, "reason": self._view, "outcome": doing}
            | ({} if targets[path] is None else {"to": targets[path]})
            for path, size in files
        ]
        log.append(lines)
        errors: dict[str, OSError] = {}
        if self._quarantine is not None:
            pairs = [(path, target) for path, target in targets.items() if target is not None]
            copied = moved(self._copying, pairs, begun)
            errors = {
                path: error for (path, _), error in zip(pairs, copied, strict=True) if error is not None
            }
        paths = [path for path, _ in files if path not in errors]
        removed = self._remover.remove(paths) if paths else []
        errors |= {path: error for path, error in zip(paths, removed, strict=True) if error is not None}
        words = {path: words_of(error) or type(error).__name__ for path, error in errors.items()}
        log.append(
            {**line, "outcome": did}
            if path not in words
            else {**line, "outcome": "failed", "error": words[path]}
            for line, (path, _) in zip(lines, files, strict=True)
        )
        for path, _ in files:
            yield path, (did, None) if path not in words else ("failed", words[path])

    def _target(self, path: str) -> str | None:
        relative = None if self._quarantine is None else self._place.relative(path)
        return None if self._quarantine is None or relative is None else self._quarantine.below(relative)


def header_of(plan: ReviewedPlan, location: str, quarantine: str | None) -> dict[str, Any]:
    """What a log is of."""
    return {
        "table_id": plan.table_id,
        "location": location,
        "view": plan.view,
        "planned_at": plan.planned_at.isoformat(),
        "quarantine": quarantine,
    }


def _rows(
    batch: pa.Table, reasons: list[str | None], outcomes: dict[str, tuple[str, str | None]]
) -> pa.Table:
    paths = batch["file_path"].to_pylist()
    became = [
        ("kept", reason) if reason is not None else outcomes[path]
        for path, reason in zip(paths, reasons, strict=True)
    ]
    columns = [batch[name] for name in ("file_path", "kind", "file_size_in_bytes")]
    return rows_of([*columns, *zip(*became, strict=True)])
