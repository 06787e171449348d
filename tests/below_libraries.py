"""What holds of lakebed below any library."""

from __future__ import annotations

from typing import Any


def check_put_back(below: Any, replacements: Any) -> None:
    """All places are taken while it is installed, once or twice, and have what they had afterwards.

    Args: below, `lakebed.pyiceberg` or `lakebed.pypaimon`; replacements, what says what it replaces.
    """
    places = [(one.owner, one.name) for one in replacements()]
    before = [vars(owner)[name] for owner, name in places]
    below.install()
    during = [vars(owner)[name] for owner, name in places]
    assert all(one is not other for one, other in zip(before, during, strict=True))
    below.install()
    assert [vars(owner)[name] for owner, name in places] == during
    with below.installed():
        assert below.status().installed
    assert below.status().installed, "as before the block"
    below.uninstall()
    below.uninstall()
    assert [vars(owner)[name] for owner, name in places] == before
    assert not below.status().installed
