"""pypaimon with lakebed below it: its own plans read manifests faster.

Importing this module imports no pypaimon and changes nothing.
"""

from __future__ import annotations

from lakebed.pypaimon.installing import Status, install, installed, status, uninstall

__all__ = ["Status", "install", "installed", "status", "uninstall"]
