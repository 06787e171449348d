"""PyIceberg with lakebed below it: its own calls decode faster, and its own tasks are planned by lakebed.

Importing this module imports no PyIceberg and changes nothing.
"""

from __future__ import annotations

from lakebed.pyiceberg.installing import Status, install, installed, status, uninstall
from lakebed.pyiceberg.plans import plan, predicate

__all__ = ["Status", "install", "installed", "plan", "predicate", "status", "uninstall"]
