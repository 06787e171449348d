//! Passes over JSON of which nothing is wanted, or only whole numbers, by the grammar of serde_json, and faster.
//!
//! What is not accepted here is not refused: serde_json reads it, and says what is wrong. So texts that are refused,
//! and where, do not depend on what is wanted.

/// A value of as many bytes is kept, so that the same one is found by comparing bytes: schemas differ little.
const LONG: usize = 1024;

/// The most keys that are kept, and the most bytes of each.
const MOST_KEYS: usize = 64;
const MOST_KEY_BYTES: usize = 128;

/// How many objects and arrays may be open.
const MOST_OPEN: u32 = u64::BITS;

const ONES: u64 = u64::MAX / 255;
const HIGHS: u64 = ONES << 7;

/// Why a value was not passed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::iceberg) enum Stop {
    /// The text ends before it does.
    Cut,
    /// serde_json has to read it.
    Unusual,
}

pub(in crate::iceberg) type Passed<T = usize> = std::result::Result<T, Stop>;

/// The keys that were passed, in their order, each with its colon and the blanks around that. Those of the next object
/// are mostly the same: then a key is passed by one comparison.
#[derive(Debug, Default)]
struct Keys {
    texts: Vec<Vec<u8>>,
    next: usize,
}

impl Keys {
    /// The place of the value whose key is at `at`.
    #[inline]
    fn after(&mut self, json: &[u8], at: usize) -> Passed {
        let place = self.next;
        self.next += 1;
        let rest = json.get(at..).unwrap_or_default();
        match self.texts.get(place).filter(|text| rest.starts_with(text)) {
            Some(text) => Ok(blanks(json, at + text.len())),
            None => self.learn(json, at, place),
        }
    }

    fn learn(&mut self, json: &[u8], at: usize, place: usize) -> Passed {
        let start = after_key(json, at)?;
        let text = json.get(at..start).unwrap_or_default();
        if text.len() <= MOST_KEY_BYTES {
            match self.texts.get_mut(place) {
                Some(known) => text.clone_into(known),
                None if place < MOST_KEYS => self.texts.push(text.to_vec()),
                None => {}
            }
        }
        Ok(start)
    }

    /// The end of the value at `at`. One that is no object, array or string must not end with the text.
    fn value(&mut self, json: &[u8], at: usize) -> Passed {
        // A bit for each open object or array: set for objects.
        let (mut open, mut depth) = (0_u64, 0_u32);
        let mut at = blanks(json, at);
        loop {
            at = match byte(json, at)? {
                b'"' => string(json, at)?,
                opening @ (b'{' | b'[') => {
                    let first = blanks(json, at + 1);
                    // A closing bracket is two after its opening one, in ASCII.
                    if byte(json, first)? == opening + 2 {
                        first + 1
                    } else if depth == MOST_OPEN {
                        return Err(Stop::Unusual);
                    } else {
                        (open, depth) = (open << 1 | u64::from(opening == b'{'), depth + 1);
                        at = if opening == b'{' { self.after(json, first)? } else { first };
                        continue;
                    }
                }
                b'-' | b'0'..=b'9' => number(json, at)?,
                b't' => literal(json, at, b"true")?,
                b'f' => literal(json, at, b"false")?,
                b'n' => literal(json, at, b"null")?,
                _ => return Err(Stop::Unusual),
            };
            loop {
                if depth == 0 {
                    return Ok(at);
                }
                at = blanks(json, at);
                let in_object = open & 1 == 1;
                match byte(json, at)? {
                    b',' => {
                        at = blanks(json, at + 1);
                        if in_object {
                            at = self.after(json, at)?;
                        }
                        break;
                    }
                    b'}' if in_object => {}
                    b']' if !in_object => {}
                    _ => return Err(Stop::Unusual),
                }
                (open, depth, at) = (open >> 1, depth - 1, at + 1);
            }
        }
    }
}

