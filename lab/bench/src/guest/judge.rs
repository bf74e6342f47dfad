//! What came of the operations of one process, counted and judged by its records.

use std::collections::{BTreeSet, HashSet};

use larder_report::Operation;
use larder_workload::{
    Access, Correctness, HEADER_LEN, KeySpace, NOTHING, ReadExpectation, Values,
};
use serde::Deserialize;

use super::records::number;
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

/// The kinds of notes: a value by its number, a value by its bytes, and an error.
const VALUE: u32 = 1;
const BYTES: u32 = 2;
const ERROR: u32 = 3;
/// The most operations of a block, of each of several processes.
pub(super) const MOST_OPERATIONS: usize = 262_144;
/// The most bytes of other values that a block has whole, and the bytes of each value after these.
pub(super) const OTHER_BYTES: usize = 16 << 20;
const BEGINNING: usize = 64;
/// The largest number that the end of a record can rightly have: sums of these do not overflow.
const LARGEST_NUMBER: u64 = 1 << 53;
/// No clock that runs from the start of the machine shows more.
const LATEST_NS: u64 = 1 << 62;
/// The bytes of a note before its own bytes, and of the beginning of a segment.
const NOTE_HEAD: usize = 16;
const SEGMENT: usize = 16;
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

/// A part of a record: operations that were prepared together.
struct Block<'b> {
    /// The first operation of each segment, and when it began.
    segments: Vec<(usize, u64)>,
    ends: &'b [u8],
    outcomes: &'b [u8],
    notes: Notes<'b>,
}

/// The notes of a block, in the order of its operations.
struct Notes<'b>(&'b [u8]);

/// What a program notes of one operation, beside its outcome.
struct Note<'b> {
    kind: u32,
    /// The number of a value, or the length of a value of which `bytes` may be the beginning.
    number: u32,
    bytes: &'b [u8],
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
        if block.notes.0.is_empty() { Ok(()) } else { Err("a note is of no operation".into()) }
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

impl<'b> Block<'b> {
    /// A block in this form; `None` where its length is another.
    fn read(part: &'b [u8]) -> Option<Self> {
        let head = part.get(..16)?;
        let [count, segments, notes] = [0, 4, 8].map(|at| number(head, at) as usize);
        let (head, rest) = part[16..].split_at_checked(segments.checked_mul(SEGMENT)?)?;
        let (ends, rest) = rest.split_at_checked(count.checked_mul(8)?)?;
        let (outcomes, rest) = rest.split_at_checked(count)?;
        let segments = head.chunks_exact(SEGMENT);
        let segment = |at: &[u8]| (number(at, 0) as usize, nanoseconds(at, 8));
        let block =
            Self { segments: segments.map(segment).collect(), ends, outcomes, notes: Notes(rest) };
        let mut all = Notes(rest);
        let has_notes = (0..notes).all(|_| all.next().is_some());
        (has_notes && all.0.is_empty()).then_some(block)
    }

    /// When an operation ended.
    fn end(&self, n: usize) -> u64 {
        nanoseconds(self.ends, 8 * n)
    }
}

impl<'b> Notes<'b> {
    /// The note of this operation, where it is the next one.
    fn of(&mut self, n: usize) -> Option<Note<'b>> {
        if number(self.0.get(..NOTE_HEAD)?, 0) as usize != n {
            return None;
        }
        self.next()
    }

    fn next(&mut self) -> Option<Note<'b>> {
        let head = self.0.get(..NOTE_HEAD)?;
        let [kind, value, len] = [4, 8, 12].map(|at| number(head, at));
        let (bytes, rest) = self.0[NOTE_HEAD..].split_at_checked(len as usize)?;
        self.0 = rest;
        Some(Note { kind, number: value, bytes })
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

/// The time at this place of a part, by the monotonic clock.
fn nanoseconds(bytes: &[u8], at: usize) -> u64 {
    bytes.get(at..at + 8).and_then(|eight| eight.try_into().ok()).map_or(0, u64::from_le_bytes)
}

