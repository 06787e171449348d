"""Opens tables, those by the names that the catalogs of a Spark session have for them too.

Spark tells by SQL where such a table is and which version of it is current, on Spark Connect too.
"""

from __future__ import annotations

import errno
import os
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any, NoReturn, TypeAlias, Union

from lakebed import _native
from lakebed._arguments import unwrapping
from lakebed._text import printable
from lakebed.catalogs import Entry, IcebergTable, PaimonTable
from lakebed.errors import TableNotFoundError, UnsupportedError
from lakebed.iceberg.reading import read_metadata
from lakebed.limits import LIMITS, Limits
from lakebed.opening import open_table
from lakebed.spark.private_api import default_files
from lakebed.storage import resolve
from lakebed.storage.paths import SCHEME
from lakebed.storage.secrets import without_secrets
from lakebed.table import Table, table_of
from lakebed.table.opening import Opening

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from lakebed._arguments import KeyClient, UnwrapKey
    from lakebed._native import Cache
    from lakebed.version import AnyVersion

TablePath: TypeAlias = Union[str, "os.PathLike[str]", IcebergTable, PaimonTable, Table]
"""A path or URI that the driver can open and the executors can reach, a table that a catalog of PyIceberg or
pypaimon loaded, or one that is open already."""

# In backticks, in double quotes, or as it is.
_PART = re.compile(r'`((?:[^`]|``)+)`|"((?:[^"]|"")+)"|([^`".:/\\]+)')
_BRANCH = re.compile(r"(?<=.)\$branch_([^$]+)$")
# What Spark says of a name that no table has; the last where the catalog that was meant is not there.
_NOT_THERE = re.compile(r"(TABLE_OR_VIEW|SCHEMA|CATALOG)_NOT_FOUND|REQUIRES_SINGLE_PART_NAMESPACE")
# What `type` or `catalog-impl` of a catalog says where the table's folder says which version is current.
_OF_FOLDERS = ("hadoop", "org.apache.iceberg.hadoop.HadoopCatalog")


def parts_of(text: str) -> tuple[str, ...] | None:
    r"""The parts of a name such as "lake.db.`my.table`"; None for a path: for what has a `/`, `\` or `:` that
    is not quoted, quotes that do not match, an empty part, or letters that cannot be printed.
    """
    parts, start = list[str](), 0
    while text.isprintable() and (match := _PART.match(text, start)):
        ticked, quoted, plain = match.groups()
        parts.append(plain or (ticked or "").replace("``", "`") or quoted.replace('""', '"'))
        start = match.end() + 1
        if match.end() == len(text):
            return tuple(parts)
        if text[match.end()] != ".":
            return None
    return None


def opened(
    spark: SparkSession | None,
    path: TablePath,
    at: AnyVersion | None,
    limits: Limits | None,
    keys: UnwrapKey | KeyClient | None = None,
    cache: Cache | None = None,
) -> Table:
    """The table, opened unless it is open, at the version asked for.

    Given a session, a string is a name that its catalogs are asked for where `parts_of` finds parts in it and
    no local file or folder is called so.

    Raises, Cost: as `lakebed.spark.open_table`. The metadata file is read once more for the table's UUID.
    """
    limits, parts = limits or LIMITS, None
    if spark is not None and isinstance(path, str) and not os.path.lexists(path):
        parts = parts_of(path)
    if isinstance(path, Table):
        table = path
    elif spark is None or parts is None:
        table = open_table(path, limits=limits, keys=keys, cache=cache)
    else:
        table = _Name.of(spark, str(path), parts).table(limits, keys, cache)
    return table if at is None else table.at(at)


