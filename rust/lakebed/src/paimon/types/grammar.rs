//! The text grammar of atomic types, as in Paimon's `DataTypeJsonParser.java`.

use std::borrow::Cow;

use super::token::{DELIMITERS, Token, tokenize};
use super::{DataType, EdgeAlgorithm, MAX_LENGTH, TypeKind};
use crate::error::{Error, ErrorKind, Result};

const DEFAULT_CRS: &str = "OGC:CRS84";
const MAX_DECIMAL_PRECISION: u8 = 38;
const MAX_TIME_PRECISION: u8 = 9;
const DEFAULT_TIMESTAMP_PRECISION: u8 = 6;

/// Parses one type text, such as `decimal(4,1) NOT NULL` or `INT ARRAY`.
pub(super) fn parse(text: &str) -> Result<DataType> {
    let mut parser = Parser { tokens: tokenize(text), position: 0 };
    parser.whole().map_err(|why| error(text, &why))
}

/// The error for `text`; text and reason are cut to the length of a message.
#[cold]
pub(super) fn error(text: &str, why: &str) -> Error {
    let cut = |text: &str| text.chars().take(200).collect::<String>();
    Error::new(ErrorKind::Type, format!("cannot parse the type {:?}: {}", cut(text), cut(why)))
}

/// The coordinate reference system as the grammar writes it: quoted unless it is a single word.
pub(super) fn quote_crs(crs: &str) -> Cow<'_, str> {
    let special = |c: char| c.is_whitespace() || DELIMITERS.contains(&c) || matches!(c, '\'' | '`');
    if crs.starts_with(|c: char| c.is_ascii_digit()) || crs.contains(special) {
        Cow::Owned(format!("'{}'", crs.replace('\'', "''")))
    } else {
        Cow::Borrowed(crs)
    }
}

struct Parser<'a> {
    tokens: Vec<Token<'a>>,
    position: usize,
}

/// An error is only the reason; [`parse`] adds the text.
type ParseResult<T> = Result<T, String>;

impl<'a> Parser<'a> {
    fn whole(&mut self) -> ParseResult<DataType> {
        let mut ty = self.nullability(Self::kind)?;
        if self.take_word("ARRAY") {
            ty = self.nullability(|_| Ok(TypeKind::Array(Box::new(ty))))?;
        } else if self.take_word("MULTISET") {
            ty = self.nullability(|_| Ok(TypeKind::Multiset(Box::new(ty))))?;
        }
        match self.tokens.get(self.position) {
            None => Ok(ty),
            Some(token) => Err(format!("unexpected {token}")),
        }
    }

    /// Parses with `kind`, then an optional `NULL` or `NOT NULL`.
    fn nullability(
        &mut self,
        kind: impl FnOnce(&mut Self) -> ParseResult<TypeKind>,
    ) -> ParseResult<DataType> {
        let kind = kind(self)?;
        let not_null = self.take_word("NOT");
        if !self.take_word("NULL") && not_null {
            return Err("NULL must follow NOT".to_owned());
        }
        Ok(DataType { kind, nullable: !not_null })
    }

    fn kind(&mut self) -> ParseResult<TypeKind> {
        if self.take_word("VECTOR") { self.vector() } else { self.atomic() }
    }

    fn atomic(&mut self) -> ParseResult<TypeKind> {
        let word = match self.next()? {
            Token::Word(word) => word.to_ascii_uppercase(),
            other => return Err(format!("expected a type name, not {other}")),
        };
        Ok(match word.as_str() {
            "CHAR" => TypeKind::Char(self.length()?),
            "VARCHAR" => TypeKind::VarChar(self.length()?),
            "STRING" => TypeKind::VarChar(MAX_LENGTH),
            "BOOLEAN" => TypeKind::Boolean,
            "BINARY" => TypeKind::Binary(self.length()?),
            "VARBINARY" => TypeKind::VarBinary(self.length()?),
            "BYTES" => TypeKind::VarBinary(MAX_LENGTH),
            "DECIMAL" | "NUMERIC" | "DEC" => self.decimal()?,
            "TINYINT" => TypeKind::TinyInt,
            "SMALLINT" => TypeKind::SmallInt,
            "INT" | "INTEGER" => TypeKind::Int,
            "BIGINT" => TypeKind::BigInt,
            "FLOAT" => TypeKind::Float,
            "DOUBLE" => {
                self.take_word("PRECISION");
                TypeKind::Double
            }
            "DATE" => TypeKind::Date,
            "TIME" => {
                let precision = self.precision(0)?;
                if self.take_word("WITHOUT") {
                    self.time_zone()?;
                }
                TypeKind::Time(precision)
            }
            "TIMESTAMP" => self.timestamp()?,
            "TIMESTAMP_LTZ" => TypeKind::LocalZonedTimestamp(self.precision(DEFAULT_TIMESTAMP_PRECISION)?),
            "VARIANT" => TypeKind::Variant,
            "BLOB" => TypeKind::Blob,
            "GEOMETRY" => TypeKind::Geometry { crs: self.geospatial()?.0 },
            "GEOGRAPHY" => self.geography()?,
            _ => return Err(format!("{word} is not the name of an atomic type")),
        })
    }

