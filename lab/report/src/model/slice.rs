//! A slice of a plan that ran by itself, and the machines of a run that was merged from slices.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Environment;

/// The rounds of a plan that a run carried out. The plan's rounds are dealt out to the slices in turn.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Slice {
    /// The number of the slice, from 1.
    pub number: u32,
    /// The number of slices.
    pub of: u32,
    /// Rounds of the whole plan.
    pub rounds: u32,
    /// The fingerprint of the plan, which all its slices share.
    pub plan: String,
}

impl Slice {
    /// Whether a round of the whole plan, from 1, belongs to this slice.
    pub fn has(&self, round: u32) -> bool {
        (round - 1) % self.of + 1 == self.number
    }

    /// The rounds of this slice.
    pub fn own_rounds(&self) -> impl Iterator<Item = u32> {
        (1..=self.rounds).filter(|round| self.has(*round))
    }
}

/// One of the runs that a merged run was made from.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct MergedSlice {
    /// The slice that it carried out.
    pub slice: Slice,
    /// The time of its start, RFC 3339.
    pub started: String,
    /// The version of Larder that ran it.
    pub larder: String,
    /// The machine on which it ran.
    pub environment: Environment,
    /// The version of each target, by its `url`.
    pub versions: std::collections::BTreeMap<String, Option<String>>,
}
