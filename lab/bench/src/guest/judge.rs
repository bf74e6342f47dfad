//! What came of the operations of one process, counted and judged by its records.

use std::collections::{BTreeSet, HashSet};

use larder_report::Operation;
use larder_workload::{
    Access, Correctness, HEADER_LEN, KeySpace, NOTHING, ReadExpectation, Values,
};
use serde::Deserialize;

use super::block::{
    BEGINNING, BYTES, Block, ERROR, MOST_OPERATIONS, Note, OTHER_BYTES, VALUE, number,
};
use super::reply::{CollectorRan, TierRan};
use super::script::{Act, NO_VALUE, Script, Step, operation_of};
use crate::measure::{Tallies, Tally};

/// What came of an operation, as a program notes it.
const RIGHT: u8 = 0;
const MISSED: u8 = 1;
const FAILED: u8 = 2;
/// A miss that was filled.
const FILLED: u8 = 3;
/// A miss whose fill has failed.
const UNFILLED: u8 = 4;
/// Another value than the expected one; a note has this value.
const OTHER: u8 = 5;

/// The largest number that the end of a record can rightly have: sums of these do not overflow.
const LARGEST_NUMBER: u64 = 1 << 53;
/// No clock that runs from the start of the machine shows more.
const LATEST_NS: u64 = 1 << 62;
/// A value without a header that is at least this long hardly ever equals another value by chance.
const TELLING_BYTES: usize = 8;

/// The sources of a judgement: the plan that is carried out, its keys and its values.
#[derive(Debug, Clone, Copy)]
pub(super) struct Sources<'a> {
    pub(super) script: &'a Script,
    pub(super) keys: &'a KeySpace,
    pub(super) values: &'a Values,
    /// The version from which the turn counts.
    pub(super) base: u32,
    /// Whether the cache keeps nothing and returns the value that was set last.
    pub(super) replays: bool,
}

/// What a process did in a phase.
#[derive(Debug)]
pub(super) struct Record {
    /// When its first operation began; `None` where it did nothing.
    pub(super) start_ns: Option<u64>,
    /// When its last operation ended.
    pub(super) end_ns: u64,
    /// The time for which its clock ran.
    pub(super) wall_ns: u64,
    /// Its operations, in order of time, on an axis that begins with the first.
    pub(super) tallies: Tallies,
    pub(super) ops: u64,
    /// The numbers of values that were not stored.
    pub(super) not_stored: BTreeSet<u32>,
    /// The keys with a delete that failed.
    pub(super) not_deleted: BTreeSet<u32>,
    /// The keys with a change that was not acknowledged, in this phase or before.
    pub(super) uncertain: HashSet<u32>,
    pub(super) ended: Ended,
}

/// The end of a record: what the process knows of itself.
#[derive(Debug, Default, Deserialize)]
pub(super) struct Ended {
    pub(super) cpu_user_ns: u64,
    pub(super) cpu_system_ns: u64,
    pub(super) rss_bytes: u64,
    /// Connections that it opened in the phase; `None` where its client does not tell.
    pub(super) connections: Option<u64>,
    pub(super) tiers: Vec<TierRan>,
    #[serde(default)]
    pub(super) collector: Option<CollectorRan>,
}

/// Counts the operations of one process, block by block.
#[derive(Debug)]
pub(super) struct Judge<'a> {
    sources: Sources<'a>,
    act: &'a Act,
    steps: &'a [Step],
    /// A process alone stops its clock between segments.
    is_alone: bool,
    /// The number of the value that a replaying cache returns.
    held: u32,
    /// The place in the plan of the first operation of the present block.
    position: usize,
    /// The bytes of the present block's other values.
    other_bytes: usize,
    record: Record,
}

/// A request: an operation, or gets that were sent together.
struct Request {
    operation: Operation,
    /// When it ended, from the beginning of the phase.
    at: u64,
    took: u64,
}

