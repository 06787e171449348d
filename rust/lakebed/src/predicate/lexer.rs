//! Text to tokens, by SQL's lexical rules without extensions of products: names begin with a letter or `_`, or
//! are in double quotes; a backslash in a string is a backslash.

use std::borrow::Cow;

/// A token and the text in it.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Token<'a> {
    /// A keyword or a name.
    Word(&'a str),
    /// A name in double quotes.
    QuotedName(Cow<'a, str>),
    /// A number without a sign.
    Number(Cow<'a, str>),
    /// A string in single quotes.
    String(Cow<'a, str>),
    /// What is between the quotes of `X'…'`.
    Hex(Cow<'a, str>),
    /// One of [`SYMBOLS`], or a character that begins no token.
    Symbol(&'a str),
    /// A comment and all text after it: no comment is accepted, since a filter cut off by `--` must not be read
    /// as a shorter one.
    Comment,
    /// The end of the text.
    End,
}

/// Operators and punctuation, those before that begin with others.
const SYMBOLS: [&str; 15] =
    ["<=>", "<=", ">=", "<>", "!=", "==", "=", "<", ">", "(", ")", ",", ".", "+", "-"];

/// The first token of a text that does not begin with white space, and the rest of the text.
///
/// Errors: the message for a string or a quoted name without an end.
pub(super) fn first(text: &str) -> Result<(Token<'_>, &str), &'static str> {
    let mut characters = text.chars();
    Ok(match (characters.next(), characters.next()) {
        (None, _) => (Token::End, text),
        (Some('-'), Some('-')) | (Some('/'), Some('*')) => (Token::Comment, ""),
        (Some('\''), _) => {
            let (value, rest) = quoted(text, "'").ok_or(UNTERMINATED)?;
            (Token::String(value), rest)
        }
        (Some('x' | 'X'), Some('\'')) => {
            let (digits, rest) = quoted(text, "'").ok_or(UNTERMINATED)?;
            (Token::Hex(digits), rest)
        }
        (Some('"'), _) => {
            let (name, rest) = quoted(text, "\"").ok_or("Unterminated name in double quotes")?;
            (Token::QuotedName(name), rest)
        }
        (Some('0'..='9'), _) | (Some('.'), Some('0'..='9')) => {
            let rest = after_number(text);
            let digits = &text[..text.len() - rest.len()];
            // The suffix of Spark's and Java's long integers.
            (Token::Number(digits.into()), rest.strip_prefix('L').unwrap_or(rest))
        }
        (Some(letter), _) if letter.is_alphabetic() || letter == '_' => {
            let rest = text.trim_start_matches(|next: char| next.is_alphanumeric() || next == '_');
            (Token::Word(&text[..text.len() - rest.len()]), rest)
        }
        (Some(other), _) => {
            let known = SYMBOLS.iter().find(|symbol| text.starts_with(**symbol));
            let (symbol, rest) = text.split_at(known.map_or(other.len_utf8(), |symbol| symbol.len()));
            (Token::Symbol(symbol), rest)
        }
    })
}

const UNTERMINATED: &str = "Unterminated string literal";

/// The text between the first `quote` and the next single one, and the rest; in it two quotes are one.
fn quoted<'a>(text: &'a str, quote: &str) -> Option<(Cow<'a, str>, &'a str)> {
    let (_, text) = text.split_once(quote)?;
    let mut end = 0;
    loop {
        end += text[end..].find(quote)?;
        let (value, rest) = (&text[..end], &text[end + quote.len()..]);
        if !rest.starts_with(quote) {
            let is_plain = !value.contains(quote);
            return Some((
                if is_plain { value.into() } else { value.replace(&quote.repeat(2), quote).into() },
                rest,
            ));
        }
        end += 2 * quote.len();
    }
}

/// What follows `digits[.[digits]][e[±]digits]` or `.digits[e[±]digits]` at the start of a text.
fn after_number(text: &str) -> &str {
    let is_digit = |next: char| next.is_ascii_digit();
    let mut rest = text.trim_start_matches(is_digit);
    if let Some(fraction) = rest.strip_prefix('.') {
        rest = fraction.trim_start_matches(is_digit);
    }
    if let Some(exponent) = rest.strip_prefix(['e', 'E']) {
        let digits = exponent.strip_prefix(['+', '-']).unwrap_or(exponent);
        if digits.starts_with(is_digit) {
            rest = digits.trim_start_matches(is_digit);
        }
    }
    rest
}