/// The members of the object that a text is: each key in quotes, and each value.
pub(in crate::iceberg) fn members(json: &str) -> Passed<Vec<(&str, &str)>> {
    let text = |start: usize, end: usize| json.get(start..end).ok_or(Stop::Unusual);
    let (bytes, mut keys, mut members) = (json.as_bytes(), Keys::default(), Vec::new());
    let open = blanks(bytes, 0);
    if byte(bytes, open)? != b'{' {
        return Err(Stop::Unusual);
    }
    let mut at = blanks(bytes, open + 1);
    loop {
        let start = after_key(bytes, at)?;
        let key = text(at, string(bytes, at)?)?;
        let end = keys.value(bytes, start)?;
        members.push((key, text(start, end)?));
        at = blanks(bytes, end);
        match byte(bytes, at)? {
            b',' => at = blanks(bytes, at + 1),
            b'}' if blanks(bytes, at + 1) == bytes.len() => return Ok(members),
            _ => return Err(Stop::Unusual),
        }
    }
}

/// Passes over values that resemble each other.
#[derive(Debug, Default)]
pub(super) struct Objects {
    keys: Keys,
    /// The last long value that was passed: an object, an array or a string.
    long: Vec<u8>,
}

impl Objects {
    /// The end of the value at the start of the text.
    pub(super) fn value(&mut self, json: &[u8]) -> Passed {
        self.keys.next = 0;
        self.keys.value(json, 0)
    }

    /// The whole numbers with these keys in the object at the start of the text, and its end. Any key may be absent.
    pub(super) fn numbers<const N: usize>(
        &mut self,
        json: &[u8],
        keys: [&str; N],
    ) -> Passed<([Option<i64>; N], usize)> {
        let mut found = [None; N];
        self.keys.next = 0;
        if byte(json, 0)? != b'{' {
            return Err(Stop::Unusual);
        }
        let mut at = blanks(json, 1);
        loop {
            let start = self.keys.after(json, at)?;
            let key = plain_key(json.get(at + 1..start).unwrap_or_default())?;
            let wanted = keys.iter().position(|wanted| wanted.as_bytes() == key);
            let place = wanted.and_then(|place| found.get_mut(place));
            let rest = json.get(start..).unwrap_or_default();
            let end = match place {
                Some(place) => {
                    let end = self.keys.value(json, start)?;
                    if place.replace(whole(json.get(start..end).unwrap_or_default())?).is_some() {
                        return Err(Stop::Unusual);
                    }
                    end
                }
                None if !self.long.is_empty() && rest.starts_with(&self.long) => start + self.long.len(),
                None => self.passed(json, start)?,
            };
            at = blanks(json, end);
            match byte(json, at)? {
                b',' => at = blanks(json, at + 1),
                b'}' => return Ok((found, at + 1)),
                _ => return Err(Stop::Unusual),
            }
        }
    }

    /// The end of the value at `at`, which is kept if it is long.
    fn passed(&mut self, json: &[u8], at: usize) -> Passed {
        let end = self.keys.value(json, at)?;
        let text = json.get(at..end).unwrap_or_default();
        if text.len() >= LONG && matches!(text.first(), Some(b'{' | b'[' | b'"')) {
            self.long.clear();
            self.long.extend_from_slice(text);
        }
        Ok(end)
    }
}

#[inline]
fn byte(json: &[u8], at: usize) -> Passed<u8> {
    json.get(at).copied().ok_or(Stop::Cut)
}

#[inline]
fn blanks(json: &[u8], mut at: usize) -> usize {
    while let Some(b' ' | b'\n' | b'\t' | b'\r') = json.get(at) {
        at += 1;
    }
    at
}

/// The place of the value whose key is at `at`.
#[inline]
fn after_key(json: &[u8], at: usize) -> Passed {
    if byte(json, at)? != b'"' {
        return Err(Stop::Unusual);
    }
    let colon = blanks(json, string(json, at)?);
    match byte(json, colon)? {
        b':' => Ok(blanks(json, colon + 1)),
        _ => Err(Stop::Unusual),
    }
}

/// A key without its quotes, from what is between its first quote and the value.
fn plain_key(text: &[u8]) -> Passed<&[u8]> {
    let end = text.iter().rposition(|byte| *byte == b'"').unwrap_or(0);
    let key = text.get(..end).unwrap_or_default();
    let is_plain = key.iter().all(|byte| byte.is_ascii() && *byte != b'\\');
    if is_plain { Ok(key) } else { Err(Stop::Unusual) }
}

