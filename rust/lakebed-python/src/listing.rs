//! Listings from Python.

use std::sync::Arc;

use lakebed::reach::Listing;
use lakebed::scan::Batches;
use lakebed::{Error, ErrorKind, Result};
use pyo3::prelude::*;

use crate::arrow::import_stream;

/// The listing of a callable that returns a new Arrow stream each time.
pub fn stream_of(open: Py<PyAny>) -> Listing {
    Arc::new(move || {
        let failed = |error: PyErr| Error::new(ErrorKind::Io, "the listing failed").caused_by(error);
        let stream = Python::attach(|py| import_stream(&open.bind(py).call0()?)).map_err(failed)?;
        let batches = stream.map(|batch| {
            batch.map_err(|error| Error::new(ErrorKind::Io, format!("the listing failed: {error}")))
        });
        Ok(Box::new(batches) as Batches) as Result<Batches>
    })
}
