//! Where keys and bytes come from: a pattern, a trace, a payload.

use std::path::Path;
use std::sync::Arc;

use larder_report::figures::count;
use larder_store::ByteSize;

use crate::error::{Error, Result, usage};
use larder_workload::trace::{Trace, TraceOp};
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
    /// The place of the first operation of each request, where keys are asked together as they were recorded.
    pub(super) starts: Option<Arc<[u32]>>,
    /// The most keys of a request.
    pub(super) most_keys: usize,
    /// Whether the replay stores values: those that were recorded, or fills.
    stores: bool,
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
        has_guest: bool,
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
            let at_most = spec.requests.map(|requests| requests.0 as usize);
            let mut recorded = source.open(at_most)?;
            if spec.on_miss == Some(OnMiss::FillNext) {
                return Err(usage(
                    "--on-miss fill-next with a trace: the trace has its own sets; take fill or skip",
                ));
            }
            recorded = with_counts(recorded, has_guest, notes);
            if spec.on_miss == Some(OnMiss::Fill) {
                recorded = without_fills(&recorded, notes);
            }
            let fills = spec.on_miss.is_some_and(OnMiss::fills);
            let stores = fills || recorded.writes();
            if stores {
                recorded = recorded.sizes_carried_on();
            }
            note_approximations(&recorded, has_guest, notes);
            note_omissions(spec, &recorded, stores, notes);
            note_misses(&recorded, fills, notes);
            keys = Count(recorded.n_keys()).into();
            let starts = request_starts(spec, &recorded, has_guest, notes);
            let most_keys = if starts.is_some() { recorded.longest_request() } else { 1 };
            replayed = Some(Replayed { trace: Arc::new(recorded), starts, most_keys, stores });
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

/// Notes the parts of a recording that a replay leaves out.
fn note_omissions(spec: &WorkloadSpec, trace: &Trace, stores: bool, notes: &mut Vec<String>) {
    let has_clock = spec.replay.is_some_and(|replay| replay.speed().is_some())
        || spec.arrivals == Some(ArrivalKind::Trace) && spec.search.is_none();
    if stores && !has_clock && spec.ttl.is_none() && trace.ttls().next().is_some() {
        notes.push(
            "recorded TTLs are not replayed as fast as targets answer; --replay 1x or 10x replays them, and --ttl gives \
             all values the same TTL"
                .into(),
        );
    }
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
            "each key has its first recorded size; {varying} operations recorded another size"
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

/// The default number of keys, or fewer where the largest values of the sweep would take too much room.
fn default_keys(sizes: &Sweep<SizeSpec>) -> u32 {
    const SAMPLE: u64 = 1000;
    let largest = sizes.iter().map(|spec| spec.total(0, SAMPLE) / SAMPLE).max().unwrap_or(0);
    let fitting = u32::try_from(DEFAULT_SET / largest.max(1)).unwrap_or(u32::MAX);
    fitting.clamp(1, DEFAULT_KEYS)
}

fn without_fills(recorded: &Trace, notes: &mut Vec<String>) -> Trace {
    let before = recorded.len();
    let trace = recorded.fills_removed();
    let skipped = before - trace.len();
    if skipped > 0 {
        notes.push(format!(
            "{skipped} recorded sets follow a get of the same key as its fill; they are left out, because \
             --on-miss fill makes them"
        ));
    }
    trace
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
        count(usize::try_from(recorded.n_counters()).unwrap_or(usize::MAX), "key"),
    ));
    recorded
}

fn note_approximations(trace: &Trace, has_guest: bool, notes: &mut Vec<String>) {
    let stats = trace.stats();
    if stats.approximated > 0 {
        notes.push(format!(
            "{} recorded operations have no counterpart here and are replayed as the nearest operation: gat as get; cas, \
             append and prepend as replace",
            stats.approximated
        ));
    }
    if stats.conditional > 0 {
        let who = if has_guest { "guests, and stores without add," } else { "a store without add" };
        notes.push(format!(
            "{} recorded stores have a condition, the key's absence or presence; one that does not hold counts as a miss, \
             but {who} would store in any case",
            stats.conditional
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
