//! The system calls that `std` has no safe form of: relative to an open folder, with several buffers, and locks
//! on ranges of a file.

use std::ffi::CStr;
use std::io;
use std::os::fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd};

/// Only the user who made a store reads it.
const FILE_MODE: libc::mode_t = 0o600;
const FOLDER_MODE: libc::mode_t = 0o700;

/// Opens `name` under `folder` for reading.
#[inline]
pub(super) fn open_read(folder: BorrowedFd<'_>, name: &CStr) -> io::Result<OwnedFd> {
    open(folder, name, libc::O_RDONLY | libc::O_NOFOLLOW)
}

/// Makes `name` under `folder` and opens it for writing; an error when the file exists.
pub(super) fn create_new(folder: BorrowedFd<'_>, name: &CStr) -> io::Result<OwnedFd> {
    open(folder, name, libc::O_WRONLY | libc::O_CREAT | libc::O_EXCL)
}

/// Opens `name` under `folder` for reading and writing, and makes the file where it is missing.
pub(super) fn open_or_create(folder: BorrowedFd<'_>, name: &CStr) -> io::Result<OwnedFd> {
    open(folder, name, libc::O_RDWR | libc::O_CREAT | libc::O_NOFOLLOW)
}

#[inline]
fn open(folder: BorrowedFd<'_>, name: &CStr, flags: libc::c_int) -> io::Result<OwnedFd> {
    let flags = flags | libc::O_CLOEXEC;
    // SAFETY: `name` ends with a zero byte and outlives the call.
    let open = || unsafe { libc::openat(folder.as_raw_fd(), name.as_ptr(), flags, FILE_MODE) };
    let fd = retried(|| open() as isize)?;
    let fd = i32::try_from(fd).expect("what openat returned");
    // SAFETY: openat has just made this descriptor, and no other code knows it.
    Ok(unsafe { OwnedFd::from_raw_fd(fd) })
}

/// The most bytes that one call reads or writes, even with more room.
const MOST_AT_ONCE: usize = 0x7fff_f000;

/// Appends all of `file` to `buffer`. One call does, where the file fits into the free room of the buffer.
#[inline]
pub(super) fn read_whole(file: BorrowedFd<'_>, buffer: &mut Vec<u8>) -> io::Result<()> {
    loop {
        let room = buffer.spare_capacity_mut().len();
        let n = read_at_most(file, buffer, None)?;
        // A read of a regular file returns less than it can only at the file's end.
        if n < room.min(MOST_AT_ONCE) {
            return Ok(());
        }
        let len = usize::try_from(file_len(file)?).map_err(io::Error::other)?;
        // One byte more finds the end without another call.
        buffer.reserve(len.saturating_sub(buffer.len()) + 1);
    }
}

/// Reads the last `len` bytes of a file that is `file_len` long, or all of a shorter one.
pub(super) fn read_end(
    file: BorrowedFd<'_>,
    buffer: &mut Vec<u8>,
    file_len: u64,
    len: usize,
) -> io::Result<()> {
    buffer.clear();
    buffer.reserve(len);
    let start = file_len.saturating_sub(len as u64);
    read_at_most(file, buffer, Some(i64::try_from(start).map_err(io::Error::other)?)).map(drop)
}

/// Fills the free room of `buffer` with one call: from an offset, or from the position of the file.
#[inline]
fn read_at_most(
    file: BorrowedFd<'_>,
    buffer: &mut Vec<u8>,
    offset: Option<i64>,
) -> io::Result<usize> {
    let fd = file.as_raw_fd();
    let room = buffer.spare_capacity_mut();
    let (to, len) = (room.as_mut_ptr().cast(), room.len());
    // SAFETY: `to` is memory that we hold exclusively and is `len` bytes long.
    let n = retried(|| unsafe {
        match offset {
            None => libc::read(fd, to, len),
            Some(offset) => libc::pread(fd, to, len, offset),
        }
    })?;
    let n = n.unsigned_abs();
    // SAFETY: the system has filled `n` more bytes of the free room.
    unsafe { buffer.set_len(buffer.len() + n) };
    Ok(n)
}

