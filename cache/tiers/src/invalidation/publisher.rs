//! The lowest tier of a stack with a channel: what is written there is queued to be published.
//!
//! Every write of a stack is a call of its lowest tier, so this is the one place that sees them all. A key is queued after
//! its write, whatever the outcome, unless the outcome says that nothing has changed.

use std::sync::Arc;
use std::time::Duration;

use larder_store::{
    Capabilities, Channel, ChannelKind, Counted, Counter, DeleteDone, DeleteOutcome, Delta, End,
    Error, Facts, Fill, Initial, LeaseDone, Leased, Leases, Meta, Put, Result, Session, SetDone,
    SetOptions, SetOutcome, Stats, Store, StoreInfo, TierStats, Token,
};

use super::Invalidation;

#[derive(Debug)]
struct PublishingStore {
    store: Arc<dyn Store>,
    invalidation: Arc<Invalidation>,
}

/// The lowest tier, which publishes what is written there.
pub(crate) fn publishing(
    store: Arc<dyn Store>,
    invalidation: &Arc<Invalidation>,
) -> Arc<dyn Store> {
    Arc::new(PublishingStore { store, invalidation: Arc::clone(invalidation) })
}

impl Store for PublishingStore {
    fn info(&self) -> StoreInfo {
        self.store.info()
    }

    fn capabilities(&self) -> Capabilities {
        let of_store = self.store.capabilities();
        Capabilities { groups: false, pipeline: false, namespaces: false, ..of_store }
    }

    fn session(&self) -> Result<Box<dyn Session>> {
        let mut session = self.store.session()?;
        let has_leases = session.leases().is_some();
        let invalidation = Arc::clone(&self.invalidation);
        Ok(Box::new(PublishingSession { session, has_leases, invalidation }))
    }

    fn stats(&self) -> Result<Stats> {
        self.store.stats()
    }

    fn external_stats(&self) -> Result<Vec<Stats>> {
        self.store.external_stats()
    }

    fn counters(&self) -> Result<Vec<Counter>> {
        self.store.counters()
    }

    /// A server of the store may be the channel's server too, so the channel ends first.
    fn close(&self) -> Result<()> {
        self.invalidation.end();
        self.store.close()
    }

    fn channel(&self, kind: ChannelKind<'_>) -> Result<Arc<dyn Channel>> {
        self.store.channel(kind)
    }

    fn tiers(&self) -> Vec<TierStats> {
        self.store.tiers()
    }
}

struct PublishingSession {
    session: Box<dyn Session>,
    has_leases: bool,
    invalidation: Arc<Invalidation>,
}

impl PublishingSession {
    /// Queues the key if the result does not say that nothing has changed.
    fn published<T>(
        &self,
        key: &[u8],
        result: Result<T>,
        is_changed: impl FnOnce(&T) -> bool,
    ) -> Result<T> {
        if result.as_ref().map_or(true, is_changed) {
            self.invalidation.note(key);
        }
        result
    }

    fn inner_leases(&mut self) -> Result<&mut dyn Leases> {
        let engine = self.session.engine();
        self.session.leases().ok_or(Error::Unsupported { engine, operation: "leases" })
    }
}

fn is_stored(outcome: &SetOutcome) -> bool {
    outcome.is_stored()
}

