//! The options of Iceberg's `rewrite_data_files`, and the properties of the table that are their defaults.

use super::Table;
use crate::error::{Error, ErrorKind, Result};
use crate::view::BinPack;
use crate::words::unknown;

const TARGET: &str = "target-file-size-bytes";
const TARGET_PROPERTY: &str = "write.target-file-size-bytes";
const MIN: &str = "min-file-size-bytes";
const MAX: &str = "max-file-size-bytes";
const MIN_INPUT_FILES: &str = "min-input-files";
const REWRITE_ALL: &str = "rewrite-all";
const GROUP_BYTES: &str = "max-file-group-size-bytes";
const GROUP_FILES: &str = "max-file-group-input-files";
const DELETE_FILES: &str = "delete-file-threshold";
const DELETE_RATIO: &str = "delete-ratio-threshold";

/// The options that choose files, then those that say how they are rewritten.
const OPTIONS: [&str; 18] = [
    TARGET,
    MIN,
    MAX,
    MIN_INPUT_FILES,
    REWRITE_ALL,
    GROUP_BYTES,
    GROUP_FILES,
    DELETE_FILES,
    DELETE_RATIO,
    "compression-factor",
    "max-concurrent-file-group-rewrites",
    "output-spec-id",
    "partial-progress.enabled",
    "partial-progress.max-commits",
    "partial-progress.max-failed-commits",
    "remove-dangling-deletes",
    "rewrite-job-order",
    "use-starting-sequence-number",
];

const TARGET_DEFAULT: i64 = 512 << 20;
const GROUP_BYTES_DEFAULT: i64 = 100 << 30;

impl Table {
    /// What the engine chooses by. Source: `SizeBasedFileRewritePlanner.java`, `BinPackRewriteFilePlanner.java`.
    ///
    /// # Errors
    /// `Argument` for an option that the engine does not know, or refuses; `Unsupported` for `max-files-to-rewrite`, whose
    /// files depend on the order in which Spark's threads read manifests.
    pub(super) fn bin_pack(&self, options: &[(String, String)]) -> Result<BinPack> {
        if options.iter().any(|(name, _)| name == "max-files-to-rewrite") {
            let message =
                "max-files-to-rewrite takes files in the order in which the engine's threads read manifests";
            return Err(Error::new(ErrorKind::Unsupported, message));
        }
        if let Some((name, _)) = options.iter().find(|(name, _)| !OPTIONS.contains(&name.as_str())) {
            return Err(Error::new(ErrorKind::Argument, unknown("option", name, OPTIONS)));
        }
        let given = Given(options);
        let properties = &self.metadata().properties;
        let target =
            given.number(TARGET, || Given(properties).number(TARGET_PROPERTY, || Ok(TARGET_DEFAULT)))?;
        let part = |ratio: f64| (target as f64 * ratio) as i64;
        let (min, max) = (given.number(MIN, || Ok(part(0.75)))?, given.number(MAX, || Ok(part(1.8)))?);
        given.check(TARGET, target > 0, "more than 0")?;
        given.check(MIN, (0..target).contains(&min), &format!("from 0 to less than {TARGET}, {target}"))?;
        given.check(MAX, max > target, &format!("more than {TARGET}, {target}"))?;
        let above_0 = |name, default| {
            let found = given.number(name, || Ok(default))?;
            given.check(name, found > 0, "more than 0")?;
            Ok::<i64, Error>(found)
        };
        let (min_input_files, delete_files) =
            (above_0(MIN_INPUT_FILES, 5)?, given.number(DELETE_FILES, || Ok(i64::from(i32::MAX)))?);
        given.check(DELETE_FILES, delete_files >= 0, "0 or more")?;
        let delete_ratio = given.ratio(DELETE_RATIO, 0.3)?;
        let size = |number: i64| usize::try_from(number).unwrap_or(usize::MAX);
        Ok(BinPack {
            spec_id: self.metadata().default_spec_id,
            target,
            min,
            max,
            min_input_files: size(min_input_files),
            rewrite_all: given.text(REWRITE_ALL).is_some_and(|text| text.eq_ignore_ascii_case("true")),
            group_bytes: above_0(GROUP_BYTES, GROUP_BYTES_DEFAULT)?,
            group_files: above_0(GROUP_FILES, i64::MAX)?,
            delete_files: size(delete_files),
            delete_ratio,
        })
    }
}

/// Options by their names, as texts.
struct Given<'o>(&'o [(String, String)]);

impl Given<'_> {
    fn text(&self, name: &str) -> Option<&str> {
        self.0.iter().rev().find(|(given, _)| given == name).map(|(_, text)| text.as_str())
    }

    fn number(&self, name: &str, default: impl FnOnce() -> Result<i64>) -> Result<i64> {
        let Some(text) = self.text(name) else { return default() };
        text.parse().map_err(|_| refused(name, text, "a whole number"))
    }

    fn ratio(&self, name: &str, default: f64) -> Result<f64> {
        let Some(text) = self.text(name) else { return Ok(default) };
        let found = text.trim().parse().ok().filter(|ratio| *ratio > 0.0 && *ratio <= 1.0);
        found.ok_or_else(|| refused(name, text, "a number above 0, and 1 at most"))
    }

    fn check(&self, name: &str, is_so: bool, wanted: &str) -> Result<()> {
        if is_so { Ok(()) } else { Err(refused(name, self.text(name).unwrap_or("its default"), wanted)) }
    }
}

fn refused(name: &str, text: &str, wanted: &str) -> Error {
    Error::new(ErrorKind::Argument, format!("{name} is {text}, not {wanted}"))
}
