//! The values of a page, in each of Parquet's encodings.
//!
//! Source: Parquet specification, "Encodings".

use arrow_buffer::Buffer;
use lakebed_avro::{Error, ErrorKind, Result};

use super::delta::{DeltaBytes, DeltaIntegers, DeltaLengths};
use super::hybrid::{Hybrid, Numbers};
use super::schema::Physical;
use crate::arrays::Bytes;
use crate::budget::Budget;
use crate::input::{Input, ends};

/// The values of a column without nulls.
pub(super) enum Values {
    Boolean(Vec<bool>),
    Int32(Vec<i32>),
    Int64(Vec<i64>),
    Float(Vec<f32>),
    Double(Vec<f64>),
    Bytes(Bytes),
}

impl Values {
    pub(super) fn new(physical: Physical) -> Values {
        match physical {
            Physical::Boolean => Values::Boolean(Vec::new()),
            Physical::Int32 => Values::Int32(Vec::new()),
            Physical::Int64 | Physical::Int96 => Values::Int64(Vec::new()),
            Physical::Float => Values::Float(Vec::new()),
            Physical::Double => Values::Double(Vec::new()),
            Physical::Bytes | Physical::Fixed(_) => Values::Bytes(Bytes::default()),
        }
    }

    /// Reserves memory for `count` more.
    fn reserve(&mut self, count: usize, budget: &mut Budget) -> Result<()> {
        match self {
            Values::Boolean(values) => more(values, count, budget),
            Values::Int32(values) => more(values, count, budget),
            Values::Int64(values) => more(values, count, budget),
            Values::Float(values) => more(values, count, budget),
            Values::Double(values) => more(values, count, budget),
            // Their memory is counted one by one, since their lengths are not yet known.
            Values::Bytes(_) => Ok(()),
        }
    }

    /// Appends entries of a dictionary.
    fn push_entries(&mut self, entries: &Values, numbers: Numbers<'_>, budget: &mut Budget) -> Result<()> {
        match (self, entries) {
            (Values::Boolean(values), Values::Boolean(entries)) => push(values, entries, numbers),
            (Values::Int32(values), Values::Int32(entries)) => push(values, entries, numbers),
            (Values::Int64(values), Values::Int64(entries)) => push(values, entries, numbers),
            (Values::Float(values), Values::Float(entries)) => push(values, entries, numbers),
            (Values::Double(values), Values::Double(entries)) => push(values, entries, numbers),
            (Values::Bytes(values), Values::Bytes(entries)) => {
                let entry = |number: u32| entries.from(number as usize).ok_or_else(|| no_entry(number));
                match numbers {
                    Numbers::Same(number, count) => values.extend(count, |_| entry(number), budget),
                    Numbers::Each(numbers) => {
                        let number = |at: usize| numbers.get(at).copied().unwrap_or_default();
                        values.extend(numbers.len(), |at| entry(number(at)), budget)
                    }
                }
            }
            _ => Err(ends()),
        }
    }
}

fn more<T>(values: &mut Vec<T>, count: usize, budget: &mut Budget) -> Result<()> {
    budget.hold(count, size_of::<T>())?;
    let no_memory = |_| Error::new(ErrorKind::Limit, format!("no memory for {count} values of a column"));
    values.try_reserve(count).map_err(no_memory)
}

fn push<T: Copy + Default>(values: &mut Vec<T>, entries: &[T], numbers: Numbers<'_>) -> Result<()> {
    let entry = |number: u32| entries.get(number as usize).copied();
    match numbers {
        Numbers::Same(number, count) => {
            let value = entry(number).ok_or_else(|| no_entry(number))?;
            values.extend(std::iter::repeat_n(value, count));
        }
        Numbers::Each(numbers) => {
            let mut missing = None;
            values.extend(numbers.iter().map(|number| {
                entry(*number).unwrap_or_else(|| {
                    missing = Some(*number);
                    T::default()
                })
            }));
            if let Some(number) = missing {
                return Err(no_entry(number));
            }
        }
    }
    Ok(())
}

#[cold]
fn no_entry(number: u32) -> Error {
    Error::new(ErrorKind::Length, format!("dictionary entry {number} does not exist"))
}

/// Decodes the values of one page.
pub(super) enum Decoder {
    Plain(Input, u8),
    Runs(Hybrid),
    Dictionary(Hybrid),
    Delta(DeltaIntegers),
    Lengths(DeltaLengths),
    Prefixes(Box<DeltaBytes>),
    Split { bytes: Input, values: usize, at: usize },
}

