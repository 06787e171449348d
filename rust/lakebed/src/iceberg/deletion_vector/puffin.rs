//! Writes Puffin files of deletion vectors (Puffin specification; Iceberg's `PuffinWriter.java`,
//! `BaseDVFileWriter.java`).

use serde_json::{Value, json};

use super::{DeletionVector, VectorRange};
use crate::error::{Result, fitting};

const MAGIC: &[u8; 4] = b"PFA1";
/// The field of positions (Iceberg's `MetadataColumns.ROW_POSITION`).
const ROW_POSITION_ID: i32 = i32::MAX - 2;

/// A Puffin file in the making.
pub(crate) struct PuffinWriter {
    bytes: Vec<u8>,
    blobs: Vec<Value>,
}

impl PuffinWriter {
    /// A file without vectors.
    pub(crate) fn new() -> PuffinWriter {
        PuffinWriter { bytes: MAGIC.to_vec(), blobs: Vec::new() }
    }

    /// Adds the vector of a data file. Returns its place.
    ///
    /// # Errors
    /// Those of [`DeletionVector::encode`].
    pub(crate) fn add(&mut self, vector: &DeletionVector, data_file: &str) -> Result<VectorRange> {
        let encoded = vector.encode()?;
        let range = VectorRange { offset: self.bytes.len() as u64, length: encoded.len() as u64 };
        self.bytes.extend(encoded);
        // The snapshot and sequence number are known when the vector is committed: Iceberg writes -1.
        self.blobs.push(json!({
            "type": "deletion-vector-v1",
            "fields": [ROW_POSITION_ID],
            "snapshot-id": -1,
            "sequence-number": -1,
            "offset": range.offset,
            "length": range.length,
            "properties": {
                "referenced-data-file": data_file,
                "cardinality": vector.cardinality().to_string(),
            },
        }));
        Ok(range)
    }

    /// The bytes of the file.
    ///
    /// # Errors
    /// `Mismatch` for a footer whose length does not fit 32 bits.
    pub(crate) fn finish(mut self) -> Result<Vec<u8>> {
        let created_by = concat!("lakebed ", env!("CARGO_PKG_VERSION"));
        let footer = json!({"blobs": self.blobs, "properties": {"created-by": created_by}}).to_string();
        let length = fitting(i32::try_from(footer.len()).ok(), "the length of the Puffin footer")?;
        self.bytes.extend(MAGIC);
        self.bytes.extend(footer.as_bytes());
        self.bytes.extend(length.to_le_bytes());
        // No flag: the footer is not compressed.
        self.bytes.extend([0; 4]);
        self.bytes.extend(MAGIC);
        Ok(self.bytes)
    }
}
