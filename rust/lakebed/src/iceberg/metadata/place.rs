//! The place of an error in a JSON text, by keys.

/// At most this much of a key is shown.
const MAX_KEY: usize = 80;

/// A step into an open object or array.
enum Step<'j> {
    Key(&'j str),
    Index(usize),
}

/// The keys and indexes of the value at `offset` of `json`: `summary.operation`, `fields[3].id`; empty at the
/// top.
///
/// The text before `offset` is well-formed, since a parser got that far.
pub(super) fn path_to(json: &[u8], offset: usize) -> String {
    let mut open: Vec<Step<'_>> = Vec::new();
    let (mut at, mut key_comes) = (0, false);
    while let Some(byte) = json.get(at).filter(|_| at <= offset) {
        match byte {
            b'"' => {
                let text = string(json.get(at + 1..).unwrap_or_default());
                if let Some(Step::Key(key)) = open.last_mut().filter(|_| key_comes) {
                    *key = std::str::from_utf8(text).unwrap_or_default();
                    key_comes = false;
                }
                at += text.len() + 1;
            }
            b'{' => {
                open.push(Step::Key(""));
                key_comes = true;
            }
            b'[' => open.push(Step::Index(0)),
            b'}' | b']' => drop(open.pop()),
            b',' => match open.last_mut() {
                Some(Step::Index(index)) => *index += 1,
                _ => key_comes = true,
            },
            _ => {}
        }
        at += 1;
    }
    open.iter().fold(String::new(), |path, step| match step {
        Step::Key("") => path,
        Step::Key(key) if path.is_empty() => shown(key),
        Step::Key(key) => format!("{path}.{}", shown(key)),
        Step::Index(index) => format!("{path}[{index}]"),
    })
}

/// A key as errors show it: on one line, truncated.
pub(super) fn shown(key: &str) -> String {
    key.chars().take(MAX_KEY).map(|letter| if letter.is_control() { ' ' } else { letter }).collect()
}

/// The string at the start of `rest`, up to its closing quote, with escapes unchanged.
fn string(rest: &[u8]) -> &[u8] {
    let mut escaped = false;
    let end = rest.iter().position(|byte| {
        let ends = *byte == b'"' && !escaped;
        escaped = *byte == b'\\' && !escaped;
        ends
    });
    rest.get(..end.unwrap_or(rest.len())).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::path_to;

    #[test]
    fn a_place_is_named_by_keys_and_indexes() {
        let json = br#"{"a": 1, "b": {"c\"": [2, {"d": 3}], "e": "f,{"}, "g": 4}"#;
        let at = |needle: &str| {
            let text = std::str::from_utf8(json).expect("UTF-8");
            path_to(json, text.find(needle).expect("a needle"))
        };
        assert_eq!(at("1"), "a");
        assert_eq!(at("2"), r#"b.c\"[0]"#);
        assert_eq!(at("3"), r#"b.c\"[1].d"#);
        assert_eq!(at("f,"), "b.e");
        assert_eq!(at("4"), "g");
        assert_eq!(path_to(b"{\"a\nb\": 1}", 8), "a b");
        assert_eq!(path_to(b"12", 1), "");
        assert_eq!(path_to(br#"{"a"#, 9), "a");
    }
}
