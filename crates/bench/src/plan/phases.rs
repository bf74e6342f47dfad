//! The phases of a turn: what is loaded, what is measured, and how often it should hit.

use std::time::Duration;

use larder_report::Operation;
use larder_store::Span;

use super::source::Source;
use crate::error::{Result, usage};
use crate::measure::Kind;
use crate::trace::Trace;
use crate::workload::{OnMiss, Ratio, WorkloadSpec};

/// Reads only.
const READS: Ratio = Ratio { sets: 0, gets: 1, deletes: 0 };

/// One phase of a turn.
#[derive(Debug, Clone)]
pub struct PlannedPhase {
    pub(super) work: PlannedWork,
    /// Whether it fills cells; a load does not.
    pub measured: bool,
    /// The operations that it draws.
    pub operations: Vec<Operation>,
    /// Operations of all threads together; `None` when time ends it.
    pub requests: Option<u64>,
    /// Time in the measured loop; `None` when operations end it.
    pub time_limit: Option<Duration>,
    /// Hits over reads that a store with room for everything answers, where that follows from the plan.
    pub predicted_hit_ratio: Option<f64>,
}

/// What a phase does, without what it does it to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum PlannedWork {
    Each(Kind),
    Drawn { ratio: Ratio, read: Kind },
    Replayed { read: Kind, writes: bool },
}

/// The phases of a turn. Each turn starts with an empty store.
pub(super) fn plan_phases(spec: &WorkloadSpec, source: &Source) -> Result<Vec<PlannedPhase>> {
    let fill = spec.on_miss == Some(OnMiss::Fill);
    let multiget = spec.multiget.is_some_and(|keys| keys.0 > 1);
    if multiget && (fill || spec.ratio.is_some()) {
        return Err(usage("--multiget only reads: leave out --ratio and --on-miss fill"));
    }
    let writes = source.trace.as_ref().is_some_and(|trace| trace.writes());
    if multiget && writes {
        return Err(usage("--multiget only reads, and this trace also sets or deletes"));
    }
    if fill && spec.operations.is_some() {
        return Err(usage("--on-miss fill is an operation of its own: leave out --operations"));
    }
    let planner = Planner { spec, source, fill, multiget };
    let mut phases = match (&source.trace, spec.ratio) {
        (Some(_), Some(_)) => {
            return Err(usage("--ratio with a trace: the trace says what is set and what is read"));
        }
        (Some(trace), None) => planner.replay(trace),
        (None, Some(ratio)) => planner.mix(ratio),
        (None, None) if fill => vec![planner.drawn(READS, &[Operation::GetOrSet])],
        (None, None) => planner.one_by_one(),
    };
    if spec.ttl.is_none() && spec.ratio.is_none_or(|ratio| ratio.deletes == 0) {
        predict_hits(&mut phases, source);
    }
    Ok(phases)
}

struct Planner<'a> {
    spec: &'a WorkloadSpec,
    source: &'a Source,
    fill: bool,
    multiget: bool,
}

