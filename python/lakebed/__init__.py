"""Metadata of lake tables as Arrow: snapshots, manifests and files, in one process or on Spark."""

from lakebed import avro, errors, iceberg, paimon
from lakebed._native import ReadLimit, __version__
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
