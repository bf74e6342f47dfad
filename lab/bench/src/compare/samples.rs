//! The measurements of a run, kept in memory until `record` makes the run's cells of them.

use std::collections::BTreeMap;

use larder_report::{Operation, Sample, SearchStep};

use crate::measure::Packed;

/// The measurements of one operation in one phase of one turn.
#[derive(Debug, Clone)]
pub(crate) struct Entry {
    pub(crate) operation: Operation,
    pub(crate) sample: Sample,
    /// The latencies of single requests, packed.
    pub(crate) latency: Packed,
    /// The further figures of an open loop; `None` in a closed loop.
    pub(crate) paced: Option<PackedPace>,
    /// The times of connections that came and went; `None` without any.
    pub(crate) comers: Option<PackedComers>,
    /// The bytes of values that were read or written.
    pub(crate) bytes: u64,
    /// The hit ratio that the plan predicts: see `PhasePlan`.
    pub(crate) predicted_hit_ratio: Option<f64>,
    /// The greatest hit ratio that the plan allows: see `PhasePlan`.
    pub(crate) hit_limit: Option<f64>,
}

/// The figures of an open loop besides its latencies.
#[derive(Debug, Clone)]
pub(crate) struct PackedPace {
    /// From the sending of a request to its answer.
    pub(crate) service: Packed,
    /// From the time when a request is due to its sending.
    pub(crate) lag: Packed,
}

/// The times of connections that came and went.
#[derive(Debug, Clone)]
pub(crate) struct PackedComers {
    /// Until they were there.
    pub(crate) connect: Packed,
    /// Until their first answer.
    pub(crate) first_answer: Packed,
}

/// The result of a round's search for the highest rate of a target.
#[derive(Debug, Clone)]
pub(crate) struct Searched {
    /// The rates that were tried, in turn.
    pub(crate) steps: Vec<SearchStep>,
}

impl Searched {
    /// The highest rate at which latencies kept within the bound of the search; `None` where no rate did. After a rate
    /// within the bound only higher rates are tried, so the last such step is the highest.
    pub(crate) fn rate(&self) -> Option<f64> {
        self.steps.iter().rfind(|step| step.within).map(|step| step.offered_per_s)
    }
}

/// Entries by target (its slot), point (its index) and operation, and searches by target and point.
#[derive(Debug, Default)]
pub(crate) struct Samples {
    entries: BTreeMap<(usize, usize, Operation), Vec<Entry>>,
    /// The round that each point is in, from 1.
    begun: BTreeMap<usize, u32>,
    searches: BTreeMap<(usize, usize), Vec<Searched>>,
}

impl Samples {
    pub(crate) fn new() -> Self {
        Self::default()
    }

    /// A round of a point begins.
    pub(crate) fn begin(&mut self, point: usize, round: u32) {
        self.begun.insert(point, round);
    }

    /// The round that a point is in; 0 before the first.
    pub(crate) fn begun(&self, point: usize) -> u32 {
        self.begun.get(&point).copied().unwrap_or(0)
    }

    pub(crate) fn add(&mut self, target: usize, point: usize, entry: Entry) {
        self.entries.entry((target, point, entry.operation)).or_default().push(entry);
    }

    pub(crate) fn add_search(&mut self, target: usize, point: usize, found: Searched) {
        self.searches.entry((target, point)).or_default().push(found);
    }

    pub(crate) fn searches(&self, target: usize, point: usize) -> &[Searched] {
        self.searches.get(&(target, point)).map_or(&[], Vec::as_slice)
    }

    /// The entries of one round of a target at a point, of all operations.
    pub(crate) fn of_round(&self, target: usize, point: usize, round: u32) -> Vec<Entry> {
        let here = self.entries.iter().filter(|((t, p, _), _)| (*t, *p) == (target, point));
        let entries = here.flat_map(|(_, entries)| entries);
        entries.filter(|entry| entry.sample.round == round).cloned().collect()
    }

    /// The number of the last round with a measurement.
    pub(crate) fn last_round(&self) -> u32 {
        self.entries.values().flatten().map(|entry| entry.sample.round).max().unwrap_or(0)
    }

    pub(crate) fn entries(&self, target: usize, point: usize, operation: Operation) -> &[Entry] {
        self.entries.get(&(target, point, operation)).map_or(&[], Vec::as_slice)
    }
}
