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

impl Sequence {
    /// The steps of a level, which gives up its uses.
    pub(crate) fn of(mut level: Level, ttls: &Ttls, facts: Facts) -> Self {
        let ttl_s = |reference: &Reference| ttls.seconds(reference.ttl());
        let windows = level.windows(facts.reads);
        let left_out = level.left_out();
        let references = std::mem::take(&mut level.references);
        let (keys, hashes) = numbered(&references);
        let mut known = Known::new(hashes.len());
        let mean = mean_size(&references);
        let mut steps = vec![Step::default(); references.len()];
        let is_filled = |missed: bool, next: Option<Kind>| {
            let tells = missed && facts.has_stores && facts.has_results;
            !tells || next.is_none_or(|next| matches!(next, Kind::Write | Kind::Change))
        };
        // From the end, because a read is filled with what is stored after it.
        for (at, (reference, key)) in references.iter().zip(&keys).enumerate().rev() {
            let of_key = &mut known.0[*key as usize];
            let kind = reference.kind();
            steps[at] = Step {
                key: *key,
                size: reference.size().or(of_key.size).unwrap_or(0),
                at: reference.at,
                ttl: ticks(if kind.reads() { of_key.ttl_s } else { ttl_s(reference) }),
                usage: match kind {
                    Kind::Read => Use::Read,
                    Kind::Missed if is_filled(true, of_key.next) => Use::Read,
                    Kind::Missed => Use::Look,
                    Kind::Write => Use::Write,
                    Kind::Change => Use::Change,
                    Kind::Renew => Use::Renew,
                    Kind::Drop => Use::Drop,
                },
            };
            of_key.note(reference, kind, ttl_s(reference));
        }
        // Then forwards: what was stored before says more than what is stored later.
        let mut before = Known::new(hashes.len());
        for (step, reference) in steps.iter_mut().zip(&references) {
            let of_key = &mut before.0[step.key as usize];
            let kind = reference.kind();
            step.size = reference.size().or(of_key.size).unwrap_or(step.size);
            if step.size == 0 {
                step.size = mean;
            }
            if kind.reads() && of_key.is_stored {
                step.ttl = ticks(of_key.ttl_s);
            }
            of_key.note(reference, kind, ttl_s(reference));
        }
        let expires = facts.has_times && steps.iter().any(|step| step.ttl > 0);
        let has_sizes = mean > 0;
        let unknown = references.iter().filter(|reference| reference.size().is_none()).count();
        let sizes_filled = float(unknown as u64) / float(references.len().max(1) as u64);
        Self { steps, hashes, windows, left_out, expires, has_sizes, sizes_filled }
    }

    /// The steps of a window.
    pub(crate) fn steps_of(&self, window: &Window) -> &[Step] {
        &self.steps[window.uses.clone()]
    }

    /// The number of keys.
    pub(crate) fn n_keys(&self) -> usize {
        self.hashes.len()
    }

    /// The share of the reads that nobody fills after a miss.
    pub(crate) fn not_filled(&self) -> f64 {
        let reads = self.steps.iter().filter(|step| step.usage.reads()).count();
        let looks = self.steps.iter().filter(|step| step.usage == Use::Look).count();
        float(looks as u64) / float(reads.max(1) as u64)
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
    /// What was last looked at.
    next: Option<Kind>,
}

impl OfKey {
    fn note(&mut self, reference: &Reference, kind: Kind, ttl_s: u32) {
        self.size = reference.size().or(self.size);
        if kind == Kind::Write {
            (self.ttl_s, self.is_stored) = (ttl_s, true);
        }
        self.next = Some(kind);
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

/// The mean of the recorded sizes; 0 where none is recorded.
fn mean_size(references: &[Reference]) -> u32 {
    let sizes = || references.iter().filter_map(Reference::size).map(u64::from);
    let n_sizes = sizes().count() as u64;
    u32::try_from(sizes().sum::<u64>().checked_div(n_sizes).unwrap_or(0)).unwrap_or(u32::MAX)
}
