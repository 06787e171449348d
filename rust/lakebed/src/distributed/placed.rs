//! Storages of other processes that map and check paths as the driver's does.

use std::sync::Arc;

use crate::location::Guarded;
use crate::relocate::Relocated;
use crate::storage::{Placing, Storage};

/// A storage that opens the files of another one, and places paths as `placing` says.
pub(crate) fn placed(placing: &Placing, mut storage: Arc<dyn Storage>) -> Arc<dyn Storage> {
    if let Some((trusted, allowed)) = placing.guard.clone() {
        storage = Arc::new(Guarded::trusting(storage, trusted, allowed));
    }
    if let Some((location, moved)) = placing.moved.clone() {
        storage = Arc::new(Relocated::new(storage, &location, moved));
    }
    storage
}
