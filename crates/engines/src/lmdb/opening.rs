//! The start of LMDB in a folder: its options, its lock file, and what others have left behind.

use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::time::Duration;

use heed::{Env, EnvFlags, EnvOpenOptions};

use super::config::LmdbConfig;
use super::databases::DATABASES;
use super::environment::{DATA_FILE, LOCK_FILE};

/// The largest page of LMDB, in bytes. A file in which nothing was stored has two pages.
const LARGEST_PAGE: u64 = 64 << 10;

/// The bytes that mark a page of LMDB as one with its metadata, behind the header of the page.
const MAGIC: [u8; 4] = 0xbeef_c0de_u32.to_ne_bytes();

/// Bytes of LMDB's lock file beside the slots of readers, generously.
const LOCK_HEADER: u64 = 4096;
/// Bytes of one reader's slot.
const LOCK_SLOT: u64 = 64;

/// Opens LMDB in a folder, under the folder's lock to write.
pub(super) fn open(folder: &Path, config: &LmdbConfig) -> heed::Result<Env> {
    remove_half_made(&folder.join(DATA_FILE))?;
    let mut options = EnvOpenOptions::new();
    options.max_readers(config.readers).max_dbs(DATABASES);
    if !config.sync.is_synced() {
        // SAFETY: NO_SYNC leaves out fsync and nothing else; every page is still written, and before the page that
        // makes it reachable. Only a loss of power can reorder the writes, which the option's text says.
        unsafe { options.flags(EnvFlags::NO_SYNC) };
    }
    // An environment that was just dropped may still be closing on another thread.
    let closing = heed::env_closing_event(folder);
    if closing.as_ref().is_none_or(|closing| closing.wait_timeout(Duration::from_secs(1))) {
        reserve_lock_file(&folder.join(LOCK_FILE), config.readers)?;
    }
    // SAFETY: only LMDB writes to the map, under its locks; any other program that changes the file breaks it, as with
    // any database. This process has the folder open only once: `OPEN` is locked.
    let env = unsafe { options.open(folder) }?;
    complete(&env)?;
    // The file remembers the size of its map. A map smaller than wanted grows; a larger map stays, because another
    // process may have written that far.
    if config.map_bytes() > env.info().map_size {
        // SAFETY: no other code has the environment yet, so no transaction is active.
        unsafe { env.resize(config.map_bytes()) }?;
    }
    env.clear_stale_readers()?;
    settle(&env)?;
    Ok(env)
}

/// Finishes what a writer that was killed has left: its last transaction counts at once, or not at all. Otherwise it would
/// begin to count with the next write.
fn settle(env: &Env) -> heed::Result<()> {
    env.write_txn().map(heed::RwTxn::abort)
}

/// Opens a file that processes lock, made when it is missing.
pub(super) fn open_lock_file(path: &Path) -> io::Result<File> {
    OpenOptions::new().write(true).create(true).truncate(false).mode(0o600).open(path)
}

/// Removes a file that has lost one of its first two pages before anything was stored in it, as a loss of power may leave it. LMDB takes
/// it for no file of its own.
fn remove_half_made(data: &Path) -> io::Result<()> {
    let is_of_two_pages = |file: fs::Metadata| file.len() > 0 && file.len() <= 2 * LARGEST_PAGE;
    if !data.metadata().is_ok_and(is_of_two_pages) {
        return Ok(());
    }
    let bytes = fs::read(data)?;
    let is_lost = |page: &[u8]| page.iter().all(|byte| *byte == 0);
    let is_there = |page: &[u8]| page.get(16..20) == Some(&MAGIC);
    let (first, second) = bytes.split_at(bytes.len() / 2);
    let is_half_made = match (is_lost(first), is_lost(second)) {
        (true, true) => true,
        (true, false) => is_there(second),
        (false, true) => is_there(first),
        (false, false) => false,
    };
    if is_half_made { fs::remove_file(data) } else { Ok(()) }
}

/// Reserves disk space for the lock file. LMDB maps the file sparse and writes to it as readers come. On a full disk
/// such a write would kill the process instead of failing.
fn reserve_lock_file(path: &Path, readers: u32) -> io::Result<()> {
    let file = open_lock_file(path)?;
    let len = LOCK_HEADER + u64::from(readers) * LOCK_SLOT;
    let len = libc::off_t::try_from(len).unwrap_or(libc::off_t::MAX);
    // The length stays unchanged, because it tells LMDB the number of slots.
    // SAFETY: the descriptor is open, and no memory is passed.
    if unsafe { libc::fallocate(file.as_raw_fd(), libc::FALLOC_FL_KEEP_SIZE, 0, len) } == 0 {
        return Ok(());
    }
    match io::Error::last_os_error() {
        // The file system cannot reserve space, so the file stays sparse.
        error if error.kind() == io::ErrorKind::Unsupported => Ok(()),
        error => Err(error),
    }
}

/// Makes the file as long as LMDB expects, because a read beyond the end would raise a signal. Pages that a transaction
/// took and gave back may never have been written; if more pages than those are missing, the file was cut off.
fn complete(env: &Env) -> heed::Result<()> {
    const MAX_UNWRITTEN: u64 = 64;
    let page_size = u64::from(env.unnamed_database_stat().page_size);
    let wanted = (env.info().last_page_number as u64 + 1) * page_size;
    let file: File = env.try_clone_inner_file()?;
    let len = file.metadata()?.len();
    if len + MAX_UNWRITTEN * page_size < wanted {
        let reason = format!("{len} bytes of {wanted}: it was cut off");
        return Err(heed::Error::Decoding(reason.into()));
    }
    if len < wanted {
        file.set_len(wanted)?;
    }
    Ok(())
}
