"""Where tables of a history lie, what lies beside them, and how the one that is asked about is opened."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import lakebed
from model.alive import Root, iceberg_metadata, of_iceberg
from model.iceberg_table import IcebergTable
from model.paimon_table import PaimonTable
from model.written import Written

Opened = Callable[[object | None], lakebed.Table]


class World:
    """A folder with tables. The first is the one that is asked about."""

    def __init__(self, root: Path) -> None:
        self.root = Path(os.path.realpath(root))
        self.log: list[str] = []
        self.tables: list[Written] = []
        self.copies: list[Callable[[], list[Root]]] = []
        """What else keeps files, of which no history is written."""
        self.may_refuse = False
        """Whether an error is an answer too: what lives can be told only with what is not known here."""
        self.must_refuse = False
        self.midway: Callable[[], None] = lambda: None
        """What happens between the first operations and the others."""
        self.at_last: Callable[[], None] = lambda: None
        """What happens before the table is opened."""
        self.link: Path | None = None
        """Another folder than the table's own, to open it there."""
        self.relocate: dict[str, str] = {}
        self.opened: Opened = lambda storage: lakebed.open_table(
            self.folder, storage=storage, relocate=self.relocate
        )

    @property
    def folder(self) -> Path:
        """Where the table that is asked about is opened."""
        return self.link or self.main.folder

    @property
    def main(self) -> Written:
        """The table that is asked about."""
        return self.tables[0]

    def roots(self) -> tuple[list[Root], list[Root]]:
        """What keeps files of the table that is asked about, and of all others."""
        others = [root for table in self.tables[1:] for root in table.roots()]
        copies = [root for copy in self.copies for root in copy()]
        if copies and self.relocate:
            return copies, [*others, *self.main.roots()]
        return self.main.roots(), [*others, *copies]

    def files(self) -> frozenset[str]:
        """The real paths of all files that are there."""
        found = (f"{folder}/{name}" for folder, _, names in os.walk(self.root) for name in names)
        return frozenset(os.path.realpath(path) for path in found if not os.path.islink(path))  # noqa: PTH114

    def say(self, text: str) -> None:
        """Adds to the history as it is told."""
        self.log.append(text.replace(f"{self.root}/", "").replace("file://", ""))


Situation = Callable[[World, int], None]
"""Makes the tables; a number decides what is left open."""


def moved(paths: set[str], old: Path, new: Path) -> set[str]:
    """Paths of files once a folder is somewhere else."""
    return {re.sub(f"^{re.escape(str(old))}/", f"{new}/", path) for path in paths}


# Iceberg


def iceberg(world: World, number: int) -> None:
    world.tables.append(IcebergTable("t", world.root / "t", version=3 if number % 3 == 2 else 2))


def iceberg_of_catalog(world: World, number: int) -> None:
    from pyiceberg.catalog.sql import SqlCatalog

    given = {"uri": f"sqlite:///{world.root}/catalog.db", "warehouse": f"file://{world.root}"}
    catalog: Any = SqlCatalog("lake", **given)
    catalog.create_namespace("db")
    table = IcebergTable("t", world.root / "t", catalog=catalog)
    world.tables.append(table)
    world.opened = lambda storage: lakebed.open_table(catalog.load_table("db.t"), storage=storage)


def iceberg_copied(world: World, number: int) -> None:
    """A copy is asked about: its metadata names files of the original, which lives on."""
    iceberg(world, number)
    table, copy = world.main, world.root / "copy"
    world.link, world.relocate = copy, {str(table.folder): str(copy)} if number % 2 else {}
    world.may_refuse = not world.relocate

    def midway() -> None:
        shutil.copytree(table.folder, copy)
        table.strays = moved(table.strays, table.folder, copy)
        table.keeps_strays = True
        world.copies.append(lambda: of_iceberg(iceberg_metadata(copy), {str(table.folder): str(copy)}))
        world.say("t is copied")

    world.midway = midway