impl Decoder {
    /// A decoder of the rest of a page that declares `count` values.
    ///
    /// # Errors
    /// `Unsupported` for an unknown encoding, or one that values of this type do not have.
    pub(super) fn new(
        encoding: i64,
        physical: Physical,
        mut page: Input,
        count: usize,
        budget: &mut Budget,
    ) -> Result<Decoder> {
        let numbers = matches!(physical, Physical::Int32 | Physical::Int64);
        let bytes = matches!(physical, Physical::Bytes | Physical::Fixed(_));
        Ok(match encoding {
            0 => Decoder::Plain(page, 0),
            2 | 8 => {
                // A page of nulls may even lack the width.
                let width = if page.is_empty() { 0 } else { page.byte()? };
                Decoder::Dictionary(Hybrid::new(page, u32::from(width))?)
            }
            3 if physical == Physical::Boolean => {
                let length = if page.is_empty() { 0 } else { u32::from_le_bytes(page.array()?) };
                Decoder::Runs(Hybrid::new(page.split(length as usize)?, 1)?)
            }
            5 if numbers => Decoder::Delta(DeltaIntegers::new(page)),
            6 if physical == Physical::Bytes => Decoder::Lengths(DeltaLengths::new(page, count, budget)?),
            7 if bytes => Decoder::Prefixes(Box::new(DeltaBytes::new(page, count, budget)?)),
            9 => {
                let values = width(physical).and_then(|width| page.rest().len().checked_div(width));
                let values = values.ok_or_else(|| unsupported(encoding))?;
                Decoder::Split { bytes: page, values, at: 0 }
            }
            _ => return Err(unsupported(encoding)),
        })
    }

    /// Appends the next `count` values.
    pub(super) fn read(
        &mut self,
        count: usize,
        physical: Physical,
        dictionary: Option<&Values>,
        values: &mut Values,
        budget: &mut Budget,
    ) -> Result<()> {
        if count == 0 {
            return Ok(());
        }
        values.reserve(count, budget)?;
        match self {
            Decoder::Plain(input, bit) => plain(input, bit, physical, count, values, budget),
            Decoder::Runs(runs) => {
                let Values::Boolean(values) = values else { return Err(ends()) };
                runs.read(count, |numbers| push(values, &[false, true], numbers))
            }
            Decoder::Dictionary(numbers) => {
                let none =
                    || Error::new(ErrorKind::Codec, "numbers of dictionary entries without a dictionary");
                let entries = dictionary.ok_or_else(none)?;
                numbers.read(count, |numbers| values.push_entries(entries, numbers, budget))
            }
            Decoder::Delta(numbers) => {
                for _ in 0..count {
                    let value = numbers.next()?;
                    match values {
                        // Differences between 32-bit numbers wrap around as these do.
                        Values::Int32(values) => values.push(value as i32),
                        Values::Int64(values) => values.push(value),
                        _ => return Err(ends()),
                    }
                }
                Ok(())
            }
            Decoder::Lengths(lengths) => each(values, count, |values| values.push(lengths.next()?, budget)),
            Decoder::Prefixes(prefixes) => each(values, count, |values| {
                let value = prefixes.next(budget)?;
                check_length(physical, value)?;
                values.push(value, budget)
            }),
            Decoder::Split { bytes, values: of, at } => {
                let width = width(physical).ok_or_else(ends)?;
                let mut joined = Vec::new();
                for _ in 0..count {
                    if *at >= *of {
                        return Err(ends());
                    }
                    joined.clear();
                    joined.extend(bytes.rest().chunks(*of).take(width).filter_map(|all| all.get(*at)));
                    *at = at.checked_add(1).ok_or_else(ends)?;
                    let mut value = Input::new(Buffer::from(joined.as_slice()));
                    plain(&mut value, &mut 0, physical, 1, values, budget)?;
                }
                Ok(())
            }
        }
    }

    /// Appends those of the next `count` values that have one of the numbers in `wanted`, which ascend from 0.
    pub(super) fn read_some(
        &mut self,
        count: usize,
        wanted: &[u32],
        physical: Physical,
        dictionary: Option<&Values>,
        values: &mut Values,
        budget: &mut Budget,
    ) -> Result<()> {
        let (Decoder::Dictionary(numbers), Some(entries)) = (&mut *self, dictionary) else {
            let mut all = Values::new(physical);
            self.read(count, physical, dictionary, &mut all, budget)?;
            return values.push_entries(&all, Numbers::Each(wanted), budget);
        };
        let (mut wanted, mut picked, mut start) = (wanted.iter().peekable(), Vec::new(), 0_usize);
        numbers.read(count, |numbers| {
            let some = match numbers {
                Numbers::Same(_, some) => some,
                Numbers::Each(numbers) => numbers.len(),
            };
            let end = start.saturating_add(some);
            while let Some(place) = wanted.next_if(|place| (**place as usize) < end) {
                picked.push(match numbers {
                    Numbers::Same(number, _) => number,
                    Numbers::Each(numbers) => {
                        let at = (*place as usize).saturating_sub(start);
                        numbers.get(at).copied().unwrap_or_default()
                    }
                });
            }
            start = end;
            Ok(())
        })?;
        values.push_entries(entries, Numbers::Each(&picked), budget)
    }
}

