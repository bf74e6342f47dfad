//! Regions in files: made whole before they have a name, and opened by any number of processes.
//!
//! Each process that has the file open holds a shared lock on its first byte, which the kernel releases however the process
//! ends. A process that gets an exclusive lock is alone, and only then makes the region's locks anew. Each process also locks a
//! byte of its own. By this byte's number the others know whether the holder of a partition's lock lives.

use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{FileExt, MetadataExt, OpenOptionsExt};
use std::path::Path;

use rapidhash::v3::rapidhash_v3;

use crate::Refused;
use crate::layout::SUPERBLOCK;
use crate::superblock::{READ_WORDS, Superblock, run};

/// The offset of the owners' bytes: behind every region.
const OWNERS: libc::off_t = 1 << 48;

/// The number of draws for an owner's number. Two taken numbers in a row are very unlikely.
const MOST_CLAIMS: u64 = 64;

/// The kind of the requested lock.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Lock {
    Shared,
    Exclusive,
    /// Releases the present lock.
    None,
}

/// An existing file, if there is one, and the description of its region.
///
/// The file is checked before it is opened for writing, because opening alone may do harm. Its owner could write into all
/// memory that this process shares with it.
pub(crate) fn open(path: &Path) -> Result<Option<(File, Superblock)>, Refused> {
    trust_link(path)?;
    let Some(place) =
        found(OpenOptions::new().read(true).custom_flags(libc::O_PATH).open(path), path)?
    else {
        return Ok(None);
    };
    trust(&place, path)?;
    let file = again(place.as_raw_fd());
    let file = File::from(file.map_err(|source| io_error(path, "cannot be opened", source))?);
    described(&file, path).map(|superblock| Some((file, superblock)))
}

/// The same, for reading only.
pub(crate) fn open_to_read(path: &Path) -> Result<Option<(File, Superblock)>, Refused> {
    // If this is the name of a pipe, the opening must not wait for a writer.
    let opened = OpenOptions::new().read(true).custom_flags(libc::O_NONBLOCK).open(path);
    let Some(file) = found(opened, path)? else { return Ok(None) };
    described(&file, path).map(|superblock| Some((file, superblock)))
}