impl Planner<'_> {
    /// A trace: its reads after a load, or all of it where it writes or misses are filled.
    fn replay(&self, trace: &Trace) -> Vec<PlannedPhase> {
        let writes = trace.writes();
        let work = PlannedWork::Replayed { read: self.read(), writes };
        let len = trace.len() as u64;
        if self.fill || writes {
            let operations = recorded_operations(trace, self.read_operation());
            return vec![self.phase(work, &operations, len)];
        }
        let replay = self.phase(work, &[self.read_operation()], len);
        vec![self.every_key(Kind::Set, Operation::Set), replay]
    }

    /// Sets and gets mixed, on what was loaded before; with fills the store starts empty.
    fn mix(&self, ratio: Ratio) -> Vec<PlannedPhase> {
        let named = [
            (Operation::Set, ratio.sets),
            (self.read_operation(), ratio.gets),
            (Operation::Delete, ratio.deletes),
        ];
        let drawn = named.iter().filter(|(_, share)| *share > 0);
        let operations: Vec<_> = drawn.map(|(operation, _)| *operation).collect();
        let mixed = self.drawn(ratio, &operations);
        if self.fill { vec![mixed] } else { vec![self.load(), mixed] }
    }

    /// Each operation by itself: every key set, then reads.
    fn one_by_one(&self) -> Vec<PlannedPhase> {
        let named = self.spec.operations.clone().map(|list| list.0);
        let named = named.unwrap_or_else(|| vec![Operation::Set, Operation::Get]);
        let load = (named.first() != Some(&Operation::Set)).then(|| self.load());
        let phase = |operation| match operation {
            Operation::Get => self.drawn(READS, &[self.read_operation()]),
            Operation::Delete => self.every_key(Kind::Delete, operation),
            Operation::Touch => self.every_key(Kind::Touch, operation),
            _ => self.every_key(Kind::Set, operation),
        };
        load.into_iter().chain(named.into_iter().map(phase)).collect()
    }

    fn load(&self) -> PlannedPhase {
        PlannedPhase { measured: false, ..self.every_key(Kind::Set, Operation::Set) }
    }

    fn every_key(&self, kind: Kind, operation: Operation) -> PlannedPhase {
        PlannedPhase {
            requests: Some(self.source.keys.into()),
            time_limit: None,
            ..self.phase(PlannedWork::Each(kind), &[operation], 0)
        }
    }

    fn drawn(&self, ratio: Ratio, operations: &[Operation]) -> PlannedPhase {
        let work = PlannedWork::Drawn { ratio, read: self.read() };
        self.phase(work, operations, self.source.keys.into())
    }

    /// A measured phase of as many operations as were asked for, or `otherwise`.
    fn phase(&self, work: PlannedWork, operations: &[Operation], otherwise: u64) -> PlannedPhase {
        let time_limit = self.spec.duration.map(|Span(duration)| duration);
        let asked = self.spec.requests.map_or(otherwise, |requests| requests.0.into());
        PlannedPhase {
            work,
            measured: true,
            operations: operations.to_vec(),
            requests: time_limit.is_none().then_some(asked),
            time_limit,
            predicted_hit_ratio: None,
        }
    }

    fn read(&self) -> Kind {
        if self.fill { Kind::GetOrSet } else { Kind::Get }
    }

    fn read_operation(&self) -> Operation {
        match (self.fill, self.multiget) {
            (true, _) => Operation::GetOrSet,
            (_, true) => Operation::GetMany,
            _ => Operation::Get,
        }
    }
}

fn recorded_operations(trace: &Trace, read: Operation) -> Vec<Operation> {
    let stats = trace.stats();
    let recorded = [
        (read, stats.gets),
        (Operation::Set, stats.sets),
        (Operation::Delete, stats.deletes),
        (Operation::Touch, stats.touches),
    ];
    recorded.into_iter().filter(|(_, count)| *count > 0).map(|(operation, _)| operation).collect()
}

/// Hits that follow from the plan alone, for a store with room for everything and no TTL: every read after a load, and
/// every read but the first of each key where misses are filled.
fn predict_hits(phases: &mut [PlannedPhase], source: &Source) {
    let mut loaded = false;
    for phase in phases {
        match phase.work {
            PlannedWork::Each(Kind::Set) => loaded = true,
            PlannedWork::Each(Kind::Delete) => loaded = false,
            PlannedWork::Drawn { .. } if loaded => phase.predicted_hit_ratio = Some(1.0),
            PlannedWork::Replayed { writes: false, read: Kind::Get } => {
                phase.predicted_hit_ratio = Some(if loaded { 1.0 } else { 0.0 });
            }
            PlannedWork::Replayed { writes: false, read: Kind::GetOrSet } => {
                let trace = source.trace.as_ref();
                let whole = trace.filter(|trace| phase.requests == Some(trace.len() as u64));
                #[expect(clippy::cast_precision_loss, reason = "a ratio for people")]
                let ratio = whole.map(|trace| trace.lookaside_hits() as f64 / trace.len() as f64);
                phase.predicted_hit_ratio = ratio;
            }
            _ => {}
        }
    }
}
