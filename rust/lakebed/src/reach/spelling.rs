//! What different spellings of a path have in common. Inventories of buckets have URL-encoded keys, and other tools
//! change case, Unicode normalization or slashes: a file that is reached is then listed under a name that nothing
//! has.

use std::borrow::Cow;

/// A path as all its spellings have it: URL-decoded, with `/` for `\` and a space for `+`, in lower case, without
/// what is not ASCII. Other paths may have the same.
pub(super) fn folded(path: &str) -> Cow<'_, str> {
    let is_plain = |byte: u8| byte.is_ascii() && !byte.is_ascii_uppercase() && !b"%+\\".contains(&byte);
    if path.bytes().all(is_plain) {
        return Cow::Borrowed(path);
    }
    let mut bytes = path.as_bytes().to_vec();
    // Names of partitions are encoded, and an inventory encodes them once more.
    while let Some(decoded) = decoded(&bytes) {
        bytes = decoded;
    }
    let mut folded = String::with_capacity(bytes.len());
    let mut before = 0;
    for byte in bytes {
        match byte {
            b'\\' => folded.push('/'),
            b'+' => folded.push(' '),
            _ if byte.is_ascii() => folded.push(byte.to_ascii_lowercase().into()),
            // The first byte of a combining mark, U+0300 to U+036F: it and the letter before are one character
            // elsewhere.
            0xCC | 0xCD if before < 0x80 => _ = folded.pop(),
            _ => {}
        }
        before = byte;
    }
    Cow::Owned(folded)
}

/// The bytes with each `%XX` decoded; `None` where there is none.
pub(super) fn decoded(bytes: &[u8]) -> Option<Vec<u8>> {
    let mut decoded = Vec::with_capacity(bytes.len());
    let mut rest = bytes;
    while let Some((byte, behind)) = rest.split_first() {
        let digit = |at: usize| char::from(*behind.get(at)?).to_digit(16);
        match (byte, digit(0).zip(digit(1))) {
            (b'%', Some((high, low))) => {
                decoded.push(u8::try_from(high * 16 + low).ok()?);
                rest = behind.get(2..)?;
            }
            _ => {
                decoded.push(*byte);
                rest = behind;
            }
        }
    }
    (decoded.len() < bytes.len()).then_some(decoded)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spellings_of_one_path_are_equal() {
        for (one, other) in [
            ("/t/day=1/a b+c.parquet", "/t/day%3D1/a+b%2Bc.parquet"),
            ("/t/day=1", "%2Ft%2Fday%3d1"),
            ("/t/x=a%3Db/f", "/t/x%3Da%253Db/f"),
            ("/t/caf\u{e9}/f", "/t/cafe\u{301}/f"),
            ("/t/caf\u{e9}/f", "/t/caf%C3%A9/f"),
            ("/t/Data/F", "/t/data/f"),
            ("/t/data/f", "\\t\\data\\f"),
        ] {
            assert_eq!(folded(one), folded(other), "{one}");
        }
        for (one, other) in
            [("/t/a", "/t/b"), ("/t/100%", "/t/100"), ("/t/%zz", "/t/zz"), ("/t/e", "/t/\u{e9}")]
        {
            assert_ne!(folded(one), folded(other), "{one}");
        }
    }
}
