//! The free space of the disk that a recording leaves to others.

use std::path::Path;

use larder_host::disk::file_system;

/// Space that a recording leaves free on the disk: a twentieth of it, or this much if that is less.
const MIN_FREE_BYTES: u64 = 1 << 30;

/// The reason why a disk takes no more rows; `None` while it has space.
pub(super) fn is_nearly_full(folder: &Path) -> Option<String> {
    let under = file_system(folder).ok()?;
    let (size, free) = (under.size_bytes?, under.free_bytes?);
    (free < MIN_FREE_BYTES.min(size / 20))
        .then(|| format!("the disk under {} is nearly full", folder.display()))
}
