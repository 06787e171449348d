"""What the wheel is made of: reasons, licences and sources of its dependencies, and its bill of materials."""

from __future__ import annotations

import base64
import hashlib
import json
import re
import shutil
import subprocess
import sys
import zipfile
from functools import cache
from importlib.metadata import distribution, requires
from pathlib import Path
from typing import Any

import pytest

from shared_data import PROJECT

pytestmark = pytest.mark.skipif(shutil.which("cargo") is None, reason="needs cargo")


@cache
def packages() -> list[dict[str, Any]]:
    """Every crate that the wheel is built from on this platform, as `cargo metadata` describes it."""
    # What is merely tested with would be in the metadata's own graph, since features unite there.
    edges = ("--edges", "normal,build", "--prefix", "none", "--format", "{p}")
    tree = output("cargo", "tree", "--locked", "--package", "lakebed-python", *edges)
    shipped = {(name, version) for name, version in re.findall(r"^(\S+) v(\S+)", tree, re.MULTILINE)}
    metadata = json.loads(output("cargo", "metadata", "--format-version=1", "--locked"))
    return [p for p in metadata["packages"] if (p["name"], p["version"]) in shipped]


def output(*command: str) -> str:
    return subprocess.run(command, cwd=PROJECT, capture_output=True, text=True, check=True).stdout


def direct() -> dict[str, dict[str, Any]]:
    """The crates that lakebed's own name, by name."""
    own = [package for package in packages() if package["source"] is None]
    names = {need["name"] for package in own for need in package["dependencies"] if need["kind"] != "dev"}
    return {
        package["name"]: package for package in packages() if package["source"] and package["name"] in names
    }


def rows(heading: str) -> dict[str, list[str]]:
    """The table below a heading of docs/dependencies.md: name → the other cells."""
    text = (PROJECT / "docs" / "dependencies.md").read_text("utf-8")
    section = text.partition(f"## {heading}\n")[2].partition("\n## ")[0]
    table = [
        [cell.strip() for cell in line.strip("|").split("|")] for line in re.findall(r"^\|.*", section, re.M)
    ]
    return {name: cells for name, *cells in table[2:]}


def setting(key: str) -> list[str]:
    """The texts in a list of deny.toml."""
    body = re.search(rf"^{key} = \[(.*?)^\]", (PROJECT / "deny.toml").read_text("utf-8"), re.M | re.S)
    assert body, key
    return re.findall(r'^ +(?:\{ crate = )?"([^"]+)"', body[1], re.M)


def test_every_crate_has_its_reason_licence_and_use_of_unsafe():
    check_rows(rows("In the wheel"), direct())


def test_what_only_the_crate_of_object_stores_needs_has_its_reason_and_is_not_in_the_wheel():
    manifest = "rust/lakebed-object-store/Cargo.toml"
    metadata = json.loads(
        output("cargo", "metadata", "--format-version=1", "--locked", "--manifest-path", manifest)
    )
    found = {package["name"]: package for package in metadata["packages"]}
    own = found["lakebed-object-store"]
    needed = {need["name"] for need in own["dependencies"] if need["kind"] is None and need["source"]}
    check_rows(
        rows("In the crate `lakebed-object-store`"), {name: found[name] for name in needed - set(direct())}
    )
    assert own["version"] == found["lakebed"]["version"]


def check_rows(table: dict[str, list[str]], crates: dict[str, dict[str, Any]]) -> None:
    assert sorted(table) == sorted(crates)
    for name, (why, licence, unsafe) in table.items():
        package = crates[name]
        sources = (Path(package["manifest_path"]).parent / "src").rglob("*.rs")
        uses = any(
            re.search(r"\bunsafe\s*(?:\{|fn|impl|extern)", file.read_text("utf-8")) for file in sources
        )
        assert why, name
        assert licence == package["license"], name
        assert unsafe == ("yes" if uses else "no"), name


@pytest.mark.parametrize(
    ("heading", "extra"), [("Beside the wheel", False), ("Where they are asked for", True)]
)
def test_every_package_has_its_reason_and_licence(heading: str, extra: bool):
    table = rows(heading)
    needs = {
        re.split(r"[^\w-]", need)[0]: need
        for need in requires("lakebed") or []
        if ("extra ==" in need) is extra
    }
    assert set(table) == needs.keys()
    for name, (why, licence) in table.items():
        if re.search("python(_full)?_version *<", needs[name]) and sys.version_info >= (3, 11):
            continue  # not installed here
        metadata = distribution(name).metadata
        keys = ("License-Expression", "License", "Classifier")
        said = [text for key in keys for text in metadata.get_all(key, [])]
        assert why, name
        assert any(licence.partition("-")[0].lower() in text.lower() for text in said), name


