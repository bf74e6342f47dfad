//! Where keys and bytes come from: a pattern, a trace, a payload.

use std::collections::HashSet;
use std::path::Path;
use std::sync::Arc;

use larder_report::figures::{agreeing, count};
use larder_store::ByteSize;

use super::backward;
use super::part::Common;
use super::replay_limit::ReplayLimit;
use crate::error::{Error, Result, usage};
use larder_insight::{Insight, Settings};
use larder_workload::trace::{About, Formats, Trace, TraceOp, TraceSource};
use larder_workload::{
    Access, ArrivalKind, Count, Distribution, KeyPattern, OnMiss, SizeSpec, Sweep, WorkloadSpec,
};

/// The default number of keys.
const DEFAULT_KEYS: u32 = 20_000;
/// The values of all keys take at most this by default, in bytes: larger values need fewer keys to be measured well.
const DEFAULT_SET: u64 = 256 << 20;
/// The default size of values: 1 KiB.
pub const DEFAULT_VALUE_SIZE: u32 = 1024;

/// The payload that is built in, as `--payload` names it.
const BUILT_IN_PAGE: &str = "builtin:page";
/// A page of HTML as a web server sends it, made of the documentation.
const PAGE: &[u8] = include_bytes!("../../../../scenarios/page.html");

/// A trace that is replayed.
#[derive(Debug, Clone)]
pub(super) struct Replayed {
    pub(super) trace: Arc<Trace>,
    /// The same as the models follow it, which have no clock; `None` where it does not differ.
    pub(super) modelled: Option<Arc<Trace>>,
    /// The greatest hit ratio of all caches that begin empty, where the trace is replayed once.
    pub(super) hit_limit: Option<ReplayLimit>,
    /// The operations of a round: all of the trace, or more where it comes round.
    pub(super) operations: u64,
    /// The place of the first operation of each request, where keys are asked together as they were recorded.
    pub(super) starts: Option<Arc<[u32]>>,
    /// The most keys of a request.
    pub(super) most_keys: usize,
    /// Whether the replay stores values: those that were recorded, or fills.
    stores: bool,
    /// The formats in which its files are read.
    pub(super) formats: Formats,
    /// The keys that are asked for and never stored.
    unstored: Arc<HashSet<u32>>,
}

impl Replayed {
    /// Reads a trace, and makes of it what a replay carries out.
    fn open(
        spec: &WorkloadSpec,
        source: &TraceSource,
        common: &Common<'_>,
        notes: &mut Vec<String>,
    ) -> Result<Self> {
        let has_guest = common.has_guest;
        let at_most = spec.requests.map(|requests| requests.0 as usize);
        let has_clock = has_clock(spec);
        // On a clock, a target may keep an entry for a step of its own longer than its TTL. The limit is that of the recorded rows,
        // of which the trace in memory keeps a part.
        let may_be_limited = spec.ttl.is_none() && !has_clock;
        let mut insight = (may_be_limited && common.hit_limit.is_none())
            .then(|| Insight::new(Settings::default()));
        let (mut recorded, formats) = match &mut insight {
            Some(insight) => source.open_beside(at_most, insight)?,
            None => source.open(at_most)?,
        };
        // Where --requests ends the trace, it is replayed once; where it asks for more, the trace comes round.
        let more = at_most.filter(|asked| *asked > recorded.len());
        if spec.on_miss == Some(OnMiss::FillNext) {
            return Err(usage(
                "--on-miss fill-next with a trace: the trace has its own sets; take fill or skip",
            ));
        }
        recorded = with_counts(recorded, has_guest, notes);
        let fills = spec.on_miss.is_some_and(OnMiss::fills);
        let stores = fills || recorded.writes();
        let own_ttls = stores && spec.ttl.is_none();
        let is_limited = may_be_limited && stores && more.is_none();
        let counted = || Some(insight?.limit(&About::default())?.at_most());
        let hit_limit = is_limited.then(|| common.hit_limit.or_else(counted)).flatten();
        if fills {
            recorded = recorded.unfilled_marked().ttls_carried_on();
        }
        let finished = |trace: &Trace| {
            let trace = if fills { trace.fills_removed() } else { trace.clone() };
            if stores { trace.sizes_carried_on() } else { trace }
        };
        let plain = finished(&recorded);
        note_fills(recorded.len() - plain.len(), plain.n_unfilled(), notes);
        note_misses(&plain, fills, notes);
        note_approximations(&plain, has_guest, notes);
        check_sizes(spec, source, &plain)?;
        note_sizes(spec, &plain, stores, notes);
        note_clock(spec, &plain, more.is_some(), notes);
        let expired = if own_ttls { with_expiry(recorded, fills, has_clock, notes) } else { None };
        let expired = expired.as_ref().map(finished);
        // Models have no clock, and follow what is replayed without one.
        let (trace, modelled) = match expired {
            Some(expired) if has_clock => (plain, Some(expired)),
            Some(expired) => (expired, None),
            None => (plain, None),
        };
        let starts = request_starts(spec, &trace, has_guest, notes);
        Ok(Self {
            most_keys: if starts.is_some() { trace.longest_request() } else { 1 },
            hit_limit: hit_limit.map(|ratio| ReplayLimit::new(ratio, &trace, fills)),
            unstored: unstored_keys(&trace, fills),
            operations: more.unwrap_or(trace.len()) as u64,
            trace: Arc::new(trace),
            modelled: modelled.map(Arc::new),
            starts,
            stores,
            formats,
        })
    }
}

