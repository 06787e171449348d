//! Casts to texts and bytes.

use std::borrow::Cow;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::{ArrayRef, BinaryArray, StringArray};

use crate::error::Result;
use crate::paimon::text::{TextForm, texts};
use crate::paimon::types::{DataType, MAX_LENGTH, TypeKind};

/// CHAR and BINARY values are padded to at most this length: a bound is not worth more memory.
const MAX_PADDED: usize = 1 << 16;

pub(super) fn to_text(array: &ArrayRef, from: &DataType, to: &TypeKind) -> Result<Option<ArrayRef>> {
    let fitted = match from.kind {
        TypeKind::Boolean
        | TypeKind::TinyInt
        | TypeKind::SmallInt
        | TypeKind::Int
        | TypeKind::BigInt
        | TypeKind::Float
        | TypeKind::Double
        | TypeKind::Decimal { .. }
        | TypeKind::Char(_)
        | TypeKind::VarChar(_) => true,
        TypeKind::Binary(_)
        | TypeKind::VarBinary(_)
        | TypeKind::Array(_)
        | TypeKind::Map(..)
        | TypeKind::Row(_) => false,
        TypeKind::Date | TypeKind::Time(_) | TypeKind::Timestamp(_) | TypeKind::LocalZonedTimestamp(_)
            if *to == TypeKind::VarChar(MAX_LENGTH) =>
        {
            false
        }
        _ => return Ok(None),
    };
    let texts = texts(array, from, TextForm::Cast)?;
    if !fitted || *to == TypeKind::VarChar(MAX_LENGTH) {
        return Ok(Some(Arc::new(texts)));
    }
    let fitted: StringArray = texts.iter().map(|text| fit(text?, to)).collect();
    Ok(Some(Arc::new(fitted)))
}

/// The text with at most the type's number of code points; for CHAR with exactly that number.
fn fit<'a>(text: &'a str, to: &TypeKind) -> Option<Cow<'a, str>> {
    let (TypeKind::Char(length) | TypeKind::VarChar(length)) = *to else { return None };
    let length = usize::try_from(length).ok()?;
    if let Some((end, _)) = text.char_indices().nth(length) {
        return text.get(..end).map(Cow::Borrowed);
    }
    match to {
        TypeKind::Char(_) if length > MAX_PADDED => None,
        TypeKind::Char(_) => {
            let missing = length.saturating_sub(text.chars().count());
            Some(Cow::Owned(format!("{text}{}", " ".repeat(missing))))
        }
        _ => Some(Cow::Borrowed(text)),
    }
}

pub(super) fn to_bytes(array: &ArrayRef, from: &TypeKind, to: &TypeKind) -> Option<ArrayRef> {
    let (TypeKind::Binary(length) | TypeKind::VarBinary(length)) = *to else { return None };
    let length = usize::try_from(length).ok()?;
    let padded = matches!(to, TypeKind::Binary(_));
    let fit = |bytes: &[u8]| {
        let mut bytes = bytes.get(..length).unwrap_or(bytes).to_vec();
        if padded && bytes.len() < length {
            (length <= MAX_PADDED).then(|| bytes.resize(length, 0))?;
        }
        Some(bytes)
    };
    let fitted: BinaryArray = match from {
        TypeKind::Char(_) | TypeKind::VarChar(_) => {
            array.as_string_opt::<i32>()?.iter().map(|text| fit(text?.as_bytes())).collect()
        }
        TypeKind::Binary(_) | TypeKind::VarBinary(_) => {
            array.as_binary_opt::<i32>()?.iter().map(|bytes| fit(bytes?)).collect()
        }
        _ => return None,
    };
    Some(Arc::new(fitted))
}