#[cfg(test)]
mod tests {
    use larder_workload::{Lengths, Sizes};
    use proptest::prelude::*;

    use super::*;

    const SEED: u64 = 7;

    /// A plan whose values have 40 bytes, and 10 under the last key.
    struct Plan {
        script: Script,
        keys: KeySpace,
        values: Values,
        replays: bool,
    }

    impl Plan {
        fn new(keys: u32, processes: u32) -> Self {
            let size = |bytes: &str| bytes.parse().expect("a number of bytes");
            Self {
                script: Script::new(keys, processes),
                keys: KeySpace::new(b"key-", keys, Lengths::Drawn(size("1")), SEED),
                values: Values::random(Sizes::Drawn(size("40")), 4096, 0.0, SEED),
                replays: false,
            }
        }

        fn value(&mut self, key: u32, version: u32, len: usize) -> u32 {
            let (at, header) = self.values.recipe_of(key, version, len);
            self.script.add(key, version, at, len, header)
        }

        fn phase(&mut self, operations: &[Operation], steps: Vec<Step>, multiget: usize) {
            let processes = self.script.processes() as usize;
            let idle = std::iter::repeat_n(steps.len()..steps.len(), processes - 1);
            self.script.phases.push(Act {
                measured: true,
                operations: operations.to_vec(),
                has_unfilled: false,
                shares: std::iter::once(0..steps.len()).chain(idle).collect(),
                steps,
                time_limit: None,
                multiget,
                again: false,
            });
        }

        fn judge(&self, phase: usize, uncertain: &HashSet<u32>) -> Judge<'_> {
            let Self { script, keys, values, replays } = self;
            let sources = Sources { script, keys, values, base: 0, replays: *replays };
            Judge::new(sources, phase, 0, uncertain)
        }

