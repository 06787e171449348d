"""Arrow of other producers, as the C data interface has it: what contradicts it is an error, and no panic."""

from __future__ import annotations

import ctypes
from types import SimpleNamespace
from typing import Any

import pytest

from lakebed import Limits, _native, _sink, avro

RELEASE = ctypes.CFUNCTYPE(None, ctypes.c_void_p)


class CSchema(ctypes.Structure):
    """`struct ArrowSchema`."""


CSchema._fields_ = [
    ("format", ctypes.c_char_p),
    ("name", ctypes.c_char_p),
    ("metadata", ctypes.c_char_p),
    ("flags", ctypes.c_int64),
    ("n_children", ctypes.c_int64),
    ("children", ctypes.POINTER(ctypes.POINTER(CSchema))),
    ("dictionary", ctypes.POINTER(CSchema)),
    ("release", RELEASE),
    ("private_data", ctypes.c_void_p),
]
GET_SCHEMA = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.POINTER(CSchema))
GET_NEXT = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p)
LAST_ERROR = ctypes.CFUNCTYPE(ctypes.c_char_p, ctypes.c_void_p)


class CStream(ctypes.Structure):
    """`struct ArrowArrayStream`."""

    _fields_ = [
        ("get_schema", GET_SCHEMA),
        ("get_next", GET_NEXT),
        ("get_last_error", LAST_ERROR),
        ("release", RELEASE),
        ("private_data", ctypes.c_void_p),
    ]


@RELEASE  # type: ignore[untyped-decorator]
def release_schema(schema: int) -> None:
    """Python keeps the memory, for longer than the test."""
    CSchema.from_address(schema).release = RELEASE(0)


@RELEASE  # type: ignore[untyped-decorator]
def release_stream(stream: int) -> None:
    CStream.from_address(stream).release = RELEASE(0)


def field(kind: bytes, name: bytes = b"a", /, *children: CSchema, **parts: Any) -> CSchema:
    pointers = (ctypes.POINTER(CSchema) * len(children))(*map(ctypes.pointer, children))
    made = CSchema(kind, name, None, 2, len(children), pointers, None, release_schema, None)
    for part, value in parts.items():
        setattr(made, part, value)
    return made


def nested(depth: int) -> CSchema:
    made = field(b"i")
    for _ in range(depth):
        made = field(b"+l", b"a", made)
    return made


class Producer:
    """A stream of no batches, whose columns are `columns`."""

    def __init__(self, *columns: CSchema) -> None:
        root = field(b"+s", b"", *columns)

        def get_schema(_: int, out: Any) -> int:
            ctypes.memmove(out, ctypes.byref(root), ctypes.sizeof(root))
            return 0

        def get_next(_: int, out: int) -> int:
            ctypes.memset(out, 0, 80)
            return 0

        callbacks = (GET_SCHEMA(get_schema), GET_NEXT(get_next), LAST_ERROR(lambda _: b""), release_stream)
        self.stream = CStream(*callbacks)

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        new = ctypes.pythonapi.PyCapsule_New
        new.restype, new.argtypes = ctypes.py_object, [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
        return new(ctypes.addressof(self.stream), b"arrow_array_stream", None)


def write(producer: Producer) -> bytes:
    """`avro.write` without pyarrow, which judges streams itself, in between."""
    encoding = _sink.encoding("null", None, 64_000, None, False, 1)
    writing = SimpleNamespace(schema=None, encoding=encoding, metadata=[], overwrite=False, limits=Limits())
    written = _native.avro_write(producer, _sink.target(None), writing)
    assert isinstance(written, bytes)
    return written


def test_a_stream_that_is_right_is_taken() -> None:
    written = write(Producer(field(b"i"), field(b"+l", b"b", field(b"u"))))
    assert avro.read(written).schema.names == ["a", "b"]


@pytest.mark.parametrize(
    ("column", "message"),
    [
        (field(b"i", b"\xff"), "name is not UTF-8"),
        (field(b"\xff"), "format is not UTF-8"),
        (field(b"i", format=None), "format is missing"),
        (field(b"+s", b"a", field(b"i", b"\xc3")), "name is not UTF-8"),
        (field(b"i", dictionary=ctypes.pointer(field(b"u", b"\xff"))), "name is not UTF-8"),
        (field(b"+l"), "children are missing"),
        (field(b"+r", b"a", field(b"i")), "children are missing"),
        (field(b"+s", n_children=-1), "negative count"),
        (field(b"+s", n_children=2, children=None), "children are missing"),
    ],
)
def test_what_contradicts_the_interface_is_an_error(column: CSchema, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        write(Producer(column))


def test_a_type_within_a_hundred_thousand_others_is_an_error() -> None:
    with pytest.raises(ValueError, match="nested too deeply"):
        write(Producer(nested(100_000)))
