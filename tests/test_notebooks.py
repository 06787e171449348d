"""Notebooks of the examples run from top to bottom, each cell shows something, and no outputs are kept."""

from __future__ import annotations

import ast
import json
from pathlib import Path
from typing import Any

import pytest

from shared_data import PROJECT

FOLDER = PROJECT / "examples" / "notebooks"
NOTEBOOKS = sorted(FOLDER.glob("*.ipynb"))


def code(notebook: Path) -> list[dict[str, Any]]:
    cells = json.loads(notebook.read_text("utf-8"))["cells"]
    return [cell for cell in cells if cell["cell_type"] == "code"]


def run(cell: dict[str, Any], names: dict[str, Any]) -> Any:
    """Runs a cell; what its last line stands for, as a notebook shows it."""
    tree = ast.parse("".join(cell["source"]))
    last = tree.body.pop()
    exec(compile(tree, "cell", "exec"), names)
    assert isinstance(last, ast.Expr), "a cell ends with what it shows"
    return eval(compile(ast.Expression(last.value), "cell", "eval"), names)


def test_there_are_three() -> None:
    assert len(NOTEBOOKS) == 3


@pytest.mark.parametrize("notebook", NOTEBOOKS, ids=lambda path: path.stem)
def test_it_runs(notebook: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(FOLDER)
    names: dict[str, Any] = {}
    for cell in code(notebook):
        shown = run(cell, names)
        html = getattr(shown, "_repr_html_", None)
        assert (html() if html else repr(shown)) not in (None, ""), cell["source"]


@pytest.mark.parametrize("notebook", NOTEBOOKS, ids=lambda path: path.stem)
def test_it_is_kept_without_outputs(notebook: Path) -> None:
    assert all(cell["outputs"] == [] and cell["execution_count"] is None for cell in code(notebook))
