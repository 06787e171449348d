"""pypaimon's manifests of a manifest list."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

from pypaimon.manifest.schema.manifest_file_meta import ManifestFileMeta
from pypaimon.manifest.schema.simple_stats import SimpleStats
from pypaimon.table.row.binary_row import BinaryRow

from lakebed._below import NotTheSameError, column_arrays, python_values
from lakebed.paimon.reading import read_manifest_list
from lakebed.pypaimon.columns import header_schema, own_value, record_fields

_FIELDS = tuple(field.name for field in fields(ManifestFileMeta) if field.name != "partition_stats")
_LIST = {
    "_FILE_NAME": "string",
    "_FILE_SIZE": "long",
    "_NUM_ADDED_FILES": "long",
    "_NUM_DELETED_FILES": "long",
    "_PARTITION_STATS": "record",
    "_SCHEMA_ID": "long",
}
"""What pypaimon asks every manifest for."""


def manifests(manager: Any, data: bytes) -> list[Any]:
    """The manifests that pypaimon's `ManifestListManager` reads of a list's bytes.

    Raises: NotTheSameError where its own code must read; LakebedError.
    """
    found = record_fields(header_schema(data))
    for name, kind in _LIST.items():
        if found.get(name) != kind:
            raise NotTheSameError(f"a schema whose {name} is {found.get(name, 'absent')}")
    arrays = column_arrays(read_manifest_list(data, columns=(*_FIELDS, "partition_stats")).to_arrow())
    columns = [python_values(arrays[name]) for name in _FIELDS]
    partition = manager.table.partition_keys_fields
    made = []
    for stored, *values in zip(arrays["partition_stats"].to_pylist(), *columns, strict=True):
        low, high = (own_value(BinaryRow, stored[name], partition) for name in ("min_values", "max_values"))
        stats = SimpleStats(low, high, stored["null_counts"])
        made.append(ManifestFileMeta(partition_stats=stats, **dict(zip(_FIELDS, values, strict=True))))
    return made
