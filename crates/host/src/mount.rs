//! File systems in memory that are mounted for a store and vanish with it.
//!
//! The kernel lets root mount, and whoever is root in a user namespace of his own. A capability without being root is not
//! enough here: the watchdog unmounts by `umount`, which asks for root, and nothing may be mounted that could be left.

use std::ffi::{CString, c_ulong};
use std::fs::OpenOptions;
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::thread::sleep;
use std::time::Duration;

use larder_store::{Error, Mount, Result};

use crate::disk;
use crate::managed::watchdog;
use crate::scratch;

/// Nothing in it is run, and nothing in it has rights of its own.
const FLAGS: c_ulong = libc::MS_NOSUID | libc::MS_NODEV | libc::MS_NOEXEC;
/// How often unmounting is tried until it is left to the kernel, and how long it is waited in between: a program that was
/// told to end may still have a file open.
const TRIES: u32 = 20;
const PAUSE: Duration = Duration::from_millis(10);

/// A file system on a private directory, unmounted and removed when it is dropped, and by a watchdog when this process ends
/// before that.
#[derive(Debug)]
pub struct Mounted {
    path: PathBuf,
    what: Mount,
    /// Otherwise only its directory was made.
    is_there: bool,
    limit_bytes: Option<u64>,
}

impl Mounted {
    /// Mounts it on a new directory under `parent` that only this user may read.
    pub fn create_in(engine: &'static str, parent: &Path, what: Mount) -> Result<Self> {
        // SAFETY: geteuid has no arguments and touches no memory.
        if unsafe { libc::geteuid() } != 0 {
            return Err(refusal(engine, what));
        }
        let path = scratch::make(engine, parent, watchdog::watch_mount, watchdog::forget_mount)?;
        // From here on, whatever happens, dropping it tidies up.
        let mut mounted = Self { path, what, is_there: false, limit_bytes: None };
        mount(&mounted.path, what).map_err(|source| {
            if let Some(libc::EPERM | libc::EACCES) = source.raw_os_error() {
                return refusal(engine, what);
            }
            let what = format!("mounting {} on {}", what.kind(), mounted.path.display());
            Error::Io { engine, what, source }
        })?;
        mounted.is_there = true;
        let system = disk::file_system(&mounted.path)
            .map_err(|error| disk::io_error(engine, "looking at", &mounted.path, error))?;
        mounted.limit_bytes = system.size_bytes;
        Ok(mounted)
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The kind of file system.
    pub fn what(&self) -> Mount {
        self.what
    }

    /// How much it holds, as the system says; `None` where it has no limit.
    pub fn limit_bytes(&self) -> Option<u64> {
        self.limit_bytes
    }
}

impl Drop for Mounted {
    fn drop(&mut self) {
        // Nobody is left to tell of a failure; the watchdog tries again when the process ends. A directory that is not
        // empty is not what was made here, and stays.
        let unmounted = if self.is_there { unmount(&self.path) } else { Ok(()) };
        let removed = unmounted.and_then(|()| std::fs::remove_dir(&self.path));
        if removed.is_ok() {
            let _ = watchdog::forget_mount(&self.path);
        }
    }
}

/// Mounts a file system on a directory of this user's. The size of a ramfs is handed on like any other: that it is ignored
/// is the kernel's.
fn mount(path: &Path, what: Mount) -> io::Result<()> {
    // Where others may write in its parent, there may be something else of this name by now: what was looked at is what is
    // mounted on.
    let flags = libc::O_DIRECTORY | libc::O_NOFOLLOW;
    let directory = OpenOptions::new().read(true).custom_flags(flags).open(path)?;
    // SAFETY: geteuid has no arguments and touches no memory.
    if directory.metadata()?.uid() != unsafe { libc::geteuid() } {
        return Err(io::Error::other("it is not the directory that was made there"));
    }
    let kind = CString::new(what.kind())?;
    let path = CString::new(format!("/proc/self/fd/{}", directory.as_raw_fd()))?;
    let size = what.asked().map(|size| format!(",size={}", size.0)).unwrap_or_default();
    let options = CString::new(format!("mode=0700{size}"))?;
    // SAFETY: all four are NUL-terminated and outlive the call, which keeps none of them.
    let mounted = unsafe {
        libc::mount(kind.as_ptr(), path.as_ptr(), kind.as_ptr(), FLAGS, options.as_ptr().cast())
    };
    if mounted == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// Unmounts what is on a directory.
fn unmount(path: &Path) -> io::Result<()> {
    let name = CString::new(path.as_os_str().as_bytes())?;
    let unmount = |flags| {
        // SAFETY: `name` is NUL-terminated and outlives the call.
        let gone = unsafe { libc::umount2(name.as_ptr(), flags | libc::UMOUNT_NOFOLLOW) } == 0;
        if gone { Ok(()) } else { Err(io::Error::last_os_error()) }
    };
    for _ in 0..TRIES {
        match unmount(0) {
            Err(error) if error.raw_os_error() == Some(libc::EBUSY) => sleep(PAUSE),
            done => return done,
        }
    }
    // It is out of sight at once, and gone when the last file in it is closed.
    unmount(libc::MNT_DETACH)
}

/// The advice for a user who may not mount.
fn refusal(engine: &'static str, what: Mount) -> Error {
    let kind = what.kind();
    let shared = Path::new("/dev/shm");
    let has_one = disk::file_system(shared).is_ok_and(|system| system.kind == kind);
    let name_one = if has_one {
        format!("name a folder that lies on one: {engine}:{}, ", shared.display())
    } else {
        String::new()
    };
    let size = match what {
        Mount::Tmpfs(Some(size)) => format!("size={},", size.typed()),
        _ => String::new(),
    };
    Error::Unavailable {
        engine,
        what: format!(
            "mounting {kind} needs root: run as root, {name_one}or have an administrator mount one and name it: sudo mount \
             -t {kind} -o {size}mode=1777 {kind} /mnt/cache"
        ),
        source: None,
    }
}
