//! Truncates bounds so that they are still bounds (Paimon's `TruncateSimpleColStatsCollector.java`,
//! `StringUtils.java`).

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::{ArrayRef, BinaryArray, StringArray};

/// Lower and upper bounds of strings or bytes, truncated to `length` code points or bytes; those of other
/// types are unchanged.
///
/// A lower bound is cut off. In an upper bound the last unit that can be incremented is incremented, and
/// later units are dropped. Where no unit can be incremented, both bounds are null.
pub(crate) fn truncated(lower: &ArrayRef, upper: &ArrayRef, length: usize) -> (ArrayRef, ArrayRef) {
    if let (Some(lower), Some(upper)) = (lower.as_string_opt::<i32>(), upper.as_string_opt::<i32>()) {
        let cut =
            lower.iter().zip(upper).map(|(lower, upper)| match upper.map(|text| upper_text(text, length)) {
                Some(None) => (None, None),
                upper => (lower.map(|text| lower_text(text, length)), upper.flatten()),
            });
        let (lower, upper): (Vec<_>, Vec<_>) = cut.unzip();
        return (Arc::new(StringArray::from(lower)), Arc::new(StringArray::from(upper)));
    }
    if let (Some(lower), Some(upper)) = (lower.as_binary_opt::<i32>(), upper.as_binary_opt::<i32>()) {
        let cut = lower.iter().zip(upper).map(|(lower, upper)| {
            match upper.map(|bytes| upper_bytes(bytes, length)) {
                Some(None) => (None, None),
                upper => (lower.map(|bytes| bytes.get(..length).unwrap_or(bytes)), upper.flatten()),
            }
        });
        let (lower, upper): (Vec<_>, Vec<_>) = cut.unzip();
        return (Arc::new(BinaryArray::from_iter(lower)), Arc::new(BinaryArray::from_iter(upper)));
    }
    (Arc::clone(lower), Arc::clone(upper))
}

/// The first `length` code points.
fn lower_text(text: &str, length: usize) -> &str {
    text.char_indices().nth(length).map_or(text, |(end, _)| text.get(..end).unwrap_or(text))
}

/// The smallest text of at most `length` code points that is not below `text`; `None` where there is none.
fn upper_text(text: &str, length: usize) -> Option<String> {
    let cut = lower_text(text, length);
    if cut.len() == text.len() {
        return Some(text.to_owned());
    }
    // Surrogates and code points beyond U+10FFFF are not characters.
    let next = |c: char| char::from_u32(u32::from(c) + 1);
    cut.char_indices().rev().find_map(|(start, last)| {
        let larger = next(last)?;
        Some(format!("{}{larger}", cut.get(..start)?))
    })
}

fn upper_bytes(bytes: &[u8], length: usize) -> Option<Vec<u8>> {
    let Some(cut) = bytes.get(..length).filter(|cut| cut.len() < bytes.len()) else {
        return Some(bytes.to_vec());
    };
    let last = cut.iter().rposition(|byte| *byte < u8::MAX)?;
    let mut larger = cut.get(..=last)?.to_vec();
    if let Some(byte) = larger.last_mut() {
        *byte += 1;
    }
    Some(larger)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_cut_by_code_points() {
        let sixteen = "Two roads diverg";
        assert_eq!(lower_text("Two roads diverged", 16), sixteen);
        assert_eq!(upper_text("Two roads diverged", 16).as_deref(), Some("Two roads diverh"));
        assert_eq!(upper_text(sixteen, 16).as_deref(), Some(sixteen));
        assert_eq!(upper_text("\u{1f600}\u{1f600}\u{1f600}", 2).as_deref(), Some("\u{1f600}\u{1f601}"));
        // The bound of the engine is below the text here.
        assert_eq!(upper_text("a\u{d7ff}b", 2).as_deref(), Some("b"));
        assert_eq!(upper_text("a\u{10ffff}b", 2).as_deref(), Some("b"));
        assert_eq!(upper_text("\u{10ffff}\u{10ffff}", 1), None);
        assert_eq!(lower_text("", 3), "");
    }

    #[test]
    fn bytes_are_cut_by_bytes() {
        assert_eq!(upper_bytes(&[1, 2, 3], 2), Some(vec![1, 3]));
        assert_eq!(upper_bytes(&[1, 255, 3], 2), Some(vec![2]));
        assert_eq!(upper_bytes(&[255, 255, 3], 2), None);
        assert_eq!(upper_bytes(&[255, 255], 2), Some(vec![255, 255]));
    }

    #[test]
    fn no_upper_bound_means_no_lower_bound() {
        let texts = |texts: [&str; 2]| Arc::new(StringArray::from(texts.to_vec())) as ArrayRef;
        let (lower, upper) = truncated(&texts(["ab", "ab"]), &texts(["\u{10ffff}b", "cd"]), 1);
        let pair = |row| [lower.is_valid(row), upper.is_valid(row)];
        assert_eq!([pair(0), pair(1)], [[false, false], [true, true]]);
        assert_eq!((lower.as_string::<i32>().value(1), upper.as_string::<i32>().value(1)), ("a", "d"));
    }
}
