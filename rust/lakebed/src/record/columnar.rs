//! Unknown fields of other writers in ORC and Parquet.

use arrow_schema::{DataType, Fields};
use serde_json::json;

use super::carried::Recognition;
use crate::error::{Error, ErrorKind, Result};

/// Refuses fields that `known` does not know: only fields of Avro, whose types are known, are carried. They
/// would be lost.
///
/// # Errors
/// `Unsupported` for the first of them, with its path.
pub(super) fn refuse_unknown(
    fields: &Fields,
    record: &str,
    known: &dyn Fn(&str, &serde_json::Value) -> Recognition,
) -> Result<()> {
    for field in fields {
        match known(record, &json!({ "name": field.name() })) {
            Recognition::Field => {}
            Recognition::Record(called) | Recognition::List(called) => {
                let inner = match field.data_type() {
                    DataType::List(item) => item.data_type(),
                    other => other,
                };
                if let DataType::Struct(inner) = inner {
                    refuse_unknown(inner, &called, known)?;
                }
            }
            Recognition::No => {
                let path = if record.is_empty() {
                    field.name().clone()
                } else {
                    format!("{record}.{}", field.name())
                };
                let message = "another writer's field in ORC or Parquet cannot be kept by a commit: commit \
                               with what wrote it";
                return Err(Error::new(ErrorKind::Unsupported, message).in_field(&path));
            }
        }
    }
    Ok(())
}
