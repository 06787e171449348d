//! Findings, and their locations.

use arrow_array::RecordBatch;

use crate::credentials::without_credentials;
use crate::error::{Error, Location, Result};
use crate::view::{Rows, whole};

/// The severity of a finding.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Severity {
    /// Rows are lost, duplicated or unreadable.
    Error,
    /// A difference from what is recorded that readers tolerate.
    Warning,
}

impl Severity {
    fn name(self) -> &'static str {
        match self {
            Severity::Error => "error",
            Severity::Warning => "warning",
        }
    }
}

/// A single finding.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Finding {
    severity: Severity,
    kind: &'static str,
    message: String,
    named_by: Option<String>,
    location: Location,
}

impl Finding {
    pub(crate) fn new(severity: Severity, kind: &'static str, message: impl Into<String>) -> Finding {
        let (message, location) = (message.into(), Location::default());
        Finding { severity, kind, message, named_by: None, location }
    }

    /// The finding for an error of reading.
    pub(crate) fn of(error: &Error) -> Finding {
        let finding = Finding::new(Severity::Error, error.kind().name(), error.message());
        Finding { location: error.location().clone(), ..finding }
    }

    /// The same as a warning.
    pub(crate) fn into_warning(mut self) -> Finding {
        self.severity = Severity::Warning;
        self
    }

    /// The same in the file `path`, unless it has a file already.
    pub(crate) fn in_file(mut self, path: &str) -> Finding {
        self.location.path.get_or_insert_with(|| without_credentials(path).into_owned());
        self
    }

    /// The same, in a file that the file `path` names.
    pub(crate) fn named_by(mut self, path: &str) -> Finding {
        self.named_by.get_or_insert_with(|| without_credentials(path).into_owned());
        self
    }

    /// The same at a record of the file.
    pub(crate) fn in_record(mut self, record: u64) -> Finding {
        self.location.record.get_or_insert(record);
        self
    }

    /// The same at a field of the record.
    pub(crate) fn in_field(mut self, name: &str) -> Finding {
        self.location.field.get_or_insert_with(|| name.to_owned());
        self
    }

    /// The memory that it takes \[bytes\], roughly.
    pub(super) fn held(&self) -> u64 {
        (size_of::<Finding>() + self.message.len() + self.location.path.as_ref().map_or(0, String::len))
            as u64
    }
}

/// Findings as rows.
///
/// # Errors
/// Those of making a batch.
pub(super) fn rows(findings: &[Finding]) -> Result<RecordBatch> {
    let rows = Rows(findings.iter());
    let long = |of: fn(&Location) -> Option<u64>| {
        rows.longs(|finding| of(&finding.location).and_then(|number| i64::try_from(number).ok()))
    };
    let columns = vec![
        ("severity", rows.texts(|finding| finding.severity.name())),
        ("kind", rows.texts(|finding| finding.kind)),
        ("message", rows.texts(|finding| finding.message.as_str())),
        ("path", rows.texts(|finding| finding.location.path.as_deref())),
        ("named_by", rows.texts(|finding| finding.named_by.as_deref())),
        ("offset", long(|location| location.offset)),
        ("block", long(|location| location.block)),
        ("record", long(|location| location.record)),
        ("field", rows.texts(|finding| finding.location.field.as_deref())),
    ];
    whole(columns, findings.len())
}