fn each(values: &mut Values, count: usize, mut push: impl FnMut(&mut Bytes) -> Result<()>) -> Result<()> {
    let Values::Bytes(values) = values else { return Err(ends()) };
    for _ in 0..count {
        push(values)?;
    }
    Ok(())
}

fn plain(
    input: &mut Input,
    bit: &mut u8,
    physical: Physical,
    count: usize,
    values: &mut Values,
    budget: &mut Budget,
) -> Result<()> {
    let bytes = |input: &mut Input, width: usize| -> Result<Input> {
        input.split(count.checked_mul(width).ok_or_else(ends)?)
    };
    match (values, physical) {
        (Values::Boolean(values), _) => {
            for _ in 0..count {
                let byte = *input.rest().first().ok_or_else(ends)?;
                values.push(byte >> *bit & 1 == 1);
                *bit = bit.wrapping_add(1) % 8;
                if *bit == 0 {
                    input.byte()?;
                }
            }
        }
        (Values::Int32(values), _) => {
            let bytes = bytes(input, 4)?;
            values.extend(bytes.rest().as_chunks().0.iter().map(|value| i32::from_le_bytes(*value)));
        }
        (Values::Int64(values), Physical::Int96) => {
            for _ in 0..count {
                values.push(int96(input)?);
            }
        }
        (Values::Int64(values), _) => {
            let bytes = bytes(input, 8)?;
            values.extend(bytes.rest().as_chunks().0.iter().map(|value| i64::from_le_bytes(*value)));
        }
        (Values::Float(values), _) => {
            let bytes = bytes(input, 4)?;
            values.extend(bytes.rest().as_chunks().0.iter().map(|value| f32::from_le_bytes(*value)));
        }
        (Values::Double(values), _) => {
            let bytes = bytes(input, 8)?;
            values.extend(bytes.rest().as_chunks().0.iter().map(|value| f64::from_le_bytes(*value)));
        }
        (Values::Bytes(values), Physical::Fixed(length)) => {
            let bytes = bytes(input, length)?;
            let bytes = bytes.rest();
            let value = |at: usize| {
                let start = at.checked_mul(length).ok_or_else(ends)?;
                Ok((bytes.get(start..).ok_or_else(ends)?, length))
            };
            values.extend(count, value, budget)?;
        }
        (Values::Bytes(values), _) => {
            let mut rest = input.rest();
            let whole = rest.len();
            let value = |_| {
                let (length, below) = rest.split_first_chunk::<4>().ok_or_else(ends)?;
                let length = u32::from_le_bytes(*length) as usize;
                rest = below.get(length..).ok_or_else(ends)?;
                Ok((below, length))
            };
            values.extend(count, value, budget)?;
            let read = whole.saturating_sub(rest.len());
            input.take(read)?;
        }
    }
    Ok(())
}

/// Microseconds of an INT96: nanoseconds of a day, and its number in the Julian calendar.
fn int96(input: &mut Input) -> Result<i64> {
    const EPOCH: i64 = 2_440_588;
    const DAY: i64 = 86_400_000_000;
    let nanos = i64::from_le_bytes(input.array()?);
    let day = i64::from(i32::from_le_bytes(input.array()?));
    let micros = day.checked_sub(EPOCH).and_then(|days| days.checked_mul(DAY));
    let micros = micros.and_then(|micros| micros.checked_add(nanos.div_euclid(1000)));
    micros.ok_or_else(|| Error::new(ErrorKind::Timestamp, "a timestamp that is out of range"))
}

/// The bytes of a value, for types whose values all have the same length.
fn width(physical: Physical) -> Option<usize> {
    match physical {
        Physical::Int32 | Physical::Float => Some(4),
        Physical::Int64 | Physical::Double => Some(8),
        Physical::Fixed(length) => Some(length),
        Physical::Boolean | Physical::Int96 | Physical::Bytes => None,
    }
}

fn check_length(physical: Physical, value: &[u8]) -> Result<()> {
    if matches!(physical, Physical::Fixed(length) if length != value.len()) {
        return Err(Error::new(
            ErrorKind::Length,
            format!("a value of {} bytes in a column of fixed length", value.len()),
        ));
    }
    Ok(())
}

#[cold]
fn unsupported(encoding: i64) -> Error {
    Error::new(ErrorKind::Unsupported, format!("encoding {encoding} is not read for values of this type"))
}
