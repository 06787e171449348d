//! A reference decoder: slow and simple, without columns, and with no code of the decoder except the parsed
//! schema. It checks whether bytes follow a schema, and computes a checksum of their values.

use lakebed_avro::Limits;
use lakebed_avro::schema::{Logical, Node, Wire};

/// Why a walk ended early.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stop {
    /// The bytes do not follow the schema.
    Wrong,
    /// A limit is exceeded; the rest was not read.
    Over,
}

/// A walk over the records of a file.
pub struct Walk<'l> {
    limits: &'l Limits,
    items: u64,
    zero_width: u64,
    /// A checksum of all values in their order; it does not depend on how arrays are divided into runs.
    pub sum: u64,
}

type WalkResult<T> = Result<T, Stop>;

impl<'l> Walk<'l> {
    pub fn new(limits: &'l Limits) -> Walk<'l> {
        Walk { limits, items: 0, zero_width: 0, sum: 0 }
    }

    /// Walks the records of one block, which must end with them.
    pub fn block(&mut self, node: &Node, count: u64, mut bytes: &[u8]) -> WalkResult<()> {
        self.zero_width = 0;
        for _ in 0..count {
            let before = bytes.len();
            self.value(node, &mut bytes)?;
            if bytes.len() == before {
                self.nothing()?;
            }
        }
        if bytes.is_empty() { Ok(()) } else { Err(Stop::Wrong) }
    }

    fn value(&mut self, node: &Node, bytes: &mut &[u8]) -> WalkResult<()> {
        match &node.wire {
            Wire::Null => {}
            Wire::Boolean => {
                let byte = take(bytes, 1)?;
                if byte[0] > 1 {
                    return Err(Stop::Wrong);
                }
                self.note(byte);
            }
            Wire::Int => {
                let number = i32::try_from(long(bytes)?).map_err(|_| Stop::Wrong)?;
                self.note(&i64::from(number).to_le_bytes());
            }
            Wire::Long => {
                let number = long(bytes)?;
                self.note(&number.to_le_bytes());
            }
            Wire::Float => self.note(take(bytes, 4)?),
            Wire::Double => self.note(take(bytes, 8)?),
            Wire::Bytes => {
                let value = self.text(bytes)?;
                let is_number = matches!(node.logical, Some(Logical::Decimal { .. }));
                self.note(if is_number { shortest(value) } else { value });
            }
            Wire::String => {
                let value = self.text(bytes)?;
                std::str::from_utf8(value).map_err(|_| Stop::Wrong)?;
                self.note(value);
            }
            Wire::Fixed(size) => {
                let value = take(bytes, *size)?;
                if *size as u64 > self.limits.max_value_bytes {
                    return Err(Stop::Over);
                }
                self.note(value);
            }
            Wire::Enum { symbols, .. } => self.choice(symbols.len(), bytes).map(drop)?,
            Wire::Union(branches) => {
                let branch = self.choice(branches.len(), bytes)?;
                self.value(&branches[branch], bytes)?;
            }
            Wire::Record(fields) => {
                for field in fields {
                    self.value(&field.node, bytes)?;
                }
            }
            Wire::Array(items) => self.items(None, items, bytes)?,
            Wire::Map(values) => {
                let key = Node { wire: Wire::String, logical: None, name: None };
                self.items(Some(&key), values, bytes)?;
            }
        }
        Ok(())
    }

    fn items(&mut self, key: Option<&Node>, item: &Node, bytes: &mut &[u8]) -> WalkResult<()> {
        let mut total = 0;
        loop {
            let count = long(bytes)?;
            if count == 0 {
                self.note(&[total as u8, 0xa7]);
                return Ok(());
            }
            let sized =
                if count < 0 { Some(usize::try_from(long(bytes)?).map_err(|_| Stop::Wrong)?) } else { None };
            let before = bytes.len();
            for _ in 0..count.unsigned_abs() {
                let left = bytes.len();
                self.items += 1;
                if self.items > self.limits.max_items {
                    return Err(Stop::Over);
                }
                if let Some(key) = key {
                    self.value(key, bytes)?;
                }
                self.value(item, bytes)?;
                if bytes.len() == left {
                    self.nothing()?;
                }
                total += 1;
            }
            if sized.is_some_and(|size| size != before - bytes.len()) {
                return Err(Stop::Wrong);
            }
        }
    }

    /// The number of a symbol or branch, of which there are `count`.
    fn choice(&mut self, count: usize, bytes: &mut &[u8]) -> WalkResult<usize> {
        let number = usize::try_from(long(bytes)?).ok().filter(|number| *number < count);
        let number = number.ok_or(Stop::Wrong)?;
        self.note(&(number as u64).to_le_bytes());
        Ok(number)
    }

    fn text<'b>(&mut self, bytes: &mut &'b [u8]) -> WalkResult<&'b [u8]> {
        let length = usize::try_from(long(bytes)?).map_err(|_| Stop::Wrong)?;
        let value = take(bytes, length)?;
        if length as u64 > self.limits.max_value_bytes { Err(Stop::Over) } else { Ok(value) }
    }

    /// Counts a value that took no bytes.
    fn nothing(&mut self) -> WalkResult<()> {
        self.zero_width += 1;
        if self.zero_width > self.limits.max_zero_width_items { Err(Stop::Over) } else { Ok(()) }
    }

    fn note(&mut self, bytes: &[u8]) {
        self.sum = bytes.iter().chain(&[0x5a]).fold(self.sum, |sum, byte| {
            (sum.rotate_left(5) ^ u64::from(*byte)).wrapping_mul(0x9e37_79b9_7f4a_7c15)
        });
    }
}

fn take<'b>(bytes: &mut &'b [u8], count: usize) -> WalkResult<&'b [u8]> {
    let (taken, rest) = bytes.split_at_checked(count).ok_or(Stop::Wrong)?;
    *bytes = rest;
    Ok(taken)
}

/// A number in two's complement without the bytes that only repeat its sign, since the same number may have more of
/// them.
fn shortest(mut number: &[u8]) -> &[u8] {
    loop {
        number = match number {
            [0, rest @ ..] if rest.first().is_none_or(|next| *next < 0x80) => rest,
            [0xff, rest @ ..] if rest.first().is_some_and(|next| *next >= 0x80) => rest,
            _ => return number,
        };
    }
}

/// A zigzag varint of at most 64 bits.
pub fn long(bytes: &mut &[u8]) -> WalkResult<i64> {
    let mut number = 0u128;
    for shift in (0..70).step_by(7) {
        let byte = take(bytes, 1)?[0];
        number |= u128::from(byte & 0x7f) << shift;
        if byte < 0x80 {
            let number = u64::try_from(number).map_err(|_| Stop::Wrong)?;
            return Ok((number >> 1) as i64 ^ -((number & 1) as i64));
        }
    }
    Err(Stop::Wrong)
}
