//! Bytes as hexadecimal digits.

use std::fmt::{self, Write};

/// Appends two digits per byte, in lower case.
pub(crate) fn write_hex(out: &mut String, bytes: &[u8]) -> fmt::Result {
    bytes.iter().try_for_each(|byte| write!(out, "{byte:02x}"))
}

/// The bytes of a text with two digits per byte, in any case.
pub(crate) fn parse_hex(text: &str) -> Option<Vec<u8>> {
    text.as_bytes().chunks(2).map(byte).collect()
}

/// The byte of two digits.
pub(super) fn byte(digits: &[u8]) -> Option<u8> {
    let digit = |digit: u8| char::from(digit).to_digit(16);
    match digits {
        [high, low] => u8::try_from(digit(*high)? << 4 | digit(*low)?).ok(),
        _ => None,
    }
}
