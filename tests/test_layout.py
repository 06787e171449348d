"""The shape of the project: sizes, who may say `unsafe`, and that its documents name what exists."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import planted
import pytest

from shared_data import PROJECT

# Counting allocators are two of them: the trait that they implement is unsafe.
MAY_SAY_UNSAFE = {
    "rust/lakebed-python/src/arrow.rs",
    "rust/lakebed-python/src/interpreter.rs",
    "rust/lakebed-avro/tests/common/allocator.rs",
    "rust/fuzz/src/memory.rs",
}
# What an error of Arrow's is, is said in `error.rs`; the others build columns of what a file holds, of which
# Arrow says that it is null or of another type than it may be.
MAY_JUDGE_ARROW = {
    "rust/lakebed/src/error.rs",
    "rust/lakebed/src/conform/mod.rs",
    "rust/lakebed/src/iceberg/delete_file/row.rs",
    "rust/lakebed/src/iceberg/manifest/mod.rs",
    "rust/lakebed/src/iceberg/manifest_list.rs",
    "rust/lakebed/src/iceberg/value/json/read.rs",
}
# Lines. A Rust file's own `mod tests` is counted apart from its code.
BUDGETS = {"README.md": 150, "ARCHITECTURE.md": 220, "CONTRIBUTING.md": 130, "Makefile": 200}
RUST_CODE, RUST_TESTS, PYTHON_MODULE, PYTHON_TEST = 500, 400, 400, 500
RELEASE = ".github/workflows/release.yml"
DOCUMENTS = ["README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "RELEASING.md", ".ci/run", RELEASE]


def project_files(folder: str, suffix: str) -> list[str]:
    """Files below `folder`, by their path in the project, without what is built or generated."""
    built = {"target", "__pycache__", "data"}
    found = []
    for root, folders, names in os.walk(PROJECT / folder):
        folders[:] = [name for name in folders if name not in built]
        found += [str(Path(root, name).relative_to(PROJECT)) for name in names if name.endswith(suffix)]
    return sorted(found)


RUST = project_files("rust", ".rs")
PACKAGE = project_files("python/lakebed", ".py")
TESTS = project_files("tests", ".py")


def read(path: str) -> str:
    return (PROJECT / path).read_text("utf-8")


def code_and_tests(path: str) -> tuple[int, int]:
    """Lines of code and of tests of one Rust file."""
    lines = read(path).splitlines()
    if "/tests" in path:
        return 0, len(lines)
    start = next((i for i, line in enumerate(lines) if re.match(r"mod tests\b.*\{", line)), len(lines))
    return start, len(lines) - start


def test_rust_files_are_small() -> None:
    sizes = {path: code_and_tests(path) for path in RUST}
    large = {
        path: (code, tests) for path, (code, tests) in sizes.items() if code > RUST_CODE or tests > RUST_TESTS
    }
    assert large == {}, "lines of code and of tests"


@pytest.mark.parametrize(("files", "budget"), [(PACKAGE, PYTHON_MODULE), (TESTS, PYTHON_TEST)])
def test_python_files_are_small(files: list[str], budget: int) -> None:
    sizes = {path: len(read(path).splitlines()) for path in files}
    assert {path: lines for path, lines in sizes.items() if lines > budget} == {}


@pytest.mark.parametrize("path", BUDGETS)
def test_documents_are_short(path: str) -> None:
    assert len(read(path).splitlines()) <= BUDGETS[path]


def test_unsafe_stands_in_named_files() -> None:
    # Comments may speak of it, and the attributes that forbid it name it.
    code = {path: re.sub(r"//.*|#!?\[[^\]]*\]", "", read(path)) for path in RUST}
    assert {path for path, text in code.items() if re.search(r"\bunsafe\b", text)} <= MAY_SAY_UNSAFE


@pytest.mark.parametrize("crate", ["lakebed-avro", "lakebed-columnar", "lakebed"])
def test_the_core_crates_forbid_unsafe(crate: str) -> None:
    assert "#![forbid(unsafe_code)]" in read(f"rust/{crate}/src/lib.rs")


def test_errors_of_arrow_are_judged_in_named_files() -> None:
    judges = re.compile(r"\(\w+: [^)]*\bArrowError\b")
    core = {path for path in RUST if path.startswith("rust/lakebed/src/")}
    assert {path for path in core if judges.search(read(path))} == MAY_JUDGE_ARROW


@pytest.mark.parametrize("document", DOCUMENTS)
def test_make_targets_that_documents_name_exist(document: str) -> None:
    targets = set(re.findall(r"^([a-z-]+):", read("Makefile"), re.MULTILINE))
    named = set(re.findall(r"(?:^|`|exec |run: )make ([a-z-]+)", read(document), re.MULTILINE))
    assert named <= targets


@pytest.mark.parametrize("document", ["RELEASING.md", RELEASE, ".ci/wheels.sh", ".ci/try_wheel.sh"])
def test_scripts_that_a_release_names_can_be_run(document: str) -> None:
    named = set(re.findall(r"\.ci/[\w]+\.sh", read(document)))
    assert [path for path in named if not os.access(PROJECT / path, os.X_OK)] == []


def test_a_release_has_the_wheels_that_are_built_and_tried_here() -> None:
    built = re.findall(r"^    \[([\w-]+)\]=(?:many|musl)linux", read(".ci/wheels.sh"), re.MULTILINE)
    released = re.findall(r"target: ([\w-]+),", read(RELEASE))
    assert sorted(built) == sorted(released) != []


def test_every_make_target_is_documented() -> None:
    undocumented = re.findall(r"^([a-z-]+):(?!.*## )(?!=)", read("Makefile"), re.MULTILINE)
    assert undocumented == []


def test_every_path_that_architecture_names_exists() -> None:
    named = re.findall(r"`((?:rust|python|tests|benches|examples)/[\w./-]*)`", read("ARCHITECTURE.md"))
    assert named
    assert [path for path in named if not (PROJECT / path).exists()] == []


@pytest.mark.parametrize("document", ["README.md", *project_files("docs", ".md")])
def test_every_link_leads_somewhere(document: str) -> None:
    links = re.findall(r"\]\((?!https?://|#)([^)#]+)", read(document))
    assert links or document != "README.md"
    assert [link for link in links if not (PROJECT / document).parent.joinpath(link).exists()] == []


def test_lists_of_the_configuration_hold_nothing_twice() -> None:
    tomllib = pytest.importorskip("tomllib")  # of Python 3.11
    waiting: list[Any] = [tomllib.loads(read("pyproject.toml"))]
    while waiting:
        value = waiting.pop()
        if isinstance(value, dict):
            waiting += value.values()
        elif isinstance(value, list):
            texts = [str(item) for item in value]
            assert len(set(texts)) == len(texts), texts
            waiting += value


def test_the_preflight_names_all_that_is_missing(tmp_path: Path) -> None:
    for tool in ("bash", "head", "sed", "sort"):
        (tmp_path / tool).symlink_to(str(shutil.which(tool)))
    bare = subprocess.run(
        [tmp_path / "bash", PROJECT / ".ci" / "preflight.sh"],
        env={"PATH": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert bare.returncode == 1
    missing = re.findall(r"^missing: (Python|a C compiler|a Rust toolchain|a JDK)", bare.stderr, re.MULTILINE)
    assert missing == ["Python", "a C compiler", "a Rust toolchain", "a JDK"]
    assert bare.stderr.count("get it: ") == 4


def test_workers_take_tests_by_groups(request: pytest.FixtureRequest) -> None:
    # What pytest-xdist does not find, it passes over: each worker would then start every engine.
    assert ("@" in request.node.nodeid) == ("PYTEST_XDIST_WORKER" in os.environ)


def test_bugs_that_are_planted_find_their_place() -> None:
    places = [(bug.file, bug.there) for bug in [*planted.BUGS, *planted.bugs.BUGS]]
    assert [place for place in places if read(f"rust/{place[0]}").count(place[1]) != 1] == []