/// Where keys and bytes come from.
#[derive(Debug)]
pub(super) struct Source {
    pub(super) pattern: KeyPattern,
    /// The numbers of keys to sweep.
    pub(super) keys: Sweep<Count>,
    /// The sizes of values to sweep.
    pub(super) sizes: Sweep<SizeSpec>,
    pub(super) replayed: Option<Replayed>,
    pub(super) payload: Option<Vec<u8>>,
}

impl Source {
    /// Reads the trace and the payload, if there are any.
    pub(super) fn open(
        spec: &WorkloadSpec,
        common: &Common<'_>,
        notes: &mut Vec<String>,
    ) -> Result<Self> {
        let uniform = KeyPattern::Drawn(Distribution::Uniform);
        let pattern = spec.key_pattern.clone().unwrap_or(uniform);
        let payload = spec.payload.as_deref().map(read_payload).transpose()?;
        let sizes = data_sizes(spec, payload.as_deref());
        let keys = spec.keys.clone();
        let mut keys = keys.unwrap_or_else(|| Count(default_keys(&sizes)).into());
        let mut replayed = None;
        if let KeyPattern::Trace(source) = &pattern {
            if spec.keys.is_some() {
                return Err(usage(
                    "--keys with a trace: the trace has its own keys; leave out --keys",
                ));
            }
            let of_trace = Replayed::open(spec, source, common, notes)?;
            keys = Count(of_trace.trace.n_keys()).into();
            replayed = Some(of_trace);
        }
        if spec.keys.is_none() && replayed.is_none() && keys[0] < Count(DEFAULT_KEYS) {
            let set = ByteSize(DEFAULT_SET);
            notes.push(format!(
                "keys: {keys}, so that the values take {set} at most; --keys sets another number"
            ));
        }
        Ok(Self { pattern, keys, sizes, replayed, payload })
    }

    /// The trace that is replayed.
    pub(super) fn trace(&self) -> Option<&Trace> {
        self.replayed.as_ref().map(|replayed| &*replayed.trace)
    }

    /// Whether a replay stores values: those that were recorded, or fills.
    pub(super) fn stores(&self) -> bool {
        self.replayed.as_ref().is_some_and(|replayed| replayed.stores)
    }

    /// Those of so many keys that are ever stored. A trace may ask for keys that nobody stored.
    pub(super) fn stored_keys(&self, keys: u32) -> impl Iterator<Item = u32> + Clone + '_ {
        let unstored = self.replayed.as_ref().map(|replayed| &replayed.unstored);
        (0..keys).filter(move |key| unstored.is_none_or(|unstored| !unstored.contains(key)))
    }

    /// Whether keys are asked together as they were recorded.
    pub(super) fn has_requests(&self) -> bool {
        self.replayed.as_ref().is_some_and(|replayed| replayed.starts.is_some())
    }
}

/// The sizes to sweep: as typed, else the payload's own, else 1 KiB.
fn data_sizes(spec: &WorkloadSpec, payload: Option<&[u8]>) -> Sweep<SizeSpec> {
    spec.data_size.clone().unwrap_or_else(|| {
        let own = payload.map(|bytes| u32::try_from(bytes.len()));
        SizeSpec::fixed(own.map_or(DEFAULT_VALUE_SIZE, |len| len.unwrap_or(u32::MAX))).into()
    })
}

/// The sizes and the numbers of keys of a workload, where no file has to be read for them.
pub(crate) fn sizes_and_keys(spec: &WorkloadSpec) -> Option<(Sweep<SizeSpec>, Sweep<Count>)> {
    let is_read = spec.payload.is_some() && spec.data_size.is_none();
    if is_read || matches!(spec.key_pattern, Some(KeyPattern::Trace(_))) {
        return None;
    }
    let sizes = data_sizes(spec, None);
    let keys = spec.keys.clone().unwrap_or_else(|| Count(default_keys(&sizes)).into());
    Some((sizes, keys))
}