fn found(opened: io::Result<File>, path: &Path) -> Result<Option<File>, Refused> {
    match opened {
        Ok(file) => Ok(Some(file)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(source) => Err(io_error(path, "cannot be opened", source)),
    }
}

/// Refuses a file of a user whom this process has no reason to trust, and a file that other users may write. A file
/// without a name came from a process that has it open.
fn trust(file: &File, path: &Path) -> Result<(), Refused> {
    let found = file.metadata().map_err(|source| io_error(path, "cannot be looked at", source))?;
    if !found.is_file() {
        return Err(Refused::Foreign);
    }
    let (owner, own) = (found.uid(), user());
    let path = || path.to_owned();
    if owner != own && owner != 0 {
        return Err(Refused::Owner { path: path(), owner, own });
    }
    let mode = found.mode() & 0o777;
    if mode & 0o022 != 0 && found.nlink() > 0 {
        return Err(Refused::Mode { path: path(), mode });
    }
    Ok(())
}

/// Refuses a link that another user has put into a folder which others may write, because it leads wherever that
/// user likes.
fn trust_link(path: &Path) -> Result<(), Refused> {
    let Ok(link) = std::fs::symlink_metadata(path) else { return Ok(()) };
    let folder = path.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let is_others = std::fs::metadata(folder).is_ok_and(|folder| folder.mode() & 0o022 != 0);
    let (owner, own) = (link.uid(), user());
    if link.is_symlink() && is_others && owner != own && owner != 0 {
        return Err(Refused::Owner { path: path.to_owned(), owner, own });
    }
    Ok(())
}

/// The effective user of this process.
fn user() -> u32 {
    // SAFETY: asks for a number.
    unsafe { libc::geteuid() }
}

/// The header of a file.
pub(crate) fn described(file: &File, path: &Path) -> Result<Superblock, Refused> {
    let len =
        file.metadata().map_err(|source| io_error(path, "cannot be looked at", source))?.len();
    let mut words = [0; READ_WORDS];
    match read(file, 0, &mut words) {
        Ok(()) => {}
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Err(Refused::Foreign),
        Err(source) => return Err(io_error(path, "cannot be read", source)),
    }
    Superblock::read(&words, len)
}

/// Reads words of a file, beginning at `at`.
pub(crate) fn read(file: &File, at: usize, words: &mut [u64]) -> io::Result<()> {
    let mut bytes = vec![0; words.len() * 8];
    file.read_exact_at(&mut bytes, at as u64)?;
    for (word, bytes) in words.iter_mut().zip(bytes.as_chunks::<8>().0) {
        *word = u64::from_ne_bytes(*bytes);
    }
    Ok(())
}

/// A link to nothing is no file, but it occupies the name for a new file.
pub(crate) fn refuse_link(path: &Path) -> Result<(), Refused> {
    let is_link = std::fs::symlink_metadata(path).is_ok_and(|found| found.is_symlink());
    match std::fs::metadata(path) {
        Err(source) if is_link => Err(io_error(
            path,
            "is a link to nothing: remove it, or name the file that it is to lead to",
            source,
        )),
        _ => Ok(()),
    }
}

/// A file without a name, with this many bytes set aside by the file system.
pub(crate) fn unnamed(path: &Path, size: usize) -> Result<File, Refused> {
    let folder = path.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let file = OpenOptions::new()
        .read(true)
        .write(true)
        .custom_flags(libc::O_TMPFILE)
        .mode(0o600)
        .open(folder)
        .map_err(|source| io_error(folder, "takes no new file", source))?;
    set_aside(&file, size)
        .map_err(|source| io_error(path, "has no room on its file system", source))?;
    Ok(file)
}

/// A file in memory, without a file system. No process can make it shorter.
pub(crate) fn in_memory(size: usize) -> Result<File, Refused> {
    let failed = |what| move |source| io_error(Path::new("memory"), what, source);
    let flags = libc::MFD_CLOEXEC | libc::MFD_ALLOW_SEALING;
    // SAFETY: a name that ends with a zero, for people who look at the descriptors of a process.
    let file = unsafe { libc::memfd_create(c"larder".as_ptr(), flags) };
    if file < 0 {
        return Err(failed("takes no new file")(io::Error::last_os_error()));
    }
    // SAFETY: opened above, and nobody else's.
    let file = File::from(unsafe { OwnedFd::from_raw_fd(file) });
    set_aside(&file, size).map_err(failed("has no room"))?;
    let seals = libc::F_SEAL_SHRINK | libc::F_SEAL_GROW | libc::F_SEAL_SEAL;
    // SAFETY: of a file that this process has open.
    match unsafe { libc::fcntl(file.as_raw_fd(), libc::F_ADD_SEALS, seals) } {
        0 => Ok(file),
        _ => Err(failed("cannot be sealed")(io::Error::last_os_error())),
    }
}

/// Fills the holes of a file: a sparse copy may find no room when it is written later. At most `most` bytes are taken, because
/// a file may only pretend to be larger.
pub(crate) fn fill_holes(
    file: &File,
    path: &Path,
    size: usize,
    most: Option<usize>,
) -> Result<(), Refused> {
    let failed = |source| io_error(path, "has no room on its file system", source);
    let there = file.metadata().map_err(failed)?.blocks().saturating_mul(512);
    if there >= size as u64 {
        return Ok(());
    }
    if let Some(most) = most.filter(|most| size > *most) {
        return Err(Refused::Holes { path: path.to_owned(), there, size, most });
    }
    set_aside(file, size).map_err(failed)
}

/// Missing room is reported now, and not by a signal later. A process that signals interrupt again and again sets the file
/// aside in smaller pieces.
fn set_aside(file: &File, size: usize) -> io::Result<()> {
    let offset = |at: usize| libc::off_t::try_from(at).unwrap_or(libc::off_t::MAX);
    let (mut at, mut piece) = (0, size);
    while at < size {
        let len = piece.min(size - at);
        // SAFETY: of a file that this process has open.
        match unsafe { libc::posix_fallocate(file.as_raw_fd(), offset(at), offset(len)) } {
            0 => at += len,
            libc::EINTR => piece = (len / 2).max(SUPERBLOCK),
            error => return Err(io::Error::from_raw_os_error(error)),
        }
    }
    Ok(())
}

/// Another descriptor of a file, which shares no lock with the first descriptor. Allocates nothing.
pub(crate) fn again(file: RawFd) -> io::Result<OwnedFd> {
    let mut path = [0; 32];
    // The zeros behind the text end it.
    write!(&mut path[..31], "/proc/self/fd/{file}")?;
    // SAFETY: a string that ends with a zero.
    let again = unsafe { libc::open(path.as_ptr().cast(), libc::O_RDWR | libc::O_CLOEXEC) };
    if again < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: opened above, and nobody else's.
    Ok(unsafe { OwnedFd::from_raw_fd(again) })
}

/// Gives a file its name; `false` where another file has the name already.
pub(crate) fn name(file: &File, path: &Path) -> Result<bool, Refused> {
    let from = format!("/proc/self/fd/{}\0", file.as_raw_fd());
    let mut to = path.as_os_str().as_bytes().to_vec();
    to.push(0);
    // SAFETY: both are strings that end with a zero.
    let answer = unsafe {
        libc::linkat(
            libc::AT_FDCWD,
            from.as_ptr().cast(),
            libc::AT_FDCWD,
            to.as_ptr().cast(),
            libc::AT_SYMLINK_FOLLOW,
        )
    };
    if answer == 0 {
        return Ok(true);
    }
    match io::Error::last_os_error() {
        error if error.kind() == io::ErrorKind::AlreadyExists => Ok(false),
        source => Err(io_error(path, "cannot be named", source)),
    }
}

/// Takes a lock on the first byte, in place of this process's present lock. `false` where another process's lock is in
/// the way; this function does not wait for it.
pub(crate) fn lock(file: &impl AsRawFd, kind: Lock) -> io::Result<bool> {
    let of = first_byte(match kind {
        Lock::Shared => libc::F_RDLCK,
        Lock::Exclusive => libc::F_WRLCK,
        Lock::None => libc::F_UNLCK,
    });
    set_lock(file, &of)
}

fn set_lock(file: &impl AsRawFd, of: &libc::flock) -> io::Result<bool> {
    loop {
        // SAFETY: of a file that this process has open, with a lock that is read only.
        if unsafe { libc::fcntl(file.as_raw_fd(), libc::F_OFD_SETLK, &raw const *of) } == 0 {
            return Ok(true);
        }
        match io::Error::last_os_error() {
            error if error.kind() == io::ErrorKind::Interrupted => {}
            error if matches!(error.raw_os_error(), Some(libc::EAGAIN | libc::EACCES)) => {
                return Ok(false);
            }
            error => return Err(error),
        }
    }
}

/// Locks a byte that no other open region has locked, far behind the file's end. The byte's number is the owner in the
/// region's locks. Allocates nothing.
pub(crate) fn claim(file: &impl AsRawFd) -> io::Result<u32> {
    for attempt in 0..MOST_CLAIMS {
        let number = any_number(attempt);
        if set_lock(file, &owner_byte(number, libc::F_WRLCK))? {
            return Ok(number);
        }
    }
    Err(io::ErrorKind::AddrInUse.into())
}

/// Whether an open region has this number; `None` where the file system does not tell. The file's own number is not
/// asked for.
pub(crate) fn is_claimed(file: &File, number: u32) -> Option<bool> {
    is_locked(file, owner_byte(number, libc::F_WRLCK))
}

/// A random number that is never 0. It must be new, because the locks of an earlier owner with this number would count
/// as held by the new one.
fn any_number(attempt: u64) -> u32 {
    let mut now = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: writes a time to a place for one, and asks for a number.
    let process = unsafe {
        libc::clock_gettime(libc::CLOCK_MONOTONIC, &raw mut now);
        libc::getpid()
    };
    let words = [now.tv_sec.unsigned_abs(), now.tv_nsec.unsigned_abs(), attempt];
    let mix =
        |sum: u64, word: u64| (sum ^ word).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(29);
    let mixed = words.into_iter().fold(u64::from(process.unsigned_abs()), mix);
    u32::try_from(mixed >> 32).unwrap_or(1).max(1)
}

/// Whether any process has the region of a file open; `None` where the file system does not tell. Takes no
/// lock.
pub(crate) fn is_held(file: &File) -> Option<bool> {
    is_locked(file, first_byte(libc::F_WRLCK))
}

/// Whether another process's lock conflicts with this lock.
fn is_locked(file: &File, mut of: libc::flock) -> Option<bool> {
    // SAFETY: of a file that this process has open, with a lock that is written to.
    let answer = unsafe { libc::fcntl(file.as_raw_fd(), libc::F_OFD_GETLK, &raw mut of) };
    (answer == 0).then(|| i32::from(of.l_type) != libc::F_UNLCK)
}

/// A lock on the first byte.
fn first_byte(kind: i32) -> libc::flock {
    // SAFETY: all zeros are a lock; the fields that matter are set below.
    let mut of: libc::flock = unsafe { std::mem::zeroed() };
    of.l_type = i16::try_from(kind).unwrap_or_default();
    of.l_whence = i16::try_from(libc::SEEK_SET).unwrap_or_default();
    of.l_len = 1;
    of
}

/// A lock on the byte of an owner's number. Locks may lie where the file has no bytes.
fn owner_byte(number: u32, kind: i32) -> libc::flock {
    let mut of = first_byte(kind);
    of.l_start = OWNERS + libc::off_t::from(number);
    of
}

/// The number of the machine's present run, where the system reports it.
pub(crate) fn boot() -> Option<u64> {
    let id = std::fs::read("/proc/sys/kernel/random/boot_id").unwrap_or_default();
    (!id.is_empty()).then(|| run(rapidhash_v3(&id)))
}

pub(crate) fn io_error(path: &Path, what: &'static str, source: io::Error) -> Refused {
    Refused::Io { path: path.to_owned(), what, source }
}
