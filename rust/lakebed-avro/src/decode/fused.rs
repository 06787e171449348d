//! Tight loops over array items of the shapes that manifests mostly consist of: maps from column ids to
//! counts and bounds, and nullable counts.
//!
//! Each loop takes items while they are small and complete, and stops before the first other one: large or
//! malformed items, and items near the end of the block, are read by the general loop, which has all checks
//! and knows the field of an error.

use super::Columns;
use crate::cursor::{Fault, short_varint, word_varint, zigzag};

/// The number of items taken, the number kept, and the bytes of all taken.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct ItemCounts {
    pub(super) items: usize,
    pub(super) kept: usize,
    pub(super) bytes: usize,
}

/// Appends the pairs of an int and a long whose keys are wanted.
#[inline(never)]
pub(super) fn put_int_longs(
    bytes: &[u8],
    most: u64,
    wanted: impl Fn(i32) -> bool,
    columns: &mut Columns,
    key: u32,
    value: u32,
) -> ItemCounts {
    let (keys, values) = (columns.ints.get_mut(key as usize), columns.longs.get_mut(value as usize));
    let (Some(keys), Some(values)) = (keys, values) else { return ItemCounts::default() };
    let start = keys.len();
    let taken = int_longs(bytes, most, |key, value| {
        if wanted(key) {
            keys.push(key);
            values.push(value);
        }
    });
    ItemCounts { kept: keys.len().saturating_sub(start), ..taken }
}

/// Appends the pairs of an int and bytes whose keys are wanted; no value is longer than `longest`.
#[inline(never)]
pub(super) fn put_int_bytes(
    bytes: &[u8],
    most: u64,
    longest: usize,
    wanted: impl Fn(i32) -> bool,
    columns: &mut Columns,
    key: u32,
    value: u32,
) -> ItemCounts {
    let (keys, values) = (columns.ints.get_mut(key as usize), columns.bytes.get_mut(value as usize));
    let (Some(keys), Some(values)) = (keys, values) else { return ItemCounts::default() };
    let start = keys.len();
    let taken = int_bytes(bytes, most, longest, |key, ahead, length| {
        if wanted(key) {
            values.push(ahead, length)?;
            keys.push(key);
        }
        Ok(())
    });
    ItemCounts { kept: keys.len().saturating_sub(start), ..taken }
}

/// Appends nullable longs.
#[inline(never)]
pub(super) fn put_nullable_longs(
    bytes: &[u8],
    most: u64,
    null: u8,
    columns: &mut Columns,
    valid: u32,
    value: u32,
) -> ItemCounts {
    let (valid, values) = (columns.valid.get_mut(valid as usize), columns.longs.get_mut(value as usize));
    let (Some(valid), Some(values)) = (valid, values) else { return ItemCounts::default() };
    nullable_longs(bytes, most, null, |taken| match taken {
        Longs::Small(pairs) => {
            let small = |[_, value]: &[u8; 2]| i64::from(value >> 1) ^ i64::from(value & 1).wrapping_neg();
            valid.resize(valid.len().saturating_add(pairs.len()), true);
            values.extend(pairs.iter().map(small));
        }
        Longs::One(value) => {
            valid.push(value.is_some());
            values.push(value.unwrap_or(0));
        }
    })
}

/// Walks over pairs of an int and a long.
#[inline(never)]
pub(super) fn skip_int_longs(bytes: &[u8], most: u64) -> ItemCounts {
    int_longs(bytes, most, |_, _| {})
}

/// Walks over pairs of an int and bytes.
#[inline(never)]
pub(super) fn skip_int_bytes(bytes: &[u8], most: u64, longest: usize) -> ItemCounts {
    int_bytes(bytes, most, longest, |_, _, _| Ok(()))
}

/// Walks over nullable longs.
#[inline(never)]
pub(super) fn skip_nullable_longs(bytes: &[u8], most: u64, null: u8) -> ItemCounts {
    nullable_longs(bytes, most, null, |_| {})
}

/// Takes pairs of an int and a long: keys of one or two bytes, both in eight.
#[inline(always)]
fn int_longs(bytes: &[u8], most: u64, mut keep: impl FnMut(i32, i64)) -> ItemCounts {
    let most = usize::try_from(most).unwrap_or(usize::MAX);
    let mut rest = bytes;
    let mut items = 0;
    while items < most
        && let Some(head) = rest.first_chunk::<8>()
        && let Some((key, value, length)) = int_long(u64::from_le_bytes(*head))
        && let Some(behind) = rest.get(length..)
    {
        keep(key, value);
        items = items.saturating_add(1);
        rest = behind;
    }
    ItemCounts { items, kept: items, bytes: bytes.len().saturating_sub(rest.len()) }
}

