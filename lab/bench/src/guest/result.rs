//! The records of a phase, checked against the plan and added up. A record that cannot be true becomes an error in one
//! sentence.

use std::time::Duration;

use larder_report::figures::count;
use larder_report::{Collector, Operation};
use larder_store::TierStats;

use super::executor::{OVERTIME, PAUSES};
use super::judge::{Ended, Record};
use super::script::{Act, PhaseDone};
use crate::measure::{PhaseResult, Tallies, seconds};

/// A language's clock may be coarser than Larder's, so its time may exceed the time outside by this much.
const COARSE_NS: u64 = 1_000_000;
/// Processor time may be counted in hundredths of a second, user and system time each.
const TICKS_NS: u64 = 40_000_000;
/// The operations that ask the tiers.
const READS: [Operation; 3] = [Operation::Get, Operation::GetMany, Operation::GetOrSet];
/// After this many operations without a success, the rest of the plan would only repeat the failure.
const HOPELESS: u64 = 100;

/// The beginning and the end of a phase as Larder saw them, by the clock that it shares with the program.
#[derive(Debug, Clone, Copy)]
pub(super) struct Frame {
    pub(super) began_ns: u64,
    pub(super) ended_ns: u64,
}

impl Frame {
    fn outside_ns(self) -> u64 {
        self.ended_ns.saturating_sub(self.began_ns)
    }
}

/// Adds up the records of the processes.
pub(super) fn add_up(act: &Act, records: &[Record], frame: Frame) -> Result<PhaseResult, String> {
    // A process without operations has no beginning.
    let begin = records.iter().filter_map(|record| record.start_ns).min();
    let begin = begin.unwrap_or(frame.began_ns);
    let mut end = begin;
    let mut tallies = Tallies::new(&act.operations);
    for record in records {
        if let Some(start_ns) = record.start_ns {
            end = end.max(start_ns + record.wall_ns);
            tallies.merge_later(&record.tallies, start_ns - begin);
        }
    }
    let (outside, inside) = (frame.outside_ns(), end - begin);
    if outside
        > inside
            .saturating_mul(PAUSES.into())
            .saturating_add(u64::try_from(OVERTIME.as_nanos()).unwrap_or(u64::MAX))
    {
        return Err(format!("its phase took {inside} ns, but {outside} ns passed"));
    }
    let done: Vec<u64> = records.iter().map(|record| record.ops).collect();
    let (distinct_keys, top_key_ops) = act.drawn(&done);
    let (ops, failures) = tallies.failures();
    let sum = |of: fn(&Ended) -> u64| records.iter().map(|record| of(&record.ended)).sum::<u64>();
    let system_ns = sum(|ended| ended.cpu_system_ns);
    Ok(PhaseResult {
        driven: None,
        comers: None,
        tallies,
        wall: Duration::from_nanos(inside),
        // A program's last operations include the wait for unfinished requests.
        barrier: None,
        client_cpu_s: seconds(sum(|ended| ended.cpu_user_ns) + system_ns),
        client_system_s: Some(seconds(system_ns)),
        // A program reports neither. The executor asks the kernel how long the program waited for a processor.
        client_busy: None,
        client_wait_s: None,
        collector: collector(records),
        distinct_keys,
        top_key_ops,
        gave_up: ops >= HOPELESS && failures == ops,
        offered: None,
    })
}

/// Checks whether the record of a process, counted from 0, can be true.
pub(super) fn checked(
    act: &Act,
    process: usize,
    record: Record,
    frame: Frame,
) -> Result<Record, String> {
    check_times(&record, frame)?;
    check_whole(act, process, record.ops)?;
    Ok(record)
}

/// Checks whether a record can be of this phase, by its clocks.
fn check_times(record: &Record, frame: Frame) -> Result<(), String> {
    let Record { start_ns, end_ns, wall_ns, ended, .. } = record;
    let outside = frame.outside_ns();
    if *wall_ns > outside + COARSE_NS {
        return Err(format!("its phase took {wall_ns} ns, but only {outside} ns passed"));
    }
    let inside = frame.began_ns.saturating_sub(COARSE_NS)..=frame.ended_ns + COARSE_NS;
    if let Some(start_ns) =
        start_ns.filter(|start| !inside.contains(start) || !inside.contains(end_ns))
    {
        return Err(format!("its phase began at {start_ns} ns, not during the phase"));
    }
    let cpu_ns = ended.cpu_user_ns.saturating_add(ended.cpu_system_ns);
    // A language may have threads of its own, but only as many run at once as there are processors.
    if cpu_ns > wall_ns.saturating_mul(processors()) + TICKS_NS {
        return Err(format!("it took {cpu_ns} ns of processor time within {wall_ns} ns"));
    }
    Ok(())
}

