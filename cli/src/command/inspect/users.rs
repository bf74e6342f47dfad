//! The processes that have a file open, and those that hold its locks.

use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use larder_segment::Survey;
use serde::Serialize;

/// The processes that have a file open, as far as this user may look.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Users {
    pub(super) processes: Vec<User>,
    /// Whether this user may look into every process.
    pub(super) is_all: bool,
}

/// The thread that holds the lock of a partition.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Holder {
    pub(super) partition: usize,
    pub(super) thread: u32,
    /// Its name; `None` where this machine shows no such thread.
    pub(super) name: Option<String>,
    pub(super) is_stopped: bool,
}

impl Holder {
    /// The holders of a region's locks, in the order of its partitions.
    pub(super) fn all(survey: &Survey) -> Vec<Self> {
        let partitions = survey.partitions.iter().enumerate();
        let held = partitions.filter_map(|(partition, it)| it.holder.map(|it| (partition, it)));
        held.map(|(partition, thread)| Self::of(partition, thread)).collect()
    }

    fn of(partition: usize, thread: u32) -> Self {
        let folder = format!("/proc/{thread}");
        let status = fs::read(format!("{folder}/status")).unwrap_or_default();
        let status = String::from_utf8_lossy(&status);
        let state = status.lines().find_map(|line| line.strip_prefix("State:"));
        let is_stopped = state.is_some_and(|state| state.trim().starts_with(['T', 't']));
        let name = state.map(|_| name(Path::new(&folder)));
        Self { partition, thread, name, is_stopped }
    }
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
                // The process has ended meanwhile.
                Ok(false) | Err(_) => {}
            }
        }
        users.processes.sort_by_key(|user| user.pid);
        users
    }
}

/// Whether a process has a file open, given by device and inode.
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
