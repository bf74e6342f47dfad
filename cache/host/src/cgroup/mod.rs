//! The memory limit of this process and all its children, by the kernel's control groups; and how long a quota kept
//! them from the processors.
//!
//! [`MemoryLimit`] makes a group and moves this process into it; all processes that it starts later are in it too. The
//! watchdog is started before and stays outside, so that it can remove the group when this process is killed. Both
//! versions of control groups work. In version 1, memory has a hierarchy of its own. In version 2, a group that
//! delegates memory has no processes itself.
//!
//! A limit may also be set from outside, by a service or a container. [`limit_bytes`] and [`free_bytes`] respect both.

mod hierarchy;
mod limit;

use std::time::Duration;

use hierarchy::Group;
pub use limit::MemoryLimit;

/// The lowest memory limit of this process and its children, in bytes; `None` where only the machine bounds it.
pub fn limit_bytes() -> Option<u64> {
    Group::own()?.chain().filter_map(|group| group.limit_bytes()).min()
}

/// The free rest of [`limit_bytes`], in bytes. The page cache of files gives way, and counts as free.
pub fn free_bytes() -> Option<u64> {
    Group::own()?.chain().filter_map(|group| group.free_bytes()).min()
}

/// The time for which a quota kept this process, and its children, from the processors: the quota of its group, or
/// of a group above.
pub fn throttled() -> Option<Duration> {
    Group::own_for("cpu")?.chain().filter_map(|group| group.throttled()).max()
}

/// The number of processes of this process's group that the kernel killed because its memory was
/// full.
pub fn n_killed() -> Option<u64> {
    Group::own()?.n_killed()
}