/// Writes all of both parts.
pub(super) fn write_all(file: BorrowedFd<'_>, value: &[u8], tail: &[u8]) -> io::Result<()> {
    let (mut head, mut tail) = (value, tail);
    while !head.is_empty() || !tail.is_empty() {
        let parts = [head, tail].map(|part| libc::iovec {
            iov_base: part.as_ptr().cast_mut().cast(),
            iov_len: part.len(),
        });
        // SAFETY: both parts are borrowed memory with their lengths; the system reads, never writes.
        let write = || unsafe { libc::writev(file.as_raw_fd(), parts.as_ptr(), 2) };
        let n = retried(write)?.unsigned_abs();
        if n == 0 {
            return Err(io::ErrorKind::WriteZero.into());
        }
        let of_head = n.min(head.len());
        head = &head[of_head..];
        tail = &tail[n - of_head..];
    }
    Ok(())
}

/// Waits until the file or folder is on the disk.
pub(super) fn sync(file: BorrowedFd<'_>) -> io::Result<()> {
    // SAFETY: a descriptor that is open for as long as it is borrowed.
    retried(|| unsafe { libc::fsync(file.as_raw_fd()) } as isize).map(drop)
}

/// Gives `from` the name `to`, both under `folder`; a file that had that name is gone.
pub(super) fn rename(folder: BorrowedFd<'_>, from: &CStr, to: &CStr) -> io::Result<()> {
    rename_with(folder, from, to, 0)
}

/// As [`rename`], but an error when a file has that name already.
pub(super) fn rename_new(folder: BorrowedFd<'_>, from: &CStr, to: &CStr) -> io::Result<()> {
    rename_with(folder, from, to, libc::RENAME_NOREPLACE)
}

/// Gives each of two files the other's name, in one step.
pub(super) fn exchange(folder: BorrowedFd<'_>, one: &CStr, other: &CStr) -> io::Result<()> {
    rename_with(folder, one, other, libc::RENAME_EXCHANGE)
}

fn rename_with(
    folder: BorrowedFd<'_>,
    from: &CStr,
    to: &CStr,
    flags: libc::c_uint,
) -> io::Result<()> {
    let fd = folder.as_raw_fd();
    // SAFETY: both names end with a zero byte and outlive the call.
    let rename = || unsafe { libc::renameat2(fd, from.as_ptr(), fd, to.as_ptr(), flags) };
    retried(|| rename() as isize).map(drop)
}

/// Whether a file system does not know this kind of rename.
pub(super) fn is_unknown(error: &io::Error) -> bool {
    matches!(error.raw_os_error(), Some(libc::EINVAL | libc::ENOSYS | libc::EOPNOTSUPP))
}

/// Removes the file `name` under `folder`.
pub(super) fn remove(folder: BorrowedFd<'_>, name: &CStr) -> io::Result<()> {
    // SAFETY: `name` ends with a zero byte and outlives the call.
    retried(|| unsafe { libc::unlinkat(folder.as_raw_fd(), name.as_ptr(), 0) } as isize).map(drop)
}

/// Makes the folder `name` under `folder`; a folder that exists is no error.
pub(super) fn make_folder(folder: BorrowedFd<'_>, name: &CStr) -> io::Result<()> {
    // SAFETY: `name` ends with a zero byte and outlives the call.
    let make = || unsafe { libc::mkdirat(folder.as_raw_fd(), name.as_ptr(), FOLDER_MODE) };
    match retried(|| make() as isize) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => Err(error),
        _ => Ok(()),
    }
}

/// The system's record of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct FileStat {
    pub(super) len: u64,
    /// The file's number in the file system: a rename over the file changes the number of its name.
    pub(super) inode: u64,
    /// The time of the last write or, where later and recorded by the file system, of the last read; in nanoseconds.
    pub(super) used_ns: i128,
}

