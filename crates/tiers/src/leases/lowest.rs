//! The answers of the lowest tier to those who ask for a value or a lease: what the tags of a value leave of it, and what the
//! tiers above do then.

use std::mem::take;
use std::sync::Arc;
use std::time::{Duration, Instant};

use larder_store::{LeaseDone, Leased, Meta, Result};

use super::{none, of};
use crate::fence::Right;
use crate::lookup::Found;
use crate::read;
use crate::session::{Stack, TiersSession};
use crate::tags::{self, Ended, Judged, Standing};
use crate::tier::{Life, Tier, TierCounters, TierSession};
use crate::tokens::Tokens;
use crate::write::apart;

/// A key that the lowest tier is asked for.
#[derive(Debug, Clone, Copy)]
struct Asked<'k> {
    key: &'k [u8],
    /// A value of an upper tier was set aside.
    has_aside: bool,
    /// The right to fill the key above, as of before the request.
    right: Right,
    /// The time of the request.
    at: Instant,
}

/// An answer of the lowest tier whose value has tags: the place of its key, the answer, and the stored form.
type Tagged = (usize, Leased, Vec<u8>);

impl TiersSession {
    /// Asks the lowest tier for a value or for a lease, and fills its hit in above. The metadata are as that tier tells them.
    /// Where that tier has no value, the value that was set `aside` is removed.
    pub(crate) fn lease_lowest(
        &mut self,
        (key, aside): (&[u8], Option<Found>),
        value: &mut Vec<u8>,
        time: Duration,
        early: Duration,
    ) -> Result<Leased> {
        let late = Arc::clone(&self.stack.late);
        let stack = &mut self.stack;
        for _ in 0..tags::TRIES {
            let right = stack.right(key);
            if let Some(meta) = late.get(key, value).filter(|meta| !meta.ttl.ends_within(early))
                && let Some(len) = late_len(stack, key, value)
            {
                value.truncate(len);
                return Ok(Leased::Hit(meta));
            }
            late.settle(key)?;
            let asked = Asked { key, has_aside: aside.is_some(), right, at: Instant::now() };
            let lowest = apart(stack).0;
            let answer = of(lowest)?.get_or_lease_early(key, value, time, early);
            let verdict = answer.and_then(|leased| {
                if !has_value(&leased) {
                    return Ok(Verdict::Answer(leased, 0));
                }
                decide(leased, tags::judge_lowest(stack, key, value))
            });
            match verdict {
                Ok(Verdict::Ended(meta, standing)) => {
                    tags::end_one_below(stack, &Ended { key, stored: value, meta, standing })?;
                }
                Ok(Verdict::Answer(leased, len)) => {
                    follow(stack, &asked, value, leased);
                    value.truncate(len);
                    return Ok(leased);
                }
                Err(error) => {
                    value.clear();
                    apart(stack).0.counters.errors.add(1);
                    return Err(error);
                }
            }
        }
        Err(tags::changes_again_and_again())
    }