@dataclass(frozen=True)
class _Name:
    """A name that a session's catalogs are asked for.

    Attributes: given, as the user has it; parts, the catalog too, whichever becomes the current one.
    """

    spark: SparkSession = field(repr=False)
    given: str
    parts: tuple[str, ...]

    @staticmethod
    def of(spark: SparkSession, given: str, parts: tuple[str, ...]) -> _Name:
        """As Spark looks for it: in the catalog of its first part, if there is one, or the current one."""
        if len(parts) > 1:
            known = [row[0] for row in spark.sql("SHOW CATALOGS").collect()]
            if parts[0] in known or spark.conf.get(f"spark.sql.catalog.{parts[0]}", None) is not None:
                return _Name(spark, given, parts)
        catalog, schema = spark.sql("SELECT current_catalog(), current_schema()").collect()[0]
        namespace = (parts_of(schema) or ()) if len(parts) == 1 else ()
        return _Name(spark, given, (catalog, *namespace, *parts))

    def table(self, limits: Limits, keys: UnwrapKey | KeyClient | None, cache: Cache | None) -> Table:
        """The table of the name. Raises: as `opened`."""
        kind, location = self.described()
        located = _located(self.spark, location)
        if kind == "paimon":
            if self.setting("metastore").lower() == "rest":
                self.refuse("is of a REST catalog, which keeps the snapshots: give what pypaimon loads of it")
            table = open_table(located, format=kind, limits=limits, cache=cache)
            branch = _BRANCH.search(self.parts[-1])
            return table.at(branch=branch[1]) if branch else table
        if (self.setting("catalog-impl") or self.setting("type").lower()) in _OF_FOLDERS:
            # It has tables in folders of their names alone: `db.t.snapshots` and `db.t.branch_b` are none.
            if not location.endswith("/".join(("", *self.parts[1:]))):
                self.refuse(f"is something of a table: open that, with at= for a branch ({location})")
            return open_table(located, format=kind, limits=limits, keys=keys, cache=cache)
        entry = SparkEntry.of(self, limits)
        unwrap = unwrapping(keys)
        opening = Opening(entry.storage, entry.path, limits=limits, entry=entry, keys=unwrap, cache=cache)
        return table_of(opening.core(kind), opening)

    def setting(self, key: str) -> str:
        """A setting of its catalog; empty where there is none."""
        return self.spark.conf.get(f"spark.sql.catalog.{self.parts[0]}.{key}", None) or ""

    def described(self) -> tuple[str, str]:
        """The table's format, "iceberg" or "paimon", and its location. Raises: as `opened`."""
        rows = self.asked("DESCRIBE TABLE EXTENDED {}")
        # Columns are first, which may be called anything, but have a type.
        heads = [at for at, row in enumerate(rows) if row[0].startswith("# Detailed ") and not row[1]]
        # What has a name first counts: what follows may be of the table's files.
        told = {row[0]: row[1] for row in reversed(rows[heads[-1] + 1 :] if heads else [])}
        kind = (told.get("Provider") or "").lower()
        if told.get("Type") == "VIEW" or (heads and "View" in rows[heads[-1]][0]):
            self.refuse("is a view")
        if kind not in ("iceberg", "paimon"):
            self.refuse(f"is {f'a table of {kind}' if kind else 'no table that has a format'}")
        if kind == "paimon":
            told.update(row[:2] for row in self.asked("SHOW TBLPROPERTIES {}") if row[0] == "path")
        return kind, told.get("path") or told.get("Location") or self.refuse("is nowhere, as Spark tells")

    def metadata_file(self) -> str:
        """The metadata file that is current by what the catalog says now. Raises: as `opened`."""
        # Iceberg keeps tables that were loaded. It forgets the log with its table, but not of a dotted name.
        self.asked("REFRESH TABLE {}")
        if any("." in part for part in self.parts):
            self.asked("REFRESH TABLE {}.metadata_log_entries")
        # The last row is the current file itself, behind those of the metadata's log.
        rows = self.asked("SELECT file FROM {}.metadata_log_entries")
        return _located(self.spark, rows[-1][0] if rows else self.refuse("has no metadata, as Spark tells"))

    def asked(self, statement: str) -> list[Any]:
        """The rows of a statement about the table. Raises: TableNotFoundError, OSError."""
        quoted = ".".join(f"`{part.replace('`', '``')}`" for part in self.parts)
        try:
            return list(self.spark.sql(statement.replace("{}", quoted)).collect())
        except Exception as error:  # noqa: BLE001 - of many classes, Java's own and those of Spark Connect
            words = printable(without_secrets("\n".join(str(error).strip().split("\n")[:2])))
        if _NOT_THERE.search(words):
            first, *more = parts_of(self.given) or ("",)
            lacks = f" and no catalog {first}" if len(more) > 1 and first != self.parts[0] else ""
            place = ".".join(self.parts[:-1])
            message = f"{self.given}: Spark has no such table in {place}{lacks}, nor is a file called so"
            raise TableNotFoundError(message, kind="table-not-found", path=self.given)
        raise OSError(errno.EIO, f"Spark does not tell of the table: {words}", self.given)

    def refuse(self, why: str) -> NoReturn:
        """Raises: UnsupportedError, with what was asked for and what was found."""
        message = f"{self.given} in Spark's catalog {self.parts[0]} {why}; it is to be Iceberg's or Paimon's"
        raise UnsupportedError(message, kind="unsupported")


@dataclass(frozen=True)
class SparkEntry(Entry):
    """What Spark says of a table of Iceberg's whose catalog knows which version is current.

    Attributes: table, its name; file, its metadata file for Spark; identity, its UUID; limits, as of `Table`.
    """

    table: _Name
    file: str
    identity: str | None
    limits: Limits

    @staticmethod
    def of(name: _Name, limits: Limits) -> SparkEntry:
        """What Spark says now. Raises: as `opened`."""
        file = name.metadata_file()
        path, storage = resolve(file)
        found = read_metadata(path, storage=storage, limits=limits)
        return SparkEntry(name, path, storage, file, found.get("table-uuid"), limits)

    format = "iceberg"
    commits = True  # through Spark, not through lakebed

    def newest(self) -> SparkEntry:
        """What Spark says now. Raises: as `opened`; another table of the same name does not count."""
        if self.table.metadata_file() == self.file:
            return self
        newest = SparkEntry.of(self.table, self.limits)
        if newest.identity != self.identity:
            shown = _native.without_credentials(newest.path)
            message = f"Spark has another table of the name {self.table.given} now ({shown})"
            raise TableNotFoundError(message, kind="table-not-found", path=shown)
        return newest

    def pointer(self) -> NoReturn:
        """Executors have no session to ask. Raises: UnsupportedError."""
        _refuse(self.table.given)

    def elsewhere(self) -> Callable[[], Entry]:
        """What says so in another process, when it is asked."""
        return partial(_refuse, self.table.given)


def _refuse(name: str) -> NoReturn:
    asks = "the process of the Spark session alone can ask its catalog which version is newest, no executor"
    instead = f"give what PyIceberg loads of {name}, or have this process read open_table(spark, …).table"
    raise UnsupportedError(f"{asks}: {instead}", kind="unsupported")


def _located(spark: SparkSession, path: str) -> str:
    """A path of a catalog's, as a URI where Hadoop would not look for it on the local disk."""
    root = (None if SCHEME.match(path) else default_files(spark)) or "file:///"
    return path if root.startswith("file:") else f"{root.rstrip('/')}/{path.lstrip('/')}"
