//! Leases: of all who miss a key or find it stale, one is told to load it, for a limited time.
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
use std::time::Duration;

use crate::Failed;
use crate::api::{Entry, Fence, Leased, Token};
use crate::layout::{self, LEASE_BUCKETS, LEASES_EACH, WORDS};
use crate::memory::{AtomicU64, size};
use crate::namespace::Space;
use crate::partition::{Moment, Partition};
use crate::session::{Session, alive};
use crate::stats::Of;

/// How many leases the partition has given. As long as it is 0, who changes a key has no lease to end.
const GIVEN: usize = WORDS + 40;

const NUMBER_BITS: u32 = 24;
const NUMBER: u64 = (1 << NUMBER_BITS) - 1;

/// The number of times that a caller looks again because the entry has changed between its look and its lock.
const LOOKS: usize = 100;

/// What the leases of a key have in common: its two buckets, and the tag in its place of a word.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Leases<'c> {
    partition: Partition<'c>,
    buckets: [usize; 2],
    tag: u64,
}

impl<'c> Partition<'c> {
    /// The leases of a key in a space, in a region that was cleared so many times.
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
    fn is_given(&self, now: u64) -> bool {
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
    fn give(&self, now: u64, end: u64) -> Option<u64> {
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

impl Session {
    /// Copies the value of a key to `value`, which is cleared first. If the key is absent or stale, one of all sessions of the
    /// region's processes is told to load it. The others are told to wait. An entry with no more than `early` of its time to
    /// live left counts as stale here.
    ///
    /// The token is for [`Condition::Unchanged`](crate::Condition::Unchanged). The lease is over once its time has passed,
    /// or once the key is filled, stored, deleted or expired. A clear of the region or the namespace ends it too. From then on the
    /// token is refused, and another caller may be told to load.
    ///
    /// A partition has room for 512 leases at once. If a key finds none, the error is [`Failed::Leases`].
    pub fn get_or_lease(
        &mut self,
        key: &[u8],
        value: &mut Vec<u8>,
        time: Duration,
        early: Duration,
    ) -> Result<Leased, Failed> {
        let hash = self.key(key)?;
        let leased = self.hit_or_lease((hash, key), value, (time, early));
        if !matches!(
            leased,
            Ok(Leased::Hit(_)
                | Leased::Load { stale: Some(_), .. }
                | Leased::Wait { stale: Some(_) })
        ) {
            value.clear();
        }
        match leased {
            Ok(Leased::Hit(_)) => self.count(Of::Hits),
            Ok(_) => self.count(Of::Misses),
            Err(_) => {}
        }
        leased
    }

    #[inline]
    fn hit_or_lease(
        &self,
        (hash, key): (u64, &[u8]),
        value: &mut Vec<u8>,
        (time, early): (Duration, Duration),
    ) -> Result<Leased, Failed> {
        let is_fresh = |entry: &Entry| {
            let is_early = !early.is_zero() && entry.ttl.is_some_and(|left| left <= early);
            !entry.stale && !is_early
        };
        for _ in 0..LOOKS {
            value.clear();
            let entry = self.look(hash, key, value);
            if let Some(entry) = entry.filter(is_fresh) {
                return Ok(Leased::Hit(entry));
            }
            let stale = entry.map(|entry| Entry { stale: true, ..entry });
            if let Some(leased) = self.lease((hash, key), stale, time)? {
                return Ok(leased);
            }
        }
        Err(Failed::Busy { holder: None, waited: Duration::ZERO })
    }

    /// Gives a lease of a key, unless another caller has it. `None` where the key has another entry by now.
    #[cold]
    fn lease(
        &self,
        (hash, key): (u64, &[u8]),
        stale: Option<Entry>,
        time: Duration,
    ) -> Result<Option<Leased>, Failed> {
        let (partition, moment) = (self.partition(hash), self.cache.moment());
        let leases = |space, moment| partition.leases_of(hash, space, moment);
        // Most who wait need no lock.
        if leases(self.space(), moment).is_given(moment.now()) {
            return Ok(Some(Leased::Wait { stale }));
        }
        let mut locked = self.lock(hash)?;
        let space = self.space_to_write()?;
        let present = alive(&mut locked, (hash, key, space));
        let present = present.filter(|present| !locked.is_damaged(hash, present));
        if present.map(|present| present.found.version) != stale.map(|stale| stale.version) {
            return Ok(None);
        }
        let (leases, now) = (leases(space, locked.moment), locked.now);
        if leases.is_given(now) {
            return Ok(Some(Leased::Wait { stale }));
        }
        let end = locked
            .now
            .saturating_add(u64::try_from(time.as_millis()).unwrap_or(u64::MAX))
            .saturating_add(1);
        let Some(lease) = leases.give(now, end) else { return Err(Failed::Leases) };
        let token = Token { of: Fence::Lease(lease), cleared: locked.moment.cleared, space };
        Ok(Some(Leased::Load { token, stale }))
    }

    /// Ends a lease without a value, so that the next caller is told to load; `false` where it was over.
    pub fn release(&self, key: &[u8], token: &Token) -> bool {
        let (hash, moment) = (self.hash(key), self.cache.moment());
        let Fence::Lease(lease) = token.of else { return false };
        let leases = self.partition(hash).leases_of(hash, self.space(), moment);
        leases.has(lease, moment.now()) && leases.end_one(lease)
    }

    /// Makes all tokens and leases of a key void, and returns a new token. `None` where `held` was void before.
    pub fn renew(&self, key: &[u8], held: Option<&Token>) -> Option<Token> {
        let (hash, moment, space) = (self.hash(key), self.cache.moment(), self.space());
        let partition = self.partition(hash);
        let (before, after) = partition.begin_change(hash, space, moment);
        let new = Token { of: Fence::Changes(after), cleared: moment.cleared, space };
        let was_valid = |held: &Token| {
            held.is_since(moment, space)
                && matches!(held.of, Fence::Changes(then) if !crate::changes::is_changed(then, before, hash))
        };
        held.is_none_or(was_valid).then_some(new)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Cache, Condition, Options, Outcome, Set};

    fn load(session: &mut Session) -> Token {
        let asked =
            session.get_or_lease(b"key", &mut Vec::new(), Duration::from_hours(1), Duration::ZERO);
        let Ok(Leased::Load { token, .. }) = asked else { panic!("{asked:?}") };
        token
    }

    fn is_filled(session: &mut Session, token: Token) -> bool {
        let set = Set { condition: Condition::Unchanged(token), ..Set::default() };
        matches!(session.set(b"key", b"filled", &set), Ok(Outcome::Stored(_)))
    }

    #[test]
    fn numbers_begin_again_and_none_is_zero() {
        let cache = Cache::private(&Options::of_size(1 << 20)).unwrap();
        let mut session = cache.session();
        let mut seen = Vec::new();
        load(&mut session);
        for given in [NUMBER - 2, NUMBER - 1, NUMBER, u64::MAX - 1, u64::MAX] {
            let partition = session.partition(session.hash(b"key"));
            partition.memory.store(partition.base + GIVEN, given);
            session.delete(b"key").unwrap();
            let token = load(&mut session);
            let Fence::Lease(lease) = token.of else { panic!("{token:?}") };
            assert_ne!(lease & NUMBER, 0, "after {given}");
            assert!(partition_has_given(&session), "after {given}");
            seen.push(token);
            assert!(is_filled(&mut session, token), "after {given}");
        }
    }

    fn partition_has_given(session: &Session) -> bool {
        session.partition(session.hash(b"key")).has_given_leases()
    }

    #[test]
    fn who_takes_over_from_a_killed_writer_ends_the_leases_of_its_key_alone() {
        let cache = Cache::private(&Options::of_size(1 << 20)).unwrap();
        let mut session = cache.session();
        for is_of_it in [true, false] {
            let token = load(&mut session);
            let hash = session.hash(if is_of_it { b"key" } else { b"other" });
            let locked = session.lock(hash).unwrap();
            let leases = locked.partition.leases_of(hash, Space::ROOT, locked.moment);
            locked.intend_to_store(hash, Some(leases));
            locked.finish_intent();
            drop(locked);
            assert_eq!(is_filled(&mut session, token), !is_of_it);
            session.delete(b"key").unwrap();
        }
    }

    #[test]
    fn a_lease_is_over_with_its_time() {
        let cache = Cache::private(&Options::of_size(1 << 20)).unwrap();
        let session = cache.session();
        let hash = session.hash(b"key");
        let locked = session.lock(hash).unwrap();
        let leases = locked.partition.leases_of(hash, Space::ROOT, locked.moment);
        let lease = leases.give(1000, 1500).unwrap();
        assert!(leases.has(lease, 1499) && leases.is_given(1499));
        assert!(!leases.has(lease, 1500) && !leases.is_given(1500));
        let next = leases.give(1500, 2000).unwrap();
        assert!(!leases.has(lease, 1499) && leases.has(next, 1999));
        assert!(!leases.end_one(lease) && leases.end_one(next) && !leases.is_given(1600));
    }

    #[test]
    fn a_token_is_its_bytes_and_other_bytes_are_none() {
        let cache = Cache::private(&Options::of_size(1 << 20)).unwrap();
        let mut session = cache.namespace("app").unwrap().session();
        for token in [session.token(b"key"), load(&mut session)] {
            assert_eq!(Token::from_bytes(&token.to_bytes()), Some(token));
        }
        assert_eq!(Token::from_bytes(&[0; Token::LEN]), None);
        assert_eq!(Token::from_bytes(&[0xff; Token::LEN]), None);
    }
}
