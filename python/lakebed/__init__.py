"""Metadata of lake tables as Arrow: snapshots, manifests and files, in one process or on Spark."""

from __future__ import annotations

from lakebed._native import ReadLimit, __version__

# Importing lakebed loads what is asked of it alone: all of it takes several times as long as the interpreter.
TYPE_CHECKING = (
    False  # what type checkers take for true, without `typing`, which takes as long as all the rest
)
if TYPE_CHECKING:
    from typing import Any

    from lakebed import avro, errors, iceberg, paimon
    from lakebed.cleaning import Cleanup, apply, restore
    from lakebed.commits import CommitOptions, Freed, SchemaChange, StagedCommit, Transaction
    from lakebed.creating import create_table
    from lakebed.describe import describe_file
    from lakebed.describing import describe_files
    from lakebed.errors import CommitConflictError, LakebedError
    from lakebed.explain import Explain
    from lakebed.finding import find_tables
    from lakebed.fleet import health
    from lakebed.limits import LIMITS, Limits
    from lakebed.locations import check_locations
    from lakebed.opening import open_table
    from lakebed.predicates import Predicate, col
    from lakebed.reporting import report
    from lakebed.rewriting import CopyScan, rewrite_paths
    from lakebed.scan import Scan
    from lakebed.storage import ListableStorage, ReadableStorage, Storage, WritableStorage
    from lakebed.table import Table
    from lakebed.version import Version
    from lakebed.view import PlanScan, ViewScan

__all__ = [
    "LIMITS",
    "Cleanup",
    "CommitConflictError",
    "CommitOptions",
    "CopyScan",
    "Explain",
    "Freed",
    "LakebedError",
    "Limits",
    "ListableStorage",
    "PlanScan",
    "Predicate",
    "ReadLimit",
    "ReadableStorage",
    "Scan",
    "SchemaChange",
    "StagedCommit",
    "Storage",
    "Table",
    "Transaction",
    "Version",
    "ViewScan",
    "WritableStorage",
    "__version__",
    "apply",
    "avro",
    "check_locations",
    "col",
    "create_table",
    "describe_file",
    "describe_files",
    "errors",
    "find_tables",
    "health",
    "iceberg",
    "open_table",
    "paimon",
    "report",
    "restore",
    "rewrite_paths",
]

_HOMES = {
    "Cleanup": "lakebed.cleaning",
    "CommitConflictError": "lakebed.errors",
    "CommitOptions": "lakebed.commits",
    "CopyScan": "lakebed.rewriting",
    "Explain": "lakebed.explain",
    "Freed": "lakebed.commits",
    "LIMITS": "lakebed.limits",
    "LakebedError": "lakebed.errors",
    "Limits": "lakebed.limits",
    "ListableStorage": "lakebed.storage",
    "PlanScan": "lakebed.view",
    "Predicate": "lakebed.predicates",
    "ReadableStorage": "lakebed.storage",
    "Scan": "lakebed.scan",
    "SchemaChange": "lakebed.commits",
    "StagedCommit": "lakebed.commits",
    "Storage": "lakebed.storage",
    "Table": "lakebed.table",
    "Transaction": "lakebed.commits",
    "Version": "lakebed.version",
    "ViewScan": "lakebed.view",
    "WritableStorage": "lakebed.storage",
    "apply": "lakebed.cleaning",
    "avro": "lakebed.avro",
    "check_locations": "lakebed.locations",
    "col": "lakebed.predicates",
    "create_table": "lakebed.creating",
    "describe_file": "lakebed.describe",
    "describe_files": "lakebed.describing",
    "errors": "lakebed.errors",
    "find_tables": "lakebed.finding",
    "health": "lakebed.fleet",
    "iceberg": "lakebed.iceberg",
    "open_table": "lakebed.opening",
    "paimon": "lakebed.paimon",
    "report": "lakebed.reporting",
    "restore": "lakebed.cleaning",
    "rewrite_paths": "lakebed.rewriting",
}


def __getattr__(name: str) -> Any:
    """A public name, from its module, which is loaded when it is first asked for."""
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}", name=name, obj=None)
    from importlib import import_module

    module = import_module(home)
    found = globals()[name] = module if home == f"{__name__}.{name}" else getattr(module, name)
    return found


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
