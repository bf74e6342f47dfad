//! Leases: of all who miss a key or find it stale, one gets a lease to load it, for a limited time.
//!
//! A partition has a table of them, in buckets of eight:
//!
//! ```text
//! bucket: eight words of `tag 40 | number 24` | the ends of these eight, in milliseconds of the region's own time
//! ```
//!
//! The tag is of a key, of its namespace's generation, and of the number of clears. The number is another one for each of
//! 2^24 leases of the partition. A key has two buckets. Whoever has the lock gives leases. Any thread ends one, by one
//! exchange of its word: who changes the key, and the loader itself. Nobody looks at processes: the lease of a killed loader
//! ends with its time.

use std::sync::atomic::Ordering;

use crate::layout::{self, LEASE_BUCKETS, LEASES_EACH, WORDS};
use crate::memory::{AtomicU64, size};
use crate::partition::{Moment, Partition};
use crate::space::Space;

/// The number of leases that the partition has given. As long as it is 0, a change of a key has no lease to end.
pub(crate) const GIVEN: usize = WORDS + 40;

const NUMBER_BITS: u32 = 24;
pub(crate) const NUMBER: u64 = (1 << NUMBER_BITS) - 1;

/// What the leases of a key have in common: its two buckets, and the tag in its place of a word.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Leases<'c> {
    partition: Partition<'c>,
    buckets: [usize; 2],
    tag: u64,
}

impl<'c> Partition<'c> {
    /// The leases of a key in a space, in a region with this number of clears.
    pub(crate) fn leases_of(&self, hash: u64, space: Space, moment: Moment) -> Leases<'c> {
        let generation = space.sum() ^ moment.cleared.wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let mixed = (hash ^ generation).wrapping_mul(0xd6e8_feb8_6659_fd93);
        self.leases_with(hash, (mixed ^ mixed >> 32).wrapping_mul(0xc2b2_ae3d_27d4_eb4f))
    }

    /// The leases with a tag of which the lower bits do not count.
    fn leases_with(&self, hash: u64, tag: u64) -> Leases<'c> {
        let at = |bits: u32| {
            let bucket = size(hash >> bits) % LEASE_BUCKETS;
            self.base + layout::LEASES + bucket * 2 * LEASES_EACH * 8
        };
        Leases { partition: *self, buckets: [at(10), at(20)], tag: tag & !NUMBER }
    }

    /// Ends the leases of a key that is about to be changed.
    pub(crate) fn end_leases(&self, hash: u64, space: Space, moment: Moment) {
        if self.has_given_leases() {
            self.leases_of(hash, space, moment).end();
        }
    }

    /// Whether a lease was ever given here.
    #[inline]
    pub(crate) fn has_given_leases(&self) -> bool {
        self.memory.word(self.base + GIVEN).load(Ordering::SeqCst) != 0
    }
}

impl<'c> Leases<'c> {
    /// The tag, for the intent of a holder of the lock.
    pub(crate) fn tag(&self) -> u64 {
        self.tag
    }

    /// The leases of a tag that was noted.
    pub(crate) fn noted(partition: &Partition<'c>, hash: u64, tag: u64) -> Self {
        partition.leases_with(hash, tag)
    }

    /// All words where a lease of the key can be, each with its end.
    fn places(&self) -> impl Iterator<Item = (&'c AtomicU64, &'c AtomicU64)> + use<'c> {
        let leases = *self;
        self.buckets.into_iter().flat_map(move |bucket| leases.places_in(bucket))
    }

    fn places_in(
        &self,
        bucket: usize,
    ) -> impl Iterator<Item = (&'c AtomicU64, &'c AtomicU64)> + use<'c> {
        let memory = self.partition.memory;
        let at = move |i: usize| memory.word(bucket + i * 8);
        (0..LEASES_EACH).map(move |i| (at(i), at(LEASES_EACH + i)))
    }

    fn is_of(&self, word: u64) -> bool {
        word & !NUMBER == self.tag && word & NUMBER != 0
    }

    /// Whether anybody has a lease of the key.
    pub(crate) fn is_given(&self, now: u64) -> bool {
        self.places().any(|(word, end)| {
            self.is_of(word.load(Ordering::SeqCst)) && end.load(Ordering::Relaxed) > now
        })
    }

    /// Whether this lease of the key is not over.
    pub(crate) fn has(&self, lease: u64, now: u64) -> bool {
        self.is_of(lease)
            && self.places().any(|(word, end)| {
                word.load(Ordering::SeqCst) == lease && end.load(Ordering::Relaxed) > now
            })
    }

    /// Ends this lease; `false` where it was over.
    pub(crate) fn end_one(&self, lease: u64) -> bool {
        let is_ended = |word: &AtomicU64| {
            let ended = word.compare_exchange(lease, 0, Ordering::SeqCst, Ordering::Relaxed);
            ended.is_ok()
        };
        self.is_of(lease) && self.places().any(|(word, _)| is_ended(word))
    }

    /// Ends every lease of the key. Then comes the note of a change, and then the change: see `Locked::store`.
    pub(crate) fn end(&self) {
        for (word, _) in self.places() {
            let mut is = word.load(Ordering::SeqCst);
            while self.is_of(is) {
                match word.compare_exchange(is, 0, Ordering::SeqCst, Ordering::SeqCst) {
                    Ok(_) => break,
                    Err(now) => is = now,
                }
            }
        }
    }

    /// Gives a lease until `end`; only for who has the lock, and where [`is_given`](Self::is_given) is not. `None` where
    /// both buckets are full.
    pub(crate) fn give(&self, now: u64, end: u64) -> Option<u64> {
        let given = self.partition.memory.word(self.partition.base + GIVEN);
        let is_free = |(word, end): &(&AtomicU64, &AtomicU64)| {
            word.load(Ordering::Relaxed) == 0 || end.load(Ordering::Relaxed) <= now
        };
        // In the emptier bucket, so that both are seldom full.
        let free = |bucket: usize| self.places_in(bucket).filter(is_free).count();
        let [first, second] = self.buckets;
        let bucket = if free(second) > free(first) { second } else { first };
        let (word, place_of_end) = self.places_in(bucket).find(is_free)?;
        let number = given.load(Ordering::Relaxed).wrapping_add(1);
        // A number of 0 is that of no lease.
        let number = if number & NUMBER == 0 { number.wrapping_add(1) } else { number };
        given.store(number, Ordering::SeqCst);
        // First the former lease goes, so that it does not get the new end. Its loader or another thread may end it too.
        word.store(0, Ordering::SeqCst);
        place_of_end.store(end, Ordering::Relaxed);
        let lease = self.tag | number & NUMBER;
        word.store(lease, Ordering::SeqCst);
        Some(lease)
    }
}
