//! The file system under a path: its kind, size and free room, and its errors in plain words.

use std::ffi::CString;
use std::fs::File;
use std::io;
use std::mem::MaybeUninit;
use std::os::fd::AsRawFd;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use larder_store::{Error, FileSystem};

/// The file system under `path`, which must exist.
pub fn file_system(path: &Path) -> io::Result<FileSystem> {
    let path = path.canonicalize()?;
    let mounts = std::fs::read_to_string("/proc/self/mountinfo")?;
    let kind = mount_kind(&mounts, &path).unwrap_or("unknown").to_owned();
    let name = CString::new(path.as_os_str().as_bytes())?;
    let mut answer = MaybeUninit::<libc::statvfs>::uninit();
    // SAFETY: `name` is a NUL-terminated path and `answer` has room for the one structure that is written.
    if unsafe { libc::statvfs(name.as_ptr(), answer.as_mut_ptr()) } != 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: statvfs returned 0 and so has written the whole structure.
    let answer = unsafe { answer.assume_init() };
    // ramfs answers with zero blocks: it has no limit but the machine's memory.
    let bytes = |blocks: u64| (answer.f_blocks > 0).then(|| blocks * answer.f_frsize);
    let (size_bytes, free_bytes) = (bytes(answer.f_blocks), bytes(answer.f_bavail));
    Ok(FileSystem { kind, size_bytes, free_bytes, is_own: false })
}

/// The type of the innermost mount above `path`, from the text of `/proc/self/mountinfo`:
/// `36 35 98:0 /root /mount/point options … - type source …`, later lines mounted over earlier ones.
fn mount_kind<'a>(mounts: &'a str, path: &Path) -> Option<&'a str> {
    mounts
        .lines()
        .filter_map(|line| {
            let (left, right) = line.split_once(" - ")?;
            let point = unescape(left.split(' ').nth(4)?);
            path.starts_with(&point).then_some((point.len(), right.split(' ').next()?))
        })
        .max_by_key(|(depth, _)| *depth)
        .map(|(_, kind)| kind)
}

/// Undoes the octal escapes of mountinfo: space, tab, newline, backslash.
fn unescape(point: &str) -> String {
    let mut text = point.to_owned();
    for (escape, letter) in [("\\040", " "), ("\\011", "\t"), ("\\012", "\n"), ("\\134", "\\")] {
        text = text.replace(escape, letter);
    }
    text
}

/// Whether the disk under a folder has no room for another write of some pages. Libraries that turn a short write
/// into an error of their own leave no other way to tell.
pub fn has_no_room(folder: &Path) -> bool {
    const SOME_PAGES: u64 = 64 << 10;
    let free = file_system(folder).ok().and_then(|under| under.free_bytes);
    free.is_some_and(|free| free < SOME_PAGES)
}

/// Waits until all files of the file system under `path` are on its disk. It has no call for a folder alone.
pub fn flush(path: &Path) -> io::Result<()> {
    let opened = File::open(path)?;
    // SAFETY: the descriptor is open, and no memory is passed.
    if unsafe { libc::syncfs(opened.as_raw_fd()) } == 0 {
        Ok(())
    } else {
        Err(io::Error::last_os_error())
    }
}

/// An I/O error on `path` in plain words; a full disk is [`Error::Full`].
pub fn io_error(engine: &'static str, what: &str, path: &Path, source: io::Error) -> Error {
    let what = format!("{what} {}", path.display());
    if is_full(&source) {
        return Error::Full { engine, what: format!("{what}: no room left on the device") };
    }
    Error::Io { engine, what, source }
}

/// Whether an error says that the disk, or this user's part of it, is full.
pub fn is_full(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_innermost_and_latest_mount_counts() {
        let mounts = "1 0 8:1 / / rw - ext4 /dev/sda1 rw\n\
                      2 1 0:5 / /dev/shm rw - tmpfs tmpfs rw,size=1g\n\
                      3 1 0:6 / /mnt/a\\040b rw shared:1 - ramfs none rw\n\
                      4 1 0:7 / /dev/shm rw - xfs /dev/sdb rw\n";
        let kind = |path: &str| mount_kind(mounts, Path::new(path));
        assert_eq!(kind("/var/tmp"), Some("ext4"));
        assert_eq!(kind("/dev/shm/x"), Some("xfs"));
        assert_eq!(kind("/dev/shmx"), Some("ext4"));
        assert_eq!(kind("/mnt/a b/c"), Some("ramfs"));
    }

    #[test]
    fn this_machine_answers() {
        let here = file_system(&std::env::temp_dir()).unwrap();
        assert!(!here.kind.is_empty() && here.size_bytes > Some(0), "{here:?}");
    }
}
