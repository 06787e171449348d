//! Creates, moves and removes branches and tags, and expires snapshots (Iceberg's
//! `UpdateSnapshotReferencesOperation.java`, `SetSnapshotOperation.java`, `RemoveSnapshots.java`).

use super::attempt::{Outcome, StateChange};
use super::base::{Base, SnapshotChoice};
use super::create::exists;
use super::uncommitted::UncommittedFiles;
use super::update::Update;
use crate::error::{Error, ErrorKind, Result};
use crate::iceberg::metadata::{MAIN, RefKind, SnapshotRef};
use crate::iceberg::reach::{check_deletable, kept};
use crate::reach::{Retention, ReviewedRemovals};
use crate::words::listed;

/// How long a branch or tag, and the snapshots of a branch, are kept; `None` for the table's own rules.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Rules {
    /// How many snapshots of a branch are kept regardless of age.
    pub min_snapshots_to_keep: Option<i32>,
    /// How long the snapshots of a branch are kept \[ms\].
    pub max_snapshot_age_ms: Option<i64>,
    /// How long the branch or tag itself is kept \[ms\].
    pub max_ref_age_ms: Option<i64>,
}

/// A new branch or tag.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewRef {
    /// Its name.
    pub name: String,
    /// Branch or tag.
    pub kind: RefKind,
    /// Its snapshot.
    pub snapshot: SnapshotChoice,
    /// Whether an existing one is moved; it keeps rules for which no new ones are given.
    pub replace: bool,
    /// How long it is kept.
    pub rules: Rules,
}

/// A change of branches and tags.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RefChange {
    /// Creates or moves one.
    Create(NewRef),
    /// Removes the one with that name and kind.
    Delete(String, RefKind),
    /// Changes the rules of an existing one; rules that are not given are kept.
    Retain(String, Rules),
    /// Moves the branch that is committed to forward to the snapshot of the named branch or tag, a
    /// descendant.
    FastForward(String),
    /// Moves the branch that is committed to back to an ancestor.
    RollBack(SnapshotChoice),
    /// Moves the branch that is committed to to any snapshot.
    SetCurrent(SnapshotChoice),
    /// Removes snapshots that no branch or tag names; one that is not there is no error. No file is deleted.
    RemoveSnapshots(Vec<i64>),
}

impl StateChange for RefChange {
    fn apply(&self, base: &Base, _: &mut UncommittedFiles) -> Result<Option<Outcome>> {
        let updates = match self {
            RefChange::Create(new) => create(base, new)?,
            RefChange::Delete(name, kind) => delete(base, name, *kind)?,
            RefChange::Retain(name, rules) => retain(base, name, rules)?,
            RefChange::FastForward(to) => fast_forward(base, to)?,
            RefChange::RollBack(choice) => {
                let id = base.chosen(choice, "branch")?;
                check_there(base, id)?;
                check_ancestor(base, id)?;
                moved(base, id)
            }
            RefChange::SetCurrent(choice) => {
                let id = base.chosen(choice, "branch")?;
                check_there(base, id)?;
                moved(base, id)
            }
            RefChange::RemoveSnapshots(ids) => remove_snapshots(base, ids)?,
        };
        Ok((!updates.is_empty()).then_some(Outcome::Updates(updates)))
    }
}

fn create(base: &Base, new: &NewRef) -> Result<Vec<Update>> {
    let snapshot_id = base.chosen(&new.snapshot, new.kind.name())?;
    check_there(base, snapshot_id)?;
    check_rules(new.kind, &new.rules)?;
    if new.name.is_empty() {
        let message = format!("a {} needs a name", new.kind.name());
        return Err(Error::new(ErrorKind::Argument, message).in_field("name"));
    }
    if new.name == MAIN && new.kind == RefKind::Tag {
        return Err(Error::new(ErrorKind::Argument, "main is a branch").in_field("name"));
    }
    let known = base.metadata.refs.get(&new.name);
    if let Some(known) = known {
        check_kind(base, &new.name, known, new.kind)?;
        if !new.replace {
            let message = format!("a {} {:?} exists already", new.kind.name(), new.name);
            return Err(exists(message).in_file(base.table.metadata_file()));
        }
    } else if new.replace {
        return Err(no_ref(base, &new.name, new.kind));
    }
    let bare = SnapshotRef { kind: new.kind, ..SnapshotRef::branch(snapshot_id) };
    let one = with_rules(known.unwrap_or(&bare), &new.rules);
    let one = SnapshotRef { snapshot_id, ..one };
    Ok(Vec::from_iter((known != Some(&one)).then(|| Update::SetRef(new.name.clone(), one))))
}

