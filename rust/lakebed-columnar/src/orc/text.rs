//! Texts and bytes: one after another, or as numbers of dictionary entries.
//!
//! Source: ORC specification, "String, Char, and VarChar Columns" and "Binary Columns".

use arrow_array::ArrayRef;
use arrow_buffer::NullBuffer;
use lakebed_avro::{Error, ErrorKind, Result};

use super::integers::Integers;
use super::stripe::{StreamKind, Streams};
use crate::arrays::Bytes;
use crate::budget::Budget;
use crate::input::Input;

/// The values of a column of texts or of bytes.
pub(super) struct Texts {
    text: bool,
    form: Form,
}

enum Form {
    Direct { lengths: Integers, data: Input },
    Dictionary { numbers: Integers, entries: Bytes },
}

impl Texts {
    pub(super) fn open(id: u32, text: bool, streams: &mut Streams, budget: &mut Budget) -> Result<Texts> {
        let mut lengths = streams.integers(id, StreamKind::Length, false)?;
        let Some(size) = streams.dictionary(id) else {
            let form = Form::Direct { lengths, data: streams.take(id, StreamKind::Data) };
            return Ok(Texts { text, form });
        };
        let mut data = streams.take(id, StreamKind::DictionaryData);
        let mut entries = Bytes::default();
        lengths.read(size, |length| entries.push(value(&mut data, length)?, budget))?;
        let numbers = streams.integers(id, StreamKind::Data, false)?;
        Ok(Texts { text, form: Form::Dictionary { numbers, entries } })
    }

    /// The next `count` values, each at its row.
    pub(super) fn array(
        &mut self,
        count: usize,
        nulls: Option<NullBuffer>,
        budget: &mut Budget,
    ) -> Result<ArrayRef> {
        let mut values = Bytes::default();
        match &mut self.form {
            Form::Direct { lengths, data } => {
                lengths.read(count, |length| values.push(value(data, length)?, budget))?;
            }
            Form::Dictionary { numbers, entries } => numbers.read(count, |number| {
                let entry = usize::try_from(number).ok().and_then(|number| entries.get(number));
                let unknown = || {
                    let message = format!("entry {number} of a dictionary that has {}", entries.len());
                    Error::new(ErrorKind::Length, message)
                };
                values.push(entry.ok_or_else(unknown)?, budget)
            })?,
        }
        values.into_array(self.text, nulls, budget)
    }
}

/// The next value, whose length was read.
fn value(data: &mut Input, length: i64) -> Result<&[u8]> {
    let negative = |_| Error::new(ErrorKind::Length, format!("a text of {length} bytes"));
    data.take(usize::try_from(length).map_err(negative)?)
}
