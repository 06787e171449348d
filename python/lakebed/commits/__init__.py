"""Commits: what can be changed of a table, each change a method, alone or several in one commit.

A change is written down as each format's core takes it (`change.Change`); who made it says what becomes of
it: a `Table` commits it, a `Transaction` collects it, `Staging` writes its files for a catalog. `files`,
`rewrites`, `settings` and `refs` have the methods, a function each; `iceberg` and `paimon` commit, `catalogs`
through PyIceberg.
"""

from __future__ import annotations

from lakebed.commits.change import CommitOptions, Freed, StagedCommit
from lakebed.commits.changes import Changes
from lakebed.commits.schemas import SchemaChange
from lakebed.commits.transaction import Staging, Transaction

__all__ = ["Changes", "CommitOptions", "Freed", "SchemaChange", "StagedCommit", "Staging", "Transaction"]
