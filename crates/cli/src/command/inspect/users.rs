//! Who has a file open.

use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use serde::Serialize;

/// The processes that have a file open, as far as this user may look.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Users {
    pub(super) processes: Vec<User>,
    /// Whether there were none that this user may not look into.
    pub(super) is_all: bool,
}

/// A process.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(super) struct User {
    pub(super) pid: u32,
    pub(super) name: String,
}

impl Users {
    pub(super) fn of_file(path: &Path) -> Self {
        let mut users = Self { processes: Vec::new(), is_all: true };
        let (Ok(file), Ok(folders)) = (fs::metadata(path), fs::read_dir("/proc")) else {
            return Self::default();
        };
        for folder in folders.flatten() {
            let pid = folder.file_name().to_str().and_then(|name| name.parse().ok());
            let Some(pid) = pid.filter(|pid| *pid != std::process::id()) else { continue };
            match has_open(&folder.path(), (file.dev(), file.ino())) {
                Ok(true) => users.processes.push(User { pid, name: name(&folder.path()) }),
                Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
                    users.is_all = false;
                }
                // It has ended meanwhile.
                Ok(false) | Err(_) => {}
            }
        }
        users.processes.sort_by_key(|user| user.pid);
        users
    }
}

/// Whether a process has a file open, which its device and number name.
fn has_open(process: &Path, file: (u64, u64)) -> io::Result<bool> {
    let open = fs::read_dir(process.join("fd"))?.flatten();
    let mut open = open.filter_map(|entry| fs::metadata(entry.path()).ok());
    Ok(open.any(|other| (other.dev(), other.ino()) == file))
}

fn name(process: &Path) -> String {
    let name = fs::read(process.join("comm")).unwrap_or_default();
    let name = String::from_utf8_lossy(&name);
    name.trim().chars().map(|c| if larder_report::steers(c) { '?' } else { c }).collect()
}

#[cfg(test)]
mod tests {
    use std::fs::File;
    use std::process::{Command, Stdio};

    use super::*;

    #[test]
    fn a_process_that_has_a_file_open_is_found_and_this_one_is_not() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("file");
        let _own = File::create(&path).unwrap();
        assert_eq!(Users::of_file(&path).processes, []);
        let mut other = Command::new("cat");
        other.stdin(Stdio::piped()).stdout(File::create(&path).unwrap());
        let mut other = other.spawn().unwrap();
        let users = Users::of_file(&path).processes;
        other.kill().unwrap();
        other.wait().unwrap();
        let [user] = &users[..] else { panic!("{users:?}") };
        assert_eq!((user.pid, user.name.as_str()), (other.id(), "cat"));
    }
}
