"""What the system says of this process's memory; nothing where there is no /proc."""

from __future__ import annotations

from pathlib import Path

_STATUS, _CLEAR = Path("/proc/self/status"), Path("/proc/self/clear_refs")


def held(name: str) -> int:
    """`VmRSS` (now), `VmHWM` (most since `forget_peak`) or `RssAnon` (now, but for files) [bytes]."""
    lines = _STATUS.read_text().splitlines() if _STATUS.exists() else []
    return next((int(line.split()[1]) << 10 for line in lines if line.startswith(f"{name}:")), 0)


def forget_peak() -> None:
    """Starts the peak anew."""
    if _CLEAR.exists():
        _CLEAR.write_text("5")
