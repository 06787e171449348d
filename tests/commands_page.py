"""The page of the reference about commands, made of what they say of themselves.

Usage: python tests/commands_page.py > docs/reference/commands.md
"""

from __future__ import annotations

import html
import sys
from collections import Counter

import click

from lakebed.cli import cli
from lakebed.cli.commands import SECTIONS
from shared_data import PROJECT

PAGE = PROJECT / "docs" / "reference" / "commands.md"
HEAD = """\
# Commands

What `lakebed COMMAND --help` says, of all commands. [On the command line](../command-line.md) shows the use.
"""
COMMON = "Options of most commands"
MOST = 15
"""An option that so many commands have is described once for all."""


def page() -> str:
    """The text of the page."""
    rows = {name: _options(command) for name, command in cli.commands.items()}
    counts = Counter(row for listed in rows.values() for row in listed)
    common = [row for row in rows["files"] if counts[row] >= MOST]
    parts = [HEAD, f"## {COMMON}\n\nEach command says which of these it takes.\n\n{_table(common)}"]
    for title, names in SECTIONS.items():
        parts.append(f"## {title}\n")
        for name in names:
            command = cli.commands[name]
            usage = " ".join(command.collect_usage_pieces(click.Context(command, info_name=name)))
            own = [row for row in rows[name] if row not in common]
            parts.append(f"### {name}\n\n`lakebed {name} {usage}`\n\n{_help(command)}")
            if own:
                parts.append(_table(own))
            parts += _shared(rows[name], common)
    return "\n".join(parts)


def _shared(rows: list[tuple[str, str]], common: list[tuple[str, str]]) -> list[str]:
    """A line about those that are described once for all; nothing if there are none."""
    here = {_name(row) for row in rows}
    taken, left = [row for row in common if row in rows], [row for row in common if _name(row) not in here]
    link = f"[options of most commands](#{COMMON.lower().replace(' ', '-')})"
    if not taken:
        return []
    if not left:
        return [f"Also the {link}.\n"]
    if len(left) < len(taken):
        return [f"Also the {link}, without {_named(left)}.\n"]
    return [f"Also {_named(taken)} of the {link}.\n"]


def _named(rows: list[tuple[str, str]]) -> str:
    return ", ".join(f"`{_name(row)}`" for row in rows)


def _name(row: tuple[str, str]) -> str:
    return row[0].split(", ")[-1].split()[0]


def _options(command: click.Command) -> list[tuple[str, str]]:
    """Each option as it is written, and its help."""
    context = click.Context(command)
    records = (
        option.get_help_record(context) for option in command.params if isinstance(option, click.Option)
    )
    # The format `toy` is in builds for tests alone.
    return [(record[0].replace("|toy]", "]"), record[1]) for record in records if record is not None]


def _help(command: click.Command) -> str:
    """A command's own text; examples, which click's mark precedes, as a block of code."""
    paragraphs = (command.help or "").replace("\r\n", "\n").split("\n\n")
    shown = []
    for paragraph in paragraphs:
        mark, _, lines = paragraph.partition("\b\n")
        if lines and not mark.strip():
            shown.append(
                "```text\n" + "\n".join(line.strip() for line in lines.strip().splitlines()) + "\n```"
            )
        else:
            shown.append(" ".join(paragraph.split()))
    return "\n\n".join(shown) + "\n"


def _table(rows: list[tuple[str, str]]) -> str:
    # Not in backticks: there is no way to write a bar in those that all readers of Markdown understand.
    lines = [f"| <code>{_cell(name)}</code> | {_cell(text)} |" for name, text in rows]
    return "\n".join(["| option | |", "|---|---|", *lines]) + "\n"


def _cell(text: str) -> str:
    return html.escape(" ".join(text.split()), quote=False).replace("|", "&#124;")


if __name__ == "__main__":
    sys.stdout.write(page())
