"""Takes the folder that a wheel was built in out of its bill of materials, where crates are named by paths.

Usage: python unplaced.py WHEEL FOLDER. Nothing else of the wheel changes but its RECORD.
"""

from __future__ import annotations

import base64
import hashlib
import sys
import zipfile
from pathlib import Path


def main(wheel: Path, folder: str) -> None:
    """Rewrites the wheel in place."""
    with zipfile.ZipFile(wheel) as built:
        files = {info: built.read(info) for info in built.infolist()}
    lines = {}
    for info, content in files.items():
        if "/sboms/" in info.filename:
            files[info] = content.replace(f"path+file://{folder}/".encode(), b"path+file:///lakebed/")
            lines[info.filename] = _record(info.filename, files[info])
    for info, content in files.items():
        if info.filename.endswith(".dist-info/RECORD"):
            record = content.decode().splitlines()
            kept = [lines.get(line.partition(",")[0], line) for line in record]
            files[info] = ("\n".join(kept) + "\n").encode()
    with zipfile.ZipFile(wheel, "w") as made:
        for info, content in files.items():
            made.writestr(info, content, compresslevel=9)


def _record(name: str, content: bytes) -> str:
    digest = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()
    return f"{name},sha256={digest},{len(content)}"


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2])
