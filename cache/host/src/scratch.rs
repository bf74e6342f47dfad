//! Directories that vanish with the process.

use std::hash::{BuildHasher, RandomState};
use std::io;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

use larder_store::{Error, Process, Result};

use crate::watchdog;

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
