//! What a guest has counted in a phase, held against the plan. What does not add up is no result, and says so in a sentence.

use std::time::Duration;

use larder_report::{Counts, Operation, Timeline};
use larder_store::TierStats;

use super::answer::{OperationRan, Ran};
use super::script::Act;
use crate::measure::{PhaseResult, Tallies, seconds};

/// The clock of a language may be coarser than ours: so much more time may have passed inside than outside.
const COARSE_NS: u64 = 1_000_000;
/// After so many operations of which none succeeded, the rest of the plan would only repeat it.
const HOPELESS: u64 = 100;

/// The frame around a phase as Larder has seen it, by the clock of both.
#[derive(Debug, Clone, Copy)]
pub(super) struct Frame {
    pub(super) began_ns: u64,
    pub(super) ended_ns: u64,
}

/// Adds up what the processes found, after each was checked.
pub(super) fn add_up(act: &Act, ran: &[Ran], frame: Frame) -> Result<PhaseResult, String> {
    let begin = ran.iter().map(|ran| ran.start_ns).min().unwrap_or(frame.began_ns);
    let mut end = begin;
    let mut tallies = Tallies::new(&act.operations);
    let mut done = Vec::new();
    for (process, ran) in ran.iter().enumerate() {
        check(act, process, ran, frame).map_err(|what| format!("process {process}: {what}"))?;
        end = end.max(ran.start_ns + ran.wall_ns);
        done.push(ran.operations.values().map(|found| found.ops).sum());
        tallies.merge(&counted(act, ran, begin));
    }
    let (distinct_keys, top_key_ops) = act.drawn(&done);
    let (ops, failures) = tallies.failures();
    let cpu_ns: u64 = ran.iter().map(|ran| ran.cpu_user_ns + ran.cpu_system_ns).sum();
    Ok(PhaseResult {
        tallies,
        wall: Duration::from_nanos(end - begin),
        client_cpu_s: seconds(cpu_ns),
        distinct_keys,
        top_key_ops,
        gave_up: ops >= HOPELESS && failures == ops,
    })
}

/// Whether what one process says can be true.
fn check(act: &Act, process: usize, ran: &Ran, frame: Frame) -> Result<(), String> {
    let outside = frame.ended_ns.saturating_sub(frame.began_ns);
    if ran.wall_ns > outside + COARSE_NS {
        return Err(format!("its phase took {} ns, and {outside} ns passed", ran.wall_ns));
    }
    let inside = frame.began_ns.saturating_sub(COARSE_NS)..=frame.ended_ns + COARSE_NS;
    if !inside.contains(&ran.start_ns) || !inside.contains(&(ran.start_ns + ran.wall_ns)) {
        return Err(format!("its phase began at {} ns, when there was none", ran.start_ns));
    }
    let mut busy_ns = 0_u64;
    for (name, found) in &ran.operations {
        let operation = act.operations.iter().find(|operation| operation.as_str() == name);
        let operation = *operation.ok_or_else(|| format!("`{name}` is no part of the plan"))?;
        let planned = act.planned(process, operation);
        check_operation(act, operation, planned, found)
            .map_err(|what| format!("{operation}: {what}"))?;
        busy_ns = busy_ns.saturating_add(found.busy_ns);
    }
    let missing = act.operations.iter().find(|operation| {
        act.planned(process, **operation) > 0 && !ran.operations.contains_key(operation.as_str())
    });
    if let Some(missing) = missing {
        return Err(format!("{missing}: nothing was counted"));
    }
    if busy_ns > ran.wall_ns + COARSE_NS {
        return Err(format!("its operations took {busy_ns} ns of {}", ran.wall_ns));
    }
    Ok(())
}

