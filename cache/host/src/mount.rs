//! File systems in memory that are mounted for a store and vanish with it.
//!
//! The kernel lets root mount, also root of a user namespace. A capability without root is not enough here: the
//! watchdog unmounts by `umount`, which asks for root, and a mount must never be left behind.

use std::ffi::{CString, c_ulong};
use std::fs::OpenOptions;
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::thread::sleep;
use std::time::Duration;

use larder_store::{Error, Mount, Process, Result};

use crate::disk;
use crate::scratch;
use crate::watchdog;

/// No file in it can be executed or grant privileges.
const FLAGS: c_ulong = libc::MS_NOSUID | libc::MS_NODEV | libc::MS_NOEXEC;
/// The number of attempts to unmount before this is left to the kernel, and the pause in between. An ending program may
/// still have a file open.
const TRIES: u32 = 20;
const PAUSE: Duration = Duration::from_millis(10);

/// A file system on a private directory. Dropping it unmounts and removes it; a watchdog does so when this process ends
/// before that.
#[derive(Debug)]
pub struct Mounted {
    path: PathBuf,
    what: Mount,
    /// Whether it is mounted; otherwise only its directory exists.
    is_there: bool,
    limit_bytes: Option<u64>,
    /// A forked child must not unmount it.
    process: Process,
}

impl Mounted {
    /// Mounts it on a new directory under `parent` that only this user may read.
    pub fn create_in(engine: &'static str, parent: &Path, what: Mount) -> Result<Self> {
        // SAFETY: geteuid has no arguments and touches no memory.
        if unsafe { libc::geteuid() } != 0 {
            return Err(refusal(engine, what));
        }
        let path = scratch::make(engine, parent, watchdog::watch_mount, watchdog::forget_mount)?;
        // From here on, dropping `mounted` cleans up, whatever happens.
        let process = Process::current();
        let mut mounted = Self { path, what, is_there: false, limit_bytes: None, process };
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

    /// Its path.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The kind of file system.
    pub fn what(&self) -> Mount {
        self.what
    }

    /// Its size, as the system reports it; `None` where it has no limit.
    pub fn limit_bytes(&self) -> Option<u64> {
        self.limit_bytes
    }
}

impl Drop for Mounted {
    fn drop(&mut self) {
        if !self.process.is_current() {
            return;
        }
        // No caller is left to report a failure to; the watchdog tries again when the process ends. A directory that is
        // not empty was not made here, and stays.
        let unmounted = if self.is_there { unmount(&self.path) } else { Ok(()) };
        let removed = unmounted.and_then(|()| std::fs::remove_dir(&self.path));
        if removed.is_ok() {
            let _ = watchdog::forget_mount(&self.path);
        }
    }
}

/// Mounts a file system on a directory of this user's. The size of a ramfs is passed on like any other, and the kernel
/// ignores it.
fn mount(path: &Path, what: Mount) -> io::Result<()> {
    // If other users may write to the parent, another file may have taken this name. So the mount goes on the directory
    // that was opened and checked.
    let flags = libc::O_DIRECTORY | libc::O_NOFOLLOW;
    let directory = OpenOptions::new().read(true).custom_flags(flags).open(path)?;
    // SAFETY: geteuid has no arguments and touches no memory.
    if directory.metadata()?.uid() != unsafe { libc::geteuid() } {
        return Err(io::Error::other("this is not the directory that larder made"));
    }
    let kind = CString::new(what.kind())?;
    let path = CString::new(format!("/proc/self/fd/{}", directory.as_raw_fd()))?;
    let size = what.asked().map(|size| format!(",size={}", size.0)).unwrap_or_default();
    let options = CString::new(format!("mode=0700{size}"))?;
    // SAFETY: all four are NUL-terminated and outlive the call, which keeps no pointer to them.
    let mounted = unsafe {
        libc::mount(kind.as_ptr(), path.as_ptr(), kind.as_ptr(), FLAGS, options.as_ptr().cast())
    };
    if mounted == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// Unmounts the file system on a directory.
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
    // The file system vanishes from view at once, and is gone when its last file is closed.
    unmount(libc::MNT_DETACH)
}

/// The advice for a user without the right to mount.
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
