//! The workload in words, by the names of its options, for the reader of a report.

use std::collections::BTreeMap;

use larder_store::ByteSize;

use super::source::Source;
use larder_workload::trace::Trace;
use larder_workload::{Count, EachThread, SizeSpec, Sweep, WorkloadSpec};

pub(super) fn describe(
    spec: &WorkloadSpec,
    source: &Source,
    key_sizes: &Sweep<SizeSpec>,
    threads: &Sweep<Count>,
) -> BTreeMap<String, String> {
    let mut words = BTreeMap::new();
    let mut say = |name: &str, text: String| {
        words.insert(name.to_owned(), text);
    };
    say("keys", source.keys.to_string());
    say("key-pattern", source.pattern.to_string());
    if let Some(replayed) = &source.replayed {
        say("trace-format", replayed.formats.to_string());
    }
    let trace = source.trace();
    let recorded_keys = trace.filter(|_| spec.key_size.is_none()).and_then(|trace| {
        recorded((0..trace.n_keys()).map(|key| trace.key_size(key)), &key_sizes.to_string())
    });
    say("key-size", recorded_keys.unwrap_or_else(|| key_sizes.to_string()));
    let recorded_values = trace.filter(|_| spec.data_size.is_none()).and_then(|trace| {
        recorded(trace.first_value_sizes().into_iter(), &source.sizes.to_string())
    });
    say("data-size", recorded_values.unwrap_or_else(|| source.sizes.to_string()));
    say("threads", threads.to_string());
    if let Some(connections) = &spec.connections {
        say("connections", connections.to_string());
    }
    if let Some(pipeline) = &spec.pipeline {
        say("pipeline", pipeline.to_string());
    }
    if let Some(each) = spec.each_thread.filter(|each| *each != EachThread::Share) {
        say("each-thread", each.to_string());
    }
    if let Some(share) = spec.compressibility {
        say("compressibility", share.0.to_string());
    }
    if let Some(payload) = &spec.payload {
        say("payload", payload.display().to_string());
    }
    if let Some(trace) = trace {
        say("operations", recorded_operations(trace, source.has_requests()));
    }
    if let Some(operations) = &spec.operations {
        say("operations", operations.to_string());
    }
    if let Some(ratio) = spec.ratio {
        say("ratio", ratio.to_string());
    }
    if let Some(on_miss) = spec.on_miss.filter(|on_miss| on_miss.fills()) {
        say("on-miss", on_miss.to_string());
    }
    if let Some(capacity) = &spec.capacity {
        say("capacity", capacity.to_string());
    }
    for (name, count) in [
        ("idle-connections", spec.idle_connections),
        ("connect-rate", spec.connect_rate),
        ("processes", spec.processes),
        ("multiget", spec.multiget),
        ("multiset", spec.multiset),
        ("group", spec.group),
        ("requests", spec.requests),
    ] {
        if let Some(Count(count)) = count {
            say(name, count.to_string());
        }
    }
    for (name, span) in [
        ("ttl", spec.ttl),
        ("load-time", spec.load_time),
        ("duration", spec.duration),
        ("warmup", spec.warmup),
        ("max-time", spec.max_time),
        ("within", spec.within),
    ] {
        if let Some(span) = span {
            say(name, span.to_string());
        }
    }
    if let Some(rate) = &spec.rate {
        say("rate", rate.to_string());
    }
    if let Some(scan) = spec.scan {
        say("scan", scan.to_string());
    }
    if let Some(bound) = spec.search {
        say("search", bound.to_string());
    }
    if let Some(arrivals) = spec.arrivals {
        say("arrivals", arrivals.to_string());
    }
    if let Some(replay) = spec.replay {
        say("replay", replay.to_string());
    }
    if let Some(until) = spec.until {
        say("until", until.to_string());
    }
    if let Some(memory) = spec.memory {
        say("memory", memory.to_string());
    }
    if spec.pin == Some(true) {
        say("pin", "on".into());
    }
    words
}

/// The sizes that a trace has recorded, and the size of keys without a recorded one; `None` where it has recorded no
/// size.
fn recorded(sizes: impl Iterator<Item = Option<u32>>, otherwise: &str) -> Option<String> {
    let all: Vec<Option<u32>> = sizes.collect();
    let mut known: Vec<u32> = all.iter().copied().flatten().collect();
    known.sort_unstable();
    let (first, last) = (known.first()?, known.last()?);
    let shown = |size: u32| ByteSize(size.into());
    let spread = if first == last {
        shown(*first).to_string()
    } else {
        let median = shown(known[known.len() / 2]);
        format!("{} to {}, median {median}", shown(*first), shown(*last))
    };
    let missing = all.len() - known.len();
    let rest = if missing > 0 {
        format!("; {otherwise} for {missing} of {} keys", all.len())
    } else {
        String::new()
    };
    Some(format!("recorded ({spread}{rest})"))
}

/// The number of operations of each kind that a trace replays.
fn recorded_operations(trace: &Trace, together: bool) -> String {
    let stats = trace.stats();
    let joined = if together { stats.joined_gets } else { 0 };
    let kinds = [
        (stats.gets - joined, "get"),
        (joined, "get_many"),
        (stats.sets, "set"),
        (stats.deletes, "delete"),
        (stats.touches, "touch"),
        (stats.counts, "incr"),
    ];
    let there = kinds.iter().filter(|(number, _)| *number > 0);
    let named: Vec<String> = there.map(|(number, kind)| format!("{number} {kind}")).collect();
    format!("recorded ({})", named.join(", "))
}
