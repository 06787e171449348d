//! The tokens of a filter's text, and errors that point into the text.

use std::borrow::Cow;

use super::lexer::{self, Token};
use crate::error::{Error, ErrorKind, Result};

/// A position in the tokens of a text.
pub(super) struct Tokens<'a> {
    text: &'a str,
    /// Each token and the place of its first byte, without [`Token::End`].
    tokens: Vec<(usize, Token<'a>)>,
    next: usize,
}

impl<'a> Tokens<'a> {
    /// Splits `text`; takes 40 bytes of memory per token.
    pub(super) fn split(text: &'a str) -> Result<Tokens<'a>> {
        let mut tokens: Vec<(usize, Token<'a>)> = Vec::new();
        let mut rest = text.trim_start();
        loop {
            let start = text.len() - rest.len();
            let (token, after) = lexer::first(rest).map_err(|message| point(text, start, message))?;
            rest = after.trim_start();
            match (tokens.last_mut(), token) {
                (_, Token::End) => return Ok(Tokens { text, tokens, next: 0 }),
                // A number of bytes and its unit, such as `1.5 MB`, are one number.
                (Some((_, Token::Number(number @ Cow::Borrowed(_)))), Token::Word(unit)) => {
                    match size(number, unit) {
                        Some(bytes) => *number = bytes.into(),
                        None => tokens.push((start, Token::Word(unit))),
                    }
                }
                (_, token) => tokens.push((start, token)),
            }
        }
    }

    /// The next token.
    pub(super) fn peek(&self) -> &Token<'a> {
        self.peek_after(0)
    }

    /// The token `ahead` places after the next one.
    pub(super) fn peek_after(&self, ahead: usize) -> &Token<'a> {
        self.tokens.get(self.next + ahead).map_or(&Token::End, |(_, token)| token)
    }

    /// Passes the next token.
    pub(super) fn advance(&mut self) {
        self.next += 1;
    }

    /// Passes the next token if it is `symbol`.
    pub(super) fn eat(&mut self, symbol: &str) -> bool {
        let found = self.peek() == &Token::Symbol(symbol);
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
            Token::Word(word) => Some(word),
            _ => None,
        }
    }

    /// Passes `symbol`, or fails.
    pub(super) fn expect(&mut self, symbol: &str) -> Result<()> {
        if self.eat(symbol) { Ok(()) } else { Err(self.expected(&format!("\"{symbol}\""))) }
    }

    /// Passes `keyword`, or fails.
    pub(super) fn expect_keyword(&mut self, keyword: &str) -> Result<()> {
        if self.eat_keyword(keyword) { Ok(()) } else { Err(self.expected(keyword)) }
    }

    /// The error for an unexpected next token.
    pub(super) fn expected(&self, what: &str) -> Error {
        match self.peek() {
            Token::End => self.error(&format!("expected {what}, the text ends")),
            Token::Comment => self.error(&format!("expected {what}, comments are not read")),
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
        let end = self.text.trim_end().len();
        point(self.text, self.tokens.get(mark).map_or(end, |(start, _)| *start), message)
    }
}

/// The digits of a number of bytes that is written as in filters, with a unit (`1.5 MB`) or without; `None` for another
/// text, and for what is not a whole number of bytes. Only here `B` is a unit: in a filter `1 b` may be a number and a
/// column.
pub fn byte_count(text: &str) -> Option<String> {
    match Tokens::split(text).ok()?.tokens.as_slice() {
        [(_, Token::Number(number))]
        | [(_, Token::Number(number @ Cow::Borrowed(_))), (_, Token::Word("B" | "b"))]
            if number.bytes().all(|byte| byte.is_ascii_digit()) =>
        {
            Some(number.to_string())
        }
        _ => None,
    }
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

/// At most this many characters of the line are shown on each side of the place.
const SHOWN: usize = 60;

/// The error `message`, with its line and a caret under the character at the byte `place`.
fn point(text: &str, place: usize, message: &str) -> Error {
    let (number, before) = text[..place].split('\n').enumerate().last().unwrap_or_default();
    let column = before.chars().count();
    let text = without_values(text);
    let line = text.split('\n').nth(number).unwrap_or_default();
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
