//! The phases of a turn: the load, the measured operations, and the hit ratio that follows from the plan.

use std::time::Duration;

use larder_report::Operation;
use larder_store::Span;

use super::readers::Readers;
use super::replay_limit::ReplayLimit;
use super::source::{Replayed, Source};
use crate::error::{Result, usage};
use crate::measure::{READS, Work};
use larder_workload::trace::Trace;
use larder_workload::{Access, Count, Distribution, KeyPattern, OnMiss, Ratio, WorkloadSpec};

/// A phase with a number of operations is expected to end within this time.
const LONGEST_PHASE: Duration = Duration::from_mins(10);
/// A TTL so many times longer than a phase outlives it: work before and between the phases takes its time, too.
const OUTLIVES: u32 = 10;

/// One phase of a turn.
#[derive(Debug, Clone)]
pub struct PlannedPhase {
    /// Its operations, without their keys.
    pub(crate) work: Work,
    /// Whether the phase fills cells; a load does not.
    pub measured: bool,
    /// The operations that the phase draws.
    pub operations: Vec<Operation>,
    /// Operations of all threads together; `None` when time ends the phase.
    pub requests: Option<u64>,
    /// Time in the measured loop; `None` when operations end the phase.
    pub time_limit: Option<Duration>,
    /// The hit ratio of a store with room for everything, where it follows from the plan.
    pub predicted_hit_ratio: Option<f64>,
    /// The greatest hit ratio that any store can have, where it follows from a trace.
    pub hit_limit: Option<ReplayLimit>,
}

impl PlannedPhase {
    /// Whether misses are filled.
    fn fills(&self) -> bool {
        self.operations.contains(&Operation::GetOrSet)
    }

    /// Whether a miss is filled under the key that was read.
    pub(crate) fn fills_what_it_misses(&self) -> bool {
        self.fills() && !matches!(self.work, Work::Drawn { fills_next: true, .. })
    }

    /// Whether the phase replays a trace, the same in every round.
    pub(crate) fn is_replayed(&self) -> bool {
        matches!(self.work, Work::Replayed { .. })
    }

    /// The share of operations that store a value of their own, 0 to 1; a fill stores the first value of its key.
    #[expect(clippy::cast_precision_loss, reason = "a share")]
    pub(crate) fn share_of_sets(&self) -> f64 {
        let part = |some: usize, all: usize| some as f64 / all.max(1) as f64;
        match &self.work {
            Work::Each(kind) => part(usize::from(*kind == Access::Set), 1),
            Work::Drawn { ratio: Ratio { sets, gets, deletes }, .. } => {
                f64::from(*sets) / f64::from(sets + gets + deletes)
            }
            Work::Chained(kinds) => {
                part(kinds.iter().filter(|kind| **kind == Access::Set).count(), kinds.len())
            }
            Work::Grouped => 0.0,
            Work::Replayed { writes, .. } => part(usize::from(*writes), 1),
        }
    }
}

