//! `$options`: the options of the branch's latest schema (Paimon's `OptionsTable.java`).

use std::sync::Arc;

use arrow_array::{ArrayRef, StringArray};
use arrow_schema::{DataType, Field};

use crate::error::Result;
use crate::paimon::table::Table;
use crate::scan::Batches;
use crate::system::{Request, SystemTable, required, whole};

pub(super) const TABLE: SystemTable<Table> =
    SystemTable { name: "options", columns: |_| Ok(columns()), rows };

fn columns() -> Vec<Field> {
    vec![required("key", DataType::Utf8), required("value", DataType::Utf8)]
}

fn rows(table: &Table, _request: &Request) -> Result<Batches> {
    let options = table.latest_schema()?.options;
    let text = |part: fn(&(String, String)) -> &String| -> ArrayRef {
        Arc::new(StringArray::from_iter_values(options.iter().map(part)))
    };
    whole(columns(), vec![text(|(key, _)| key), text(|(_, value)| value)], options.len())
}
