//! Directories that vanish.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

/// A directory that vanishes with its owner.
pub(crate) struct TestDir(PathBuf);

impl TestDir {
    pub(crate) fn create() -> Self {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let n = NEXT.fetch_add(1, Ordering::Relaxed);
        let path = std::env::temp_dir().join(format!("larder-test-{}-{n}", std::process::id()));
        std::fs::create_dir(&path).unwrap();
        Self(path)
    }

    pub(crate) fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for TestDir {
    fn drop(&mut self) {
        // A failed cleanup is no failure of the test.
        let _ = std::fs::remove_dir_all(&self.0);
    }
}
