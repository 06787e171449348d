//! What Iceberg's `TableMetadata.java` refuses although the table can be read.

use super::MAIN;
use super::logs::SnapshotLogEntry;
use super::read::Draft;
use crate::error::ErrorKind;

/// Clocks of writers may differ by so much \[milliseconds\].
const ONE_MINUTE: i64 = 60_000;

/// What is odd in table metadata that can be read.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Oddity {
    /// The kind of the error that follows from it for some reader: `Mismatch` where `main` is at another snapshot than
    /// the current one, `SnapshotNotFound` for a snapshot that is lost; `None` where none does.
    pub kind: Option<ErrorKind>,
    /// What is odd, in words.
    pub message: String,
}

impl Draft<'_> {
    /// What is odd.
    pub(super) fn oddities(&self) -> Vec<Oddity> {
        let current = self.current.snapshot;
        let mut ids = self.snapshot_ids.clone();
        ids.sort_unstable();
        let is_there = |id: i64| ids.binary_search(&id).is_ok();
        let lost = |message| Oddity { kind: Some(ErrorKind::SnapshotNotFound), message };
        let mut odd = Vec::new();
        if let Some(id) = current.filter(|id| !is_there(*id)) {
            odd.push(lost(format!("snapshot {id} is current, but not among the table's snapshots")));
        }
        for (name, named) in self.refs.iter().flatten() {
            let (kind, id) = (named.kind.name(), named.snapshot_id);
            if name == MAIN && current != Some(id) {
                let current = current.map_or_else(|| "none".to_owned(), |id| format!("snapshot {id}"));
                let message = format!("branch main is at snapshot {id}, but {current} is current");
                odd.push(Oddity { kind: Some(ErrorKind::Mismatch), message });
            } else if current != Some(id) && !is_there(id) {
                odd.push(lost(format!("{kind} {name} is at snapshot {id}, which is not among the table's")));
            }
        }
        odd.extend(disorder(&self.snapshot_log));
        odd
    }
}

/// The place where a log goes back in time by more than clocks may differ.
fn disorder(log: &[SnapshotLogEntry]) -> Option<Oddity> {
    let back = log.windows(2).find_map(|pair| match pair {
        [one, next] if next.timestamp_ms < one.timestamp_ms.saturating_sub(ONE_MINUTE) => {
            Some((one.timestamp_ms.saturating_sub(next.timestamp_ms), next.snapshot_id))
        }
        _ => None,
    });
    let message =
        |(millis, id)| format!("the snapshot log goes back in time by {millis} ms at snapshot {id}");
    back.map(|place| Oddity { kind: None, message: message(place) })
}
