"""What all commits have in common: the table they are made to, and who makes them."""

from __future__ import annotations

import uuid
from datetime import datetime, timedelta, timezone
from typing import TYPE_CHECKING

from lakebed.errors import UnsupportedError
from lakebed.table import Table, table_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from lakebed import _native


def committable(table: Table) -> _native.Table:
    """The table of the core. Raises: UnsupportedError where a catalog keeps the snapshots."""
    if table.opening.entry is not None and table.opening.entry.commits:
        message = (
            f"the table's catalog makes its commits: a snapshot beside it would be ignored ({table.location})"
        )
        raise UnsupportedError(message, kind="unsupported", path=table.location)
    return table.core


def made(table: Table, native: _native.Table) -> Table:
    """The table after a commit, opened as it was before."""
    return table_of(native, table.opening)


def who_commits(
    user: str | None, identifier: int | None, properties: Mapping[str, str] | None, watermark: int | None
) -> tuple[str, int | None, dict[str, str], int | None, int, int]:
    """What commits say of who makes them, and what only Python knows: randomness, and the local time."""
    offset = datetime.now(timezone.utc).astimezone().utcoffset() or timedelta(0)
    millis = offset // timedelta(milliseconds=1)
    return user or str(uuid.uuid4()), identifier, dict(properties or {}), watermark, uuid.uuid4().int, millis
