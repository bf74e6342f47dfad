//! The control groups' folders: the group that this process is in, and the groups above it.

use std::fs;
use std::io;
use std::path::{Component, Path, PathBuf};
use std::time::Duration;

/// Version 1 writes the largest number of whole pages where there is no limit; no machine has an eighth of it.
const NO_LIMIT: u64 = 1 << 60;

/// The files by which a group of version 2 may bound its processes.
const LIMITS: [&str; 7] = [
    "memory.max",
    "memory.high",
    "memory.swap.max",
    "cpu.max",
    "cpuset.cpus",
    "io.max",
    "pids.max",
];

/// The two versions, which use different names for the same files.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Version {
    One,
    Two,
}

/// A group for memory or processors: a folder of the kernel's.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Group {
    pub(super) version: Version,
    pub(super) path: PathBuf,
    /// The topmost group that is visible from here.
    top: PathBuf,
}

impl Group {
    /// This process's group for memory; `None` where the system has no such group, or shows none here.
    pub(super) fn own() -> Option<Self> {
        Self::own_for("memory")
    }

    /// The same for another `controller`.
    pub(super) fn own_for(controller: &str) -> Option<Self> {
        let groups = fs::read_to_string("/proc/self/cgroup").ok()?;
        let mounts = fs::read_to_string("/proc/self/mountinfo").ok()?;
        Self::find(controller, &groups, &mounts)
    }

    /// Finds the group from the texts of `/proc/self/cgroup` and `/proc/self/mountinfo`. Lines of the first are
    /// `4:memory:/path`, for version 2 `0::/path`; of the second `35 31 0:32 /root /mount/point options … - cgroup
    /// source options`.
    fn find(controller: &str, groups: &str, mounts: &str) -> Option<Self> {
        let lines = || groups.lines().filter_map(|line| line.split_once(':')?.1.split_once(':'));
        let is_for_it = |list: &str| list.split(',').any(|name| name == controller);
        let (version, path) = match lines().find(|(controllers, _)| is_for_it(controllers)) {
            Some((_, path)) => (Version::One, path),
            None => (Version::Two, lines().find(|(controllers, _)| controllers.is_empty())?.1),
        };
        let mut mounted = mounts.lines().filter_map(|line| {
            let (left, right) = line.split_once(" - ")?;
            let (mut left, mut right) = (left.split(' ').skip(3), right.split(' '));
            let (root, point) = (left.next()?, left.next()?);
            let (kind, options) = (right.next()?, right.nth(1)?);
            let is_it = match version {
                Version::One => kind == "cgroup" && is_for_it(options),
                Version::Two => kind == "cgroup2",
            };
            is_it.then_some((Path::new(root), Path::new(point)))
        });
        // Only a part of the hierarchy may be mounted, as in a container.
        let path = Path::new(path);
        let (below, point) =
            mounted.find_map(|(root, point)| Some((path.strip_prefix(root).ok()?, point)))?;
        if below.components().any(|part| part == Component::ParentDir) {
            return None;
        }
        Some(Self { version, path: point.join(below), top: point.into() })
    }

    #[cfg(test)]
    pub(super) fn in_version_2(path: &Path, top: &Path) -> Self {
        Self { version: Version::Two, path: path.into(), top: top.into() }
    }

    /// This group and the groups above it, the nearest first: the limit of each applies.
    pub(super) fn chain(&self) -> impl Iterator<Item = Self> {
        let above = self.path.ancestors().take_while(|path| path.starts_with(&self.top));
        above.map(|path| Self { path: path.into(), ..self.clone() })
    }

    /// A group below this one, whether it exists or not.
    pub(super) fn below(&self, name: &str) -> Self {
        Self { path: self.path.join(name), ..self.clone() }
    }

    /// The name of one of its files, by version.
    pub(super) fn file(&self, one: &str, two: &str) -> PathBuf {
        self.path.join(match self.version {
            Version::One => one,
            Version::Two => two,
        })
    }

    fn read(&self, one: &str, two: &str) -> Option<String> {
        fs::read_to_string(self.file(one, two)).ok()
    }

    /// Its own memory limit.
    pub(super) fn limit_bytes(&self) -> Option<u64> {
        let limit = self.read("memory.limit_in_bytes", "memory.max")?;
        limit.trim().parse().ok().filter(|limit| *limit < NO_LIMIT)
    }

