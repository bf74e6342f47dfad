//! The answers of the lowest tier to those who ask for a value or a lease: what the tags of a value leave of it, and what the
//! tiers above do then.

use std::mem::take;
use std::sync::Arc;
use std::time::{Duration, Instant};

use larder_store::{LeaseDone, Leased, Meta, Result};

use super::{none, of};
use crate::fill_token::{FillToken, LowerEntry};
use crate::lookup::Found;
use crate::read::{self, Judged};
use crate::session::TiersSession;
use crate::stack::Stack;
use crate::tags::TagState;
use crate::tier::{RemainingTtl, Tier, TierCounters, TierSession};
use crate::tokens::Tokens;
use crate::write::{self, Ended};

/// A key that the lowest tier is asked for.
#[derive(Debug, Clone, Copy)]
struct Request<'k> {
    key: &'k [u8],
    /// An expired value of an upper tier was kept as the fallback.
    has_fallback: bool,
    /// The token to fill the key above, taken before the request.
    fill_token: FillToken,
    /// The time of the request.
    at: Instant,
}

/// An answer of the lowest tier whose value has tags: the place of its key, the answer, and the stored form.
type Tagged = (usize, Leased, Vec<u8>);

impl TiersSession {
    /// Asks the lowest tier for a value or for a lease, and fills its hit in above. The metadata are as that tier reports them.
    /// Where that tier has no value, the `fallback` is removed.
    pub(crate) fn lease_lowest(
        &mut self,
        key: &[u8],
        fallback: Option<Found>,
        value: &mut Vec<u8>,
        time: Duration,
        early: Duration,
    ) -> Result<Leased> {
        let write_behind = Arc::clone(&self.stack.write_behind);
        let stack = &mut self.stack;
        for _ in 0..write::TRIES {
            let fill_token = stack.fill_token(key);
            if let Some(meta) =
                write_behind.get(key, value).filter(|meta| !meta.ttl.ends_within(early))
                && let Some(len) = queued_len(stack, key, value)
            {
                value.truncate(len);
                return Ok(Leased::Hit(meta));
            }
            write_behind.settle(key)?;
            let asked =
                Request { key, has_fallback: fallback.is_some(), fill_token, at: Instant::now() };
            let lowest = stack.split().0;
            let answer = of(lowest)?.get_or_lease_early(key, value, time, early);
            let verdict = answer.and_then(|leased| {
                if !has_value(&leased) {
                    return Ok(Verdict::Answer(leased, 0));
                }
                decide(leased, read::judge_lowest(stack, key, value))
            });
            match verdict {
                Ok(Verdict::Ended(meta, state)) => {
                    write::end_one_below(stack, &Ended { key, stored: value, meta, state })?;
                }
                Ok(Verdict::Answer(leased, len)) => {
                    follow(stack, &asked, value, leased);
                    value.truncate(len);
                    return Ok(leased);
                }
                Err(error) => {
                    value.clear();
                    stack.split().0.counters.errors.add(1);
                    return Err(error);
                }
            }
        }
        Err(write::changes_again_and_again())
    }

    /// As [`Self::lease_lowest`] for many keys, each with whether it has a fallback. The lowest tier is asked once, and again only
    /// for entries that it has and that their tags have ended. It calls `done` as
    /// [`Leases::get_or_lease_many`](larder_store::Leases::get_or_lease_many) does.
    pub(crate) fn lease_lowest_many(
        &mut self,
        keys: &[(&[u8], bool)],
        time: Duration,
        early: Duration,
        done: &mut LeaseDone<'_>,
    ) -> Result<()> {
        let stack = &mut self.stack;
        let (mut left, mut result): (Vec<usize>, _) = ((0..keys.len()).collect(), Ok(()));
        for _ in 0..write::TRIES {
            let places = settle(stack, keys, take(&mut left), early, done);
            if places.is_empty() {
                return result;
            }
            let (tagged, asked) = ask_for_many(stack, &places, time, early, done);
            let mut ended = Vec::new();
            for (place, verdict, stored) in decide_many(stack, tagged) {
                let (i, asked) = places[place];
                match verdict {
                    Ok(Verdict::Answer(leased, len)) => {
                        follow(stack, &asked, &stored, leased);
                        done(i, &stored[..len], Ok(leased));
                    }
                    Ok(Verdict::Ended(meta, state)) => ended.push((i, stored, meta, state)),
                    Err(error) => {
                        stack.split().0.counters.errors.add(1);
                        done(i, b"", Err(error));
                    }
                }
            }
            let (again, ended) = end_many(stack, keys, &ended, done);
            // A server that fails concerns its own keys only.
            left = again;
            result = result.and(asked).and(ended);
        }
        for i in left {
            done(i, b"", Err(write::changes_again_and_again()));
        }
        result
    }
}

