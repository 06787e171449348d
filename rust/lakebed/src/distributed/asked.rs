//! The part of a scan's options that is sent along with its work.

use serde::{Deserialize, Serialize};

use crate::scan::ScanOptions;

/// The rows that are asked for.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Asked {
    columns: Option<Vec<String>>,
    filter: Option<String>,
    stats: Option<Vec<String>>,
}

impl Asked {
    pub(crate) fn filter(&self) -> Option<&str> {
        self.filter.as_deref()
    }
}

impl From<&ScanOptions> for Asked {
    fn from(options: &ScanOptions) -> Asked {
        let ScanOptions { columns, filter, stats, .. } = options.clone();
        Asked { columns, filter, stats }
    }
}

impl From<&Asked> for ScanOptions {
    fn from(asked: &Asked) -> ScanOptions {
        let Asked { columns, filter, stats } = asked.clone();
        ScanOptions { columns, filter, stats, ..ScanOptions::default() }
    }
}
