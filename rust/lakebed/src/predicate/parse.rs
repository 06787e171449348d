//! Text to [`Predicate`].
//!
//! Only parentheses nest, up to [`MAX_DEPTH`]; a chain of `AND` or `OR` is one list, however long. Every error
//! has its place.
//!
//! ```text
//! any       = all {OR all}
//! all       = not {AND not}
//! not       = {NOT} ( "(" any ")" | TRUE | FALSE | function | condition )
//! function  = is_nan "(" term ")" | starts_with "(" term "," literal ")"
//! condition = term [ comparison literal | IS [NOT] NULL | IS [NOT] NAN | IS [NOT] DISTINCT FROM literal
//!                  | [NOT] IN "(" literal {"," literal} ")" | [NOT] BETWEEN literal AND literal
//!                  | [NOT] LIKE literal [ESCAPE literal] ]
//!           | literal comparison term
//! term      = column [ "[" string "]" ] | transform "(" [number ","] column ")"
//! ```

use super::expr::{Call, Literal, Predicate, Term};
use super::lexer::Token;
use super::op::Operator;
use super::token::Tokens;
use crate::error::{Error, ErrorKind, Result};

/// The longest accepted text, in bytes.
pub const MAX_TEXT_BYTES: usize = 1 << 20;

/// The deepest nesting of parentheses.
pub const MAX_DEPTH: usize = 64;

/// Words that are not column names unless quoted.
const RESERVED: [&str; 13] = [
    "AND", "OR", "NOT", "IS", "IN", "LIKE", "ESCAPE", "BETWEEN", "DISTINCT", "FROM", "NULL", "TRUE", "FALSE",
];

/// Numbers written as words, where a literal is expected.
const NOT_FINITE: [&str; 2] = ["Infinity", "NaN"];

/// Iceberg's partition transforms by their names in text, with the transform's own name and whether it takes
/// a number.
const TRANSFORMS: [(&str, &str, bool); 12] = [
    ("bucket", "bucket", true),
    ("truncate", "truncate", true),
    ("identity", "identity", false),
    ("void", "void", false),
    ("year", "year", false),
    ("years", "year", false),
    ("month", "month", false),
    ("months", "month", false),
    ("day", "day", false),
    ("days", "day", false),
    ("hour", "hour", false),
    ("hours", "hour", false),
];

impl Predicate {
    /// Parses a filter's SQL text.
    ///
    /// Errors: [`ErrorKind::Predicate`] with the line and a caret under the place, for text that does not
    /// follow the grammar, is longer than [`MAX_TEXT_BYTES`] or nested deeper than [`MAX_DEPTH`].
    /// Cost: one pass; memory about forty bytes a token, and the predicate's.
    pub fn parse(text: &str) -> Result<Predicate> {
        if text.len() > MAX_TEXT_BYTES {
            let message = format!("{} bytes of text, at most {MAX_TEXT_BYTES} are read", text.len());
            return Err(Error::new(ErrorKind::Predicate, message));
        }
        let mut parser = Parser { tokens: Tokens::split(text)?, depth: 0 };
        let predicate = parser.any()?;
        parser.end()?;
        Ok(predicate)
    }
}

struct Parser<'a> {
    tokens: Tokens<'a>,
    depth: usize,
}

enum Operand {
    Term(Term),
    Literal(Literal),
}

