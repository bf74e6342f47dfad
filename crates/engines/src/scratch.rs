//! Directories that vanish with the process.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use larder_store::{Error, Result};

/// A private directory under the system's temporary one, removed with everything in it when it is dropped.
#[derive(Debug)]
pub struct ScratchDir {
    path: PathBuf,
}

impl ScratchDir {
    /// Makes a new directory that only this user may read.
    pub fn create(engine: &'static str) -> Result<Self> {
        use std::os::unix::fs::DirBuilderExt;
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let n = NEXT.fetch_add(1, Ordering::Relaxed);
        let path = std::env::temp_dir().join(format!("larder-{}-{engine}-{n}", std::process::id()));
        std::fs::DirBuilder::new().mode(0o700).create(&path).map_err(|source| Error::Io {
            engine,
            what: format!("creating {}", path.display()),
            source,
        })?;
        Ok(Self { path })
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }
}

impl Drop for ScratchDir {
    fn drop(&mut self) {
        // Nobody is left to tell; the watchdog tries again when the process ends.
        let _ = std::fs::remove_dir_all(&self.path);
    }
}
