//! Refuses a plan that would exhaust memory or disk. External servers are guarded by `external`.

use std::collections::BTreeMap;
use std::os::unix::fs::MetadataExt;

use larder_store::{ByteSize, Catalog, Medium, Ownership};

use super::{Permissions, TargetSlot};
use crate::environment::available_memory;
use crate::error::{Result, usage};
use crate::guest;
use crate::measure::UNSENT_BYTES;
use crate::plan::{MAX_VALUE, Plan, PlannedPoint, PlannedTarget, plan_targets, sizes_and_keys};
use crate::scenario::Scenario;
use crate::target::Target;
use larder_workload::{SizeSpec, WorkloadSpec};

/// The share of free memory or disk that a plan may take without `--yes`.
const MOST_OF_WHAT_IS_FREE: f64 = 0.8;
/// Room that a file takes at least, in bytes.
const BLOCK: u64 = 4096;
/// Bytes that the kernel keeps for a connection at most, of both directions, by its defaults.
const ON_A_SOCKET: u64 = 10 << 20;
/// Bytes of an operation that is outstanding, with its place among the requests.
const OPERATION: u64 = 64;
/// The session of a connection without its requests, in bytes.
const SESSION: u64 = 4096;

/// The most memory and disk that a target will take, in bytes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Footprint {
    pub(crate) memory: u64,
    pub(crate) disk: u64,
}

/// The most memory and disk that a target will take over all points: the working set, or its own bound where that is
/// less.
pub(crate) fn footprint(plan: &Plan, target: &Target) -> Footprint {
    // A point that is refused takes nothing.
    let points = || plan.points_of(&target.planned).filter(|point| target.refusal(point).is_none());
    let most = |of: fn(&PlannedPoint) -> u64| points().map(of).max().unwrap_or(0);
    let bound = target.capacity_bytes.unwrap_or(u64::MAX);
    let memory = most(|point| point.working_set_bytes + 100 * point.items).min(bound);
    // Engines with one file a key round each up to a block; databases take less than that.
    let disk =
        most(|point| point.working_set_bytes + BLOCK * point.items).min(bound.saturating_mul(2));
    let system = target.info.file_system.as_ref();
    let in_memory = system.is_some_and(larder_store::FileSystem::is_memory);
    // A tmpfs refuses writes beyond its size.
    let most_of_memory = system.and_then(|system| system.size_bytes).unwrap_or(u64::MAX);
    // A server of ours without files, although others of its engine have them.
    let has_no_files =
        target.info.ownership == Ownership::Managed && target.info.data_paths.is_empty();
    let of = |medium: &Medium| match medium {
        Medium::Nothing | Medium::Tiers => Footprint::default(),
        Medium::Files if has_no_files => Footprint { memory, disk: 0 },
        Medium::Memory => Footprint { memory, disk: 0 },
        Medium::Files if in_memory => Footprint { memory: disk.min(most_of_memory), disk },
        Medium::Files => Footprint { memory: 0, disk },
    };
    target.planned.media.iter().map(of).fold(Footprint::default(), |sum, one| Footprint {
        memory: sum.memory + one.memory,
        disk: sum.disk + one.disk,
    })
}

/// Refuses a plan that would not fit.
pub(super) fn check(plan: &Plan, slots: &[TargetSlot], permissions: Permissions) -> Result<()> {
    if permissions.yes {
        return Ok(());
    }
    let targets = || {
        slots.iter().filter_map(|slot| match slot {
            TargetSlot::Open(target) => Some(target.as_ref()),
            TargetSlot::Closed(..) => None,
        })
    };
    if !permissions.within_limit {
        check_memory(plan, &targets)?;
    }
    let mut disks: BTreeMap<u64, Disk> = BTreeMap::new();
    for target in targets() {
        // A file system of the target's own may be filled: no other program uses it, and the run shows what happens
        // when it is full.
        let system = target.info.file_system.as_ref().filter(|system| !system.is_own);
        let Some(system) = system else { continue };
        // Two disks may have the same kind and size; their numbers differ.
        let device = target.info.data_paths.first().and_then(|path| path.metadata().ok());
        if let (Some(device), Some(free)) = (device, system.free_bytes) {
            let name = system.to_string();
            let disk = disks.entry(device.dev()).or_insert(Disk { name, needed: 0, free });
            disk.needed += footprint(plan, target).disk;
            disk.free = disk.free.min(free);
        }
    }
    for Disk { name, needed, free } in disks.into_values() {
        if exceeds(needed, free) {
            return Err(usage(format!(
                "this plan takes about {} on {name}, {} are free; use fewer --keys, a smaller --data-size or another \
                 path, or --yes to try",
                ByteSize(needed),
                ByteSize(free)
            )));
        }
    }
    Ok(())
}

