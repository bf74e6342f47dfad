//! A guest's counts of a phase, checked against the plan. Counts that do not add up become an error in one sentence.

use std::ops::RangeInclusive;
use std::time::Duration;

use larder_report::figures::count;
use larder_report::{Collector, Counts, Operation, Timeline};
use larder_store::TierStats;

use super::executor::{OVERTIME, PAUSES};
use super::reply::{OperationRan, Ran};
use super::script::{Act, PhaseDone};
use super::wrong::{Words, example};
use crate::measure::{PhaseResult, Tallies, Tally, seconds};

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

/// Adds up the counts of the processes, after a check of each.
pub(super) fn add_up(
    act: &Act,
    ran: &[Ran],
    frame: Frame,
    words: &Words<'_>,
) -> Result<PhaseResult, String> {
    // A process without operations has no beginning.
    let working = || ran.iter().filter(|ran| done_by(ran) > 0);
    let begin = working().map(|ran| ran.start_ns).min().unwrap_or(frame.began_ns);
    let mut end = begin;
    let mut tallies = Tallies::new(&act.operations);
    for (process, ran) in ran.iter().enumerate() {
        check(act, process, ran, frame).map_err(|what| format!("process {process}: {what}"))?;
        if done_by(ran) > 0 {
            end = end.max(ran.start_ns + ran.wall_ns);
            tallies.merge(&counted(act, ran, begin, words)?);
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
    let (distinct_keys, top_key_ops) = act.drawn(&ran.iter().map(done_by).collect::<Vec<_>>());
    let (ops, failures) = tallies.failures();
    let cpu_ns: u64 = ran.iter().map(|ran| ran.cpu_user_ns + ran.cpu_system_ns).sum();
    let system_ns: u64 = ran.iter().map(|ran| ran.cpu_system_ns).sum();
    Ok(PhaseResult {
        driven: None,
        comers: None,
        tallies,
        wall: Duration::from_nanos(inside),
        // A program's last operations include the wait for unfinished requests.
        barrier: None,
        client_cpu_s: seconds(cpu_ns),
        client_system_s: Some(seconds(system_ns)),
        // A program reports neither. The executor asks the kernel how long the program waited for a processor.
        client_busy: None,
        client_wait_s: None,
        collector: collector(ran),
        distinct_keys,
        top_key_ops,
        gave_up: ops >= HOPELESS && failures == ops,
        offered: None,
    })
}

/// The work of the garbage collectors of all processes; `None` where no process tells it.
fn collector(ran: &[Ran]) -> Option<Collector> {
    let told = ran.iter().filter_map(|ran| ran.collector);
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

/// Checks whether the report of one process can be true.
fn check(act: &Act, process: usize, ran: &Ran, frame: Frame) -> Result<(), String> {
    let outside = frame.outside_ns();
    if ran.wall_ns > outside + COARSE_NS {
        return Err(format!("its phase took {} ns, but only {outside} ns passed", ran.wall_ns));
    }
    let inside = frame.began_ns.saturating_sub(COARSE_NS)..=frame.ended_ns + COARSE_NS;
    let done = done_by(ran);
    let is_inside =
        inside.contains(&ran.start_ns) && inside.contains(&(ran.start_ns + ran.wall_ns));
    if done > 0 && !is_inside {
        return Err(format!("its phase began at {} ns, not during the phase", ran.start_ns));
    }
    let cpu_ns = ran.cpu_user_ns.saturating_add(ran.cpu_system_ns);
    // A language may have threads of its own, but only as many run at once as there are processors.
    if cpu_ns > ran.wall_ns.saturating_mul(processors()) + TICKS_NS {
        return Err(format!("it took {cpu_ns} ns of processor time within {} ns", ran.wall_ns));
    }
    if let Some(number) = ran.failed.iter().find(|number| !act.numbers.contains(number)) {
        return Err(format!("value {number} was not stored, but the plan has no such value"));
    }
    let mut busy_ns = 0_u64;
    let mut unstored = 0;
    for (name, found) in &ran.operations {
        let operation = act.told_operations().find(|operation| operation.as_str() == name);
        let operation = operation.ok_or_else(|| format!("`{name}` is not in the plan"))?;
        let planned = act.planned(process, operation, done);
        check_operation(act, operation, &planned, found)
            .and_then(|()| check_sizes(act, operation, found))
            .and_then(|()| check_wrong(act.planned_misses(process, done), operation, found))
            .map_err(|what| format!("{operation}: {what}"))?;
        busy_ns = busy_ns.saturating_add(found.busy_ns);
        let sets = if operation == Operation::Set { found.errors } else { 0 };
        unstored += sets + found.failed_fills;
    }
    let missing = act.told_operations().find(|operation| {
        *act.planned(process, *operation, done).start() > 0
            && !ran.operations.contains_key(operation.as_str())
    });
    if let Some(missing) = missing {
        return Err(format!("{missing}: nothing was counted"));
    }
    if act.time_limit.is_none() && done != act.shares[process].len() as u64 {
        return Err(format!("{} of {}", count(done, "operation"), act.shares[process].len()));
    }
    if busy_ns > ran.wall_ns + COARSE_NS {
        return Err(format!("its operations took {busy_ns} ns of {}", ran.wall_ns));
    }
    if unstored > 0 && ran.failed.is_empty() {
        return Err(format!(
            "not stored: {}, but the program does not say which",
            count(unstored, "value")
        ));
    }
    Ok(())
}

fn check_operation(
    act: &Act,
    operation: Operation,
    planned: &RangeInclusive<u64>,
    found: &OperationRan,
) -> Result<(), String> {
    let OperationRan { ops, hits, misses, wrong, errors, succeeded, .. } = *found;
    if !planned.contains(&ops) {
        return Err(format!("{} of {}", count(ops, "operation"), planned.end()));
    }
    let answered = if operation.reads() {
        sum([hits, misses, wrong, errors])
    } else {
        sum([succeeded, misses, errors])
    };
    if answered != Some(ops) {
        return Err(format!(
            "{hits} hits, {misses} misses, {wrong} wrong and {errors} errors are not {ops} operations"
        ));
    }
    let right = match operation {
        Operation::GetOrSet => (hits + misses).checked_sub(found.failed_fills),
        operation if operation.reads() => hits.checked_add(found.planned_misses),
        _ => Some(succeeded),
    };
    if right != Some(succeeded) {
        return Err(format!("{succeeded} succeeded, and {hits} of {ops} were right"));
    }
    let kinds = sum(found.errors_by_kind.values().copied());
    if kinds != errors.checked_add(found.failed_fills) {
        return Err(format!(
            "{}, and {} of all kinds",
            count(errors, "error"),
            kinds.unwrap_or(u64::MAX)
        ));
    }
    let latencies = sum(found.latencies.iter().map(|(_, times)| *times));
    // A request of many keys has one latency.
    let expected = match operation {
        Operation::GetMany => succeeded.div_ceil(act.multiget.max(1) as u64)..=succeeded,
        _ => succeeded..=succeeded,
    };
    if !latencies.is_some_and(|latencies| expected.contains(&latencies)) {
        return Err(format!(
            "{} of {} that succeeded",
            count(latencies.unwrap_or(u64::MAX), "latency"),
            count(succeeded, "operation")
        ));
    }
    let bins = &found.timeline;
    let in_bins = bins.bin_ns.is_power_of_two()
        && bins.ops.len() == bins.max_ns.len()
        && sum(bins.ops.iter().copied()) == Some(ops);
    if !in_bins {
        return Err(format!("its timeline is not of {ops} operations"));
    }
    Ok(())
}

/// Checks that each wrong value is wrong in one way, and that the plan has the misses that were reported as planned.
fn check_wrong(planned: u64, operation: Operation, found: &OperationRan) -> Result<(), String> {
    let OperationRan { wrong, truncated, stale, other_key, damaged, .. } = *found;
    if sum([truncated, stale, other_key, damaged]) != Some(wrong) {
        return Err(format!(
            "{truncated} truncated, {stale} stale, {other_key} of other keys and {damaged} damaged are not {wrong} wrong"
        ));
    }
    let planned = if operation.reads() { planned.min(found.misses) } else { 0 };
    if found.planned_misses > planned {
        return Err(format!("{} misses were planned, of {planned} at most", found.planned_misses));
    }
    Ok(())
}

/// Checks whether latencies and bytes can have the reported sizes.
fn check_sizes(act: &Act, operation: Operation, found: &OperationRan) -> Result<(), String> {
    let OperationRan { ops, succeeded, busy_ns, bytes, .. } = *found;
    let together = found.latencies.iter().map(|(ns, times)| ns.checked_mul(*times));
    let latency_ns = together.sum::<Option<u64>>().unwrap_or(u64::MAX);
    // Each latency is rounded to three digits.
    let rounding = busy_ns / 50 + ops;
    if latency_ns > busy_ns.saturating_add(rounding) {
        return Err(format!(
            "latencies of {latency_ns} ns together, but the operations took {busy_ns} ns"
        ));
    }
    if succeeded == ops && latency_ns < busy_ns.saturating_sub(rounding) {
        return Err(format!(
            "latencies of {latency_ns} ns together, but the operations took {busy_ns} ns"
        ));
    }
    let most = if matches!(operation, Operation::Delete | Operation::Touch) {
        0
    } else {
        ops.saturating_mul(act.longest_value)
    };
    // A wrong value may have had any length.
    if found.wrong == 0 && bytes > most {
        return Err(format!("{} of values, which have {most} at most", count(bytes, "byte")));
    }
    Ok(())
}

fn sum(numbers: impl IntoIterator<Item = u64>) -> Option<u64> {
    numbers.into_iter().try_fold(0_u64, u64::checked_add)
}

/// The number of processors of this machine.
fn processors() -> u64 {
    std::thread::available_parallelism().map_or(1, |number| number.get() as u64)
}

/// The counts of one process, in the form of a thread's counts.
fn counted(act: &Act, ran: &Ran, begin: u64, words: &Words<'_>) -> Result<Tallies, String> {
    let mut tallies = Tallies::new(&act.operations);
    for operation in act.told_operations() {
        let Some(found) = ran.operations.get(operation.as_str()) else { continue };
        let mut tally = Tally::new();
        tally.counts = Counts {
            ops: found.ops,
            hits: found.hits,
            misses: found.misses,
            planned_misses: found.planned_misses,
            wrong: found.wrong,
            truncated: found.truncated,
            stale: found.stale,
            other_key: found.other_key,
            damaged: found.damaged,
            errors: found.errors,
            failed_fills: found.failed_fills,
            ..Counts::default()
        };
        tally.succeeded = found.succeeded;
        tally.bytes = found.bytes;
        tally.busy_ns = found.busy_ns;
        for (ns, times) in &found.latencies {
            tally.add_latencies(*ns, *times);
        }
        tally.errors_by_kind = found.errors_by_kind.clone();
        if found.errors + found.failed_fills > 0 {
            tally.first_error.clone_from(&ran.first_error);
        }
        for (name, wrong) in &found.wrong_examples {
            tally.wrong_examples.insert(name.clone(), example(name, wrong, words)?);
        }
        let bins = &found.timeline;
        let timeline =
            Timeline { bin_ns: bins.bin_ns, ops: bins.ops.clone(), max_ns: bins.max_ns.clone() };
        tally.add_timeline(&timeline, ran.start_ns - begin);
        tallies.of(act.counted_as(operation)).merge(&tally);
    }
    Ok(tallies)
}

/// Adds the counters of the tiers with these caches, after a check against the results of the reads.
pub(super) fn add_tiers(
    tiers: &mut [TierStats],
    names: &[&str],
    ran: &[Ran],
) -> Result<(), String> {
    for (process, ran) in ran.iter().enumerate() {
        check_tiers(names, ran).map_err(|what| format!("process {process}: {what}"))?;
        for (tier, found) in tiers.iter_mut().zip(&ran.tiers) {
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

fn check_tiers(names: &[&str], ran: &Ran) -> Result<(), String> {
    let told: Vec<&str> = ran.tiers.iter().map(|tier| tier.name.as_str()).collect();
    if told != names {
        return Err(format!("its tiers are [{}], not [{}]", told.join(", "), names.join(", ")));
    }
    // Only reads count wrong values and hits. A failed read may have asked some of the tiers.
    let [mut asked, mut right, mut failed] = [0; 3];
    for (name, found) in &ran.operations {
        if READS.iter().any(|read| read.as_str() == name) {
            asked += found.ops - found.errors;
            right += found.hits + found.wrong;
            failed += found.errors;
        }
    }
    let hits: u64 = ran.tiers.iter().map(|tier| tier.hits).sum();
    if !names.is_empty() && !(right..=right + failed).contains(&hits) {
        return Err(format!(
            "its tiers hit {}, but {} found a value",
            count(hits, "time"),
            count(right, "read")
        ));
    }
    for tier in &ran.tiers {
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
pub(super) fn connections(ran: &[Ran]) -> Option<u64> {
    ran.iter().map(|ran| ran.connections).sum()
}

/// The outcome of a phase.
pub(super) fn done(ran: &[Ran]) -> PhaseDone {
    let deletes =
        |ran: &Ran| ran.operations.get(Operation::Delete.as_str()).map_or(0, |it| it.errors);
    PhaseDone {
        operations: ran.iter().map(done_by).collect(),
        failed: ran.iter().flat_map(|ran| ran.failed.iter().copied()).collect(),
        deletes_failed: ran.iter().any(|ran| deletes(ran) > 0),
    }
}

fn done_by(ran: &Ran) -> u64 {
    ran.operations.values().map(|found| found.ops).fold(0, u64::saturating_add)
}