def allowed(expression: str, licences: list[str]) -> bool:
    """Whether an SPDX expression can be met by the licences; `/` is cargo's old spelling of OR."""
    text = expression.replace("/", " OR ")
    while inner := re.search(r"\(([^()]*)\)", text):
        text = text.replace(inner[0], "met" if allowed(inner[1], licences) else "unmet")
    met = {*licences, "met"}
    return any(all(part.strip() in met for part in way.split(" AND ")) for way in text.split(" OR "))


@pytest.mark.parametrize(
    ("expression", "can"),
    [
        ("MIT", True),
        ("MIT/Apache-2.0", True),
        ("GPL-3.0 OR MIT", True),
        ("GPL-3.0 AND MIT", False),
        ("(MIT OR GPL-3.0) AND Unicode-3.0", False),
        ("Apache-2.0 WITH LLVM-exception", False),
    ],
)
def test_expressions_of_licences(expression: str, can: bool):
    assert allowed(expression, ["MIT", "Apache-2.0"]) is can


def test_every_licence_is_allowed():
    licences = setting("allow")
    refused = {p["name"]: p["license"] for p in packages() if not allowed(p["license"], licences)}
    assert refused == {}
    used = {name for name in licences if any(name in (p["license"] or "") for p in packages())}
    assert used == set(licences), "allowed, and not needed"


def test_every_crate_comes_from_the_registry_with_its_checksum():
    locked = (PROJECT / "Cargo.lock").read_text("utf-8").split("[[package]]")[1:]
    foreign = [
        p
        for p in locked
        if "source = " in p and "registry+https://github.com/rust-lang/crates.io-index" not in p
    ]
    assert foreign == []
    assert [p for p in locked if "source = " in p and "checksum = " not in p] == []


def test_versions_are_doubled_only_where_a_reason_is_given():
    names = [package["name"] for package in packages()]
    doubled = {name for name in names if names.count(name) > 1}
    assert doubled == {skip.partition("@")[0] for skip in setting("skip")}


def test_the_wheel_has_its_bill_of_materials():
    wheel = distribution("lakebed")
    bills = [file for file in wheel.files or [] if ".dist-info/sboms/" in str(file).replace("\\", "/")]
    assert len(bills) == 1
    bill = json.loads(Path(str(wheel.locate_file(bills[0]))).read_text("utf-8"))
    assert bill["bomFormat"] == "CycloneDX"
    components = {part["name"]: part["version"] for part in bill["components"]}
    missing = [name for name, package in direct().items() if components.get(name) != package["version"]]
    assert missing == []
    unlicensed = [part["name"] for part in bill["components"] if not part.get("licenses")]
    assert unlicensed == []


def test_a_wheel_can_be_rid_of_the_folder_that_it_was_built_in(tmp_path: Path):
    bill = b'{"bom-ref": "path+file:///home/me/lakebed/rust/lakebed#0.1.0"}'
    record = (
        "lakebed/__init__.py,sha256=kept,0\na.dist-info/sboms/a.json,sha256=old,9\na.dist-info/RECORD,,\n"
    )
    wheel = tmp_path / "a.whl"
    with zipfile.ZipFile(wheel, "w", zipfile.ZIP_DEFLATED) as made:
        made.writestr("lakebed/__init__.py", b"")
        made.writestr("a.dist-info/sboms/a.json", bill)
        made.writestr("a.dist-info/RECORD", record)
    command = [sys.executable, str(PROJECT / ".ci" / "unplaced.py"), str(wheel), "/home/me/lakebed"]
    subprocess.run(command, check=True)
    with zipfile.ZipFile(wheel) as made:
        placed = made.read("a.dist-info/sboms/a.json")
        assert json.loads(placed) == {"bom-ref": "path+file:///lakebed/rust/lakebed#0.1.0"}
        digest = base64.urlsafe_b64encode(hashlib.sha256(placed).digest()).rstrip(b"=").decode()
        listed = made.read("a.dist-info/RECORD").decode().splitlines()
        assert listed == [
            "lakebed/__init__.py,sha256=kept,0",
            f"a.dist-info/sboms/a.json,sha256={digest},{len(placed)}",
            "a.dist-info/RECORD,,",
        ]
        assert made.namelist()[0] == "lakebed/__init__.py"