/// The end of the string whose first quote is at `at`.
#[inline]
fn string(json: &[u8], at: usize) -> Passed {
    let mut at = at + 1;
    loop {
        // Eight bytes at once, up to the first that is a quote, a backslash or a control character.
        while let Some(eight) = json.get(at..).and_then(<[u8]>::first_chunk) {
            let eight = u64::from_le_bytes(*eight);
            let below = |least: u8, word: u64| word.wrapping_sub(ONES * u64::from(least)) & !word;
            let [quotes, escapes] = [b'"', b'\\'].map(|byte| below(1, eight ^ (ONES * u64::from(byte))));
            let ends = (below(b' ', eight) | quotes | escapes) & HIGHS;
            if ends != 0 {
                at += ends.trailing_zeros() as usize / 8;
                break;
            }
            at += 8;
        }
        at = match byte(json, at)? {
            b'"' => return Ok(at + 1),
            b'\\' => match byte(json, at + 1)? {
                b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't' => at + 2,
                _ => return Err(Stop::Unusual),
            },
            ..b' ' => return Err(Stop::Unusual),
            _ => at + 1,
        };
    }
}

/// The end of the number at `at`, which is not that of the text.
fn number(json: &[u8], mut at: usize) -> Passed {
    at += usize::from(byte(json, at)? == b'-');
    at = match byte(json, at)? {
        b'0' => at + 1,
        _ => digits(json, at)?,
    };
    if byte(json, at)? == b'.' {
        at = digits(json, at + 1)?;
    }
    if matches!(byte(json, at)?, b'e' | b'E') {
        at += 1;
        at += usize::from(matches!(byte(json, at)?, b'+' | b'-'));
        at = digits(json, at)?;
    }
    byte(json, at).map(|_| at)
}

/// The end of one digit or more.
fn digits(json: &[u8], start: usize) -> Passed {
    let mut at = start;
    while byte(json, at)?.is_ascii_digit() {
        at += 1;
    }
    if at > start { Ok(at) } else { Err(Stop::Unusual) }
}

fn literal(json: &[u8], at: usize, wanted: &[u8]) -> Passed {
    let end = at + wanted.len();
    match json.get(at..end) {
        Some(found) if found == wanted => Ok(end),
        Some(_) => Err(Stop::Unusual),
        None => Err(Stop::Cut),
    }
}

/// A whole number, from its text; -0 is none.
fn whole(text: &[u8]) -> Passed<i64> {
    let number = std::str::from_utf8(text).ok().filter(|text| *text != "-0");
    number.and_then(|text| text.parse().ok()).ok_or(Stop::Unusual)
}

#[cfg(test)]
mod tests {
    use serde::Deserialize;
    use serde::de::IgnoredAny;
    use serde_json::Deserializer;

    use super::*;
    use crate::test_data::{Random, paths, shared};

    /// What serde_json reads of a value at the start of a text, and its end; `None` where the text is cut.
    fn parsed<T: for<'de> Deserialize<'de>>(json: &[u8]) -> Option<serde_json::Result<(T, usize)>> {
        let mut values = Deserializer::from_slice(json).into_iter();
        match values.next()? {
            Err(error) if error.is_eof() => None,
            read => Some(read.map(|value| (value, values.byte_offset()))),
        }
    }

    /// Checks that a text is passed as serde_json ignores it, or left to that. Returns whether it was passed.
    fn agrees(json: &[u8]) -> bool {
        agrees_after(&mut Objects::default(), json)
    }

    /// The same after other values.
    fn agrees_after(others: &mut Objects, json: &[u8]) -> bool {
        let shown = String::from_utf8_lossy(json);
        let passed = others.value(json);
        match (passed, parsed::<IgnoredAny>(json)) {
            (Ok(end), Some(Ok((_, right)))) => assert_eq!(end, right, "{shown}"),
            (Ok(end), other) => panic!("{end} where serde_json says {other:?}: {shown}"),
            (Err(_), _) => {}
        }
        passed.is_ok()
    }

    #[test]
    fn real_metadata_is_passed_as_serde_json_ignores_it_and_so_is_what_was_changed_in_it() {
        let (mut random, mut others) = (Random(7), Objects::default());
        let (mut files, mut passed) = (0, 0);
        for path in paths("iceberg", &|name| name.ends_with("metadata.json")) {
            let text = std::fs::read(path).expect("a file");
            if !text.starts_with(b"{") {
                continue;
            }
            (files, passed) = (files + 1, passed + usize::from(agrees(&text)));
            for _ in 0..20 {
                let changed = random.mutate(&text);
                assert_eq!(agrees(&changed), agrees_after(&mut others, &changed));
            }
        }
        assert!(passed + 3 > files && (files > 20 || shared().is_none()), "{passed} of {files}");
    }

