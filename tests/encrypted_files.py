"""Encrypted files of Iceberg's metadata by Python's `cryptography`, and a service that keeps keys."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from cryptography.hazmat.primitives.ciphers.aead import AESGCM

OVERHEAD = 28
"""Bytes of a block beside its text."""


@dataclass(frozen=True)
class GoldenKeys:
    """A service that keeps the keys of encrypted golden tables, by their ids."""

    masters: dict[str, str]

    def unwrap(self, wrapped: bytes, key_id: str) -> bytes:
        """The key that these bytes wrap."""
        return AESGCM(bytes.fromhex(self.masters[key_id])).decrypt(
            wrapped[:12], wrapped[12:], key_id.encode()
        )

    def module(self, folder: Path) -> Path:
        """A module with this service and its function, as commands take it: `client` and `unwrap`."""
        file = folder / "keys.py"
        file.write_text(
            "from encrypted_files import GoldenKeys\n"
            f"client = GoldenKeys({self.masters!r})\n"
            "unwrap = client.unwrap\n"
        )
        return file


def key_and_prefix(metadata: bytes) -> tuple[bytes, bytes]:
    """Of key metadata, whose lengths are below 64, the key and what begins its additional data."""
    assert metadata[0] == 1
    length = metadata[1] // 2
    key, rest = metadata[2 : 2 + length], metadata[2 + length :]
    return key, rest[2 : 2 + rest[1] // 2] if rest[0] else b""


def decrypted(stream: bytes, metadata: bytes) -> bytes:
    """The text of an encrypted file."""
    assert stream[:4] == b"AGS1"
    key, prefix = key_and_prefix(metadata)
    size, text, blocks = int.from_bytes(stream[4:8], "little") + OVERHEAD, b"", stream[8:]
    for number, start in enumerate(range(0, len(blocks), size)):
        block = blocks[start : start + size]
        text += AESGCM(key).decrypt(block[:12], block[12:], prefix + number.to_bytes(4, "little"))
    return text


def encrypted(text: bytes, metadata: bytes, size: int = 1 << 20) -> bytes:
    """A file with this text, by the key of this metadata."""
    key, prefix = key_and_prefix(metadata)
    stream = b"AGS1" + size.to_bytes(4, "little")
    for number, start in enumerate(range(0, max(len(text), 1), size)):
        nonce = number.to_bytes(12, "big")
        bound = prefix + number.to_bytes(4, "little")
        stream += nonce + AESGCM(key).encrypt(nonce, text[start : start + size], bound)
    return stream
