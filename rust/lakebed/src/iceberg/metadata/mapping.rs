//! The default name mapping: which columns data files without field ids hold (Iceberg specification, "Name
//! Mapping Serialization").

use serde::Deserialize;

use super::TableMetadata;
use crate::error::Result;
use crate::json::parse;

const PROPERTY: &str = "schema.name-mapping.default";

/// A field of a name mapping, of any level.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MappedField {
    /// The field; none for names that are of no field any more.
    pub field_id: Option<i32>,
    /// The first names of the fields it is nested in, joined by dots; none at the top.
    pub parent: Option<String>,
    /// What the field is called in files.
    pub names: Vec<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "kebab-case")]
struct Stored {
    field_id: Option<i32>,
    #[serde(default)]
    names: Vec<String>,
    #[serde(default)]
    fields: Vec<Stored>,
}

/// The fields of a table's default name mapping, each before those it holds; none without one.
///
/// # Errors
/// `Json` for a property that is not a name mapping.
pub fn name_mapping(metadata: &TableMetadata) -> Result<Vec<MappedField>> {
    let Some(text) = metadata.property(PROPERTY) else { return Ok(Vec::new()) };
    let stored: Vec<Stored> = parse(text.as_bytes()).map_err(|error| error.in_field(PROPERTY))?;
    let mut fields = Vec::new();
    stored.into_iter().for_each(|one| flatten(one, None, &mut fields));
    Ok(fields)
}

/// Recursion is as deep as JSON may nest.
fn flatten(stored: Stored, parent: Option<&str>, fields: &mut Vec<MappedField>) {
    let name = stored.names.first().map_or("", String::as_str);
    let full = parent.map_or_else(|| name.to_owned(), |parent| format!("{parent}.{name}"));
    fields.push(MappedField {
        field_id: stored.field_id,
        parent: parent.map(str::to_owned),
        names: stored.names,
    });
    stored.fields.into_iter().for_each(|child| flatten(child, Some(&full), fields));
}
