//! Scans that combine entries of several manifests, in a form that can be sent.

mod diff;
mod files;

pub(super) use diff::DiffExchange;
pub(super) use files::FilesExchange;
