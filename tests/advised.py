"""Advice as the command prints it: read from what a person reads, and typed."""

from __future__ import annotations

import re

from command_line import run

_FINDING = re.compile(r"^.*?: (\w+): ")
_TYPED = re.compile(r"`([^`]+)`")


def advice(*words: object) -> dict[str, list[str]]:
    """The problems that `lakebed health` prints of a table, by their columns: the statements to type.

    Args: words, the table and options. Commands of lakebed itself are left out.
    """
    result = run("health", *words)
    assert result.exit_code == 0, result.output
    found = {}
    for line in result.stderr.splitlines():
        problem = _FINDING.match(line)
        assert problem is not None, line
        typed = _TYPED.findall(line)
        found[problem[1]] = [statement for statement in typed if not statement.startswith("lakebed ")]
    return found
