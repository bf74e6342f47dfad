//! The uses of a level as steps of a simulation: keys have small numbers, and gaps in what was recorded are closed.

use rapidhash::RapidHashMap;

use crate::curve::float;
use crate::sample::{Kind, Level, Reference, Ttls, Window};
use crate::step::{Step, TICKS_A_SECOND, Use};

/// What the whole trace tells of its uses.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Facts {
    /// All reads.
    pub(crate) reads: u64,
    /// Those that hit in the recording.
    pub(crate) hits: u64,
    /// Whether something was stored.
    pub(crate) has_stores: bool,
    /// Whether reads tell that they missed.
    pub(crate) has_results: bool,
    /// Whether there are times, so that entries expire.
    pub(crate) has_times: bool,
}

/// Steps of some keys.
#[derive(Debug, Default)]
pub(crate) struct Sequence {
    pub(crate) steps: Vec<Step>,
    /// By key, the hash that chose it.
    pub(crate) hashes: Vec<u64>,
    pub(crate) windows: Vec<Window>,
    /// The windows that were left out behind each.
    pub(crate) left_out: usize,
    /// Whether entries have TTLs.
    pub(crate) expires: bool,
    /// Whether sizes were recorded.
    pub(crate) has_sizes: bool,
    /// The share of the uses whose sizes were not.
    pub(crate) sizes_filled: f64,
}

impl Facts {
    /// Whether it is known of a miss whether somebody filled it.
    fn tells_fills(&self) -> bool {
        self.has_stores && self.has_results
    }

    /// Whether a write that follows a read of this kind is its fill. Where reads have no results, each read may have missed.
    fn is_filled_by_write(&self, before: Option<Kind>) -> bool {
        match before {
            Some(Kind::Missed) => true,
            Some(Kind::Read) => !self.has_results,
            _ => false,
        }
    }

    /// What is done with a key, by the kind of its use and of the next one.
    fn usage(&self, kind: Kind, next: Option<Kind>) -> Use {
        let is_filled = || matches!(next, Some(Kind::Write | Kind::Add));
        match kind {
            Kind::Read => Use::Read,
            Kind::Found => Use::Found,
            Kind::Missed if !self.tells_fills() || is_filled() => Use::Read,
            Kind::Missed => Use::Look,
            Kind::Write => Use::Write,
            Kind::Add => Use::Add,
            Kind::Change => Use::Change,
            Kind::Renew => Use::Renew,
            Kind::Drop => Use::Drop,
        }
    }
}

impl Sequence {
    /// The steps of a level, which gives up its uses.
    pub(crate) fn of(mut level: Level, ttls: &Ttls, facts: Facts) -> Self {
        let windows = level.windows(facts.reads);
        let left_out = level.left_out();
        let more: Vec<u32> = level.uses().map(|(_, more)| more).collect();
        let references = std::mem::take(&mut level.references);
        let (keys, hashes) = numbered(&references);
        let sizes = KnownSizes::of(&references, &more);
        let steps = steps(&references, &keys, hashes.len(), sizes.mean, ttls, facts);
        let expires = steps.iter().any(|step| step.ttl > 0);
        let (has_sizes, sizes_filled) = (sizes.mean > 0, sizes.missing);
        let mut sequence =
            Self { steps, hashes, windows, left_out, expires, has_sizes, sizes_filled };
        if more.iter().any(|more| *more > 0) {
            let is_missed =
                |at: usize| facts.tells_fills() && references[at].kind() == Kind::Missed;
            sequence.repeat(&more, is_missed);
        }
        sequence
    }

