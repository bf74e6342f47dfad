//! What a target takes besides time: CPU of its servers, memory, bytes on disk, page faults.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use super::clock::cpu_ns_of;

/// CPU time of these processes and all that descend from them, in nanoseconds; `None` without any process.
///
/// A descendant that ended in between takes its time with it: servers that fork for each connection keep theirs open.
pub(crate) fn server_cpu_ns(pids: &[u32]) -> Option<u64> {
    let tree = process_tree(pids);
    (!tree.is_empty()).then(|| tree.iter().filter_map(|pid| cpu_ns_of(*pid)).sum())
}

/// Resident memory of these processes and all that descend from them, in bytes.
pub(crate) fn server_rss_bytes(pids: &[u32]) -> Option<u64> {
    let tree = process_tree(pids);
    (!tree.is_empty()).then(|| tree.iter().filter_map(|pid| rss_bytes_of(&pid.to_string())).sum())
}

/// Resident memory of this process, in bytes.
pub(crate) fn own_rss_bytes() -> Option<u64> {
    rss_bytes_of("self")
}

/// Hands freed memory back to the system, so that the next reading shows what is in use.
pub(crate) fn trim_memory() {
    #[cfg(target_env = "gnu")]
    // SAFETY: malloc_trim takes no pointer and may be called at any time.
    unsafe {
        libc::malloc_trim(0);
    }
}

/// Major page faults of this process so far.
pub(crate) fn major_faults() -> u64 {
    // SAFETY: a zeroed rusage is valid, and getrusage writes exactly one.
    let usage = unsafe {
        let mut usage: libc::rusage = std::mem::zeroed();
        libc::getrusage(libc::RUSAGE_SELF, &raw mut usage);
        usage
    };
    usage.ru_majflt.cast_unsigned()
}

/// Major page faults so far of another process and of those of its children that it has waited for; `None` when it is gone.
pub(crate) fn major_faults_of(pid: u32) -> Option<u64> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    let mut fields = stat.rsplit_once(") ")?.1.split(' ').skip(9);
    let own: u64 = fields.next()?.parse().ok()?;
    let of_children: u64 = fields.next()?.parse().ok()?;
    Some(own + of_children)
}

/// Bytes that these files and folders take on disk, as blocks; `None` without any.
pub(crate) fn disk_bytes(paths: &[PathBuf]) -> Option<u64> {
    (!paths.is_empty()).then(|| paths.iter().map(|path| blocks_under(path)).sum())
}

fn blocks_under(path: &Path) -> u64 {
    let Ok(metadata) = fs::symlink_metadata(path) else { return 0 };
    let own = metadata.blocks() * 512;
    if !metadata.is_dir() {
        return own;
    }
    let inside = fs::read_dir(path).into_iter().flatten().flatten();
    own + inside.map(|entry| blocks_under(&entry.path())).sum::<u64>()
}

fn rss_bytes_of(process: &str) -> Option<u64> {
    let statm = fs::read_to_string(format!("/proc/{process}/statm")).ok()?;
    let pages: u64 = statm.split_ascii_whitespace().nth(1)?.parse().ok()?;
    Some(pages * page_size())
}

fn page_size() -> u64 {
    // SAFETY: sysconf takes a number and returns one.
    unsafe { libc::sysconf(libc::_SC_PAGESIZE) }.try_into().unwrap_or(4096)
}

/// These processes, as far as they run, and all that descend from them.
fn process_tree(roots: &[u32]) -> Vec<u32> {
    let mut tree: Vec<u32> =
        roots.iter().copied().filter(|pid| Path::new(&format!("/proc/{pid}")).exists()).collect();
    if tree.is_empty() {
        return tree;
    }
    let parents: Vec<(u32, u32)> = fs::read_dir("/proc")
        .into_iter()
        .flatten()
        .flatten()
        .filter_map(|entry| entry.file_name().to_str()?.parse().ok())
        .filter_map(|pid: u32| Some((pid, parent_of(pid)?)))
        .collect();
    let mut at = 0;
    while at < tree.len() {
        let parent = tree[at];
        tree.extend(parents.iter().filter(|(_, of)| *of == parent).map(|(pid, _)| *pid));
        at += 1;
    }
    tree.sort_unstable();
    tree.dedup();
    tree
}

/// The parent of a process. The name in parentheses may hold anything, so the fields are read behind it.
fn parent_of(pid: u32) -> Option<u32> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    stat.rsplit_once(") ")?.1.split(' ').nth(1)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;

    #[test]
    fn a_child_is_in_the_tree_and_a_missing_process_is_unknown() {
        let mut child = Command::new("sleep").arg("5").spawn().unwrap();
        let tree = process_tree(&[std::process::id()]);
        assert!(tree.contains(&child.id()), "{tree:?}");
        assert!(server_cpu_ns(&[std::process::id()]) > Some(0));
        assert!(server_rss_bytes(&[std::process::id()]) > Some(0));
        assert_eq!(major_faults_of(std::process::id()).map(|_| ()), Some(()));
        child.kill().unwrap();
        child.wait().unwrap();
        assert_eq!(server_cpu_ns(&[child.id()]), None);
        assert_eq!(server_rss_bytes(&[]), None);
    }

    #[test]
    fn disk_bytes_count_what_lies_below() {
        let folder = std::env::temp_dir().join(format!("larder-disk-{}", std::process::id()));
        fs::create_dir_all(folder.join("a/b")).unwrap();
        let empty = disk_bytes(std::slice::from_ref(&folder)).unwrap();
        fs::write(folder.join("a/b/c"), vec![1; 100_000]).unwrap();
        let full = disk_bytes(std::slice::from_ref(&folder)).unwrap();
        fs::remove_dir_all(&folder).unwrap();
        assert!(full >= empty + 100_000, "{empty} {full}");
        assert_eq!(disk_bytes(&[]), None);
    }
}
