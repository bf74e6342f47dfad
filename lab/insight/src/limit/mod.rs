//! The limit: the most reads that a cache can hit if it begins empty, and why the others miss.
//!
//! A cache without limit is nearly that cache, but not quite. Another one may drop an entry, miss it once, and fill it again
//! with a TTL that begins later. That costs a hit, and pays where the recording then has reads that nobody filled. So two caches
//! are followed for each key: the best so far, and the one that has a hit less and keeps the entry for longer. No third
//! can be better than both, because every refill is as good as the latest, and keys do not meet in a cache without limit.
//!
//! For example, with a TTL of 10 s: an entry is stored at second 0 and read at 5, 12 and 14, and after the reads at 12 and 14 the
//! recorded application stored nothing. A cache that keeps the entry hits at 5 alone. One that drops it before 5 misses there, fills it
//! until 15, and hits at 12 and 14.
//!
//! Times are counted in ticks. An entry counts as there until its TTL is certainly over, and also where the recorded cache
//! had it for longer than its TTL tells: real caches are a second late.

use larder_report::{Estimate, HitLimit};

use crate::curve::{PARTS, Rates, float, ratio_of_parts};
use crate::sequence::{Facts, Sequence, part};
use crate::step::{Kept, Step, Steps, Use};

/// The limit of a trace, from the last level of its sample.
pub(crate) struct Limit {
    pub(crate) hit_limit: HitLimit,
    /// By key, whether an entry was ever stored.
    pub(crate) is_stored: Vec<bool>,
}

impl Limit {
    /// The limit by a sequence that has the share `level` of the keys of a recording, which has the share `recorded` of all.
    pub(crate) fn of(sequence: &Sequence, level: f64, recorded: f64, facts: Facts) -> Self {
        let mut misses = Misses::default();
        let n_parts = if level * recorded < 1.0 { PARTS } else { 1 };
        let mut of_parts = vec![vec![0; sequence.windows.len()]; n_parts];
        let steps = Kept { steps: &sequence.steps, n_keys: sequence.n_keys() };
        let mut window = 0;
        let is_stored = follow(&steps, |at, answer| {
            if let Answer::Missed(why) = answer {
                let step = &sequence.steps[at];
                misses.add(why, step.times());
                while at >= sequence.windows[window].uses.end {
                    window += 1;
                }
                let part = part(sequence.hashes[step.key as usize], n_parts);
                of_parts[part][window] += step.times();
            }
        });
        let all = (float(sequence.reads()) * level).max(1.0);
        let share = |why| misses.share(why, all);
        let deletes = sequence.steps.iter().any(|step| step.usage == Use::Drop);
        let reads = facts.reads;
        let ratio = ratio_of_parts(&of_parts, &sequence.windows, Rates { level, recorded, reads });
        // A sample must not tell that the recorded cache hit more than any can.
        let before = share(Why::Before);
        let recorded_hits = float(facts.hits) / float(facts.reads.max(1)) - before;
        let hit_ratio = ratio.hits.max(recorded_hits);
        let hit_limit = HitLimit {
            hit_ratio: Estimate::within(hit_ratio, ratio.half_width),
            first: share(Why::First),
            absent: (facts.has_results && facts.has_stores).then(|| share(Why::Absent)),
            expired: sequence.expires.then(|| share(Why::Expired)),
            deleted: deletes.then(|| share(Why::Deleted)),
            before: facts.has_results.then_some(before),
        };
        Self { hit_limit, is_stored }
    }
}

/// The answer of the best cache to a read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Answer {
    Hit,
    Missed(Why),
}

/// Why no cache hits a read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Why {
    /// It is the first of its key, or comes before anything was stored.
    First,
    /// The data has no such key: the read missed when it was recorded, and nobody stored the key afterwards.
    Absent,
    /// The TTL of its entry was over.
    Expired,
    /// The entry was deleted.
    Deleted,
    /// The recorded cache had an entry that nothing in the recording stored: it was there before.
    Before,
}

impl Why {
    const N: usize = 5;
}

/// The reads that miss in the best cache.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Misses([u64; Why::N]);

