"""The pages of the reference show every public name, and none that does not exist."""

from __future__ import annotations

import importlib
import inspect
import pkgutil
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import commands_page
import pytest
import test_api

from lakebed import Table
from lakebed.cli import cli
from shared_data import PROJECT, sample_of

PAGES = sorted((PROJECT / "docs" / "reference").glob("*.md"))
SHOWS = re.compile(r"^::: ([\w.]+)\n((?:^    .*\n|^\n(?=    ))*)", re.MULTILINE)


class Shown(NamedTuple):
    """What a page has of an object: of its members those named, all, or none."""

    page: str
    name: str
    members: list[str] | bool
    inherited: bool


def shown(page: Path) -> Iterator[Shown]:
    for name, options in SHOWS.findall(page.read_text("utf-8")):
        listed = re.search(r"\bmembers: (?:\[(.*?)\]|(true|false))", options, re.DOTALL)
        members: list[str] | bool = True
        if listed is not None:
            members = re.findall(r"\w+", listed[1]) if listed[1] else listed[2] == "true"
        yield Shown(page.name, name, members, "inherited_members: false" not in options)


ALL = [one for page in PAGES for one in shown(page)]


def names(one: Shown) -> Iterator[tuple[str, Any]]:
    """What the page has a heading of, by the names in it."""
    value = pkgutil.resolve_name(one.name)
    if not inspect.ismodule(value):
        yield one.name.rpartition(".")[2], value
        yield from class_names(value, one)
        return
    if isinstance(one.members, list):
        members = {name: getattr(value, name) for name in one.members}
    else:
        public = getattr(value, "__all__", None) or defined(value)
        members = {name: vars(value)[name] for name in public if not name.startswith("_")}
    for name, member in members.items():
        yield name, member
        yield from class_names(member, one._replace(members=True))


def defined(module: Any) -> list[str]:
    """What a module does not import: its classes, functions and annotated names."""
    own = [
        name for name, value in vars(module).items() if getattr(value, "__module__", "") == module.__name__
    ]
    return [*own, *vars(module).get("__annotations__", ())]


def class_names(value: Any, one: Shown) -> Iterator[tuple[str, Any]]:
    if inspect.isclass(value) and one.members is not False:
        for cls in value.__mro__ if one.inherited else (value,):
            if cls.__module__.startswith("lakebed"):
                yield from ((name, inspect.unwrap(member)) for name, member in _own(cls))


def _own(cls: type) -> Iterator[tuple[str, Any]]:
    for name, member in vars(cls).items():
        if not name.startswith("_"):
            yield name, getattr(member, "__func__", member)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_what_a_page_shows_exists(page: Path) -> None:
    if page.stem != "commands":
        assert [name for one in shown(page) for name, _ in names(one)]


def test_every_public_name_is_on_a_page() -> None:
    shows = {id(value): name for one in ALL for name, value in names(one)}
    constants = {name for one in ALL for name, _ in names(one)}
    missing = []
    for module in map(importlib.import_module, test_api.MODULES):
        views = {name for name, _ in inspect.getmembers(Table, inspect.isfunction)}
        for name in getattr(module, "__all__", []):
            value = getattr(module, name)
            if name.startswith("__") or (module.__name__ == "lakebed.spark" and name in views):
                continue  # Spark's functions are described as the views that they are
            seen = id(value) in shows or (
                not (inspect.isclass(value) or inspect.isroutine(value)) and name in constants
            )
            if not seen and not inspect.ismodule(value):
                missing.append(f"{module.__name__}.{name}")
    assert missing == []


def test_every_method_of_a_table_is_on_a_page() -> None:
    shows = {name for one in ALL for name, _ in names(one)}
    assert {name for name, _ in inspect.getmembers(Table) if not name.startswith("_")} - shows == set()


def test_the_page_of_commands_is_what_they_say() -> None:
    assert commands_page.PAGE.read_text("utf-8") == commands_page.page(), (
        "python tests/commands_page.py writes it"
    )


def test_every_metadata_table_is_in_the_page_of_migration() -> None:
    text = (PROJECT / "docs" / "migration.md").read_text("utf-8")
    names = [name for kind in ("paimon", "iceberg") for name in sample_of(kind).metadata_tables]
    assert [name for name in names if not re.search(rf"\b{name}\b", text)] == []


PAGES_AND_MORE = sorted([PROJECT / "README.md", *(PROJECT / "docs").rglob("*.md")])


def commands_named(text: str) -> Iterator[tuple[str, list[str]]]:
    """The commands in blocks and in lines of a text, each with its options."""
    shells = re.findall(r"^```(sh|console|text)\b.*?\n(.*?)^```", text, re.MULTILINE | re.DOTALL)
    typed = [
        line for shell, lines in shells for line in lines.splitlines() if shell == "sh" or line[:2] == "$ "
    ]
    within = re.findall(
        r"`lakebed ([^`]+)`", re.sub(r"^```.*?^```", "", text, flags=re.MULTILINE | re.DOTALL)
    )
    lines = [line.removeprefix("$ ") for line in typed]
    within += [line.removeprefix("lakebed ") for line in lines if line.startswith("lakebed ")]
    for line in within:
        command, *words = re.split(r"[#|]", line)[0].split()
        yield command, [word for word in words if re.fullmatch(r"--[a-z-]+", word)]


@pytest.mark.parametrize("page", PAGES_AND_MORE, ids=lambda page: page.stem)
def test_commands_and_options_that_pages_name_exist(page: Path) -> None:
    text = page.read_text("utf-8")
    for command, given in commands_named(text):
        if command.isupper() or command.startswith("-"):
            continue  # `lakebed COMMAND --help`, `lakebed --help`
        assert command in cli.commands, command
        known = {word for option in cli.commands[command].params for word in option.opts} | {"--help"}
        assert set(given) <= known, (command, given)


@pytest.mark.parametrize("page", PAGES_AND_MORE, ids=lambda page: page.stem)
def test_names_of_lakebed_that_pages_name_exist(page: Path) -> None:
    text = re.sub(r"^## From an earlier state.*", "", page.read_text("utf-8"), flags=re.MULTILINE | re.DOTALL)
    named = re.findall(r"`lakebed((?:\.[A-Za-z_]+)+)", text)
    for name in set(named) - {".toml", ".prom"}:
        pkgutil.resolve_name(f"lakebed{name}")
