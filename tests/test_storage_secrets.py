"""No secret of a client is in a message: not in an error, its causes and traceback, a warning, a repr, a line
of the command line, whichever library it comes from and whatever a server repeats.
"""

from __future__ import annotations

import errno
import logging
import pickle
import traceback
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from echoing import CANARY, CLIENTS, FORMS, SECRET, TOKEN, echo
from interpreters import ran

import lakebed
from lakebed.errors import LakebedError
from lakebed.file_io import IcebergFiles, PaimonFiles
from lakebed.storage import ArrowStorage, FsspecStorage, resolve
from lakebed.storage.failures import failure

fsspec = pytest.importorskip("fsspec")


def told(error: BaseException | None) -> str:
    """All that an error tells anyone: with whatever led to it, whether tracebacks show that or not."""
    texts, seen, waiting = [], set[int](), [error]
    while waiting:
        one = waiting.pop()
        if one is None or id(one) in seen:
            continue
        seen.add(id(one))
        texts += [str(one), repr(one), str(vars(one)), *traceback.format_exception(one)]
        waiting += [one.__cause__, one.__context__]
    return "\n".join(texts)


def raised(work: Callable[[], Any]) -> BaseException:
    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        with pytest.raises((OSError, LakebedError)) as caught:
            work()
    assert CANARY not in " ".join(str(one.message) for one in warned)
    return caught.value


MODULES = {"pyarrow": "pyarrow", "s3fs": "s3fs", "obstore": "obstore", "fsspec": "aiohttp"}


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("client", CLIENTS)
def test_what_a_server_repeats_is_in_no_message(
    client: str, form: str, caplog: pytest.LogCaptureFixture
) -> None:
    pytest.importorskip(MODULES[client.partition(" ")[0]])
    where, make = CLIENTS[client]
    with echo(form) as address, caplog.at_level(logging.DEBUG, "lakebed"):
        location, storage = where.format(address=address), make(address)
        works: list[Callable[[], Any]] = [
            lambda: lakebed.open_table(f"{location}/t/metadata/v1.metadata.json", storage=storage),
            lambda: lakebed.avro.read(f"{location}/x.avro", storage=storage),
        ]
        if "http" not in client:
            works += [
                lambda: lakebed.open_table(f"{location}/t", storage=storage),
                lambda: lakebed.find_tables(location, storage=storage).to_arrow(),
            ]
        shown, adapter = resolve(location, storage)
        assert CANARY not in f"{shown} {adapter!r}"
        for work in works:
            error = raised(work)
            assert CANARY not in told(error)
            assert isinstance(error, OSError)
            assert "/wh" in str(error)
    assert CANARY not in caplog.text


@pytest.mark.parametrize("form", ["message", "elements", "text"])
def test_the_command_line_says_nothing_of_what_the_environment_holds(form: str) -> None:
    with echo(form) as address:
        environment = {
            "AWS_ACCESS_KEY_ID": "AKID",
            "AWS_SECRET_ACCESS_KEY": SECRET,
            "AWS_SESSION_TOKEN": TOKEN,
            "AWS_ENDPOINT_URL": f"http://{address}",
            "AWS_EC2_METADATA_DISABLED": "true",
            "AWS_MAX_ATTEMPTS": "1",
            "AWS_DEFAULT_REGION": "us-east-1",
            "PYICEBERG_CATALOG__PROD__TYPE": "rest",
            "PYICEBERG_CATALOG__PROD__URI": f"http://user:{TOKEN}@{address}",
            "PYICEBERG_CATALOG__PROD__TOKEN": TOKEN,
            "PYICEBERG_CATALOG__OTHER__TYPE": "rest",
            "PYICEBERG_CATALOG__OTHER__URI": f"http://{address}",
            "PYICEBERG_CATALOG__OTHER__CREDENTIAL": f"client:{SECRET}",
        }
        for arguments in (
            ["find", "s3://lake/wh"],
            ["files", "s3://lake/wh/t"],
            ["files", f"s3://AKID:{SECRET}@lake/wh/t?session_token={TOKEN}"],
            ["show", "--catalog", "prod", "db.orders"],
            ["show", "--catalog", "other", "db.orders"],
        ):
            done = ran("-m", "lakebed", *arguments, environment=environment, timeout=120)
            # A catalog that cannot be loaded is wrong usage.
            assert done.returncode == (2 if "--catalog" in arguments else 1), done.stderr
            assert done.stderr.startswith("error: "), done.stderr
            assert CANARY not in done.stdout + done.stderr


