"""Encrypted copies of Iceberg's metadata, as Iceberg 1.12 encrypts it: AES-GCM in blocks of a mebibyte."""

from __future__ import annotations

import base64
import io
import json
import os
from pathlib import Path
from typing import Any

import fastavro
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from iceberg_tables import current_snapshot, local

MASTER = bytes(range(16))
"""The key that a key management service would have."""
_KEY, _PREFIX, _WRAPPING = bytes(range(16, 32)), bytes(range(32, 48)), bytes(range(48, 64))
_BLOCK = 1 << 20
_CREATED = "1795660437493"


def unwrap(wrapped: bytes, key_id: str) -> bytes:
    """The key that these bytes wrap; what `keys=` takes."""
    return AESGCM(MASTER).decrypt(wrapped[:12], wrapped[12:], key_id.encode())


def encrypted_copy(metadata_file: Path, folder: Path) -> None:
    """A table of the same manifests, encrypted, whose metadata is in that folder under the same names."""
    metadata: dict[str, Any] = json.loads(metadata_file.read_text())
    snapshot = current_snapshot(metadata)
    (folder / "metadata").mkdir(parents=True)

    def write(path: str, text: bytes) -> tuple[str, bytes, int]:
        stream = b"AGS1" + _BLOCK.to_bytes(4, "little")
        for number, start in enumerate(range(0, len(text), _BLOCK)):
            nonce, bound = os.urandom(12), _PREFIX + number.to_bytes(4, "little")
            stream += nonce + AESGCM(_KEY).encrypt(nonce, text[start : start + _BLOCK], bound)
        target = folder / "metadata" / Path(path).name
        target.write_bytes(stream)
        return target.as_uri(), _key_metadata(len(stream)), len(stream)

    with local(snapshot["manifest-list"]).open("rb") as file:
        reader = fastavro.reader(file)
        listed: list[Any] = list(reader)
        schema, header = reader.writer_schema, reader.metadata
    for one in listed:
        path = one["manifest_path"]
        one["manifest_path"], one["key_metadata"], one["manifest_length"] = write(
            path, local(path).read_bytes()
        )
    text = io.BytesIO()
    own = {name: value for name, value in header.items() if not name.startswith("avro.")}
    fastavro.writer(text, schema, listed, codec=header["avro.codec"], metadata=own)
    snapshot["manifest-list"], of_list, _ = write(snapshot["manifest-list"], text.getvalue())
    snapshot["key-id"] = "list"
    properties = {"KEY_TIMESTAMP": _CREATED}
    wrapping = {**_wrapped("wrapping", _WRAPPING, MASTER, "master"), "properties": properties}
    metadata["encryption-keys"] = [
        {**wrapping, "encrypted-by-id": "master"},
        {**_wrapped("list", of_list, _WRAPPING, _CREATED), "encrypted-by-id": "wrapping"},
    ]
    metadata["location"], metadata["properties"]["encryption.key-id"] = folder.as_uri(), "master"
    (folder / "metadata" / metadata_file.name).write_text(json.dumps(metadata))


def _wrapped(name: str, key: bytes, by: bytes, bound: str) -> dict[str, Any]:
    nonce = os.urandom(12)
    text = nonce + AESGCM(by).encrypt(nonce, key, bound.encode())
    return {"key-id": name, "encrypted-key-metadata": base64.b64encode(text).decode()}


def _key_metadata(length: int) -> bytes:
    """A key, what begins the additional data, the length of the file. Source: `StandardKeyMetadata.java`."""
    fields = {"type": "record", "name": "key_metadata", "fields": _FIELDS}
    text = io.BytesIO()
    record = {"encryption_key": _KEY, "aad_prefix": _PREFIX, "file_length": length}
    fastavro.schemaless_writer(text, fields, record)
    return b"\x01" + text.getvalue()


_FIELDS = [
    {"name": "encryption_key", "type": "bytes"},
    {"name": "aad_prefix", "type": ["null", "bytes"]},
    {"name": "file_length", "type": ["null", "long"]},
]
