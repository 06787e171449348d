//! Tight loops over array items of the shapes that fill manifests: maps from column ids to counts and
//! bounds, and nullable counts.
//!
//! Each takes items while they are small and whole, and stops before the first that is not: what is
//! large, crooked, or near the block's end goes through the general loop, which has all the checks and
//! knows which field is at fault.
// Bytes from outside go through here: nothing in it may panic or wrap.
#![cfg_attr(
    not(test),
    deny(
        clippy::unwrap_used,
        clippy::expect_used,
        clippy::panic,
        clippy::indexing_slicing,
        clippy::arithmetic_side_effects
    )
)]

use crate::cursor::{Fault, word_varint, zigzag};

/// How many items were taken, and the bytes they took.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Taken {
    pub(super) items: usize,
    pub(super) bytes: usize,
}

/// Takes pairs of an int and a long: keys of one or two bytes, both in eight.
#[inline(never)]
pub(super) fn int_longs(bytes: &[u8], most: usize, mut keep: impl FnMut(i32, i64)) -> Taken {
    let mut rest = bytes;
    let mut items = 0;
    while items < most
        && let Some(head) = rest.first_chunk::<8>()
        && let Some(key) = SmallKey::of(u64::from_le_bytes(*head))
        && let Some((value, length)) = word_varint(key.behind)
        && let Some(behind) = rest.get(key.length.wrapping_add(length)..)
    {
        keep(key.value, zigzag(value));
        items = items.saturating_add(1);
        rest = behind;
    }
    Taken { items, bytes: bytes.len().saturating_sub(rest.len()) }
}

/// Takes pairs of an int and bytes: keys of one or two bytes, values of less than 64 and at most
/// `value_bytes`. What is kept is given as the block from the value on, and the value's length.
#[inline(never)]
pub(super) fn int_bytes(
    bytes: &[u8],
    most: usize,
    value_bytes: usize,
    mut keep: impl FnMut(i32, &[u8], usize) -> Result<(), Fault>,
) -> Taken {
    let mut rest = bytes;
    let mut items = 0;
    while items < most
        && let Some(head) = rest.first_chunk::<8>()
        && let Some(key) = SmallKey::of(u64::from_le_bytes(*head))
        // The lowest bit is the sign, the highest says that the length goes on.
        && key.behind & 0x81 == 0
        && let length = (key.behind & 0x7f) as usize >> 1
        && length <= value_bytes
        && let Some(ahead) = rest.get(key.length.wrapping_add(1)..)
        && let Some(behind) = ahead.get(length..)
        && keep(key.value, ahead, length).is_ok()
    {
        items = items.saturating_add(1);
        rest = behind;
    }
    Taken { items, bytes: bytes.len().saturating_sub(rest.len()) }
}

/// An int of one or two bytes at the start of a word, and what is behind it: the rest of the word, filled
/// up with bytes that do not end a varint.
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

/// Nullable longs: a run of those that are there and take one byte, or the one behind such a run.
pub(super) enum Longs<'b> {
    /// The branch and the value of each.
    Small(&'b [[u8; 2]]),
    One(Option<i64>),
}

/// The values of [`Longs::Small`].
pub(super) fn small_longs(pairs: &[[u8; 2]]) -> impl Iterator<Item = i64> {
    pairs.iter().map(|[_, value]| i64::from(value >> 1) ^ i64::from(value & 1).wrapping_neg())
}

/// Takes nullable longs of at most seven bytes.
#[inline]
pub(super) fn nullable_longs<'b>(
    null: u8,
    bytes: &'b [u8],
    most: usize,
    mut keep: impl FnMut(Longs<'b>),
) -> Taken {
    let (absent, there) = if null == 0 { (0, 2) } else { (2, 0) };
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
    Taken { items, bytes: bytes.len().saturating_sub(rest.len()) }
}
