//! `encryption_keys`: one row per key that snapshots or other keys refer to; never shows the key itself.

use arrow_schema::DataType::Utf8;
use arrow_schema::Field;

use crate::error::Result;
use crate::iceberg::table::Table;
use crate::scan::Batches;
use crate::system::{Request, SystemTable, optional, required, whole};
use crate::view::Rows;

pub(super) const TABLE: SystemTable<Table> = SystemTable { name: "encryption_keys", columns, rows };

fn columns(_table: &Table) -> Result<Vec<Field>> {
    Ok(vec![required("key_id", Utf8), optional("encrypted_by_id", Utf8)])
}

fn rows(table: &Table, _request: &Request) -> Result<Batches> {
    let keys = &table.metadata().encryption_keys;
    let rows = Rows(keys.iter());
    let arrays =
        vec![rows.texts(|key| key.key_id.as_str()), rows.texts(|key| key.encrypted_by_id.as_deref())];
    whole(columns(table)?, arrays, keys.len())
}