impl<'a> Judge<'a> {
    /// A judge of a process in a phase, both counted from 0. The values of `uncertain` keys are all right.
    pub(super) fn new(
        sources: Sources<'a>,
        phase: usize,
        process: usize,
        uncertain: &HashSet<u32>,
    ) -> Self {
        let script = sources.script;
        let act = &script.phases[phase];
        let record = Record {
            start_ns: None,
            end_ns: 0,
            wall_ns: 0,
            tallies: Tallies::new(&act.operations),
            ops: 0,
            not_stored: BTreeSet::new(),
            not_deleted: BTreeSet::new(),
            uncertain: uncertain.clone(),
            ended: Ended::default(),
        };
        let held = if sources.replays { script.held_before(phase, process) } else { 0 };
        Self {
            sources,
            act,
            steps: &act.steps[act.shares[process].clone()],
            is_alone: act.shares.len() == 1,
            held,
            position: 0,
            other_bytes: 0,
            record,
        }
    }

    /// The bytes of the longest value of the plan.
    pub(super) fn longest_value(&self) -> usize {
        self.sources.values.longest()
    }

    /// Adds the operations of a block.
    pub(super) fn add(&mut self, part: &[u8]) -> Result<(), String> {
        let mut block = Block::read(part).ok_or("a block is not of its length")?;
        let count = block.outcomes.len();
        let planned = self.steps.len() - self.position;
        if count > planned || count > MOST_OPERATIONS {
            return Err(format!("a block of {count} operations, where the plan has {planned}"));
        }
        self.other_bytes = 0;
        let firsts = block.segments.iter().map(|(first, _)| *first).chain([count]);
        if !firsts.clone().is_sorted() || firsts.clone().next() != Some(0) {
            return Err("the segments of a block are not in order".into());
        }
        let segments: Vec<_> = block.segments.iter().copied().zip(firsts.skip(1)).collect();
        for ((first, began), next) in segments {
            self.add_segment(&mut block, first, next, began)?;
        }
        self.record.ops += count as u64;
        self.position += count;
        if self.act.again && self.position == self.steps.len() {
            self.position = 0;
        }
        if block.notes.is_empty() { Ok(()) } else { Err("a note is of no operation".into()) }
    }

    /// Adds the operations of a segment, which the process did without a pause from `began` on.
    fn add_segment(
        &mut self,
        block: &mut Block<'_>,
        first: usize,
        next: usize,
        began: u64,
    ) -> Result<(), String> {
        let start = *self.record.start_ns.get_or_insert(began);
        if began < self.record.end_ns.max(start) {
            return Err("its clock went back".into());
        }
        let elapsed = if self.is_alone { self.record.wall_ns } else { began - start };
        let (mut at, mut then) = (first, began);
        while at < next {
            let step = self.step(at);
            let last = self.last_of_request(block, at);
            let ended = block.end(last);
            if ended < then {
                return Err("its clock went back".into());
            }
            if last >= next {
                return Err("a segment ends within a request".into());
            }
            if ended > LATEST_NS {
                return Err(format!("an operation ended at {ended} ns, which no clock shows"));
            }
            let operation = self.act.counted_as(operation_of(step.kind, self.act.multiget));
            let request = Request { operation, at: ended - began + elapsed, took: ended - then };
            self.add_request(block, at, last, &request)?;
            (at, then) = (last + 1, ended);
        }
        self.record.end_ns = then;
        self.record.wall_ns = then - began + elapsed;
        Ok(())
    }

    /// The operation at this place of the present block.
    fn step(&self, at: usize) -> Step {
        self.steps[self.position + at]
    }

    /// The last operation of the request that begins here: gets that follow each other are sent together.
    fn last_of_request(&self, block: &Block<'_>, first: usize) -> usize {
        let is_get = |at: usize| self.step(at).kind == Access::Get;
        let most = if is_get(first) { self.act.multiget.max(1) } else { 1 };
        let last = block.outcomes.len().min(first + most);
        (first + 1..last).find(|at| !is_get(*at)).unwrap_or(last) - 1
    }

