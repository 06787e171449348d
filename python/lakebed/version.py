"""Which state of a table is meant, wherever one is asked for."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from datetime import datetime
from typing import TYPE_CHECKING, Any, TypeAlias

from lakebed import _native
from lakebed._arguments import bounded, encodable, milliseconds, snapshot_id

if TYPE_CHECKING:
    from lakebed._native import Place


@dataclass(frozen=True)
class Version:
    """A state of a table, by exactly one of these.

    Attributes:
        snapshot: an id. A snapshot that expired is not found by it, even if a tag has it: ask for that.
        tag: a name. Paimon's tags hold their snapshot, so that may have expired.
        branch: a name; "main" is the table itself. The branch's latest snapshot (none where nothing was
            committed to it) and latest schema; the others have their snapshot's schema.
        timestamp: the snapshot that was the latest then. An int counts milliseconds since 1970 UTC; a
            datetime without zone is local time of this machine, as everywhere in Python. Iceberg reads the
            log of `main`.
        watermark: (Paimon) the earliest snapshot with this watermark or a later one, in the writer's own
            unit.
    Raises: TypeError for none or several.
    """

    snapshot: int | None = None
    tag: str | None = None
    branch: str | None = None
    timestamp: datetime | int | None = None
    watermark: int | None = None

    def __post_init__(self) -> None:
        given = [one.name for one in fields(self) if getattr(self, one.name) is not None]
        if len(given) != 1:
            names = ", ".join(one.name for one in fields(self))
            raise TypeError(
                f"a version is exactly one of {names}, not {' and '.join(given) or 'none of them'}"
            )

    def __str__(self) -> str:
        (name,) = (one.name for one in fields(self) if getattr(self, one.name) is not None)
        return f"{name} {getattr(self, name)!r}"


AnyVersion: TypeAlias = Version | int | str | datetime | Mapping[str, Any]
"""A `Version`; a snapshot's id; the name of a tag or, where there is none of that name, of a branch; a time;
or the keywords of a `Version`, such as `{"tag": "v1"}`."""


def place_of(argument: str, given: AnyVersion) -> Place:
    """A state of a table as the core has it.

    Raises: TypeError; SchemaError for lone surrogates; SnapshotNotFoundError for an id that none has.
    """
    if isinstance(given, Mapping):
        given = Version(**given)
    if isinstance(given, str):
        return _native.Place.named(encodable(argument, given))
    if isinstance(given, datetime):
        given = Version(timestamp=given)
    if isinstance(given, int) and not isinstance(given, bool):
        given = Version(snapshot=given)
    if not isinstance(given, Version):
        message = f"{argument} takes a snapshot's id, the name of a tag or branch, a time or a Version"
        raise TypeError(f"{message}, not {type(given).__name__}")
    if given.snapshot is not None:
        return _native.Place.snapshot(snapshot_id(given.snapshot))
    if given.tag is not None:
        return _native.Place.tag(encodable("tag", given.tag))
    if given.branch is not None:
        return _native.Place.branch(encodable("branch", given.branch))
    if given.timestamp is not None:
        return _native.Place.timestamp(milliseconds(given.timestamp))
    return _native.Place.watermark(bounded(given.watermark or 0))
