//! One tier of a stack: its store, its counters, and the rules for keeping a value there.

use std::sync::Arc;
use std::time::{Duration, Instant};

use larder_store::{
    Capabilities, Error, Meta, Ownership, Remaining, Result, Session, SetMode, SetOptions,
    SetOutcome, Store, Token,
};

use crate::config::Config;
use crate::jitter::{Jitter, Share};
use crate::patience;
use crate::quarantine::Quarantine;
use crate::rules::is_near_end;
use crate::subscription::SubscriptionValidity;
use larder_store::counters::{Count, Counters, Tally};

/// The slack between clocks: the TTL of a value in an upper tier is shorter by this, so that it ends no later than the value
/// below. A value that takes longer to store, and would end later, is removed again.
const CLOCK_SLACK: Duration = Duration::from_millis(10);

/// One tier, shared by all sessions.
#[derive(Debug)]
pub(crate) struct Tier {
    /// The tier's level and its name: `L1 moka:`.
    pub(crate) name: String,
    pub(crate) store: Arc<dyn Store>,
    pub(crate) capabilities: Capabilities,
    pub(crate) counters: Counters<TierCounters>,
    /// The longest time for which the tier keeps a value; `None` for the lowest tier, or without a bound.
    cap: Option<Duration>,
    /// The time for which the tier keeps a value after its TTL.
    grace: Duration,
    /// The share of `cap` that is taken away at random.
    jitter: Share,
    /// Shortens `cap` while no subscriber of a channel is connected; `None` without a channel.
    validity: Option<Arc<SubscriptionValidity>>,
    /// Whether the tier is behind connections.
    has_servers: bool,
    /// Whether its own tokens guard it: it is the nearest tier and has some.
    has_tokens: bool,
    quarantine: Quarantine,
    /// The longest time of a read, where it is bounded.
    pub(crate) soft_timeout: Option<Duration>,
}

/// The counters of one session for one tier.
#[derive(Debug, Default)]
#[repr(align(128))]
pub(crate) struct TierCounters {
    /// As in `TierStats`.
    pub(crate) hits: Count,
    pub(crate) misses: Count,
    pub(crate) errors: Count,
    pub(crate) not_asked: Count,
    fills: Count,
    puts: Count,
    refused: Count,
}

impl Tally<7> for TierCounters {
    fn counts(&self) -> [&Count; 7] {
        let Self { hits, misses, errors, not_asked, fills, puts, refused } = self;
        [hits, misses, errors, not_asked, fills, puts, refused]
    }
}

impl Tier {
    pub(crate) fn new(
        name: String,
        store: Arc<dyn Store>,
        cap: Option<Duration>,
        is_nearest: bool,
        config: &Config,
    ) -> Self {
        Self {
            has_tokens: is_nearest && store.capabilities().tokens,
            name,
            capabilities: store.capabilities(),
            counters: Counters::default(),
            cap,
            grace: config.grace.0,
            jitter: Share(config.jitter),
            validity: None,
            has_servers: store.info().ownership != Ownership::Embedded,
            quarantine: Quarantine::default(),
            soft_timeout: config.soft_timeout.0.filter(|_| !is_nearest),
            store,
        }
    }

    /// The same tier, which keeps values for long only under this validity.
    pub(crate) fn subscribed(self, validity: Option<Arc<SubscriptionValidity>>) -> Self {
        Self { validity, ..self }
    }

    /// The longest time for which the tier keeps a value that it gets now.
    fn cap(&self) -> Option<Duration> {
        self.validity.as_ref().map_or(self.cap, |validity| validity.cap(self.cap))
    }

    /// A namespace of the tier, with counters of its own.
    pub(crate) fn in_namespace(&self, name: &str, config: &Config) -> Result<Self> {
        let store = self.store.namespace(name)?;
        let (is_nearest, soft_timeout) = (self.has_tokens, self.soft_timeout);
        let tier = Self::new(self.name.clone(), store, self.cap, is_nearest, config);
        Ok(Self { soft_timeout, ..tier })
    }

    /// A count of connections or requests, as far as it is known: 0 for a tier without servers.
    pub(crate) fn on_the_wire(&self, reported: Option<u64>) -> Option<u64> {
        reported.or((!self.has_servers).then_some(0))
    }

    /// Whether the tier is behind connections.
    pub(crate) fn has_servers(&self) -> bool {
        self.has_servers
    }

    /// Whether no session may ask the tier: it has failed to drop a key.
    pub(crate) fn is_quarantined(&self) -> bool {
        self.quarantine.is_in_force()
    }

    /// Whether the tier can hold this key at all. One key that is too long makes a whole batch an error.
    pub(crate) fn takes(&self, key: &[u8]) -> bool {
        self.capabilities.max_key_len.is_none_or(|limit| key.len() <= limit)
    }

