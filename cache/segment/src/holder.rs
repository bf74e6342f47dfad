//! The holder of a partition's lock: the process to examine when writers find the lock busy.

use crate::layout::LOCK;
use crate::lock;
use crate::{Cache, Session};

impl Session {
    /// The partition of a key, of those that [`Cache::shape`] counts. The chunks of a value that is cut are in all.
    pub fn partition_of(&self, key: &[u8]) -> usize {
        self.cache.places.partition_of(self.hash(key))
    }
}

impl Cache {
    /// The thread that holds the lock of a partition now, by the number that its own system gives it; `None` where nobody does.
    pub fn holder(&self, partition: usize) -> Option<u32> {
        let is_one = partition < self.places.geometry.partitions;
        let at = is_one.then(|| self.partition(partition).base + LOCK)?;
        lock::holder_of(self.memory().load(at))
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use crate::session::lock_within;
    use crate::{Cache, Options, futex};

    #[test]
    fn the_holder_of_a_lock_is_told_and_nobody_once_it_is_let_go() {
        let cache = Cache::private(&Options::of_size(8 << 20)).unwrap();
        let partition = cache.session().partition_of(b"key");
        assert_eq!(cache.holder(partition), None);
        let held = lock_within(&cache, cache.partition(partition), Duration::ZERO).unwrap();
        assert_eq!(cache.holder(partition), Some(futex::thread()));
        let mut others = (0..99).filter(|other| *other != partition);
        assert_eq!(others.find_map(|other| cache.holder(other)), None);
        drop(held);
        assert_eq!(cache.holder(partition), None);
    }
}
