//! The part of a scan's options that is sent along with its work.

use serde::{Deserialize, Serialize};

use crate::scan::ScanOptions;

/// The options of a scan that its work needs: columns, filter and statistics.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct StoredOptions {
    columns: Option<Vec<String>>,
    filter: Option<String>,
    stats: Option<Vec<String>>,
}

impl StoredOptions {
    pub(crate) fn filter(&self) -> Option<&str> {
        self.filter.as_deref()
    }
}

impl From<&ScanOptions> for StoredOptions {
    fn from(options: &ScanOptions) -> StoredOptions {
        let ScanOptions { columns, filter, stats, .. } = options.clone();
        StoredOptions { columns, filter, stats }
    }
}

impl From<&StoredOptions> for ScanOptions {
    fn from(options: &StoredOptions) -> ScanOptions {
        let StoredOptions { columns, filter, stats } = options.clone();
        ScanOptions { columns, filter, stats, ..ScanOptions::default() }
    }
}
