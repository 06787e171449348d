"""The public items of the crates for programs in Rust, as rustdoc has them: a change is seen, and meant.

python .ci/rust_api.py DOC [--write]    DOC is the folder in which `cargo doc` has put the pages

Every item of every module has a line with its declaration, followed by those of its own methods. They are
compared with those in tests/data/rust_api.txt, or written to it.
"""

from __future__ import annotations

import difflib
import html
import re
import sys
from collections.abc import Iterator
from pathlib import Path

CRATES = ("lakebed_avro", "lakebed", "lakebed_object_store")
WRITTEN = Path(__file__).parents[1] / "tests" / "data" / "rust_api.txt"


def one_line(page: str) -> str:
    """What a piece of a page shows, without rustdoc's own lines between the methods of a trait."""
    shown = re.sub(r"<summary.*?</summary>", "", page, flags=re.S).replace("</div>", " ")
    shown = html.unescape(re.sub(r"<[^>]*>", "", shown)).replace("ⓘ", "")
    shown = re.sub(r"^ *// .*", "", shown, flags=re.M)
    # The value of a constant may stand there as a comment.
    return re.sub(r",? ([})])", r" \1", " ".join(shown.partition("; // ")[0].split()))


def items(crate: Path) -> Iterator[str]:
    """The lines of a crate, from its pages."""
    listed = (crate / "all.html").read_text("utf-8")
    for path, name in sorted(re.findall(r'<li><a href="([^"]*)">([^<]*)</a>', listed)):
        page = (crate / path).read_text("utf-8")
        # Behind its own methods are those of traits.
        own = re.split(r'<h2 id="(?:(?:trait|synthetic|blanket)-implementations|implementors)"', page)[0]
        declared = re.search(r'<pre class="rust item-decl">(.*?)</pre>', own, re.S)
        assert declared, path
        yield f"  {name}: {one_line(declared[1])}"
        _, _, methods = own.partition('<h2 id="implementations"')
        for method in re.findall(r'<h4 class="code-header">(.*?)</h4>', methods, re.S):
            yield f"    {one_line(method)}"


def main(pages: Path, *options: str) -> None:
    """Compares or writes the lines. Raises: SystemExit for those that differ."""
    found = [line for crate in CRATES for line in (crate, *items(pages / crate))]
    if "--write" in options:
        WRITTEN.write_text("\n".join(found) + "\n", "utf-8")
    known = WRITTEN.read_text("utf-8").splitlines()
    changes = [*difflib.unified_diff(known, found, "recorded", "found", n=0, lineterm="")]
    if changes:
        sys.exit("\n".join([*changes, f"if that is meant: python .ci/rust_api.py {pages} --write"]))


if __name__ == "__main__":
    main(Path(sys.argv[1]), *sys.argv[2:])