/// Refuses what would take nearly all memory.
fn check_memory<'a, T: Iterator<Item = &'a Target>>(
    plan: &Plan,
    targets: &impl Fn() -> T,
) -> Result<()> {
    if targets().any(|target| target.guest.is_some()) {
        check_guests(plan)?;
    }
    // One has its turn at a time.
    let guests = targets().filter_map(|target| target.guest.as_ref());
    let program = guests.map(|guest| guest.memory_bytes()).max().unwrap_or(0);
    let memory: u64 =
        targets().map(|target| footprint(plan, target).memory).sum::<u64>() + own(plan) + program;
    let connected: u64 = plan.points.iter().map(of_connections).max().unwrap_or(0);
    let what =
        if connected > memory / 2 { "--connections or a shorter --pipeline" } else { "targets" };
    plan.points.iter().try_for_each(fits_on_the_way)?;
    fits_into_memory(memory, what)
}

/// Refuses more bytes on their way than the system's kernel keeps for TCP: it drops what comes beyond, and a sound server
/// is taken for a silent one.
fn fits_on_the_way(point: &PlannedPoint) -> Result<()> {
    let (Some(load), Some(kept)) = (point.load, tcp_memory()) else { return Ok(()) };
    let keys = point.multiget.max(point.multiset) as u64;
    let value = (point.keys.longest() + point.values.longest()) as u64;
    let each = (u64::from(load.pipeline) * keys * value).min(ON_A_SOCKET);
    let all = u64::from(load.connections) * each;
    if all <= kept / 2 {
        return Ok(());
    }
    Err(usage(format!(
        "--connections {} with --pipeline {}: {} can be on their way at once, and the kernel keeps {} for TCP \
         (net.ipv4.tcp_mem); use a shorter --pipeline, or fewer connections",
        load.connections,
        load.pipeline,
        ByteSize(all),
        ByteSize(kept)
    )))
}

/// The memory beyond which the kernel takes memory from TCP's sockets, in bytes; `None` where it is unknown.
fn tcp_memory() -> Option<u64> {
    let pages = std::fs::read_to_string("/proc/sys/net/ipv4/tcp_mem").ok()?;
    let pressure: u64 = pages.split_whitespace().nth(1)?.parse().ok()?;
    // SAFETY: the call takes a number only.
    let page = unsafe { libc::sysconf(libc::_SC_PAGESIZE) };
    Some(pressure.saturating_mul(u64::try_from(page).ok()?))
}

/// The memory of a point's connections in this process: on each, requests that wait for room in the socket, one request
/// more, and one answer that is not yet whole.
fn of_connections(point: &PlannedPoint) -> u64 {
    if !point.loads_connections() {
        return 0;
    }
    let value = (point.keys.longest() + point.values.longest()) as u64;
    let writes = point.phases.iter().any(|phase| phase.work.changes());
    let keys = point.multiget.max(point.multiset) as u64;
    let request = if writes { value * point.multiset as u64 } else { 0 };
    let request = request + keys * point.keys.longest() as u64;
    let pipeline = point.load.map_or(1, |load| load.pipeline);
    let unsent = (u64::from(pipeline) * request).min(UNSENT_BYTES as u64);
    // Each outstanding operation is kept with what is known of its key, until it is answered.
    let operations = u64::from(pipeline) * keys * OPERATION;
    let each = SESSION + unsent + request + value + operations;
    let others = point.connections() - point.sessions();
    u64::from(point.sessions()) * each + u64::from(others) * SESSION
}

