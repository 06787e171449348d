"""What an Iceberg table says of itself, changed."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from lakebed._arguments import names
from lakebed.iceberg.committing import Change, commit
from lakebed.limits import LIMITS, Limits

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from lakebed.table import Table


def set_properties(
    table: Table,
    properties: Mapping[str, str] | None = None,
    *,
    remove: Sequence[str] = (),
    limits: Limits = LIMITS,
) -> Table:
    """Sets properties of a table, and removes others.

    Args: table, as in `append_files`; properties, keys and values; remove, keys that go, if they are there;
        limits, what reading the table may cost.
    Returns: the table at the head of its branch.
    Raises: SchemaError for a key that is no property (`format-version`, `uuid`, `current-schema` and others
        that follow from what the table is), and one that is both set and removed; as `append_files`.
    Cost: reads and writes the metadata file.
    Source: Iceberg's `PropertiesUpdate.java`, `TableProperties.java`.
    """
    given = {key: str(value) for key, value in (properties or {}).items()}
    change = {"properties": {"set": given, "remove": names("remove", remove)}}
    return commit(table, Change("settings", json.dumps(change)), limits)


def upgrade(table: Table, format_version: int, *, limits: Limits = LIMITS) -> Table:
    """Makes a table one of a later version of the format; no file is written again but the metadata.

    Snapshots that are there stay readable as they are. In version 3 rows of older files get ids with the next
    commit, and position deletes are added as deletion vectors alone.

    Args: table, as in `append_files`; format_version, 2 or 3; limits, what reading the table may cost.
    Returns: the table at the head of its branch; the same where it is of that version.
    Raises: UnsupportedError (a version that is not written, or below the table's); as `append_files`.
    Cost: reads and writes the metadata file.
    Source: Iceberg specification, "Format version changes"; Iceberg's `TableMetadata.java`.
    """
    return commit(table, Change("settings", json.dumps({"upgrade": format_version})), limits)
