//! The workload in words, by the names of its options: what a reader of the report needs.

use std::collections::BTreeMap;

use super::source::Source;
use crate::workload::{Count, SizeSpec, Sweep, WorkloadSpec};

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
    say("key-size", key_sizes.to_string());
    say("data-size", source.sizes.to_string());
    say("threads", threads.to_string());
    if let Some(share) = spec.compressibility {
        say("compressibility", share.0.to_string());
    }
    if let Some(payload) = &spec.payload {
        say("payload", payload.display().to_string());
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
        ("processes", spec.processes),
        ("multiget", spec.multiget),
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
