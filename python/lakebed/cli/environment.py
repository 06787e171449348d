"""What `lakebed doctor` looks at: packages, credentials by their names, catalogs, what opens which URIs."""

from __future__ import annotations

import configparser
import importlib
import os
import platform
import re
import shutil
import sys
import threading
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from functools import partial
from importlib import metadata
from pathlib import Path
from textwrap import shorten
from typing import Any, TypeVar, cast

from lakebed import __version__
from lakebed.storage import opened_by
from lakebed.storage.secrets import without_secrets

T = TypeVar("T")

OK, ABSENT, PROBLEM = "ok", "absent", "problem"

# Beside what lakebed's own metadata names: packages, and what they are for.
_OTHERS = {
    "pypaimon": "tables of Paimon's catalogs",
    "s3fs": "s3:// through fsspec",
    "gcsfs": "gs:// through fsspec",
    "adlfs": "abfs:// through fsspec",
}
# Where the module is not called as the package is; those of the core are imported in any case.
_CORE = ("pyarrow", "click", "rich")
_VARIABLES = {
    "S3": (
        *("AWS_PROFILE", "AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN", "AWS_REGION"),
        *("AWS_DEFAULT_REGION", "AWS_ENDPOINT_URL", "AWS_ENDPOINT_URL_S3", "AWS_ROLE_ARN"),
        *("AWS_WEB_IDENTITY_TOKEN_FILE", "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI"),
        "AWS_CONTAINER_CREDENTIALS_FULL_URI",
    ),
    "Google": ("GOOGLE_APPLICATION_CREDENTIALS", "GOOGLE_SERVICE_ACCOUNT", "GOOGLE_SERVICE_ACCOUNT_KEY"),
    "Azure": (
        *("AZURE_STORAGE_ACCOUNT_NAME", "AZURE_STORAGE_ACCOUNT_KEY", "AZURE_STORAGE_CONNECTION_STRING"),
        *("AZURE_STORAGE_SAS_TOKEN", "AZURE_CLIENT_ID", "AZURE_CLIENT_SECRET", "AZURE_TENANT_ID"),
        "AZURE_FEDERATED_TOKEN_FILE",
    ),
    "HDFS": ("HADOOP_HOME", "HADOOP_CONF_DIR", "ARROW_LIBHDFS_DIR"),
}
# The variable that says where the file is, and where it is without one.
_FILES = {
    "S3": (("AWS_SHARED_CREDENTIALS_FILE", "~/.aws/credentials"), ("AWS_CONFIG_FILE", "~/.aws/config")),
    "Google": (("GOOGLE_APPLICATION_CREDENTIALS", "~/.config/gcloud/application_default_credentials.json"),),
    "Azure": (("AZURE_CONFIG_DIR", "~/.azure"),),
}
_URIS = (
    *("s3://bucket/table", "s3a://bucket/table", "gs://bucket/table", "az://container/table"),
    *("abfss://container@account.dfs.core.windows.net/table", "https://host/table"),
    "oss://bucket/table",
)
# What pyarrow would ask the bucket for.
_WITHOUT_REQUESTS = {"s3": "?region=us-east-1"}


# Variables, and where libhdfs is below what they name.
_LIBHDFS = {"ARROW_LIBHDFS_DIR": "", "HADOOP_HOME": "lib/native"}


@dataclass(frozen=True)
class Check:
    """Something that was looked at.

    Attributes: section, name; state, `ok`, `absent` (what is not needed by itself) or `problem`; detail, in
        words and without any secret; next_step, what to do about it, or empty.
    """

    section: str
    name: str
    state: str
    detail: str
    next_step: str = ""

    def to_dict(self) -> dict[str, str]:
        """The attributes by their names."""
        return asdict(self)


def checks(seconds: float) -> Iterator[Check]:
    """All of them. Args: seconds, that a catalog or a library may take to answer."""
    yield from packages()
    yield from credentials()
    yield from catalogs(seconds)
    yield from schemes(seconds)


