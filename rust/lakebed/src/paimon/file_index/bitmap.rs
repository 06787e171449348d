//! Bitmap indexes: the rows of each value (Paimon's `BitmapFileIndex.java`, `BitmapFileIndexMeta.java`,
//! `BitmapFileIndexMetaV2.java`).

use roaring::RoaringBitmap;

use super::input::{Input, Rows, read_value};
use crate::paimon::types::TypeKind;
use crate::predicate::BoundLeaf;

/// The rows that match; any row where the index is malformed or of another version.
pub(super) fn rows(body: &[u8], leaf: &BoundLeaf, kind: &TypeKind) -> Rows {
    let mut input = Input(body);
    let [version] = input.bytes()?;
    let (_row_count, values) = (input.u32()?, input.u32()?);
    let mut places = Vec::new();
    if input.flag()? {
        let place = input.i32()?;
        places.extend(leaf.matches(None).then_some(place));
        if version == 2 {
            input.u32()?;
        }
    }
    let bitmaps = match version {
        1 => {
            for _ in 0..values {
                entry(&mut input, leaf, kind, &mut places)?;
            }
            input.0
        }
        2 => blocks(&mut input, leaf, kind, &mut places)?,
        _ => return None,
    };
    let mut rows = RoaringBitmap::new();
    for place in places {
        match usize::try_from(place) {
            Ok(start) => rows |= Input(bitmaps.get(start..)?).bitmap()?,
            // For a single row, its number takes the place of a bitmap's offset.
            Err(_) => {
                rows.insert(u32::try_from((-1_i32).checked_sub(place)?).ok()?);
            }
        }
    }
    Some(rows)
}

/// A value, the offset of its bitmap, and whether it is needed.
fn entry(input: &mut Input<'_>, leaf: &BoundLeaf, kind: &TypeKind, places: &mut Vec<i32>) -> Option<()> {
    let value = read_value(input, kind)?;
    let place = input.i32()?;
    places.extend(leaf.matches(Some(value)).then_some(place));
    Some(())
}

/// The values of all blocks; bitmaps follow.
fn blocks<'a>(
    input: &mut Input<'a>,
    leaf: &BoundLeaf,
    kind: &TypeKind,
    places: &mut Vec<i32>,
) -> Option<&'a [u8]> {
    let count = input.u32()?;
    for _ in 0..count {
        // The first value of the block, and the block's offset.
        read_value(input, kind)?;
        input.u32()?;
    }
    let length = usize::try_from(input.u32()?).ok()?;
    let mut blocks = Input(input.take(length)?);
    for _ in 0..count {
        for _ in 0..blocks.u32()? {
            entry(&mut blocks, leaf, kind, places)?;
            blocks.u32()?;
        }
    }
    Some(input.0)
}