    /// The free rest of its own limit.
    pub(super) fn free_bytes(&self) -> Option<u64> {
        let used: u64 =
            self.read("memory.usage_in_bytes", "memory.current")?.trim().parse().ok()?;
        let stat = self.read("memory.stat", "memory.stat")?;
        let counted = |one, two| {
            number(&stat, if self.version == Version::One { one } else { two }).unwrap_or(0)
        };
        let cached = counted("total_inactive_file", "inactive_file")
            + counted("total_active_file", "active_file");
        Some(self.limit_bytes()?.saturating_sub(used.saturating_sub(cached)))
    }

    /// The time for which its own quota kept its processes from the processors.
    pub(super) fn throttled(&self) -> Option<Duration> {
        let stat = self.read("cpu.stat", "cpu.stat")?;
        match self.version {
            Version::One => number(&stat, "throttled_time").map(Duration::from_nanos),
            Version::Two => number(&stat, "throttled_usec").map(Duration::from_micros),
        }
    }

    /// The number of its processes that the kernel killed for lack of memory.
    pub(super) fn n_killed(&self) -> Option<u64> {
        number(&self.read("memory.oom_control", "memory.events")?, "oom_kill")
    }

    /// Whether a group below it can have a limit of its own. In version 2 only a group that delegates memory allows
    /// that, and only the root both delegates and has processes.
    pub(super) fn hands_on(&self) -> bool {
        self.version == Version::One
            || fs::read_to_string(self.path.join("cgroup.subtree_control"))
                .is_ok_and(|list| list.split_whitespace().any(|name| name == "memory"))
    }

    /// The file of a limit on its processes, which a process would escape by leaving the group. In version 1 a process
    /// leaves only the memory group, and the limits on memory are in the groups above as well.
    pub(super) fn limiting_file(&self) -> Option<PathBuf> {
        let bounds = |file: &PathBuf| {
            let limit = fs::read_to_string(file).unwrap_or_default();
            // An empty list of devices or processors is all of them.
            !limit.trim().is_empty() && !limit.starts_with("max")
        };
        let files = LIMITS.iter().filter(|_| self.version == Version::Two);
        files.map(|file| self.path.join(file)).find(bounds)
    }

    /// Lifts its limits of memory.
    pub(super) fn lift(&self) -> io::Result<()> {
        let (files, none): (&[_], _) = match self.version {
            Version::One => (&["memory.memsw.limit_in_bytes", "memory.limit_in_bytes"], "-1"),
            Version::Two => (&["memory.swap.max", "memory.max"], "max"),
        };
        let mut files = files.iter().map(|file| self.path.join(file));
        // A kernel without accounting of swap has no such file.
        files.try_for_each(|file| if file.exists() { fs::write(file, none) } else { Ok(()) })
    }

    /// Moves this process, with all its threads, into the group.
    pub(super) fn enter(&self) -> io::Result<()> {
        fs::write(self.path.join("cgroup.procs"), std::process::id().to_string())
    }
}

