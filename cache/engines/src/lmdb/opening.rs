//! The start of LMDB in a folder: its options, its lock file, and what others have left behind.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use heed::{Env, EnvFlags, EnvOpenOptions};

use super::config::LmdbConfig;
use super::databases::DATABASES;
use super::environment::{DATA_FILE, LOCK_FILE};
use super::map::{Lengths, Map};
use super::metadata;
use super::space::{self, Space};
use super::truncations::Truncations;

/// Bytes of LMDB's lock file beside the slots of readers, generously.
const LOCK_HEADER: u64 = 4096;
/// Bytes of one reader's slot.
const LOCK_SLOT: u64 = 64;

/// Opens LMDB in a folder, under the folder's lock to write, which is that of the file `writer`.
pub(super) fn open(
    folder: &Path,
    config: &LmdbConfig,
    writer: &Path,
) -> heed::Result<(Map, Space)> {
    let map_size = config.map_bytes().max(metadata::prepare(&folder.join(DATA_FILE))?);
    let mut options = EnvOpenOptions::new();
    options.max_readers(config.readers).max_dbs(DATABASES).map_size(map_size);
    // An environment that was just dropped may still be closing on another thread.
    let closing = heed::env_closing_event(folder);
    let mut can_reserve = false;
    if closing.as_ref().is_none_or(|closing| closing.wait_timeout(Duration::from_secs(1))) {
        can_reserve = reserve_lock_file(&folder.join(LOCK_FILE), config.readers)?;
    }
    let mut flags = EnvFlags::empty();
    if !config.sync.is_synced() {
        flags |= EnvFlags::NO_SYNC;
        // Where a write is synced, the calls are few beside the sync. Where none is, they are a third of its time.
        let is_certain = can_reserve && space::is_certain(folder, map_size)?;
        flags.set(EnvFlags::WRITE_MAP, is_certain);
    }
    // SAFETY: NO_SYNC leaves out fsync and nothing else; every page is still written, and before the page that makes it
    // reachable. Only a loss of power can reorder the writes, which the option's text says. With WRITE_MAP the pages are
    // changed in the map; nothing but LMDB has pointers into it that can be written through.
    unsafe { options.flags(flags) };
    // SAFETY: only LMDB writes to the map, under its locks; any other program that changes the file breaks it, as with
    // any database. This process has the folder open only once: `OPEN` is locked.
    let env = unsafe { options.open(folder) }?;
    env.clear_stale_readers()?;
    settle(&env)?;
    if !flags.contains(EnvFlags::WRITE_MAP) {
        return Ok((Map::new(env, None), Space::of_calls()));
    }
    let truncations = Arc::new(Truncations::open(open_lock_file(writer)?)?);
    let space = Space::of_map(&env, Arc::clone(&truncations))?;
    let lengths = Lengths { lock: open_lock_file(writer)?, truncations };
    Ok((Map::new(env, Some(lengths)), space))
}

/// Finishes what a writer that was killed has left: its last transaction counts at once, or not at all. Otherwise it would
/// begin to count with the next write.
fn settle(env: &Env) -> heed::Result<()> {
    env.write_txn().map(heed::RwTxn::abort)
}

/// Opens a file that processes lock, made when it is missing.
pub(super) fn open_lock_file(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.read(true).write(true).create(true).truncate(false).mode(0o600).open(path)
}

/// Reserves disk space for the lock file. LMDB maps the file sparse and writes to it as readers come. On a full disk
/// such a write would kill the process instead of failing. Returns whether the file system can reserve space.
fn reserve_lock_file(path: &Path, readers: u32) -> io::Result<bool> {
    let file = open_lock_file(path)?;
    let len = LOCK_HEADER + u64::from(readers) * LOCK_SLOT;
    // The length stays unchanged, because it tells LMDB the number of slots.
    match space::take(&file, libc::FALLOC_FL_KEEP_SIZE, 0, len) {
        Ok(()) => Ok(true),
        // The file system cannot reserve space, so the file stays sparse.
        Err(error) if error.kind() == io::ErrorKind::Unsupported => Ok(false),
        Err(error) => Err(error),
    }
}
