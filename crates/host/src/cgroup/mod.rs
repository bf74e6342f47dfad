//! How much memory this process and all that it starts may have, by the kernel's control groups; and for how long they were
//! kept from the processors.
//!
//! [`MemoryLimit`] makes a group and moves this process into it; whatever is started from then on is in it too. The watchdog
//! is started before and stays outside, so that it can remove the group when this process is killed. Both versions of
//! control groups work: version 1, where memory has a hierarchy of its own, and version 2, where a group that hands memory
//! on to others has no processes itself.
//!
//! A limit may also be there from outside: a service's, a container's. [`limit_bytes`] and [`free_bytes`] know of both.

mod hierarchy;
mod limit;

use std::time::Duration;

use hierarchy::Group;
pub use limit::MemoryLimit;

/// The least that this process and all that it starts may have, in bytes; `None` where only the machine bounds it.
pub fn limit_bytes() -> Option<u64> {
    Group::own()?.chain().filter_map(|group| group.limit_bytes()).min()
}

/// How much of [`limit_bytes`] is left, in bytes. What files have in the page cache gives way, and counts as free.
pub fn free_bytes() -> Option<u64> {
    Group::own()?.chain().filter_map(|group| group.free_bytes()).min()
}

/// For how long this process, and all that it starts, was kept from the processors by a quota: of its group, or of one above
/// that.
pub fn throttled() -> Option<Duration> {
    Group::own_for("cpu")?.chain().filter_map(|group| group.throttled()).max()
}

/// How many processes the kernel has killed in this process's group because there was no memory left in it.
pub fn n_killed() -> Option<u64> {
    Group::own()?.n_killed()
}
