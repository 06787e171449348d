//! A scan's work on manifests, made fit to travel.

use arrow_schema::SchemaRef;
use serde::{Deserialize, Serialize};

use super::{Batches, Content};
use crate::columnar::Decoding;
use crate::error::Result;
use crate::{iceberg, paimon};

/// A scan's work on manifests, apart from the table: what crosses to an executor.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Task {
    /// Of a Paimon table.
    Paimon(paimon::Task),
    /// Of an Iceberg table.
    Iceberg(iceberg::Task),
}

impl Task {
    /// The schema of the task's rows.
    ///
    /// # Errors
    /// Those of resolving a scan, for a task that was changed on its way.
    pub fn schema(&self) -> Result<SchemaRef> {
        match self {
            Task::Paimon(task) => task.schema(),
            Task::Iceberg(task) => task.schema(),
        }
    }

    /// The rows of one manifest, whose path an engine may spell as it likes, or of a part of one.
    ///
    /// # Errors
    /// `Missing` for a manifest that is not the task's; those of reading entries, with the path. Of a part nothing is
    /// compared with what the manifest list counts.
    pub fn run(&self, path: &str, content: Content, decoding: Decoding) -> Result<Batches> {
        let Content { bytes, part } = content;
        let rows = match self {
            Task::Paimon(task) => task.run(path, bytes, part.is_none(), decoding),
            Task::Iceberg(task) => task.run(path, bytes, part.is_none(), decoding),
        };
        match part {
            None => rows,
            Some(part) => {
                let placed = move |error| part.placed(error);
                Ok(Box::new(rows.map_err(placed)?.map(move |rows| rows.map_err(placed))))
            }
        }
    }
}
