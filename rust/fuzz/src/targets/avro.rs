//! What the targets of Avro files have in common: a reader of its own for the framing of a file.

use lakebed_avro::{Codec, Header, Inflater};

use super::LIMITS;
use super::walk::{Stop, Walk, long};
use lakebed_avro::schema::Node;

/// One block by its frame: the number of records, and the payload.
pub struct Frame<'f> {
    pub count: u64,
    pub payload: &'f [u8],
    /// The offset after the block.
    pub end: usize,
}

/// The blocks of a file.
///
/// # Errors
/// [`Stop::Wrong`] where a frame is invalid: an impossible number, a truncated block, another marker.
pub fn frames<'f>(file: &'f [u8], header: &Header) -> Result<Vec<Frame<'f>>, Stop> {
    let mut rest = file.get(header.length as usize..).ok_or(Stop::Wrong)?;
    let mut frames = Vec::new();
    while !rest.is_empty() {
        let count = u64::try_from(long(&mut rest)?).map_err(|_| Stop::Wrong)?;
        let size = usize::try_from(long(&mut rest)?).map_err(|_| Stop::Wrong)?;
        let (payload, behind) = rest.split_at_checked(size).ok_or(Stop::Wrong)?;
        rest = behind.strip_prefix(&header.sync).ok_or(Stop::Wrong)?;
        frames.push(Frame { count, payload, end: file.len() - rest.len() });
    }
    Ok(frames)
}

/// Walks all records of a file. Returns the checksum of their values.
///
/// # Errors
/// [`Stop::Wrong`] for blocks that cannot be inflated, or whose records do not follow the schema.
pub fn walk(header: &Header, root: &Node, frames: &[Frame<'_>]) -> Result<u64, Stop> {
    let mut walk = Walk::new(&LIMITS);
    let mut inflater = Inflater::new(header.codec, &LIMITS, header.sync);
    for frame in frames {
        let inflated = inflater.inflate(frame.payload).map_err(|_| Stop::Wrong)?;
        let checksum = frame.payload.last_chunk::<4>().map(|sum| u32::from_be_bytes(*sum));
        if header.codec == Codec::Snappy && checksum != Some(crc32fast::hash(inflated)) {
            return Err(Stop::Wrong);
        }
        walk.block(root, frame.count, inflated)?;
    }
    Ok(walk.sum)
}
