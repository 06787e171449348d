//! SQL `LIKE`: `%` matches any text, `_` one character.

/// A compiled pattern; matches the whole of a UTF-8 text.
#[derive(Debug, Clone)]
pub(super) struct LikePattern(Vec<Piece>);

#[derive(Debug, Clone, Copy, PartialEq)]
enum Piece {
    Byte(u8),
    OneCharacter,
    AnyText,
}

impl LikePattern {
    /// Compiles `pattern`. `Err` says what is wrong with its escapes: `escape` must be followed by `%`, `_`
    /// or itself (as in Paimon's `Like.java` and in the SQL standard).
    pub(super) fn compile(pattern: &str, escape: char) -> Result<LikePattern, String> {
        let mut pieces = Vec::with_capacity(pattern.len());
        let mut characters = pattern.chars();
        while let Some(character) = characters.next() {
            let literal = match character {
                c if c == escape => match characters.next() {
                    Some(c) if c == '%' || c == '_' || c == escape => c,
                    Some(c) => {
                        return Err(format!("{escape:?} may escape only '%', '_' and itself, not {c:?}"));
                    }
                    None => return Err(format!("nothing follows the escape character {escape:?}")),
                },
                '%' => {
                    pieces.push(Piece::AnyText);
                    continue;
                }
                '_' => {
                    pieces.push(Piece::OneCharacter);
                    continue;
                }
                c => c,
            };
            pieces.extend(literal.encode_utf8(&mut [0; 4]).bytes().map(Piece::Byte));
        }
        // Several % in a row are the same as one.
        pieces.dedup_by(|a, b| *a == Piece::AnyText && *b == Piece::AnyText);
        Ok(LikePattern(pieces))
    }

    /// The prefix in bytes of every matching text, and whether any text with the prefix matches.
    pub(super) fn prefix(&self) -> (Vec<u8>, bool) {
        let literal = |piece: &Piece| match piece {
            Piece::Byte(byte) => Some(*byte),
            _ => None,
        };
        let bytes: Vec<u8> = self.0.iter().map_while(literal).collect();
        let rest = self.0.get(bytes.len()..).unwrap_or_default();
        let is_all = *rest == [Piece::AnyText];
        (bytes, is_all)
    }

    /// Whether all of `text` matches. The cost is at most the product of both lengths, without recursion:
    /// only the last `%` needs to be tried again, with one more character.
    pub(super) fn matches(&self, text: &[u8]) -> bool {
        let (mut at, mut piece) = (0, 0);
        let mut retry: Option<(usize, usize)> = None;
        loop {
            match self.0.get(piece) {
                Some(Piece::AnyText) => {
                    piece += 1;
                    retry = Some((at, piece));
                    continue;
                }
                Some(Piece::Byte(byte)) if text.get(at) == Some(byte) => {
                    (at, piece) = (at + 1, piece + 1);
                    continue;
                }
                Some(Piece::OneCharacter) if at < text.len() => {
                    (at, piece) = (next_character(text, at), piece + 1);
                    continue;
                }
                None if at == text.len() => return true,
                _ => {}
            }
            match retry {
                Some((start, after)) if start < text.len() => {
                    (at, piece) = (next_character(text, start), after);
                    retry = Some((at, after));
                }
                _ => return false,
            }
        }
    }
}

/// The position of the character after the one at `at`.
fn next_character(text: &[u8], at: usize) -> usize {
    let rest = text.iter().skip(at + 1);
    at + 1 + rest.take_while(|byte| **byte & 0b1100_0000 == 0b1000_0000).count()
}
