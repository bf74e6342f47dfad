//! Damaged files of the segment cache. Whatever they contain, no process crashes or waits for ever. No process reads a
//! value that was never stored under its key.
//!
//!     cargo +nightly fuzz run segment_image -- -timeout=20

#![no_main]

use std::sync::OnceLock;

use libfuzzer_sys::fuzz_target;
use tempfile::TempDir;

#[path = "../../cache/segment/tests/support/image.rs"]
mod image;

fuzz_target!(|how: &[u8]| {
    static MADE: OnceLock<(TempDir, Vec<u8>)> = OnceLock::new();
    let (folder, made) = MADE.get_or_init(|| {
        let folder = tempfile::tempdir_in("/dev/shm").expect("a folder in memory");
        let made = image::made(folder.path());
        (folder, made)
    });
    let mut bytes = made.clone();
    image::damage(&mut bytes, how);
    image::try_all(folder.path(), &bytes);
});
