"""`import lakebed` is quick: it brings in nothing heavy and starts nothing."""

from __future__ import annotations

import subprocess
import sys

import pytest
from command_line import MOVED
from interpreters import printed

from shared_data import SAMPLE_ICEBERG_TABLE, SAMPLE_TABLE

HEAVY = ("click", "fsspec", "numpy", "pandas", "polars", "pyarrow", "pyspark", "rich")


def loaded_by(code: str) -> set[str]:
    modules = printed("-c", f"import sys\n{code}\nprint(*{{name.partition('.')[0] for name in sys.modules}})")
    return set(modules.split()) & set(HEAVY)


def test_importing_lakebed_loads_nothing_heavy():
    assert loaded_by("import lakebed") == set()


def test_importing_lakebed_loads_none_of_its_modules_before_they_are_asked_for():
    code = "import sys, lakebed; print(*(name for name in sys.modules if name.startswith('lakebed')))"
    assert set(printed("-c", code).split()) == {"lakebed", "lakebed._native"}
    assert printed("-c", "import lakebed; print('open_table' in dir(lakebed), lakebed.avro.__name__)") == (
        "True lakebed.avro\n"
    )
    assert printed("-c", "import lakebed; print(getattr(lakebed, 'opentable', None))") == "None\n"


def test_modules_are_attributes_before_they_are_imported():
    code = "import lakebed; print(lakebed.predicates.col is lakebed.col, lakebed.storage.protocols.__name__)"
    assert printed("-c", code) == "True lakebed.storage.protocols\n"
    code = "import lakebed; print(lakebed.limits.LIMITS is lakebed.LIMITS, hasattr(lakebed, '_nothing'))"
    assert printed("-c", code) == "True False\n"


def test_a_wrong_name_is_answered_with_the_one_that_may_be_meant():
    code = (
        "import sys, lakebed\ntry: lakebed.opentable\nexcept AttributeError: sys.excepthook(*sys.exc_info())"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "module 'lakebed' has no attribute 'opentable'. Did you mean: 'open_table'?" in run.stderr


def test_help_needs_click_alone():
    code = """
import contextlib, io
from lakebed.cli import cli
with contextlib.redirect_stdout(io.StringIO()):
    cli.main(["--help"], standalone_mode=False)
"""
    assert loaded_by(code) == {"click"}


@pytest.mark.parametrize("table", [(SAMPLE_TABLE,), (SAMPLE_ICEBERG_TABLE, *MOVED)])
def test_a_first_look_imports_no_pandas(table: tuple[object, ...]):
    code = f"""
import contextlib, io
from lakebed.cli import cli
with contextlib.redirect_stdout(io.StringIO()):
    cli.main({["show", *map(str, table)]!r}, standalone_mode=False)
"""
    assert "pandas" not in loaded_by(code)


def test_spark_is_not_needed_to_import_its_module():
    assert "pyspark" not in loaded_by("import lakebed.spark")


def test_importing_starts_no_threads():
    code = (
        "import threading, lakebed, os; print(threading.active_count(), len(os.listdir('/proc/self/task')))"
    )
    if not sys.platform.startswith("linux"):
        pytest.skip("counts threads through /proc")
    assert printed("-c", code).split() == ["1", "1"]


def test_importing_opens_its_own_modules_and_nothing_else():
    code = """
import sys, sysconfig

paths = sysconfig.get_paths()
standard_library = (paths["stdlib"], paths["platstdlib"])
events = []

def audit(event, arguments):
    if event == "open" and not str(arguments[0]).startswith(standard_library):
        events.append(("open", str(arguments[0])))
    elif event.startswith(("socket.", "subprocess.", "os.exec", "os.fork", "os.putenv", "_thread.start")):
        events.append((event, repr(arguments)))

sys.addaudithook(audit)
import lakebed

package = lakebed.__path__[0]
print([event for event in events if not (event[0] == "open" and event[1].startswith(package))])
"""
    assert printed("-c", code) == "[]\n"


@pytest.mark.parametrize("order", ["import pyarrow, lakebed", "import lakebed, pyarrow"])
def test_both_orders_of_import_work(order):
    code = f"{order}\nprint(lakebed.avro.read.__doc__ is not None, pyarrow.array([1]).to_pylist())"
    assert printed("-c", code) == "True [1]\n"
