//! Thrift's compact protocol, as far as Parquet's messages need it.
//!
//! Source: Apache Thrift, "Thrift Compact protocol encoding".

use lakebed_avro::{Error, ErrorKind, Result};

use crate::input::Input;

/// How deep skipped values may be nested.
const MOST_DEPTH: u32 = 64;

/// Reads messages.
pub(super) struct Compact(Input);

/// The wire type of a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Kind(u8);

impl Kind {
    /// The type of a boolean field is its value.
    const TRUE: Kind = Kind(1);
    const FALSE: Kind = Kind(2);
    const BYTE: Kind = Kind(3);
    const BINARY: Kind = Kind(8);
    const LIST: Kind = Kind(9);
    const SET: Kind = Kind(10);
    const STRUCT: Kind = Kind(12);
}

impl Compact {
    pub(super) fn new(input: Input) -> Compact {
        Compact(input)
    }

    /// The input after the messages that were read.
    pub(super) fn into_rest(self) -> Input {
        self.0
    }

    /// Calls `each` with each field of a struct; it returns whether it read the value. Other values are skipped.
    pub(super) fn fields(
        &mut self,
        kind: Kind,
        mut each: impl FnMut(&mut Compact, i64, Kind) -> Result<bool>,
    ) -> Result<()> {
        expect(kind == Kind::STRUCT)?;
        let mut number = 0_i64;
        while let Some(kind) = self.field(&mut number)? {
            if !each(self, number, kind)? {
                self.skip(kind, MOST_DEPTH)?;
            }
        }
        Ok(())
    }

    /// A message, which is a struct without a header.
    pub(super) fn message(
        &mut self,
        each: impl FnMut(&mut Compact, i64, Kind) -> Result<bool>,
    ) -> Result<()> {
        self.fields(Kind::STRUCT, each)
    }

    /// Hands each item of a list to `each`.
    pub(super) fn list(
        &mut self,
        kind: Kind,
        mut each: impl FnMut(&mut Compact, Kind) -> Result<()>,
    ) -> Result<()> {
        expect(kind == Kind::LIST || kind == Kind::SET)?;
        let (items, kind) = self.list_header()?;
        for _ in 0..items {
            each(self, kind)?;
        }
        Ok(())
    }

    /// An integer of any width.
    pub(super) fn number(&mut self, kind: Kind) -> Result<i64> {
        match kind {
            Kind::BYTE => self.0.byte().map(|byte| i64::from(byte.cast_signed())),
            Kind(4..=6) => self.0.zigzag(),
            _ => Err(wrong()),
        }
    }

    pub(super) fn boolean(&mut self, kind: Kind) -> Result<bool> {
        expect(kind == Kind::TRUE || kind == Kind::FALSE)?;
        Ok(kind == Kind::TRUE)
    }

    pub(super) fn text(&mut self, kind: Kind) -> Result<String> {
        let text = std::str::from_utf8(self.bytes(kind)?);
        let utf8 = |_| Error::new(ErrorKind::Utf8, "a name that is not UTF-8");
        text.map(str::to_owned).map_err(utf8)
    }

    pub(super) fn bytes(&mut self, kind: Kind) -> Result<&[u8]> {
        expect(kind == Kind::BINARY)?;
        let length = self.0.length()?;
        self.0.take(length)
    }

    /// The type of the next field; `number`, that of the last field, becomes its number.
    fn field(&mut self, number: &mut i64) -> Result<Option<Kind>> {
        let header = self.0.byte()?;
        if header == 0 {
            return Ok(None);
        }
        *number = match header >> 4 {
            0 => self.0.zigzag()?,
            more => number.checked_add(i64::from(more)).ok_or_else(wrong)?,
        };
        Ok(Some(Kind(header & 0xf)))
    }

    /// The number of items in a list, each of at least one byte, and their type.
    fn list_header(&mut self) -> Result<(usize, Kind)> {
        let header = self.0.byte()?;
        let items = match header >> 4 {
            15 => self.0.length()?,
            items => usize::from(items),
        };
        if items > self.0.rest().len() {
            return Err(Error::new(ErrorKind::Count, format!("a list of {items} items in fewer bytes")));
        }
        Ok((items, Kind(header & 0xf)))
    }

    fn skip(&mut self, kind: Kind, depth: u32) -> Result<()> {
        let Some(below) = depth.checked_sub(1) else {
            return Err(Error::new(ErrorKind::Depth, "a message that is nested too deeply"));
        };
        match kind.0 {
            1 | 2 => {}
            3 => drop(self.0.byte()?),
            4..=6 => drop(self.0.varint()?),
            7 => drop(self.0.array::<8>()?),
            8 => {
                let length = self.0.length()?;
                self.0.take(length)?;
            }
            9 | 10 => {
                let (items, kind) = self.list_header()?;
                for _ in 0..items {
                    self.skip_item(kind, below)?;
                }
            }
            11 => {
                let items = self.0.length()?;
                if items > 0 {
                    let kinds = self.0.byte()?;
                    for _ in 0..items {
                        self.skip_item(Kind(kinds >> 4), below)?;
                        self.skip_item(Kind(kinds & 0xf), below)?;
                    }
                }
            }
            12 => {
                let mut number = 0;
                while let Some(kind) = self.field(&mut number)? {
                    self.skip(kind, below)?;
                }
            }
            13 => drop(self.0.array::<16>()?),
            _ => return Err(wrong()),
        }
        Ok(())
    }

    /// Booleans that are not fields take a byte.
    fn skip_item(&mut self, kind: Kind, depth: u32) -> Result<()> {
        if kind == Kind::TRUE || kind == Kind::FALSE {
            self.0.byte().map(drop)
        } else {
            self.skip(kind, depth)
        }
    }
}

fn expect(is: bool) -> Result<()> {
    if is { Ok(()) } else { Err(wrong()) }
}

#[cold]
fn wrong() -> Error {
    Error::new(ErrorKind::Codec, "a field of a Thrift message has another type than Parquet defines")
}
