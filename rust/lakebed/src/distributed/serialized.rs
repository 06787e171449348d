//! Work in serialized form: its name, then JSON.

use std::collections::BTreeMap;

use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::error::{Error, ErrorKind, Result};

/// Work that is sent to executors.
pub trait SerializableWork: Send + Sync {
    /// The text from which an entry of [`WorkTypes`](super::WorkTypes) restores the work.
    ///
    /// # Errors
    /// None that input could cause.
    fn to_text(&self) -> Result<String>;
}

/// A type of work of one format.
pub(crate) trait NamedWork: Serialize + DeserializeOwned + Send + Sync + 'static {
    /// A name that no other work of the same kind has, in any format.
    const NAME: &'static str;
}

impl<W: NamedWork> SerializableWork for W {
    fn to_text(&self) -> Result<String> {
        let framed = BTreeMap::from([(W::NAME, self)]);
        serde_json::to_string(&framed).map_err(|error| Error::new(ErrorKind::Argument, error.to_string()))
    }
}