/// The system's record of `name` under `folder`; `None` when there is no such file.
pub(super) fn stat(folder: BorrowedFd<'_>, name: &CStr) -> io::Result<Option<FileStat>> {
    let mut answer = std::mem::MaybeUninit::<libc::stat>::uninit();
    let fd = folder.as_raw_fd();
    let flags = libc::AT_SYMLINK_NOFOLLOW;
    // SAFETY: `name` ends with a zero byte, and `answer` has room for the one structure that is written.
    let mut stat = || unsafe { libc::fstatat(fd, name.as_ptr(), answer.as_mut_ptr(), flags) };
    if let Err(error) = retried(|| stat() as isize) {
        return absent_is_none(error);
    }
    // SAFETY: fstatat returned 0 and so has written the whole structure.
    let stat = unsafe { answer.assume_init() };
    let ns = |seconds: i64, ns: i64| i128::from(seconds) * 1_000_000_000 + i128::from(ns);
    let (written, read) =
        (ns(stat.st_mtime, stat.st_mtime_nsec), ns(stat.st_atime, stat.st_atime_nsec));
    Ok(Some(FileStat {
        len: u64::try_from(stat.st_size).unwrap_or(0),
        inode: stat.st_ino,
        used_ns: written.max(read),
    }))
}

/// The length of an open file.
pub(super) fn file_len(file: BorrowedFd<'_>) -> io::Result<u64> {
    let mut answer = std::mem::MaybeUninit::<libc::stat>::uninit();
    // SAFETY: `answer` has room for the one structure that is written.
    retried(|| unsafe { libc::fstat(file.as_raw_fd(), answer.as_mut_ptr()) } as isize)?;
    // SAFETY: fstat returned 0 and so has written the whole structure.
    Ok(u64::try_from(unsafe { answer.assume_init() }.st_size).unwrap_or(0))
}

/// "Not there" as `None`, other errors as they are.
pub(super) fn absent_is_none<T>(error: io::Error) -> io::Result<Option<T>> {
    if error.kind() == io::ErrorKind::NotFound { Ok(None) } else { Err(error) }
}

/// Locks the one byte at `offset` for this open file, against every other open file of it. `false` when another open
/// file has the lock and `wait` is off. Such a lock ends with its process.
pub(super) fn lock_byte(file: BorrowedFd<'_>, offset: i64, wait: bool) -> io::Result<bool> {
    let command = if wait { libc::F_OFD_SETLKW } else { libc::F_OFD_SETLK };
    match change_lock(file, offset, libc::F_WRLCK, command) {
        Err(error) if !wait && error.kind() == io::ErrorKind::WouldBlock => Ok(false),
        result => result.map(|()| true),
    }
}

/// Ends the lock on the byte at `offset`.
pub(super) fn unlock_byte(file: BorrowedFd<'_>, offset: i64) -> io::Result<()> {
    change_lock(file, offset, libc::F_UNLCK, libc::F_OFD_SETLK)
}

fn change_lock(
    file: BorrowedFd<'_>,
    offset: i64,
    kind: libc::c_int,
    command: libc::c_int,
) -> io::Result<()> {
    let mut range = libc::flock {
        l_type: libc::c_short::try_from(kind).expect("a small constant"),
        l_whence: libc::c_short::try_from(libc::SEEK_SET).expect("a small constant"),
        l_start: offset,
        l_len: 1,
        l_pid: 0,
    };
    // SAFETY: the commands on locks take a pointer to this structure, which outlives the call.
    let mut change = || unsafe { libc::fcntl(file.as_raw_fd(), command, &raw mut range) };
    retried(|| change() as isize).map(drop)
}

/// Calls until no signal interrupts; -1 is the error that the system left.
#[inline]
fn retried(mut call: impl FnMut() -> isize) -> io::Result<isize> {
    loop {
        let answer = call();
        if answer >= 0 {
            return Ok(answer);
        }
        let error = io::Error::last_os_error();
        if error.kind() != io::ErrorKind::Interrupted {
            return Err(error);
        }
    }
}
