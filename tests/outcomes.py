"""What a call of another library makes or raises, to be compared with the same call on lakebed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest


def outcome(make: Callable[[], Any]) -> tuple[str, Any]:
    """What is made, or what is raised."""
    try:
        return "made", make()
    except ImportError as error:
        # The libraries read some codecs with a package, lakebed without one.
        pytest.skip(str(error))
    except Exception as error:  # noqa: BLE001 - of many classes, compared with each other
        return type(error).__name__, str(error)
