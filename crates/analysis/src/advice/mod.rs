//! Advice: which of the measured caches to take, and how large, for what its user wants.
//!
//! [`advise`] chooses among the cells of a [`Run`] that replayed one trace at several capacities. Every sentence is made
//! of figures of that run, or of the hit ratios that a simulated LRU has on the same requests. Where nothing fits the
//! wishes, the advice says which wish fails, and by how much.
//!
//! One round of all candidates tells most of them out of the question ([`contenders`]), and only the others are measured for
//! longer.

mod candidate;
mod choice;
mod look;
mod sentences;
#[cfg(test)]
mod tests;

use larder_report::{HitRatioAt, Run};
use serde::{Deserialize, Serialize};

pub use self::candidate::Candidate;
pub use self::choice::LIKE_TIMES;
use self::choice::{Choice, choose};
pub use self::look::{Contenders, advise_after_look, contenders};

/// The wishes of a user; `None` where anything will do.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct Wishes {
    /// The most bytes that the cache is given.
    pub memory_bytes: Option<u64>,
    /// The longest time of 99 % of the hits, in nanoseconds.
    pub p99_ns: Option<f64>,
    /// The least share of the reads that hit, 0 to 1.
    pub min_hit_ratio: Option<f64>,
    /// The time that a miss costs beyond the cache, in nanoseconds: a query, or a page made anew.
    pub cost_of_miss_ns: Option<f64>,
}

impl Wishes {
    /// The same wishes for a trace with this share of the keys, which needs its share of the room only.
    #[must_use]
    pub fn of_sample(self, sample: Option<f64>) -> Self {
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            clippy::cast_precision_loss,
            reason = "a share of the room"
        )]
        let part = |most: u64| (most as f64 * sample.unwrap_or(1.0)) as u64;
        Self { memory_bytes: self.memory_bytes.map(part), ..self }
    }
}

/// What is known of the trace without a measurement.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Model {
    /// The hit ratios of simulated caches, by rising capacity in bytes of keys and values.
    pub curve: Vec<HitRatioAt>,
    /// The share of the keys that the trace has; `None` for all.
    pub sample: Option<f64>,
    /// Whether the trace has TTLs, which no candidate is measured with.
    pub has_ttls: bool,
}

/// An answer, with the figures behind it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Advice {
    /// The wishes that it follows.
    pub wishes: Wishes,
    /// The candidate to take; `None` where none fits.
    pub choice: Option<Candidate>,
    /// Five sentences or groups of sentences: which and how large; what other sizes buy; what would change the answer;
    /// how sure it is; what was not tried.
    pub sentences: Vec<String>,
    /// All candidates, by target and rising capacity.
    pub candidates: Vec<Candidate>,
}

/// Chooses a target and its capacity. The model tells of capacities beyond the measured ones; its curve may be empty.
pub fn advise(run: &Run, wishes: Wishes, model: &Model) -> Advice {
    let candidates = candidate::of(run, &wishes);
    let all: Vec<&Candidate> = candidates.iter().collect();
    let measured = wishes.of_sample(model.sample);
    let choice = choose(&all, &measured);
    let sentences = sentences::of(run, &all, choice, (&measured, model));
    let choice = match choice {
        Choice::Take(candidate) => Some(candidate.clone()),
        Choice::Nearest(_) | Choice::NoFigures => None,
    };
    Advice { wishes, choice, sentences, candidates }
}
