//! `$options`: the options of the branch's latest schema (Paimon's `OptionsTable.java`).

use arrow_schema::{DataType, Field};

use crate::error::Result;
use crate::paimon::table::Table;
use crate::scan::Batches;
use crate::system::{Request, SystemTable, required, whole};
use crate::view::Rows;

pub(super) const TABLE: SystemTable<Table> =
    SystemTable { name: "options", columns: |_| Ok(columns()), rows };

fn columns() -> Vec<Field> {
    vec![required("key", DataType::Utf8), required("value", DataType::Utf8)]
}

fn rows(table: &Table, _request: &Request) -> Result<Batches> {
    let options = table.latest_schema()?.options;
    let rows = Rows(options.iter());
    let arrays = vec![rows.texts(|(key, _)| key.as_str()), rows.texts(|(_, value)| value.as_str())];
    whole(columns(), arrays, options.len())
}
