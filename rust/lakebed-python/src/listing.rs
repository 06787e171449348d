//! Listings from Python.

use std::sync::Arc;

use lakebed::reach::Listing;
use lakebed::scan::Batches;
use lakebed::{Error, ErrorKind, Result};
use pyo3::prelude::*;

use crate::caller_stream::{caller_stream, sent};
use crate::interpreter::{attached, call, cause};

/// The listing of a callable that returns a new Arrow stream each time.
pub fn stream_of(open: Py<PyAny>) -> Listing {
    Arc::new(move || {
        let stream = |py: Python<'_>| {
            let failed =
                |raised| Error::new(ErrorKind::Io, "the listing failed").caused_by(cause(py, raised));
            call(open.bind(py), ()).and_then(|listing| caller_stream(&listing)).map_err(failed)
        };
        let batches = attached(stream)?.map(sent);
        Ok(Box::new(batches) as Batches) as Result<Batches>
    })
}
