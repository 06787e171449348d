"""Numbers of seven bits a byte, as Avro, Thrift and Protobuf write them."""

from __future__ import annotations


def varint(number: int) -> bytes:
    out = bytearray()
    number &= (1 << 64) - 1
    while number > 0x7F:
        out.append(number & 0x7F | 0x80)
        number >>= 7
    return bytes([*out, number])


def zigzag(number: int) -> bytes:
    """A number of either sign."""
    return varint(number << 1 ^ number >> 63)


def read_varint(data: bytes, at: int) -> tuple[int, int]:
    """A number, and where the next one begins. Raises: IndexError where the data end."""
    number = shift = 0
    while True:
        byte = data[at]
        number |= (byte & 0x7F) << shift
        at, shift = at + 1, shift + 7
        if byte < 0x80:
            return number, at


def read_zigzag(data: bytes, at: int) -> tuple[int, int]:
    """The same of a number of either sign."""
    number, at = read_varint(data, at)
    return (number >> 1) ^ -(number & 1), at