class Raising(fsspec.spec.AbstractFileSystem):  # type: ignore[misc, name-defined]
    """A filesystem of fsspec in which every call raises."""

    protocol = "raising"
    cachable = False

    def __init__(self, error: BaseException, **options: Any) -> None:
        super().__init__(**options)
        self.error = error

    def _raise(self, *_: Any, **__: Any) -> Any:
        raise self.error

    ls = cat_file = info = modified = invalidate_cache = size = _raise

    @classmethod
    def _strip_protocol(cls, path: str) -> str:
        return path.partition("://")[2]


def chained(error: Exception) -> Exception:
    """The error as a library raises it that has met another, which knows more."""
    error.__cause__ = RuntimeError(f"Authorization: {TOKEN}")
    error.__context__ = RuntimeError(f"token {TOKEN}")
    return error


ERRORS: list[Exception] = [
    KeyError(f"password={TOKEN}"),
    ValueError(f"sig={TOKEN}"),
    AttributeError("'dict' object has no attribute 'lower'"),
    TypeError(f"bad header Authorization: Bearer {TOKEN}"),
    IndexError(),
    AssertionError(f'{{"access_token": "{TOKEN}"}}'),
    RuntimeError(f"GET https://user:{TOKEN}@host/x?X-Amz-Signature={TOKEN}"),
    NotImplementedError("no listings"),
    ImportError("no module named s3fs"),
    StopIteration(TOKEN[:0]),
    UnicodeDecodeError("utf-8", b"\xff", 0, 1, "no text"),
    OSError({"Message": {"a": TOKEN}}),
    OSError(errno.EIO, {"token": TOKEN}),
    PermissionError(f"denied for X-Amz-Security-Token: {TOKEN}"),
    TimeoutError("no answer"),
    ConnectionResetError(errno.ECONNRESET, f"peer of https://h/?token={TOKEN}"),
    Exception("-----BEGIN PRIVATE KEY-----\n" + TOKEN),
]


def of_the_system(call: Callable[[], Any]) -> OSError:
    """The error of a call, which shows neither a secret nor what it was raised from."""
    found = raised(call)
    assert isinstance(found, OSError)
    assert CANARY not in told(found)
    assert found.__context__ is None
    return found


@pytest.mark.parametrize("error", ERRORS, ids=lambda error: type(error).__name__)
def test_whatever_a_library_raises_is_an_oserror_with_the_path(error: Exception) -> None:
    storage = FsspecStorage(Raising(chained(error), token="t0ken-of-options"), "s3://b/t", "b/t")
    calls: list[Callable[[], Any]] = [
        lambda: storage.read("s3://b/t/x"),
        lambda: storage.read("s3://b/t/x", 0, 9),
        lambda: storage.list("s3://b/t/x"),
        lambda: storage.folders("s3://b/t/x"),
        lambda: storage.contents("s3://b/t/x"),
        lambda: storage.modified("s3://b/t/x"),
        lambda: lakebed.open_table("s3://b/t/x", storage=Raising(error)),
        lambda: lakebed.find_tables("s3://b/t/x", storage=Raising(error)).to_arrow(),
        lambda: lakebed.avro.read("s3://b/t/x", storage=Raising(error)).to_arrow(),
    ]
    for number, call in enumerate(calls):
        if isinstance(error, NotImplementedError) and number == 5:
            # So filesystems say that they keep no times.
            assert call() is None
            continue
        found = of_the_system(call)
        assert "s3://b/t/x" in str(found)
        assert found.__cause__ is None
        assert isinstance(found, PermissionError) is isinstance(error, PermissionError)
        if not isinstance(error, OSError):
            assert type(error).__name__ in str(found)
        assert CANARY not in told(pickle.loads(pickle.dumps(found)))