def packages() -> Iterator[Check]:
    """lakebed, Python, and each package that lakebed works with: its version, and whether it can be used."""
    yield Check("installed", "lakebed", OK, f"{__version__}, {platform.machine()}")
    yield Check("installed", "Python", OK, platform.python_version())
    for name, least, extra in [*_required(), *((name, "", "") for name in _OTHERS)]:
        yield _package(name, least, extra)


def _required() -> Iterator[tuple[str, str, str]]:
    """Of each package that lakebed's metadata names: its name, the least version, and its extra."""
    try:
        requirements = metadata.requires("lakebed") or []
    except metadata.PackageNotFoundError:
        requirements = list(_CORE)
    seen = set()
    for text in requirements:
        below = re.search(r"python(?:_full)?_version *< *['\"]([\d.]+)", text)
        if below and sys.version_info >= _numbers(below[1]):
            # Of older versions of Python.
            continue
        name = re.split(r"[^\w-]", text)[0]
        least, extra = re.search(r">=([\d.]+)", text), re.search(r"extra == ['\"]([\w-]+)", text)
        if name not in seen:
            seen.add(name)
            yield name, least[1] if least else "", extra[1] if extra else ""


def _package(name: str, least: str, extra: str) -> Check:
    wanted = f"lakebed[{extra}]" if extra else name
    install = f"pip install '{wanted}'" if extra else f"pip install {name}"
    try:
        version = metadata.version(name)
    except metadata.PackageNotFoundError:
        use = _OTHERS.get(name, f"extra {extra}")
        state = ABSENT if extra or name in _OTHERS else PROBLEM
        return Check("installed", name, state, f"not installed ({use})", install)
    if least and _numbers(version) < _numbers(least):
        detail = f"{version}, which is too old: lakebed needs {least} or newer"
        return Check("installed", name, PROBLEM, detail, f"pip install --upgrade '{name}>={least}'")
    try:
        importlib.import_module(name)
    except Exception as error:  # noqa: BLE001 - whatever a package raises is what is wrong with it
        detail = f"{version}, which cannot be imported: {_words(error)}"
        return Check("installed", name, PROBLEM, detail, f"pip install --force-reinstall {name}")
    if name == "pyspark" and not _has_java():
        detail = f"{version}, but there is no Java, which Spark runs on"
        return Check("installed", name, PROBLEM, detail, "install a JDK, 17 or newer, or set JAVA_HOME")
    return Check("installed", name, OK, version)


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in re.findall(r"\d+", version.partition("+")[0])[:3])


def _has_java() -> bool:
    home = os.environ.get("JAVA_HOME")
    return shutil.which("java", path=str(Path(home, "bin")) if home else None) is not None


def credentials() -> Iterator[Check]:
    """Which variables and files of credentials there are, by their names alone."""
    for kind, names in _VARIABLES.items():
        files = [_file(*file) for file in _FILES.get(kind, ())]
        found = [name for name in names if os.environ.get(name)]
        found += [shown for shown, path, variable in files if path.exists() and variable not in found]
        wrong = [f"{name} names what is not there" for _, path, name in files if name and not path.exists()]
        wrong += _of_aws(files[0][1], files[1][1]) if kind == "S3" else ()
        words = ", ".join(found) or "none found"
        if wrong:
            step = "set it right, or unset it"
            yield Check("credentials", kind, PROBLEM, "; ".join([words, *wrong]), step)
        elif kind == "S3" and found and "AWS_ACCESS_KEY_ID" not in found:
            yield Check("credentials", kind, OK, f"{words}; obstore reads no files of profiles")
        else:
            yield Check("credentials", kind, OK if found else ABSENT, words)


def _file(variable: str, otherwise: str) -> tuple[str, Path, str]:
    """How a file is shown, where it is, and the variable that says so, if any does."""
    said = os.environ.get(variable)
    return (variable, Path(said), variable) if said else (otherwise, Path(otherwise).expanduser(), "")