impl Parser<'_> {
    fn end(&self) -> Result<()> {
        match self.tokens.peek() {
            Token::End => Ok(()),
            Token::Symbol("-") if matches!(self.tokens.peek_after(1), Token::Number(_)) => Err(self
                .tokens
                .expected("AND, OR or the end of the text (dates are in quotes: '2026-01-02')")),
            _ => Err(self.tokens.expected("AND, OR or the end of the text")),
        }
    }

    fn any(&mut self) -> Result<Predicate> {
        let mut terms = vec![self.all()?];
        while self.tokens.eat_keyword("OR") {
            terms.push(self.all()?);
        }
        Ok(Predicate::or(terms))
    }

    fn all(&mut self) -> Result<Predicate> {
        let mut terms = vec![self.not()?];
        while self.tokens.eat_keyword("AND") {
            terms.push(self.not()?);
        }
        Ok(Predicate::and(terms))
    }

    fn not(&mut self) -> Result<Predicate> {
        let mut negated = false;
        while self.tokens.eat_keyword("NOT") {
            negated = !negated;
        }
        let term = self.term()?;
        Ok(if negated { term.negate() } else { term })
    }

    fn term(&mut self) -> Result<Predicate> {
        if self.tokens.peek() == &Token::Symbol("(") {
            return self.nested();
        }
        if let Some(name) = self.called().filter(|name| transform(name).is_none()) {
            return self.function(&name);
        }
        let start = self.tokens.mark();
        match self.operand()? {
            Operand::Term(term) => self.condition(term),
            Operand::Literal(literal) => self.flipped(start, literal),
        }
    }

    fn nested(&mut self) -> Result<Predicate> {
        if self.depth == MAX_DEPTH {
            return Err(self.tokens.error(&format!("nested deeper than {MAX_DEPTH}")));
        }
        self.depth += 1;
        self.tokens.expect("(")?;
        let predicate = self.any()?;
        self.tokens.expect(")")?;
        self.depth -= 1;
        Ok(predicate)
    }

    /// The name, in lower case, of a function call at this position.
    fn called(&self) -> Option<String> {
        let called = self.tokens.peek_after(1) == &Token::Symbol("(");
        self.tokens.peek_word().filter(|_| called).map(str::to_ascii_lowercase)
    }

    fn function(&mut self, name: &str) -> Result<Predicate> {
        let operator = match name {
            "is_nan" => Operator::IsNan,
            "starts_with" => Operator::StartsWith,
            name if RESERVED.iter().any(|word| word.eq_ignore_ascii_case(name)) => {
                return Err(self.tokens.expected("a column, a literal or a condition"));
            }
            name => {
                let known: Vec<&str> = TRANSFORMS.iter().map(|(name, ..)| *name).collect();
                let message =
                    format!("unknown function {name}: there are is_nan, starts_with, {}", known.join(", "));
                return Err(self.tokens.error(&message));
            }
        };
        self.tokens.advance();
        self.tokens.expect("(")?;
        let term = self.column_term()?;
        let mut literals = Vec::new();
        if operator == Operator::StartsWith {
            self.tokens.expect(",")?;
            literals.push(self.literal()?);
        }
        self.tokens.expect(")")?;
        Ok(Predicate::leaf(term, operator, literals))
    }

    /// `bucket(16, column)`.
    fn transformed(&mut self, name: &str, takes_number: bool) -> Result<Term> {
        self.tokens.advance();
        self.tokens.expect("(")?;
        let mut parameter = None;
        if takes_number {
            parameter = Some(self.parameter()?);
            self.tokens.expect(",")?;
        }
        if self.called().is_some() {
            return Err(self.tokens.error("a transform takes a column"));
        }
        let Term { column, key, .. } = self.column_term()?;
        if key.is_some() {
            return Err(self.tokens.error("a transform takes a column"));
        }
        self.tokens.expect(")")?;
        Ok(Term { column, transform: Some(Call { name: name.to_owned(), parameter }), key })
    }

    /// A transform's number, above 0 and within 31 bits.
    fn parameter(&mut self) -> Result<u32> {
        let number = match self.tokens.peek() {
            Token::Number(digits) => digits.parse::<u32>().ok(),
            _ => None,
        };
        let number = number.filter(|number| (1..=i32::MAX.unsigned_abs()).contains(number));
        let number = number.ok_or_else(|| self.tokens.expected("a whole number above 0"))?;
        self.tokens.advance();
        Ok(number)
    }

    /// What follows a term; without a test, the term is a boolean column that must be true.
    fn condition(&mut self, term: Term) -> Result<Predicate> {
        if let Some(operator) = self.comparison() {
            return Ok(Predicate::leaf(term, operator, vec![self.literal()?]));
        }
        if self.tokens.eat_keyword("IS") {
            return self.is(term);
        }
        let negated = self.tokens.eat_keyword("NOT");
        let (operator, literals) = if self.tokens.eat_keyword("IN") {
            (Operator::In, self.list()?)
        } else if self.tokens.eat_keyword("BETWEEN") {
            let low = self.literal()?;
            self.tokens.expect_keyword("AND")?;
            (Operator::Between, vec![low, self.literal()?])
        } else if self.tokens.eat_keyword("LIKE") {
            (Operator::Like, self.pattern()?)
        } else if negated {
            return Err(self.tokens.expected("IN, BETWEEN or LIKE"));
        } else {
            (Operator::Eq, vec![Literal::Boolean(true)])
        };
        let operator = if negated { operator.negation() } else { operator };
        Ok(Predicate::leaf(term, operator, literals))
    }

    fn is(&mut self, term: Term) -> Result<Predicate> {
        let negated = self.tokens.eat_keyword("NOT");
        let (operator, literals) = if self.tokens.eat_keyword("NULL") {
            (Operator::IsNull, vec![])
        } else if self.tokens.eat_keyword("NAN") {
            (Operator::IsNan, vec![])
        } else if self.tokens.eat_keyword("DISTINCT") {
            self.tokens.expect_keyword("FROM")?;
            (Operator::NotEqNullSafe, vec![self.literal()?])
        } else {
            return Err(self.tokens.expected("NULL, NAN or DISTINCT FROM"));
        };
        let operator = if negated { operator.negation() } else { operator };
        Ok(Predicate::leaf(term, operator, literals))
    }

    fn list(&mut self) -> Result<Vec<Literal>> {
        self.tokens.expect("(")?;
        let mut literals = vec![self.literal()?];
        while self.tokens.eat(",") {
            literals.push(self.literal()?);
        }
        self.tokens.expect(")")?;
        Ok(literals)
    }

    fn pattern(&mut self) -> Result<Vec<Literal>> {
        let mut literals = vec![self.literal()?];
        if self.tokens.eat_keyword("ESCAPE") {
            literals.push(self.literal()?);
        }
        Ok(literals)
    }

    /// What follows a literal: a comparison (`5 < a`), or nothing after TRUE or FALSE.
    fn flipped(&mut self, start: usize, literal: Literal) -> Result<Predicate> {
        match (self.comparison(), literal) {
            (Some(operator), literal) => {
                Ok(Predicate::leaf(self.column_term()?, operator.flipped(), vec![literal]))
            }
            (None, Literal::Boolean(value)) => Ok(Predicate::Constant(value)),
            (None, _) => Err(self.tokens.error_at(start, "a literal alone is not a condition")),
        }
    }

    fn comparison(&mut self) -> Option<Operator> {
        let operator = match self.tokens.peek() {
            Token::Symbol("=" | "==") => Operator::Eq,
            Token::Symbol("<>" | "!=") => Operator::NotEq,
            Token::Symbol("<") => Operator::Lt,
            Token::Symbol("<=") => Operator::LtEq,
            Token::Symbol(">") => Operator::Gt,
            Token::Symbol(">=") => Operator::GtEq,
            Token::Symbol("<=>") => Operator::EqNullSafe,
            _ => return None,
        };
        self.tokens.advance();
        Some(operator)
    }

    fn column_term(&mut self) -> Result<Term> {
        let start = self.tokens.mark();
        match self.operand()? {
            Operand::Term(term) if self.tokens.peek() != &Token::Symbol("(") => Ok(term),
            _ => Err(self.tokens.error_at(start, "expected a column")),
        }
    }

    fn literal(&mut self) -> Result<Literal> {
        let start = self.tokens.mark();
        if let Some(number) = self.not_finite() {
            return Ok(Literal::Number(number));
        }
        match self.operand()? {
            Operand::Literal(literal) => Ok(literal),
            Operand::Term(_) => {
                let message = "expected a literal (columns are compared with literals, strings are written \
                    in '…')";
                Err(self.tokens.error_at(start, message))
            }
        }
    }

    fn operand(&mut self) -> Result<Operand> {
        let literal = match self.tokens.peek() {
            Token::Word(_) | Token::QuotedName(_) => return self.word(),
            Token::Number(digits) => Literal::Number(digits.to_string()),
            Token::Symbol(sign @ ("-" | "+")) => {
                let sign = sign.trim_start_matches('+');
                self.tokens.advance();
                match self.tokens.peek() {
                    Token::Number(digits) => Literal::Number(format!("{sign}{digits}")),
                    _ => match self.not_finite() {
                        Some(number) => {
                            return Ok(Operand::Literal(Literal::Number(format!("{sign}{number}"))));
                        }
                        None => return Err(self.tokens.expected("a number")),
                    },
                }
            }
            Token::String(text) => Literal::String(text.to_string()),
            Token::Hex(digits) => match decode_hex(digits) {
                Some(bytes) => Literal::Binary(bytes),
                None => return Err(self.tokens.error("X'…' takes pairs of hexadecimal digits")),
            },
            _ => return Err(self.tokens.expected("a column or a literal")),
        };
        self.tokens.advance();
        Ok(Operand::Literal(literal))
    }

    /// Passes infinity or NaN.
    fn not_finite(&mut self) -> Option<String> {
        let named = |word: &&str| NOT_FINITE.iter().any(|number| number.eq_ignore_ascii_case(word));
        let number = self.tokens.peek_word().filter(named)?.to_owned();
        self.tokens.advance();
        Some(number)
    }

    /// A column's name, a transform of a column, a constant, or a literal that begins with its type.
    fn word(&mut self) -> Result<Operand> {
        if let Some((name, takes_number)) = self.called().and_then(|name| transform(&name)) {
            return self.transformed(name, takes_number).map(Operand::Term);
        }
        let keyword = self.tokens.peek_word().map(str::to_ascii_uppercase).unwrap_or_default();
        if let Token::String(text) = self.tokens.peek_after(1) {
            let make = match keyword.as_str() {
                "DATE" => Some(Literal::Date as fn(String) -> Literal),
                "TIME" => Some(Literal::Time as _),
                "TIMESTAMP" => Some(Literal::Timestamp as _),
                "UUID" => Some(Literal::Uuid as _),
                _ => None,
            };
            if let Some(make) = make {
                let literal = make(text.to_string());
                self.tokens.advance();
                self.tokens.advance();
                return Ok(Operand::Literal(literal));
            }
        }
        let constant = match keyword.as_str() {
            "NULL" => Literal::Null,
            "TRUE" => Literal::Boolean(true),
            "FALSE" => Literal::Boolean(false),
            word if RESERVED.contains(&word) => return Err(self.tokens.expected("a column or a literal")),
            _ => {
                let (column, key) = (self.name()?, self.key()?);
                return Ok(Operand::Term(Term { column, transform: None, key }));
            }
        };
        self.tokens.advance();
        Ok(Operand::Literal(constant))
    }

    /// The key of a map's element, where one follows.
    fn key(&mut self) -> Result<Option<String>> {
        if !self.tokens.eat("[") {
            return Ok(None);
        }
        let key = match self.tokens.peek() {
            Token::String(key) => key.to_string(),
            _ => return Err(self.tokens.expected("a key in '…'")),
        };
        self.tokens.advance();
        self.tokens.expect("]")?;
        Ok(Some(key))
    }

    /// Names joined by dots.
    fn name(&mut self) -> Result<String> {
        let mut name = String::new();
        loop {
            match self.tokens.peek() {
                Token::Word(word) => name.push_str(word),
                Token::QuotedName(quoted) => name.push_str(quoted),
                _ => return Err(self.tokens.expected("a name")),
            }
            self.tokens.advance();
            if !self.tokens.eat(".") {
                return Ok(name);
            }
            name.push('.');
        }
    }
}

/// The transform with that name in text: its own name, and whether it takes a number.
fn transform(called: &str) -> Option<(&'static str, bool)> {
    let known = TRANSFORMS.iter().find(|(name, ..)| *name == called)?;
    Some((known.1, known.2))
}

fn decode_hex(digits: &str) -> Option<Vec<u8>> {
    let (pairs, rest) = digits.as_bytes().as_chunks::<2>();
    let nibble = |digit: u8| char::from(digit).to_digit(16);
    let byte = |pair: &[u8; 2]| u8::try_from(nibble(pair[0])? << 4 | nibble(pair[1])?).ok();
    if rest.is_empty() { pairs.iter().map(byte).collect() } else { None }
}
