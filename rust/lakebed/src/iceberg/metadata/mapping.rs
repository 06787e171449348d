//! The default name mapping: the columns of data files without field ids (Iceberg specification, "Name
//! Mapping Serialization").

use serde::Deserialize;

use super::{NAME_MAPPING, TableMetadata};
use crate::error::Result;
use crate::json::parse;

/// A field of a name mapping, of any level.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MappedField {
    /// The field; `None` for names that no field has any more.
    pub field_id: Option<i32>,
    /// The first names of the fields in which it is nested, joined by dots; `None` at the top.
    pub parent: Option<String>,
    /// The names of the field in files.
    pub names: Vec<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "kebab-case")]
struct StoredMapping {
    field_id: Option<i32>,
    #[serde(default)]
    names: Vec<String>,
    #[serde(default)]
    fields: Vec<StoredMapping>,
}

/// The fields of a table's default name mapping, each before its nested fields; empty without a mapping.
///
/// # Errors
/// `Json` for a property that is not a name mapping.
pub fn name_mapping(metadata: &TableMetadata) -> Result<Vec<MappedField>> {
    let Some(text) = metadata.property(NAME_MAPPING) else { return Ok(Vec::new()) };
    let stored: Vec<StoredMapping> = parse(text.as_bytes()).map_err(|error| error.in_field(NAME_MAPPING))?;
    let mut fields = Vec::new();
    stored.into_iter().for_each(|one| flatten(one, None, &mut fields));
    Ok(fields)
}

/// Recursion is as deep as JSON may nest.
fn flatten(stored: StoredMapping, parent: Option<&str>, fields: &mut Vec<MappedField>) {
    let name = stored.names.first().map_or("", String::as_str);
    let full = parent.map_or_else(|| name.to_owned(), |parent| format!("{parent}.{name}"));
    fields.push(MappedField {
        field_id: stored.field_id,
        parent: parent.map(str::to_owned),
        names: stored.names,
    });
    stored.fields.into_iter().for_each(|child| flatten(child, Some(&full), fields));
}