/// Checks that a process without a time limit has done all its operations.
fn check_whole(act: &Act, process: usize, done: u64) -> Result<(), String> {
    if act.time_limit.is_none() && done != act.shares[process].len() as u64 {
        return Err(format!("{} of {}", count(done, "operation"), act.shares[process].len()));
    }
    Ok(())
}

/// The work of the garbage collectors of all processes; `None` where no process tells it.
fn collector(records: &[Record]) -> Option<Collector> {
    let told = records.iter().filter_map(|record| record.ended.collector);
    let each = told.map(|found| Collector {
        cycles: found.cycles,
        pause_ns: found.pause_ns,
        longest_pause_ns: found.longest_pause_ns,
        cpu_s: seconds(found.cpu_ns),
    });
    each.reduce(|mut all, found| {
        all.add(&found);
        all
    })
}

/// The number of processors of this machine.
fn processors() -> u64 {
    std::thread::available_parallelism().map_or(1, |number| number.get() as u64)
}

/// Adds the counters of the tiers with these caches, after a check against the results of the reads.
pub(super) fn add_tiers(
    tiers: &mut [TierStats],
    names: &[&str],
    records: &[Record],
) -> Result<(), String> {
    for (process, record) in records.iter().enumerate() {
        check_tiers(names, record).map_err(|what| format!("process {process}: {what}"))?;
        for (tier, found) in tiers.iter_mut().zip(&record.ended.tiers) {
            tier.hits += found.hits;
            tier.misses += found.misses;
            tier.dropped += found.dropped;
            tier.fills += found.fills;
            tier.puts += found.puts;
            tier.refused += found.refused;
        }
    }
    Ok(())
}

fn check_tiers(names: &[&str], record: &Record) -> Result<(), String> {
    let Ended { tiers, .. } = &record.ended;
    let told: Vec<&str> = tiers.iter().map(|tier| tier.name.as_str()).collect();
    if told != names {
        return Err(format!("its tiers are [{}], not [{}]", told.join(", "), names.join(", ")));
    }
    // Only reads count wrong values and hits. A failed read may have asked some of the tiers.
    let [mut asked, mut right, mut failed] = [0; 3];
    for (operation, tally) in record.tallies.iter() {
        let found = &tally.counts;
        if READS.contains(&operation) {
            asked += found.ops - found.errors;
            right += found.hits + found.wrong;
            failed += found.errors;
        }
    }
    let hits: u64 = tiers.iter().map(|tier| tier.hits).sum();
    if !names.is_empty() && !(right..=right + failed).contains(&hits) {
        return Err(format!(
            "its tiers hit {}, but {} found a value",
            count(hits, "time"),
            count(right, "read")
        ));
    }
    for tier in tiers {
        if tier.dropped > tier.misses {
            let (dropped, misses) = (tier.dropped, tier.misses);
            let misses = count(misses, "miss");
            return Err(format!("tier {}: {dropped} dropped, of {misses}", tier.name));
        }
        let lookups = tier.hits + tier.misses;
        if !(asked..=asked + failed).contains(&lookups) {
            return Err(format!(
                "tier {}: {}, but {} reached the tier",
                tier.name,
                count(lookups, "lookup"),
                count(asked, "read")
            ));
        }
        asked = tier.misses.saturating_sub(failed);
    }
    Ok(())
}

/// Connections that the processes opened; `None` if one process does not tell.
pub(super) fn connections(records: &[Record]) -> Option<u64> {
    records.iter().map(|record| record.ended.connections).sum()
}

/// The outcome of a phase.
pub(super) fn done(records: &[Record]) -> PhaseDone {
    PhaseDone {
        operations: records.iter().map(|record| record.ops).collect(),
        failed: records.iter().flat_map(|record| record.not_stored.iter().copied()).collect(),
        not_deleted: records.iter().flat_map(|it| it.not_deleted.iter().copied()).collect(),
    }
}
