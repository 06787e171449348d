//! How a storage maps and checks paths, in a form that can be sent.

use serde::{Deserialize, Serialize};

use crate::location::Allowed;

/// Which paths a storage may open, and the real paths of files, as
/// [`Storage::place`](super::Storage::place) needs them.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct Placing {
    /// Where paths may lead, in addition to places that the caller trusts.
    pub(crate) guard: Option<(Vec<String>, Allowed)>,
    /// The table's own location, and the old prefixes of moved files with the new ones.
    pub(crate) moved: Option<(String, Vec<(String, String)>)>,
}
