"""How a table is made."""

from __future__ import annotations

import errno
import json
import os
from collections.abc import Mapping, Sequence
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, Literal

from lakebed import _arrow, _native
from lakebed._arguments import integer, names, one_of
from lakebed.commits.inputs import pairs_of
from lakebed.errors import LocationError, TableNotFoundError, UnsupportedError
from lakebed.limits import LIMITS, Limits
from lakebed.opening import open_table
from lakebed.storage import resolve
from lakebed.storage.paths import absolute, scheme_of, without_climbing
from lakebed.table import table_of
from lakebed.table.opening import Opening

if TYPE_CHECKING:
    from lakebed.table import Table


def create_table(
    path: str | os.PathLike[str],
    schema: Any,
    format: Literal["iceberg", "paimon"],
    *,
    partition_by: Sequence[str] = (),
    primary_key: Sequence[str] = (),
    properties: Mapping[str, str] | None = None,
    comment: str | None = None,
    format_version: int | None = None,
    storage: object | None = None,
    limits: Limits = LIMITS,
) -> Table:
    """Makes an empty table, without a catalog, at a place where there is none yet.

    Args:
        path: a folder, which need not be there; of Paimon also a URI. Paths of an Iceberg table start with
            it, so it becomes absolute.
        schema: anything with `__arrow_c_schema__`. Iceberg: field ids are given out anew, columns that may
            not be null are required; times in seconds or milliseconds become microseconds, 8- and 16-bit
            integers int; nanoseconds and null columns need version 3. Paimon: a field's metadata may name its
            type (`paimon.type`: `VARCHAR(10)`); or the `fields` of a schema file, a list of dicts of `name`
            and `type`.
        format: "iceberg" or "paimon".
        partition_by: Iceberg: partition fields: "region", "day(ts)", "month(ts)", "year(ts)", "hour(ts)",
            "bucket(16, id)", "truncate(4, name)"; nested columns by their full names. Paimon: names of
            columns, in the order of its folders.
        primary_key: (Paimon) names of the key columns, including those of the partition; they are never null.
        properties: the table's: Iceberg's properties, such as `write.metadata.compression-codec`, or Paimon's
            options, such as `{"bucket": "4", "bucket-key": "id"}`. Paimon's `manifest.format` may be `orc` or
            `parquet`, which Paimon reads up to 2.0.
        comment: (Paimon) of the table.
        format_version: (Iceberg) 1, 2 or 3; None for 2.
        storage: (Paimon) what `open_table` takes as `storage`: a store of obstore that has conditional puts,
            or a storage that publishes files.
        limits: what reading one metadata file of the table may cost.
    Returns: the table.
    Raises: FileExistsError (there is a table), SchemaError with `.field` (no such column or transform, types,
        keys or buckets that make no table), UnsupportedError (a type that the version does not have, a column
        that the transform does not take, a storage without commits, a format or codec of manifests that is
        not written, an argument of the other format), LocationError (a location with control characters),
        ValueError (another format), OSError. Nothing is left behind then, except an empty file where a
        storage fails on the way, and what was written where that does not report whether it has.
    Cost: writes two small files (Iceberg), one (Paimon).
    Source: Iceberg's `HadoopTables.java`, `AssignFreshIds.java`, `PartitionSpec.java`; Paimon's
        `SchemaManager.java`, `SchemaValidation.java`.

    >>> schema = pa.schema([("id", pa.int64()), ("day", pa.date32())])
    >>> trips = lakebed.create_table("/lake/trips", schema, "iceberg", partition_by=["day"])
    """
    given: object = limits
    if not isinstance(given, Limits):
        raise TypeError(f"limits takes Limits, not {limits!r}")
    pairs = pairs_of(properties)
    fields = names("partition_by", partition_by) or []
    keys = names("primary_key", primary_key) or []
    if one_of("format", format, ("iceberg", "paimon")) == "iceberg":
        _refuse("iceberg", primary_key=keys or None, comment=comment, storage=storage)
        version = 2 if format_version is None else integer("format_version", format_version, bits=32)
        schema = _arrow.named(schema)
        definition = SimpleNamespace(
            schema=schema, partition_by=fields, format_version=version, properties=pairs
        )
        return _iceberg(path, definition, limits)
    _refuse("paimon", format_version=format_version)
    location, adapter = resolve(path, storage)
    location = location if adapter else absolute(without_climbing(location))
    _check_free(Opening(adapter, location, limits=limits), "iceberg")
    is_arrow = hasattr(schema, "__arrow_c_schema__")
    columns = _native.paimon_fields(_arrow.named(schema)) if is_arrow else json.dumps(list(schema))
    definition = SimpleNamespace(
        fields=columns, partition_keys=fields, primary_keys=keys, options=pairs, comment=comment
    )
    core = _native.paimon_create_table(location, adapter, definition, limits)
    return table_of(core, Opening(adapter, location, limits=limits))


def _refuse(format: str, **given: object) -> None:
    """Refuses what the format does not have. Raises: UnsupportedError with `.field`."""
    for argument, value in given.items():
        if value is not None:
            message = f"create_table of {format} tables takes no {argument}"
            raise UnsupportedError(message, kind="unsupported", field=argument)


def _check_free(opening: Opening, other: str) -> None:
    """Refuses a place where a table of the other format is. Raises: FileExistsError."""
    try:
        opening.core(other)
    except TableNotFoundError:
        return
    place = _native.without_credentials(opening.path)
    raise FileExistsError(errno.EEXIST, f"there is a table of the format {other} already", place)


def _iceberg(path: str | os.PathLike[str], definition: SimpleNamespace, limits: Limits) -> Table:
    # Before it is opened: that may ask a server.
    if scheme_of(os.fspath(path)) not in ("", "file"):
        raise UnsupportedError(
            "tables are made on the local file system alone: elsewhere by a catalog, catalog.create_table(…)",
            kind="unsupported",
            path=_native.without_credentials(os.fspath(path)),
        )
    folder, _ = resolve(path)
    if not folder:
        raise LocationError("a table without a path: it is empty", kind="location", path=folder)
    location = absolute(without_climbing(folder))
    _check_free(Opening(None, location, limits=limits), "paimon")
    _native.iceberg_create_table(location, definition, os.urandom(16), limits)
    return open_table(location, format="iceberg", limits=limits)
