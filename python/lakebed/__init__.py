"""Metadata of lake tables as Arrow: snapshots, manifests and files, in one process or on Spark."""

from __future__ import annotations

from lakebed._native import Cache, ReadLimit, __version__

# Importing lakebed loads what is asked of it alone: all of it takes several times as long as the interpreter.
# `typing` takes longer than the rest of this file, and type checkers take any constant of this name for true.
TYPE_CHECKING = False
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
    "Cache",
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

# The modules of what is not a module itself.
_HOMES = {
    "Cleanup": "cleaning",
    "CommitConflictError": "errors",
    "CommitOptions": "commits",
    "CopyScan": "rewriting",
    "Explain": "explain",
    "Freed": "commits",
    "LIMITS": "limits",
    "LakebedError": "errors",
    "Limits": "limits",
    "ListableStorage": "storage",
    "PlanScan": "view",
    "Predicate": "predicates",
    "ReadableStorage": "storage",
    "Scan": "scan",
    "SchemaChange": "commits",
    "StagedCommit": "commits",
    "Storage": "storage",
    "Table": "table",
    "Transaction": "commits",
    "Version": "version",
    "ViewScan": "view",
    "WritableStorage": "storage",
    "apply": "cleaning",
    "check_locations": "locations",
    "col": "predicates",
    "create_table": "creating",
    "describe_file": "describe",
    "describe_files": "describing",
    "find_tables": "finding",
    "health": "fleet",
    "open_table": "opening",
    "report": "reporting",
    "restore": "cleaning",
    "rewrite_paths": "rewriting",
}


def __getattr__(name: str) -> Any:
    """What is asked for first: a public name, from its module, or a module."""
    from importlib import import_module

    if home := _HOMES.get(name):
        found = globals()[name] = getattr(import_module(f"{__name__}.{home}"), name)
        return found
    module = f"{__name__}.{name}"
    try:
        if not name.startswith("_"):
            return import_module(module)
    except ModuleNotFoundError as error:
        if error.name != module:
            raise
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