@pytest.mark.parametrize("error", [KeyboardInterrupt(), SystemExit(3)], ids=["interrupt", "exit"])
def test_what_ends_a_program_is_no_error_of_a_storage(error: BaseException) -> None:
    storage = FsspecStorage(Raising(error), "s3://b/t", "b/t")
    with pytest.raises(type(error)) as caught:
        storage.read("s3://b/t/x")
    assert caught.value is error


def test_what_a_library_lacks_is_what_python_calls_so() -> None:
    for given, kind in (
        (FileNotFoundError(TOKEN), FileNotFoundError),
        (PermissionError(13, "no"), PermissionError),
    ):
        storage = FsspecStorage(Raising(given, token=TOKEN), "s3://b/t", "b/t")
        found = raised(lambda storage=storage: storage.read("s3://b/t/x"))  # type: ignore[misc]
        assert type(found) is kind
        assert CANARY not in told(found)


class Client:
    """A `FileIO` that knows nothing but errors."""

    def __init__(self, error: Exception) -> None:
        self.error = error
        self.properties = {"s3.secret-access-key": SECRET, "token": TOKEN}

    def _raise(self, *_: Any, **__: Any) -> Any:
        raise self.error

    new_input = new_output = new_input_stream = list_status = get_file_status = delete = _raise


@pytest.mark.parametrize("error", ERRORS, ids=lambda error: type(error).__name__)
def test_a_file_io_raises_as_other_storages_do(error: Exception) -> None:
    io = Client(chained(error))
    iceberg, paimon = IcebergFiles(io, "s3://b/t"), PaimonFiles(io, "s3://b/t")
    calls: list[Callable[[], Any]] = [
        lambda: iceberg.read("s3://b/t/x"),
        lambda: iceberg.write("s3://b/t/x", b""),
        lambda: iceberg.remove("s3://b/t/x"),
        lambda: paimon.read("s3://b/t/x", 0, 9),
        lambda: paimon.list("s3://b/t/x"),
        lambda: paimon.contents("s3://b/t/x"),
        lambda: paimon.modified("s3://b/t/x"),
    ]
    for call in calls:
        of_the_system(call)


@pytest.mark.parametrize(
    ("error", "words"),
    [("OAuthError", "invalid_client"), ("ForbiddenError", "NotAuthorizedException"), ("ServerError", "…")],
)
def test_of_a_catalogs_answer_the_kind_stays(error: str, words: str) -> None:
    exceptions = pytest.importorskip("pyiceberg.exceptions")
    text = f"{words}: no grant for {TOKEN}" if words != "…" else f"no grant for {TOKEN}"
    assert f"{error}: {words}: 'db.t'" in str(failure(getattr(exceptions, error)(text), "db.t"))


def test_what_a_caller_handles_meanwhile_is_not_the_librarys() -> None:
    exceptions = pytest.importorskip("botocore.exceptions")
    storage = FsspecStorage(Raising(OSError(errno.ENOSPC, "the disk is full")), "s3://b/t", "b/t")
    try:
        raise exceptions.ClientError({"Error": {"Code": "NoSuchTagSet"}}, "GetBucketTagging")
    except exceptions.ClientError:
        found = raised(lambda: storage.read("s3://b/t/x"))
    assert "the disk is full" in str(found)
    assert "NoSuchTagSet" not in str(found)