/// The place of the first operation of each request; `None` where keys are asked one by one.
fn request_starts(
    spec: &WorkloadSpec,
    trace: &Trace,
    has_guest: bool,
    notes: &mut Vec<String>,
) -> Option<Arc<[u32]>> {
    let starts = trace.request_starts()?;
    let drives = spec.connections.is_some() || spec.pipeline.is_some();
    let reason = if drives && spec.on_miss.is_some_and(OnMiss::fills) {
        "with --connections and --pipeline, each is filled by itself"
    } else if has_guest {
        "guests cannot"
    } else if spec.multiget.is_some() {
        return None;
    } else {
        return Some(starts.into());
    };
    notes.push(format!(
        "{} recorded reads of several keys in a request are replayed one by one: {reason}",
        trace.stats().joined_gets
    ));
    None
}

/// Whether operations come at their recorded times, so that entries expire on the targets' own clocks.
fn has_clock(spec: &WorkloadSpec) -> bool {
    spec.replay.is_some_and(|replay| replay.speed().is_some())
        || spec.arrivals == Some(ArrivalKind::Trace) && spec.search.is_none()
}

/// Refuses a value that is larger than any that a replay makes. Reports of a trace take all sizes.
fn check_sizes(spec: &WorkloadSpec, source: &TraceSource, trace: &Trace) -> Result<()> {
    let with_value = trace.ops().filter(|op| matches!(op.kind, Access::Get | Access::Set));
    let largest = with_value.filter_map(|op| op.value_size).max().unwrap_or(0);
    if spec.data_size.is_some() || largest <= SizeSpec::LIMIT {
        return Ok(());
    }
    let limit = ByteSize(SizeSpec::LIMIT.into());
    Err(usage(format!(
        "trace {source}: a value of {largest} B > {limit}, the limit of values that are stored; --data-size gives all values \
         another size, and larder trace info reads the trace as it is"
    )))
}

/// The trace with a delete where an entry has expired by the recorded times; `None` where none has. On a clock, targets count the
/// time themselves.
fn with_expiry(
    recorded: Trace,
    fills: bool,
    has_clock: bool,
    notes: &mut Vec<String>,
) -> Option<Trace> {
    if recorded.ttls().next().is_some() && !recorded.has_times() {
        notes.push(
            "recorded TTLs are not replayed, because the trace has no times; --ttl gives all values the same TTL".into(),
        );
    }
    let (trace, n_expired) = recorded.expired(fills);
    if n_expired == 0 {
        return None;
    }
    if !has_clock {
        notes.push(format!(
            "TTLs that are over by the recorded times end by {}, each before the request that would find the entry; \
             --replay 1x or 10x leaves them to the targets' own clocks",
            count(n_expired, "delete")
        ));
    }
    Some(trace)
}

/// Notes what becomes of the recorded times and TTLs.
fn note_clock(spec: &WorkloadSpec, trace: &Trace, comes_round: bool, notes: &mut Vec<String>) {
    if has_clock(spec) {
        notes.extend(backward::note(trace));
    }
    if spec.ttl.is_some() && trace.ttls().next().is_some() {
        notes.push("--ttl takes the place of the recorded TTLs".into());
    }
    if comes_round {
        notes.push(
            "the trace comes round: what one round stored is found in the next, so more reads may hit than in the trace"
                .into(),
        );
    }
}

/// Notes where values have other sizes than the recorded ones.
fn note_sizes(spec: &WorkloadSpec, trace: &Trace, stores: bool, notes: &mut Vec<String>) {
    if spec.data_size.is_some() {
        return;
    }
    let sizes = trace.first_value_sizes();
    let other =
        |op: &TraceOp| op.value_size.is_some_and(|size| sizes[op.key as usize] != Some(size));
    let with_value = |op: &TraceOp| matches!(op.kind, Access::Get | Access::Set);
    let varying = trace.ops().filter(with_value).filter(other).count();
    if varying > 0 && !stores {
        notes.push(format!(
            "each key has its first recorded size; {} recorded another size",
            count(varying, "operation")
        ));
    }
    if varying > 0 && stores && spec.capacity.is_some() {
        notes.push(
            "values change their size; a share of the capacity, and both models, count each key with its largest".into(),
        );
    }
}

/// Notes that a trace hits less here than where it was recorded: the cache there was not empty. A trace that only
/// reads follows a load.
fn note_misses(trace: &Trace, fills: bool, notes: &mut Vec<String>) {
    let missed = trace.misses_from_empty(fills);
    if missed > 0 && trace.writes() {
        notes.push(format!(
            "the trace is replayed on an empty store: {missed} of its {} find nothing, even in a store that keeps \
             everything, because no earlier operation set their keys",
            count(trace.len(), "operation")
        ));
    }
}