    /// Adds the number of repetitions of each step. The first of a run may miss where the others hit, so it is a step of its
    /// own. Of reads that are known to have missed, nobody filled any but the last.
    fn repeat(&mut self, more: &[u32], is_missed: impl Fn(usize) -> bool) {
        let mut steps = Vec::with_capacity(self.steps.len() + more.len());
        // By step, the place of the first of its run.
        let mut places = Vec::with_capacity(self.steps.len() + 1);
        for (at, (step, more)) in self.steps.iter().zip(more).enumerate() {
            places.push(steps.len());
            let last = (is_missed(at) && *more > 0).then_some(*step);
            let first = if last.is_some() { Step { usage: Use::Look, ..*step } } else { *step };
            let others = more - u32::from(last.is_some());
            // Only one write fills a read.
            let usage = if first.usage == Use::Fill { Use::Write } else { first.usage };
            steps.push(first);
            steps.extend(others.checked_sub(1).map(|more| Step { usage, more, ..first }));
            steps.extend(last);
        }
        places.push(steps.len());
        for window in &mut self.windows {
            window.uses = places[window.uses.start]..places[window.uses.end];
        }
        self.steps = steps;
    }

    /// The steps of a window.
    pub(crate) fn steps_of(&self, window: &Window) -> &[Step] {
        &self.steps[window.uses.clone()]
    }

    /// The number of keys.
    pub(crate) fn n_keys(&self) -> usize {
        self.hashes.len()
    }

    /// The number of uses.
    pub(crate) fn n_uses(&self) -> u64 {
        times(&self.steps, |_| true)
    }

    /// The reads of the whole trace during its windows.
    pub(crate) fn reads(&self) -> u64 {
        self.windows.iter().map(|window| window.reads.end - window.reads.start).sum()
    }

    /// The share of the reads that nobody fills after a miss.
    pub(crate) fn not_filled(&self) -> f64 {
        let reads = times(&self.steps, |step| step.usage.reads());
        let looks = times(&self.steps, |step| step.usage == Use::Look);
        float(looks) / float(reads.max(1))
    }

    /// The same keys in `n` disjoint parts, chosen by other bits of their hashes.
    pub(crate) fn split(&self, n: usize) -> Vec<Self> {
        let mut parts: Vec<Self> = Vec::new();
        parts.resize_with(n, || Self {
            left_out: self.left_out,
            expires: self.expires,
            has_sizes: self.has_sizes,
            ..Self::default()
        });
        let of_key = |hash: &u64| {
            let part = part(*hash, n);
            let hashes = &mut parts[part].hashes;
            hashes.push(*hash);
            (part, number(hashes.len() - 1))
        };
        let keys: Vec<(usize, u32)> = self.hashes.iter().map(of_key).collect();
        for window in &self.windows {
            let begins: Vec<usize> = parts.iter().map(|part| part.steps.len()).collect();
            for step in self.steps_of(window) {
                let (part, key) = keys[step.key as usize];
                parts[part].steps.push(Step { key, ..*step });
            }
            for (part, begin) in parts.iter_mut().zip(begins) {
                let uses = begin..part.steps.len();
                part.windows.push(Window { uses, reads: window.reads.clone() });
            }
        }
        parts
    }
}

/// A step for each of some uses, whose keys have these numbers. A use without a size and without another of its key has the mean.
fn steps(
    references: &[Reference],
    keys: &[u32],
    n_keys: usize,
    mean: u32,
    ttls: &Ttls,
    facts: Facts,
) -> Vec<Step> {
    // Without times no entry expires in any model.
    let ttl_s = |reference: &Reference| {
        if facts.has_times { ttls.seconds(reference.ttl()) } else { 0 }
    };
    let mut known = Known::new(n_keys);
    let mut steps = vec![Step::default(); references.len()];
    // From the end, because a read is filled with what is stored after it.
    for (at, (reference, key)) in references.iter().zip(keys).enumerate().rev() {
        let of_key = &mut known.0[*key as usize];
        let kind = reference.kind();
        let own = ttl_s(reference);
        steps[at] = Step {
            key: *key,
            size: reference.size().or(of_key.size).unwrap_or(0),
            at: reference.at(),
            is_later: reference.is_later(),
            ttl: ticks(if own == 0 && kind.reads() { of_key.ttl_s } else { own }),
            usage: facts.usage(kind, of_key.latest),
            more: 0,
        };
        of_key.note(reference, kind, own);
    }
    // Then forwards: what was stored before says more than what is stored later.
    let mut before = Known::new(n_keys);
    for (step, reference) in steps.iter_mut().zip(references) {
        let of_key = &mut before.0[step.key as usize];
        let kind = reference.kind();
        step.size = reference.size().or(of_key.size).unwrap_or(step.size);
        if step.size == 0 {
            step.size = mean;
        }
        if kind.reads() && of_key.is_stored && ttl_s(reference) == 0 {
            step.ttl = ticks(of_key.ttl_s);
        }
        if kind == Kind::Write && facts.is_filled_by_write(of_key.latest) {
            step.usage = Use::Fill;
        }
        of_key.note(reference, kind, ttl_s(reference));
    }
    steps
}

