//! Work as text: JSON behind the name of whose and what it is.

use std::collections::BTreeMap;

use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::error::{Error, ErrorKind, Result};

/// Work that crosses to executors.
pub trait Travels: Send + Sync {
    /// The text that a row of [`Works`](super::Works) makes the same work of.
    ///
    /// # Errors
    /// None that input could cause.
    fn to_text(&self) -> Result<String>;
}

/// A format's own type of work.
pub(crate) trait Travelling: Serialize + DeserializeOwned + Send + Sync + 'static {
    /// The name that tells it from all other work of its kind, of every format.
    const NAME: &'static str;
}

impl<W: Travelling> Travels for W {
    fn to_text(&self) -> Result<String> {
        let framed = BTreeMap::from([(W::NAME, self)]);
        serde_json::to_string(&framed).map_err(|error| Error::new(ErrorKind::Argument, error.to_string()))
    }
}
