//! CAPACITY: a working set that does not fit measures eviction.

use larder_report::figures::{agreeing, count, percent};
use larder_report::{Cell, Run, Severity, beats_itself, held_above, held_below};
use larder_store::ByteSize;

use super::{About, Check, Needs, Report, is_bounded, keeps_all, measured};

pub(super) struct Capacity;

/// The sentence about a target that held more than its capacity. Its own count shows that, or a hit ratio above that of
/// an exact LRU.
fn held_more(run: &Run, cell: &Cell) -> Option<String> {
    if let Some(above) = held_above(run, cell) {
        let (what, share) = (above.what(), percent(above.share));
        let capacity = ByteSize(above.capacity_bytes);
        let whose = if above.is_asked { "--capacity" } else { "its capacity" };
        let less = held_below(cell).map_or_else(String::new, |(held, _)| {
            format!("; its entries were {} at most", ByteSize(held))
        });
        return Some(format!("{what}, {share} above {whose} of {capacity}{less}"));
    }
    let at = beats_itself(run, cell)?;
    let [own, lru] = [cell.hit_ratio()?, at.lru].map(|ratio| format!("{:.1} %", ratio * 100.0));
    let capacity = ByteSize(at.capacity_bytes);
    Some(format!(
        "{own} of reads hit, {lru} in an exact LRU of {capacity}: an LRU store with this ratio held more"
    ))
}

/// The sentence about a target that dropped entries long before its capacity was full.
fn held_less(cell: &Cell) -> Option<String> {
    let (held, asked) = held_below(cell)?;
    let [held, asked] = [held, asked].map(ByteSize);
    Some(format!(
        "held {held} of --capacity {asked} at most, and dropped entries: its own data, or the way in which it divides its \
         memory, took the rest"
    ))
}

impl Check for Capacity {
    fn about(&self) -> &'static About {
        &About {
            id: "CAPACITY",
            severities: &[Severity::Error, Severity::Warn],
            sees: "a working set larger than a target's capacity or the machine's memory, entries evicted to make \
                   room, or a target that held more than its capacity, took more memory for its entries, or dropped \
                   entries with less than half of it",
            seen_in: "by the defaults of the caches, A000: 70 MiB into one of 32 MB and one of 64; A001: 9.8 GiB into \
                      64 MB",
            advice: "give the target room for the working set, or read the row as a measurement of eviction",
            needs: Needs::SomeRounds,
            repeats: true,
        }
    }

    fn look(&self, run: &Run, report: &mut Report<'_>) {
        for target in &run.targets {
            let Some(evictions) = target.external_evictions.filter(|n| *n > 0) else { continue };
            let entries = agreeing(evictions, "entry was", "entries were");
            let text = format!(
                "{evictions} {entries} evicted from a server that Larder did not start: some may belong to other users"
            );
            if target.eviction_allowed {
                report.target(Severity::Warn, target, format!("{text}, as --yes allowed"));
            } else {
                report.target(Severity::Error, target, text);
            }
        }
        for cell in measured(run) {
            if let Some(text) = held_more(run, cell).or_else(|| held_less(cell)) {
                report.cell(Severity::Warn, cell, text);
            }
        }
        // Where a capacity was asked for, evictions are the subject of the measurement.
        for cell in measured(run).filter(|cell| !is_bounded(cell)) {
            let Some(target) =
                run.target(&cell.target).filter(|target| target.stores == Some(true))
            else {
                continue;
            };
            let set = cell.working_set_bytes;
            let ratio = cell
                .hit_ratio()
                .map_or_else(String::new, |ratio| format!("; {:.1} % of reads hit", ratio * 100.0));
            let evictions = cell.counts.evictions.unwrap_or(0);
            let room = target.capacity_bytes.filter(|capacity| set > *capacity);
            if let Some(room) = room {
                let (set, room) = (ByteSize(set), ByteSize(room));
                let what = if keeps_all(run, cell) {
                    "nothing was evicted to make room"
                } else {
                    "this measures eviction"
                };
                let text = format!("working set {set} > capacity {room}: {what}{ratio}");
                report.cell(Severity::Warn, cell, text);
            } else if evictions > 0 {
                let text = format!(
                    "{} over {} of a working set of {}{ratio}",
                    count(evictions, "eviction"),
                    count(cell.rounds, "round"),
                    ByteSize(set)
                );
                report.cell(Severity::Warn, cell, text);
            }
            let machine = &run.environment;
            let limit =
                machine.memory_limit_bytes.map(|limit| (limit, "that the run was limited to"));
            let memory = limit.or(machine.memory_bytes.map(|memory| (memory, "of this machine")));
            if let Some((memory, whose)) = memory.filter(|(memory, _)| set > *memory) {
                let (set, memory) = (ByteSize(set), ByteSize(memory));
                let text = format!("working set {set} > memory {memory} {whose}");
                report.cell(Severity::Warn, cell, text);
            }
        }
    }
}
