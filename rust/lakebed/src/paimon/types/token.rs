//! The words, numbers and marks of type texts.

use std::fmt;
use std::iter::Peekable;
use std::str::CharIndices;

/// Characters that end a word; quotes do not.
pub(super) const DELIMITERS: [char; 6] = ['<', '>', '(', ')', ',', '.'];

/// One token; its text is that of messages.
#[derive(Debug, PartialEq)]
pub(super) enum Token<'a> {
    /// A keyword or a bare name.
    Word(&'a str),
    /// `'text'` or `` `name` ``, with doubled quotes unescaped.
    Quoted(String),
    /// Digits.
    Int(&'a str),
    /// One of [`DELIMITERS`].
    Mark(char),
}

impl fmt::Display for Token<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Token::Word(text) | Token::Int(text) => f.write_str(text),
            Token::Quoted(text) => write!(f, "{text:?}"),
            Token::Mark(mark) => write!(f, "{mark:?}"),
        }
    }
}

/// The tokens of `text`, without the white space between them.
pub(super) fn tokenize(text: &str) -> Vec<Token<'_>> {
    let mut tokens = Vec::new();
    let mut chars = text.char_indices().peekable();
    while let Some((start, c)) = chars.next() {
        match c {
            c if c.is_whitespace() => {}
            c if DELIMITERS.contains(&c) => tokens.push(Token::Mark(c)),
            '\'' | '`' => tokens.push(Token::Quoted(quoted(&mut chars, c))),
            '0'..='9' => tokens.push(Token::Int(run(text, start, &mut chars, |c| c.is_ascii_digit()))),
            _ => tokens.push(Token::Word(run(text, start, &mut chars, |c| {
                !c.is_whitespace() && !DELIMITERS.contains(&c)
            }))),
        }
    }
    tokens
}

/// The text from `start` on as long as `belongs` holds.
fn run<'a>(
    text: &'a str,
    start: usize,
    chars: &mut Peekable<CharIndices<'a>>,
    belongs: impl Fn(char) -> bool,
) -> &'a str {
    while chars.next_if(|(_, c)| belongs(*c)).is_some() {}
    let end = chars.peek().map_or(text.len(), |(end, _)| *end);
    text.get(start..end).unwrap_or_default()
}

/// The text up to the closing `quote`; as in Paimon, the end of the text closes it too.
fn quoted(chars: &mut Peekable<CharIndices<'_>>, quote: char) -> String {
    let mut value = String::new();
    while let Some((_, c)) = chars.next() {
        if c == quote && chars.next_if(|(_, next)| *next == quote).is_none() {
            break;
        }
        value.push(c);
    }
    value
}