    fn add_request(
        &mut self,
        block: &mut Block<'_>,
        first: usize,
        last: usize,
        request: &Request,
    ) -> Result<(), String> {
        let Request { operation, at, took } = *request;
        let ops = (last - first) as u64 + 1;
        self.record.tallies.of(operation).attempted(ops, at, took);
        let mut has_succeeded = false;
        for n in first..=last {
            has_succeeded |= self.add_operation(block, n, operation)?;
        }
        if has_succeeded {
            self.record.tallies.of(operation).record(took);
        }
        Ok(())
    }

    /// Counts what came of an operation; returns whether it succeeded.
    fn add_operation(
        &mut self,
        block: &mut Block<'_>,
        n: usize,
        operation: Operation,
    ) -> Result<bool, String> {
        let step = self.step(n);
        let expected = self.expected(step);
        let outcome = block.outcomes[n];
        let reads = matches!(step.kind, Access::Get | Access::GetOrSet);
        let is_possible = match outcome {
            RIGHT | FAILED => true,
            MISSED => !matches!(step.kind, Access::Set | Access::GetOrSet),
            FILLED | UNFILLED => step.kind == Access::GetOrSet,
            OTHER => reads,
            _ => false,
        };
        if !is_possible {
            return Err(format!(
                "{operation}: no operation of this kind has the outcome {outcome}"
            ));
        }
        let note = match outcome {
            FAILED | UNFILLED | OTHER => {
                let note = block.notes.of(n);
                Some(note.ok_or_else(|| format!("{operation}: an outcome {outcome} has no note"))?)
            }
            _ => None,
        };
        let moved = self.moved_bytes(step, expected);
        let tally = self.record.tallies.of(operation);
        match (outcome, note) {
            (FAILED, Some(note)) => {
                tally.counts.errors += 1;
                note.count_error(tally)?;
                self.not_done(step);
            }
            (UNFILLED, Some(note)) => {
                tally.counts.misses += 1;
                tally.counts.failed_fills += 1;
                note.count_error(tally)?;
                self.not_done(step);
            }
            (OTHER, Some(note)) => return self.add_other(step, operation, &note),
            (MISSED, _) => {
                tally.counts.misses += 1;
                let is_planned = step.kind == Access::Get && step.value == NO_VALUE;
                tally.counts.planned_misses += u64::from(is_planned);
                tally.succeeded += u64::from(is_planned);
                return Ok(is_planned);
            }
            (FILLED, _) => {
                tally.counts.misses += 1;
                tally.succeeded += 1;
                tally.bytes += moved.ok_or("a fill is of no value")?;
                return Ok(true);
            }
            _ => {
                let moved = moved.ok_or_else(|| format!("{operation}: no value would be right"))?;
                tally.counts.hits += u64::from(reads);
                tally.succeeded += 1;
                tally.bytes += moved;
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// The number of the value that an operation stores or expects; 0 where it has none.
    fn expected(&mut self, step: Step) -> u32 {
        let replays = self.sources.replays;
        match step.kind {
            Access::Set => {
                self.held = step.value;
                step.value
            }
            Access::Get | Access::GetOrSet if replays => {
                if step.kind == Access::GetOrSet && self.held == 0 {
                    self.held = step.value;
                }
                self.held
            }
            Access::Get if step.value == NO_VALUE => 0,
            Access::Get | Access::GetOrSet if step.value > 0 => step.value,
            Access::Get | Access::GetOrSet => self.sources.script.newest[step.key as usize],
            _ => 0,
        }
    }

    /// The bytes of a value that was moved as expected; `None` where no value is expected.
    fn moved_bytes(&self, step: Step, expected: u32) -> Option<u64> {
        let has_value = matches!(step.kind, Access::Get | Access::GetOrSet | Access::Set);
        if !has_value {
            return Some(0);
        }
        self.sources.script.value(expected).map(|value| value.len.into())
    }

    /// Notes a change that may not have happened.
    fn not_done(&mut self, step: Step) {
        let record = &mut self.record;
        match step.kind {
            Access::Set | Access::GetOrSet => {
                record.uncertain.insert(step.under);
                record.not_stored.insert(step.value);
            }
            Access::Delete => {
                record.uncertain.insert(step.key);
                record.not_deleted.insert(step.key);
            }
            _ => {}
        }
    }

    /// Judges a value that is not the expected one; returns whether it is right.
    fn add_other(
        &mut self,
        step: Step,
        operation: Operation,
        note: &Note<'_>,
    ) -> Result<bool, String> {
        let known;
        let mut is_own = None;
        let (bytes, len) = match note.kind {
            VALUE => {
                let script = self.sources.script;
                let value = script.value(note.number).filter(|value| value.key == step.key);
                let value =
                    value.ok_or_else(|| format!("value {} is not of its key", note.number))?;
                if !self.sources.replays && self.is_right(step, note.number) {
                    self.count_right(operation, value.len as usize);
                    return Ok(true);
                }
                known = script.text(note.number, self.sources.values);
                is_own = Some(note.number);
                (&known[..], known.len())
            }
            BYTES => (note.bytes, note.number as usize),
            kind => return Err(format!("a value has a note of kind {kind}")),
        };
        if note.kind == BYTES {
            self.other_bytes = self.other_bytes.saturating_add(len);
        }
        let is_cut = bytes.len() == BEGINNING && self.other_bytes > OTHER_BYTES;
        if bytes.len() > len || bytes.len() < len && !is_cut {
            return Err(format!("a value of {len} bytes has {} in its note", bytes.len()));
        }
        let finding = self.verdict(step, bytes, len, is_own);
        if finding == Correctness::Right {
            self.count_right(operation, len);
            return Ok(true);
        }
        let Sources { script, keys, values, base, .. } = self.sources;
        let tally = self.record.tallies.of(operation);
        tally.bytes += len as u64;
        tally.wrong(finding);
        tally.note_wrong(finding, || {
            if bytes.len() < len && finding == Correctness::Damaged {
                return format!("`{}` came back damaged, with {len} bytes", keys.shown(step.key));
            }
            // Otherwise only the header and the length count.
            let mut bytes = bytes.to_vec();
            bytes.resize(len.min(values.longest()).max(bytes.len()), 0);
            let value = if step.under == step.key { step.value } else { 0 };
            let oldest = match script.version(value).unwrap_or(0) {
                NOTHING => NOTHING,
                oldest => oldest.max(base + 1),
            };
            values.describe(keys, ReadExpectation { key: step.key, oldest, base }, finding, &bytes)
        });
        Ok(false)
    }

    /// Counts a right value that is not the expected one.
    fn count_right(&mut self, operation: Operation, len: usize) {
        let tally = self.record.tallies.of(operation);
        tally.bytes += len as u64;
        tally.counts.hits += 1;
        tally.succeeded += 1;
    }

    /// Whether a value of the key is right for an operation.
    fn is_right(&self, step: Step, number: u32) -> bool {
        let is_new = number >= step.value || step.under != step.key;
        is_new || self.record.uncertain.contains(&step.key)
    }

    /// Whether a value of `len` bytes, which begins with `bytes`, is right after all, and otherwise its fault. `own` is
    /// its number, where the program has told it.
    fn verdict(&self, step: Step, bytes: &[u8], len: usize, own: Option<u32>) -> Correctness {
        let Sources { script, values, replays, .. } = self.sources;
        if replays {
            return Correctness::Damaged;
        }
        let is_right = |number: u32| self.is_right(step, number);
        if len < HEADER_LEN {
            let same = |number: &u32| script.text(*number, values) == bytes;
            let own = own.or_else(|| script.numbers_of(step.key).find(same));
            return match own {
                Some(number) if is_right(number) => Correctness::Right,
                own => self.verdict_without_header(step, bytes, own.is_some()),
            };
        }
        match values.verify(step.key, NOTHING, || 0, bytes) {
            Correctness::Stale if bytes.len() == len => {
                let version = number(bytes, 8);
                let own = script.number_of(step.key, version);
                if own.is_some_and(is_right) { Correctness::Right } else { Correctness::Stale }
            }
            // The rest of the bytes is unknown here; the program has found no value that they all equal.
            Correctness::Stale => Correctness::Damaged,
            Correctness::Truncated if bytes.len() < len && number(bytes, 12) as usize <= len => {
                Correctness::Damaged
            }
            finding => finding,
        }
    }

    /// The fault of a value that is shorter than a header. Where the key's values are as short, their bytes alone tell
    /// them apart. Otherwise a truncated value begins as the tag of its key does.
    fn verdict_without_header(&self, step: Step, bytes: &[u8], is_own: bool) -> Correctness {
        let Sources { script, values, .. } = self.sources;
        let newest = script.value(script.newest[step.key as usize]);
        if newest.is_none_or(|value| value.len as usize >= HEADER_LEN) {
            let is_cut = values.begins_header(step.key, bytes);
            return if is_cut { Correctness::Truncated } else { Correctness::Damaged };
        }
        if is_own && bytes.len() >= TELLING_BYTES {
            return Correctness::Stale;
        }
        let wanted = if step.value == 0 { script.newest[step.key as usize] } else { step.value };
        let wanted = script.text(wanted, values);
        let is_cut = bytes.len() < wanted.len() && wanted.starts_with(bytes);
        if is_cut { Correctness::Truncated } else { Correctness::Damaged }
    }

    /// The record, with this end.
    pub(super) fn end(mut self, part: &[u8]) -> Result<Record, String> {
        let ended: Ended = serde_json::from_slice(part)
            .map_err(|error| format!("wrote an invalid end of its record: {error}"))?;
        if let Some(large) = ended.numbers().find(|number| *number > LARGEST_NUMBER) {
            return Err(format!("the end of its record has the number {large}"));
        }
        self.record.ended = ended;
        // A process tells its first error in words, whatever it failed at.
        let words = self.record.tallies.first_error().map(str::to_owned);
        for tally in self.record.tallies.iter_mut() {
            if tally.counts.errors + tally.counts.failed_fills > 0 && tally.first_error.is_none() {
                tally.first_error.clone_from(&words);
            }
        }
        Ok(self.record)
    }
}

impl Ended {
    /// All its numbers.
    fn numbers(&self) -> impl Iterator<Item = u64> {
        let tiers = self.tiers.iter().flat_map(|tier| {
            [tier.hits, tier.misses, tier.dropped, tier.fills, tier.puts, tier.refused]
        });
        let collectors = self
            .collector
            .iter()
            .flat_map(|of| [of.cycles, of.pause_ns, of.longest_pause_ns, of.cpu_ns]);
        let own = [self.cpu_user_ns, self.cpu_system_ns, self.rss_bytes];
        own.into_iter().chain(self.connections).chain(tiers).chain(collectors)
    }
}

impl Note<'_> {
    /// Counts an error: its kind, and behind a line feed its text, which only the first of a process needs.
    fn count_error(&self, tally: &mut Tally) -> Result<(), String> {
        if self.kind != ERROR {
            return Err("an error has no note of its kind".into());
        }
        // Some libraries put bytes of a server into their messages.
        let text = String::from_utf8_lossy(self.bytes);
        let (kind, words) =
            text.split_once('\n').map_or((&*text, None), |(kind, words)| (kind, Some(words)));
        *tally.errors_by_kind.entry(kind.to_owned()).or_default() += 1;
        if let (None, Some(words)) = (&tally.first_error, words) {
            tally.first_error = Some(words.to_owned());
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
