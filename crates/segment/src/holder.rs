//! The holder of a partition's lock: the process to look at where writers find it busy.

use std::sync::atomic::Ordering;

use crate::Cache;
use crate::layout::LOCK;

/// The bits of a robust mutex's first word that are a thread's number; the others tell of waiters and of the dead.
const THREAD: u32 = 0x3fff_ffff;

impl Cache {
    /// The partition of a key, of those that [`Cache::shape`] counts. The chunks of a value that is cut are in all.
    pub fn partition_of(&self, key: &[u8]) -> usize {
        self.places.partition_of(self.places.hash(key))
    }

    /// The thread that holds the lock of a partition now, by the system's number; `None` where nobody does, and where the C
    /// library does not tell.
    pub fn holder(&self, partition: usize) -> Option<u32> {
        let is_one = partition < self.places.geometry.partitions;
        let at = is_one.then(|| self.partition(partition).base + LOCK)?;
        holder_of(self.memory().word(at).load(Ordering::Relaxed))
    }
}

/// The holder of the lock whose first word this is.
pub(crate) fn holder_of(word: u64) -> Option<u32> {
    if cfg!(not(all(target_os = "linux", target_env = "gnu"))) {
        return None;
    }
    let word = word.to_ne_bytes();
    let [first, ..] = word.as_chunks::<4>().0 else { return None };
    let thread = u32::from_ne_bytes(*first) & THREAD;
    (thread != 0).then_some(thread)
}

#[cfg(all(test, target_os = "linux", target_env = "gnu"))]
mod tests {
    use crate::{Cache, Options, lock};

    #[test]
    fn the_holder_of_a_lock_is_told_and_nobody_once_it_is_let_go() {
        let cache = Cache::private(&Options::of_size(8 << 20)).unwrap();
        let partition = cache.partition_of(b"key");
        let at = cache.partition(partition).base;
        assert_eq!(cache.holder(partition), None);
        let held = lock::take(cache.memory(), at, std::time::Duration::ZERO).unwrap();
        // SAFETY: asks for a number.
        let own = unsafe { libc::gettid() };
        assert_eq!(cache.holder(partition), Some(own.unsigned_abs()));
        assert_eq!(cache.holder(1 - partition), None);
        assert_eq!(cache.holder(2), None);
        drop(held);
        assert_eq!(cache.holder(partition), None);
    }
}
