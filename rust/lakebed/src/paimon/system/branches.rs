//! `$branches` (Paimon's `BranchesTable.java`): one row per branch except `main`, by name, whichever branch
//! the table is on.
//!
//! For the creation time, which is declared NOT NULL, the engine shows the modification time of the branch's
//! folder. Here it is null where the storage has no such time, as object stores have none.

use std::sync::Arc;

use arrow_array::StringArray;
use arrow_schema::DataType::Utf8;
use arrow_schema::Field;

use super::{TIMESTAMP, timestamps};
use crate::error::Result;
use crate::paimon::paths::branch_root;
use crate::paimon::table::Table;
use crate::scan::Batches;
use crate::system::{Request, SystemTable, optional, required, whole};

pub(super) const TABLE: SystemTable<Table> =
    SystemTable { name: "branches", columns: |_| Ok(columns()), rows };

fn columns() -> Vec<Field> {
    vec![required("branch_name", Utf8), optional("create_time", TIMESTAMP)]
}

fn rows(table: &Table, _request: &Request) -> Result<Batches> {
    let files = table.files();
    let names = files.branch_names()?;
    let modified = |name: &String| {
        let folder = files.shared(&branch_root(name));
        table.storage().modified(folder.trim_end_matches('/'))
    };
    let modified = names.iter().map(modified).collect::<Result<Vec<_>>>()?;
    let rows = names.len();
    let arrays = vec![Arc::new(StringArray::from_iter_values(names)) as _, timestamps(modified)?];
    whole(columns(), arrays, rows)
}
