//! Protocol Buffers messages, with what ORC uses.
//!
//! Source: the Protocol Buffers encoding specification.

use lakebed_avro::{Error, ErrorKind, Result};

use crate::input::Input;

/// The fields of a message, in order.
pub(super) struct Message(Input);

/// The value of a field.
pub(super) enum Value {
    Number(u64),
    Bytes(Input),
    /// Eight bytes, of a floating-point number.
    Eight([u8; 8]),
    /// Four bytes, which no field read here has.
    Four,
}

impl Message {
    pub(super) fn new(bytes: Input) -> Message {
        Message(bytes)
    }

    /// The next field's number and value; `None` at the end.
    pub(super) fn field(&mut self) -> Result<Option<(u64, Value)>> {
        let input = &mut self.0;
        if input.is_empty() {
            return Ok(None);
        }
        let tag = input.varint()?;
        let value = match tag & 7 {
            0 => Value::Number(input.varint()?),
            1 => Value::Eight(input.array()?),
            2 => {
                let length = input.length()?;
                Value::Bytes(input.split(length)?)
            }
            5 => input.array::<4>().map(|_| Value::Four)?,
            _ => return Err(wrong()),
        };
        Ok(Some((tag >> 3, value)))
    }
}

impl Value {
    pub(super) fn number(self) -> Result<u64> {
        if let Value::Number(number) = self { Ok(number) } else { Err(wrong()) }
    }

    pub(super) fn eight(self) -> Result<[u8; 8]> {
        if let Value::Eight(bytes) = self { Ok(bytes) } else { Err(wrong()) }
    }

    pub(super) fn bytes(self) -> Result<Input> {
        if let Value::Bytes(bytes) = self { Ok(bytes) } else { Err(wrong()) }
    }

    pub(super) fn message(self) -> Result<Message> {
        self.bytes().map(Message)
    }

    pub(super) fn text(self) -> Result<String> {
        let bytes = self.bytes()?;
        let text = std::str::from_utf8(bytes.rest());
        let utf8 = |_| Error::new(ErrorKind::Utf8, "a name that is not UTF-8");
        text.map(str::to_owned).map_err(utf8)
    }

    /// The numbers of a repeated field, packed or separate.
    pub(super) fn numbers(self, numbers: &mut Vec<u64>) -> Result<()> {
        match self {
            Value::Number(number) => numbers.push(number),
            Value::Bytes(mut packed) => {
                while !packed.is_empty() {
                    numbers.push(packed.varint()?);
                }
            }
            Value::Eight(_) | Value::Four => return Err(wrong()),
        }
        Ok(())
    }
}

#[cold]
fn wrong() -> Error {
    Error::new(ErrorKind::Codec, "a field of a message is of another type than ORC's")
}
