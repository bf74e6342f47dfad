//! Processes that are forked while they have a region open.
//!
//! The lock on a file shows which processes have its region open. It belongs to the descriptor, which a child shares with
//! its parent. So whichever of the two closed it first would take itself for the last. A child therefore opens each of its
//! files again before it does anything else. It then has locks and a number of its own.

use std::fs::File;
use std::os::fd::{AsRawFd, RawFd};
use std::ptr;
use std::sync::atomic::{AtomicBool, AtomicI32, AtomicPtr, AtomicU32, AtomicU64, Ordering};

use crate::file::{self, Lock};

/// An open file, in a list of all of them. In a child, lists of the standard library may be half changed. So this list only
/// grows, and its free nodes are used again.
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

/// The file of a node without one.
const FREE: RawFd = -1;

static FIRST: AtomicPtr<Node> = AtomicPtr::new(ptr::null_mut());

/// The number of forks of this process since it first had a file open. A fork counts before it
/// happens.
static FORKS: AtomicU64 = AtomicU64::new(0);

/// The number of forks between this process and the first process that asked.
static GENERATION: AtomicU32 = AtomicU32::new(0);

/// Tells a child from its parent, although the child has a copy of its parent's memory.
#[inline]
pub(crate) fn generation() -> u32 {
    GENERATION.load(Ordering::Relaxed)
}

/// The number of forks of this process. If it has grown since a file was opened, a child may share the file's
/// lock.
pub(crate) fn forks() -> u64 {
    FORKS.load(Ordering::SeqCst)
}

/// From now on forks are counted.
pub(crate) fn watch() {
    static IS_WATCHED: AtomicBool = AtomicBool::new(false);
    // No thread waits for another one, as it would for a `Once`: a child that is forked while another thread is here has no such thread.
    // Where two threads are here at once, each fork counts twice, and a child opens its files twice.
    if !IS_WATCHED.load(Ordering::Acquire) {
        // If the system has no memory for this, children share their parent's locks, as they would
        // without this module.
        // SAFETY: functions that do nothing but what may be done in a child.
        let _ = unsafe { libc::pthread_atfork(Some(count), None, Some(open_again)) };
        IS_WATCHED.store(true, Ordering::Release);
    }
}

/// Notes a file for which a child needs a lock and a number of its own; `owner` is this process's
/// number.
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

/// Forgets a file that is closed.
pub(crate) fn forget(file: &File) {
    let file = file.as_raw_fd();
    for node in nodes() {
        let _ = node.file.compare_exchange(file, FREE, Ordering::AcqRel, Ordering::Relaxed);
    }
}

fn nodes() -> impl Iterator<Item = &'static Node> {
    let mut next = FIRST.load(Ordering::Acquire).cast_const();
    std::iter::from_fn(move || {
        // SAFETY: null, or a node; no node is ever freed.
        let node = unsafe { next.as_ref() }?;
        next = node.next;
        Some(node)
    })
}

/// Runs before the child exists.
extern "C" fn count() {
    FORKS.fetch_add(1, Ordering::SeqCst);
}

/// Runs in a child that has just been forked. It allocates nothing, and calls only the system. A file that the child may
/// not open any more keeps the shared lock.
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
