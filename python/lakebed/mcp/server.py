"""The server and its tools."""

from __future__ import annotations

import functools
import threading
import warnings
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Annotated, Any

from mcp.server.mcpserver import MCPServer
from mcp.server.mcpserver.tools import Tool
from mcp.types import CallToolResult, TextContent, ToolAnnotations
from pydantic import Field

from lakebed import __version__, _texts
from lakebed._values import to_records
from lakebed.advice import TableName, Thresholds, findings
from lakebed.cli.about import describe
from lakebed.errors import LakebedError, LakebedWarning
from lakebed.mcp import answers
from lakebed.storage.secrets import is_secret

if TYPE_CHECKING:
    from lakebed.mcp.roots import Roots
    from lakebed.table import Table

_INSTRUCTIONS = (
    "Reads the metadata of Apache Paimon and Apache Iceberg tables: which files they have, how they are, "
    "what a query would read. Nothing is written, no rows of the tables are read. A table is a local path "
    "or a URI below one of the roots, or with `catalog` a name such as db.orders in that catalog. "
    "Roots: {roots}. Catalogs: {catalogs}. An answer has {most} rows at most; `is_cut` says that there are "
    "more. Numbers of snapshots may be given as text."
)

# What writers put in there may be a secret.
_OPTIONS = frozenset({"options", "properties", "summary"})

_Text = Annotated[
    str,
    Field(description="A local path or URI below a root, or with `catalog` a name such as db.orders."),
]
_Catalog = Annotated[str | None, Field(description="The catalog that the table is named in.")]
_Snapshot = Annotated[
    str | int | None,
    Field(description="The table at a snapshot, tag=NAME, branch=NAME or an ISO 8601 time; else the latest."),
]
_Where = Annotated[
    str | None,
    Field(
        description="SQL condition on the table's columns, such as dt >= '2026-01-01': files that may match."
    ),
]
_Filter = Annotated[
    str | None,
    Field(description="SQL condition on the columns of the answer, such as file_size_in_bytes < 1MB."),
]
_Columns = Annotated[list[str] | None, Field(description="These columns of the answer; else all.")]
_Limit = Annotated[int | None, Field(ge=1, description="The most rows.")]