impl Misses {
    pub(crate) fn add(&mut self, why: Why, times: u64) {
        self.0[why as usize] += times;
    }

    pub(crate) fn of(&self, why: Why) -> u64 {
        self.0[why as usize]
    }

    /// The number of misses for one reason as a share of `all` reads.
    pub(crate) fn share(&self, why: Why, all: f64) -> f64 {
        float(self.of(why)) / all
    }
}

/// Follows the best cache through all steps, and passes the place and the answer of each read on. Returns by key whether an
/// entry was ever stored.
pub(crate) fn follow(steps: &impl Steps, mut answered: impl FnMut(usize, Answer)) -> Vec<bool> {
    let mut lives = vec![Life::default(); steps.n_keys()];
    for at in 0..steps.n_steps() {
        let step = steps.step(at);
        let life = &mut lives[step.key as usize];
        if step.usage.reads() {
            answered(at, life.read(&step));
            life.is_stored |= step.usage != Use::Look;
        } else {
            life.change(&step);
        }
    }
    lives.into_iter().map(|life| life.is_stored).collect()
}

/// One key in the two best caches, each by the time at which its entry is certainly over.
#[derive(Debug, Clone, Copy, Default)]
struct Life {
    /// In the cache with the most hits; `None` where it has no entry.
    best: Option<u32>,
    /// In the cache with one hit less, where it keeps the entry for longer.
    one_hit_less: Option<u32>,
    /// Why there is no entry, other than that there never was one.
    gone: Option<Why>,
    is_stored: bool,
}

impl Life {
    fn read(&mut self, step: &Step) -> Answer {
        let refilled = (step.usage != Use::Look).then(|| step.certain_expiry());
        let there = |expiry: &u32| step.at < *expiry;
        let (best, one_hit_less) = (self.best.filter(there), self.one_hit_less.filter(there));
        let is_expired = self.best.is_some() && best.is_none();
        let outlived = is_expired && step.usage == Use::Found;
        self.one_hit_less = None;
        if best.is_some() || outlived {
            // The entry stays, or is dropped before the read and filled again.
            let longer = one_hit_less.max(refilled);
            (self.best, self.one_hit_less) = if outlived { (longer, None) } else { (best, longer) };
            self.one_hit_less = self.one_hit_less.filter(|_| self.one_hit_less > self.best);
            return Answer::Hit;
        }
        // The cache with one hit less hits if it has the entry, and so catches up.
        self.best = one_hit_less.max(refilled);
        if is_expired {
            self.gone = Some(Why::Expired);
        }
        let why = match (step.usage, self.gone) {
            (Use::Found, _) => Why::Before,
            (_, Some(Why::Expired)) => Why::Expired,
            (Use::Look, _) => Why::Absent,
            (_, gone) => gone.unwrap_or(Why::First),
        };
        Answer::Missed(why)
    }

    /// A step that is no read.
    fn change(&mut self, step: &Step) {
        let there = |expiry: &u32| step.at < *expiry;
        match step.usage {
            Use::Write | Use::Fill => {
                (self.best, self.one_hit_less) = (Some(step.certain_expiry()), None);
            }
            Use::Add => {
                self.best = self.best.filter(there).max(Some(step.certain_expiry()));
                self.one_hit_less = self.one_hit_less.filter(|_| self.one_hit_less > self.best);
            }
            Use::Renew => {
                let renewed =
                    |expiry: Option<u32>| expiry.filter(there).map(|_| step.certain_expiry());
                match (renewed(self.best), renewed(self.one_hit_less)) {
                    (Some(best), _) => (self.best, self.one_hit_less) = (Some(best), None),
                    (None, one_hit_less) => self.one_hit_less = one_hit_less,
                }
            }
            Use::Drop => {
                if self.best.is_some() || self.gone.is_some() {
                    self.gone = Some(Why::Deleted);
                }
                (self.best, self.one_hit_less) = (None, None);
            }
            Use::Read | Use::Found | Use::Look | Use::Change => {}
        }
        if matches!(step.usage, Use::Write | Use::Fill | Use::Add) {
            self.is_stored = true;
        }
    }
}

#[cfg(test)]
mod tests;
