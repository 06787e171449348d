//! `$aggregation_fields` (Paimon's `AggregationFieldsTable.java`): one row per column of the branch's latest
//! schema, with the keys and values of all options `fields.<column>.…`, aggregating or not.

use std::sync::Arc;

use arrow_array::{ArrayRef, StringArray};
use arrow_schema::DataType::Utf8;
use arrow_schema::Field;

use crate::error::Result;
use crate::paimon::java_map::hash_map_order;
use crate::paimon::table::Table;
use crate::scan::Batches;
use crate::system::{Request, SystemTable, optional, required, whole};
use crate::view::Rows;

pub(super) const TABLE: SystemTable<Table> =
    SystemTable { name: "aggregation_fields", columns: |_| Ok(columns()), rows };

fn columns() -> Vec<Field> {
    vec![
        required("field_name", Utf8),
        required("field_type", Utf8),
        optional("function", Utf8),
        optional("function_options", Utf8),
        optional("comment", Utf8),
    ]
}

fn rows(table: &Table, _request: &Request) -> Result<Batches> {
    let schema = table.latest_schema()?;
    let fields = &schema.fields;
    let options = hash_map_order(&schema.options);
    let bracketed = |part: fn(&(String, String)) -> &String| -> ArrayRef {
        let text = |name: &str| {
            let parts: Vec<&str> = options_of(&options, name).map(|option| part(option).as_str()).collect();
            format!("[{}]", parts.join(", "))
        };
        Arc::new(StringArray::from_iter_values(fields.iter().map(|field| text(&field.name))))
    };
    let rows = Rows(fields.iter());
    let arrays: Vec<ArrayRef> = vec![
        rows.texts(|field| field.name.as_str()),
        Arc::new(StringArray::from_iter_values(fields.iter().map(|field| field.ty.to_string()))),
        bracketed(|(_, value)| value),
        bracketed(|(key, _)| key),
        rows.texts(|field| field.description.as_deref()),
    ];
    whole(columns(), arrays, fields.len())
}

/// The options `fields.<name>.…`, with at least one part after the name.
fn options_of<'s>(
    options: &[&'s (String, String)],
    name: &str,
) -> impl Iterator<Item = &'s (String, String)> {
    options.iter().copied().filter(move |(key, _)| {
        let mut parts = key.trim_end_matches('.').split('.');
        parts.next() == Some("fields") && parts.next() == Some(name) && parts.next().is_some()
    })
}