@dataclass
class _Tools:
    """What is asked, one call after the other: each has the memory of a scan, and warnings of its own."""

    roots: Roots
    most: int
    turn: threading.Lock = field(default_factory=threading.Lock)

    def find(
        self,
        prefix: Annotated[
            str | None, Field(description="A root or a folder below one; else all roots.")
        ] = None,
        catalog: Annotated[str | None, Field(description="The tables of this catalog instead.")] = None,
        limit: _Limit = None,
    ) -> dict[str, Any]:
        """The tables that there are: location, format and name. Folders are listed, no table is opened."""
        if catalog is not None:
            names = [{"name": name, "catalog": catalog} for name in self.roots.names(catalog)]
            return answers.of_records(names, self._most(limit))
        found: list[dict[str, Any]] = []
        for place in self.roots.places if prefix is None else [prefix]:
            most = self._most(limit) + 1 - len(found)
            found += to_records(self.roots.find(place).head(most))
        return answers.of_records(found, self._most(limit))

    def show(self, table: _Text, catalog: _Catalog = None, at: _Snapshot = None) -> dict[str, Any]:
        """What a table is: format, columns, snapshot, partitions, properties, size and problems. Reads all
        manifests of the snapshot.
        """
        opened = self._opened(table, catalog, at)
        limits = Thresholds.of(opened.format, opened.properties)
        about = describe(opened, limits, TableName.of(opened).command)
        for holder in filter(None, (about, about["schema"], about["snapshot"])):
            for key in (key for key in holder.keys() & _OPTIONS if holder[key]):
                options = holder[key].items()
                holder[key] = {name: "(not shown)" if is_secret(name) else value for name, value in options}
        return answers.of_object(about)

    def health(
        self, table: _Text, catalog: _Catalog = None, at: _Snapshot = None, where: _Where = None
    ) -> dict[str, Any]:
        """How a table is: sizes of files, deletes, snapshots and manifests, with the problems found and the
        next step for each. Reads all manifests of the snapshot.
        """
        opened = self._opened(table, catalog, at)
        limits = Thresholds.of(opened.format, opened.properties)
        (row,) = to_records(opened.health(small_bytes=limits.small_bytes, where=where).to_arrow())
        found = [finding.to_dict() for finding in findings(row, limits, TableName.of(opened))]
        return answers.of_object({"health": row, "findings": found})

    def files(
        self,
        table: _Text,
        catalog: _Catalog = None,
        at: _Snapshot = None,
        where: _Where = None,
        filter: _Filter = None,
        columns: _Columns = None,
        stats: Annotated[list[str] | None, Field(description="Bounds and counts of these columns.")] = None,
        limit: _Limit = None,
    ) -> dict[str, Any]:
        """The live data and delete files of a table, a row each, with partition, rows and bytes."""
        opened = self._opened(table, catalog, at)
        files = opened.files(where=where, filter=filter, columns=columns, stats=stats)
        return answers.of_rows(files, self._most(limit))

    def plan(
        self,
        table: _Text,
        catalog: _Catalog = None,
        at: _Snapshot = None,
        where: _Where = None,
        filter: _Filter = None,
        columns: _Columns = None,
        explain: Annotated[
            bool, Field(description="What each step keeps, of how many, and why, instead of the files.")
        ] = False,
        limit: _Limit = None,
    ) -> dict[str, Any]:
        """The data files that a query with this condition must read, each with its deletes and what is left
        to test.
        """
        plan = self._opened(table, catalog, at).plan(where=where, filter=filter, columns=columns)
        return (
            answers.of_object(plan.explain().to_dict())
            if explain
            else answers.of_rows(plan, self._most(limit))
        )

    def diff(
        self,
        table: _Text,
        a: Annotated[str | int, Field(description="A snapshot, tag=NAME, branch=NAME or an ISO 8601 time.")],
        b: Annotated[
            str | int, Field(description="Another one: what it lacks was removed, what a lacks was added.")
        ],
        catalog: _Catalog = None,
        where: _Where = None,
        filter: _Filter = None,
        columns: _Columns = None,
        limit: _Limit = None,
    ) -> dict[str, Any]:
        """The files that were removed and added between two snapshots."""
        opened = self._opened(table, catalog, None)
        versions = (_texts.version_or_time(str(one)) for one in (a, b))
        changes = opened.diff(*versions, where=where, filter=filter, columns=columns)
        return answers.of_rows(changes, self._most(limit))

    def expire_plan(
        self,
        table: _Text,
        catalog: _Catalog = None,
        older_than: Annotated[
            str | None, Field(description="What is old: an age such as 5d or 12h, or an ISO 8601 time.")
        ] = None,
        retain_last: Annotated[int | None, Field(ge=1, description="So many snapshots stay.")] = None,
        filter: _Filter = None,
        columns: _Columns = None,
        limit: _Limit = None,
    ) -> dict[str, Any]:
        """What an expiry of snapshots would free. Nothing is deleted. Reads manifests of all snapshots."""
        age = None if older_than is None else _texts.age(older_than)
        opened = self._opened(table, catalog, None)
        freed = opened.expire_plan(age, retain_last, filter=filter, columns=columns)
        return answers.of_rows(freed, self._most(limit))

    def _opened(self, table: str, catalog: str | None, at: str | int | None) -> Table:
        opened = self.roots.open(table, catalog)
        if at is None:
            return opened
        place: Any = _texts.version_or_time(str(at))
        if isinstance(place, str):
            raise ValueError(f"at is a snapshot, tag=NAME, branch=NAME or an ISO 8601 time, not {place!r}")
        if not isinstance(place, dict):
            place = {"snapshot" if isinstance(place, int) else "timestamp": place}
        return opened.at(**place)

    def _most(self, limit: int | None) -> int:
        return self.most if limit is None else min(limit, self.most)


def server(roots: Roots, most: int = answers.MOST_ROWS) -> MCPServer:
    """The server of what is below some roots. Args: most, rows of an answer. Cost: none; its tools read."""
    words = _INSTRUCTIONS.format(
        roots=", ".join(roots.places) or "none", catalogs=", ".join(roots.catalogs) or "none", most=most
    )
    own = _Tools(roots, most)
    asked = (own.find, own.show, own.health, own.files, own.plan, own.diff, own.expire_plan)
    tools = [_tool(_answering(one, own.turn)) for one in asked]
    return MCPServer("lakebed", instructions=words, version=__version__, log_level="WARNING", tools=tools)


def _tool(function: Callable[..., CallToolResult]) -> Tool:
    """A tool that refuses arguments which it does not have, such as a condition under another name."""
    read_only = ToolAnnotations(read_only_hint=True, destructive_hint=False, idempotent_hint=True)
    tool = Tool.from_function(function, annotations=read_only, structured_output=False)
    arguments = tool.fn_metadata.arg_model
    arguments.model_config["extra"] = "forbid"
    arguments.model_rebuild(force=True)
    tool.parameters = arguments.model_json_schema(by_alias=True)
    return tool


def _answering(tool: Callable[..., dict[str, Any]], turn: threading.Lock) -> Callable[..., CallToolResult]:
    """A tool whose answer has the warnings of the call, or its error."""

    @functools.wraps(tool)
    def run(**given: Any) -> CallToolResult:
        with turn, warnings.catch_warnings(record=True) as caught:
            warnings.filterwarnings("always", category=LakebedWarning)
            is_error = False
            try:
                answer = tool(**given)
            except (LakebedError, OSError, ValueError, TypeError, ImportError) as error:
                answer, is_error = answers.of_error(error), True
        said = dict.fromkeys(str(one.message) for one in caught if issubclass(one.category, LakebedWarning))
        answer |= answers.of_warnings(said)
        text = TextContent(type="text", text=answers.to_text(answer))
        return CallToolResult(content=[text], structured_content=answer, is_error=is_error)

    return run
