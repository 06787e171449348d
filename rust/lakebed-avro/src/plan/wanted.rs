//! Projections: which fields, at any depth, are decoded.

use crate::error::{Error, ErrorKind, Location, Result};
use crate::schema::Schema;

/// Which columns of a file are decoded; others are skipped.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum Projection {
    /// Every column, in the writer's order.
    #[default]
    All,
    /// These dotted paths, each with everything below it. Top-level columns are in the order in which they
    /// are first named.
    Paths(Vec<String>),
    /// These paths as in [`Projection::Paths`], and only some entries of some maps with `int` keys: for the
    /// path of a map the keys to keep, in any order. Entries with other keys are skipped, and the map only
    /// has the entries kept.
    ///
    /// A map with `int` keys is an array of records of two fields of which the first is an `int`, with
    /// `logicalType: map` or without, as [`Schema::has_int_keys`] says; any other path is an error of
    /// kind [`ErrorKind::UnknownColumn`]. Keys of a map that is not projected change nothing.
    Keyed {
        /// What is decoded.
        paths: Vec<String>,
        /// Which entries are kept, by the path of their map.
        keys: Vec<(String, Vec<i32>)>,
    },
}

/// The part of a projection below one field.
#[derive(Default)]
pub(super) struct FieldSelection<'p> {
    all: bool,
    paths: Vec<&'p str>,
    keys: Vec<(&'p str, &'p [i32])>,
}

impl<'p> FieldSelection<'p> {
    pub(super) fn new(projection: &'p Projection) -> FieldSelection<'p> {
        match projection {
            Projection::All => FieldSelection::everything(),
            Projection::Paths(paths) => FieldSelection::of(paths, &[]),
            Projection::Keyed { paths, keys } => FieldSelection::of(paths, keys),
        }
    }

    fn of(paths: &'p [String], keys: &'p [(String, Vec<i32>)]) -> FieldSelection<'p> {
        let keys = keys.iter().map(|(path, keys)| (path.as_str(), keys.as_slice()));
        FieldSelection { all: false, paths: paths.iter().map(String::as_str).collect(), keys: keys.collect() }
    }

    pub(super) fn everything() -> FieldSelection<'p> {
        FieldSelection { all: true, ..FieldSelection::default() }
    }

    pub(super) fn check(&self, schema: &Schema) -> Result<()> {
        if let Some(missing) = self.paths.iter().find(|path| !schema.has(path)) {
            let known: Vec<&str> = schema.row().iter().map(|(name, _)| *name).collect();
            return Err(unknown(missing, format!("no column {missing:?}; there are {}", known.join(", "))));
        }
        match self.keys.iter().find(|(path, _)| !schema.has_int_keys(path)) {
            Some((path, _)) => Err(unknown(path, format!("{path:?} is not a map with int keys"))),
            None => Ok(()),
        }
    }

    /// The requested part of the field `name`; `None` for nothing.
    pub(super) fn below(&self, name: &str) -> Option<FieldSelection<'p>> {
        let mut below = FieldSelection { all: self.all, ..FieldSelection::default() };
        for path in &self.paths {
            match rest(path, name) {
                Some("") => below.all = true,
                Some(path) => below.paths.push(path),
                None => {}
            }
        }
        let keys = self.keys.iter().filter_map(|(path, keys)| Some((rest(path, name)?, *keys)));
        below.keys.extend(keys);
        (below.all || !below.paths.is_empty()).then_some(below)
    }

    /// The requested keys of a map; `None` for all of them.
    pub(super) fn keys(&self) -> Option<&'p [i32]> {
        self.keys.iter().find(|(path, _)| path.is_empty()).map(|(_, keys)| *keys)
    }

    /// The position of a top-level field in the order of first mention.
    pub(super) fn rank(&self, name: &str) -> usize {
        let head = |path: &&str| path.split('.').next() == Some(name);
        self.paths.iter().position(head).unwrap_or(0)
    }
}

/// The rest of a dotted path that begins with `name`.
fn rest<'p>(path: &'p str, name: &str) -> Option<&'p str> {
    match path.strip_prefix(name)? {
        "" => Some(""),
        rest => rest.strip_prefix('.'),
    }
}

fn unknown(path: &str, message: String) -> Error {
    let place = Location { field: Some(path.to_owned()), ..Location::default() };
    Error::new(ErrorKind::UnknownColumn, message).at(place)
}
