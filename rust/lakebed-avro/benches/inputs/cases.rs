//! The reads that are timed and counted, by name.

use super::{ICEBERG, ICEBERG_WIDE, PAIMON, Shape, WEATHER};

/// One way to read files of one shape.
pub struct Case {
    /// `<shape>/<columns>`.
    pub name: &'static str,
    /// The shape of the file.
    pub shape: &'static Shape,
    /// Its records.
    pub rows: u64,
    /// The columns; `None` for all.
    pub paths: Option<&'static [&'static str]>,
    /// The field that the guard reads, if there is a guard.
    pub guard: Option<&'static str>,
}

const fn all(name: &'static str, shape: &'static Shape, rows: u64) -> Case {
    Case { name, shape, rows, paths: None, guard: None }
}

/// All reads.
pub const CASES: [Case; 7] = [
    all("iceberg/all", &ICEBERG, 10_000),
    Case {
        name: "iceberg/projected",
        paths: Some(&[
            "status",
            "data_file.file_path",
            "data_file.partition",
            "data_file.record_count",
            "data_file.file_size_in_bytes",
        ]),
        ..all("", &ICEBERG, 10_000)
    },
    all("iceberg-wide/all", &ICEBERG_WIDE, 1_000),
    all("paimon/all", &PAIMON, 10_000),
    Case {
        name: "paimon/projected",
        paths: Some(&[
            "_KIND",
            "_PARTITION",
            "_BUCKET",
            "_FILE._FILE_NAME",
            "_FILE._FILE_SIZE",
            "_FILE._ROW_COUNT",
        ]),
        ..all("", &PAIMON, 10_000)
    },
    Case { name: "paimon/guard", guard: Some("_BUCKET"), ..all("", &PAIMON, 10_000) },
    all("weather/all", &WEATHER, 100_000),
];
