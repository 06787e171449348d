//! UUIDs, 16 bytes each, as text.

use std::fmt::{self, Write};

/// The bytes that have a hyphen before them.
const GROUPS: [usize; 4] = [4, 6, 8, 10];

/// Appends a UUID in lower case with hyphens.
pub(crate) fn write_uuid(out: &mut String, uuid: &[u8; 16]) -> fmt::Result {
    for (position, byte) in uuid.iter().enumerate() {
        if GROUPS.contains(&position) {
            out.push('-');
        }
        write!(out, "{byte:02x}")?;
    }
    Ok(())
}

/// The bytes of 32 hex digits in any case, with all hyphens at their places or without any.
pub(crate) fn parse_uuid(text: &str) -> Option<[u8; 16]> {
    let bytes = text.as_bytes();
    let hyphens = match bytes.len() {
        32 => 0,
        36 => 1,
        _ => return None,
    };
    let mut uuid = [0; 16];
    let mut at = 0;
    for (position, byte) in uuid.iter_mut().enumerate() {
        if hyphens > 0 && GROUPS.contains(&position) {
            at += usize::from(bytes.get(at) == Some(&b'-'));
        }
        *byte = super::hex::byte(bytes.get(at..at + 2)?)?;
        at += 2;
    }
    (at == bytes.len()).then_some(uuid)
}