fn check_operation(
    act: &Act,
    operation: Operation,
    planned: u64,
    found: &OperationRan,
) -> Result<(), String> {
    let OperationRan { ops, hits, misses, wrong, errors, succeeded, .. } = *found;
    if act.time_limit.is_none() && ops != planned {
        return Err(format!("{ops} operations of {planned}"));
    }
    if !act.again && ops > planned {
        return Err(format!("{ops} operations, only {planned} were planned"));
    }
    let answered = if operation.reads() {
        sum(&[hits, misses, wrong, errors])
    } else {
        sum(&[succeeded, misses, errors])
    };
    if answered != Some(ops) {
        return Err(format!(
            "{hits} hits, {misses} misses, {wrong} wrong and {errors} errors are not {ops} operations"
        ));
    }
    let right = match operation {
        Operation::GetOrSet => (hits + misses).checked_sub(found.failed_fills),
        operation if operation.reads() => Some(hits),
        _ => Some(succeeded),
    };
    if right != Some(succeeded) || found.truncated > wrong {
        return Err(format!("{succeeded} succeeded, and {hits} of {ops} were right"));
    }
    let latencies = sum(&found.latencies.iter().map(|(_, times)| *times).collect::<Vec<_>>());
    // A request of many keys has one latency.
    let expected = match operation {
        Operation::GetMany => succeeded.div_ceil(act.multiget.max(1) as u64)..=succeeded,
        _ => succeeded..=succeeded,
    };
    if !latencies.is_some_and(|latencies| expected.contains(&latencies)) {
        return Err(format!(
            "{} latencies of {succeeded} operations that succeeded",
            latencies.unwrap_or(u64::MAX)
        ));
    }
    let slots = &found.timeline;
    let in_slots = slots.slot_ns.is_power_of_two()
        && slots.ops.len() == slots.max_ns.len()
        && sum(&slots.ops) == Some(ops);
    if !in_slots {
        return Err(format!("its timeline is none of {ops} operations"));
    }
    Ok(())
}

fn sum(numbers: &[u64]) -> Option<u64> {
    numbers.iter().try_fold(0_u64, |sum, number| sum.checked_add(*number))
}

/// What one process counted, as a thread of this process would have.
fn counted(act: &Act, ran: &Ran, begin: u64) -> Tallies {
    let mut tallies = Tallies::new(&act.operations);
    for operation in &act.operations {
        let Some(found) = ran.operations.get(operation.as_str()) else { continue };
        let tally = tallies.of(*operation);
        tally.counts = Counts {
            ops: found.ops,
            hits: found.hits,
            misses: found.misses,
            wrong: found.wrong,
            truncated: found.truncated,
            errors: found.errors,
            failed_fills: found.failed_fills,
            ..Counts::default()
        };
        tally.succeeded = found.succeeded;
        tally.bytes = found.bytes;
        tally.busy_ns = found.busy_ns;
        for (ns, times) in &found.latencies {
            tally.latency.saturating_record_n((*ns).max(1), *times);
        }
        tally.errors_by_kind = found.errors_by_kind.clone();
        if found.errors + found.failed_fills > 0 {
            tally.first_error.clone_from(&ran.first_error);
        }
        let slots = &found.timeline;
        let timeline = Timeline {
            slot_ns: slots.slot_ns,
            ops: slots.ops.clone(),
            max_ns: slots.max_ns.clone(),
        };
        tally.add_timeline(&timeline, ran.start_ns - begin);
    }
    tallies
}

/// Adds what the tiers did; `false` where the processes do not tell of so many.
pub(super) fn add_tiers(tiers: &mut [TierStats], ran: &[Ran]) -> bool {
    for found in ran {
        if found.tiers.len() != tiers.len() {
            return false;
        }
        for (tier, found) in tiers.iter_mut().zip(&found.tiers) {
            tier.hits += found.hits;
            tier.misses += found.misses;
            tier.fills += found.fills;
            tier.puts += found.puts;
            tier.refused += found.refused;
        }
    }
    true
}

/// Connections that the processes opened; `None` where one does not tell.
pub(super) fn connections(ran: &[Ran]) -> Option<u64> {
    ran.iter().map(|ran| ran.connections).sum()
}

/// What each process carried out.
pub(super) fn done(ran: &[Ran]) -> Vec<u64> {
    ran.iter().map(|ran| ran.operations.values().map(|found| found.ops).sum()).collect()
}

/// The numbers of all values that were not acknowledged.
pub(super) fn failed(ran: &[Ran]) -> Vec<u32> {
    ran.iter().flat_map(|ran| ran.failed.iter().copied()).collect()
}
