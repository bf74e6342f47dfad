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
mod first_look;
mod sentences;
#[cfg(test)]
mod tests;

use larder_report::{HitLimit, HitRatioAt, Run};
use serde::{Deserialize, Serialize};

pub use self::candidate::Candidate;
use self::candidate::Measured;
pub use self::choice::LIKE_TIMES;
use self::choice::{Choice, choose};
pub use self::first_look::{Contenders, advise_after_look, contenders};
use self::sentences::Facts;

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
    /// The most reads that any cache can hit on the trace, and why the others miss; `None` where it is not known.
    pub limit: Option<HitLimit>,
    /// Whether the trace has TTLs and no times, so that no candidate is measured with them.
    pub has_untimed_ttls: bool,
}

impl Model {
    /// The reads that the limit is about, in words. A recording of a part of the keys has a part of the reads.
    fn reads(&self) -> &'static str {
        if self.sample.is_some() { "recorded reads" } else { "reads" }
    }

    /// The greatest hit ratio that any cache can have on the trace; `None` where it is not known.
    pub fn most_hits(&self) -> Option<f64> {
        self.limit.as_ref().map(HitLimit::at_most)
    }
}

/// An answer, with its figures.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Advice {
    /// The wishes that it follows.
    pub wishes: Wishes,
    /// The answer in one line, without a full stop.
    #[serde(default)]
    pub answer: String,
    /// The candidate to take; `None` where none fits.
    pub choice: Option<Candidate>,
    /// Five sentences or groups of sentences: which and how large; what other sizes buy; what would change the answer;
    /// how sure it is; what was not tried. A single one where no candidate hits.
    pub sentences: Vec<String>,
    /// All candidates, by target and rising capacity.
    pub candidates: Vec<Candidate>,
}

/// The advice on a trace of which no cache can hit a read: no measurement would tell more. `None` for every other trace.
pub fn advise_unmeasured(wishes: Wishes, model: &Model) -> Option<Advice> {
    let limit = model.limit.as_ref().filter(|limit| limit.at_most() <= 0.0)?;
    Some(Advice {
        wishes,
        answer: sentences::no_cache_helps(Some(limit)),
        choice: None,
        sentences: vec![sentences::why_no_cache_helps(limit, model.reads())],
        candidates: Vec::new(),
    })
}

/// Chooses a target and its capacity. The model tells of capacities beyond the measured ones; its curve may be empty.
pub fn advise(run: &Run, wishes: Wishes, model: &Model) -> Advice {
    let Measured { candidates, struck } = candidate::measured(run, &wishes);
    let all: Vec<&Candidate> = candidates.iter().collect();
    let measured = wishes.of_sample(model.sample);
    let choice = choose(&all, &measured);
    let facts = Facts { run, candidates: &all, struck: &struck, wishes: &measured, model };
    let (answer, sentences) =
        (sentences::answer(&facts, choice), sentences::sentences(&facts, choice));
    let choice = match choice {
        Choice::Take(candidate) => Some(candidate.clone()),
        Choice::Nearest(_) | Choice::NoFigures => None,
    };
    Advice { wishes, answer, choice, sentences, candidates }
}
