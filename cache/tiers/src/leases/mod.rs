//! The leases of a stack: those of its lowest tier, which all processes share.

mod lowest;

use std::time::Duration;

use larder_store::layer::{Call, CallKind, Keys};
use larder_store::{
    DeleteDone, Error, Fill, LeaseDone, Leased, Leases, Put, Remaining, Result, SetDone,
    SetOptions, SetOutcome, Token, check_fill,
};

use crate::SCHEME;
use crate::read;
use crate::rules::{Rules, reported};
use crate::session::TiersSession;
use crate::stack::Stack;
use crate::tags::TagVersion;
use crate::tier::TierSession;
use crate::write::{self, Forms};

impl Leases for TiersSession {
    /// A fresh value of an upper tier is a hit. Otherwise the lowest tier answers, and its hit is filled in above.
    fn get_or_lease_early(
        &mut self,
        key: &[u8],
        value: &mut Vec<u8>,
        time: Duration,
        early: Duration,
    ) -> Result<Leased> {
        let call = Call::once(CallKind::Lease, "get_or_lease", Keys::One(key));
        self.traced(&call, |it| {
            let leased = it.look_or_lease(key, value, time, early);
            call.tell_bytes(value.len());
            leased
        })
    }

    /// The same for many keys: each tier is asked once.
    fn get_or_lease_many(
        &mut self,
        keys: &[&[u8]],
        time: Duration,
        early: Duration,
        done: &mut LeaseDone<'_>,
    ) -> Result<()> {
        let call = Call::once(CallKind::Lease, "get_or_lease_many", Keys::Many(keys));
        self.traced(&call, |it| {
            it.look_or_lease_many(keys, time, early, &mut |i, value, leased| {
                call.answer_with(&leased);
                done(i, value, leased);
            })
        })
    }

    fn fill(
        &mut self,
        key: &[u8],
        value: &[u8],
        options: &SetOptions,
        token: &Token,
    ) -> Result<SetOutcome> {
        check_fill(SCHEME, options)?;
        let call = Call::once(CallKind::Lease, "fill", Keys::One(key));
        call.tell_bytes(value.len());
        self.traced(&call, |it| it.fill_with_tags(key, value, options, token, &[]))
    }

    fn fill_many(&mut self, fills: &[Fill<'_>], done: &mut SetDone<'_>) -> Result<()> {
        let call = Call::once(CallKind::Lease, "fill_many", Keys::Fills(fills));
        self.traced(&call, |it| {
            it.fill_many_with_tags(fills, &[], &mut |i, outcome| {
                call.answer_with(&outcome);
                done(i, outcome);
            })
        })
    }

    fn release(&mut self, key: &[u8], token: &Token) -> Result<bool> {
        let call = Call::once(CallKind::Lease, "release", Keys::One(key));
        self.traced(&call, |it| {
            it.stack.write_behind.settle(key)?;
            of(lowest(&mut it.stack)?)?.release(key, token)
        })
    }

    fn release_many(&mut self, held: &[(&[u8], Token)], done: &mut DeleteDone<'_>) -> Result<()> {
        let call = Call::once(CallKind::Lease, "release_many", Keys::Held(held));
        self.traced(&call, |it| {
            release_many(&mut it.stack, held, &mut |i, outcome| {
                call.answer_with(&outcome);
                done(i, outcome);
            })
        })
    }

    /// The upper tiers drop the key: what is stale is read in the lowest tier.
    fn expire(&mut self, key: &[u8], keep: Option<Duration>) -> Result<bool> {
        let rules = self.stack.rules;
        let expire = |lowest: &mut TierSession| {
            let keep = time_to_keep(lowest, &rules, key, keep)?;
            of(lowest)?.expire(key, keep)
        };
        let call = Call::once(CallKind::Lease, "expire", Keys::One(key));
        self.traced(&call, |it| {
            let expired = write::lowest_then_drop(&mut it.stack, key, true, expire);
            expired.map(|(was_there, _)| was_there)
        })
    }

    fn token(&mut self, key: &[u8]) -> Result<Token> {
        self.stack.write_behind.settle(key)?;
        of(lowest(&mut self.stack)?)?.token(key)
    }

    fn renew(&mut self, key: &[u8], held: Option<&Token>) -> Result<Option<Token>> {
        self.stack.write_behind.settle(key)?;
        of(lowest(&mut self.stack)?)?.renew(key, held)
    }
}

impl TiersSession {
    /// Looks in the tiers above, and asks the lowest for a value or a lease.
    fn look_or_lease(
        &mut self,
        key: &[u8],
        value: &mut Vec<u8>,
        time: Duration,
        early: Duration,
    ) -> Result<Leased> {
        let early = early.saturating_add(self.stack.rules.grace);
        let n_above = self.stack.tiers.len() - 1;
        let seen = read::look(&mut self.stack, n_above, key, value, early)?;
        let shown = shown(&self.stack);
        if let Some(found) = seen.found {
            return Ok(shown(Leased::Hit(found.meta)));
        }
        self.lease_lowest(key, seen.fallback, value, time, early).map(shown)
    }

