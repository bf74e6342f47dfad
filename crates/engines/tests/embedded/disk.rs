//! Places for files: directories that vanish, and disks that are soon full.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;
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
        // A test that could not tidy up has not failed.
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// A small tmpfs, unmounted with its owner.
pub(crate) struct SmallDisk(TestDir);

impl SmallDisk {
    /// `None`, said aloud, when this user may not mount.
    pub(crate) fn mount(size: &str) -> Option<Self> {
        // SAFETY: it takes nothing and cannot fail.
        if unsafe { libc::geteuid() } != 0 {
            let reason = "skipped: only root can mount the small disk that this test fills\n";
            std::io::stderr().write_all(reason.as_bytes()).unwrap();
            return None;
        }
        let directory = TestDir::create();
        let options = format!("size={size}");
        run("mount", &["-t", "tmpfs", "-o", &options, "tmpfs"], directory.path());
        Some(Self(directory))
    }

    pub(crate) fn path(&self) -> &Path {
        self.0.path()
    }

    pub(crate) fn grow(&self, size: &str) {
        run("mount", &["-o", &format!("remount,size={size}")], self.path());
    }

    pub(crate) fn make_read_only(&self) {
        run("mount", &["-o", "remount,ro"], self.path());
    }

    /// Takes all room that is left.
    pub(crate) fn fill(&self) {
        let mut file = std::fs::File::create(self.path().join("filling")).unwrap();
        while file.write_all(&[1; 4096]).is_ok() {}
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        run("umount", &["--lazy"], self.path());
    }
}

fn run(program: &str, arguments: &[&str], path: &Path) {
    let status = Command::new(program).args(arguments).arg(path).status().unwrap();
    assert!(status.success(), "{program} {arguments:?} {}", path.display());
}
