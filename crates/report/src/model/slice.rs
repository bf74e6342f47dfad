//! A part of a plan that was carried out by itself, and the machines of a run that was put together of such parts.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Environment;

/// Which rounds of a plan a run carried out: those whose number, counted round, is this slice's.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Slice {
    /// Which, from 1.
    pub number: u32,
    /// Of how many.
    pub of: u32,
    /// Rounds of the whole plan.
    pub rounds: u32,
    /// The fingerprint of the plan: slices of one plan have the same.
    pub plan: String,
}

impl Slice {
    /// Whether a round of the whole plan, from 1, is one of its own.
    pub fn has(&self, round: u32) -> bool {
        (round - 1) % self.of + 1 == self.number
    }

    /// Its rounds.
    pub fn own_rounds(&self) -> impl Iterator<Item = u32> {
        (1..=self.rounds).filter(|round| self.has(*round))
    }
}

/// One run of those that a merged run was put together of.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Part {
    /// Which slice it was.
    pub slice: Slice,
    /// When it began, RFC 3339.
    pub started: String,
    /// The version of Larder that ran it.
    pub larder: String,
    /// Where it ran.
    pub environment: Environment,
    /// The version of each target, by its `url`.
    pub versions: std::collections::BTreeMap<String, Option<String>>,
}
