"""`lakebed doctor`: what is there and works, what does not, and that it shows no secret."""

from __future__ import annotations

import json
import os
import socket
import subprocess
from importlib import metadata
from pathlib import Path
from typing import Any

import pytest
from command_line import configure_catalogs, run
from interpreters import ran

import lakebed
from lakebed.cli import environment

CANARY = "c4n4ry22"


@pytest.fixture
def bare(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home without anything, and an environment without credentials."""
    for names in environment._VARIABLES.values():
        for name in names:
            monkeypatch.delenv(name, raising=False)
    for files in environment._FILES.values():
        for name, _ in files:
            monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("PYICEBERG_HOME", str(tmp_path))
    return tmp_path


def doctor(
    *words: str, **variables: str
) -> tuple[subprocess.CompletedProcess[str], dict[tuple[str, str], Any]]:
    """What became of the command, and its checks by section and name."""
    done = ran("-m", "lakebed", "doctor", "-o", "json", *words, environment=variables)
    assert done.stderr == ""
    checks = [json.loads(line) for line in done.stdout.splitlines()]
    assert done.returncode == any(check["state"] == "problem" for check in checks)
    return done, {(check["section"], check["name"]): check for check in checks}


def test_what_is_installed_is_named_with_its_version(bare: Path) -> None:
    _, checks = doctor()
    installed = {name: check for (section, name), check in checks.items() if section == "installed"}
    assert installed["lakebed"]["detail"].startswith(lakebed.__version__)
    assert set(installed) >= {
        "Python",
        "pyarrow",
        "click",
        "rich",
        "pyspark",
        "pyiceberg",
        "obstore",
        "fsspec",
    }
    versions = {one.name: one.version for one in metadata.distributions()}
    for name in set(installed) - {"lakebed", "Python"}:
        if name in versions:
            assert installed[name]["detail"].startswith(versions[name])
        else:
            assert (installed[name]["state"], installed[name]["next_step"][:11]) == ("absent", "pip install")
    kinds = {name: check["state"] for (section, name), check in checks.items() if section == "credentials"}
    assert kinds == dict.fromkeys(("S3", "Google", "Azure", "HDFS"), "absent")
    assert checks["catalogs", "PyIceberg"]["state"] == "absent"
    assert checks["schemes", "s3"]["detail"].split(", ")[0] == "pyarrow"
    assert checks["schemes", "oss"]["state"] == "absent"
    assert checks["schemes", "hdfs"]["state"] == "absent"


def test_credentials_are_named_and_never_shown(bare: Path) -> None:
    (bare / ".aws").mkdir()
    (bare / ".aws" / "credentials").write_text(f"[default]\naws_secret_access_key = {CANARY}\n")
    (bare / "key.json").write_text(CANARY)
    variables = {"AWS_PROFILE": "default", "AZURE_STORAGE_ACCOUNT_KEY": CANARY, "AWS_REGION": CANARY}
    variables["GOOGLE_APPLICATION_CREDENTIALS"] = str(bare / "key.json")
    done, checks = doctor(**variables)
    s3, google, azure = (checks["credentials", kind] for kind in ("S3", "Google", "Azure"))
    assert (s3["state"], s3["detail"]) == (
        "ok",
        "AWS_PROFILE, AWS_REGION, ~/.aws/credentials; obstore reads no files of profiles",
    )
    assert (google["state"], google["detail"]) == ("ok", "GOOGLE_APPLICATION_CREDENTIALS")
    assert (azure["state"], azure["detail"]) == ("ok", "AZURE_STORAGE_ACCOUNT_KEY")
    assert CANARY not in done.stdout


@pytest.mark.parametrize(
    ("variables", "kind", "words"),
    [
        ({"AWS_PROFILE": "prod"}, "S3", "AWS_PROFILE names a profile that is in no file"),
        ({"AWS_ACCESS_KEY_ID": CANARY}, "S3", "AWS_ACCESS_KEY_ID is set without AWS_SECRET_ACCESS_KEY"),
        ({"AWS_CONFIG_FILE": "/no/such/file"}, "S3", "AWS_CONFIG_FILE names what is not there"),
        (
            {"GOOGLE_APPLICATION_CREDENTIALS": "/no"},
            "Google",
            "CREDENTIALS names what is not there",
        ),
    ],
)
def test_credentials_that_cannot_work(
    bare: Path, monkeypatch: pytest.MonkeyPatch, variables: dict[str, str], kind: str, words: str
) -> None:
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    (found,) = (check for check in environment.credentials() if check.name == kind)
    assert (found.state, words in found.detail) == ("problem", True)
    assert CANARY not in found.detail
    assert found.next_step


def test_profiles_are_found_in_both_files(bare: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (bare / ".aws").mkdir()
    (bare / ".aws" / "config").write_text("[profile prod]\nregion = eu-north-1\n")
    monkeypatch.setenv("AWS_PROFILE", "prod")
    (found,) = (check for check in environment.credentials() if check.name == "S3")
    assert found.state == "ok"
    (bare / ".aws" / "config").write_text(f"{CANARY}\n[[[")
    (found,) = (check for check in environment.credentials() if check.name == "S3")
    assert (found.state, CANARY in found.detail) == ("problem", False)


def test_catalogs_are_loaded(bare: Path) -> None:
    tables = pytest.importorskip("catalog_tables")
    catalog = tables.sqlite(bare)
    with socket.create_server(("127.0.0.1", 0)) as silent:
        configure_catalogs(
            bare,
            lake=catalog.properties,
            broken={"uri": f"odd://user:{CANARY}@host/db"},
            silent={"type": "rest", "uri": f"http://127.0.0.1:{silent.getsockname()[1]}"},
        )
        done, checks = doctor("--timeout", "8")
    assert done.returncode == 1
    states = {name: check["state"] for (section, name), check in checks.items() if section == "catalogs"}
    assert states == {"lake": "ok", "broken": "problem", "silent": "problem"}
    assert checks["catalogs", "lake"]["detail"] == "loaded (SqlCatalog)"
    assert checks["catalogs", "silent"]["detail"] == "no answer within 8 seconds"
    assert CANARY not in done.stdout


def test_a_package_that_is_broken_is_a_problem(bare: Path) -> None:
    (bare / "fsspec.py").write_text(f"raise RuntimeError('no such symbol; token={CANARY}')\n")
    path = os.pathsep.join(filter(None, (str(bare), os.environ.get("PYTHONPATH"))))
    done, checks = doctor(PYTHONPATH=path, MY_TOKEN=CANARY)
    found = checks["installed", "fsspec"]
    assert (done.returncode, found["state"]) == (1, "problem")
    assert "cannot be imported: no such symbol" in found["detail"]
    assert CANARY not in done.stdout
    assert found["next_step"] == "pip install --force-reinstall fsspec"


def test_versions_are_compared_with_what_the_metadata_asks_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(metadata, "version", lambda _: "3.4.10")
    found = environment._package("pyspark", "3.5", "spark")
    assert (found.state, found.detail) == ("problem", "3.4.10, which is too old: lakebed needs 3.5 or newer")
    assert found.next_step == "pip install --upgrade 'pyspark>=3.5'"
    required = {name: (least, extra) for name, least, extra in environment._required()}
    assert required["pyarrow"][0] != ""
    assert required["pyspark"][1] == "spark"


def test_spark_needs_java(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("pyspark")
    monkeypatch.setenv("JAVA_HOME", "/no/such/folder")
    found = environment._package("pyspark", "3.5", "spark")
    assert (found.state, "there is no Java" in found.detail) == ("problem", True)


def test_it_is_readable(bare: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_PROFILE", "prod")
    monkeypatch.setattr(environment, "packages", lambda: iter(()))
    done = run("doctor")
    assert done.exit_code == 1
    assert "credentials\nS3  " in done.stdout
    assert "1 problem\n\nS3: AWS_PROFILE" in done.stdout
    assert done.stdout.endswith("  set it right, or unset it\n")
