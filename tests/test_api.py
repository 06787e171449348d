"""What users may call is what is written down: a change of it is seen, and meant."""

from __future__ import annotations

import difflib
import importlib
import inspect
import re
import sys
from collections.abc import Iterator
from types import ModuleType
from typing import Any, get_args

import lakebed
from lakebed import experimental
from lakebed._keywords import MetadataTable
from shared_data import OWN_DATA, sample_of

MODULES = (
    "lakebed",
    "lakebed.avro",
    "lakebed.errors",
    "lakebed.experimental",
    "lakebed.iceberg",
    "lakebed.paimon",
    "lakebed.predicates",
    "lakebed.pyiceberg",
    "lakebed.pypaimon",
    "lakebed.spark",
    "lakebed.storage.protocols",
)
WRITTEN = OWN_DATA / "public_api.txt"
COMMAND = "python tests/test_api.py > tests/data/public_api.txt"


class _Text:
    """A part of a signature that prints as it is."""

    def __init__(self, text: str) -> None:
        self._text = text

    def __repr__(self) -> str:
        return self._text


def public_api() -> str:
    """Every public name of every public module, a line each, with its signature."""
    return "\n\n".join("\n".join(module_lines(importlib.import_module(name))) for name in MODULES) + "\n"


def module_lines(module: ModuleType) -> Iterator[str]:
    yield module.__name__
    defined = [
        name for name, value in vars(module).items() if getattr(value, "__module__", "") == module.__name__
    ]
    for name in sorted(getattr(module, "__all__", defined)):
        value = getattr(module, name)
        if inspect.isclass(value):
            own = parts(value)
            bases = ", ".join(base.__name__ for base in value.__bases__ if base not in (object, *own))
            yield f"  class {name}({bases})" if bases else f"  class {name}"
            yield from (f"    {line}" for line in class_lines(value))
        elif inspect.isfunction(value):
            yield f"  def {name}{signature(value)}"
        else:
            yield f"  {name}"


def parts(cls: type) -> list[type]:
    """The class and those of its bases that are but parts of it: they stand in modules of its own package."""
    return [base for base in cls.__mro__ if base is cls or base.__module__.startswith(f"{cls.__module__}.")]


def class_lines(cls: type) -> Iterator[str]:
    """What the class adds to its bases."""
    own = {name: value for part in reversed(parts(cls)) for name, value in vars(part).items()}
    for name, value in sorted(own.items()):
        special = name in ("__init__", "__iter__", "_repr_html_") or name.startswith("__arrow_c_")
        if name.startswith("_") and not special:
            continue
        if isinstance(value, classmethod | staticmethod) or inspect.isfunction(value):
            # Python gives protocols a constructor, another in every version.
            if name != "__init__" or not getattr(cls, "_is_protocol", False):
                yield f"def {name}{signature(getattr(cls, name))}"
        else:
            yield name


def signature(function: Any) -> str:
    found = inspect.signature(function)
    parameters = [_plain(parameter) for parameter in found.parameters.values()]
    result = found.return_annotation
    if result is not inspect.Signature.empty:
        result = _Text(str(result))
    return str(found.replace(parameters=parameters, return_annotation=result))


def _plain(parameter: inspect.Parameter) -> inspect.Parameter:
    """The parameter with its annotation unquoted, and the default limits by their name."""
    if parameter.default is lakebed.LIMITS:
        parameter = parameter.replace(default=_Text("LIMITS"))
    if parameter.annotation is not inspect.Parameter.empty:
        parameter = parameter.replace(annotation=_Text(parameter.annotation))
    return parameter


def test_the_public_api_is_the_one_written_down():
    written, found = WRITTEN.read_text("utf-8").splitlines(), public_api().splitlines()
    changes = "\n".join(difflib.unified_diff(written, found, "written", "found", lineterm=""))
    assert not changes, f"the public API changed; if that is meant, write it down: {COMMAND}\n{changes}"


def test_every_public_name_is_documented():
    undocumented = []
    for module in map(importlib.import_module, MODULES):
        for name in getattr(module, "__all__", []):
            value = getattr(module, name)
            if (inspect.isclass(value) or inspect.isfunction(value)) and not inspect.getdoc(value):
                undocumented.append(f"{module.__name__}.{name}")
    assert undocumented == []


def test_every_argument_of_readers_and_writers_is_documented():
    undocumented = []
    for module in (lakebed.avro, experimental, lakebed.iceberg, lakebed.paimon):
        for function in filter(inspect.isfunction, map(vars(module).get, module.__all__)):
            said = re.findall(r"\w+", str(inspect.getdoc(function)).partition("Args:")[2])
            undocumented += [
                f"{module.__name__}.{function.__name__}: {name}"
                for name in inspect.signature(function).parameters
                if name not in said
            ]
    assert undocumented == []


def test_editors_know_the_metadata_tables_of_both_formats() -> None:
    names = {name for kind in ("paimon", "iceberg") for name in sample_of(kind).metadata_tables}
    assert sorted(get_args(MetadataTable)) == sorted(names)


if __name__ == "__main__":
    sys.stdout.write(public_api())