/// The phases of a turn over this many keys. Each turn starts with an empty store.
pub(super) fn plan_phases(
    spec: &WorkloadSpec,
    source: &Source,
    keys: u32,
    readers: Option<Readers>,
) -> Result<Vec<PlannedPhase>> {
    let on_miss = spec.on_miss.unwrap_or_default();
    let fill = on_miss.fills();
    let multiget = spec.multiget.is_some_and(|keys| keys.0 > 1);
    if multiget && (fill || spec.ratio.is_some()) {
        return Err(usage(format!(
            "--multiget only reads: leave out --ratio and --on-miss {on_miss}"
        )));
    }
    let writes = source.trace().is_some_and(Trace::writes);
    if multiget && writes {
        return Err(usage("--multiget only reads, and this trace also sets or deletes"));
    }
    if fill && spec.operations.is_some() {
        let text =
            format!("--on-miss {on_miss} is an operation of its own: leave out --operations");
        return Err(usage(text));
    }
    if on_miss == OnMiss::FillNext && spec.ratio.is_some() {
        return Err(usage("--on-miss fill-next only reads and fills: leave out --ratio"));
    }
    if let Some(operations) = &spec.operations
        && operations.0.iter().any(|phase| phase.len() > 1)
        && multiget
    {
        let text = format!(
            "--multiget reads many keys at once, --operations {operations} one key: leave out one of them"
        );
        return Err(usage(text));
    }
    check_groups(spec, source, readers.map_or(keys, |readers| keys / readers.applications()))?;
    check_multiset(spec, source)?;
    let together = source.has_requests();
    let planner = Planner { spec, keys, readers, on_miss, multiget, together };
    let mut phases = match (source.trace(), spec.ratio) {
        (Some(_), Some(_)) => {
            return Err(usage(
                "--ratio with a trace: the trace has its own sets and reads; leave out --ratio",
            ));
        }
        (Some(trace), None) => planner.replay(trace, source),
        (None, Some(ratio)) => planner.mix(ratio),
        (None, None) if fill => {
            vec![planner.drawn(READS, Access::GetOrSet, &[Operation::GetOrSet])]
        }
        (None, None) => planner.one_by_one(),
    };
    if let Some(count) = spec.multiget.filter(|_| multiget)
        && !phases.iter().any(|phase| phase.operations.contains(&Operation::GetMany))
    {
        return Err(usage(format!(
            "--multiget {count}: no `get` is measured that could read so many keys; leave it out"
        )));
    }
    if let Some(count) = spec.multiset.filter(|keys| keys.0 > 1)
        && !phases.iter().any(|phase| phase.operations.contains(&Operation::SetMany))
    {
        return Err(usage(format!(
            "--multiset {count}: no `set` by itself is measured that could store so many keys; leave it out"
        )));
    }
    if let Some(time) = spec.load_time
        && !phases.iter().any(PlannedPhase::fills)
    {
        return Err(usage(format!(
            "--load-time {time}: no miss is filled; add --on-miss fill, or leave it out"
        )));
    }
    if let Some(each) = spec.each_thread.filter(|_| readers.is_some())
        && !phases.iter().any(|phase| phase.work.only_reads())
    {
        return Err(usage(format!(
            "--each-thread {each}: no operation only reads; take --operations get, or leave it out"
        )));
    }
    check_capacity(spec, on_miss)?;
    let longest = spec.duration.map_or(LONGEST_PHASE, |Span(limit)| limit * OUTLIVES);
    let lasting = lasts(spec.ttl.map(|Span(ttl)| ttl), longest);
    if lasting && spec.capacity.is_none() && spec.ratio.is_none_or(|ratio| ratio.deletes == 0) {
        predict_hits(&mut phases, source, keys);
    }
    Ok(phases)
}

/// Refuses sets of many keys where sets are mixed with other operations, or carry the tag of a group.
fn check_multiset(spec: &WorkloadSpec, source: &Source) -> Result<()> {
    let Some(count) = spec.multiset.filter(|keys| keys.0 > 1) else { return Ok(()) };
    let refuse =
        |others: &str| Err(usage(format!("--multiset {count} only stores: leave out {others}")));
    let names = |operation| spec.operations.iter().any(|list| list.0.concat().contains(&operation));
    if source.replayed.is_some() {
        return refuse("the trace");
    }
    if spec.ratio.is_some() {
        return refuse("--ratio");
    }
    if spec.on_miss.is_some_and(OnMiss::fills) {
        return refuse("--on-miss");
    }
    if names(Operation::GetTag) {
        return refuse("get_tag, whose values have tags");
    }
    Ok(())
}

/// Refuses capacities without comparable hit ratios: no miss is filled, or time ends the phase, at another operation
/// for each target.
fn check_capacity(spec: &WorkloadSpec, on_miss: OnMiss) -> Result<()> {
    let Some(capacity) = &spec.capacity else { return Ok(()) };
    if on_miss != OnMiss::Fill {
        return Err(usage(format!(
            "--capacity {capacity}: a capacity matters only for reads that fill; add --on-miss fill"
        )));
    }
    match spec.duration {
        Some(time) => Err(usage(format!(
            "--capacity {capacity} with --duration {time}: hit ratios need the same operations for all targets; give \
             their number with --requests"
        ))),
        None => Ok(()),
    }
}