def iceberg_moved(world: World, number: int) -> None:
    """A table that was moved twice: some of its paths say the first place, and others the second."""
    iceberg(world, number)
    table, first, last = world.main, world.root / "first", world.root / "last"
    assert isinstance(table, IcebergTable)
    table.places = [(first / "data", f"{first}/data"), *table.places]
    places = {str(first): str(last), str(table.folder): str(last)}
    world.relocate = dict(list(places.items())[number % 2 :])
    world.may_refuse = len(world.relocate) == 1

    def at_last() -> None:
        table.folder.rename(last)
        (last / "data").mkdir(exist_ok=True)
        for file in (first / "data").glob("*"):
            file.rename(last / "data" / file.name)
        for old in (first, table.folder):
            table.strays = moved(table.strays, old, last)
        table.folder, table.moved, table.is_over = last, places, True
        world.say("t is moved to last, with what is in first")

    world.at_last = at_last


def iceberg_nested(world: World, number: int) -> None:
    """Another table lies in the folder of the one that is asked about."""
    iceberg(world, number)
    folder = world.main.folder / ["inner", "data/inner", "inner/most"][number % 3]
    world.may_refuse = True
    if number % 4 == 3:
        world.tables.append(PaimonTable("inner", folder))
        return
    given = {"write.data.path": f"{world.main.folder}/of-inner"} if number % 4 == 2 else {}
    inner = IcebergTable("inner", folder, properties=given)
    inner.places = [(Path(path), path) for path in given.values()] or inner.places
    world.tables.append(inner)


def iceberg_scattered(world: World, number: int) -> None:
    """The other table lies where its outer one has no files, and has files in several folders of that one,
    whatever its properties say.
    """
    iceberg(world, number)
    outer = world.main.folder
    inner = IcebergTable("inner", outer / ["_inner", "inner", "metadata/inner"][number % 3])
    scatter(inner, world.main, "data")
    world.tables.append(inner)

    def midway() -> None:
        now = str(outer / "of-inner" / "new")
        inner.now().update_properties({"write.data.path": now})
        inner.places = [(Path(now), now), *inner.places]
        world.say(f"inner: files are written to {now}")

    if number % 2:
        world.midway = midway


def scatter(inner: Written, outer: Written, beside: str) -> None:
    """Lets a table have files in a folder of nobody, and in one of its outer table."""
    folders = [outer.folder / "shared", outer.folder / beside]
    inner.places = [*((folder, str(folder)) for folder in folders), *inner.places]
    inner.foreign, outer.foreign = (f"{outer.name}-", "stray-"), (f"{inner.name}-",)


def iceberg_nested_moved(world: World, number: int) -> None:
    """A table that was moved, with the one in its folder."""
    iceberg_scattered(world, number)
    old, new = world.main.folder, world.root / "moved"
    world.relocate = {str(old): str(new)}

    def at_last() -> None:
        old.rename(new)
        for table in world.tables:
            assert isinstance(table, IcebergTable)
            table.folder, table.moved, table.is_over = (
                new / table.folder.relative_to(old),
                world.relocate,
                True,
            )
            table.strays = moved(table.strays, old, new)
        world.say("t is moved, with inner")

    world.at_last = at_last


def iceberg_inside(world: World, number: int) -> None:
    """The table that is asked about lies in the folder of another."""
    iceberg_nested(world, number % 2)
    world.tables.reverse()
    world.may_refuse = False


def iceberg_sharing(world: World, number: int) -> None:
    """Two tables write their data files to one folder beside them."""
    shared = world.root / "shared"
    for name in ("t", "other"):
        table = IcebergTable(name, world.root / name, properties={"write.data.path": str(shared)})
        table.places = [(shared / name, f"{shared}/{name}"), *table.places]
        world.tables.append(table)


def bent(world: World, number: int) -> None:
    """The branch `main` is not at the current snapshot."""
    iceberg(world, number)
    table = world.main
    assert isinstance(table, IcebergTable)

    def at_last() -> None:
        world.may_refuse = (said := table.bend(number)) is not None
        world.say(f"t: {said}")

    world.at_last = at_last


def kept(world: World, number: int) -> None:
    """A table whose files may be others'."""
    iceberg(world, number)
    world.must_refuse = True

    def at_last() -> None:
        world.main.now().update_properties({"gc.enabled": "false"})
        world.say("t: gc.enabled is false")

    world.at_last = at_last


# Paimon

KINDS = ("", "partitioned", "keys", "changelogs", "vectors")


def paimon(world: World, number: int) -> None:
    world.tables.append(PaimonTable("t", world.root / "t", KINDS[number % len(KINDS)]))


