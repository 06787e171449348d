//! The work of a scan on manifests one by one.

use arrow_buffer::Buffer;
use arrow_schema::SchemaRef;

use super::SerializableWork;
use crate::columnar::Decoding;
use crate::error::Result;
use crate::scan::{Batches, Content};

/// The work of a scan on manifests, independent of the table, which is sent to executors.
pub trait ManifestTask: SerializableWork {
    /// Resolves what making rows needs, once for all manifests.
    ///
    /// # Errors
    /// Those of resolving a scan, for a task that was changed in transit.
    fn ready(self: Box<Self>, decoding: Decoding) -> Result<ReadyTask>;
}

/// Makes the rows of a manifest from its path, its bytes, and whether these are the whole manifest.
type Run = dyn Fn(&str, Buffer, bool) -> Result<Batches> + Send + Sync;

/// A task that is ready to read manifests.
pub struct ReadyTask {
    schema: SchemaRef,
    run: Box<Run>,
}

impl ReadyTask {
    /// A task whose rows have `schema`. `run` makes the rows of a manifest from its path in the engine's
    /// spelling, its bytes, and whether these are the whole manifest; it returns `Missing` for a manifest
    /// that is not the task's.
    pub(crate) fn new(
        schema: SchemaRef,
        run: impl Fn(&str, Buffer, bool) -> Result<Batches> + Send + Sync + 'static,
    ) -> ReadyTask {
        ReadyTask { schema, run: Box::new(run) }
    }

    /// The schema of the task's rows.
    pub fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    /// The rows of one manifest or of a part of one; engines may spell its path in their own way.
    ///
    /// # Errors
    /// `Missing` for a manifest that is not the task's; those of reading entries, with the path. The counts
    /// in the manifest list are only checked for whole manifests.
    pub fn run(&self, path: &str, content: Content) -> Result<Batches> {
        let Content { bytes, part } = content;
        let rows = (self.run)(path, bytes, part.is_none());
        match part {
            None => rows,
            Some(part) => {
                let placed = move |error| part.in_whole_file(error);
                Ok(Box::new(rows.map_err(placed)?.map(move |rows| rows.map_err(placed))))
            }
        }
    }
}
