//! The torn end of a journal, which a loss of power can leave.
//!
//! A disk may keep the end of a batch and lose its middle. fjall drops a batch without its end, and refuses the whole
//! folder where a batch has its end and a wrong checksum. Batches that were synced are whole. So a journal is cut off
//! behind its last whole batch, but only where fjall refuses it: the reason may be another fault of the disk, which costs
//! more. The format is that of fjall 3.

use std::fs::{self, OpenOptions};
use std::io;
use std::path::{Path, PathBuf};

use larder_store::tell_of_trouble;
use xxhash_rust::xxh3::xxh3_64;

use super::SCHEME;

/// The end of the name of a journal, behind its number.
pub(super) const SUFFIX: &str = ".jnl";

/// The first bytes of the parts of a batch.
const START: u8 = 1;
const ITEM: u8 = 2;
const END: u8 = 3;
const CLEAR: u8 = 4;

/// The last bytes of a batch.
const MAGIC: [u8; 4] = *b"FJL\x03";

/// Cuts the newest journal of a folder off behind its last whole batch, and tells of it; `false` where all of it is whole.
pub(super) fn mend(folder: &Path) -> io::Result<bool> {
    let Some(path) = newest(folder)? else { return Ok(false) };
    let journal = fs::read(&path)?;
    let len = whole_len(&journal);
    if len == journal.len() {
        return Ok(false);
    }
    let file = OpenOptions::new().write(true).open(&path)?;
    file.set_len(len as u64)?;
    file.sync_all()?;
    let shown = path.display();
    tell_of_trouble(&format!(
        "{SCHEME}: {shown} was not whole behind byte {len}, as after a loss of power; it was cut off there"
    ));
    Ok(true)
}

/// The journal with the highest number: older ones were synced before it was made.
fn newest(folder: &Path) -> io::Result<Option<PathBuf>> {
    let mut newest = None;
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let number = name.strip_suffix(SUFFIX).and_then(|number| number.parse::<u64>().ok());
        newest = newest.max(number.map(|number| (number, path)));
    }
    Ok(newest.map(|(_, path)| path))
}

/// The length of the whole batches at the beginning of a journal.
fn whole_len(journal: &[u8]) -> usize {
    let mut rest = journal;
    while let Some(behind) = behind_batch(rest) {
        rest = behind;
    }
    journal.len() - rest.len()
}

/// The bytes behind the first batch; `None` where it is not whole.
fn behind_batch(bytes: &[u8]) -> Option<&[u8]> {
    // The number of items, and a number of fjall's.
    let (start, items) = bytes.split_first_chunk::<13>()?;
    let count = u32::from_le_bytes(*start[1..].first_chunk()?);
    let mut rest = items;
    for _ in 0..count {
        rest = behind_item(rest)?;
    }
    let items = &items[..items.len() - rest.len()];
    let (end, rest) = rest.split_first_chunk::<13>()?;
    let checksum = u64::from_le_bytes(*end[1..].first_chunk()?);
    let is_whole =
        start[0] == START && end[0] == END && end[9..] == MAGIC && checksum == xxh3_64(items);
    is_whole.then_some(rest)
}

/// The bytes behind the first item of a batch.
fn behind_item(bytes: &[u8]) -> Option<&[u8]> {
    match *bytes.first()? {
        // The number of a table.
        CLEAR => bytes.get(9..),
        // The kind of item and of compression, the number of a table, and the lengths of key, value and stored value.
        ITEM => {
            let (head, rest) = bytes.split_first_chunk::<21>()?;
            let key_len = u16::from_le_bytes(*head[11..].first_chunk()?);
            let stored_len = u32::from_le_bytes(*head[17..].first_chunk()?);
            rest.get(usize::from(key_len) + stored_len as usize..)
        }
        _ => None,
    }
}