def test_parts_of_secrets_are_secrets_and_counts_are_none(monkeypatch: pytest.MonkeyPatch) -> None:
    connection = f"AccountName=name;AccountKey={SECRET};EndpointSuffix=core.windows.net"
    storage = FsspecStorage(
        Raising(OSError(), connection_string=connection, credential=f"client:{TOKEN}"), "abfs://c@a/t", "c/t"
    )
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", f"/{SECRET}")
    monkeypatch.setenv("MAX_TOKENS", "8192")
    monkeypatch.setenv("SASL_MECHANISM", "PLAIN")
    text = f"8192 bytes in PLAIN of client: {SECRET} {TOKEN} /{SECRET} core.windows.net"
    words = str(failure(OSError(text), "abfs://c@a/t/x", *storage.holders))
    assert CANARY not in words
    assert "8192 bytes in PLAIN of client: … … … core.windows.net" in words
    # What says where and how to ask is shown.
    uri = "s3://bucket/t?scheme=http&endpoint_override=localhost&region=test-1&session_token=t0ken-of-uri"
    assert "localhost in test-1 http, …" in str(
        failure(OSError("localhost in test-1 http, t0ken-of-uri"), "s3://bucket/t", uri)
    )


def test_errors_of_clients_keep_their_codes() -> None:
    exceptions = pytest.importorskip("botocore.exceptions")
    answer: dict[str, Any] = {
        "Error": {"Code": "SlowDown", "Message": {"a": TOKEN}},
        "ResponseMetadata": {"HTTPStatusCode": 503},
    }
    error = failure(exceptions.ClientError(answer, "GetObject"), "s3://b/x")
    assert "ClientError: An error occurred (SlowDown) when calling the GetObject operation" in str(error)
    assert CANARY not in told(error)
    answer["Error"]["Code"] = f"Slow {TOKEN}"
    assert CANARY not in told(failure(exceptions.ClientError(answer, "GetObject"), "s3://b/x"))


def test_secrets_that_a_wrapped_filesystem_holds_are_known() -> None:
    from pyarrow import fs

    inner = fs.S3FileSystem(access_key="AKID", secret_key=SECRET, session_token=TOKEN, region="us-east-1")
    for outer in (inner, fs.SubTreeFileSystem("lake", inner)):
        storage = ArrowStorage(outer, "s3://lake", "lake")
        assert CANARY not in str(failure(OSError(f"bare {TOKEN} {SECRET}"), "s3://lake/x", *storage.holders))


def test_lakebeds_own_messages_have_no_credentials(tmp_path: Path) -> None:
    """A storage of one's own is asked for the URI as it was given, of which messages show less."""

    class Own:
        def read(self, path: str, start: int | None = None, end: int | None = None) -> bytes:
            if path.endswith("x.avro"):
                return b"no avro"
            raise FileNotFoundError(path)

        def list(self, prefix: str) -> list[str]:
            raise FileNotFoundError(prefix)

    uri = f"s3://AKID:{CANARY}/Se?cret@lake/wh/t?sig={CANARY}"
    works: list[Callable[[], Any]] = [
        lambda: lakebed.open_table(uri, storage=Own()),
        lambda: lakebed.open_table(f"{uri}/v1.metadata.json", storage=Own()),
        lambda: lakebed.find_tables(uri, storage=Own()).to_arrow(),
        lambda: lakebed.open_table(tmp_path, relocate={"a": f"s3://u:{CANARY}@h/x"}),
        lambda: lakebed.open_table(tmp_path, allowed_prefixes=[f"s3://u:{CANARY}@h/x"]),
        lambda: lakebed.open_table(f"nosuch://u:{CANARY}@h/x?token={CANARY}"),
        lambda: lakebed.open_table(f"s3://u:{CANARY}/{CANARY}@h/x?token={CANARY}"),
    ]
    for work in works:
        assert CANARY not in told(raised(work))