impl Session for PublishingSession {
    fn engine(&self) -> &'static str {
        self.session.engine()
    }

    fn get(&mut self, key: &[u8], value: &mut Vec<u8>) -> Result<Option<Meta>> {
        self.session.get(key, value)
    }

    fn get_onto(&mut self, key: &[u8], out: &mut Vec<u8>) -> Result<Option<Meta>> {
        self.session.get_onto(key, out)
    }

    fn look(&mut self, key: &[u8]) -> Result<Option<Facts>> {
        self.session.look(key)
    }

    fn get_and_touch(
        &mut self,
        key: &[u8],
        ttl: Option<Duration>,
        value: &mut Vec<u8>,
    ) -> Result<Option<Meta>> {
        let found = self.session.get_and_touch(key, ttl, value);
        self.published(key, found, Option::is_some)
    }

    fn get_many(&mut self, keys: &[&[u8]], hit: &mut dyn FnMut(usize, &[u8], Meta)) -> Result<()> {
        self.session.get_many(keys, hit)
    }

    fn set(&mut self, key: &[u8], value: &[u8], options: &SetOptions) -> Result<SetOutcome> {
        let outcome = self.session.set(key, value, options);
        self.published(key, outcome, is_stored)
    }

    /// All keys are queued: after a batch that breaks off, it is unknown which of them were stored.
    fn set_many(&mut self, entries: &[Put<'_>], done: &mut SetDone<'_>) -> Result<()> {
        let result = self.session.set_many(entries, done);
        for put in entries {
            self.invalidation.note(put.key);
        }
        result
    }

    fn delete(&mut self, key: &[u8]) -> Result<bool> {
        let was_there = self.session.delete(key);
        self.published(key, was_there, |_| true)
    }

    fn delete_many(&mut self, keys: &[&[u8]], done: &mut DeleteDone<'_>) -> Result<()> {
        let result = self.session.delete_many(keys, done);
        for key in keys {
            self.invalidation.note(key);
        }
        result
    }

    fn delete_if(&mut self, key: &[u8], version: u64) -> Result<DeleteOutcome> {
        let outcome = self.session.delete_if(key, version);
        self.published(key, outcome, |_| true)
    }

    fn touch(&mut self, key: &[u8], ttl: Option<Duration>) -> Result<bool> {
        let was_there = self.session.touch(key, ttl);
        self.published(key, was_there, |was_there| *was_there)
    }

    fn incr(
        &mut self,
        key: &[u8],
        delta: Delta,
        absent: Option<Initial>,
    ) -> Result<Option<Counted>> {
        let counted = self.session.incr(key, delta, absent);
        self.published(key, counted, Option::is_some)
    }

    fn clear(&mut self) -> Result<()> {
        let cleared = self.session.clear();
        self.invalidation.note_everything();
        cleared
    }

    fn settle(&mut self) -> Result<()> {
        self.session.settle()
    }

    fn set_patience(&mut self, patience: Duration) -> Result<()> {
        self.session.set_patience(patience)
    }

    fn set_read_timeout(&mut self, longest: Option<Duration>) -> Result<()> {
        self.session.set_read_timeout(longest)
    }

    fn leases(&mut self) -> Option<&mut dyn Leases> {
        if self.has_leases { Some(self) } else { None }
    }
}

impl Leases for PublishingSession {
    fn get_or_lease_early(
        &mut self,
        key: &[u8],
        value: &mut Vec<u8>,
        time: Duration,
        early: Duration,
    ) -> Result<Leased> {
        self.inner_leases()?.get_or_lease_early(key, value, time, early)
    }

    fn fill(
        &mut self,
        key: &[u8],
        value: &[u8],
        options: &SetOptions,
        token: &Token,
    ) -> Result<SetOutcome> {
        let outcome = self.inner_leases()?.fill(key, value, options, token);
        self.published(key, outcome, is_stored)
    }

    fn get_or_lease_many(
        &mut self,
        keys: &[&[u8]],
        time: Duration,
        early: Duration,
        done: &mut LeaseDone<'_>,
    ) -> Result<()> {
        self.inner_leases()?.get_or_lease_many(keys, time, early, done)
    }

    /// The keys that the outcomes leave in doubt are queued: after a batch that breaks off, it is unknown which were stored.
    fn fill_many(&mut self, fills: &[Fill<'_>], done: &mut SetDone<'_>) -> Result<()> {
        let mut is_refused = vec![false; fills.len()];
        let result = self.inner_leases()?.fill_many(fills, &mut |i, outcome| {
            is_refused[i] = outcome.as_ref().is_ok_and(|outcome| !outcome.is_stored());
            done(i, outcome);
        });
        for (fill, _) in fills.iter().zip(is_refused).filter(|(_, is_refused)| !is_refused) {
            self.invalidation.note(fill.put.key);
        }
        result
    }

    fn release(&mut self, key: &[u8], token: &Token) -> Result<bool> {
        self.inner_leases()?.release(key, token)
    }

    fn release_many(&mut self, held: &[(&[u8], Token)], done: &mut DeleteDone<'_>) -> Result<()> {
        self.inner_leases()?.release_many(held, done)
    }

    fn expire(&mut self, key: &[u8], keep: Option<Duration>) -> Result<bool> {
        let was_there = self.inner_leases()?.expire(key, keep);
        self.published(key, was_there, |_| true)
    }

    /// The keys that the outcomes leave in doubt are queued, as those of [`fill_many`](Self::fill_many) are.
    fn end_values(&mut self, ends: &[End<'_>], done: &mut DeleteDone<'_>) -> Result<()> {
        let mut is_other = vec![false; ends.len()];
        let result = self.inner_leases()?.end_values(ends, &mut |i, ended| {
            is_other[i] = matches!(ended, Ok(false));
            done(i, ended);
        });
        for (end, _) in ends.iter().zip(is_other).filter(|(_, is_other)| !is_other) {
            self.invalidation.note(end.key);
        }
        result
    }

    fn token(&mut self, key: &[u8]) -> Result<Token> {
        self.inner_leases()?.token(key)
    }

    fn renew(&mut self, key: &[u8], held: Option<&Token>) -> Result<Option<Token>> {
        self.inner_leases()?.renew(key, held)
    }
}
