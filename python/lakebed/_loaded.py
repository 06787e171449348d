"""Classes of libraries that are not imported here."""

from __future__ import annotations

import sys


def loaded(module: str, *names: str) -> tuple[type, ...]:
    """The classes of a module of these names, for `isinstance`: none where nothing has imported it, so that
    no object is of them, and without those that its version does not have.
    """
    found = (getattr(sys.modules.get(module), name, None) for name in names)
    return tuple(kind for kind in found if isinstance(kind, type))
