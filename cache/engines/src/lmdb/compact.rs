//! A file of mostly free pages is replaced by a smaller one when it is opened.
//!
//! LMDB uses free pages again, but never gives them back to the disk. A file can be replaced only while nobody has it open:
//! others would go on with the old one. So this is done by a process that is alone, under the folder's lock to write, which
//! every other needs to open it.

use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use heed::CommitOrAbort;
use heed::types::Bytes;

use super::copying;
use super::databases::is_database;
use super::environment::{DATA_FILE, LOCK_FILE};
use super::map::Map;

/// The smaller file, until it takes the place of the other.
const COMPACT_FILE: &str = "compact.mdb";

/// A file up to this length is left as it is.
const SMALL: u64 = 1 << 20;

/// `F_WRLCK`, in the type of its place.
const WRITE_LOCK: libc::c_short = 1;
const _: () = assert!(libc::F_WRLCK == WRITE_LOCK as i32, "the number of a write lock");

/// Whether no process has the folder open. LMDB has a lock on this byte of its lock file as long as it is open. Not to be
/// called while this process has the folder open, because the end of this file would drop that lock.
pub(super) fn is_alone(folder: &Path) -> io::Result<bool> {
    let file = match OpenOptions::new().write(true).open(folder.join(LOCK_FILE)) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(true),
        file => file?,
    };
    // SAFETY: zeros are a valid value, and mean the first bytes of the file.
    let mut lock: libc::flock = unsafe { std::mem::zeroed() };
    (lock.l_type, lock.l_len) = (WRITE_LOCK, 1);
    // SAFETY: the descriptor is open, and the lock is one that the call may write to.
    if unsafe { libc::fcntl(file.as_raw_fd(), libc::F_OFD_GETLK, &raw mut lock) } != 0 {
        return Err(io::Error::last_os_error());
    }
    Ok(i32::from(lock.l_type) == libc::F_UNLCK)
}

/// Makes the smaller file, where more than half of the present one is free; whether it is there now. Nobody else has the
/// folder open.
pub(super) fn make(map: &Map, folder: &Path) -> heed::Result<bool> {
    let len = folder.join(DATA_FILE).metadata()?.len();
    if len <= SMALL || bytes_in_use(map)? > len / 2 {
        return Ok(false);
    }
    let path = folder.join(COMPACT_FILE);
    let mut options = OpenOptions::new();
    let made = options.read(true).write(true).create(true).truncate(true).mode(0o600).open(&path);
    let copied = made.map_err(heed::Error::from).and_then(|file| {
        copying::copy(map, &file, 0, &|| false)?;
        Ok(file.metadata()?.len())
    });
    // Pages of long lists of keys with one tag are not known to be in use, so the copy may be no smaller.
    let is_smaller = copied.as_ref().is_ok_and(|copied| *copied < len / 4 * 3);
    if !is_smaller {
        // If it cannot be removed, the next one overwrites it.
        let _ = fs::remove_file(&path);
    }
    copied.map(|_| is_smaller)
}

/// Puts the smaller file in place of the other, which is closed.
pub(super) fn put_in_place(folder: &Path) -> io::Result<()> {
    fs::rename(folder.join(COMPACT_FILE), folder.join(DATA_FILE))?;
    File::open(folder)?.sync_all()
}

/// The bytes of the pages of all databases.
fn bytes_in_use(map: &Map) -> heed::Result<u64> {
    let (txn, _pass) = map.read()?.split();
    let counted = map.env().open_databases_and_commit(txn, |opener, txn| {
        let mut pages = 0;
        if let Some(main) = opener.open_database::<Bytes, Bytes>(txn, None)? {
            for entry in main.iter(txn)? {
                let (name, record) = entry?;
                if is_database(name) {
                    pages += pages_of(record);
                }
            }
        }
        Ok::<_, heed::Error>(CommitOrAbort::<(), u64>::Abort(pages))
    })?;
    let pages = counted.abort().unwrap_or(0);
    Ok(pages * map.page_size() as u64)
}

/// The pages that a database has by its record, in LMDB's own form: flags in 8 bytes, then the numbers of its branch pages, leaf
/// pages and overflow pages.
fn pages_of(record: &[u8]) -> u64 {
    let numbers = record.get(8..32).unwrap_or_default().as_chunks::<8>().0;
    numbers.iter().copied().map(u64::from_ne_bytes).sum()
}
