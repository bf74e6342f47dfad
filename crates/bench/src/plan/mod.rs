//! A scenario resolved: every point of the sweep with its keys, values and phases.

mod describe;
mod phases;
mod point;
mod source;
mod targets;

use std::collections::BTreeMap;
use std::time::Duration;

use larder_store::{ByteSize, Catalog, Span};

use crate::environment::available_memory;
use crate::error::{Result, usage};
use crate::scenario::Scenario;
use crate::workload::{Count, SizeSpec, Sweep};
use describe::describe;
use point::{Coordinates, plan_point};
use source::Source;
use targets::plan_targets;

pub use phases::PlannedPhase;
pub use point::PlannedPoint;
pub use targets::PlannedTarget;

/// Rounds, where nobody says how many: with ten a side, two targets that differ in every round reach p = 0.00001.
const DEFAULT_ROUNDS: u32 = 10;
/// The most rounds: each has its own versions.
const MAX_ROUNDS: u32 = 1000;
/// The length of keys, where nobody says.
const DEFAULT_KEY_SIZE: u32 = 32;
/// What the run itself keeps of every key, in bytes: its place in the order, its versions, its count.
const BYTES_A_KEY: u64 = 16;

/// A scenario resolved for this machine.
#[derive(Debug)]
pub struct Plan {
    /// The scenario's name.
    pub scenario: String,
    /// From this everything follows.
    pub seed: u64,
    /// How often each cell is measured.
    pub rounds: u32,
    /// How long everything is done unmeasured first.
    pub warmup: Option<Duration>,
    /// What is compared.
    pub targets: Vec<PlannedTarget>,
    /// The points of the sweep.
    pub points: Vec<PlannedPoint>,
    /// The workload in words, by the names of its options.
    pub workload: BTreeMap<String, String>,
    /// What a reader must know, in sentences.
    pub notes: Vec<String>,
}

impl Plan {
    /// Resolves a scenario. `typed` says whether its targets were typed by the person who runs it.
    pub fn new(scenario: &Scenario, typed: bool, catalog: &Catalog) -> Result<Self> {
        let spec = &scenario.workload;
        let seed = spec.seed.unwrap_or(1);
        let targets = plan_targets(&scenario.targets, typed, catalog)?;
        let rounds = spec.rounds.map_or(DEFAULT_ROUNDS, |rounds| rounds.0);
        if rounds > MAX_ROUNDS {
            return Err(usage(format!("--rounds {rounds}: at most {MAX_ROUNDS}")));
        }
        for (name, span) in
            [("duration", spec.duration), ("ttl", spec.ttl), ("warmup", spec.warmup)]
        {
            if span.is_some_and(|Span(span)| span.is_zero()) {
                return Err(usage(format!("--{name} 0s: give it a time, or leave it out")));
            }
        }
        let mut notes = Vec::new();
        let source = Source::open(spec, &mut notes)?;
        keys_fit(source.keys)?;
        // On a server that Larder did not start, the run has keys of its own that nobody else has.
        let shared = targets.iter().any(PlannedTarget::is_external);
        let prefix =
            if shared { format!("larder:{:08x}:", rand::random::<u32>()) } else { "k".to_owned() };
        let key_sizes = spec.key_size.clone();
        let key_sizes = key_sizes.unwrap_or_else(|| SizeSpec::fixed(DEFAULT_KEY_SIZE).into());
        let threads = spec.threads.clone().unwrap_or_else(|| Sweep::from(Count(1)));
        let mut points = Vec::new();
        for data_size in source.sizes.iter() {
            for key_size in key_sizes.iter() {
                for threads in threads.iter() {
                    let at = Coordinates { data_size, key_size, threads: threads.0 };
                    points.push(plan_point(spec, &source, &at, &prefix, seed)?);
                }
            }
        }
        let mut plan = Self {
            scenario: scenario.name.clone(),
            seed,
            rounds,
            warmup: spec.warmup.map(|Span(warmup)| warmup),
            targets,
            points,
            workload: describe(spec, &source, &key_sizes, &threads),
            notes,
        };
        plan.note_mixes();
        Ok(plan)
    }

    /// The turns of the whole plan: rounds × points × targets.
    pub fn turns(&self) -> u64 {
        u64::from(self.rounds) * self.points.len() as u64 * self.targets.len() as u64
    }

    fn note_mixes(&mut self) {
        let mixed = |phase: &PlannedPhase| phase.measured && phase.operations.len() > 1;
        if self.points.iter().flat_map(|point| &point.phases).any(mixed) {
            let note =
                "in a mix, each operation's rate is over the time that was spent in that operation";
            self.notes.push(note.into());
        }
    }
}

/// Refuses more keys than the run itself has memory to keep track of, before it tries.
fn keys_fit(keys: u32) -> Result<()> {
    let needed = u64::from(keys) * BYTES_A_KEY;
    match available_memory() {
        Some(free) if needed > free / 2 => Err(usage(format!(
            "--keys {keys}: keeping track of them takes {} of memory, {} are free; use fewer",
            ByteSize(needed),
            ByteSize(free)
        ))),
        _ => Ok(()),
    }
}
