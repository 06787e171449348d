//! `lakebed.Cache`.

use std::path::PathBuf;
use std::sync::Arc;

use lakebed::cache::{self, CacheSettings};
use pyo3::prelude::*;
use pyo3::types::{IntoPyDict, PyDict, PyTuple};

use crate::boundary::detached;

/// Keeps what is decoded of manifests: `open_table(…, cache=cache)`; the reference is in `_native.pyi`.
#[pyclass(frozen, module = "lakebed")]
pub struct Cache(pub Arc<cache::Cache>);

#[pymethods]
impl Cache {
    #[new]
    // Literals, which `help` shows.
    #[pyo3(signature = (*, memory_bytes=536_870_912, folder=None, disk_bytes=4_294_967_296))]
    fn new(py: Python<'_>, memory_bytes: u64, folder: Option<PathBuf>, disk_bytes: u64) -> PyResult<Cache> {
        let settings = CacheSettings { memory_bytes, folder, disk_bytes };
        detached(py, || cache::Cache::new(settings)).map(|cache| Cache(Arc::new(cache)))
    }

    #[getter]
    fn memory_bytes(&self) -> u64 {
        self.0.settings().memory_bytes
    }

    #[getter]
    fn folder(&self) -> Option<String> {
        self.0.settings().folder.as_ref().map(|path| path.to_string_lossy().into_owned())
    }

    #[getter]
    fn disk_bytes(&self) -> u64 {
        self.0.settings().disk_bytes
    }

    fn stats<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let found = detached(py, || self.0.stats())?;
        let stats = [
            ("memory_hits", found.memory_hits),
            ("disk_hits", found.disk_hits),
            ("misses", found.misses),
            ("damaged", found.damaged),
            ("failed_writes", found.failed_writes),
            ("memory_bytes", found.memory_bytes),
            ("disk_bytes", found.disk_bytes),
        ];
        stats.into_py_dict(py)
    }

    fn clear(&self, py: Python<'_>) -> PyResult<()> {
        detached(py, || self.0.clear())
    }

    fn __repr__(&self) -> String {
        let CacheSettings { memory_bytes, folder, disk_bytes } = self.0.settings();
        match folder {
            Some(folder) => {
                let folder = folder.to_string_lossy();
                format!("Cache(memory_bytes={memory_bytes}, folder={folder:?}, disk_bytes={disk_bytes})")
            }
            None => format!("Cache(memory_bytes={memory_bytes})"),
        }
    }

    /// Another process has its own memory, and the same folder.
    fn __getnewargs_ex__<'py>(&self, py: Python<'py>) -> PyResult<(Bound<'py, PyTuple>, Bound<'py, PyDict>)> {
        let settings = PyDict::new(py);
        settings.set_item("memory_bytes", self.memory_bytes())?;
        settings.set_item("folder", self.folder())?;
        settings.set_item("disk_bytes", self.disk_bytes())?;
        Ok((PyTuple::empty(py), settings))
    }
}

/// The cache of the core.
pub fn cache_of(cache: Option<Py<Cache>>) -> Option<Arc<cache::Cache>> {
    cache.map(|cache| Arc::clone(&cache.get().0))
}
