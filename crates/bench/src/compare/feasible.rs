//! Refuses a plan that would exhaust memory or disk, or fill somebody's server without being asked.

use std::collections::BTreeMap;

use larder_store::{ByteSize, Medium, Ownership};

use super::{Permissions, Slot};
use crate::environment::available_memory;
use crate::error::{Result, usage};
use crate::plan::{Plan, PlannedPoint};
use crate::target::Target;

/// The share of free memory or disk that a plan may take without `--yes`.
const MOST_OF_WHAT_IS_FREE: f64 = 0.8;
/// The share of a server's memory, when the server is not ours, that a plan may take without `--yes`.
const SHARE_OF_SOMEBODYS: f64 = 0.1;
/// Room that a file takes at least, in bytes.
const BLOCK: u64 = 4096;

/// What a target will take at most, in bytes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Footprint {
    pub(crate) memory: u64,
    pub(crate) disk: u64,
}

/// What a target will take at most over all points: the working set, or its own bound where that is less.
pub(crate) fn footprint(plan: &Plan, target: &Target) -> Footprint {
    // A point that is refused takes nothing.
    let points = || plan.points.iter().filter(|point| target.refusal(point).is_none());
    let most = |of: fn(&PlannedPoint) -> u64| points().map(of).max().unwrap_or(0);
    let bound = target.capacity_bytes.unwrap_or(u64::MAX);
    let memory = most(|point| point.working_set_bytes + 100 * point.items).min(bound);
    // One file a key rounds each up to a block; databases take less than that.
    let disk =
        most(|point| point.working_set_bytes + BLOCK * point.items).min(bound.saturating_mul(2));
    let in_memory =
        target.info.file_system.as_ref().is_some_and(larder_store::FileSystem::is_memory);
    match (target.info.ownership, target.planned.engine.medium) {
        (Ownership::External, _) | (_, Medium::Nothing) => Footprint::default(),
        (_, Medium::Memory) => Footprint { memory, disk: 0 },
        (_, Medium::Files) if in_memory => Footprint { memory: disk, disk },
        (_, Medium::Files) => Footprint { memory: 0, disk },
    }
}

/// Refuses what would not fit.
pub(super) fn check(plan: &Plan, slots: &[Slot], permissions: Permissions) -> Result<()> {
    if permissions.yes {
        return Ok(());
    }
    let targets = || {
        slots.iter().filter_map(|slot| match slot {
            Slot::Open(target) => Some(target.as_ref()),
            Slot::Closed(..) => None,
        })
    };
    let memory: u64 =
        targets().map(|target| footprint(plan, target).memory).sum::<u64>() + own(plan);
    if let Some(free) = available_memory().filter(|free| exceeds(memory, *free)) {
        return Err(usage(format!(
            "this plan takes about {} of memory, {} are free; use fewer --keys, a smaller --data-size or fewer \
             targets, or --yes to try",
            ByteSize(memory),
            ByteSize(free)
        )));
    }
    let mut disks: BTreeMap<String, (u64, u64)> = BTreeMap::new();
    for target in targets() {
        if let Some(system) = &target.info.file_system
            && let Some(free) = system.free_bytes
        {
            let disk = disks.entry(system.to_string()).or_insert((0, free));
            disk.0 += footprint(plan, target).disk;
            disk.1 = disk.1.min(free);
        }
    }
    for (name, (needed, free)) in disks {
        if exceeds(needed, free) {
            return Err(usage(format!(
                "this plan takes about {} on {name}, {} are free; use fewer --keys, a smaller --data-size or another \
                 path, or --yes to try",
                ByteSize(needed),
                ByteSize(free)
            )));
        }
    }
    targets().filter(|target| target.info.ownership == Ownership::External).try_for_each(|target| {
        let set = plan.points.iter().map(|point| point.working_set_bytes).max().unwrap_or(0);
        match target.capacity_bytes {
            #[expect(clippy::cast_precision_loss, reason = "a share")]
            Some(capacity) if set as f64 > capacity as f64 * SHARE_OF_SOMEBODYS => Err(usage(format!(
                "{}: this plan would fill {} of a server with {} that Larder did not start, more than a tenth; \
                 --yes allows it",
                target.planned.name,
                ByteSize(set),
                ByteSize(capacity)
            ))),
            _ => Ok(()),
        }
    })
}

/// What the run itself takes: pools, key states, orders, traces.
fn own(plan: &Plan) -> u64 {
    let of = |point: &PlannedPoint| {
        20 * point.items
            + u64::from(point.threads + 1) * (point.values.longest() as u64 + (1 << 20))
    };
    plan.points.iter().map(of).sum()
}

#[expect(clippy::cast_precision_loss, reason = "a share")]
fn exceeds(needed: u64, free: u64) -> bool {
    needed as f64 > free as f64 * MOST_OF_WHAT_IS_FREE
}