    /// The same for many keys.
    fn look_or_lease_many(
        &mut self,
        keys: &[&[u8]],
        time: Duration,
        early: Duration,
        done: &mut LeaseDone<'_>,
    ) -> Result<()> {
        let early = early.saturating_add(self.stack.rules.grace);
        let n_above = self.stack.tiers.len() - 1;
        let mut is_missing = vec![true; keys.len()];
        let (stack, batch) = (&mut self.stack, &mut self.batch);
        read::look_many_above(stack, batch, n_above, keys, early, &mut |i, value, found, _| {
            is_missing[i] = false;
            done(i, value, Ok(Leased::Hit(found.meta)));
        })?;
        let mut has_fallback = vec![false; keys.len()];
        self.batch.take_fallbacks().iter().for_each(|(i, ..)| has_fallback[*i] = true);
        let places: Vec<_> = (0..keys.len()).filter(|i| is_missing[*i]).collect();
        let asked: Vec<_> = places.iter().map(|i| (keys[*i], has_fallback[*i])).collect();
        let shown = shown(&self.stack);
        self.lease_lowest_many(&asked, time, early, &mut |place, value, leased| {
            done(places[place], value, leased.map(&shown));
        })
    }

    /// As [`Leases::fill`], with the versions of the value's tags.
    pub(crate) fn fill_with_tags(
        &mut self,
        key: &[u8],
        value: &[u8],
        options: &SetOptions,
        token: &Token,
        tag_versions: &[TagVersion],
    ) -> Result<SetOutcome> {
        let options = self.stack.rules.kept_options(options);
        self.with_stored(value, tag_versions, |stack, value| {
            let put = Put { key, value, options };
            let fill = |lowest: &mut TierSession| of(lowest)?.fill(key, value, &options, token);
            write::fill(stack, &put, fill)
        })
    }

    /// As [`Leases::fill_many`], with the versions of the tags that all values have.
    pub(crate) fn fill_many_with_tags(
        &mut self,
        fills: &[Fill<'_>],
        tag_versions: &[TagVersion],
        done: &mut SetDone<'_>,
    ) -> Result<()> {
        if !self.stack.rules.tags {
            return fill_many(&mut self.stack, fills, done);
        }
        let forms = Forms::of(fills.iter().map(|fill| fill.put.value), tag_versions);
        let stored = fills.iter().zip(forms.iter());
        let fills: Vec<_> = stored
            .map(|(fill, value)| Fill { put: Put { value, ..fill.put }, token: fill.token })
            .collect();
        fill_many(&mut self.stack, &fills, &mut |i, outcome| {
            done(i, outcome.map_err(|error| forms.in_terms_of_value(error)));
        })
    }
}

fn fill_many(stack: &mut Stack, fills: &[Fill<'_>], done: &mut SetDone<'_>) -> Result<()> {
    write::fill_many(stack, fills, done, |lowest, batch, done| of(lowest)?.fill_many(batch, done))
}

/// An answer of a tier, as the stack reports it.
fn shown(stack: &Stack) -> impl Fn(Leased) -> Leased + use<> {
    let (capabilities, rules) = (stack.capabilities, stack.rules);
    let shown = move |meta| reported(meta, false, &rules, &capabilities);
    move |leased| match leased {
        Leased::Hit(meta) => Leased::Hit(shown(meta)),
        Leased::Load { token, stale } => Leased::Load { token, stale: stale.map(shown) },
        Leased::Wait { stale } => Leased::Wait { stale: stale.map(shown) },
    }
}

/// Ends leases of the lowest tier.
fn release_many(
    stack: &mut Stack,
    held: &[(&[u8], Token)],
    done: &mut DeleteDone<'_>,
) -> Result<()> {
    let mut places = Vec::new();
    let settled = stack.write_behind.settle_many(held.iter().map(|(key, _)| *key));
    for (i, settled) in settled.into_iter().enumerate() {
        match settled {
            Ok(()) => places.push(i),
            Err(error) => done(i, Err(error)),
        }
    }
    let batch: Vec<_> = places.iter().map(|i| held[*i]).collect();
    let leases = of(lowest(stack)?)?;
    leases.release_many(&batch, &mut |place, outcome| done(places[place], outcome))
}

/// The time for which the lowest tier keeps an entry as stale: no longer than its TTL, and the time of grace.
fn time_to_keep(
    lowest: &mut TierSession,
    rules: &Rules,
    key: &[u8],
    keep: Option<Duration>,
) -> Result<Option<Duration>> {
    if rules.grace.is_zero() {
        return Ok(keep);
    }
    let facts = lowest.session.look(key)?;
    Ok(match facts.map(|facts| rules.ttl_of(facts.meta.ttl)) {
        Some(Remaining::For(left)) => rules.kept(Some(keep.map_or(left, |keep| keep.min(left)))),
        _ => rules.kept(keep),
    })
}

fn lowest(stack: &mut Stack) -> Result<&mut TierSession> {
    stack.tiers.last_mut().ok_or_else(none)
}

/// The leases of a tier, which its capabilities promise.
fn of(tier: &mut TierSession) -> Result<&mut dyn Leases> {
    tier.session.leases().ok_or_else(none)
}

fn none() -> Error {
    Error::Unsupported { engine: SCHEME, operation: "leases" }
}
