"""Texts of files as people may see them: what is in a file name must not steer a terminal."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable

# With the space before it; a command in backquotes is one word, to be copied.
_WORD = re.compile(r"\s*(?:`[^`]*`|\S)+")


def printable(text: str) -> str:
    """The text with every character that is not shown as itself spelled out as Python would.

    Those are control characters, line ends and the marks that turn the direction of a line. What is written
    for programs (CSV, JSON, Arrow, Parquet) is never changed so.
    """
    if text.isprintable():
        return text
    return "".join(char if char.isprintable() else char.encode("unicode_escape").decode() for char in text)


def inert(text: str) -> str:
    """The text as a spreadsheet shows it and runs nothing of it.

    What begins like a formula gets an apostrophe before it; characters that are not shown, tabs and line ends
    among them, are spelled out.
    """
    shown = printable(text)
    return f"'{shown}" if shown.lstrip()[:1] in _FORMULAS else shown


# Spreadsheets take the wide forms of these for them.
_FORMULAS = tuple("=+-@\uff1d\uff0b\uff0d\uff20")


def printable_lines(text: str) -> str:
    """The same of each line of a text whose line ends are lakebed's own."""
    return "\n".join(map(printable, text.split("\n")))


def wrapped(text: str, width: int, measure: Callable[[str], int] = len, whole: str = "") -> list[str]:
    """The text in lines of `width` columns, broken between words alone: one that is longer has a longer line.

    Args: measure, how many columns a text takes; whole, a part of the text that is one word.
    """
    words = re.compile(rf"\s*{re.escape(whole)}|{_WORD.pattern}") if whole else _WORD
    return packed(words.findall(text), width, measure)


def packed(words: Iterable[str], width: int, measure: Callable[[str], int] = len) -> list[str]:
    """Words, each with the space before it, in as few lines of `width` columns as hold them whole."""
    lines = [""]
    for word in words:
        longer = lines[-1] + word
        if lines[-1] and measure(longer) > width:
            lines.append(word.lstrip())
        else:
            lines[-1] = longer
    return lines