def paimon_copied(world: World, number: int) -> None:
    """A copy is asked about: it has all of its own."""
    paimon(world, number)
    copy = PaimonTable("copy", world.root / "copy", KINDS[number % len(KINDS)])

    def midway() -> None:
        shutil.rmtree(copy.folder)
        shutil.copytree(world.main.folder, copy.folder)
        copy.strays = moved(world.main.strays, world.main.folder, copy.folder)
        world.say("t is copied")

    def at_last() -> None:
        world.tables.insert(0, copy)

    world.midway, world.at_last = midway, at_last


def paimon_moved(world: World, number: int) -> None:
    paimon(world, number)

    def midway() -> None:
        old, new = world.main.folder, world.root / "moved"
        old.rename(new)
        world.main.folder = new
        world.main.places = [(new / prefix, prefix) for _, prefix in world.main.places]
        world.main.strays = moved(world.main.strays, old, new)
        world.say("t is moved")

    world.midway = midway


def paimon_nested(world: World, number: int) -> None:
    """Another table lies where the one that is asked about has partitions."""
    world.tables.append(PaimonTable("t", world.root / "t", "partitioned"))
    world.tables.append(PaimonTable("inner", world.root / "t" / "k=2"))
    world.may_refuse = True


def paimon_scattered(world: World, number: int) -> None:
    """Another table lies where the one that is asked about has no files, and has files in its bucket."""
    outer = PaimonTable("t", world.root / "t")
    folder = outer.folder / ["inner", "snapshot/inner", "bucket-0/inner"][number % 3]
    inner = (
        PaimonTable("inner", folder, external=outer.folder) if number % 2 else IcebergTable("inner", folder)
    )
    if not number % 2:
        scatter(inner, outer, "bucket-0")
    world.tables += [outer, inner]
    # Where an inner table may write anywhere, nothing is looked at.
    world.may_refuse = bool(number % 2)


def paimon_external(world: World, number: int) -> None:
    world.tables.append(PaimonTable("t", world.root / "t", external=world.root / "external"))
    world.may_refuse = True


def paimon_sharing(world: World, number: int) -> None:
    """Two tables have data files in one folder, which may be that of the second one."""
    folder = world.root / ("other" if number % 2 else "external")
    one = PaimonTable("t", world.root / "t", external=folder)
    other = PaimonTable("other", world.root / "other", external=None if number % 2 else folder)
    # The plan of each names a file that both were given, once that one has dropped it.
    one.foreign, other.foreign = ("other-",), ("t-", "stray-")
    world.tables += [one, other]
    world.may_refuse = True


# Both


def linked(made: Situation) -> Situation:
    """A table that is opened, or was made, through a link, or whose data lie behind one."""

    def situation(world: World, number: int) -> None:
        link, store = world.root / "link", world.root / "store"
        store.mkdir()
        world.may_refuse = True
        if number % 3 == 1:
            link.symlink_to(store)
            inner = World(link)
            inner.root = link
            made(inner, number)
            world.tables.append(table := inner.main)
            table.places = [(path, str(path.resolve())) for path, _ in table.places] + table.places
            return
        made(world, number)
        table = world.main
        folder, prefix = table.places[0]
        if number % 3 == 0:
            link.symlink_to(table.folder)
            world.link = link
            return
        folder.parent.mkdir(parents=True, exist_ok=True)
        folder.symlink_to(store)
        table.places = [(store, str(store)), (store, prefix)]

    situation.__name__ = f"{made.__name__}_linked"
    return situation


def of_links(made: Situation) -> Situation:
    """A table whose data files are links to others, in a folder that is looked at too."""

    def situation(world: World, number: int) -> None:
        made(world, number)
        for table in world.tables:
            table.store = table.folder / "bucket-9"

    situation.__name__ = f"{made.__name__}_of_links"
    return situation


SITUATIONS: dict[str, list[Situation]] = {
    "iceberg": [
        *([iceberg] * 7),
        *(iceberg_scattered, iceberg_nested_moved, of_links(iceberg)),
        *(iceberg_of_catalog, iceberg_copied, iceberg_moved, iceberg_nested, iceberg_inside),
        *(iceberg_sharing, linked(iceberg), bent, kept),
    ],
    "paimon": [
        *([paimon] * 10),
        *(paimon_scattered, of_links(paimon)),
        *(paimon_copied, paimon_moved, paimon_nested, paimon_external, paimon_sharing, linked(paimon)),
    ],
}
