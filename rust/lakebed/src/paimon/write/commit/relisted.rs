//! Makes the base list of the next snapshot from the lists of a snapshot: blocks are copied without decoding.

use lakebed_avro::{Blocks, Inflater};
use serde_json::Value;

use crate::columnar::{Decoding, is_columnar};
use crate::error::{Result, fitting};
use crate::json::parse;
use crate::paimon::manifest_list::read_manifest_list;
use crate::paimon::table::ListFile;
use crate::paimon::write::{FileKind, FileOptions, Layout, RecordWriter};

/// A list of everything that `lists` have, in their order; `None` unless all of them are as this writer
/// writes lists of one layout, with the codec of `options`. They must have been checked: blocks are copied
/// unchanged.
///
/// From the first small block of a list on, records are written again: each commit adds only a few records,
/// which would make many small blocks.
///
/// # Errors
/// Those of reading the lists, with their path, and of writing.
pub(super) fn joined(
    lists: &[ListFile],
    options: &FileOptions,
    decoding: &Decoding,
) -> Result<Option<Vec<u8>>> {
    // The older layout, where lists match both.
    let mut layouts = [Layout::V2_1, Layout::Current].into_iter();
    let is_like_all = |layout: &Layout| lists.iter().all(|list| is_like(list, *layout, options, decoding));
    let Some(layout) = layouts.find(is_like_all).filter(|_| !lists.is_empty()) else { return Ok(None) };
    let options = FileOptions { layout, ..options.clone() };
    let least = options.container.block_bytes / 2;
    let mut writer = RecordWriter::new(Vec::new(), FileKind::List, options)?;
    for list in lists {
        append(&mut writer, list, least, decoding).map_err(|error| error.in_file(&list.path))?;
    }
    writer.finish().map(Some)
}

/// Whether a list has exactly the schema of a layout, and the codec.
fn is_like(list: &ListFile, layout: Layout, options: &FileOptions, decoding: &Decoding) -> bool {
    // A malformed one is reported where it is read.
    if is_columnar(&list.bytes) {
        return false;
    }
    let Ok((header, _)) = Blocks::open(list.bytes.clone().into(), decoding.limits) else { return false };
    let own = layout.schema(FileKind::List);
    let same = |text: &str| text == own || parse::<Value>(text.as_bytes()).ok() == parse(own.as_bytes()).ok();
    header.codec == options.container.codec && header.schema().is_ok_and(same)
}

fn append(
    writer: &mut RecordWriter<Vec<u8>>,
    list: &ListFile,
    least: usize,
    decoding: &Decoding,
) -> Result<()> {
    let (header, blocks) = Blocks::open(list.bytes.clone().into(), decoding.limits)?;
    let mut inflater = Inflater::new(header.codec, &decoding.limits, header.sync);
    let start = fitting(usize::try_from(header.length).ok(), "the length of the header")?;
    let mut end = start;
    for block in blocks {
        let block = block?;
        if inflater.inflate(&block.payload)?.len() < least {
            let (head, rest) = (list.bytes.get(..start), list.bytes.get(end..));
            let small = [head.unwrap_or_default(), rest.unwrap_or_default()].concat();
            return writer.write(&read_manifest_list(small.into(), None, decoding)?);
        }
        writer.copy_block(&block)?;
        let behind = usize::try_from(block.offset).ok().and_then(|at| at.checked_add(block.payload.len()));
        let behind = behind.and_then(|at| at.checked_add(header.sync.len()));
        end = fitting(behind, "the end of a block")?;
    }
    Ok(())
}
