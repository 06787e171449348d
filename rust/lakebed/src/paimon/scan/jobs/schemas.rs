//! What decoding entries needs of a table, as it is sent.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::columnar::Decoding;
use crate::error::Result;
use crate::notes::Notes;
use crate::paimon::scan::program::{EntryProgram, needs_schemas};
use crate::paimon::schema::TableSchema;
use crate::paimon::table::Table;
use crate::paimon::view::Role;
use crate::scan::ScanOptions;

/// A table's location, and the texts of the schemas by which entries are decoded.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct SentSchemas {
    pub(in crate::paimon::scan) location: String,
    schema: String,
    schemas: BTreeMap<i64, String>,
}

impl SentSchemas {
    /// What decoding with these options needs.
    ///
    /// # Errors
    /// Those of reading the schemas, where statistics are of interest.
    pub(in crate::paimon::scan) fn of(table: &Table, options: &ScanOptions) -> Result<SentSchemas> {
        let schemas = match needs_schemas(table.schema(), options)? {
            true => table.schema_texts()?,
            false => BTreeMap::new(),
        };
        let schema = table.schema_text(table.schema().id)?;
        Ok(SentSchemas { location: table.location().to_owned(), schema, schemas })
    }

    /// The schema that the table's rows are read with.
    ///
    /// # Errors
    /// Those of parsing it, for a job that was changed in transit.
    pub(in crate::paimon) fn table_schema(&self) -> Result<TableSchema> {
        TableSchema::from_json(self.schema.as_bytes())
    }

    /// How entries become rows of `role`.
    ///
    /// # Errors
    /// Those of resolving a scan, for a job that was changed in transit.
    pub(in crate::paimon::scan) fn program(
        &self,
        role: Role,
        options: &ScanOptions,
        decoding: Decoding,
    ) -> Result<EntryProgram> {
        let schemas =
            self.schemas.iter().map(|(id, text)| Ok((*id, TableSchema::from_json(text.as_bytes())?)));
        let (schema, schemas) = (self.table_schema()?, schemas.collect::<Result<_>>()?);
        EntryProgram::build(role, &self.location, &schema, &schemas, options, decoding, &Notes::default())
    }
}
