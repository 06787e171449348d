//! Whether the location in a table's metadata is the table's own folder. In a copied or moved table, and in metadata
//! that somebody changed, it is another one, whose files may live.

use crate::credentials::without_credentials;
use crate::error::{Error, ErrorKind, Result};
use crate::iceberg::discovery::{FOLDER, current_metadata, is_metadata_file, is_table};
use crate::iceberg::metadata::{ElementFilter, METADATA_PATH, MetadataFile, TableMetadata, WantedElements};
use crate::iceberg::paths::resolved;
use crate::iceberg::table::Table;
use crate::notes::Notes;
use crate::reach::Prefixes;

/// The properties that name folders of files (`TableProperties.java`).
pub(in crate::iceberg) const FOLDERS: [&str; 4] =
    ["write.data.path", METADATA_PATH, "write.object-storage.path", "write.folder-storage.path"];

/// Refuses a table whose location is another one than where it was opened, unless its metadata is kept elsewhere:
/// by `write.metadata.path`, or as the catalog says whose pointer is the path of a metadata file. Where there is a table
/// at the location, anybody can write metadata that calls it an earlier state: then a catalog must vouch for it.
///
/// # Errors
/// `Location`; those of looking for another table at the location.
pub(super) fn check_location(table: &Table, is_of_catalog: bool, spellings: &Prefixes) -> Result<()> {
    if !table.metadata().has_location {
        return check_unlocated(table, spellings);
    }
    let location = &table.metadata().location;
    let place = table.storage().place(location)?;
    if spellings.is_same(&place, table.location())? {
        return if spellings.is_root(&place)? {
            Err(refused(table, "it is the root of its storage"))
        } else {
            Ok(())
        };
    }
    let is_named = is_of_property(table, spellings)?;
    if !is_named && !is_metadata_file(table.opened()) {
        return Err(copied(table));
    }
    if spellings.is_root(&place)? {
        return Err(refused(table, "it is the root of its storage"));
    }
    // In a folder above the table's, other tables may be.
    let folder = folder_of(table.metadata_file());
    let is_above = spellings.below(folder, &place)?.is_some();
    if is_above && (!is_named || folder.rsplit('/').next() == Some(FOLDER)) {
        return Err(refused(table, "it is a folder above that of the table"));
    }
    let may_be_earlier = is_named && is_of_catalog;
    if is_table(location, table.storage())? && !(may_be_earlier && is_earlier_state(table, spellings)?) {
        return Err(copied(table));
    }
    Ok(())
}

/// Refuses a table whose metadata has no location, unless the files that the metadata names are below the folder that it
/// was opened at: in a copied table they are those of the table there.
fn check_unlocated(table: &Table, spellings: &Prefixes) -> Result<()> {
    let wanted =
        WantedElements { snapshots: ElementFilter::All, metadata_log: true, ..WantedElements::CURRENT };
    let metadata = table.read(&wanted)?;
    let lists = metadata.snapshots.iter().flat_map(|one| one.manifest_list.iter().chain(&one.manifests));
    let place = table.storage().place(table.location())?;
    for path in lists.chain(metadata.metadata_log.iter().map(|entry| &entry.metadata_file)) {
        if spellings.below(&table.storage().place(path)?, &place)?.is_none() {
            let message = format!(
                "the table's metadata has no location, and names {:?}, which is not below {:?}, where it was opened: it \
                 may be a copy, and its files those of another table",
                without_credentials(path),
                without_credentials(table.location())
            );
            return Err(Error::new(ErrorKind::Location, message)
                .in_file(table.metadata_file())
                .in_field("location"));
        }
    }
    if spellings.is_root(&place)? {
        return Err(refused(table, "it is the root of its storage"));
    }
    Ok(())
}

/// The folder of the table's metadata by its path below the location, where it is not that of `metadata`.
///
/// # Errors
/// `Location` for a path that the storage would not open.
pub(super) fn own_metadata(table: &Table, spellings: &Prefixes) -> Result<Option<String>> {
    let place = table.storage().place(&table.metadata().location)?;
    let below = spellings.below(folder_of(table.metadata_file()), &place)?;
    Ok(below.map(|folder| folder.trim_end_matches('/').to_owned()).filter(|folder| !folder.is_empty()))
}

/// The folders that the properties of a table name.
pub(super) fn other_folders(metadata: &TableMetadata) -> Vec<String> {
    FOLDERS.iter().filter_map(|key| folder_named(metadata, key)).collect()
}

/// The folder that a property names, which may be relative to the location in version 4.
fn folder_named(metadata: &TableMetadata, key: &str) -> Option<String> {
    let folder = metadata.property(key)?;
    Some(metadata.base().map_or(folder.into(), |location| resolved(folder, location)).into_owned())
}

/// Whether the metadata file is in the folder that the table's property names.
fn is_of_property(table: &Table, spellings: &Prefixes) -> Result<bool> {
    let Some(folder) = folder_named(table.metadata(), METADATA_PATH) else { return Ok(false) };
    spellings.is_same(&table.storage().place(&folder)?, folder_of(table.metadata_file()))
}

/// Whether the newest metadata file at the location is an earlier one of the table.
fn is_earlier_state(table: &Table, spellings: &Prefixes) -> Result<bool> {
    let storage = table.storage();
    let metadata = table.read(&WantedElements { metadata_log: true, ..WantedElements::CURRENT })?;
    let open = MetadataFile::opener(storage, table.decoding().limits);
    let file = current_metadata(&metadata.location, storage, open, &Notes::default())?;
    let there = TableMetadata::read(&file, &WantedElements::CURRENT)?;
    let place = storage.place(file.path())?;
    for entry in &metadata.metadata_log {
        if spellings.is_same(&storage.place(&entry.metadata_file)?, &place)? {
            return Ok(metadata.table_uuid.is_some() && there.table_uuid == metadata.table_uuid);
        }
    }
    Ok(false)
}

fn folder_of(path: &str) -> &str {
    path.rsplit_once('/').map_or(".", |(folder, _)| folder)
}

#[cold]
fn copied(table: &Table) -> Error {
    let (old, new) = (without_credentials(&table.metadata().location), without_credentials(table.location()));
    let message = format!(
        "the table's location is {old:?} in its metadata, but it was opened at {new:?}: it may be a copy, and its files \
         those of the table there. If the table was moved, say where its files are now: --relocate {old}={new}, or \
         relocate={{{old:?}: {new:?}}}"
    );
    Error::new(ErrorKind::Location, message).in_file(table.metadata_file()).in_field("location")
}

#[cold]
fn refused(table: &Table, why: &str) -> Error {
    let location = without_credentials(&table.metadata().location);
    let message = format!("the table's location {location:?} is not a folder of its own: {why}");
    Error::new(ErrorKind::Location, message).in_file(table.metadata_file()).in_field("location")
}
