//! The first two pages of LMDB's file, which say how large its map and its data are.
//!
//! LMDB reads them itself. They are read before that, because LMDB may cut the file to the size of its map or make it longer,
//! and then a file that has lost its end cannot be distinguished from a whole one. The layout is that of `MDB_meta` in LMDB 0.9.

use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::fs::FileExt;
use std::path::Path;

use super::config::MAP_STEP;

/// The largest page of LMDB, in bytes. A file in which nothing was stored has two pages.
const LARGEST_PAGE: u64 = 64 << 10;

/// The bytes that mark a page of LMDB as one with its metadata, behind the header of the page.
const MAGIC: [u8; 4] = 0xbeef_c0de_u32.to_ne_bytes();

/// The pages that a transaction took and gave back, at the end of a file, may never have been written. If more pages than
/// those are missing, the file was cut off.
const MAX_UNWRITTEN: u64 = 64;

/// What a page of metadata says.
#[derive(Debug, Clone, Copy)]
struct Metadata {
    map_size: u64,
    page_size: u64,
    last_page: u64,
    transaction: u64,
}

impl Metadata {
    /// `None` for a page without metadata.
    fn read(page: &[u8]) -> Option<Self> {
        if !is_metadata(page) {
            return None;
        }
        let number = |at: usize| Some(u64::from_ne_bytes(*page.get(at..)?.first_chunk()?));
        let page_size = u32::from_ne_bytes(*page.get(40..)?.first_chunk()?);
        Some(Self {
            map_size: number(32)?,
            page_size: page_size.into(),
            last_page: number(136)?,
            transaction: number(144)?,
        })
    }
}

/// Makes a file ready for LMDB, and returns the least size that its map must have; 0 where there is no file.
///
/// A file that was given up before anything was stored in it is removed. One that is a few pages short is made longer, because
/// a read beyond its end would raise a signal.
///
/// # Errors
///
/// The file was cut off, or cannot be read or changed.
pub(super) fn prepare(data: &Path) -> heed::Result<usize> {
    let file = match OpenOptions::new().read(true).write(true).open(data) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(0),
        file => file?,
    };
    let pages = first_pages(&file)?;
    if is_half_made(&file, &pages)? {
        fs::remove_file(data)?;
        return Ok(0);
    }
    let len = file.metadata()?.len();
    let Some(newest) = newest(&pages) else { return Ok(0) };
    let wanted = (newest.last_page + 1).saturating_mul(newest.page_size);
    if len.saturating_add(MAX_UNWRITTEN * newest.page_size) < wanted {
        let reason = format!("{len} bytes of {wanted}: it was cut off");
        return Err(heed::Error::Decoding(reason.into()));
    }
    if len < wanted {
        file.set_len(wanted)?;
    }
    Ok(map_size(&file)?)
}

/// The size of the largest map that a process had, as far as the file says; 0 for a file in which nothing was stored.
///
/// Another process may have written that far. A file that is longer is not cut.
pub(super) fn map_size(file: &File) -> io::Result<usize> {
    // A map that found no address space may stand in a new file.
    let newest = newest(&first_pages(file)?).filter(|newest| newest.transaction > 0);
    let most = newest.map_or(0, |newest| newest.map_size).max(file.metadata()?.len());
    let size = most.checked_next_multiple_of(MAP_STEP);
    Ok(size.and_then(|size| usize::try_from(size).ok()).unwrap_or_default())
}

fn newest(pages: &[Vec<u8>; 2]) -> Option<Metadata> {
    let found = pages.iter().filter_map(|page| Metadata::read(page));
    found.max_by_key(|found| found.transaction)
}

/// Whether a file has lost one of its first two pages before anything was stored in it, as a loss of power may leave it. LMDB
/// takes it for no file of its own.
fn is_half_made(file: &File, pages: &[Vec<u8>; 2]) -> io::Result<bool> {
    let is_lost = |page: &Vec<u8>| page.iter().all(|byte| *byte == 0);
    let is_either = |page: &Vec<u8>| is_lost(page) || is_metadata(page);
    if pages[0].is_empty() || !pages.iter().any(is_lost) || !pages.iter().all(is_either) {
        return Ok(false);
    }
    Ok(!is_used(file, pages[0].len())?)
}

/// The first two pages of a file, each as far as it is there.
fn first_pages(file: &File) -> io::Result<[Vec<u8>; 2]> {
    let page = |n: u64, len: u64| {
        let mut bytes = vec![0; usize::try_from(len).unwrap_or_default()];
        let read = file.read_at(&mut bytes, n * len)?;
        bytes.truncate(read);
        Ok::<_, io::Error>(bytes)
    };
    let len = file.metadata()?.len();
    let system = system_page()?;
    let page_len = match Metadata::read(&page(0, system)?) {
        Some(first) => first.page_size.min(LARGEST_PAGE),
        // A file of two pages.
        None if len <= 2 * LARGEST_PAGE => len.div_ceil(2),
        None => system,
    };
    Ok([page(0, page_len)?, page(1, page_len)?])
}

/// Bytes of a page of the system.
fn system_page() -> io::Result<u64> {
    // SAFETY: no memory is passed.
    let size = unsafe { libc::sysconf(libc::_SC_PAGESIZE) };
    u64::try_from(size).map_err(|_| io::Error::last_os_error())
}

fn is_metadata(page: &[u8]) -> bool {
    page.get(16..20) == Some(&MAGIC)
}

/// Whether a file has data behind its first two pages.
fn is_used(file: &File, page_len: usize) -> io::Result<bool> {
    let behind = libc::off_t::try_from(2 * page_len).unwrap_or(libc::off_t::MAX);
    // SAFETY: the descriptor is open, and no memory is passed.
    if unsafe { libc::lseek(file.as_raw_fd(), behind, libc::SEEK_DATA) } >= 0 {
        return Ok(true);
    }
    match io::Error::last_os_error() {
        error if error.raw_os_error() == Some(libc::ENXIO) => Ok(false),
        error => Err(error),
    }
}
