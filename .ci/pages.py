"""Documents outside `docs/` as pages of the site: those of `PAGES`, and the notebooks.

Links stay those that work in a clone. A link to a document that is a page becomes a link to the page. Of a
link to another file outside `docs/` the text and the file's path are left: the site does not have the file.
"""

from __future__ import annotations

import json
import os
import re
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING

from mkdocs.structure.files import File, Files

if TYPE_CHECKING:
    from mkdocs.config.defaults import MkDocsConfig
    from mkdocs.structure.pages import Page

PROJECT = Path(__file__).parent.parent
NOTEBOOKS = "examples/notebooks"
PAGES = {
    "ARCHITECTURE.md": "project/architecture.md",
    "CHANGELOG.md": "project/changelog.md",
    "CONTRIBUTING.md": "project/contributing.md",
    "SECURITY.md": "project/security.md",
    "benches/README.md": "project/benches.md",
    "benches/SCALING.md": "project/scaling.md",
    "benches/planning/README.md": "project/planning-benchmark.md",
    **{
        f"{NOTEBOOKS}/{path.name}": f"notebooks/{path.stem.replace('_', '-')}.md"
        for path in sorted((PROJECT / NOTEBOOKS).glob("*.ipynb"))
    },
}
SOURCES = {page: source for source, page in PAGES.items()}
LINK = re.compile(r"\[([^\]]*)\]\((?!\w+:|#)([^)#\s]+)(#[^)\s]*)?\)")


def on_files(files: Files, /, *, config: MkDocsConfig) -> Files:
    """Adds the pages."""
    for source, page in PAGES.items():
        text = (PROJECT / source).read_text("utf-8")
        content = notebook(source, text) if source.endswith(".ipynb") else text
        files.append(File.generated(config, page, content=content))
    return files


def on_page_markdown(markdown: str, /, *, page: Page, **_: object) -> str:
    """Makes links to documents that are outside `docs/`, and links of those, links of pages."""
    here = page.file.src_uri
    source = SOURCES.get(here, f"docs/{here}")

    def moved(match: re.Match[str]) -> str:
        text, target, anchor = match[1], match[2], match[3] or ""
        path = os.path.normpath(PurePosixPath(source).parent / target)
        if path in PAGES:
            there = PAGES[path]
        elif path.startswith("docs/"):
            there = path.removeprefix("docs/")
        elif (PROJECT / path).exists():
            return text if "`" in text else f"{text} (`{path}`)"
        else:
            return match[0]
        return f"[{text}]({os.path.relpath(there, PurePosixPath(here).parent)}{anchor})"

    return LINK.sub(moved, markdown)


def notebook(source: str, text: str) -> str:
    """A notebook as Markdown: its texts, and its cells of code, without what they show."""
    parts = []
    for cell in json.loads(text)["cells"]:
        lines = "".join(cell["source"])
        parts.append(f"```python\n{lines}\n```" if cell["cell_type"] == "code" else lines)
    title, _, rest = parts[0].partition("\n")
    said = f"A notebook: `{source}`. It runs in a clone, and shows what each cell stands for."
    return "\n\n".join([title, said, rest.strip(), *parts[1:]]) + "\n"
