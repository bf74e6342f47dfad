//! Sessions that ask for a lease: see `lease_table.rs`.

use std::time::Duration;

use crate::Failed;
use crate::api::{Entry, Fence, Leased, Token};
use crate::changes::is_changed;
use crate::session::{Session, alive};
use crate::space::HashedKey;
use crate::stats::SessionCount;

/// The number of times that a caller looks again because the entry has changed between its look and its lock.
const LOOKS: usize = 100;

impl Session {
    /// Copies the value of a key to `value`, which is cleared first. If the key is absent or stale, one of all sessions of the
    /// region's processes gets a lease to load it. The others have to wait. An entry with no more than `early` of its time to
    /// live left counts as stale here.
    ///
    /// The token is for [`Condition::Unchanged`](crate::Condition::Unchanged). The lease is over once its time has passed,
    /// or once the key is filled, stored, deleted or expired. A clear of the region or the namespace ends it too. From then on the
    /// token is refused, and another caller may get a lease.
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
        let leased = self.hit_or_lease(hash, key, value, time, early);
        if !matches!(
            leased,
            Ok(Leased::Hit(_)
                | Leased::Load { stale: Some(_), .. }
                | Leased::Wait { stale: Some(_) })
        ) {
            value.clear();
        }
        match leased {
            Ok(Leased::Hit(_)) => self.count(SessionCount::Hits),
            Ok(_) => self.count(SessionCount::Misses),
            Err(_) => {}
        }
        leased
    }

    #[inline]
    fn hit_or_lease(
        &self,
        hash: u64,
        key: &[u8],
        value: &mut Vec<u8>,
        time: Duration,
        early: Duration,
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
            if let Some(leased) = self.lease(hash, key, stale, time)? {
                return Ok(leased);
            }
        }
        Err(Failed::Busy { holder: None, waited: Duration::ZERO })
    }

    /// Gives a lease of a key, unless another caller has it. `None` where the key has another entry by now.
    #[cold]
    fn lease(
        &self,
        hash: u64,
        key: &[u8],
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
        let present = alive(&mut locked, HashedKey { hash, key, space });
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

    /// Ends a lease without a value, so that the next caller gets one; `false` where it was over.
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
                && matches!(held.of, Fence::Changes(then) if !is_changed(then, before, hash))
        };
        held.is_none_or(was_valid).then_some(new)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lease_table::{GIVEN, NUMBER};
    use crate::space::Space;
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
