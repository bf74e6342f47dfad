//! Directories that vanish with the process.

use std::hash::{BuildHasher, RandomState};
use std::io;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

use larder_store::{Error, Result, StoreUrl};

use crate::managed::watchdog;

/// A private directory under the system's temporary one, removed with everything in it when it is dropped, and
/// by a watchdog when this process ends before that.
#[derive(Debug)]
pub struct ScratchDir {
    path: PathBuf,
}

impl ScratchDir {
    /// Makes a new directory that only this user may read, under the system's temporary one.
    pub fn create(engine: &'static str) -> Result<Self> {
        Self::create_in(engine, &std::env::temp_dir())
    }

    /// Makes a new directory that only this user may read, under `parent`.
    pub fn create_in(engine: &'static str, parent: &Path) -> Result<Self> {
        // Random, because a process id comes again and a killed process may have left its directory behind.
        let random = RandomState::new().hash_one(std::process::id());
        let name = format!("larder-{}-{engine}-{random:016x}", std::process::id());
        let failed = |path: &Path, source: io::Error| {
            let what = format!("creating {}", path.display());
            Error::Io { engine, what, source }
        };
        let path = parent.join(name);
        let path = std::path::absolute(&path).map_err(|source| failed(&path, source))?;
        // Registered first: a directory that is made and not yet registered would outlive a `kill -9`.
        watchdog::watch_directory(&path).map_err(|source| failed(&path, source))?;
        match std::fs::DirBuilder::new().mode(0o700).create(&path) {
            Ok(()) => Ok(Self { path }),
            Err(source) => {
                // What is not ours must stay.
                let _ = watchdog::forget_directory(&path);
                Err(failed(&path, source))
            }
        }
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }
}

/// Where an engine that keeps files keeps them.
#[derive(Debug)]
pub enum Place {
    /// At the path that the URL names; what is there stays when the store is closed.
    Given(PathBuf),
    /// In a directory that vanishes with the store.
    Own(ScratchDir),
}

impl Place {
    /// The place that a URL asks for: its path; without one, or where the URL asks for a store that vanishes, a new
    /// directory under the temporary one, or under the path or the folder it lies in.
    pub fn of(engine: &'static str, url: &StoreUrl) -> Result<Self> {
        if url.path().is_empty() {
            return ScratchDir::create(engine).map(Self::Own);
        }
        let path = Path::new(url.path());
        if !url.is_scratch() {
            return Ok(Self::Given(path.into()));
        }
        let folder = if path.is_dir() { Some(path) } else { path.parent() };
        let folder = folder.filter(|folder| !folder.as_os_str().is_empty());
        let folder = folder.unwrap_or(Path::new("."));
        if !folder.is_dir() {
            let what = format!("there is no folder {}; make it or name another", folder.display());
            return Err(Error::Unavailable { engine, what, source: None });
        }
        ScratchDir::create_in(engine, folder).map(Self::Own)
    }

    /// The path, or the directory that vanishes.
    pub fn path(&self) -> &Path {
        match self {
            Self::Given(path) => path,
            Self::Own(directory) => directory.path(),
        }
    }
}

impl Drop for ScratchDir {
    fn drop(&mut self) {
        // Nobody is left to tell of a failure; the watchdog tries again when the process ends.
        if std::fs::remove_dir_all(&self.path).is_ok() {
            let _ = watchdog::forget_directory(&self.path);
        }
    }
}
