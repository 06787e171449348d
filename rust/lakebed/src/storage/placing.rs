//! How a storage maps and checks paths, in a form that can be sent.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::{Local, Storage};
use crate::location::{Allowed, Guarded};
use crate::relocate::Relocated;

/// Which paths a storage may open, and the real paths of files, as [`Storage::place`] needs them.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct Placing {
    /// Where paths may lead, in addition to places that the caller trusts.
    pub(crate) guard: Option<(Vec<String>, Allowed)>,
    /// The table's own location, and the old prefixes of moved files with the new ones.
    pub(crate) moved: Option<(String, Vec<(String, String)>)>,
}

impl Placing {
    /// A storage that maps paths this way, and can do nothing else.
    pub(crate) fn storage(&self) -> Arc<dyn Storage> {
        self.over(Arc::new(Local))
    }

    /// A storage that opens the files of another one, and places paths so.
    pub(crate) fn over(&self, mut storage: Arc<dyn Storage>) -> Arc<dyn Storage> {
        if let Some((trusted, allowed)) = self.guard.clone() {
            storage = Arc::new(Guarded::trusting(storage, trusted, allowed));
        }
        if let Some((location, moved)) = self.moved.clone() {
            storage = Arc::new(Relocated::new(storage, &location, moved));
        }
        storage
    }
}
