"""What a table is called where advice about it is typed."""

from __future__ import annotations

import json
import re
import shlex
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from lakebed import catalogs
from lakebed.file_io import FileIOStorage
from lakebed.limits import LIMITS

if TYPE_CHECKING:
    from lakebed.catalogs import Entry
    from lakebed.table import Table
    from lakebed.table.opening import Opening

_PLAIN = re.compile(r"[A-Za-z_]\w*", re.ASCII)


@dataclass(frozen=True)
class TableName:
    """A table's name in its catalog.

    Attributes:
        catalog: the catalog's name; None where nothing says it: engines take their current one.
        parts: namespace and name; of a branch of Paimon's the name has it too, as engines take it.
        command: the table as lakebed's commands are given it, with the options that open it.
        python: statements of Python after which `table` is the table, and can be committed to; none where no
            such can be typed.
        on_branch: whether the table is on a branch that its name does not have.
    """

    catalog: str | None = None
    parts: tuple[str, ...] = ("db", "table")
    command: str = "TABLE"
    python: tuple[str, ...] = ()
    on_branch: bool = False

    @classmethod
    def of(cls, table: Table, command: str | None = None) -> TableName:
        """What a table is called: as its catalog does, or, opened by its path, as its folders are named.

        Args: command, the table as a command has it, where one was given it.
        """
        entry, location, branch = table.opening.entry, table.location, table.branch
        at = "" if branch == "main" else f".at(branch={_literal(branch)})"
        how = "" if (allowed := table.opening.allowed) is None else f", allowed_prefixes={_literal(allowed)}"
        if entry is None:
            parts, opened = of_folders(location), shlex.quote(location)
            python: tuple[str, ...] = (
                "import lakebed",
                f"table = lakebed.open_table({_literal(location)}{how}){at}",
            )
        else:
            parts, opened, python = _of_catalog(entry, f"{how}){at}", location)
        python = python if _is_typed(table.opening) else ()
        if at and table.format == "paimon":
            parts = (*parts[:-1], f"{parts[-1].partition('$')[0]}$branch_{branch}")
        catalog = None if entry is None else entry.catalog_name
        return cls(catalog, parts, command or opened, python, bool(at) and table.format != "paimon")

    def __str__(self) -> str:
        """The name with dots, without the catalog."""
        return ".".join(self.parts)

    def quoted(self, mark: str) -> str:
        """The name in SQL without the catalog, with this mark around what is no plain word."""
        return ".".join(identifier(part, mark) for part in self.parts)

    def quoted_catalog(self, mark: str) -> str:
        """The catalog's name in SQL with a dot behind it; nothing where none is known."""
        return "" if self.catalog is None else f"{identifier(self.catalog, mark)}."


def _of_catalog(entry: Entry, after: str, location: str) -> tuple[tuple[str, ...], str, tuple[str, ...]]:
    """What a catalog calls a table, how lakebed's commands open it, and how Python does.

    Args: after, what of Python follows the catalog's table; location, of the table.
    """
    parts, catalog = catalogs.parts_of(entry.table), entry.catalog_name
    if catalog is None:
        return parts, shlex.quote(location), ()
    name = ".".join(parts)
    load = f"load_catalog({_literal(catalog)}).load_table({_literal(name)})"
    opened = f"table = lakebed.open_table({load}{after}"
    python = ("import lakebed", "from pyiceberg.catalog import load_catalog", opened)
    return parts, shlex.join([name, "--catalog", catalog]), python


def _is_typed(opening: Opening) -> bool:
    """Whether text opens a table as it was opened, and lakebed commits to it then.

    Storages and keys are objects. No table that was moved is committed to, and without a catalog that takes
    commits a remote one through stores of some libraries alone.
    """
    is_own = opening.storage is None or isinstance(opening.storage, FileIOStorage)
    return is_own and opening.keys is None and opening.limits == LIMITS and not opening.moved


def _literal(value: Any) -> str:
    """A text, or a list of texts, as Python has it in double quotes."""
    return json.dumps(value, ensure_ascii=False)


def identifier(word: str, mark: str) -> str:
    """An identifier of SQL."""
    return word if _PLAIN.fullmatch(word) else mark + word.replace(mark, 2 * mark) + mark


def of_folders(location: str) -> tuple[str, ...]:
    """The last two folders, without a database's `.db`, as `find_tables` names tables."""
    folders: list[Any] = [part for part in location.split("://")[-1].split("/") if part]
    if len(folders) > 2 and folders[-1].endswith(".metadata.json"):
        folders = folders[:-2]
    *above, name = folders or ["table"]
    return (*(folder.removesuffix(".db") for folder in above[-1:]), name)