/// Refuses groups that no operation reads, and reads of groups without a group size.
fn check_groups(spec: &WorkloadSpec, source: &Source, keys: u32) -> Result<()> {
    let named = spec.operations.iter().flat_map(|list| list.0.concat());
    let of_many = named.into_iter().find(|operation| operation.is_of_many_keys());
    let Some(Count(size)) = spec.group else {
        return match of_many {
            Some(Operation::GetMany) => Err(usage(
                "--operations get_many reads groups: give their size with --group, or write get and --multiget",
            )),
            Some(operation) => Err(usage(format!(
                "--operations {operation} reads groups: give their size with --group"
            ))),
            None => Ok(()),
        };
    };
    let multiget = spec.multiget.map(|keys| keys.0);
    if size < 2 || !keys.is_multiple_of(size) {
        let whole = (keys / size.max(2)).max(1) * size.max(2);
        return Err(usage(format!(
            "--group {size} with --keys {keys}: groups have 2 keys or more, all the same number; {whole} keys and \
             --group {} would do",
            size.max(2)
        )));
    }
    if source.replayed.is_some() || spec.ratio.is_some() || spec.on_miss.is_some_and(OnMiss::fills)
    {
        return Err(usage(format!(
            "--group {size} only reads: leave out the trace, --ratio and --on-miss"
        )));
    }
    match multiget {
        Some(multiget) if multiget != size => Err(usage(format!(
            "--multiget {multiget} with --group {size}: a request asks for a whole group; give both the same number"
        ))),
        None if of_many.is_none() => Err(usage(format!(
            "--group {size}: no operation reads groups; add get_each, get_many or get_tag to --operations"
        ))),
        _ => Ok(()),
    }
}

/// Whether an entry with this TTL outlives a time that began before the entry was set.
fn lasts(ttl: Option<Duration>, time: Duration) -> bool {
    ttl.is_none_or(|ttl| ttl >= time)
}

struct Planner<'a> {
    spec: &'a WorkloadSpec,
    keys: u32,
    readers: Option<Readers>,
    on_miss: OnMiss,
    multiget: bool,
    /// Whether a trace is replayed with the keys of each request together.
    together: bool,
}

impl Planner<'_> {
    /// A trace: its reads after a load, or all its operations where the trace writes or misses are filled.
    fn replay(&self, trace: &Trace, source: &Source) -> Vec<PlannedPhase> {
        let writes = trace.writes();
        let work = Work::Replayed { read: self.read(), writes };
        let len = source.replayed.as_ref().map_or(0, |replayed| replayed.operations);
        // A get-or-set of several keys is one of each key.
        let together = self.together && !self.on_miss.fills();
        let operations = recorded_operations(trace, self.read_operation(), together);
        let phase = self.phase(work, &operations, 0);
        let requests = phase.time_limit.is_none().then_some(len);
        let mut replay = PlannedPhase { requests, ..phase };
        if self.on_miss.fills() || writes {
            let limit = source.replayed.as_ref().and_then(|replayed| replayed.hit_limit);
            replay.hit_limit = limit.filter(|_| replay.requests.is_some());
            return vec![replay];
        }
        vec![self.every_key(Access::Set, Operation::Set), replay]
    }

    /// Sets and gets mixed, after a load; with fills the store starts empty.
    fn mix(&self, ratio: Ratio) -> Vec<PlannedPhase> {
        let named = [
            (Operation::Set, ratio.sets),
            (self.read_operation(), ratio.gets),
            (Operation::Delete, ratio.deletes),
        ];
        let drawn = named.iter().filter(|(_, share)| *share > 0);
        let operations: Vec<_> = drawn.map(|(operation, _)| *operation).collect();
        let mixed = self.drawn(ratio, self.read(), &operations);
        if self.on_miss.fills() { vec![mixed] } else { vec![self.load(), mixed] }
    }

    /// Each operation in a phase of its own: every key set, then reads. Joined operations follow each other key by
    /// key.
    fn one_by_one(&self) -> Vec<PlannedPhase> {
        let named = self.spec.operations.clone().map(|list| list.0);
        let named = named.unwrap_or_else(|| vec![vec![Operation::Set], vec![Operation::Get]]);
        let first = named.first().and_then(|phase| phase.first());
        let load = (first != Some(&Operation::Set)).then(|| self.load());
        let phase = |operations: &Vec<Operation>| match operations[..] {
            [Operation::Get] if self.multiget && self.spec.group.is_some() => {
                self.grouped(Operation::GetMany)
            }
            [operation] if operation.is_of_many_keys() => self.grouped(operation),
            [Operation::Set] if self.spec.multiset.is_some_and(|keys| keys.0 > 1) => {
                self.every_key(Access::Set, Operation::SetMany)
            }
            [Operation::Get] => self.drawn(READS, self.read(), &[self.read_operation()]),
            [Operation::GetOrSet] => self.drawn(READS, Access::GetOrSet, operations),
            [operation] => self.every_key(kind(operation), operation),
            _ => self.chained(operations),
        };
        load.into_iter().chain(named.iter().map(phase)).collect()
    }

    /// Several operations on each key that is drawn. There is a chain for each key, or as many operations as were
    /// asked for, rounded up to whole chains.
    fn chained(&self, operations: &[Operation]) -> PlannedPhase {
        let length = operations.len() as u64;
        let kinds = operations.iter().map(|operation| kind(*operation)).collect();
        let every_key = u64::from(self.keys) * length;
        let phase = self.phase(Work::Chained(kinds), operations, every_key);
        let requests = phase.requests.map(|requests| requests.next_multiple_of(length));
        PlannedPhase { requests, ..phase }
    }

    /// All keys of each group that is drawn. The phase reads as many keys as there are, or as were asked for, rounded
    /// up to whole groups.
    fn grouped(&self, operation: Operation) -> PlannedPhase {
        let phase = self.phase(Work::Grouped, &[operation], self.keys.into());
        if self.readers.is_some() {
            return phase;
        }
        let size = self.spec.group.map_or(1, |size| size.0.into());
        let requests = phase.requests.map(|requests| requests.next_multiple_of(size));
        PlannedPhase { requests, ..phase }
    }

    fn load(&self) -> PlannedPhase {
        PlannedPhase { measured: false, ..self.every_key(Access::Set, Operation::Set) }
    }

    fn every_key(&self, kind: Access, operation: Operation) -> PlannedPhase {
        PlannedPhase {
            requests: Some(self.keys.into()),
            time_limit: None,
            ..self.phase(Work::Each(kind), &[operation], 0)
        }
    }

    fn drawn(&self, ratio: Ratio, read: Access, operations: &[Operation]) -> PlannedPhase {
        let fills_next = self.on_miss == OnMiss::FillNext;
        let work = Work::Drawn { ratio, read, fills_next };
        self.phase(work, operations, self.keys.into())
    }

    /// A measured phase of as many operations as were asked for, or `otherwise`.
    fn phase(&self, work: Work, operations: &[Operation], otherwise: u64) -> PlannedPhase {
        let time_limit = self.spec.duration.map(|Span(duration)| duration);
        let asked = self.spec.requests.map_or(otherwise, |requests| requests.0.into());
        let asked = match self.readers.filter(|_| work.only_reads()) {
            Some(readers) => asked.next_multiple_of(readers.passes(self.keys)),
            None => asked,
        };
        PlannedPhase {
            work,
            measured: true,
            operations: operations.to_vec(),
            requests: time_limit.is_none().then_some(asked),
            time_limit,
            predicted_hit_ratio: None,
            hit_limit: None,
        }
    }

    fn read(&self) -> Access {
        if self.on_miss.fills() { Access::GetOrSet } else { Access::Get }
    }

    fn read_operation(&self) -> Operation {
        match (self.on_miss.fills(), self.multiget) {
            (true, _) => Operation::GetOrSet,
            (_, true) => Operation::GetMany,
            _ => Operation::Get,
        }
    }
}

