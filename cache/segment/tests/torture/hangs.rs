//! The verdict on slow operations: hangs or not.
//!
//! An operation's own time excludes the time in which its own process was stopped or waited for a processor. The time in
//! which the holder of the key's lock was stopped or waited is no fault of the cache either, and is counted apart. So is the
//! time that the hypervisor took from a processor.

use crate::KEYS;
use crate::WORKERS;
use crate::ledger::{ANY, Slow};
use crate::sampler::{Held, Seen, Span};
use crate::values::{is_long, name};

/// The shortest hang.
pub(crate) const HANG: u64 = 100_000_000;

/// Processes that share processors seldom wait for this long.
const LONG: u64 = 20_000_000;

/// The outcomes of slow operations. Times are in nanoseconds.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Judged {
    pub(crate) hangs: u64,
    /// Operations that were slow because the lock's holder did not run. For rival caches, any other
    /// worker counts as the holder.
    pub(crate) behind: u64,
    pub(crate) longest_hang: u64,
    pub(crate) longest_behind: u64,
    /// The longest operation that ended without the lock.
    pub(crate) longest_busy: u64,
    /// The time between looks that were too far apart.
    pub(crate) unseen: u64,
}

impl Judged {
    /// Adds the verdicts of another run.
    pub(crate) fn add(&mut self, other: &Self) {
        self.hangs += other.hangs;
        self.behind += other.behind;
        self.longest_hang = self.longest_hang.max(other.longest_hang);
        self.longest_behind = self.longest_behind.max(other.longest_behind);
        self.longest_busy = self.longest_busy.max(other.longest_busy);
        self.unseen += other.unseen;
    }
}

impl Seen {
    /// Judges all slow operations: by the holders of locks where those are known, by all stops otherwise.
    pub(crate) fn judge(&self, holders: Option<&larder_segment::Session>) -> Judged {
        let unseen = self.gaps.iter().map(|gap| gap.to - gap.from).sum();
        let mut judged = Judged { unseen, ..Judged::default() };
        for slow in &self.slow {
            let during = Span { from: slow.from, to: slow.to };
            let stopped = covered(self.stops[slow.worker].iter().copied(), during);
            let own = (slow.to - slow.from).saturating_sub(stopped + slow.waited);
            if slow.is_busy {
                judged.longest_busy = judged.longest_busy.max(own);
            }
            if own <= HANG {
                continue;
            }
            let others = match holders {
                Some(session) => self.behind_holders(slow, session, during),
                None => self.behind_any(slow.worker, during),
            };
            if own.saturating_sub(others) > HANG {
                judged.hangs += 1;
                judged.longest_hang = judged.longest_hang.max(own);
            } else {
                judged.behind += 1;
                judged.longest_behind = judged.longest_behind.max(own);
            }
        }
        judged
    }

    /// How long one that held the lock did not run.
    fn behind_holders(&self, slow: &Slow, session: &larder_segment::Session, during: Span) -> u64 {
        let key = usize::try_from(slow.key).unwrap_or(usize::MAX);
        let anywhere = slow.key == ANY || key < KEYS && is_long(key);
        let partition = (!anywhere).then(|| session.partition_of(&name(key)));
        let is_it = |held: &&Held| {
            partition.is_none_or(|partition| held.partition == partition)
                && held.worker != slow.worker
                && meet(held.span, during).is_some()
        };
        let mut spans: Vec<Span> = self.gaps.iter().chain(&self.stolen).copied().collect();
        for held in self.held.iter().filter(is_it) {
            let of_holder = self.stops[held.worker].iter().chain(&self.not_run[held.worker]);
            spans.extend(of_holder.filter_map(|span| meet(*span, held.span)));
        }
        covered(spans.into_iter(), during)
    }

    /// The time in which another worker was stopped, or waited long for a processor, as on a busy machine.
    fn behind_any(&self, worker: usize, during: Span) -> u64 {
        let others = || (0..WORKERS).filter(|other| *other != worker);
        let stops = others().flat_map(|other| self.stops[other].iter());
        let long = |span: &&Span| span.to - span.from >= LONG;
        let not_run = others().flat_map(|other| self.not_run[other].iter().filter(long));
        let machine = self.gaps.iter().chain(&self.stolen);
        covered(stops.chain(not_run).chain(machine).copied(), during)
    }
}

fn meet(one: Span, other: Span) -> Option<Span> {
    let (from, to) = (one.from.max(other.from), one.to.min(other.to));
    (from < to).then_some(Span { from, to })
}

/// The part of a time that these spans cover.
fn covered(spans: impl Iterator<Item = Span>, during: Span) -> u64 {
    let mut spans: Vec<Span> = spans.filter_map(|span| meet(span, during)).collect();
    spans.sort_by_key(|span| span.from);
    let (mut sum, mut until) = (0, 0);
    for Span { from, to } in spans {
        sum += to.saturating_sub(from.max(until));
        until = until.max(to);
    }
    sum
}
