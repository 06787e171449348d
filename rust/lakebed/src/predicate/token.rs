//! The tokens of a filter's text, and errors that point into the text.

use sqlparser::dialect::Dialect;
use sqlparser::tokenizer::{Location, Token, TokenWithSpan, Tokenizer, Whitespace};

use crate::error::{Error, ErrorKind, Result};

/// SQL's lexical rules without extensions of products: names begin with a letter or `_`, or are in double
/// quotes; a backslash in a string is a backslash.
#[derive(Debug)]
struct FilterDialect;

impl Dialect for FilterDialect {
    fn is_delimited_identifier_start(&self, character: char) -> bool {
        character == '"'
    }

    fn is_identifier_start(&self, character: char) -> bool {
        character.is_alphabetic() || character == '_'
    }

    fn is_identifier_part(&self, character: char) -> bool {
        character.is_alphanumeric() || character == '_'
    }
}

/// A position in the tokens of a text.
pub(super) struct Tokens<'a> {
    text: &'a str,
    tokens: Vec<TokenWithSpan>,
    next: usize,
}

impl<'a> Tokens<'a> {
    /// Splits `text`; takes about a hundred bytes of memory per token.
    pub(super) fn split(text: &'a str) -> Result<Tokens<'a>> {
        let mut tokens = Tokenizer::new(&FilterDialect, text)
            .tokenize_with_location()
            .map_err(|error| point(text, error.location, &error.message))?;
        tokens.retain(|token| {
            // Comments are kept and later refused: a filter cut off by `--` must not be accepted as a shorter
            // one.
            let space = [Whitespace::Space, Whitespace::Tab, Whitespace::Newline];
            !matches!(&token.token, Token::Whitespace(kind) if space.contains(kind))
        });
        let tokens = with_sizes(tokens);
        Ok(Tokens { text, tokens, next: 0 })
    }

    /// The next token, `EOF` at the end.
    pub(super) fn peek(&self) -> &Token {
        self.peek_after(0)
    }

    /// The token `ahead` places after the next one.
    pub(super) fn peek_after(&self, ahead: usize) -> &Token {
        self.tokens.get(self.next + ahead).map_or(&Token::EOF, |token| &token.token)
    }

    /// Passes the next token.
    pub(super) fn advance(&mut self) {
        self.next += 1;
    }

    /// Passes the next token if it is `token`.
    pub(super) fn eat(&mut self, token: &Token) -> bool {
        let found = self.peek() == token;
        self.next += usize::from(found);
        found
    }

    /// Passes the next token if it is `keyword`, in any case, without quotes.
    pub(super) fn eat_keyword(&mut self, keyword: &str) -> bool {
        let found = self.peek_word().is_some_and(|word| word.eq_ignore_ascii_case(keyword));
        self.next += usize::from(found);
        found
    }

    /// The next token if it is a word without quotes.
    pub(super) fn peek_word(&self) -> Option<&str> {
        match self.peek() {
            Token::Word(word) if word.quote_style.is_none() => Some(&word.value),
            _ => None,
        }
    }

    /// Passes `token`, or fails.
    pub(super) fn expect(&mut self, token: &Token) -> Result<()> {
        if self.eat(token) { Ok(()) } else { Err(self.expected(&format!("\"{token}\""))) }
    }

    /// Passes `keyword`, or fails.
    pub(super) fn expect_keyword(&mut self, keyword: &str) -> Result<()> {
        if self.eat_keyword(keyword) { Ok(()) } else { Err(self.expected(keyword)) }
    }

    /// The error for an unexpected next token.
    pub(super) fn expected(&self, what: &str) -> Error {
        match self.peek() {
            Token::EOF => self.error(&format!("expected {what}, the text ends")),
            Token::Whitespace(_) => self.error(&format!("expected {what}, comments are not read")),
            _ => self.error(&format!("expected {what}")),
        }
    }

    /// An error at the next token.
    pub(super) fn error(&self, message: &str) -> Error {
        self.error_at(self.next, message)
    }

    /// The position of the next token, for [`Tokens::error_at`].
    pub(super) fn mark(&self) -> usize {
        self.next
    }

    /// An error at a marked token.
    pub(super) fn error_at(&self, mark: usize, message: &str) -> Error {
        let end = || end_of(self.text);
        point(self.text, self.tokens.get(mark).map_or_else(end, |token| token.span.start), message)
    }
}

/// The tokens with each number of bytes that has a unit, such as `1.5 MB`, as one number.
fn with_sizes(tokens: Vec<TokenWithSpan>) -> Vec<TokenWithSpan> {
    let mut with_sizes: Vec<TokenWithSpan> = Vec::with_capacity(tokens.len());
    for token in tokens {
        if let (Token::Word(unit), Some(last)) = (&token.token, with_sizes.last_mut())
            && let (Token::Number(digits, _), None) = (&last.token, unit.quote_style)
            && let Some(bytes) = size(digits, &unit.value)
        {
            last.token = Token::Number(bytes, false);
        } else {
            with_sizes.push(token);
        }
    }
    with_sizes
}

/// `digits` of `unit` in bytes: powers of 1000 (kB, MB, GB, TB) or of 1024 (KiB, MiB, GiB, TiB), in any case;
/// `None` for another word, and for what is not a whole number of bytes.
fn size(digits: &str, unit: &str) -> Option<String> {
    const UNITS: [(&str, &str); 4] = [("kB", "KiB"), ("MB", "MiB"), ("GB", "GiB"), ("TB", "TiB")];
    let factor = (1..).zip(UNITS).find_map(|(power, (decimal, binary))| {
        let is_decimal = unit.eq_ignore_ascii_case(decimal);
        (is_decimal || unit.eq_ignore_ascii_case(binary))
            .then(|| if is_decimal { 1000_u128.pow(power) } else { 1024_u128.pow(power) })
    })?;
    let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
    let unscaled = format!("{whole}{fraction}").parse::<u128>().ok()?.checked_mul(factor)?;
    let scale = 10_u128.checked_pow(fraction.len().try_into().ok()?)?;
    (unscaled % scale == 0).then(|| (unscaled / scale).to_string())
}

fn end_of(text: &str) -> Location {
    let text = text.trim_end();
    let last = text.rsplit('\n').next().unwrap_or_default();
    Location::new(text.matches('\n').count() as u64 + 1, last.chars().count() as u64 + 1)
}

/// At most this many characters of the line are shown on each side of the place.
const SHOWN: usize = 60;

/// The error `message`, with its line and a caret under the position.
fn point(text: &str, location: Location, message: &str) -> Error {
    let position = |number: u64| usize::try_from(number).unwrap_or(usize::MAX).saturating_sub(1);
    let column = position(location.column);
    let text = without_values(text);
    let line = text.split('\n').nth(position(location.line)).unwrap_or_default();
    let first = column.saturating_sub(SHOWN);
    let shown: String = line.chars().skip(first).take(2 * SHOWN).map(visible).collect();
    let caret = " ".repeat(column - first);
    Error::new(ErrorKind::Predicate, format!("{message}\n  {shown}\n  {caret}^"))
}

/// The text with a dot for each character of its strings: the values may be secrets, and messages end up in
/// logs.
fn without_values(text: &str) -> String {
    let mut quote = None;
    let shown = text.chars().map(|character| match (quote, character) {
        (Some(open), _) if open == character => {
            quote = None;
            character
        }
        (Some('\''), '\n') => '\n',
        (Some('\''), _) => '·',
        (None, '\'' | '"') => {
            quote = Some(character);
            character
        }
        _ => character,
    });
    shown.collect()
}

/// Tabs and other control characters would move the caret, or affect the terminal.
fn visible(character: char) -> char {
    if character.is_control() { ' ' } else { character }
}