fn delete(base: &Base, name: &str, kind: RefKind) -> Result<Vec<Update>> {
    if name == MAIN {
        return Err(Error::new(ErrorKind::Argument, "branch main cannot be removed").in_field("name"));
    }
    named(base, name, kind)?;
    Ok(vec![Update::RemoveRefs(vec![name.to_owned()])])
}

fn retain(base: &Base, name: &str, rules: &Rules) -> Result<Vec<Update>> {
    let Some(known) = base.metadata.refs.get(name) else { return Err(no_ref(base, name, RefKind::Branch)) };
    check_rules(known.kind, rules)?;
    let one = with_rules(known, rules);
    Ok(Vec::from_iter((one != *known).then(|| Update::SetRef(name.to_owned(), one))))
}

fn fast_forward(base: &Base, to: &str) -> Result<Vec<Update>> {
    let Some(target) = base.metadata.refs.get(to) else { return Err(no_ref(base, to, RefKind::Branch)) };
    let id = target.snapshot_id;
    if base.head().is_some_and(|head| !base.ancestors(Some(id)).any(|ancestor| ancestor == head)) {
        let message = format!("{to:?} is not a descendant of the head of branch {:?}", base.branch());
        return Err(Error::new(ErrorKind::SnapshotNotFound, message).in_file(base.table.metadata_file()));
    }
    Ok(moved(base, id))
}

fn remove_snapshots(base: &Base, ids: &[i64]) -> Result<Vec<Update>> {
    check_deletable(&base.metadata, base.table.metadata_file())?;
    let mut gone: Vec<i64> = ids.iter().copied().filter(|id| base.has_snapshot(*id)).collect();
    gone.sort_unstable();
    let named = base.metadata.refs.iter().find(|(_, one)| gone.contains(&one.snapshot_id));
    if let Some((name, one)) = named {
        let message = format!("{name:?} names snapshot {}, which cannot be removed", one.snapshot_id);
        return Err(Error::new(ErrorKind::Conflict, message).in_file(base.table.metadata_file()));
    }
    Ok(Vec::from_iter((!gone.is_empty()).then_some(Update::RemoveSnapshots(gone))))
}

/// The updates that move the branch to another snapshot.
fn moved(base: &Base, id: i64) -> Vec<Update> {
    let update = || Update::SetRef(base.branch().to_owned(), base.head_ref(id));
    Vec::from_iter((base.head() != Some(id)).then(update))
}

/// Refuses a snapshot that the table does not have.
fn check_there(base: &Base, id: i64) -> Result<()> {
    if base.has_snapshot(id) {
        return Ok(());
    }
    let ids: Vec<i64> = base.metadata.lineage.iter().map(|one| one.snapshot_id).collect();
    let message = format!("no snapshot {id}; there {}", listed(&ids));
    Err(Error::new(ErrorKind::SnapshotNotFound, message).in_file(base.table.metadata_file()))
}

/// Refuses a snapshot that is not an ancestor of the branch.
fn check_ancestor(base: &Base, id: i64) -> Result<()> {
    if base.ancestors(base.head()).any(|ancestor| ancestor == id) {
        return Ok(());
    }
    let message =
        format!("branch {:?} does not descend from snapshot {id}: use set_current_snapshot", base.branch());
    Err(Error::new(ErrorKind::SnapshotNotFound, message).in_file(base.table.metadata_file()))
}

