"""Texts of files as people may see them: what is in a file name must not steer a terminal."""

from __future__ import annotations


def printable(text: str) -> str:
    """The text with every character that is not shown as itself spelled out as Python would.

    Those are control characters, line ends and the marks that turn the direction of a line. What is written
    for programs (CSV, JSON, Arrow, Parquet) is never changed so.
    """
    if text.isprintable():
        return text
    return "".join(char if char.isprintable() else char.encode("unicode_escape").decode() for char in text)


def printable_lines(text: str) -> str:
    """The same of each line of a text whose line ends are lakebed's own."""
    return "\n".join(map(printable, text.split("\n")))
