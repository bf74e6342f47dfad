//! The entries of the last level, each with its latest size: their bytes, and which of them have most.

use larder_report::{Estimate, Largest};

use crate::curve::{Sizes, float};
use crate::sequence::Sequence;

/// The share of the entries that are the largest ones.
const LARGEST: f64 = 0.01;

/// The entries of keys that were ever stored. A key that was only asked for in vain has none.
pub(crate) struct Entries {
    /// By key, bytes of the key and its latest value; 0 where there is no entry.
    sizes: Vec<u32>,
    /// By key, how often it was read.
    reads: Vec<u64>,
    sum: u64,
    has_sizes: bool,
    /// The share of all keys.
    keys: f64,
}

impl Entries {
    /// The entries of a sequence that has the share `keys` of all keys. `is_stored` tells by key whether it has one.
    pub(crate) fn of(last: &Sequence, is_stored: &[bool], keys: f64) -> Self {
        let (mut sizes, mut reads) = (vec![0; last.n_keys()], vec![0; last.n_keys()]);
        for step in &last.steps {
            let key = step.key as usize;
            sizes[key] = if is_stored[key] { step.size } else { 0 };
            if step.usage.reads() {
                reads[key] += step.times();
            }
        }
        let sum = sizes.iter().copied().map(u64::from).sum();
        Self { sizes, reads, sum, has_sizes: last.has_sizes, keys }
    }

    fn squares(&self) -> f64 {
        self.sizes.iter().map(|size| f64::from(*size).powi(2)).sum()
    }

    fn count(&self) -> u64 {
        self.sizes.iter().filter(|size| **size > 0).count() as u64
    }

    /// The bytes of all of them; `None` where no sizes were recorded.
    pub(crate) fn bytes(&self) -> Option<Estimate> {
        let error = (self.squares() * (1.0 - self.keys).max(0.0)).sqrt() / self.keys;
        self.has_sizes.then(|| Estimate::within(float(self.sum) / self.keys, 1.96 * error))
    }

    /// Their sizes, as a simulation must know them.
    pub(crate) fn sizes(&self) -> Sizes {
        let sum = float(self.sum);
        let of_bytes = if self.sum > 0 { self.squares() / sum } else { 1.0 };
        Sizes { mean: sum / float(self.count().max(1)), of_bytes }
    }

    /// The share of the bytes that keys have which are read once only; `None` where no sizes were recorded.
    pub(crate) fn bytes_of_once(&self) -> Option<f64> {
        let once = self.sizes.iter().zip(&self.reads).filter(|(_, reads)| **reads == 1);
        let bytes: u64 = once.map(|(size, _)| u64::from(*size)).sum();
        (self.has_sizes && self.sum > 0).then(|| float(bytes) / float(self.sum))
    }

    /// The largest of them; `None` where they are too few, or no sizes were recorded.
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a place in a list"
    )]
    pub(crate) fn largest(&self) -> Option<Largest> {
        let n_largest = (float(self.count()) * LARGEST) as usize;
        if !self.has_sizes || n_largest == 0 {
            return None;
        }
        let mut falling = self.sizes.clone();
        falling.sort_unstable_by(|one, other| other.cmp(one));
        let largest = &falling[..n_largest];
        let bytes: u64 = largest.iter().copied().map(u64::from).sum();
        let least_bytes = u64::from(*largest.last()?);
        Some(Largest { entries: LARGEST, bytes: float(bytes) / float(self.sum), least_bytes })
    }
}