    /// As [`Self::lease_lowest`] for many keys, each with whether a value of it was set aside. The lowest tier is asked once, and
    /// again only for entries that it has and that their tags have ended. It calls `done` as
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
        for _ in 0..tags::TRIES {
            let places = settle(stack, keys, take(&mut left), early, done);
            if places.is_empty() {
                return result;
            }
            let (tagged, asked) = ask_for_many(stack, &places, (time, early), done);
            let mut ended = Vec::new();
            for (place, verdict, stored) in decide_many(stack, tagged) {
                let (i, asked) = places[place];
                match verdict {
                    Ok(Verdict::Answer(leased, len)) => {
                        follow(stack, &asked, &stored, leased);
                        done(i, &stored[..len], Ok(leased));
                    }
                    Ok(Verdict::Ended(meta, standing)) => ended.push((i, stored, meta, standing)),
                    Err(error) => {
                        apart(stack).0.counters.errors.add(1);
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
            done(i, b"", Err(tags::changes_again_and_again()));
        }
        result
    }
}

/// Answers the keys whose values the lowest tier gets soon, and waits for the other late writes of the keys. Returns the others,
/// each with its place.
fn settle<'k>(
    stack: &mut Stack,
    keys: &[(&'k [u8], bool)],
    places: Vec<usize>,
    early: Duration,
    done: &mut LeaseDone<'_>,
) -> Vec<(usize, Asked<'k>)> {
    let (late, mut value, mut others) = (Arc::clone(&stack.late), Vec::new(), Vec::new());
    for i in places {
        let right = stack.right(keys[i].0);
        let meta = late.get(keys[i].0, &mut value).filter(|meta| !meta.ttl.ends_within(early));
        let len = meta.and_then(|_| late_len(stack, keys[i].0, &value));
        match meta.zip(len) {
            Some((meta, len)) => done(i, &value[..len], Ok(Leased::Hit(meta))),
            None => others.push((i, right)),
        }
    }
    let settled = late.settle_many(others.iter().map(|(i, _)| keys[*i].0));
    let at = Instant::now();
    let asked = others.into_iter().zip(settled).filter_map(|((i, right), settled)| {
        let (key, has_aside) = keys[i];
        match settled {
            Ok(()) => Some((i, Asked { key, has_aside, right, at })),
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
    found: &[(usize, Vec<u8>, Meta, Standing)],
    done: &mut LeaseDone<'_>,
) -> (Vec<usize>, Result<()>) {
    let ended = found.iter().map(|(i, stored, meta, standing)| Ended {
        key: keys[*i].0,
        stored,
        meta: *meta,
        standing: *standing,
    });
    let ended: Vec<_> = ended.collect();
    let mut again = Vec::new();
    let result = tags::end_below(stack, &ended, &mut |place, outcome| match outcome {
        Ok(()) => again.push(found[place].0),
        Err(error) => done(found[place].0, b"", Err(error)),
    });
    apart(stack).0.counters.errors.add((found.len() - again.len()) as u64);
    (again, result)
}

/// Asks the lowest tier for all these keys, and tells the answers whose values have no tags. Returns the others: one read gets
/// the counters of all their tags.
fn ask_for_many(
    stack: &mut Stack,
    places: &[(usize, Asked<'_>)],
    (time, early): (Duration, Duration),
    done: &mut LeaseDone<'_>,
) -> (Vec<Tagged>, Result<()>) {
    let (mut tagged, mut n_answers) = (Vec::new(), 0);
    let rules = stack.rules;
    let keys: Vec<_> = places.iter().map(|(_, asked)| asked.key).collect();
    let (lowest, above, tokens) = apart(stack);
    let TierSession { session, tier, counters, .. } = lowest;
    let Some(leases) = session.leases() else { return (tagged, Err(none())) };
    let result = leases.get_or_lease_many(&keys, time, early, &mut |place, stored, leased| {
        n_answers += 1;
        let (i, asked) = &places[place];
        let len = tags::len_without_tags(&rules, asked.key, stored);
        match (leased, len) {
            (Ok(leased), None) if has_value(&leased) => {
                tagged.push((place, leased, stored.to_vec()));
            }
            (Ok(leased), len) => {
                follow_in((above, tokens), (tier, counters), asked, stored, leased);
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
    /// This answer, with so many bytes of the stored form.
    Answer(Leased, usize),
    /// Nothing: the entry is fresh to the tier, and its tags have ended it.
    Ended(Meta, Standing),
}

fn decide(leased: Leased, judged: Judged) -> Result<Verdict> {
    let is_gone = matches!(judged.standing, Standing::Gone | Standing::Unknown);
    Ok(match leased {
        Leased::Hit(meta) => match judged.standing {
            Standing::Holds => Verdict::Answer(leased, judged.len),
            unsure if unsure.is_unsure() => return Err(tags::unknown(judged.failed)),
            ended => Verdict::Ended(meta, ended),
        },
        Leased::Load { token, .. } if is_gone => {
            Verdict::Answer(Leased::Load { token, stale: None }, 0)
        }
        Leased::Wait { .. } if is_gone => Verdict::Answer(Leased::Wait { stale: None }, 0),
        leased => Verdict::Answer(leased, judged.len),
    })
}

/// The same for answers whose values have tags.
fn decide_many(stack: &mut Stack, tagged: Vec<Tagged>) -> Vec<(usize, Result<Verdict>, Vec<u8>)> {
    if tagged.is_empty() {
        return Vec::new();
    }
    let stored: Vec<&[u8]> = tagged.iter().map(|(.., stored)| &**stored).collect();
    let (judged, mut failed) = tags::judge_many(stack, &stored, true);
    let decided =
        tagged.into_iter().zip(judged).map(|((place, leased, stored), (len, standing))| {
            // The failure is told for the first that needs it. An error of the same kind is told for the others.
            let failed = if standing.is_unsure() { failed.take() } else { None };
            (place, decide(leased, Judged { len, standing, failed }), stored)
        });
    decided.collect()
}

/// Counts an answer of the lowest tier, and lets the tiers above follow it.
fn follow(stack: &mut Stack, asked: &Asked<'_>, stored: &[u8], leased: Leased) {
    let (lowest, above, tokens) = apart(stack);
    follow_in((above, tokens), (&lowest.tier, &lowest.counters), asked, stored, leased);
}

fn follow_in(
    (above, tokens): (&mut [TierSession], &Tokens),
    (tier, counters): (&Tier, &TierCounters),
    asked: &Asked<'_>,
    stored: &[u8],
    leased: Leased,
) {
    if let Leased::Hit(meta) = leased {
        counters.hits.add(1);
        let life = Life::told(meta, tier, asked.at);
        read::fill(above, tokens, asked.right, (asked.key, stored, meta.flags, life));
        return;
    }
    counters.misses.add(1);
    if asked.has_aside && !has_value(&leased) {
        read::drop_over(above, tokens, asked.key);
    }
}

/// The length of a late value that its tags leave. What is not known for sure is asked for again below.
fn late_len(stack: &mut Stack, key: &[u8], stored: &[u8]) -> Option<usize> {
    let judged = tags::judge_lowest(stack, key, stored);
    let holds = judged.standing == Standing::Holds;
    if holds {
        apart(stack).0.counters.hits.add(1);
    }
    holds.then_some(judged.len)
}

fn has_value(leased: &Leased) -> bool {
    !matches!(leased, Leased::Load { stale: None, .. } | Leased::Wait { stale: None })
}