    fn holds(&self, value: &[u8]) -> bool {
        self.capabilities.max_value_len.is_none_or(|limit| value.len() <= limit)
    }

    /// The options for a value that is kept below for `left`, or for ever; `None` where it has expired, or the tier has
    /// no TTL.
    fn options(
        &self,
        left: Option<Duration>,
        flags: u32,
        jitter: &mut Jitter,
    ) -> Option<SetOptions> {
        let fresh = left.map(|left| left.saturating_sub(self.grace));
        let cap = self.cap().map(|cap| jitter.shorten(cap, self.jitter));
        let ttl = match fresh {
            Some(fresh) if fresh.is_zero() || !self.capabilities.ttl => return None,
            Some(fresh) => Some(cap.map_or(fresh, |cap| cap.min(fresh))),
            None => cap,
        };
        let ttl = ttl.map(|ttl| ttl.saturating_add(self.grace));
        let flags = if self.capabilities.flags { flags } else { 0 };
        Some(SetOptions { ttl, flags, ..SetOptions::default() })
    }

    /// The tier may hold a value that has been replaced or deleted: no session asks it until that value has expired.
    pub(crate) fn quarantine(&self) {
        let after = self.grace.saturating_add(self.capabilities.ttl_resolution);
        self.quarantine.impose(self.cap.map(|cap| cap.saturating_add(after)));
    }
}

/// The remaining TTL of a value below: a duration from a moment on, or for ever.
#[derive(Debug, Clone, Copy)]
pub(crate) struct RemainingTtl(Option<(Duration, Instant)>);

impl RemainingTtl {
    /// The remaining TTL of a value that is stored below now.
    pub(crate) fn from_now(ttl: Option<Duration>) -> Self {
        Self(ttl.map(|ttl| (ttl, Instant::now())))
    }

    /// The remaining TTL of a value as a lower tier reported it, counted from before the request: the age of the answer is
    /// unknown.
    pub(crate) fn reported(meta: Meta, from: &Tier, asked: Instant) -> Self {
        match meta.ttl {
            Remaining::For(left) => Self(Some((left, asked))).less(from),
            // Unknown counts as for ever: `capabilities::check` makes sure that there is a bound above.
            Remaining::Forever | Remaining::Unknown => Self(None),
        }
    }

    /// Shorter by one step of the tier's TTL: a tier may report or keep up to one step too much.
    fn less(self, tier: &Tier) -> Self {
        let step = tier.capabilities.ttl_resolution;
        Self(self.0.map(|(ttl, since)| (ttl.saturating_sub(step), since)))
    }

    fn left(self) -> Option<Duration> {
        self.0.map(|(ttl, since)| ttl.saturating_sub(since.elapsed()))
    }
}

/// One session of one tier.
pub(crate) struct TierSession {
    pub(crate) tier: Arc<Tier>,
    pub(crate) session: Box<dyn Session>,
    pub(crate) counters: Arc<TierCounters>,
    jitter: Jitter,
}

impl TierSession {
    pub(crate) fn open(tier: &Arc<Tier>) -> larder_store::Result<Self> {
        let mut session = tier.store.session()?;
        patience::bound_reads(&mut *session, &tier.name, tier.soft_timeout)?;
        Ok(Self {
            tier: Arc::clone(tier),
            session,
            counters: tier.counters.session(),
            jitter: Jitter::default(),
        })
    }

    /// Whether this upper tier may be asked for a key, and counts the read if not. A tier does not hold a key that it refuses.
    pub(crate) fn may_be_asked(&self, key: &[u8]) -> bool {
        let is_quarantined = self.tier.is_quarantined();
        let may_have_it = !is_quarantined && self.tier.takes(key);
        if is_quarantined {
            self.counters.not_asked.add(1);
        } else if !may_have_it {
            self.counters.misses.add(1);
        }
        may_have_it
    }

    /// Whether the tier has tokens of its own, and is the nearest.
    pub(crate) fn has_tokens(&self) -> bool {
        self.tier.has_tokens
    }

    /// Populates the tier with a value from the answer of a lower tier. A tier with tokens stores it only by a token that is
    /// valid. A tier with `add` stores it only if no other has been put here since: the other value is newer.
    pub(crate) fn populate(
        &mut self,
        key: &[u8],
        value: &[u8],
        flags: u32,
        remaining: RemainingTtl,
        token: Option<&Token>,
    ) {
        if self.tier.is_quarantined() {
            return;
        }
        let remaining = remaining.less(&self.tier);
        let Some(options) = self.options(remaining, flags) else { return };
        if !self.tier.takes(key) || !self.tier.holds(value) {
            // The tier was asked just now and had no value, so there is no older value to drop.
            self.counters.refused.add(1);
            return;
        }
        if self.has_tokens() && token.is_none() {
            return;
        }
        let adds = self.tier.capabilities.add && token.is_none();
        let mode = if adds { SetMode::Add } else { SetMode::Set };
        let options = SetOptions { mode, ..options };
        let is_stored = self.store(key, value, options, token, remaining)
            || adds && self.drop_expired(key) && self.store(key, value, options, token, remaining);
        if is_stored {
            self.counters.fills.add(1);
        }
    }

