//! The resources of a target besides time: CPU of its servers, memory, bytes on disk, page faults.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
#[cfg(target_env = "gnu")]
use std::sync::OnceLock;

use super::{Process, Table, kib, resident, shared_bytes_of};
use crate::measure::{Scheduled, cpu_ns_of};

/// The name that a relay gives its process (`cache/host/src/relay/process.rs`).
const RELAY: &str = "larder-relay";

/// The resources of servers and of all processes that descend from them.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Servers {
    /// CPU time, in nanoseconds. The time of a descendant that ended is lost. A server that forks for each connection
    /// keeps the process while the connection is open.
    pub(crate) cpu_ns: u64,
    /// Resident memory, in bytes; shared memory counts once.
    pub(crate) rss_bytes: u64,
    /// The time for which the servers, and the relays of this process before them, were ready to run and waited for a
    /// processor, in nanoseconds. `None` where the kernel does not tell. An idle relay does not wait.
    pub(crate) waited_ns: Option<u64>,
}

impl Servers {
    /// Reads the servers; `None` when not one of these processes runs.
    pub(crate) fn read(pids: &[u32]) -> Option<Self> {
        if pids.is_empty() {
            return None;
        }
        let table = Table::read();
        let cpu_ns = cpu_ns(&table, pids)?;
        let tree = table.tree(pids);
        let shared = |pid: u32| shared_bytes_of(&pid.to_string());
        Some(Self {
            cpu_ns,
            rss_bytes: resident(
                tree.iter().map(|process| (process.rss_bytes, shared(process.pid))),
            ),
            waited_ns: {
                let pids = tree.iter().map(|process| process.pid).chain(relays(&table));
                pids.filter_map(Scheduled::of).map(|server| server.waited_ns).reduce(|a, b| a + b)
            },
        })
    }
}

/// CPU time of these processes and all their descendants, in nanoseconds; `None` when not one of them runs.
pub(crate) fn cpu_ns(table: &Table, pids: &[u32]) -> Option<u64> {
    let tree = table.tree(pids);
    (!tree.is_empty()).then(|| tree.iter().filter_map(|process| cpu_ns_of(process.pid)).sum())
}

/// The relays of this process: its children that run the same program under a relay's name. Without that name, such a
/// child is a `larder serve`, which is a server.
fn relays(table: &Table) -> impl Iterator<Item = u32> {
    let own = std::process::id();
    let program = |pid: u32| fs::read_link(format!("/proc/{pid}/exe")).ok();
    let is_relay = move |process: &&Process| process.parent == own && process.name == RELAY;
    let children = table.iter().filter(is_relay);
    let is_ours = program(own);
    children.map(|child| child.pid).filter(move |child| program(*child) == is_ours)
}

/// Resident memory of this process, in bytes.
pub(crate) fn own_rss_bytes() -> Option<u64> {
    Process::read(std::process::id()).map(|process| process.rss_bytes)
}

/// Memory that this process has in use, in bytes: its allocations, and with `files` also its mapped files and shared
/// memory.
///
/// Resident memory would also count memory that is no longer in use: a thread's stack, and freed memory that the
/// allocator keeps. The allocator keeps up to a megabyte for each of its arenas, of no thread in particular. Where the
/// allocator does not tell, the result is resident memory.
pub(crate) fn own_memory(files: bool) -> Option<u64> {
    let Some(allocated) = allocated_bytes() else {
        return own_rss_bytes();
    };
    if !files {
        return Some(allocated);
    }
    let status = fs::read_to_string("/proc/self/status").ok()?;
    let mapped: u64 = ["RssFile:", "RssShmem:"].iter().filter_map(|name| kib(&status, name)).sum();
    Some(allocated + mapped)
}

/// The bytes that this process has allocated and not freed. glibc reports them from 2.33 on.
#[cfg(target_env = "gnu")]
fn allocated_bytes() -> Option<u64> {
    type Question = unsafe extern "C" fn() -> libc::mallinfo2;
    static QUESTION: OnceLock<Option<Question>> = OnceLock::new();
    let question = (*QUESTION.get_or_init(|| {
        // SAFETY: the name ends with a NUL.
        let found = unsafe { libc::dlsym(libc::RTLD_DEFAULT, c"mallinfo2".as_ptr()) };
        // SAFETY: a function of this name has this type.
        (!found.is_null())
            .then(|| unsafe { std::mem::transmute::<*mut libc::c_void, Question>(found) })
    }))?;
    // SAFETY: mallinfo2 takes nothing and may be called at any time.
    let told = unsafe { question() };
    u64::try_from(told.uordblks.checked_add(told.hblkhd)?).ok()
}

#[cfg(not(target_env = "gnu"))]
fn allocated_bytes() -> Option<u64> {
    None
}

/// Hands freed memory back to the system, so that the next reading shows only memory in use.
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

/// Major page faults so far of another process, and of its children that it has waited for; `None` when it is gone.
pub(crate) fn major_faults_of(pid: u32) -> Option<u64> {
    Process::read(pid).map(|process| process.spent().major_faults)
}

/// Bytes that these files and folders take on disk, as blocks; `None` without a path.
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

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;

    #[test]
    fn a_missing_process_is_unknown() {
        let mut child = Command::new("sleep").arg("5").spawn().unwrap();
        let own = Servers::read(&[std::process::id()]).unwrap();
        assert!(own.cpu_ns > 0 && own.rss_bytes > 0, "{own:?}");
        assert_eq!(major_faults_of(std::process::id()).map(|_| ()), Some(()));
        child.kill().unwrap();
        child.wait().unwrap();
        assert!(Servers::read(&[child.id()]).is_none() && Servers::read(&[]).is_none());
    }

    #[test]
    #[cfg(target_env = "gnu")]
    fn memory_counts_allocated_blocks_and_not_freed_blocks() {
        const LARGE: usize = 64 << 20;
        let before = own_memory(false).unwrap();
        // Small blocks come out of the allocator's own memory, which the allocator keeps.
        let some: Vec<Vec<u8>> = (0..LARGE / 4096).map(|_| vec![1; 4096]).collect();
        let full = own_memory(false).unwrap();
        drop(some);
        let freed = own_memory(false).unwrap();
        // Other tests take memory, too.
        let (large, half) = (LARGE as u64, LARGE as u64 / 2);
        assert!(full >= before + half && full <= before + 2 * large, "{before} {full}");
        assert!(freed <= full - half, "{full} {freed}");
        assert!(own_memory(true).is_some(), "with files");
    }

    #[test]
    fn disk_bytes_count_every_file_below_a_folder() {
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
