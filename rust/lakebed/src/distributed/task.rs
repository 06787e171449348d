//! A scan's work on manifests, each on its own.

use arrow_buffer::Buffer;
use arrow_schema::SchemaRef;

use super::Travels;
use crate::columnar::Decoding;
use crate::error::Result;
use crate::scan::{Batches, Content};

/// A scan's work on manifests, apart from the table: what crosses to an executor.
pub trait ManifestTask: Travels {
    /// Resolves what the task's rows take, once for all manifests.
    ///
    /// # Errors
    /// Those of resolving a scan, for a task that was changed on its way.
    fn ready(self: Box<Self>, decoding: Decoding) -> Result<ReadyTask>;
}

/// Makes the rows of a manifest, or of some blocks of one where it is not whole, of its path and bytes.
type Run = dyn Fn(&str, Buffer, bool) -> Result<Batches> + Send + Sync;

/// A task that manifests can be given to.
pub struct ReadyTask {
    schema: SchemaRef,
    run: Box<Run>,
}

impl ReadyTask {
    /// A task whose rows have `schema`. `run` makes the rows of a manifest of its path, as an engine spells it,
    /// its bytes, and whether they are all of it; it gives `Missing` for a manifest that is not the task's.
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

    /// The rows of one manifest, whose path an engine may spell as it likes, or of a part of one.
    ///
    /// # Errors
    /// `Missing` for a manifest that is not the task's; those of reading entries, with the path. Of a part nothing is
    /// compared with what the manifest list counts.
    pub fn run(&self, path: &str, content: Content) -> Result<Batches> {
        let Content { bytes, part } = content;
        let rows = (self.run)(path, bytes, part.is_none());
        match part {
            None => rows,
            Some(part) => {
                let placed = move |error| part.placed(error);
                Ok(Box::new(rows.map_err(placed)?.map(move |rows| rows.map_err(placed))))
            }
        }
    }
}
