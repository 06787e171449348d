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
    /// Resolves what the task's rows take, once for all manifests.
    ///
    /// # Errors
    /// Those of resolving a scan, for a task that was changed on its way.
    pub fn ready(self, decoding: Decoding) -> Result<ReadyTask> {
        Ok(match self {
            Task::Paimon(task) => ReadyTask::Paimon(task.ready(decoding)?),
            Task::Iceberg(task) => ReadyTask::Iceberg(task.ready(decoding)?),
        })
    }
}

/// A task that manifests can be given to.
pub enum ReadyTask {
    /// Of a Paimon table.
    Paimon(paimon::ReadyTask),
    /// Of an Iceberg table.
    Iceberg(iceberg::ReadyTask),
}

impl ReadyTask {
    /// The schema of the task's rows.
    pub fn schema(&self) -> &SchemaRef {
        match self {
            ReadyTask::Paimon(task) => task.schema(),
            ReadyTask::Iceberg(task) => task.schema(),
        }
    }

    /// The rows of one manifest, whose path an engine may spell as it likes, or of a part of one.
    ///
    /// # Errors
    /// `Missing` for a manifest that is not the task's; those of reading entries, with the path. Of a part nothing is
    /// compared with what the manifest list counts.
    pub fn run(&self, path: &str, content: Content) -> Result<Batches> {
        let Content { bytes, part } = content;
        let rows = match self {
            ReadyTask::Paimon(task) => task.run(path, bytes, part.is_none()),
            ReadyTask::Iceberg(task) => task.run(path, bytes, part.is_none()),
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
