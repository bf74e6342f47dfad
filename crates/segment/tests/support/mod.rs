//! The shared part of tests with several processes.

/// A folder in memory where there is one.
pub(crate) fn folder() -> tempfile::TempDir {
    let shared = std::path::Path::new("/dev/shm");
    let parent = if shared.is_dir() { shared.into() } else { std::env::temp_dir() };
    tempfile::tempdir_in(parent).expect("a folder")
}
