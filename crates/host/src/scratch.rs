//! Directories that vanish with the process.

use std::hash::{BuildHasher, RandomState};
use std::io;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

use larder_store::{Error, FileSystem, Mount, Process, Result, StoreUrl};

use crate::disk;
use crate::managed::watchdog;
use crate::mount::Mounted;

/// A private directory under the system's temporary directory. Dropping it removes it with everything in it; a watchdog
/// does so when this process ends before that. In a forked child it stays.
#[derive(Debug)]
pub struct ScratchDir {
    path: PathBuf,
    /// A forked child must not remove it.
    process: Process,
}

impl ScratchDir {
    /// Makes a new directory that only this user may read, under the system's temporary directory.
    pub fn create(engine: &'static str) -> Result<Self> {
        Self::create_in(engine, &std::env::temp_dir())
    }

    /// Makes a new directory that only this user may read, under `parent`.
    pub fn create_in(engine: &'static str, parent: &Path) -> Result<Self> {
        // Registered first: a directory that is made and not yet registered would outlive a `kill -9`.
        let path = make(engine, parent, watchdog::watch_directory, watchdog::forget_directory)?;
        Ok(Self { path, process: Process::current() })
    }

    /// Its path.
    pub fn path(&self) -> &Path {
        &self.path
    }
}

/// Makes a new directory under `parent` that only this user may read, and registers it with `watch` before that.
pub(crate) fn make(
    engine: &'static str,
    parent: &Path,
    watch: impl FnOnce(&Path) -> io::Result<()>,
    forget: impl FnOnce(&Path) -> io::Result<()>,
) -> Result<PathBuf> {
    // Random, because a process id comes again and a killed process may have left its directory behind.
    let random = RandomState::new().hash_one(std::process::id());
    let name = format!("larder-{}-{engine}-{random:016x}", std::process::id());
    let failed = |path: &Path, source: io::Error| {
        let what = format!("creating {}", path.display());
        Error::Io { engine, what, source }
    };
    let path = parent.join(name);
    let path = std::path::absolute(&path).map_err(|source| failed(&path, source))?;
    watch(&path).map_err(|source| failed(&path, source))?;
    match std::fs::DirBuilder::new().mode(0o700).create(&path) {
        Ok(()) => Ok(path),
        Err(source) => {
            // Files of other owners must stay.
            let _ = forget(&path);
            Err(failed(&path, source))
        }
    }
}

/// The place of an engine's files.
#[derive(Debug)]
pub enum Place {
    /// At the path of the URL; the files stay when the store is closed.
    Given(PathBuf),
    /// In a directory that vanishes with the store.
    Own(ScratchDir),
    /// In a file system that is mounted for the store and vanishes with it.
    Mounted(Mounted),
}

impl Place {
    /// The place that a URL asks for: its path. Without a path, or where the URL asks for a store that vanishes, it is
    /// a new directory. That directory is under the temporary one, or under the path or its parent folder.
    pub fn of(engine: &'static str, url: &StoreUrl) -> Result<Self> {
        refuse_host(engine, url)?;
        let path = Path::new(url.path());
        if !url.path().is_empty() && !url.is_scratch() {
            return Ok(Self::Given(path.into()));
        }
        ScratchDir::create_in(engine, &Self::parent(engine, url)?).map(Self::Own)
    }

    /// As [`Place::of`] for an engine with the option `mount`. Where the option is given, a file system is mounted on a
    /// new directory in that place, whatever else the URL asks for.
    pub fn on(engine: &'static str, url: &StoreUrl, mount: Option<Mount>) -> Result<Self> {
        match mount {
            None => Self::of(engine, url),
            Some(mount) => {
                refuse_host(engine, url)?;
                Mounted::create_in(engine, &Self::parent(engine, url)?, mount).map(Self::Mounted)
            }
        }
    }

    /// The parent folder of a directory that vanishes.
    fn parent(engine: &'static str, url: &StoreUrl) -> Result<PathBuf> {
        if url.path().is_empty() {
            return Ok(std::env::temp_dir());
        }
        let path = Path::new(url.path());
        let folder = if path.is_dir() { Some(path) } else { path.parent() };
        let folder = folder.filter(|folder| !folder.as_os_str().is_empty());
        let folder = folder.unwrap_or(Path::new("."));
        if !folder.is_dir() {
            let what = format!("there is no folder {}; make it or name another", folder.display());
            return Err(Error::Unavailable { engine, what, source: None });
        }
        Ok(folder.into())
    }

    /// The path, or the directory that vanishes.
    pub fn path(&self) -> &Path {
        match self {
            Self::Given(path) => path,
            Self::Own(directory) => directory.path(),
            Self::Mounted(mounted) => mounted.path(),
        }
    }

    /// Whether its files stay when the store is closed.
    pub fn is_kept(&self) -> bool {
        matches!(self, Self::Given(_))
    }

    /// The file system of the place, once it exists.
    pub fn file_system(&self) -> Option<FileSystem> {
        let system = disk::file_system(self.path()).ok()?;
        Some(FileSystem { is_own: matches!(self, Self::Mounted(_)), ..system })
    }

    /// The kind of mount that was made for the place.
    pub fn mount(&self) -> Option<Mount> {
        match self {
            Self::Mounted(mounted) => Some(mounted.what()),
            _ => None,
        }
    }

    /// The size of the file system that was mounted for the place; `None` without a mount or without a limit.
    pub fn limit_bytes(&self) -> Option<u64> {
        match self {
            Self::Mounted(mounted) => mounted.limit_bytes(),
            _ => None,
        }
    }
}

impl Drop for ScratchDir {
    fn drop(&mut self) {
        if !self.process.is_current() {
            return;
        }
        // No caller is left to report a failure to; the watchdog tries again when the process ends.
        if std::fs::remove_dir_all(&self.path).is_ok() {
            let _ = watchdog::forget_directory(&self.path);
        }
    }
}

/// Refuses a URL with a host: files have only a path, and an apparent host is a path with a slash too many.
fn refuse_host(engine: &'static str, url: &StoreUrl) -> Result<()> {
    if url.hosts().is_empty() {
        return Ok(());
    }
    let meant = format!("{engine}:/{}{}", url.hosts().join(","), url.path());
    let reason = format!("files have a path and no host; write `{meant}`");
    Err(Error::InvalidUrl { url: url.to_string(), reason })
}
