//! A turn in writing: every operation of every phase, drawn as in the measured loop, and every value that the
//! operations need. So a guest does the same work in a round as a store of this process.

use std::collections::{HashMap, HashSet};
use std::ops::Range;
use std::time::Duration;

use larder_report::Operation;

use crate::measure::{Block, Dataset, Draw, DrawPlan, KeyState, PhasePlan};
use crate::plan::{PlannedPhase, PlannedPoint};
use larder_workload::{Access, HEADER_LEN, NOTHING, Values};

/// The fewest operations in writing for a phase that ends by time. After the last of them, the first follows again.
const ENDLESS: u64 = 200_000;
/// In place of a value's number where no value is right: the key must be absent.
pub(super) const NO_VALUE: u32 = u32::MAX;
/// The bytes of an operation in three places: in a list that doubles as it grows, in a file that may be in memory, and
/// in the program's own copy.
const OPERATION_BYTES: u64 = 32 + 16 + 16;
/// The bytes of a value in these places, or of a key without its text.
const ENTRY_BYTES: u64 = 256;
/// The most bytes of values that a process prepares at once.
const READY_BYTES: u64 = 96 << 20;
/// Operations that are drawn at a time.
const BLOCK: usize = 1024;

/// The number of operations of a phase in writing. Without `requests`, time ends the phase.
fn operations_of(requests: Option<u64>, keys: u32) -> u64 {
    requests.unwrap_or_else(|| u64::from(keys).max(ENDLESS))
}

/// The most memory of a turn in writing, in bytes.
#[expect(
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "an estimate"
)]
pub(crate) fn memory_bytes(point: &PlannedPoint) -> u64 {
    let keys = point.keys.count();
    let phase = |phase: &PlannedPhase| {
        let operations = operations_of(phase.requests, keys);
        let values = operations as f64 * phase.share_of_sets();
        operations.saturating_mul(OPERATION_BYTES).saturating_add(values as u64 * ENTRY_BYTES)
    };
    let entries = u64::from(keys) * (2 * ENTRY_BYTES + 3 * point.keys.longest() as u64);
    point.phases.iter().map(phase).fold(entries, u64::saturating_add)
}

/// The most memory of a program that carries out a turn, beside its cache. It has the turn, the pool of values, and the
/// values that each process prepares at once.
pub(crate) fn plan_bytes(point: &PlannedPoint) -> u64 {
    let ready = u64::from(point.guest_processes()).saturating_mul(READY_BYTES);
    memory_bytes(point).saturating_add(point.values.pool().len() as u64).saturating_add(ready)
}

/// The operations of one process in a turn, and of all processes together.
#[derive(Debug, Clone)]
pub(super) struct Script {
    pub(super) phases: Vec<Act>,
    /// Every value, from number 1.
    pub(super) values: Vec<Value>,
    /// For each key, the number of the value that is stored under it last; 0 without a value.
    pub(super) newest: Vec<u32>,
    numbers: HashMap<(u32, u32), u32>,
    /// The keys with a change that was not acknowledged: any of their values is right.
    pub(super) uncertain: HashSet<u32>,
    processes: u32,
}

/// One phase.
#[derive(Debug, Clone)]
pub(super) struct Act {
    pub(super) measured: bool,
    /// The operations that have counts of their own in the result.
    pub(super) operations: Vec<Operation>,
    /// Whether gets are get-or-sets that have nothing to store after a miss, and count as those.
    pub(super) has_unfilled: bool,
    /// The operations of the first process, then those of the second, and so on.
    pub(super) steps: Vec<Step>,
    /// For each process, the range of its operations.
    pub(super) shares: Vec<Range<usize>>,
    pub(super) time_limit: Option<Duration>,
    pub(super) multiget: usize,
    /// After the last operation, the first follows again.
    pub(super) again: bool,
}

/// One operation. Keys are indices, values numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Step {
    pub(super) kind: Access,
    pub(super) key: u32,
    pub(super) value: u32,
    pub(super) under: u32,
}

