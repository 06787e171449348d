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
        if isinstance(obj, griffe.Function):
            _as_decorated(obj)
        if obj.docstring is not None:
            obj.docstring.value = shown(obj.docstring.value)


def _as_decorated(function: griffe.Function) -> None:
    """Shows the keywords and what is said of arguments as the decorators of `_keywords.py` add them."""
    for decorator in function.decorators:
        found = re.fullmatch(r"(view|documented|_sink\.writer)\((.*)\)", str(decorator.value))
        if found is None:
            continue
        keywords, defaults = {}, {}
        if found[1] == "documented":
            texts = SHARED[found[2]]
        elif found[1] == "view":
            keywords, texts = SHARED[found[2]].__annotations__, SHARED["VIEWS"]
        else:
            keywords, texts = SHARED["Writing"].__annotations__, SHARED["WRITING"]
            defaults = {**SHARED["WRITING_DEFAULTS"], "codec": found[2], "limits": "LIMITS"}
        if keywords:
            del function.parameters["given"]
        kind = griffe.ParameterKind.keyword_only
        for name in (name for name in texts if name in keywords):
            annotation, default = keywords[name].__forward_arg__, str(defaults.get(name))
            function.parameters.add(griffe.Parameter(name, annotation=annotation, kind=kind, default=default))
        assert function.docstring is not None
        names = [parameter.name for parameter in function.parameters]
        function.docstring.value = SHARED["described"](function.docstring.value, texts, names)


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
