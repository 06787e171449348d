//! Scans that bring entries of several manifests together, made fit to travel.

mod diff;
mod files;

pub(super) use diff::DiffExchange;
pub(super) use files::FilesExchange;