/// Refuses a scenario whose values cannot fit, before its values are made and anything is opened: what follows from its numbers
/// alone. What only open targets tell is checked once they are open.
///
/// # Errors
///
/// A usage error with the memory that the scenario takes and the memory that is free; no error with `permissions.yes`.
pub fn refuse_too_large(
    scenario: &Scenario,
    typed: bool,
    catalog: &Catalog,
    permissions: Permissions,
) -> Result<()> {
    if permissions.yes || permissions.within_limit {
        return Ok(());
    }
    let targets = plan_targets(&scenario.targets, typed, catalog)?;
    // A server may refuse such values, and a target with a capacity drops some of them: both are checked once they are
    // open.
    let keeps_all = |target: &&PlannedTarget| {
        let is_bounded =
            target.engine.capacity_option.is_some_and(|name| target.url.option(name).is_some());
        let is_here = !target.engine.has_servers() && !target.is_external() && !target.is_guest();
        is_here && !is_bounded && target.media.contains(&Medium::Memory)
    };
    let n_keeping = targets.iter().filter(keeps_all).count() as u64;
    let memory = scenario.workloads().iter().map(|(_, spec)| known_bytes(spec, n_keeping)).max();
    memory.map_or(Ok(()), |memory| fits_into_memory(memory, "targets"))
}

/// The least memory of a workload, in bytes, with so many targets in memory that keep everything; 0 where it is not
/// known.
fn known_bytes(spec: &WorkloadSpec, targets: u64) -> u64 {
    let Some((sizes, keys)) = sizes_and_keys(spec) else { return 0 };
    let targets = if spec.capacity.is_some() { 0 } else { targets };
    let most_keys = keys.iter().map(|keys| u64::from(keys.0)).max().unwrap_or(0);
    let fixed = sizes.iter().filter_map(SizeSpec::as_fixed).map(u64::from);
    // A size beyond the limit is refused elsewhere.
    let largest = fixed.filter(|size| *size <= MAX_VALUE as u64).max().unwrap_or(0);
    largest.saturating_mul(most_keys).saturating_mul(targets).saturating_add(largest)
}

/// Refuses a plan that takes nearly all of the free memory, or more; `fewer` is what else it could have fewer of.
fn fits_into_memory(memory: u64, fewer: &str) -> Result<()> {
    match available_memory().filter(|free| exceeds(memory, *free)) {
        None => Ok(()),
        Some(free) => Err(usage(format!(
            "this plan takes about {} of memory, {} are free; use fewer --keys, a smaller --data-size or fewer \
             {fewer}, or --yes to try",
            ByteSize(memory),
            ByteSize(free)
        ))),
    }
}

/// One file system, and the room that all targets on it need.
struct Disk {
    name: String,
    needed: u64,
    free: u64,
}

/// Refuses more operations than free memory can hold for a guest, whose operations are written down before its turn.
fn check_guests(plan: &Plan) -> Result<()> {
    let memory = written_down(plan);
    if let Some(free) = available_memory().filter(|free| exceeds(memory, *free)) {
        return Err(usage(format!(
            "a guest's operations are written down before its turn, which takes about {} of memory, {} are free; use \
             fewer --requests or --keys, a --duration, or --yes to try",
            ByteSize(memory),
            ByteSize(free)
        )));
    }
    Ok(())
}

/// The memory of the largest turn of a guest, where there is a guest.
fn written_down(plan: &Plan) -> u64 {
    let has_guest = plan.targets.iter().any(PlannedTarget::is_guest);
    plan.points.iter().filter(|_| has_guest).map(guest::memory_bytes).max().unwrap_or(0)
}

/// The memory of the run itself: pools, key states, orders, traces, and the operations of guests.
fn own(plan: &Plan) -> u64 {
    let of = |point: &PlannedPoint| {
        28 * point.items
            + u64::from(point.threads + 1) * (point.values.longest() as u64 + (1 << 20))
    };
    let connected: u64 = plan.points.iter().map(of_connections).max().unwrap_or(0);
    plan.points.iter().map(of).sum::<u64>() + connected + written_down(plan)
}

#[expect(clippy::cast_precision_loss, reason = "a share")]
fn exceeds(needed: u64, free: u64) -> bool {
    needed as f64 > free as f64 * MOST_OF_WHAT_IS_FREE
}