/// One value.
#[derive(Debug, Clone, Copy)]
pub(super) struct Value {
    pub(super) key: u32,
    pub(super) version: u32,
    /// Its offset in the pool.
    pub(super) at: u32,
    pub(super) len: u32,
    /// The number of the previous value of the key; 0 without one.
    pub(super) previous: u32,
    pub(super) header: [u8; HEADER_LEN],
}

impl Script {
    /// An empty script for this many processes.
    pub(super) fn new(keys: u32, processes: u32) -> Self {
        Self {
            phases: Vec::new(),
            values: Vec::new(),
            newest: vec![0; keys as usize],
            numbers: HashMap::new(),
            uncertain: HashSet::new(),
            processes,
        }
    }

    /// Draws a phase for every process. Unless time ends the phase, `state` then counts its sets as acknowledged,
    /// because the next phase is drawn from that state.
    pub(super) fn draw(&mut self, plan: &PhasePlan<'_>, measured: bool, dataset: Dataset<'_>) {
        let Dataset { keys, values, state } = dataset;
        let again = plan.requests.is_none();
        let written = operations_of(plan.requests, keys.count());
        let requests =
            if again { written.next_multiple_of(plan.keys_a_request as u64) } else { written };
        let shared = plan.draws(dataset, self.processes);
        let draws = DrawPlan { tagged: None, requests: Some(requests), ..shared };
        let mut steps = Vec::new();
        let mut shares = Vec::new();
        let mut has_unfilled = false;
        let mut block = Block::default();
        for process in 0..self.processes {
            let begin = steps.len();
            let mut draw = Draw::new(draws, process);
            while !draw.is_over() {
                draw.fill(&mut block, BLOCK);
                for op in &block.ops {
                    has_unfilled |= op.is_unfilled;
                    steps.push(self.step(op, values, state.base()));
                }
            }
            shares.push(begin..steps.len());
        }
        state.take_drawn();
        // Time may end the phase before a set is carried out.
        let is_whole = plan.time_limit.is_none();
        for step in &steps {
            match step.kind {
                _ if is_whole => self.acknowledge(*step, state),
                Access::Delete => state.forget(step.key),
                Access::Set | Access::GetOrSet if state.is_deleted(step.under) => {
                    state.forget(step.under);
                }
                _ => {}
            }
        }
        self.phases.push(Act {
            measured,
            operations: plan.operations.to_vec(),
            has_unfilled,
            steps,
            shares,
            time_limit: plan.time_limit,
            multiget: plan.keys_a_request,
            again,
        });
    }

    /// A plan of one process that reads these keys, each with its oldest right version; [`NOTHING`]: it must be absent.
    pub(super) fn reading(&self, wanted: &[(u32, u32)]) -> Self {
        let mut script = Self::new(u32::try_from(self.newest.len()).unwrap_or(u32::MAX), 1);
        script.values.clone_from(&self.values);
        script.newest.clone_from(&self.newest);
        script.numbers.clone_from(&self.numbers);
        let value = |key: u32, version: u32| match version {
            NOTHING => NO_VALUE,
            version => self.numbers.get(&(key, version)).copied().unwrap_or(0),
        };
        let steps = wanted.iter().map(|(key, version)| (*key, value(*key, *version)));
        script.alone(Access::Get, steps.collect());
        script
    }

    /// Adds a phase that sets each of these keys to a newer version, and a phase that reads them; returns the versions.
    pub(super) fn overwrite(
        &mut self,
        keys: impl Iterator<Item = u32>,
        values: &Values,
    ) -> Vec<(u32, u32)> {
        let (mut steps, mut versions) = (Vec::new(), Vec::new());
        for key in keys {
            let newest = self.newest[key as usize];
            let Some(version) = self.version(newest).map(|version| version + 1) else { continue };
            let len = u32::try_from(values.len_of(key)).unwrap_or(u32::MAX);
            steps.push((key, self.number(key, version, len, values)));
            versions.push((key, version));
        }
        self.alone(Access::Set, steps.clone());
        self.alone(Access::Get, steps);
        versions
    }

