//! Percent-encoding (RFC 3986, section 2.1).

use std::borrow::Cow;

/// The bytes with each `%XX` decoded once.
pub(crate) fn decoded(bytes: &[u8]) -> Cow<'_, [u8]> {
    if !bytes.contains(&b'%') {
        return Cow::Borrowed(bytes);
    }
    let mut decoded = Vec::with_capacity(bytes.len());
    let mut rest = bytes;
    while let Some((&byte, behind)) = rest.split_first() {
        let code = encoded(rest);
        decoded.push(code.unwrap_or(byte));
        rest = if code.is_some() { behind.get(2..).unwrap_or_default() } else { behind };
    }
    Cow::Owned(decoded)
}

/// The bytes with each `%XX` decoded until none is left, in one pass: what is decoded may be part of another one.
pub(crate) fn decoded_to_the_end(bytes: &[u8]) -> Vec<u8> {
    let mut decoded = Vec::with_capacity(bytes.len());
    for &byte in bytes {
        decoded.push(byte);
        while let Some(start) = decoded.len().checked_sub(3)
            && let Some(code) = decoded.get(start..).and_then(encoded)
        {
            decoded.truncate(start);
            decoded.push(code);
        }
    }
    decoded
}

/// The byte that the beginning of these bytes encodes.
fn encoded(bytes: &[u8]) -> Option<u8> {
    let &[b'%', high, low] = bytes.first_chunk()? else { return None };
    let digit = |byte| char::from(byte).to_digit(16);
    u8::try_from(digit(high)? * 16 + digit(low)?).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_are_decoded_once_or_to_the_end() {
        for (encoded, once, end) in [
            ("a/b", "a/b", "a/b"),
            ("%41%2e%2E", "A..", "A.."),
            ("%2541", "%41", "A"),
            ("%25%34%31", "%41", "A"),
            ("%%34%31", "%41", "A"),
            ("%2525252e", "%25252e", "."),
            ("100%", "100%", "100%"),
            ("%+1%zz%4", "%+1%zz%4", "%+1%zz%4"),
        ] {
            assert_eq!(*decoded(encoded.as_bytes()), *once.as_bytes(), "{encoded}");
            assert_eq!(decoded_to_the_end(encoded.as_bytes()), end.as_bytes(), "{encoded}");
        }
        let hostile = format!("%{}2e", "25".repeat(1_000_000));
        assert_eq!(decoded_to_the_end(hostile.as_bytes()), b".");
    }
}
