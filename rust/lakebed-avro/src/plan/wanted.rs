//! Projections: which fields, at any depth, are wanted.

use crate::error::{Error, ErrorKind, Location, Result};
use crate::schema::Schema;

/// Which columns of a file are decoded; the others are walked over.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum Projection {
    /// Every column, in the writer's order.
    #[default]
    All,
    /// These dotted paths, each with all that is below it. Top-level columns come in the order in
    /// which they are first named.
    Paths(Vec<String>),
}

/// The part of a projection below one field.
pub(super) struct Wanted<'p> {
    all: bool,
    paths: Vec<&'p str>,
}

impl<'p> Wanted<'p> {
    pub(super) fn new(projection: &'p Projection) -> Wanted<'p> {
        match projection {
            Projection::All => Wanted::everything(),
            Projection::Paths(paths) => {
                Wanted { all: false, paths: paths.iter().map(String::as_str).collect() }
            }
        }
    }

    pub(super) fn everything() -> Wanted<'p> {
        Wanted { all: true, paths: Vec::new() }
    }

    pub(super) fn check(&self, schema: &Schema) -> Result<()> {
        let Some(missing) = self.paths.iter().find(|path| !schema.has(path)) else { return Ok(()) };
        let known: Vec<&str> = schema.row().iter().map(|(name, _)| *name).collect();
        let message = format!("no column {missing:?}; there are {}", known.join(", "));
        let place = Location { field: Some((*missing).to_owned()), ..Location::default() };
        Err(Error::new(ErrorKind::UnknownColumn, message).at(place))
    }

    /// What is wanted of the field `name`: `None` for nothing.
    pub(super) fn below(&self, name: &str) -> Option<Wanted<'p>> {
        if self.all {
            return Some(Wanted::everything());
        }
        let rests = self.paths.iter().filter_map(|path| path.strip_prefix(name));
        let mut below = Wanted { all: false, paths: Vec::new() };
        for rest in rests {
            match rest.strip_prefix('.') {
                None if rest.is_empty() => return Some(Wanted::everything()),
                None => {}
                Some(path) => below.paths.push(path),
            }
        }
        (!below.paths.is_empty()).then_some(below)
    }

    /// The place of a top-level field in the order of first mention.
    pub(super) fn rank(&self, name: &str) -> usize {
        let head = |path: &&str| path.split('.').next() == Some(name);
        self.paths.iter().position(head).unwrap_or(0)
    }
}