        /// The record of one block in the first phase.
        fn record(&self, part: &[u8]) -> Result<Record, String> {
            let mut judge = self.judge(0, &HashSet::new());
            judge.add(part)?;
            judge.end(&ended())
        }
    }

    fn ended() -> Vec<u8> {
        br#"{"cpu_user_ns": 1, "cpu_system_ns": 2, "rss_bytes": 3, "connections": null, "tiers": []}"#.to_vec()
    }

    type Noted<'a> = (u32, u32, u32, &'a [u8]);

    /// A block: for each segment, its first operation and its beginning; then ends, outcomes and notes.
    fn block(
        segments: &[(u32, u64)],
        ends: &[u64],
        outcomes: &[u8],
        notes: &[Noted<'_>],
    ) -> Vec<u8> {
        let mut part = Vec::new();
        let mut number = |of: usize| u32::try_from(of).expect("a small number").to_le_bytes();
        part.extend([ends.len(), segments.len(), notes.len(), 0].map(&mut number).concat());
        for (first, began) in segments {
            part.extend(first.to_le_bytes());
            part.extend([0; 4]);
            part.extend(began.to_le_bytes());
        }
        part.extend(ends.iter().flat_map(|end| end.to_le_bytes()));
        part.extend(outcomes);
        for (n, kind, value, bytes) in notes {
            part.extend([*n, *kind, *value].map(u32::to_le_bytes).concat());
            part.extend(number(bytes.len()));
            part.extend(*bytes);
        }
        part
    }

    fn of(record: &mut Record, operation: Operation) -> &Tally {
        record.tallies.of(operation)
    }

    #[test]
    fn a_process_alone_has_no_pauses_and_one_of_several_has() {
        for (processes, wall_ns, bin) in [(1, 50, 0), (2, 5_000_030, 31)] {
            let mut plan = Plan::new(1, processes);
            let value = plan.value(0, 1, 40);
            plan.phase(&[Operation::Set], vec![Step::set(0, value); 3], 1);
            let part = block(&[(0, 1000), (2, 5_001_000)], &[1010, 1020, 5_001_030], &[0; 3], &[]);
            let mut record = plan.record(&part).unwrap();
            assert_eq!((record.start_ns, record.wall_ns), (Some(1000), wall_ns));
            assert_eq!((record.ops, record.end_ns, record.ended.rss_bytes), (3, 5_001_030, 3));
            let set = of(&mut record, Operation::Set);
            assert_eq!((set.busy_ns, set.bytes, set.succeeded), (50, 120, 3));
            let timeline = set.timeline(std::time::Duration::from_nanos(wall_ns));
            assert_eq!(
                timeline.max_ns.iter().rposition(|max| *max == 30),
                Some(timeline.ops.len() - 1)
            );
            assert!(timeline.ops.len() > bin / 2, "{timeline:?}");
        }
    }

    #[test]
    fn a_request_has_one_latency_if_any_of_its_keys_was_right() {
        let mut plan = Plan::new(2, 1);
        let value = plan.value(0, 1, 40);
        let gets = [Step::get(0, value), Step::get(1, NO_VALUE), Step::get(0, value)];
        plan.phase(&[Operation::GetMany], [gets.to_vec(), gets.to_vec()].concat(), 2);
        // The first block ends within a request of the plan. Requests never go from one block to the next.
        let first = block(&[(0, 10)], &[20, 20, 30], &[0, 1, 1], &[]);
        let second = block(&[(0, 50)], &[60, 60, 90], &[1, 1, 0], &[]);
        let mut judge = plan.judge(0, &HashSet::new());
        judge.add(&first).unwrap();
        judge.add(&second).unwrap();
        let mut record = judge.end(&ended()).unwrap();
        let get = of(&mut record, Operation::GetMany);
        assert_eq!((get.counts.ops, get.counts.hits, get.counts.misses), (6, 2, 4));
        assert_eq!((get.counts.planned_misses, get.succeeded), (2, 4));
        assert_eq!(get.latency.len(), 3, "the key of the second request was missed");
        assert_eq!(get.busy_ns, 20 + 40);
    }

    #[test]
    fn after_a_change_that_failed_any_value_of_the_key_is_right() {
        let changes: [fn(u32) -> Step; 3] = [
            |_| Step::delete(0),
            |newer| Step::set(0, newer),
            |newer| Step::get_or_set(0, newer, 0),
        ];
        for change in changes {
            let mut plan = Plan::new(1, 1);
            let (older, newer) = (plan.value(0, 1, 40), plan.value(0, 2, 40));
            let change = change(newer);
            let operation = operation_of(change.kind, 1);
            let steps = vec![change, Step::get(0, NO_VALUE), Step::get(0, newer)];
            plan.phase(&[operation, Operation::Get], steps, 1);
            let judged = |outcome: u8, uncertain: &HashSet<u32>| {
                let notes = [(1, VALUE, older, &b""[..]), (2, VALUE, older, b"")];
                let error = [(0, ERROR, 0, &b"timeout\nno answer"[..])];
                let notes =
                    if outcome == FAILED { [&error[..], &notes].concat() } else { notes.to_vec() };
                let part = block(&[(0, 0)], &[1, 2, 3], &[outcome, OTHER, OTHER], &notes);
                let mut judge = plan.judge(0, uncertain);
                judge.add(&part).unwrap();
                judge.end(&ended()).unwrap()
            };
            let mut sure = judged(RIGHT, &HashSet::new());
            assert_eq!(of(&mut sure, Operation::Get).counts.stale, 2);
            let mut unsure = judged(FAILED, &HashSet::new());
            assert_eq!(of(&mut unsure, Operation::Get).counts.hits, 2);
            assert_eq!(of(&mut unsure, operation).errors_by_kind["timeout"], 1);
            assert_eq!(unsure.tallies.first_error(), Some("no answer"));
            assert_eq!(!unsure.not_deleted.is_empty(), operation == Operation::Delete);
            assert_eq!(unsure.not_stored.len(), usize::from(operation != Operation::Delete));
            // It holds for the phases that follow.
            let mut later = judged(RIGHT, &unsure.uncertain);
            assert_eq!(of(&mut later, Operation::Get).counts.hits, 2);
        }
    }

    #[test]
    fn a_value_of_which_only_the_beginning_is_known_is_never_right() {
        let mut plan = Plan::new(2, 1);
        let (long, other) = (plan.value(0, 1, 200), plan.value(1, 1, 200));
        plan.phase(&[Operation::Get], vec![Step::get(0, long); 2], 1);
        let [text, other] = [long, other].map(|number| plan.script.text(number, &plan.values));
        let whole = vec![0; OTHER_BYTES];
        for (bytes, len, expected) in [
            (&text[..64], 200, Correctness::Damaged),
            (&text[..64], 300, Correctness::Damaged),
            (&text[..64], 199, Correctness::Truncated),
            (&other[..64], 200, Correctness::OtherKey),
            (&text[1..65], 200, Correctness::Damaged),
            (&text[..], 200, Correctness::Right),
        ] {
            // Values are told whole before there are too many bytes of them.
            let other_bytes = u32::try_from(whole.len()).unwrap();
            let notes = [(0, BYTES, other_bytes, &whole[..]), (1, BYTES, len, bytes)];
            let part = block(&[(0, 0)], &[1, 2], &[OTHER; 2], &notes);
            let mut record = plan.record(&part).unwrap();
            let alone = block(&[(0, 0)], &[1], &[OTHER], &[(0, BYTES, len, bytes)]);
            assert_eq!(plan.record(&alone).is_err(), bytes.len() < len as usize);
            let get = of(&mut record, Operation::Get);
            assert_eq!(get.bytes, u64::from(other_bytes + len));
            let found = expected.name().map(|name| get.wrong_examples.contains_key(name));
            assert_eq!(found, expected.name().map(|_| true), "{expected:?}: {get:?}");
            assert_eq!(get.counts.hits, u64::from(expected == Correctness::Right));
        }
    }

    #[test]
    fn a_replaying_cache_returns_the_value_that_was_set_last() {
        let mut plan = Plan { replays: true, ..Plan::new(3, 1) };
        let (small, large) = (plan.value(0, 1, 40), plan.value(1, 1, 400));
        plan.phase(&[Operation::Set], vec![Step::set(1, large), Step::set(0, small)], 1);
        let steps = vec![Step::get(1, large), Step::set(1, large), Step::get(0, small)];
        plan.phase(&[Operation::Get, Operation::Set], steps, 1);
        let mut judge = plan.judge(1, &HashSet::new());
        judge.add(&block(&[(0, 0)], &[1, 2, 3], &[RIGHT; 3], &[])).unwrap();
        let mut record = judge.end(&ended()).unwrap();
        assert_eq!(of(&mut record, Operation::Get).bytes, 40 + 400);
    }

    proptest! {
        #[test]
        fn no_part_makes_it_panic(
            bytes in prop::collection::vec(any::<u8>(), 0..200),
            changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..6),
        ) {
            let mut plan = Plan::new(2, 1);
            let (value, short) = (plan.value(0, 1, 40), plan.value(1, 1, 10));
            let steps = vec![
                Step::set(0, value),
                Step::get(0, value),
                Step::get(1, short),
                Step::get_or_set(0, value, 1),
            ];
            plan.phase(&[Operation::Set, Operation::Get, Operation::GetOrSet], steps, 1);
            let notes = [(1, VALUE, value, &b""[..]), (2, BYTES, 10, b"abc"), (3, ERROR, 0, b"io")];
            let outcomes = [RIGHT, OTHER, OTHER, UNFILLED];
            let mut part = block(&[(0, 9), (2, 20)], &[10, 20, 30, 40], &outcomes, &notes);
            for (at, byte) in changes {
                let at = at.index(part.len());
                part[at] = byte;
            }
            for part in [bytes, part] {
                let mut judge = plan.judge(0, &HashSet::new());
                if judge.add(&part).is_ok() {
                    let _ = judge.end(&part);
                }
            }
        }
    }
}
