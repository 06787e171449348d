//! The part of a scan's options that is sent along with its work.

use serde::{Deserialize, Serialize};

use crate::scan::ScanOptions;

/// The options of a scan that its work needs: columns, filter and statistics.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct StoredOptions {
    columns: Option<Vec<String>>,
    table_filter: Option<String>,
    filter: Option<String>,
    stats: Option<Vec<String>>,
}

impl StoredOptions {
    pub(crate) fn table_filter(&self) -> Option<&str> {
        self.table_filter.as_deref()
    }
}

impl From<&ScanOptions> for StoredOptions {
    fn from(options: &ScanOptions) -> StoredOptions {
        let ScanOptions { columns, table_filter, filter, stats, .. } = options.clone();
        StoredOptions { columns, table_filter, filter, stats }
    }
}

impl From<&StoredOptions> for ScanOptions {
    fn from(options: &StoredOptions) -> ScanOptions {
        let StoredOptions { columns, table_filter, filter, stats } = options.clone();
        ScanOptions { columns, table_filter, filter, stats, ..ScanOptions::default() }
    }
}