fn check_rules(kind: RefKind, rules: &Rules) -> Result<()> {
    let field = |name: &str, message: &str| Err(Error::new(ErrorKind::Argument, message).in_field(name));
    let of_branches = [
        ("min_snapshots_to_keep", rules.min_snapshots_to_keep.is_some()),
        ("max_snapshot_age", rules.max_snapshot_age_ms.is_some()),
    ];
    if let Some((name, _)) = of_branches.iter().find(|(_, is_given)| kind == RefKind::Tag && *is_given) {
        return field(name, "a tag keeps one snapshot: rules for keeping others are for branches");
    }
    if rules.min_snapshots_to_keep.is_some_and(|count| count < 1) {
        return field("min_snapshots_to_keep", "at least 1 snapshot is kept");
    }
    if rules.max_snapshot_age_ms.is_some_and(|age| age < 1) {
        return field("max_snapshot_age", "an age is at least a millisecond");
    }
    if rules.max_ref_age_ms.is_some_and(|age| age < 1) {
        return field("max_age", "an age is at least a millisecond");
    }
    Ok(())
}

fn with_rules(known: &SnapshotRef, rules: &Rules) -> SnapshotRef {
    SnapshotRef {
        snapshot_id: known.snapshot_id,
        kind: known.kind,
        min_snapshots_to_keep: rules.min_snapshots_to_keep.or(known.min_snapshots_to_keep),
        max_snapshot_age_ms: rules.max_snapshot_age_ms.or(known.max_snapshot_age_ms),
        max_ref_age_ms: rules.max_ref_age_ms.or(known.max_ref_age_ms),
    }
}

/// The branch or tag with that name and kind.
fn named<'b>(base: &'b Base, name: &str, kind: RefKind) -> Result<&'b SnapshotRef> {
    let Some(one) = base.metadata.refs.get(name) else { return Err(no_ref(base, name, kind)) };
    check_kind(base, name, one, kind).map(|()| one)
}

fn check_kind(base: &Base, name: &str, one: &SnapshotRef, kind: RefKind) -> Result<()> {
    if one.kind == kind {
        return Ok(());
    }
    let message = format!("{name:?} is a {}, not a {}", one.kind.name(), kind.name());
    Err(Error::new(ErrorKind::Argument, message).in_field("name").in_file(base.table.metadata_file()))
}

#[cold]
fn no_ref(base: &Base, name: &str, kind: RefKind) -> Error {
    let names: Vec<&str> = base.metadata.refs.keys().map(String::as_str).collect();
    let message = format!("no {} {name:?}; there {}", kind.name(), listed(&names));
    Error::new(ErrorKind::SnapshotNotFound, message).in_file(base.table.metadata_file())
}

/// Removes snapshots, branches and tags from the metadata by the retention rules. No file is deleted.
#[derive(Debug, Clone)]
pub struct Expire {
    /// The rules.
    pub retention: Retention,
    /// Nothing else is removed; `None` for all that the rules say.
    pub reviewed: Option<ReviewedRemovals>,
}

impl StateChange for Expire {
    fn apply(&self, base: &Base, _: &mut UncommittedFiles) -> Result<Option<Outcome>> {
        check_deletable(&base.metadata, base.table.metadata_file())?;
        let lineage = base.metadata.lineage.iter();
        let snapshots: Vec<_> =
            lineage.map(|one| (one.snapshot_id, one.parent_id, one.timestamp_ms)).collect();
        let kept = kept(&base.metadata, &snapshots, &self.retention, self.reviewed.as_ref())?;
        let mut gone: Vec<i64> =
            snapshots.iter().map(|(id, ..)| *id).filter(|id| !kept.snapshots.contains(id)).collect();
        gone.sort_unstable();
        let mut updates = Vec::new();
        updates.extend((!kept.gone.is_empty()).then_some(Update::RemoveRefs(kept.gone)));
        updates.extend((!gone.is_empty()).then_some(Update::RemoveSnapshots(gone)));
        Ok((!updates.is_empty()).then_some(Outcome::Updates(updates)))
    }
}
