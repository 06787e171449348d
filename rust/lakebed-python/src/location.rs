//! Checks of paths, and paths for messages.

use std::borrow::Cow;
use std::sync::Arc;

use lakebed::location::{self, AllowedPlaces, Policy};
use pyo3::prelude::*;

use crate::arrow::import_array;
use crate::boundary::detached;
use crate::stream::Batch;

/// Where a URI says that files are: without user-info, query and fragment.
#[pyfunction]
pub fn location_of(uri: &str) -> Cow<'_, str> {
    location::location_of(uri)
}

/// One name for the schemes of a kind of storage.
#[pyfunction]
pub fn scheme_family(scheme: &str) -> String {
    location::family(scheme)
}

/// A path for messages: a URI without user-info, query and fragment, and without what may be a password.
#[pyfunction]
pub fn without_credentials(path: &str) -> Cow<'_, str> {
    location::without_credentials(path)
}

/// For each path of a text array whether it is below one of the prefixes.
#[pyfunction]
pub fn check_locations(paths: &Bound<'_, PyAny>, allowed: Vec<String>, policy: &str) -> PyResult<Batch> {
    let array = import_array(paths)?;
    detached(paths.py(), || {
        let (allowed, policy) = (AllowedPlaces::below(allowed)?, Policy::parse(policy)?);
        Ok(Batch(Arc::new(location::check_locations(&array, &allowed, policy)?)))
    })
}

/// A library's words in one line, without the secrets in them, those in `known` among them.
#[pyfunction]
pub fn without_secrets(text: &str, known: Vec<String>) -> String {
    location::without_secrets(text, &known)
}
