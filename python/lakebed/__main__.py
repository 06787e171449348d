"""`python -m lakebed`, and the entry point of the `lakebed` command."""

from __future__ import annotations

import sys
from typing import NoReturn


def main() -> NoReturn:
    """The command of `lakebed.cli.main`; an interrupt during its imports prints no traceback either."""
    try:
        from lakebed import cli
    except KeyboardInterrupt:
        sys.exit(130)
    cli.main()


if __name__ == "__main__":
    main()