/// Answers the keys whose values the lowest tier gets soon, and waits for the other queued writes of the keys. Returns the others,
/// each with its place.
fn settle<'k>(
    stack: &mut Stack,
    keys: &[(&'k [u8], bool)],
    places: Vec<usize>,
    early: Duration,
    done: &mut LeaseDone<'_>,
) -> Vec<(usize, Request<'k>)> {
    let (write_behind, mut value, mut others) =
        (Arc::clone(&stack.write_behind), Vec::new(), Vec::new());
    for i in places {
        let fill_token = stack.fill_token(keys[i].0);
        let meta =
            write_behind.get(keys[i].0, &mut value).filter(|meta| !meta.ttl.ends_within(early));
        let len = meta.and_then(|_| queued_len(stack, keys[i].0, &value));
        match meta.zip(len) {
            Some((meta, len)) => done(i, &value[..len], Ok(Leased::Hit(meta))),
            None => others.push((i, fill_token)),
        }
    }
    let settled = write_behind.settle_many(others.iter().map(|(i, _)| keys[*i].0));
    let at = Instant::now();
    let asked = others.into_iter().zip(settled).filter_map(|((i, fill_token), settled)| {
        let (key, has_fallback) = keys[i];
        match settled {
            Ok(()) => Some((i, Request { key, has_fallback, fill_token, at })),
            Err(error) => {
                done(i, b"", Err(error));
                None
            }
        }
    });
    asked.collect()
}

/// Ends entries of the lowest tier, each with the place of its key, and returns the places of those that are asked for again.
fn end_many(
    stack: &mut Stack,
    keys: &[(&[u8], bool)],
    found: &[(usize, Vec<u8>, Meta, TagState)],
    done: &mut LeaseDone<'_>,
) -> (Vec<usize>, Result<()>) {
    let ended = found.iter().map(|(i, stored, meta, state)| Ended {
        key: keys[*i].0,
        stored,
        meta: *meta,
        state: *state,
    });
    let ended: Vec<_> = ended.collect();
    let mut again = Vec::new();
    let result = write::end_below(stack, &ended, &mut |place, outcome| match outcome {
        Ok(()) => again.push(found[place].0),
        Err(error) => done(found[place].0, b"", Err(error)),
    });
    stack.split().0.counters.errors.add((found.len() - again.len()) as u64);
    (again, result)
}

/// Asks the lowest tier for all these keys, and passes on the answers whose values have no tags. Returns the others: one read gets
/// the counters of all their tags.
fn ask_for_many(
    stack: &mut Stack,
    places: &[(usize, Request<'_>)],
    time: Duration,
    early: Duration,
    done: &mut LeaseDone<'_>,
) -> (Vec<Tagged>, Result<()>) {
    let (mut tagged, mut n_answers) = (Vec::new(), 0);
    let rules = stack.rules;
    let keys: Vec<_> = places.iter().map(|(_, asked)| asked.key).collect();
    let (lowest, above, tokens) = stack.split();
    let TierSession { session, tier, counters, .. } = lowest;
    let Some(leases) = session.leases() else { return (tagged, Err(none())) };
    let result = leases.get_or_lease_many(&keys, time, early, &mut |place, stored, leased| {
        n_answers += 1;
        let (i, asked) = &places[place];
        let len = read::len_without_tags(&rules, asked.key, stored);
        match (leased, len) {
            (Ok(leased), None) if has_value(&leased) => {
                tagged.push((place, leased, stored.to_vec()));
            }
            (Ok(leased), len) => {
                follow_in(above, tokens, tier, counters, asked, stored, leased);
                done(*i, &stored[..len.unwrap_or_default()], Ok(leased));
            }
            (Err(error), _) => {
                counters.errors.add(1);
                done(*i, b"", Err(error));
            }
        }
    });
    counters.errors.add(places.len().saturating_sub(n_answers) as u64);
    (tagged, result)
}

/// What is left of an answer of the lowest tier.
enum Verdict {
    /// This answer, with this many bytes of the stored form.
    Answer(Leased, usize),
    /// Nothing: the entry is fresh to the tier, and its tags have ended it.
    Ended(Meta, TagState),
}

fn decide(leased: Leased, judged: Judged) -> Result<Verdict> {
    let is_invalidated = matches!(judged.state, TagState::Invalidated | TagState::Unknown);
    Ok(match leased {
        Leased::Hit(meta) => match judged.state {
            TagState::Valid => Verdict::Answer(leased, judged.len),
            unsure if unsure.is_unsure() => return Err(read::unknown(judged.failed)),
            ended => Verdict::Ended(meta, ended),
        },
        Leased::Load { token, .. } if is_invalidated => {
            Verdict::Answer(Leased::Load { token, stale: None }, 0)
        }
        Leased::Wait { .. } if is_invalidated => Verdict::Answer(Leased::Wait { stale: None }, 0),
        leased => Verdict::Answer(leased, judged.len),
    })
}

/// The same for answers whose values have tags.
fn decide_many(stack: &mut Stack, tagged: Vec<Tagged>) -> Vec<(usize, Result<Verdict>, Vec<u8>)> {
    if tagged.is_empty() {
        return Vec::new();
    }
    let stored: Vec<&[u8]> = tagged.iter().map(|(.., stored)| &**stored).collect();
    let (judged, mut failed) = read::judge_many(stack, &stored, true);
    let decided = tagged.into_iter().zip(judged).map(|((place, leased, stored), (len, state))| {
        // The first such entry gets the failure itself, and the others an error of the same kind.
        let failed = if state.is_unsure() { failed.take() } else { None };
        (place, decide(leased, Judged { len, state, failed }), stored)
    });
    decided.collect()
}

/// Counts an answer of the lowest tier, and lets the tiers above follow it.
fn follow(stack: &mut Stack, asked: &Request<'_>, stored: &[u8], leased: Leased) {
    let (lowest, above, tokens) = stack.split();
    follow_in(above, tokens, &lowest.tier, &lowest.counters, asked, stored, leased);
}

fn follow_in(
    above: &mut [TierSession],
    tokens: &Tokens,
    tier: &Tier,
    counters: &TierCounters,
    asked: &Request<'_>,
    stored: &[u8],
    leased: Leased,
) {
    if let Leased::Hit(meta) = leased {
        counters.hits.add(1);
        let remaining = RemainingTtl::reported(meta, tier, asked.at);
        let entry = LowerEntry { key: asked.key, value: stored, flags: meta.flags, remaining };
        read::fill(above, tokens, asked.fill_token, entry);
        return;
    }
    counters.misses.add(1);
    if asked.has_fallback && !has_value(&leased) {
        read::drop_above(above, tokens, asked.key);
    }
}

/// The length of a queued value that its tags leave. What is not known for sure is asked for again below.
fn queued_len(stack: &mut Stack, key: &[u8], stored: &[u8]) -> Option<usize> {
    let judged = read::judge_lowest(stack, key, stored);
    let holds = judged.state == TagState::Valid;
    if holds {
        stack.split().0.counters.hits.add(1);
    }
    holds.then_some(judged.len)
}

fn has_value(leased: &Leased) -> bool {
    !matches!(leased, Leased::Load { stale: None, .. } | Leased::Wait { stale: None })
}