/// The keys that a replay asks for and never stores. Without fills, a trace that only reads is replayed after a load of all
/// keys.
fn unstored_keys(trace: &Trace, fills: bool) -> Arc<HashSet<u32>> {
    if !fills && !trace.writes() {
        return Arc::default();
    }
    let stored = trace.stored_keys(fills);
    let keys = (0..trace.n_keys()).zip(stored).filter(|(_, is_stored)| !is_stored);
    Arc::new(keys.map(|(key, _)| key).collect())
}

/// The default number of keys, or fewer where the largest values of the sweep would take too much room.
fn default_keys(sizes: &Sweep<SizeSpec>) -> u32 {
    const SAMPLE: u64 = 1000;
    let largest = sizes.iter().map(|spec| spec.total(0, SAMPLE) / SAMPLE).max().unwrap_or(0);
    let fitting = u32::try_from(DEFAULT_SET / largest.max(1)).unwrap_or(u32::MAX);
    fitting.clamp(1, DEFAULT_KEYS)
}

/// Notes the fills that a replay which fills its own misses leaves out, and those that nobody made.
fn note_fills(skipped: usize, unfilled: u64, notes: &mut Vec<String>) {
    let why = "because --on-miss fill makes";
    notes.extend(match skipped {
        0 => None,
        1 => Some(format!(
            "1 recorded set follows a get of the same key as its fill; it is left out, {why} it"
        )),
        _ => Some(format!(
            "{skipped} recorded sets follow a get of the same key as its fill; they are left out, {why} them"
        )),
    });
    notes.extend(match unfilled {
        0 => None,
        1 => Some(
            "1 recorded read found nothing, and nobody stored its key afterwards; where it misses, the replay does not store \
             it either"
                .to_owned(),
        ),
        _ => Some(format!(
            "{unfilled} recorded reads found nothing, and nobody stored their keys afterwards; where they miss, the replay \
             does not store them either"
        )),
    });
}

/// The trace with its counts, or without them where a guest is compared: every target gets the same operations.
fn with_counts(recorded: Trace, has_guest: bool, notes: &mut Vec<String>) -> Trace {
    let counts = recorded.stats().counts;
    if counts == 0 {
        return recorded;
    }
    if has_guest {
        notes.push(format!(
            "{counts} recorded incr and decr are replayed as replace on every target: guests cannot count"
        ));
        return recorded.without_counts();
    }
    notes.push(format!(
        "{counts} recorded incr and decr are counted by the target, by 1 each; {} that they count have numbers of 19 \
         digits as values, whatever size was recorded",
        count(recorded.n_counters(), "key"),
    ));
    recorded
}

/// `1 recorded store has`, `3 recorded stores have`.
fn have(number: u64, noun: &str) -> String {
    format!("{} {}", count(number, noun), agreeing(number, "has", "have"))
}

fn note_approximations(trace: &Trace, has_guest: bool, notes: &mut Vec<String>) {
    let stats = trace.stats();
    if stats.approximated > 0 {
        notes.push(format!(
            "{} no counterpart here, and the nearest operation is replayed: gat as get; cas, append and prepend as replace",
            have(stats.approximated, "recorded operation")
        ));
    }
    if stats.conditional > 0 {
        let who = if has_guest { "guests, and stores without add," } else { "a store without add" };
        notes.push(format!(
            "{} a condition, the key's absence or presence; one that does not hold counts as a miss, but {who} would store \
             in any case",
            have(stats.conditional, "recorded store")
        ));
    }
}

fn read_payload(path: &Path) -> Result<Vec<u8>> {
    if path == Path::new(BUILT_IN_PAGE) {
        return Ok(PAGE.to_vec());
    }
    let bytes = std::fs::read(path).map_err(|source| Error::Read {
        what: "the payload",
        path: path.into(),
        source,
    })?;
    if bytes.is_empty() {
        return Err(usage(format!("--payload {}: the file is empty", path.display())));
    }
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_plan_with_a_guest_replays_counts_as_replaces_on_every_target() {
        let csv = "key,op\na,set\na,incr\na,decr\n";
        let recorded = Trace::read("test.csv", csv.as_bytes(), None, None).unwrap();
        let told = |has_guest| {
            let mut notes = Vec::new();
            let trace = with_counts(recorded.clone(), has_guest, &mut notes);
            (trace.stats().counts, trace.stats().sets, notes.concat())
        };
        let (counts, sets, note) = told(true);
        assert_eq!((counts, sets), (0, 3));
        assert_eq!(
            note,
            "2 recorded incr and decr are replayed as replace on every target: guests cannot count"
        );
        let (counts, sets, note) = told(false);
        assert_eq!((counts, sets), (2, 1));
        assert!(note.contains("1 key that they count have numbers of 19 digits"), "{note}");
    }
}
