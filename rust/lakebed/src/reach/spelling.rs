//! What different spellings of a path have in common. Inventories of buckets have URL-encoded keys, and other tools
//! change case, Unicode normalization or slashes: a file that is reached is then listed under a name that nothing
//! has.

use std::borrow::Cow;
use std::collections::HashMap;

use crate::percent::decoded_to_the_end;

/// A path as all its spellings have it: URL-decoded, with `/` for `\` and a space for `+`, in lower case, without
/// what is not ASCII. Other paths may have the same.
pub(super) fn folded(path: &str) -> Cow<'_, str> {
    let is_plain = |byte: u8| byte.is_ascii() && !byte.is_ascii_uppercase() && !b"%+\\".contains(&byte);
    if path.bytes().all(is_plain) {
        return Cow::Borrowed(path);
    }
    Cow::Owned(ascii(&text(path)))
}

/// The text without what is not ASCII, and without the letters that are one character with it in other spellings.
fn ascii(text: &str) -> String {
    let mut ascii = String::with_capacity(text.len());
    let mut follows_ascii = false;
    for character in text.chars() {
        if character.is_ascii() {
            ascii.push(character);
        } else if follows_ascii && is_mark(character) {
            ascii.pop();
        }
        follows_ascii = character.is_ascii();
    }
    ascii
}

/// A path, URL-decoded, with `/` for `\` and a space for `+`, in lower case.
fn text(path: &str) -> String {
    // Names of partitions are encoded, and an inventory encodes them once more.
    let bytes = decoded_to_the_end(path.as_bytes());
    let lower = |character: char| match character {
        '\\' => '/'.to_lowercase(),
        '+' => ' '.to_lowercase(),
        // At the end of a word.
        'ς' => 'σ'.to_lowercase(),
        _ => character.to_lowercase(),
    };
    String::from_utf8_lossy(&bytes).chars().flat_map(lower).collect()
}

/// Whether a character combines with the letter before it.
fn is_mark(character: char) -> bool {
    matches!(character, '\u{300}'..='\u{36f}')
}

/// Whether Unicode may have other characters for a text: another normalization has a mark, or a part of a letter,
/// in one of the two. Texts of the other characters are the same only if they are equal.
fn has_forms(text: &str) -> bool {
    let has_one_form = |character: char| {
        matches!(character, '\0'..='\u{2ff}' | '\u{388}'..='\u{482}' | '\u{48a}'..='\u{590}')
            || matches!(character, '\u{1e00}'..='\u{1eff}' | '\u{2010}'..='\u{206f}')
            || matches!(character, '\u{3000}'..='\u{3029}' | '\u{3041}'..='\u{3096}' | '\u{309b}'..='\u{30ff}')
            || matches!(character, '\u{3400}'..='\u{4dbf}' | '\u{4e00}'..='\u{9fff}' | '\u{ac00}'..='\u{d7a3}')
            || matches!(character, '\u{ff01}'..='\u{ff60}' | '\u{1f300}'..='\u{1faff}')
            || matches!(character, '\u{20000}'..='\u{2f7ff}' | '\u{30000}'..='\u{3ffff}')
    };
    !text.chars().all(has_one_form)
}

/// Some paths, by what all spellings of them have.
#[derive(Default)]
pub(super) struct Spellings<'p> {
    folded: HashMap<String, SimilarPaths<'p>>,
    texts: HashMap<String, &'p str>,
}

/// Paths that are folded to the same.
struct SimilarPaths<'p> {
    any: &'p str,
    /// One of which Unicode may have another form.
    with_forms: Option<&'p str>,
}

impl<'p> Spellings<'p> {
    pub(super) fn of(paths: impl Iterator<Item = &'p str>) -> Spellings<'p> {
        let mut spellings = Spellings::default();
        for path in paths {
            let text = text(path);
            let alike = spellings.folded.entry(ascii(&text));
            let alike = alike.or_insert(SimilarPaths { any: path, with_forms: None });
            if has_forms(&text) {
                alike.with_forms = Some(path);
            }
            spellings.texts.insert(text, path);
        }
        spellings
    }

    /// The path of which another one may be a spelling.
    pub(super) fn find(&self, other: &str) -> Option<&'p str> {
        let alike = self.folded.get(&*folded(other))?;
        let text = text(other);
        if has_forms(&text) {
            return Some(alike.any);
        }
        alike.with_forms.or_else(|| self.texts.get(&text).copied())
    }
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
            ("/t/CAF\u{c9}/f", "/t/caf\u{e9}/f"),
            ("/t/\u{39f}\u{3a3}/f", "/t/\u{3bf}\u{3c2}/f"),
            ("/t/city=北京/f", "/t/city%3D%E5%8C%97%E4%BA%AC/f"),
            ("/t/\u{304c}/f", "/t/\u{304b}\u{3099}/f"),
            ("/t/\u{d55c}/f", "/t/\u{1112}\u{1161}\u{11ab}/f"),
            ("/t/\u{9cb}/f", "/t/\u{9c7}\u{9be}/f"),
            ("/t/Data/F", "/t/data/f"),
            ("/t/data/f", "\\t\\data\\f"),
        ] {
            assert_eq!(folded(one), folded(other), "{one}");
            assert_eq!(Spellings::of(std::iter::once(one)).find(other), Some(one));
            assert_eq!(Spellings::of(std::iter::once(other)).find(one), Some(other));
        }
    }

    #[test]
    fn other_paths_are_not() {
        for (one, other) in [
            ("/t/a", "/t/b"),
            ("/t/100%", "/t/100"),
            ("/t/%zz", "/t/zz"),
            ("/t/e", "/t/\u{e9}"),
            ("/t/city=北京/part-0", "/t/city=上海/part-0"),
            ("/t/city=서울/part-0", "/t/city=부산/part-0"),
            ("/t/city=Рига/part-0", "/t/city=Омск/part-0"),
            ("/t/\u{e9}", "/t/\u{e8}"),
        ] {
            assert_eq!(Spellings::of(std::iter::once(one)).find(other), None, "{one}");
        }
    }

    #[test]
    fn hostile_paths_take_time_by_their_length() {
        let path = format!("/x/%{}41", "25".repeat(500_000));
        assert_eq!(folded(&path), "/x/a");
    }
}
