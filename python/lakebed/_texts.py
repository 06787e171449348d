"""Values of keywords as a text has them, for the command line and for SQL. Each raises ValueError."""

from __future__ import annotations

import re
from decimal import Decimal
from typing import TYPE_CHECKING

from lakebed._native import byte_count

if TYPE_CHECKING:
    from datetime import datetime, timedelta

_AGES = {"s": "seconds", "m": "minutes", "h": "hours", "d": "days"}


def names(text: str) -> list[str]:
    """Names with commas between them."""
    return [name.strip() for name in text.split(",")]


def pairs(texts: list[str]) -> dict[str, str]:
    """Pairs such as s3a=s3."""
    for text in texts:
        if not text.partition("=")[0] or "=" not in text:
            raise ValueError(f"{text!r} is no pair such as A=B")
    return dict(text.split("=", 1) for text in texts)


def size(text: str) -> int:
    """A number of bytes, with a unit or without, as conditions take them."""
    digits = byte_count(text)
    if digits is None:
        raise ValueError(f"{text!r} is not a size such as 1000000, 1MB or 32MiB")
    return int(Decimal(digits))  # `int` itself takes no text above 4300 digits.


def time(text: str) -> datetime:
    """A time as ISO 8601 has it."""
    from datetime import datetime

    # Before Python 3.11 `fromisoformat` knows no Z.
    return datetime.fromisoformat(text.strip().replace("Z", "+00:00"))


def instant(text: str) -> datetime | int:
    """Milliseconds since 1970, or a time as ISO 8601 has it."""
    try:
        return int(text) if text.strip().isdecimal() else time(text)
    except ValueError:
        message = f"{text!r} is neither an ISO 8601 time nor milliseconds since 1970"
    raise ValueError(message)


def age(text: str) -> timedelta | datetime:
    """`3d`, `12h`, `0s`, or an instant as ISO 8601 has it."""
    from datetime import timedelta

    if match := re.fullmatch(r"(\d{1,9})\s*([smhd])", text.strip()):
        return timedelta(**{_AGES[match[2]]: int(match[1])})
    try:
        return time(text)
    except ValueError:
        message = f"{text!r} is neither an age such as 3d, 12h or 30m nor an ISO 8601 time"
    raise ValueError(message)


def version(text: str) -> int | str | dict[str, str]:
    """A snapshot's id, the name of a tag or branch, `tag=…` or `branch=…`."""
    name, given, rest = text.partition("=")
    if given and name in ("tag", "branch"):
        return {name: rest}
    # Digits are an id: a tag that is called so is reached as tag=1 alone.
    return int(text) if text.isdecimal() else text


def version_or_time(text: str) -> int | str | dict[str, str] | datetime:
    """A version, or a time as ISO 8601 has it."""
    found = version(text)
    try:
        return time(found) if isinstance(found, str) else found
    except ValueError:
        return found
