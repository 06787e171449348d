"""Docstrings as the pages show them: sections are paragraphs with their names, arguments a list."""

from __future__ import annotations

import re
import runpy
from pathlib import Path
from typing import Any

import griffe

SECTION = re.compile(r"^(Args|Returns|Raises|Warns|Units|Cost|Source):[ ]*", re.MULTILINE)
SHARED = runpy.run_path(str(Path(__file__).parent.parent / "python/lakebed/_keywords.py"))
ARGUMENT = re.compile(r"^    (\*{0,2}\w+): ", re.MULTILINE)


class Sections(griffe.Extension):
    """Rewrites what the handler of the pages reads."""

    def on_object(self, *, obj: griffe.Object, **_: Any) -> None:
        """Called for each module, class, function and attribute."""
        if obj.docstring is not None:
            obj.docstring.value = shown(_of_view(obj) or obj.docstring.value)


def _of_view(obj: griffe.Object) -> str | None:
    """The docstring of a view with the keywords that its decorator adds; None of anything else."""
    for decorator in obj.decorators if isinstance(obj, griffe.Function) else ():
        if view := re.fullmatch(r"view\((\w+)\)", str(decorator.value)):
            return str(SHARED["described"](obj.docstring.value, SHARED[view[1]].__annotations__))
    return None


def shown(text: str) -> str:
    """A docstring in Markdown."""
    head, *sections = SECTION.split(text)
    parts = [head.rstrip()]
    for name, body in zip(sections[::2], sections[1::2], strict=True):
        # What stands behind the last section, such as an example, is a paragraph of its own.
        body, example, rest = body.partition("\n\n")
        body = ARGUMENT.sub(r"\n- `\1`: ", body) if name == "Args" else body
        parts.append(
            f"**{name}** {re.sub(r'^ {4,}', '  ', body, flags=re.MULTILINE)}".replace("** \n", "**\n")
        )
        if example:
            parts.append(f"```python\n{rest.rstrip()}\n```" if rest.startswith(">>>") else rest)
    return "\n\n".join(parts)
