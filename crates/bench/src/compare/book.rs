//! Where the measurements of a run are kept until it is recorded.

use std::collections::BTreeMap;

use larder_report::{Operation, Sample};

use crate::measure::Packed;

/// One operation of one phase of one turn.
#[derive(Debug, Clone)]
pub(crate) struct Entry {
    pub(crate) operation: Operation,
    pub(crate) sample: Sample,
    pub(crate) latency: Packed,
    /// What an open loop recorded besides; `None` of a closed one.
    pub(crate) paced: Option<PackedPace>,
    pub(crate) bytes: u64,
    pub(crate) predicted_hit_ratio: Option<f64>,
}

/// What an open loop recorded besides its latencies.
#[derive(Debug, Clone)]
pub(crate) struct PackedPace {
    pub(crate) service: Packed,
    pub(crate) lag: Packed,
}

/// Entries by target and point (both as indices) and operation.
#[derive(Debug, Default)]
pub(crate) struct Book {
    entries: BTreeMap<(usize, usize, Operation), Vec<Entry>>,
    /// How many rounds each point has begun.
    begun: BTreeMap<usize, u32>,
}

impl Book {
    pub(crate) fn new() -> Self {
        Self::default()
    }

    /// A round of a point begins.
    pub(crate) fn begin(&mut self, point: usize, round: u32) {
        self.begun.insert(point, round);
    }

    /// How many rounds a point has begun.
    pub(crate) fn begun(&self, point: usize) -> u32 {
        self.begun.get(&point).copied().unwrap_or(0)
    }

    pub(crate) fn add(&mut self, (target, point): (usize, usize), entry: Entry) {
        self.entries.entry((target, point, entry.operation)).or_default().push(entry);
    }

    /// The last round of which something was measured.
    pub(crate) fn rounds(&self) -> u32 {
        self.entries.values().flatten().map(|entry| entry.sample.round).max().unwrap_or(0)
    }

    pub(crate) fn entries(&self, target: usize, point: usize, operation: Operation) -> &[Entry] {
        self.entries.get(&(target, point, operation)).map_or(&[], Vec::as_slice)
    }
}