/// How many times such steps are made.
pub(crate) fn times(steps: &[Step], are_meant: impl Fn(&Step) -> bool) -> u64 {
    steps.iter().filter(|step| are_meant(step)).map(Step::times).sum()
}

/// The part of a key, by low bits of its hash: the highest choose the level.
pub(crate) fn part(hash: u64, n: usize) -> usize {
    usize::try_from((hash >> 16) % n as u64).unwrap_or(0)
}

/// What is known of a key at some time.
#[derive(Debug, Clone, Copy, Default)]
struct OfKey {
    size: Option<u32>,
    ttl_s: u32,
    is_stored: bool,
    /// What was last looked at, but for what does nothing to a key that is absent.
    latest: Option<Kind>,
}

impl OfKey {
    fn note(&mut self, reference: &Reference, kind: Kind, ttl_s: u32) {
        self.size = reference.size().or(self.size);
        if kind == Kind::Write {
            (self.ttl_s, self.is_stored) = (ttl_s, true);
        }
        if !matches!(kind, Kind::Renew | Kind::Change) {
            self.latest = Some(kind);
        }
    }
}

#[derive(Debug)]
struct Known(Vec<OfKey>);

impl Known {
    fn new(n_keys: usize) -> Self {
        Self(vec![OfKey::default(); n_keys])
    }
}

/// The number of the key of each use, in the order of their first uses, and the hash of each key.
fn numbered(references: &[Reference]) -> (Vec<u32>, Vec<u64>) {
    let mut numbers: RapidHashMap<u64, u32> = RapidHashMap::default();
    let mut hashes = Vec::new();
    let keys = references.iter().map(|reference| {
        *numbers.entry(reference.hash()).or_insert_with(|| {
            hashes.push(reference.hash());
            number(hashes.len() - 1)
        })
    });
    (keys.collect(), hashes)
}

fn number(place: usize) -> u32 {
    u32::try_from(place).expect("a sample has fewer keys than 2^32")
}

fn ticks(seconds: u32) -> u32 {
    seconds.saturating_mul(TICKS_A_SECOND)
}

/// What the uses tell of sizes.
struct KnownSizes {
    /// The mean of those that were recorded; 0 where none was.
    mean: u32,
    /// The share of the uses without one.
    missing: f64,
}

impl KnownSizes {
    /// Of uses that are repeated this many times each.
    fn of(references: &[Reference], more: &[u32]) -> Self {
        let (mut sum, mut n_sizes, mut n_uses) = (0_u128, 0, 0);
        for (reference, more) in references.iter().zip(more) {
            let times = u64::from(*more) + 1;
            n_uses += times;
            if let Some(size) = reference.size() {
                sum += u128::from(size) * u128::from(times);
                n_sizes += times;
            }
        }
        let mean = sum.checked_div(n_sizes.into()).unwrap_or(0);
        let missing = float(n_uses - n_sizes) / float(n_uses.max(1));
        Self { mean: u32::try_from(mean).unwrap_or(u32::MAX), missing }
    }
}
