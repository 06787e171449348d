//! Single values: bounds, defaults and partition values, in their binary, JSON and text forms.

mod binary;
pub(crate) mod decimal;
mod forms;
pub(crate) mod human;
mod json;
pub(crate) mod text;

#[cfg(test)]
mod tests;

use arrow_array::{Array, ArrayRef};

use super::types::Type;
use crate::error::{Error, ErrorKind, Result};

pub use binary::{decode, decode_bounds, encode};
pub(in crate::iceberg) use forms::type_of;
pub use forms::{decode_values, encode_values};
pub use json::{from_json, to_json};

/// Refuses an array that does not have the Arrow type of `ty`.
pub(crate) fn expect_type(array: &ArrayRef, ty: &Type) -> Result<()> {
    if *array.data_type() == ty.arrow() {
        return Ok(());
    }
    Err(Error::new(ErrorKind::Argument, format!("{} is not the Arrow type of {ty}", array.data_type())))
}
