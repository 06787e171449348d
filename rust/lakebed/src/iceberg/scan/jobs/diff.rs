//! Files of manifests with their identity, by which those of two snapshots are compared.

use std::sync::Arc;

use arrow_schema::SchemaRef;
use serde::{Deserialize, Serialize};

use super::rows::RowsJob;
use crate::columnar::Decoding;
use crate::diff::{ReadFiles, SentFiles};
use crate::distributed::Job;
use crate::error::Result;
use crate::iceberg::scan::diff::{beside_identity, identified, with_identity};
use crate::scan::ScanOptions;

/// Files of the view `files`, whose identity follows.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct IdentifiedFiles(pub(in crate::iceberg::scan) RowsJob);

impl SentFiles for IdentifiedFiles {
    fn schema(&self) -> Result<SchemaRef> {
        self.0.schema()
    }

    fn locations(&self) -> Vec<&str> {
        self.0.manifests.iter().map(|one| one.location.as_str()).collect()
    }

    fn reader(&self, decoding: Decoding) -> Result<Box<ReadFiles>> {
        let (files, schema) = (self.0.clone(), with_identity(&self.0.schema()?));
        let program = files.program_of(&beside_identity(&ScanOptions::from(&files.options)), decoding)?;
        Ok(Box::new(move |path, bytes, whole| {
            let schema = Arc::clone(&schema);
            let rows = files.rows(&program, path, bytes, whole)?;
            Ok(Box::new(rows.map(move |rows| identified(&rows?, &schema))))
        }))
    }
}
