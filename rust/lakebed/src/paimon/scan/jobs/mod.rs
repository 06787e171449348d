//! Live files of a Paimon table as a job, and what decoding entries needs elsewhere.

mod files;
mod schemas;

pub(crate) use files::FilesJob;
pub(super) use files::live_files;
pub(crate) use schemas::SentSchemas;
