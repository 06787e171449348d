"""pyarrow, imported when something of it is first asked for: `lakebed --help` and a mere `import lakebed` do
not wait for it.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

__all__ = ["pa", "pc"]


class _Module:
    def __init__(self, name: str) -> None:
        self._name = name

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            # Of whoever looks at the values of a module, not of pyarrow.
            raise AttributeError(name)
        found = getattr(importlib.import_module(self._name), name)
        # From now on it is there at once.
        setattr(self, name, found)
        return found


if TYPE_CHECKING:
    import pyarrow as pa
    import pyarrow.compute as pc
else:
    pa, pc = _Module("pyarrow"), _Module("pyarrow.compute")