/// The kind of access that carries out an operation of the list.
fn kind(operation: Operation) -> Access {
    match operation {
        Operation::Get | Operation::GetMany | Operation::GetEach | Operation::GetTag => Access::Get,
        Operation::GetOrSet => Access::GetOrSet,
        Operation::Delete => Access::Delete,
        Operation::Touch => Access::Touch,
        Operation::Incr => Access::Incr,
        Operation::Set | Operation::SetMany => Access::Set,
    }
}

fn recorded_operations(trace: &Trace, read: Operation, together: bool) -> Vec<Operation> {
    let stats = trace.stats();
    let joined = if together { stats.joined_gets } else { 0 };
    let recorded = [
        (read, stats.gets - joined),
        (Operation::GetMany, joined),
        (Operation::Set, stats.sets),
        (Operation::Delete, stats.deletes),
        (Operation::Touch, stats.touches),
        (Operation::Incr, stats.counts),
    ];
    recorded.into_iter().filter(|(_, count)| *count > 0).map(|(operation, _)| operation).collect()
}

/// The keys that are stored when a phase begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum KeysStored {
    Nothing,
    /// The keys that the pattern has drawn so far.
    Drawn,
    /// The keys that are left after those that the pattern has drawn were deleted.
    Some,
    All,
}

