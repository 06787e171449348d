"""Paths of the files in pypaimon's splits: since 2.1 one look at the table for each partition and bucket."""

from __future__ import annotations

from functools import wraps
from typing import TYPE_CHECKING, Any

from lakebed._below import Replacement
from lakebed.pypaimon.files import PROBE, is_plain
from lakebed.pypaimon.installing import BELOW

if TYPE_CHECKING:
    from pypaimon.manifest.schema.data_file_meta import DataFileMeta


def replacements() -> list[Replacement]:
    """What takes the place of what; nothing where files make their own paths."""
    try:
        from pypaimon.read.scanner import split_generator
    except ImportError:
        # Of 1.3.
        return []
    generator: Any = split_generator.AbstractSplitGenerator
    if not hasattr(generator, "_set_data_file_paths"):
        return []
    paths_own = generator._set_data_file_paths

    @wraps(paths_own)
    def _set_data_file_paths(self: Any, files: list[DataFileMeta], partition: Any, bucket: int) -> None:
        if not BELOW.is_installed:
            paths_own(self, files, partition, bucket)
            return
        # For as long as the generator lives, which is one plan.
        folders = vars(self).setdefault("_lakebed_folders", {})
        # By their texts, which paths have: 0.0 equals -0.0.
        key = (str(partition.values), bucket)
        others = []
        for file in files:
            if file.external_path or not is_plain(file.file_name):
                others.append(file)
                continue
            if key not in folders:
                path = split_generator.canonical_data_file_path(
                    self.table, tuple(partition.values), bucket, PROBE
                )
                folders[key] = path.removesuffix(PROBE)
            file.file_path = folders[key] + file.file_name
        if others:
            paths_own(self, others, partition, bucket)

    return [Replacement(generator, "_set_data_file_paths", _set_data_file_paths)]
