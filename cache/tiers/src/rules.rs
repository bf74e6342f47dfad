//! The rules of a stack for its reads and writes, as its configuration sets them.

use std::time::{Duration, Instant};

use larder_store::{Capabilities, Error, Meta, Remaining, SetOptions};

use crate::config::{Config, OnError, OnWriteError, WriteOrder};
use crate::jitter::Share;

/// The rules of a stack.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Rules {
    /// The time for which an entry is kept after its TTL. A tier keeps an entry for its TTL and this, so an entry with no
    /// more than this left has expired.
    pub(crate) grace: Duration,
    /// The share of a TTL that is taken away at random.
    pub(crate) jitter: Share,
    /// Values have versions of their tags behind them.
    pub(crate) tags: bool,
    on_error: OnError,
    on_write_error: OnWriteError,
    pub(crate) write: WriteOrder,
}

impl Rules {
    pub(crate) fn new(config: &Config) -> Self {
        Self {
            grace: config.grace.0,
            jitter: Share(config.jitter),
            tags: config.tags,
            on_error: config.on_error,
            on_write_error: config.on_write_error,
            write: config.write,
        }
    }

    /// The time for which the tiers keep an entry with this TTL. A TTL of zero has passed at once, and leaves nothing.
    pub(crate) fn kept(&self, ttl: Option<Duration>) -> Option<Duration> {
        ttl.map(|ttl| if ttl.is_zero() { ttl } else { ttl.saturating_add(self.grace) })
    }

    /// The options with which the tiers keep an entry.
    pub(crate) fn kept_options(&self, options: &SetOptions) -> SetOptions {
        SetOptions { ttl: self.kept(options.ttl), ..*options }
    }

    /// The rest of an entry's TTL, of the time for which a tier still keeps it.
    pub(crate) fn ttl_of(&self, kept: Remaining) -> Remaining {
        match kept {
            Remaining::For(left) => Remaining::For(left.saturating_sub(self.grace)),
            other => other,
        }
    }

    /// Whether a key is removed below once a write of it has failed so. A write that a breaker refused is one of these: the
    /// tier has the value that the caller wanted to replace.
    pub(crate) fn invalidates(&self, error: &Error) -> bool {
        self.on_write_error == OnWriteError::Invalidate && is_unanswered(error)
    }

    /// Whether a failed read of the lowest tier is a miss, and no error.
    pub(crate) fn fails_are_misses(&self) -> bool {
        self.on_error == OnError::Miss
    }
}

/// The metadata of an entry, as far as every tier can report it.
pub(crate) fn reported(
    meta: Meta,
    is_expired: bool,
    rules: &Rules,
    capabilities: &Capabilities,
) -> Meta {
    Meta {
        flags: if capabilities.flags { meta.flags } else { 0 },
        version: None,
        ttl: if capabilities.ttl_left { rules.ttl_of(meta.ttl) } else { Remaining::Unknown },
        stale: meta.stale || is_expired,
    }
}

/// The moment after this time from now. A time that no clock reaches is a year.
pub(crate) fn in_time(time: Duration) -> Instant {
    let now = Instant::now();
    now.checked_add(time).unwrap_or_else(|| now + Duration::from_hours(365 * 24))
}

/// Whether an upper tier's copy of an entry is too near its end to be an answer. The copy ends no later than the entry
/// below, so the rest of its time is the least that the entry has left.
pub(crate) fn is_near_end(meta: &Meta, early: Duration) -> bool {
    match meta.ttl {
        Remaining::For(left) => !early.is_zero() && left <= early,
        Remaining::Forever => false,
        Remaining::Unknown => !early.is_zero(),
    }
}

/// Whether a store has no answer for now, whatever the request. A breaker's refusal is one of these errors.
pub(crate) fn is_unanswered(error: &Error) -> bool {
    matches!(
        error,
        Error::Timeout { .. }
            | Error::Unavailable { .. }
            | Error::Io { .. }
            | Error::Protocol { .. }
            | Error::Corrupted { .. }
            | Error::Busy { .. }
            | Error::Full { .. }
    )
}