def _of_aws(credentials: Path, config: Path) -> Iterator[str]:
    """What is wrong with the variables of S3."""
    pair = ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY")
    there = [name for name in pair if os.environ.get(name)]
    if len(there) == 1:
        yield f"{there[0]} is set without {next(name for name in pair if name not in there)}"
    profile = os.environ.get("AWS_PROFILE")
    if not profile or there:
        return
    known = configparser.RawConfigParser(strict=False)
    try:
        known.read([credentials, config], encoding="utf-8")
    except (configparser.Error, OSError, UnicodeDecodeError) as error:
        # Its text has the line.
        yield f"the files of profiles cannot be read ({type(error).__name__})"
        return
    if not {profile, f"profile {profile}"} & set(known.sections()):
        yield "AWS_PROFILE names a profile that is in no file"


def catalogs(seconds: float) -> Iterator[Check]:
    """Each catalog of PyIceberg's configuration, and whether it can be loaded."""
    from lakebed.catalogs import catalog_names

    try:
        names = _within(seconds, catalog_names)
    except ImportError:
        return
    except TimeoutError as error:
        yield Check("catalogs", "PyIceberg", PROBLEM, str(error), "see what its configuration waits for")
        return
    if names is None:
        yield Check("catalogs", ".pyiceberg.yaml", PROBLEM, "it cannot be read", "correct its YAML")
    if names == []:
        yield Check("catalogs", "PyIceberg", ABSENT, "its configuration has no catalog")
    for name in sorted(names or ()):
        yield _catalog(name, seconds)


def _catalog(name: str, seconds: float) -> Check:
    from lakebed.catalogs import load_catalog

    try:
        catalog = _within(seconds, partial(load_catalog, name))
    except Exception as error:  # noqa: BLE001 - whatever is raised is why it cannot be loaded
        step = f"correct {name} in .pyiceberg.yaml, or what variables PYICEBERG_CATALOG__… say"
        return Check("catalogs", name, PROBLEM, _words(error), step)
    return Check("catalogs", name, OK, f"loaded ({type(catalog).__name__})")


def schemes(seconds: float) -> Iterator[Check]:
    """Which libraries open URIs of each scheme, the one that is taken first."""
    yield Check("schemes", "file", OK, "lakebed itself")
    for uri in _URIS:
        reasons = {library: _reason(library, uri, seconds) for library in ("pyarrow", "fsspec", "obstore")}
        yield _scheme(uri.partition(":")[0], reasons)
    # To ask pyarrow would start a JVM, and a connection.
    libraries = ((os.environ.get(name, ""), folder) for name, folder in _LIBHDFS.items())
    is_there = any(Path(home, folder, "libhdfs.so").exists() for home, folder in libraries if home)
    missing = f"no libhdfs ({', '.join(_LIBHDFS)})"
    yield _scheme("hdfs", {"pyarrow": None if is_there else missing})


def _scheme(scheme: str, reasons: dict[str, str | None]) -> Check:
    """Args: reasons, of each library why it does not open such URIs; None where it does."""
    if found := [library for library, reason in reasons.items() if reason is None]:
        return Check("schemes", scheme, OK, ", ".join(found))
    words = "; ".join(f"{library}: {reason}" for library, reason in reasons.items())
    return Check("schemes", scheme, ABSENT, words, "install what is missing, or pass storage= in Python")


def _reason(library: str, uri: str, seconds: float) -> str | None:
    scheme = uri.partition(":")[0]
    given = uri + _WITHOUT_REQUESTS.get(scheme, "") if library == "pyarrow" else uri
    try:
        reason = _within(seconds, partial(opened_by, library, given))
    except TimeoutError as error:
        return str(error)
    return None if reason is None else shorten(reason.removeprefix(f"{library}: "), 100, placeholder="…")


def _words(error: Exception) -> str:
    return without_secrets(" ".join(str(error).split()) or type(error).__name__)


def _within(seconds: float, call: Callable[[], T]) -> T:
    """What a call returns or raises. Raises: TimeoutError for one that takes longer, which is left alone."""
    done: list[tuple[bool, Any]] = []

    def run() -> None:
        try:
            done.append((True, call()))
        except BaseException as error:  # noqa: BLE001 - it is raised by the thread that waits
            done.append((False, error))

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    thread.join(seconds)
    if not done:
        raise TimeoutError(f"no answer within {seconds:g} seconds")
    succeeded, result = done[0]
    if not succeeded:
        raise result
    return cast("T", result)
