//! Processes, as `/proc` shows them.
//!
//! One small file, `stat`, has most of the figures and is read for every process of the machine. The other files are
//! read for our own processes only. Each figure stands for itself. Where a figure cannot be read, because the process
//! belongs to another user or the kernel does not tell, the others are still known.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File};
use std::io::Read;
use std::sync::OnceLock;
use std::time::Instant;

/// The flag of a thread of the kernel's own, by `linux/sched.h`.
const PF_KTHREAD: u64 = 0x0020_0000;

/// The use of processors and memory, as `stat` counts it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Spent {
    pub(crate) user_ticks: u64,
    pub(crate) system_ticks: u64,
    pub(crate) minor_faults: u64,
    pub(crate) major_faults: u64,
}

impl Spent {
    pub(crate) fn plus(self, other: Self) -> Self {
        Self {
            user_ticks: self.user_ticks + other.user_ticks,
            system_ticks: self.system_ticks + other.system_ticks,
            minor_faults: self.minor_faults + other.minor_faults,
            major_faults: self.major_faults + other.major_faults,
        }
    }

    /// The difference of each figure; zero where the other has more.
    pub(crate) fn minus(self, other: Self) -> Self {
        Self {
            user_ticks: self.user_ticks.saturating_sub(other.user_ticks),
            system_ticks: self.system_ticks.saturating_sub(other.system_ticks),
            minor_faults: self.minor_faults.saturating_sub(other.minor_faults),
            major_faults: self.major_faults.saturating_sub(other.major_faults),
        }
    }

    pub(crate) fn cpu_s(self) -> f64 {
        ticks_s(self.user_ticks + self.system_ticks)
    }
}

/// A process at one moment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Process {
    pub(crate) pid: u32,
    pub(crate) parent: u32,
    /// When the process was started, in ticks since the machine's start: no other process has had this number and the
    /// pid.
    pub(crate) started: u64,
    pub(crate) name: String,
    pub(crate) is_kernels: bool,
    /// Its own use.
    pub(crate) own: Spent,
    /// The use of its children that it has waited for.
    pub(crate) reaped: Spent,
    pub(crate) rss_bytes: u64,
}

impl Process {
    /// Reads a process; `None` when it is gone.
    pub(crate) fn read(pid: u32) -> Option<Self> {
        let mut text = Vec::with_capacity(512);
        File::open(format!("/proc/{pid}/stat")).ok()?.read_to_end(&mut text).ok()?;
        Self::parse(pid, &String::from_utf8_lossy(&text))
    }

    /// From the text of `stat`. The name in parentheses may hold anything, so the fields are read behind its end.
    fn parse(pid: u32, stat: &str) -> Option<Self> {
        let (head, tail) = stat.rsplit_once(") ")?;
        let fields: Vec<&str> = tail.split_ascii_whitespace().collect();
        // The third field of `proc_pid_stat(5)` is the first here.
        let field = |number: usize| fields.get(number - 3)?.parse::<u64>().ok();
        let spent = |fields: [usize; 4]| {
            let [user_ticks, system_ticks, minor_faults, major_faults] = fields.map(field);
            Some(Spent {
                user_ticks: user_ticks?,
                system_ticks: system_ticks?,
                minor_faults: minor_faults?,
                major_faults: major_faults?,
            })
        };
        Some(Self {
            pid,
            parent: u32::try_from(field(4)?).ok()?,
            started: field(22)?,
            name: head.split_once('(')?.1.to_owned(),
            is_kernels: field(9)? & PF_KTHREAD != 0,
            own: spent([14, 15, 10, 12])?,
            reaped: spent([16, 17, 11, 13])?,
            rss_bytes: field(24)? * page_size(),
        })
    }

    pub(crate) fn spent(&self) -> Spent {
        self.own.plus(self.reaped)
    }
}