    #[test]
    fn members_are_keys_and_values_as_they_are_stored() {
        let json = " { \"a\":[1, {}] , \"b\\\"\" : null,\"a\": \"{\"}\n";
        assert_eq!(members(json), Ok(vec![("\"a\"", "[1, {}]"), ("\"b\\\"\"", "null"), ("\"a\"", "\"{\"")]));
        for left in ["{}", "[]", "{\"a\":1} 2", "{\"a\":1,}", "{\"a\":}", "{\"\\u0061\":1}", "{a:1}"] {
            assert_eq!(members(left), Err(Stop::Unusual), "{left}");
        }
    }

    #[test]
    fn values_of_every_kind_end_where_they_do() {
        let accepted = [
            r#"{"a": [1, -2.5e+3, 0, 1E5, true, false, null, "b\"\\\/\b\f\n\r\t"], "é": {} , "c":[ ]}"#,
            "\"a string that is longer than eight bytes\"",
            "[[],{},\"\"]",
            "[ \t\r\n1 , 2 ]",
        ];
        for json in accepted {
            assert!(agrees(json.as_bytes()), "{json}");
            assert!(agrees(format!("{json}, 7").as_bytes()), "{json}");
            for end in 0..json.len() {
                assert!(!agrees(&json.as_bytes()[..end]), "{json} {end}");
            }
        }
        let left = [
            "[1,]",
            "[,1]",
            "{\"a\":1,}",
            "{\"a\"}",
            "{1:2}",
            "{a:1}",
            "[01]",
            "[-]",
            "[1.]",
            "[1e]",
            "[.5]",
            "[+1]",
            "[\"\\x\"]",
            "[\"\\u12\"]",
            "[\"a\nb\"]",
            "[tru]",
            "[nulL]",
            "{]",
            "[}",
            "[1 2]",
            "{\"a\" 1}",
            "]",
            "",
        ];
        for json in left {
            assert!(!agrees(json.as_bytes()), "{json}");
            assert!(!agrees(format!("{json} , 7]").as_bytes()), "{json}");
        }
        // The innermost, which is empty, is passed at once.
        let deep = "[".repeat(65) + &"]".repeat(65);
        assert!(agrees(deep.as_bytes()) && !agrees(format!("[{deep}]").as_bytes()));
    }

    #[test]
    fn numbers_of_objects_are_read_and_what_is_unusual_is_left() {
        let long = format!("[{}]", vec!["{\"a\": \"some text\"}"; 100].join(", "));
        let mut objects = Objects::default();
        let mut read = |json: &str| objects.numbers(json.as_bytes(), ["id", "other"]);
        for (id, end) in [(1, "}"), (22, ", \"b\": 1}"), (-3, ", \"b\": {}} , 7")] {
            let object = format!("{{\"fields\": {long}, \"id\": {id} {end}");
            let length = object.rfind('}').expect("an end") + 1;
            assert_eq!(read(&object), Ok(([Some(id), None], length)));
            let cut = format!("{{\"fields\": {}, \"id\": {id} {end}", &long[..long.len() - 1]);
            assert_eq!(read(&cut), Err(Stop::Unusual));
            assert_eq!(read(&object[..length - 1]), Err(Stop::Cut));
        }
        let json = r#"{ "other" :9223372036854775807,"id": 0 }"#;
        assert_eq!(read(json), Ok(([Some(0), Some(i64::MAX)], json.len())));
        let left = [
            "{}",
            "[]",
            "1",
            r#"{"id": 1, "id": 1}"#,
            r#"{"id": "1"}"#,
            r#"{"id": null}"#,
            r#"{"id": 1.0}"#,
            r#"{"id": 9223372036854775808}"#,
            r#"{"id": -0}"#,
            r#"{"i\u0064": 1}"#,
            r#"{"é": 1}"#,
            r#"{"id": 01}"#,
            r#"{"id" 1}"#,
            r#"{"id": 1]"#,
            r#"{"id": 1 "b": 2}"#,
        ];
        for json in left {
            assert_eq!(read(json), Err(Stop::Unusual), "{json}");
        }
    }
}