/// The number behind a name, from lines of names and numbers.
fn number(text: &str, name: &str) -> Option<u64> {
    let mut pairs = text.lines().filter_map(|line| line.split_once(' '));
    pairs.find(|(known, _)| *known == name)?.1.trim().parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    const ONE: &str = "31 23 0:28 / /sys/fs/cgroup rw - tmpfs tmpfs rw\n\
                       33 31 0:30 / /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu\n\
                       35 31 0:32 / /sys/fs/cgroup/memory rw shared:9 - cgroup cgroup rw,memory\n\
                       41 31 0:38 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n";
    const TWO: &str = "30 23 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw,nsdelegate\n";
    const PART: &str =
        "35 31 0:32 /docker/4711 /sys/fs/cgroup/memory ro - cgroup cgroup rw,memory\n";

    #[test]
    fn the_own_group_is_found_in_either_version() {
        let find = |groups: &str, mounts| {
            Group::find("memory", groups, mounts).map(|group| (group.version, group.path))
        };
        let at = |version, path: &str| Some((version, PathBuf::from(path)));
        let one = "9:name=systemd:/\n4:cpuset,memory:/a/b\n0::/\n";
        assert_eq!(find(one, ONE), at(Version::One, "/sys/fs/cgroup/memory/a/b"));
        let two = "0::/user.slice/session-1.scope\n";
        let path = "/sys/fs/cgroup/user.slice/session-1.scope";
        assert_eq!(find(two, TWO), at(Version::Two, path));
        let contained = "4:memory:/docker/4711/x\n";
        assert_eq!(find(contained, PART), at(Version::One, "/sys/fs/cgroup/memory/x"));
        assert_eq!(find("4:memory:/docker/4712\n", PART), None);
        assert_eq!(find("0::/../other\n", TWO), None);
        assert_eq!(find("", TWO), None);
    }

    #[test]
    fn in_version_2_the_nearest_that_hands_memory_on_is_taken() {
        let top = crate::scratch::ScratchDir::create("cgroup").unwrap();
        let user = top.path().join("user.slice");
        let session = user.join("session.scope");
        fs::create_dir_all(&session).unwrap();
        for (folder, file, text) in [
            (top.path(), "cgroup.subtree_control", "cpu memory\n"),
            (&user, "cgroup.subtree_control", "cpu memory pids\n"),
            (&user, "memory.max", "3000000\n"),
            (&user, "memory.current", "1000000\n"),
            (&user, "memory.stat", "anon 1\ninactive_file 200000\nactive_file 100000\n"),
            (&session, "cgroup.subtree_control", "\n"),
            (&session, "memory.max", "max\n"),
            (&session, "memory.current", "500000\n"),
            (&session, "memory.events", "low 0\noom 3\noom_kill 2\n"),
            (&session, "cpu.max", "max 100000\n"),
            (&session, "pids.max", "max\n"),
            (&session, "cpuset.cpus", "\n"),
            (&session, "io.max", ""),
        ] {
            fs::write(folder.join(file), text).unwrap();
        }
        let mounts = format!("30 23 0:26 / {} rw - cgroup2 cgroup2 rw\n", top.path().display());
        let own = Group::find("memory", "0::/user.slice/session.scope\n", &mounts).unwrap();
        assert_eq!(own.chain().find(Group::hands_on).unwrap().path, user);
        let limits: Vec<_> = own.chain().map(|group| group.limit_bytes()).collect();
        assert_eq!(limits, [None, Some(3_000_000), None]);
        assert_eq!(own.chain().find_map(|group| group.free_bytes()), Some(2_300_000));
        assert_eq!((own.n_killed(), own.limiting_file()), (Some(2), None));
        assert_eq!(own.chain().nth(1).unwrap().limiting_file(), Some(user.join("memory.max")));
        for (file, text) in [
            ("pids.max", "100\n"),
            ("io.max", "8:0 rbps=1048576 wbps=max riops=max wiops=max\n"),
            ("cpuset.cpus", "0-1\n"),
            ("memory.swap.max", "0\n"),
        ] {
            fs::write(session.join(file), text).unwrap();
            assert_eq!(own.limiting_file(), Some(session.join(file)));
            fs::remove_file(session.join(file)).unwrap();
        }
    }

    #[test]
    fn time_behind_a_quota_is_told_by_either_version() {
        let top = crate::scratch::ScratchDir::create("cgroup").unwrap();
        fs::create_dir(top.path().join("a")).unwrap();
        let at = top.path().display();
        let one = format!("33 31 0:30 / {at} rw - cgroup cgroup rw,cpu,cpuacct\n");
        let two = format!("30 23 0:26 / {at} rw - cgroup2 cgroup2 rw\n");
        for (groups, mounts, stat) in [
            ("4:cpu,cpuacct:/a\n", one, "nr_periods 9\nnr_throttled 2\nthrottled_time 2500000\n"),
            ("0::/a\n", two, "usage_usec 1\nnr_throttled 2\nthrottled_usec 2500\n"),
        ] {
            let group = Group::find("cpu", groups, &mounts).unwrap();
            fs::write(group.path.join("cpu.stat"), stat).unwrap();
            assert_eq!(group.throttled(), Some(Duration::from_micros(2500)), "{group:?}");
        }
    }

    #[test]
    fn all_groups_above_count_up_to_the_topmost() {
        let group = Group::find("memory", "4:memory:/a/b\n", ONE).unwrap();
        let chain: Vec<PathBuf> = group.chain().map(|group| group.path).collect();
        let top = Path::new("/sys/fs/cgroup/memory");
        assert_eq!(chain, [top.join("a/b"), top.join("a"), top.into()]);
    }
}