/// All processes of the machine at one moment, as far as they can be seen from here.
#[derive(Debug)]
pub(crate) struct Table {
    /// When the reading of the table began.
    pub(super) taken: Instant,
    processes: BTreeMap<u32, Process>,
}

impl Table {
    pub(crate) fn read() -> Self {
        let taken = Instant::now();
        let pids = fs::read_dir("/proc").into_iter().flatten().flatten();
        let pids = pids.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
        let processes = pids.filter_map(|pid| Some((pid, Process::read(pid)?))).collect();
        Self { taken, processes }
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &Process> {
        self.processes.values()
    }

    /// These processes, as far as they run, and all their descendants, each once.
    pub(crate) fn tree(&self, roots: &[u32]) -> Vec<&Process> {
        let mut known: BTreeSet<u32> = BTreeSet::new();
        let mut tree: Vec<&Process> = Vec::new();
        for root in roots {
            tree.extend(self.processes.get(root).filter(|_| known.insert(*root)));
        }
        if tree.is_empty() {
            return tree;
        }
        let mut children: BTreeMap<u32, Vec<&Process>> = BTreeMap::new();
        for process in self.iter() {
            children.entry(process.parent).or_default().push(process);
        }
        let mut at = 0;
        while let Some(parent) = tree.get(at).map(|process| process.pid) {
            let born = children.remove(&parent).unwrap_or_default();
            tree.extend(born.into_iter().filter(|child| known.insert(child.pid)));
            at += 1;
        }
        tree
    }
}

#[cfg(test)]
impl FromIterator<Process> for Table {
    fn from_iter<I: IntoIterator<Item = Process>>(processes: I) -> Self {
        let processes = processes.into_iter().map(|process| (process.pid, process)).collect();
        Self { taken: Instant::now(), processes }
    }
}

/// The facts about a process that stand in further files.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Details {
    pub(crate) shared_bytes: Option<u64>,
    pub(crate) swap_bytes: Option<u64>,
    /// Bytes from and to disks, with the bytes of the children that the process has waited for.
    pub(crate) disk: Option<(u64, u64)>,
    /// Voluntary and involuntary switches of each thread.
    threads: BTreeMap<u32, (u64, u64)>,
    /// Switches of threads that have ended, as they were last seen.
    ended: (u64, u64),
}

impl Details {
    /// Reads the details; `before` holds those of an earlier look at the same process.
    pub(crate) fn read(pid: u32, before: Option<&Self>) -> Self {
        let mut details = Self {
            shared_bytes: shared_bytes_of(&pid.to_string()),
            swap_bytes: None,
            disk: disk_of(&pid.to_string()),
            threads: BTreeMap::new(),
            ended: before.map_or((0, 0), |before| before.ended),
        };
        let threads = fs::read_dir(format!("/proc/{pid}/task")).into_iter().flatten().flatten();
        for thread in threads {
            let thread: Option<u32> = thread.file_name().to_str().and_then(|id| id.parse().ok());
            let Some(thread) = thread else { continue };
            let path = format!("/proc/{pid}/task/{thread}/status");
            let Ok(status) = fs::read_to_string(path) else { continue };
            let switches = number(&status, "voluntary_ctxt_switches:")
                .zip(number(&status, "nonvoluntary_ctxt_switches:"));
            details.threads.extend(switches.map(|switches| (thread, switches)));
            details.swap_bytes = details.swap_bytes.or(kib(&status, "VmSwap:"));
        }
        let known = before.into_iter().flat_map(|before| &before.threads);
        for (_, (voluntary, involuntary)) in
            known.filter(|(thread, _)| !details.threads.contains_key(thread))
        {
            details.ended.0 += voluntary;
            details.ended.1 += involuntary;
        }
        details
    }

    /// Voluntary and involuntary switches of all threads of the process.
    pub(crate) fn switches(&self) -> Option<(u64, u64)> {
        let add = |sum: (u64, u64), one: &(u64, u64)| (sum.0 + one.0, sum.1 + one.1);
        (!self.threads.is_empty()).then(|| self.threads.values().fold(self.ended, add))
    }
}