/// The pair of an int and a long at the start of a word, and its length in bytes; `None` where the key has
/// more than two bytes or the value continues after the word.
#[inline(always)]
fn int_long(word: u64) -> Option<(i32, i64, usize)> {
    let key = SmallKey::of(word)?;
    let (value, length) = short_varint(key.behind)?;
    Some((key.value, zigzag(value), key.length.wrapping_add(length)))
}

/// Takes pairs of an int and bytes: keys of one or two bytes, values of fewer than 64 bytes and at most
/// `longest`. For pairs to keep, `keep` gets the key, the block from the value on, and the value's length.
#[inline(always)]
fn int_bytes(
    bytes: &[u8],
    most: u64,
    longest: usize,
    mut keep: impl FnMut(i32, &[u8], usize) -> Result<(), Fault>,
) -> ItemCounts {
    let most = usize::try_from(most).unwrap_or(usize::MAX);
    let mut rest = bytes;
    let mut items = 0;
    while items < most
        && let Some(head) = rest.first_chunk::<8>()
        && let Some(key) = SmallKey::of(u64::from_le_bytes(*head))
        // The lowest bit is the sign; the highest means that the length continues.
        && key.behind & 0x81 == 0
        && let length = (key.behind & 0x7f) as usize >> 1
        && length <= longest
        && let Some(ahead) = rest.get(key.length.wrapping_add(1)..)
        && let Some(behind) = ahead.get(length..)
        && keep(key.value, ahead, length).is_ok()
    {
        items = items.saturating_add(1);
        rest = behind;
    }
    ItemCounts { items, kept: items, bytes: bytes.len().saturating_sub(rest.len()) }
}

/// An int of one or two bytes at the start of a word, and the rest of the word after it, filled up with bytes
/// that do not end a varint.
struct SmallKey {
    value: i32,
    length: usize,
    behind: u64,
}

impl SmallKey {
    #[inline(always)]
    fn of(word: u64) -> Option<SmallKey> {
        let (value, length, behind) = if word & 0x80 == 0 {
            (word & 0x7f, 1, (word >> 8) | (0x80 << 56))
        } else if word & 0x8000 == 0 {
            ((word & 0x7f) | ((word & 0x7f00) >> 1), 2, (word >> 16) | (0x8080 << 48))
        } else {
            return None;
        };
        Some(SmallKey { value: zigzag(value) as i32, length, behind })
    }
}

/// Nullable longs: a run of values of one byte, or the value after such a run.
enum Longs<'b> {
    /// The branch and the value of each.
    Small(&'b [[u8; 2]]),
    One(Option<i64>),
}

/// Takes nullable longs of at most seven bytes.
#[inline(always)]
fn nullable_longs<'b>(bytes: &'b [u8], most: u64, null: u8, mut keep: impl FnMut(Longs<'b>)) -> ItemCounts {
    let (absent, there) = if null == 0 { (0, 2) } else { (2, 0) };
    let most = usize::try_from(most).unwrap_or(usize::MAX);
    let mut rest = bytes;
    let mut items = 0usize;
    loop {
        let pairs = rest.as_chunks::<2>().0;
        let pairs = pairs.get(..most.saturating_sub(items)).unwrap_or(pairs);
        let small = pairs.iter().position(|[branch, value]| *branch != there || *value >= 0x80);
        let (small, _) = pairs.split_at_checked(small.unwrap_or(pairs.len())).unwrap_or_default();
        keep(Longs::Small(small));
        items = items.saturating_add(small.len());
        rest = rest.get(small.as_flattened().len()..).unwrap_or_default();
        let Some(head) = rest.first_chunk::<8>().filter(|_| items < most) else { break };
        let word = u64::from_le_bytes(*head);
        let length = if word as u8 == absent {
            keep(Longs::One(None));
            1
        } else if let (true, Some((value, length))) =
            (word as u8 == there, word_varint((word >> 8) | (0x80 << 56)))
        {
            keep(Longs::One(Some(zigzag(value))));
            length.saturating_add(1)
        } else {
            break;
        };
        items = items.saturating_add(1);
        rest = rest.get(length..).unwrap_or_default();
    }
    ItemCounts { items, kept: items, bytes: bytes.len().saturating_sub(rest.len()) }
}
