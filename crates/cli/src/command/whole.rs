//! Files that appear whole.

use std::fs::{self, File};
use std::io::BufWriter;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;

use anyhow::Context;

/// Writes a file beside `path`, and gives it that name once it is whole and on the disk. A file of before stays until
/// then.
///
/// # Errors
///
/// Errors of `content` and of the disk, with the path. Nothing of the file is left then.
pub(super) fn write<T>(
    path: &Path,
    content: impl FnOnce(&mut BufWriter<File>) -> anyhow::Result<T>,
) -> anyhow::Result<T> {
    write_with_mode(path, 0o666, content)
}

/// As [`write`], for entries and traffic, which nobody but the owner may read.
///
/// # Errors
///
/// As for [`write`].
pub(super) fn write_private<T>(
    path: &Path,
    content: impl FnOnce(&mut BufWriter<File>) -> anyhow::Result<T>,
) -> anyhow::Result<T> {
    write_with_mode(path, 0o600, content)
}

fn write_with_mode<T>(
    path: &Path,
    mode: u32,
    content: impl FnOnce(&mut BufWriter<File>) -> anyhow::Result<T>,
) -> anyhow::Result<T> {
    let beside = path.with_added_extension("new");
    let written = (|| {
        // One that an interrupted process left may have another mode.
        let _ = fs::remove_file(&beside);
        let mut options = File::options();
        options.write(true).create_new(true).mode(mode);
        let mut out = BufWriter::new(options.open(&beside)?);
        let told = content(&mut out)?;
        out.into_inner()?.sync_all()?;
        fs::rename(&beside, path)?;
        Ok::<_, anyhow::Error>(told)
    })();
    if written.is_err() {
        // It is of no use. If it cannot be removed, the next one overwrites it.
        let _ = fs::remove_file(&beside);
    }
    written.with_context(|| format!("writing {}", path.display()))
}
