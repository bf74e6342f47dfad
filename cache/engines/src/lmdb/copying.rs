//! Whole copies of an environment without its free pages, made while others read and write.
//!
//! A copy reads one state of the file, and reaches the disk in steps, so that no other sync has to wait for all of it.

use std::fs::File;
use std::io::{self, PipeReader, Read, Write};
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::fs::FileExt;

use super::map::Map;

/// Bytes that are on their way to the disk at once.
const STEP: usize = 1 << 20;

/// The place of the number of the last transaction, in a page of LMDB with its metadata: behind the head of the page, what marks
/// the file, the map, two databases and the last page.
const LAST_TRANSACTION: u64 = 16 + 8 + 16 + 2 * 48 + 8;

/// Copies one state of the environment to a file, and waits until it is on the disk. The copy goes on counting transactions
/// where the environment is, and `skipped` later.
pub(super) fn copy(
    map: &Map,
    file: &File,
    skipped: u64,
    is_over: &dyn Fn() -> bool,
) -> heed::Result<()> {
    let (reader, writer) = io::pipe()?;
    let mut writer = File::from(OwnedFd::from(writer));
    std::thread::scope(|scope| {
        let read = scope.spawn(move || map.copy_to(&mut writer));
        // When this side gives up, its end of the pipe closes, and LMDB stops.
        let written = write_out(reader, file, &|| is_over() || map.is_awaited());
        let read = read.join().map_err(|_| io::Error::other("copying the file panicked"))?;
        written.map_err(heed::Error::from).and(read)
    })?;
    let last = map.last_transaction()? as u64;
    go_on_counting(file, map.page_size() as u64, last + skipped)?;
    Ok(file.sync_all()?)
}

/// Gives a copy the number of a transaction as its last. LMDB's copies begin at 1, but versions of entries are made of this
/// number: later ones must be larger.
fn go_on_counting(file: &File, page_size: u64, last: u64) -> io::Result<()> {
    // The second page is that of the odd numbers.
    let place = page_size + LAST_TRANSACTION;
    let mut number = [0; 8];
    file.read_exact_at(&mut number, place)?;
    // A copy of an empty file has 0.
    if u64::from_ne_bytes(number) == 1 {
        file.write_all_at(&(last | 1).to_ne_bytes(), place)?;
    }
    Ok(())
}

fn write_out(
    mut reader: PipeReader,
    mut file: &File,
    is_over: &dyn Fn() -> bool,
) -> io::Result<()> {
    let mut step = Vec::with_capacity(STEP);
    loop {
        step.clear();
        reader.by_ref().take(STEP as u64).read_to_end(&mut step)?;
        if step.is_empty() {
            return Ok(());
        }
        if is_over() {
            return Err(io::ErrorKind::Interrupted.into());
        }
        file.write_all(&step)?;
        send_to_disk(file);
    }
}

/// Waits until what was written to a file has gone to the disk. The sync at the end judges whether it has arrived.
fn send_to_disk(file: &File) {
    let flags = libc::SYNC_FILE_RANGE_WAIT_BEFORE
        | libc::SYNC_FILE_RANGE_WRITE
        | libc::SYNC_FILE_RANGE_WAIT_AFTER;
    // SAFETY: the descriptor is open, and no memory is passed. A length of 0 means to the end.
    unsafe { libc::sync_file_range(file.as_raw_fd(), 0, 0, flags) };
}