    /// Removes an expired entry that is kept for the time of grace: `add` would fail because of it. `true` where there was
    /// one.
    fn drop_expired(&mut self, key: &[u8]) -> bool {
        let grace = self.tier.grace;
        if grace.is_zero() {
            return false;
        }
        let found = self.session.look(key).ok().flatten();
        found.is_some_and(|facts| is_near_end(&facts.meta, grace)) && self.drop_key(key)
    }

    /// Removes an entry that its tags have expired, where `add` would fail because of it.
    pub(crate) fn drop_if_in_the_way(&mut self, key: &[u8]) {
        if self.tier.capabilities.add && !self.has_tokens() {
            self.drop_key(key);
        }
    }

    /// Stores a value that the lowest tier has acknowledged, or at least drops the older value. With a token only as long as
    /// that is valid.
    pub(crate) fn put(
        &mut self,
        key: &[u8],
        value: &[u8],
        flags: u32,
        remaining: RemainingTtl,
        token: Option<&Token>,
    ) {
        if self.tier.is_quarantined() {
            return;
        }
        let Some(options) = self.options(remaining, flags) else {
            self.drop_key(key);
            return;
        };
        if !self.tier.takes(key) || !self.tier.holds(value) {
            self.counters.refused.add(1);
            self.drop_key(key);
            return;
        }
        if self.store(key, value, options, token, remaining) {
            self.counters.puts.add(1);
        } else if token.is_some() {
            // Another writer came in between: it is not known whose value won below.
            self.drop_key(key);
        }
    }

    fn options(&mut self, remaining: RemainingTtl, flags: u32) -> Option<SetOptions> {
        let left = remaining.left().map(|left| left.saturating_sub(CLOCK_SLACK));
        self.tier.options(left, flags, &mut self.jitter)
    }

    /// Stores a value here, and makes sure that no value stays that should be gone. `true` where the tier stored the
    /// value.
    fn store(
        &mut self,
        key: &[u8],
        value: &[u8],
        options: SetOptions,
        token: Option<&Token>,
        remaining: RemainingTtl,
    ) -> bool {
        let stored = match (token, self.session.leases()) {
            (Some(token), Some(leases)) => leases.fill(key, value, &options, token),
            _ => self.session.set(key, value, &options),
        };
        if self.tier.is_quarantined() {
            // Quarantined meanwhile, for a time that ends before this value has expired.
            self.tier.quarantine();
        }
        match stored {
            Ok(SetOutcome::Stored(_)) => {
                // Storing took so long that the value would outlive itself.
                let is_late = |left| options.ttl.is_none_or(|ttl| ttl > left);
                if remaining.left().is_some_and(is_late) {
                    self.drop_key(key);
                }
                true
            }
            Ok(_) => false,
            Err(error) => {
                self.counters.refused.add(1);
                // The old value must not stay. A session that refuses a value as too large promises to leave no older
                // value behind.
                if !matches!(error, Error::ValueTooLarge { .. }) {
                    self.drop_key(key);
                }
                false
            }
        }
    }

    /// Removes a key and returns whether it was there. A tier that fails to do so is quarantined.
    ///
    /// A quarantined tier gets no request and no new values, so when the quarantine ends, all its present values have
    /// expired. Otherwise every write would wait for a server that hangs.
    pub(crate) fn drop_key(&mut self, key: &[u8]) -> bool {
        // A tier does not hold a key that it refuses.
        if self.tier.is_quarantined() || !self.tier.takes(key) {
            return false;
        }
        let deleted = match self.session.delete(key) {
            Err(error) if error.is_retryable() => self.session.delete(key),
            deleted => deleted,
        };
        match deleted {
            Ok(was_there) => was_there,
            Err(Error::KeyTooLong { .. } | Error::InvalidKey { .. }) => false,
            Err(_) => {
                self.tier.quarantine();
                false
            }
        }
    }

    /// Removes every entry. An upper tier that fails to do so is quarantined.
    pub(crate) fn clear(&mut self) -> larder_store::Result<()> {
        let before = self.tier.quarantine.snapshot();
        let cleared = self.session.clear();
        match &cleared {
            Ok(()) => self.tier.quarantine.lift(before),
            Err(_) => self.tier.quarantine(),
        }
        cleared
    }
}
