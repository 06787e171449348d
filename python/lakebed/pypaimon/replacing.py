"""What takes the place of functions of pypaimon's."""

from __future__ import annotations

from functools import wraps
from inspect import signature
from typing import TYPE_CHECKING, Any

from pypaimon.manifest import manifest_file_manager, manifest_list_manager
from pypaimon.manifest.manifest_file_manager import ManifestFileManager
from pypaimon.manifest.manifest_list_manager import ManifestListManager
from pypaimon.read.table_scan import TableScan

from lakebed._below import Pause, Replacement
from lakebed.pypaimon import lists, splits
from lakebed.pypaimon.columns import in_memory
from lakebed.pypaimon.entries import Asked, entries
from lakebed.pypaimon.installing import BELOW

if TYPE_CHECKING:
    from types import ModuleType

_PAUSE = Pause()
_READS_LIST = "_read_from_storage" if hasattr(ManifestListManager, "_read_from_storage") else "read"


def replacements() -> list[Replacement]:
    """What takes the place of what."""
    read_own, list_own = ManifestFileManager.read, getattr(ManifestListManager, _READS_LIST)
    plan_own = TableScan.plan
    takes = signature(read_own)

    @wraps(read_own)
    def read(self: Any, *args: Any, **named: Any) -> list[Any]:
        if not BELOW.is_installed or type(self) is not ManifestFileManager:
            return read_own(self, *args, **named)  # type: ignore[no-any-return]
        arguments = takes.bind(self, *args, **named).arguments
        del arguments["self"]
        asked = Asked(**arguments)
        data = _file_bytes(manifest_file_manager, self, asked.manifest_file_name, asked)
        with _PAUSE:
            made = BELOW.answered("manifests", lambda: entries(self, data, asked))
        if made is None:
            # What is left of the manifest is in these bytes already.
            arguments |= {name: None for name in ("selected_blocks", "file_size") if name in arguments}
            return read_own(in_memory(self, data), **arguments)  # type: ignore[no-any-return]
        return made  # type: ignore[no-any-return]

    @wraps(list_own)
    def read_list(self: Any, manifest_list_name: str, *args: Any, **named: Any) -> list[Any]:
        if not BELOW.is_installed or type(self) is not ManifestListManager:
            return list_own(self, manifest_list_name, *args, **named)  # type: ignore[no-any-return]
        asked = Asked(manifest_list_name, file_size=(*args, *named.values(), None)[0])
        data = _file_bytes(manifest_list_manager, self, manifest_list_name, asked)
        made = BELOW.answered("manifest lists", lambda: lists.manifests(self, data))
        if made is None:
            return list_own(in_memory(self, data), manifest_list_name)  # type: ignore[no-any-return]
        return made  # type: ignore[no-any-return]

    @wraps(plan_own)
    def plan(self: Any) -> Any:
        if not BELOW.is_installed:
            return plan_own(self)
        with _PAUSE:
            return plan_own(self)

    return [
        Replacement(ManifestFileManager, "read", read),
        Replacement(ManifestListManager, _READS_LIST, read_list),
        Replacement(TableScan, "plan", plan),
        *splits.replacements(),
    ]


def _file_bytes(module: ModuleType, manager: Any, name: str, asked: Asked) -> bytes:
    """A file as pypaimon reads it: by the table's own `FileIO`, whole or the blocks that a sidecar left."""
    folder, size = manager.manifest_path, asked.file_size
    path = f"{folder}/{name}" if isinstance(folder, str) else folder / name
    if asked.selected_blocks is not None:
        return bytes(vars(module)["read_selected_bytes"](manager.file_io, path, asked.selected_blocks, size))
    # Since 2.1 a cache may stand before the storage, which is told how large a file is.
    opened = vars(module).get("_open_input_stream_with_known_size")
    with opened(manager.file_io, path, size) if opened else manager.file_io.new_input_stream(path) as stream:
        data = bytes(stream.read())
    if opened and size and isinstance(stream, vars(module)["CachingInputStream"]) and len(data) != size:
        what = "manifest file" if module is manifest_file_manager else "manifest list"
        raise EOFError(f"Truncated {what} {path}")
    return data