    /// Adds a phase of one process: an operation on each of these keys, with a value's number.
    fn alone(&mut self, kind: Access, steps: Vec<(u32, u32)>) {
        let step = |(key, value): (u32, u32)| Step { kind, key, value, under: key };
        self.phases.push(Act {
            measured: false,
            operations: vec![operation_of(kind, 1)],
            has_unfilled: false,
            shares: std::iter::once(0..steps.len()).collect(),
            steps: steps.into_iter().map(step).collect(),
            time_limit: None,
            multiget: 1,
            again: false,
        });
    }

    /// The version of a value by its number, for verification: 0 if any version is right, [`NOTHING`] if no version is.
    pub(super) fn version(&self, number: u32) -> Option<u32> {
        match number {
            NO_VALUE => Some(NOTHING),
            0 => Some(0),
            number => self.value(number).map(|value| value.version),
        }
    }

    /// The number of processes that share the work.
    #[cfg(test)]
    pub(super) fn processes(&self) -> u32 {
        self.processes
    }

    /// A value by its number; `None` without such a value.
    pub(super) fn value(&self, number: u32) -> Option<&Value> {
        self.values.get((number as usize).checked_sub(1)?)
    }

    /// The bytes of a value by its number; empty without such a value.
    pub(super) fn text(&self, number: u32, values: &Values) -> Vec<u8> {
        let Some(value) = self.value(number) else { return Vec::new() };
        let (at, len) = (value.at as usize, value.len as usize);
        let mut text = values.pool().get(at..at + len).unwrap_or_default().to_vec();
        if let Some(begin) = text.first_chunk_mut() {
            *begin = value.header;
        }
        text
    }

    /// The number of a version of a key's value; `None` where the plan does not have this version.
    pub(super) fn number_of(&self, key: u32, version: u32) -> Option<u32> {
        self.numbers.get(&(key, version)).copied()
    }

    /// The numbers of a key's values, the newest first.
    pub(super) fn numbers_of(&self, key: u32) -> impl Iterator<Item = u32> {
        let newest = self.newest.get(key as usize).copied();
        let older = |number: &u32| self.value(*number).map(|value| value.previous);
        std::iter::successors(newest, older).take_while(|number| *number > 0)
    }

    /// The number of the value that a replaying cache holds when a process begins a phase: the value that was set last,
    /// or the fill of the first miss; 0 where the cache is empty.
    pub(super) fn held_before(&self, phase: usize, process: usize) -> u32 {
        let mut held = 0;
        for act in &self.phases[..phase] {
            let steps = &act.steps[act.shares[process].clone()];
            let mut sets = steps.iter().rev().filter(|step| step.kind == Access::Set);
            let mut fills = steps.iter().filter(|step| step.kind == Access::GetOrSet);
            let last = sets.next().map(|step| step.value);
            let first = || if held == 0 { fills.next().map(|step| step.value) } else { None };
            held = last.or_else(first).unwrap_or(held);
        }
        held
    }

    /// Notes the acknowledged operations: those that each process carried out. After a set or a delete that failed, the
    /// state of its key is unknown.
    pub(super) fn settle(&self, phase: usize, done: &PhaseDone, state: &KeyState) {
        let act = &self.phases[phase];
        for (share, done) in act.shares.iter().zip(&done.operations) {
            let steps = &act.steps[share.clone()];
            let done = usize::try_from(*done).unwrap_or(usize::MAX);
            for step in steps.iter().take(done) {
                self.acknowledge(*step, state);
            }
            if done > steps.len() {
                // A repeated step stores an older value than the step before it, so the state of these keys is unknown.
                for step in steps.iter().filter(|step| step.kind.changes()) {
                    state.forget(step.under);
                }
            }
        }
        for key in &done.not_deleted {
            state.forget(*key);
        }
        for number in &done.failed {
            if let Some(value) = self.value(*number) {
                state.forget(value.key);
            }
        }
    }