/// Predicts the hits that follow from the plan alone, for a store with room for everything whose entries do not
/// expire. After a load, or after a set of the same key, every read hits. Where misses are filled, every read but the
/// first of each key hits.
fn predict_hits(phases: &mut [PlannedPhase], source: &Source, keys: u32) {
    let mut stored = KeysStored::Nothing;
    let one_key = matches!(source.pattern, KeyPattern::Drawn(Distribution::First)) || keys == 1;
    for phase in phases {
        match &phase.work {
            Work::Each(Access::Set) => stored = KeysStored::All,
            Work::Each(Access::Delete) => stored = KeysStored::Nothing,
            Work::Chained(kinds) => {
                phase.predicted_hit_ratio = chained_hits(kinds, stored == KeysStored::All);
                stored = after_chain(kinds, stored);
            }
            Work::Drawn { .. } | Work::Grouped if stored == KeysStored::All => {
                phase.predicted_hit_ratio = Some(1.0);
            }
            // With no key stored, every read misses.
            Work::Drawn { ratio, read: Access::Get, .. }
                if stored == KeysStored::Nothing && *ratio == READS =>
            {
                phase.predicted_hit_ratio = Some(0.0);
            }
            Work::Grouped if stored == KeysStored::Nothing => {
                phase.predicted_hit_ratio = Some(0.0);
            }
            // The plan does not tell which of several keys the pattern had drawn before.
            Work::Drawn { .. } if stored == KeysStored::Drawn => {
                phase.predicted_hit_ratio = one_key.then_some(1.0);
            }
            Work::Drawn { .. } if stored == KeysStored::Some => {}
            Work::Drawn { ratio, read: Access::GetOrSet, fills_next } if *ratio == READS => {
                phase.predicted_hit_ratio = phase
                    .requests
                    .and_then(|requests| filled_hits(source, keys, requests, *fills_next));
                stored = KeysStored::Drawn;
            }
            Work::Replayed { writes: false, read: Access::Get } => {
                let loaded = stored == KeysStored::All;
                phase.predicted_hit_ratio = Some(if loaded { 1.0 } else { 0.0 });
            }
            Work::Replayed { writes: false, read: Access::GetOrSet } => {
                phase.predicted_hit_ratio =
                    source.replayed.as_ref().and_then(|replayed| replayed_hits(replayed, phase));
            }
            _ => {}
        }
    }
}

/// The hit ratio of a replay whose reads all fill. On a clock, entries expire as the models follow it.
fn replayed_hits(replayed: &Replayed, phase: &PlannedPhase) -> Option<f64> {
    let reads = replayed.trace.len();
    let modelled = replayed.modelled.as_ref().unwrap_or(&replayed.trace);
    #[expect(clippy::cast_precision_loss, reason = "a ratio for people")]
    let ratio = modelled.most_hits(true) as f64 / reads as f64;
    (phase.requests == Some(reads as u64)).then_some(ratio)
}

/// The keys that are stored after a chain: the last set or delete of a chain decides whether its key is.
fn after_chain(kinds: &[Access], stored: KeysStored) -> KeysStored {
    match kinds.iter().rfind(|kind| matches!(kind, Access::Set | Access::Delete)) {
        Some(Access::Set) if stored == KeysStored::Nothing => KeysStored::Drawn,
        Some(Access::Delete) if stored != KeysStored::Nothing => KeysStored::Some,
        _ => stored,
    }
}

/// The hit ratio of the get in a chain: 1 behind a set, 0 behind a delete. Before both the ratio is 1 if the keys were
/// loaded and no chain deletes them.
fn chained_hits(kinds: &[Access], loaded: bool) -> Option<f64> {
    let get = kinds.iter().position(|kind| *kind == Access::Get)?;
    let changes = |kind: &&Access| matches!(kind, Access::Set | Access::Delete);
    match kinds[..get].iter().rfind(changes) {
        Some(Access::Set) => Some(1.0),
        Some(_) => Some(0.0),
        None => (loaded && !kinds.contains(&Access::Delete)).then_some(1.0),
    }
}

/// The hit ratio of this many get-or-sets on an empty store, where the pattern fixes the order of the keys. All but the
/// first read of each key hit. No read hits where misses are stored under a key that is never read.
fn filled_hits(source: &Source, keys: u32, requests: u64, fills_next: bool) -> Option<f64> {
    let KeyPattern::Drawn(distribution) = &source.pattern else { return None };
    let keys = u64::from(keys);
    let distinct = match distribution {
        Distribution::First => 1,
        Distribution::Sequential => keys.min(requests),
        _ if keys == 1 => 1,
        _ => return None,
    };
    if fills_next && keys > 1 {
        // Other patterns read the next key, or may read it.
        return (*distribution == Distribution::First).then_some(0.0);
    }
    #[expect(clippy::cast_precision_loss, reason = "a ratio for people")]
    let ratio = (requests - distinct) as f64 / requests as f64;
    Some(ratio)
}
