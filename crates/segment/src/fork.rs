//! Processes that are forked while they have a region open.
//!
//! The lock on a file tells who has its region open, and it belongs to the descriptor, which a child shares with its parent:
//! whichever of the two closed it first would take itself for the last. So a child opens each of its files once more, before
//! anything else is done in it, and has locks and a number of its own.

use std::fs::File;
use std::os::fd::{AsRawFd, RawFd};
use std::ptr;
use std::sync::Once;
use std::sync::atomic::{AtomicI32, AtomicPtr, AtomicU32, AtomicU64, Ordering};

use crate::file::{self, Lock};

/// A file that is open, in a list of all of them. Lists of the library may be half changed in a child, so it is one that only
/// grows; what is free in it is used again.
#[derive(Debug)]
pub(crate) struct Node {
    file: AtomicI32,
    owner: AtomicU32,
    next: *const Self,
}

// SAFETY: `next` is written before the node is in the list, and then only read.
unsafe impl Sync for Node {}
// SAFETY: as above.
unsafe impl Send for Node {}

impl Node {
    /// The number by which others know the owner of locks.
    #[inline]
    pub(crate) fn owner(&self) -> u32 {
        self.owner.load(Ordering::Relaxed)
    }
}

/// Of a node without a file.
const FREE: RawFd = -1;

static FIRST: AtomicPtr<Node> = AtomicPtr::new(ptr::null_mut());

/// How often this process was forked, or is about to be, since it first had a file open.
static FORKS: AtomicU64 = AtomicU64::new(0);

/// How many forks lie between this process and the first one that asked.
static GENERATION: AtomicU32 = AtomicU32::new(0);

/// Tells a child from its parent, with which it has all memory in common that was not shared.
#[inline]
pub(crate) fn generation() -> u32 {
    GENERATION.load(Ordering::Relaxed)
}

/// How often this process was forked: where it was since a file was opened, a child may share the lock on it.
pub(crate) fn forks() -> u64 {
    FORKS.load(Ordering::SeqCst)
}

/// From now on forks are counted.
pub(crate) fn watch() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        // Where there is no memory for it, children share their parent's locks, as if this were not here.
        // SAFETY: functions that do nothing but what may be done in a child.
        let _ = unsafe { libc::pthread_atfork(Some(count), None, Some(open_again)) };
    });
}

/// Notes a file of which a child is to have lock and number by itself; this process has this number.
pub(crate) fn note(file: &File, owner: u32) -> &'static Node {
    watch();
    let file = file.as_raw_fd();
    let free = |node: &&Node| {
        node.file.compare_exchange(FREE, file, Ordering::AcqRel, Ordering::Relaxed).is_ok()
    };
    if let Some(node) = nodes().find(free) {
        node.owner.store(owner, Ordering::Relaxed);
        return node;
    }
    let (file, owner) = (AtomicI32::new(file), AtomicU32::new(owner));
    let node = Box::leak(Box::new(Node { file, owner, next: ptr::null() }));
    loop {
        let first = FIRST.load(Ordering::Acquire);
        node.next = first;
        if FIRST.compare_exchange(first, node, Ordering::AcqRel, Ordering::Acquire).is_ok() {
            return node;
        }
    }
}

/// A file is closed.
pub(crate) fn forget(file: &File) {
    let file = file.as_raw_fd();
    for node in nodes() {
        let _ = node.file.compare_exchange(file, FREE, Ordering::AcqRel, Ordering::Relaxed);
    }
}

fn nodes() -> impl Iterator<Item = &'static Node> {
    let mut next = FIRST.load(Ordering::Acquire).cast_const();
    std::iter::from_fn(move || {
        // SAFETY: null, or a node, none of which is ever freed.
        let node = unsafe { next.as_ref() }?;
        next = node.next;
        Some(node)
    })
}

/// Before there is a child.
extern "C" fn count() {
    FORKS.fetch_add(1, Ordering::SeqCst);
}

/// In a child that has just been forked: allocates nothing, and asks only the system. A file that it may not open any more
/// keeps the lock that it shares.
extern "C" fn open_again() {
    GENERATION.fetch_add(1, Ordering::Relaxed);
    for node in nodes() {
        let file = node.file.load(Ordering::Acquire);
        if file == FREE {
            continue;
        }
        if let Ok(again) = file::again(file)
            && matches!(file::lock(&again, Lock::Shared), Ok(true))
            && let Ok(owner) = file::claim(&again)
        {
            node.owner.store(owner, Ordering::Relaxed);
            // SAFETY: both are descriptors of this process; the number stays and the file behind it is the new one.
            unsafe { libc::dup3(again.as_raw_fd(), file, libc::O_CLOEXEC) };
        }
    }
}