    fn step(&mut self, op: &crate::measure::Op, values: &Values, base: u32) -> Step {
        let value = match op.kind {
            Access::Set => self.number(op.key, op.version, op.len, values),
            // As in the measured loop, a key that was never set is filled with its first version.
            Access::GetOrSet => self.number(op.fill, op.version.max(base + 1), op.len, values),
            Access::Get if op.version == NOTHING => NO_VALUE,
            Access::Get => self.numbers.get(&(op.key, op.version)).copied().unwrap_or(0),
            Access::Delete | Access::Touch | Access::Incr | Access::Decr => 0,
        };
        Step { kind: op.kind, key: op.key, value, under: op.fill }
    }

    /// The number of a value. A value gets its number when it is first needed.
    fn number(&mut self, key: u32, version: u32, len: u32, values: &Values) -> u32 {
        if let Some(number) = self.numbers.get(&(key, version)) {
            return *number;
        }
        let len = len as usize;
        let (at, header) = values.recipe_of(key, version, len);
        self.add(key, version, at, len, header)
    }

    /// Adds a version of a key's value: its offset in the pool, its length and its header. Returns its number.
    pub(super) fn add(
        &mut self,
        key: u32,
        version: u32,
        at: usize,
        len: usize,
        header: [u8; HEADER_LEN],
    ) -> u32 {
        let newest = &mut self.newest[key as usize];
        self.values.push(Value {
            key,
            version,
            at: u32::try_from(at).unwrap_or(u32::MAX),
            len: u32::try_from(len).unwrap_or(u32::MAX),
            previous: *newest,
            header,
        });
        *newest = u32::try_from(self.values.len()).unwrap_or(u32::MAX);
        self.numbers.insert((key, version), *newest);
        *newest
    }

    fn acknowledge(&self, step: Step, state: &KeyState) {
        match step.kind {
            Access::Delete => state.acknowledge_delete(step.key, None),
            // A hit does not tell whether a fill under another key was made.
            Access::GetOrSet if step.under != step.key => {}
            Access::Set | Access::GetOrSet => {
                let version = self.values[step.value as usize - 1].version;
                if state.acked(step.under).is_none_or(|acked| acked < version) {
                    state.acknowledge(step.under, version);
                }
            }
            Access::Get | Access::Touch | Access::Incr | Access::Decr => {}
        }
    }
}

impl Act {
    /// The operation as which the result counts an operation of the program.
    pub(super) fn counted_as(&self, operation: Operation) -> Operation {
        if self.has_unfilled && operation == Operation::Get {
            return Operation::GetOrSet;
        }
        operation
    }

    /// Whether the phase reads.
    pub(super) fn reads(&self) -> bool {
        self.operations.iter().any(|operation| operation.reads())
    }

    /// The number of different keys that the processes used, and the number of operations on the most frequent key.
    pub(super) fn drawn(&self, done: &[u64]) -> (u64, u64) {
        let mut counts: HashMap<u32, u64> = HashMap::new();
        for (share, done) in self.shares.iter().zip(done) {
            let steps = &self.steps[share.clone()];
            let len = steps.len().max(1) as u64;
            for (step, at) in steps.iter().zip(0..) {
                let times = done / len + u64::from(at < done % len);
                if times > 0 {
                    *counts.entry(step.key).or_default() += times;
                }
            }
        }
        (counts.len() as u64, counts.values().copied().max().unwrap_or(0))
    }
}

/// The outcome of a phase.
#[derive(Debug)]
pub(super) struct PhaseDone {
    /// The number of operations that each process carried out.
    pub(super) operations: Vec<u64>,
    /// The numbers of the values that were not acknowledged.
    pub(super) failed: Vec<u32>,
    /// The keys with a delete that failed.
    pub(super) not_deleted: Vec<u32>,
}

/// The operation as results name it.
pub(super) fn operation_of(kind: Access, multiget: usize) -> Operation {
    match kind {
        Access::Get if multiget > 1 => Operation::GetMany,
        kind => kind.operation(),
    }
}
