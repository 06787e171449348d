"""Changes of a table's schema, properties, partition spec and statistics."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from lakebed._arguments import encodable, integer, mapping, names
from lakebed._native import IcebergAction, PaimonChange
from lakebed.commits import iceberg
from lakebed.commits.change import Change, only
from lakebed.commits.inputs import pairs_of
from lakebed.commits.schemas import SchemaChange
from lakebed.errors import SchemaError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from lakebed.commits.changes import Changes, F, R
    from lakebed.table import Table
    from lakebed.version import AnyVersion


def update_schema(
    self: Changes[R, F],
    changes: SchemaChange | Iterable[SchemaChange],
    *,
    allow_incompatible_changes: bool = False,
) -> R:
    """Changes the current schema of the table: all changes at once, or none.

    Iceberg's properties that name columns follow: metrics modes, bloom filters, the default name mapping.

    Args:
        changes: one, or several, made one after the other.
        allow_incompatible_changes: (Iceberg) lets columns be required without a default, though files that
            are there may have nulls.
    Returns: the table at the head of its branch, read with the new schema; as it is where nothing changes.
    Raises: before anything is written: SchemaError with `.field` (a column that is not there, a name that is
        taken, a type that values cannot be read as, a default that is not a value of the type, a column
        removed that the table is partitioned, sorted or keyed by, and whatever else Paimon's rules of
        compatibility forbid), UnsupportedError (types and defaults that the table's version does not have; a
        change that the format has none of).
    Cost: Iceberg: reads and writes the metadata file. Paimon: reads the latest schema and looks for a
        snapshot, writes a schema. No data file is read.
    Source: Iceberg specification, "Schema Evolution"; Iceberg's `SchemaUpdate.java`; Paimon's
        `SchemaManager.java`, `DataTypeCasts.java`, `SchemaValidation.java`.

    >>> table = table.update_schema([SchemaChange.add_column("note", pa.string(), after="id"),
    ...                              SchemaChange.rename_column("ts", "time")])
    """
    every = list(changes) if isinstance(changes, Iterable) else [changes]
    if not all(isinstance(change, SchemaChange) for change in every):
        raise TypeError(f"changes takes one SchemaChange or several, not {changes!r}")

    def of_iceberg(_: Table) -> IcebergAction:
        texts = [text for change in every for text in change.json("iceberg")]
        return IcebergAction.update_schema(f"[{','.join(texts)}]", allow_incompatible_changes)

    def of_paimon(table: Table) -> PaimonChange:
        only("update_schema", table, allow_incompatible_changes=(allow_incompatible_changes, False))
        texts = [text for change in every for text in change.json("paimon")]
        return PaimonChange.update_schema(f"[{','.join(texts)}]")

    return self._changed(Change("update_schema", of_iceberg, of_paimon))


def update_properties(
    self: Changes[R, F], properties: Mapping[str, str] | None = None, *, remove: Sequence[str] = ()
) -> R:
    """Sets properties of the table (Paimon: options), and removes others.

    Args: properties, keys and values; remove, keys to remove, which then have their defaults.
    Returns: the table at the head of its branch.
    Raises: SchemaError for a key that is not to be set (of Iceberg what follows from what the table is:
        `format-version`, `uuid`, `current-schema` and others; of Paimon what cannot change once there are
        snapshots), and one that is both set and removed; UnsupportedError (an option that only Paimon's own
        writers check).
    Cost: Iceberg: reads and writes the metadata file. Paimon: reads the latest schema, writes a schema.
    Source: Iceberg's `PropertiesUpdate.java`, `TableProperties.java`; Paimon's `SchemaManager.java`.
    """
    pairs = pairs_of(properties)
    removed = names("remove", remove) or []

    def of_paimon(_: Table) -> PaimonChange:
        for key, _value in pairs:
            if key in removed:
                raise SchemaError(f"{key} is both set and removed", kind="argument", field=key)
        changes = [{"action": "setOption", "key": key, "value": value} for key, value in pairs]
        changes += [{"action": "removeOption", "key": key} for key in removed]
        return PaimonChange.update_schema(json.dumps(changes))

    of_iceberg = IcebergAction.update_properties(pairs, removed)
    return self._changed(Change("update_properties", of_iceberg, of_paimon))


def update_spec(
    self: Changes[R, F],
    *,
    add: Sequence[str] | Mapping[str, str] = (),
    remove: Sequence[str] = (),
    rename: Mapping[str, str] | None = None,
) -> R:
    """(Iceberg) Changes what new files of the table are partitioned by; files that are there stay in their
    partitions.

    Fields are removed first, then some are renamed, then others added. In version 1 a removed field stays as
    one that is always null. A field that some spec of the table has had keeps its id.

    Args:
        add: fields to add: `"region"`, `"bucket(16, id)"`, `"day(ts)"`; or their names and what they are:
            `{"shard": "bucket(16, id)"}`. Without a name a field is called `id_bucket_16`, `ts_day`.
        remove: names of fields to remove.
        rename: names of fields, and their new ones.
    Returns: the table at the head of its branch; as it is where nothing changes.
    Raises: before anything is written: SchemaError with `.field` (no such field or column, a name that is
        taken, a field that is there already), UnsupportedError (a column that the transform does not take, a
        spec of transforms that are not known, a Paimon table).
    Cost: reads and writes the metadata file.
    Source: Iceberg specification, "Partition Evolution"; Iceberg's `BaseUpdatePartitionSpec.java`.

    >>> table = table.update_spec(remove=["ts_day"], add=["hour(ts)"])
    """
    new: list[tuple[str, str | None]]
    if isinstance(add, Mapping):
        new = [(encodable("add", text), encodable("add", name)) for name, text in add.items()]
    else:
        new = [(text, None) for text in names("add", add) or ()]
    renamed = [
        (encodable("rename", name), encodable("rename", to))
        for name, to in mapping("rename", rename or {}).items()
    ]
    of_iceberg = IcebergAction.update_spec(names("remove", remove) or [], renamed, new)
    return self._changed(Change("update_spec", of_iceberg))


def upgrade(self: Changes[R, F], format_version: int) -> R:
    """(Iceberg) Makes the table one of a later version of the format; no file is written again but the
    metadata.

    Snapshots that are there stay readable as they are. In version 3 rows of older files get ids with the next
    commit, and position deletes are added as deletion vectors alone.

    Args: format_version, 2 or 3.
    Returns: the table at the head of its branch; the same where it is of that version.
    Raises: UnsupportedError (a version that is not written, or below the table's; a Paimon table).
    Cost: reads and writes the metadata file.
    Source: Iceberg specification, "Format version changes"; Iceberg's `TableMetadata.java`.
    """
    version = integer("format_version", format_version, bits=32)
    return self._changed(Change("upgrade", IcebergAction.upgrade(version)))


def set_statistics(self: Changes[R, F], statistics: Mapping[str, Any], *, of_partitions: bool = False) -> R:
    """(Iceberg) Names a file of statistics of a snapshot, in the place of the one that the snapshot has.

    Args: statistics, the file's record in the metadata, as `statistics` or `partition-statistics` of
        `lakebed.iceberg.read_metadata` have it: `snapshot-id`, `statistics-path`, `file-size-in-bytes`, and
        of a whole table `file-footer-size-in-bytes` and `blob-metadata`. The file is written already, and is
        not looked at; of_partitions, statistics of each partition instead.
    Returns: the table at the head of its branch.
    Raises: SchemaError (a key that is absent or of another type, no such snapshot), UnsupportedError (a
        Paimon table).
    Cost: reads and writes the metadata file.
    Source: Iceberg specification, "Table Statistics", "Partition Statistics"; Iceberg's `SetStatistics.java`,
        `SetPartitionStatistics.java`.
    """
    text = json.dumps(dict(mapping("statistics", statistics)))
    return self._changed(
        Change("set_statistics", lambda _: IcebergAction.set_statistics(text, of_partitions))
    )


def remove_statistics(self: Changes[R, F], at: AnyVersion | None = None, *, of_partitions: bool = False) -> R:
    """(Iceberg) Takes the statistics of a snapshot out of the metadata, if it has some; the file stays.

    Args: at, the snapshot: an id, the name of a tag or branch, a time, or a `Version` or its keywords in a
        dict; None for the table's own; of_partitions, statistics of each partition instead.
    Returns: the table at the head of its branch.
    Raises: SnapshotNotFoundError, UnsupportedError (a Paimon table).
    Cost: reads and writes the metadata file.
    Source: Iceberg's `SetStatistics.java`, `SetPartitionStatistics.java`.
    """

    def of_iceberg(table: Table) -> IcebergAction:
        return IcebergAction.remove_statistics(iceberg.chosen(table, at), of_partitions)

    return self._changed(Change("remove_statistics", of_iceberg))
