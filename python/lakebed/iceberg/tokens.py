"""Texts that a planner gives its clients and takes back: signed, so that nobody else makes or changes one."""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
import json
import zlib
from typing import Any, TypeAlias

Content: TypeAlias = dict[str, Any]
"""What a token says, as JSON has it."""

_MAC_BYTES = hashlib.sha256().digest_size


def signed(secret: bytes, purpose: str, content: Content) -> str:
    """A token for one purpose: URL-safe base64 of a HMAC-SHA256 and the compressed JSON of the content."""
    text = json.dumps(content, separators=(",", ":"), sort_keys=True)
    body = zlib.compress(text.encode("utf-8", "surrogatepass"), 9)
    return base64.urlsafe_b64encode(_mac(secret, purpose, body) + body).rstrip(b"=").decode()


def verified(secret: bytes, purpose: str, token: str, most_chars: int) -> Content | None:
    """What a token says; None where this secret did not sign it for this purpose, and for a longer one.

    Nothing of it is inflated or parsed before that is known.
    """
    if len(token) > most_chars or not token.isascii():
        return None
    try:
        raw = base64.b64decode(token + "=" * (-len(token) % 4), altchars=b"-_", validate=True)
    except binascii.Error:
        return None
    mac, body = raw[:_MAC_BYTES], raw[_MAC_BYTES:]
    # One spelling alone: base64 leaves bits of the last letter to chance.
    same = base64.urlsafe_b64encode(raw).rstrip(b"=").decode() == token
    if not hmac.compare_digest(mac, _mac(secret, purpose, body)) or not same:
        return None
    content: Content = json.loads(zlib.decompress(body))
    return content


def _mac(secret: bytes, purpose: str, body: bytes) -> bytes:
    return hmac.digest(secret, f"lakebed {purpose}\0".encode() + body, "sha256")