    fn decimal(&mut self) -> ParseResult<TypeKind> {
        let (mut precision, mut scale) = (10, 0);
        if self.take_mark('(') {
            precision = self.int()?;
            if self.take_mark(',') {
                scale = self.int()?;
            }
            self.mark(')')?;
        }
        let checked = (u8::try_from(precision), i8::try_from(scale));
        match checked {
            (Ok(precision @ 1..=MAX_DECIMAL_PRECISION), Ok(scale))
                if (0..=precision).contains(&scale.unsigned_abs()) =>
            {
                Ok(TypeKind::Decimal { precision, scale })
            }
            _ => Err("a decimal has 1 to 38 digits, and no more than those after the point".to_owned()),
        }
    }

    fn timestamp(&mut self) -> ParseResult<TypeKind> {
        let precision = self.precision(DEFAULT_TIMESTAMP_PRECISION)?;
        if self.take_word("WITH") {
            self.word("LOCAL")?;
            self.time_zone()?;
            return Ok(TypeKind::LocalZonedTimestamp(precision));
        }
        if self.take_word("WITHOUT") {
            self.time_zone()?;
        }
        Ok(TypeKind::Timestamp(precision))
    }

    /// `VECTOR<element, length>`; only atomic elements are allowed, so there is no recursion.
    fn vector(&mut self) -> ParseResult<TypeKind> {
        self.mark('<')?;
        let element = self.nullability(Self::atomic)?;
        self.mark(',')?;
        let length = self.int()?;
        self.mark('>')?;
        vector(element, length)
    }

    fn geography(&mut self) -> ParseResult<TypeKind> {
        let (crs, algorithm) = self.geospatial()?;
        let algorithm = match algorithm {
            None => EdgeAlgorithm::Spherical,
            Some(name) => EdgeAlgorithm::from_name(&name)
                .ok_or_else(|| format!("{name:?} is not an edge interpolation algorithm"))?,
        };
        Ok(TypeKind::Geography { crs, algorithm })
    }

    /// `(crs)`, `(crs, algorithm)` or nothing; GEOMETRY ignores a second parameter.
    fn geospatial(&mut self) -> ParseResult<(String, Option<String>)> {
        if !self.take_mark('(') {
            return Ok((DEFAULT_CRS.to_owned(), None));
        }
        let crs = self.name()?;
        if crs.is_empty() {
            return Err("the coordinate reference system is empty".to_owned());
        }
        let algorithm = if self.take_mark(',') { Some(self.name()?) } else { None };
        self.mark(')')?;
        Ok((crs, algorithm))
    }

    /// `(n)` with n from 1, or nothing for 1.
    fn length(&mut self) -> ParseResult<i32> {
        match self.parameter()? {
            None => Ok(1),
            Some(length @ 1..) => Ok(length),
            Some(_) => Err("a length is at least 1".to_owned()),
        }
    }

    /// `(p)` with p in 0..=9, or nothing for `default`.
    fn precision(&mut self, default: u8) -> ParseResult<u8> {
        match self.parameter()?.map(u8::try_from) {
            None => Ok(default),
            Some(Ok(precision @ 0..=MAX_TIME_PRECISION)) => Ok(precision),
            Some(_) => Err("a precision is between 0 and 9".to_owned()),
        }
    }

    fn parameter(&mut self) -> ParseResult<Option<i32>> {
        if !self.take_mark('(') {
            return Ok(None);
        }
        let value = self.int()?;
        self.mark(')')?;
        Ok(Some(value))
    }

    fn int(&mut self) -> ParseResult<i32> {
        match self.next()? {
            Token::Int(digits) => digits.parse().map_err(|_| format!("{digits} does not fit 32 bits")),
            other => Err(format!("expected a number, not {other}")),
        }
    }

    fn name(&mut self) -> ParseResult<String> {
        match self.next()? {
            Token::Word(word) => Ok((*word).to_owned()),
            Token::Quoted(text) => Ok(text.clone()),
            other => Err(format!("expected a name, not {other}")),
        }
    }

    fn time_zone(&mut self) -> ParseResult<()> {
        self.word("TIME")?;
        self.word("ZONE")
    }

    fn next(&mut self) -> ParseResult<&Token<'a>> {
        self.position += 1;
        self.tokens.get(self.position - 1).ok_or_else(|| "it ends early".to_owned())
    }

    fn take(&mut self, wanted: impl FnOnce(&Token<'a>) -> bool) -> bool {
        let found = self.tokens.get(self.position).is_some_and(wanted);
        self.position += usize::from(found);
        found
    }

    fn take_mark(&mut self, mark: char) -> bool {
        self.take(|token| *token == Token::Mark(mark))
    }

    fn take_word(&mut self, keyword: &str) -> bool {
        self.take(|token| matches!(token, Token::Word(word) if word.eq_ignore_ascii_case(keyword)))
    }

    fn mark(&mut self, mark: char) -> ParseResult<()> {
        if self.take_mark(mark) { Ok(()) } else { Err(format!("{mark:?} is missing")) }
    }

    fn word(&mut self, keyword: &str) -> ParseResult<()> {
        if self.take_word(keyword) { Ok(()) } else { Err(format!("{keyword} is missing")) }
    }
}

/// A VECTOR, if its element and length are legal.
pub(super) fn vector(element: DataType, length: i32) -> Result<TypeKind, String> {
    let flat = matches!(
        element.kind,
        TypeKind::Boolean
            | TypeKind::TinyInt
            | TypeKind::SmallInt
            | TypeKind::Int
            | TypeKind::BigInt
            | TypeKind::Float
            | TypeKind::Double
    );
    if !flat {
        return Err(format!("{} is not an element of a vector", element.kind));
    }
    if length < 1 {
        return Err("the length of a vector is at least 1".to_owned());
    }
    Ok(TypeKind::Vector { element: Box::new(element), length })
}
