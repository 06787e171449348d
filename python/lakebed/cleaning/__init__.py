"""Removing files by rows that somebody has reviewed, and bringing them back from a quarantine."""

from lakebed.cleaning.applying import apply
from lakebed.cleaning.outcome import Cleanup
from lakebed.cleaning.restoring import restore

__all__ = ["Cleanup", "apply", "restore"]