/// Bytes that a process has resident and shares with others, or with files.
pub(crate) fn shared_bytes_of(process: &str) -> Option<u64> {
    let statm = fs::read_to_string(format!("/proc/{process}/statm")).ok()?;
    let pages: u64 = statm.split_ascii_whitespace().nth(2)?.parse().ok()?;
    Some(pages * page_size())
}

/// Bytes that a process has swapped out.
pub(crate) fn swap_bytes_of(process: &str) -> Option<u64> {
    kib(&fs::read_to_string(format!("/proc/{process}/status")).ok()?, "VmSwap:")
}

/// Bytes that a process has had from and to disks; `None` where the process belongs to another user.
pub(crate) fn disk_of(process: &str) -> Option<(u64, u64)> {
    let io = fs::read_to_string(format!("/proc/{process}/io")).ok()?;
    number(&io, "read_bytes:").zip(number(&io, "write_bytes:"))
}

/// The number behind a name at the beginning of a line.
pub(super) fn number(text: &str, name: &str) -> Option<u64> {
    let line = text.lines().find_map(|line| line.strip_prefix(name))?;
    line.split_ascii_whitespace().next()?.parse().ok()
}

/// The number behind a name, which the text gives in KiB, in bytes.
pub(crate) fn kib(text: &str, name: &str) -> Option<u64> {
    number(text, name).map(|kib| kib * 1024)
}

/// Ticks of the kernel's accounting as seconds.
#[expect(clippy::cast_precision_loss, reason = "a count of hundredths of a second")]
pub(super) fn ticks_s(ticks: u64) -> f64 {
    static PER_SECOND: OnceLock<f64> = OnceLock::new();
    let per_second = PER_SECOND.get_or_init(|| {
        // SAFETY: sysconf takes a number and returns one.
        let ticks = unsafe { libc::sysconf(libc::_SC_CLK_TCK) };
        if ticks > 0 { ticks as f64 } else { 100.0 }
    });
    ticks as f64 / per_second
}

pub(crate) fn page_size() -> u64 {
    static PAGE: OnceLock<u64> = OnceLock::new();
    // SAFETY: sysconf takes a number and returns one.
    *PAGE.get_or_init(|| unsafe { libc::sysconf(libc::_SC_PAGESIZE) }.try_into().unwrap_or(4096))
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;

    #[test]
    fn a_name_may_hold_anything() {
        let stat = "4711 (a) b (c) S 12 1 1 0 -1 4194560 101 102 103 104 11 12 13 14 20 0 3 0 999 4096 25 1";
        let process = Process::parse(4711, stat).unwrap();
        assert_eq!((process.parent, process.started, process.is_kernels), (12, 999, false));
        assert_eq!(process.name, "a) b (c");
        let spent = |user_ticks, system_ticks, minor_faults, major_faults| Spent {
            user_ticks,
            system_ticks,
            minor_faults,
            major_faults,
        };
        assert_eq!(process.own, spent(11, 12, 101, 103));
        assert_eq!(process.reaped, spent(13, 14, 102, 104));
        assert_eq!(process.rss_bytes, 25 * page_size());
    }

    #[test]
    fn a_child_is_in_the_tree_until_it_has_ended() {
        let own = std::process::id();
        let mut child = Command::new("sleep").arg("5").spawn().unwrap();
        let pid = child.id();
        let has_child = |table: &Table| table.tree(&[own]).iter().any(|one| one.pid == pid);
        assert!(has_child(&Table::read()));
        let details = Details::read(child.id(), None);
        assert!(details.switches().is_some() && details.shared_bytes.is_some(), "{details:?}");
        child.kill().unwrap();
        child.wait().unwrap();
        assert!(!has_child(&Table::read()));
        assert_eq!(Process::read(child.id()), None);
    }
}
