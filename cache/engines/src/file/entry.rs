//! Reading an entry: open, read, close. No lock, and no allocation once the buffer has grown.

use std::os::fd::{AsFd, OwnedFd};

use larder_store::Result;

use super::folder::Folder;
use super::format::{ReadEntry, TRAILER_LEN, Trailer};
use super::name::Name;
use super::sys;

/// The room that a buffer gets before the length of the file is known.
const FIRST_ROOM: usize = 1024;

/// Reads the entry under `name`; its value goes behind the bytes of `out`. Where there is no entry, `out` stays as it is.
#[inline]
pub(super) fn read_onto(
    folder: &Folder,
    name: &Name,
    key: &[u8],
    out: &mut Vec<u8>,
) -> Result<ReadEntry> {
    let Some(file) = open(folder, name)? else { return Ok(ReadEntry::Nothing) };
    let before = out.len();
    out.reserve(FIRST_ROOM);
    sys::read_whole(file.as_fd(), out).map_err(|error| {
        out.truncate(before);
        folder.error("reading", name.path().as_c_str(), error)
    })?;
    let read = &out[before..];
    let found = Trailer::read(read, read.len() as u64, key);
    out.truncate(match found {
        ReadEntry::Entry(_) => out.len() - key.len() - TRAILER_LEN,
        ReadEntry::Nothing | ReadEntry::Broken => before,
    });
    Ok(found)
}

/// As [`read_onto`]; `value` becomes the entry's value, or empty where there is no entry.
pub(super) fn read(
    folder: &Folder,
    name: &Name,
    key: &[u8],
    value: &mut Vec<u8>,
) -> Result<ReadEntry> {
    value.clear();
    read_onto(folder, name, key, value)
}

/// As [`read`], without the value: `end` receives the bytes behind the value.
pub(super) fn look(
    folder: &Folder,
    name: &Name,
    key: &[u8],
    end: &mut Vec<u8>,
) -> Result<ReadEntry> {
    let Some(file) = open(folder, name)? else { return Ok(ReadEntry::Nothing) };
    let len = sys::file_len(file.as_fd())
        .and_then(|len| {
            sys::read_end(file.as_fd(), end, len, key.len() + TRAILER_LEN).map(|()| len)
        })
        .map_err(|error| folder.error("reading", name.path().as_c_str(), error))?;
    Ok(Trailer::read(end, len, key))
}

#[inline]
fn open(folder: &Folder, name: &Name) -> Result<Option<OwnedFd>> {
    sys::open_read(folder.as_fd(), name.path().as_c_str())
        .map(Some)
        .or_else(sys::absent_is_none)
        .map_err(|error| folder.error("opening", name.path().as_c_str(), error))
}
