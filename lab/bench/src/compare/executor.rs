//! The executor of a target's turn: threads of this process, each with a session, or the program of a guest. The code
//! that calls it need not know which.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use larder_store::{Error, Result, Session, SetOptions, Stats, Store, TierStats};

use crate::guest::GuestExecutor;
use crate::measure::{
    Dataset, Idle, KeyState, PhasePlan, PhaseResult, ReadBack, Reader, run_phase,
};
use crate::plan::PlannedPoint;
use crate::target::Target;
use crate::usage::{Servers, major_faults, own_memory};

/// Readings of a server's memory until it is taken as settled, at most.
const SETTLING_READINGS: u32 = 40;
/// The time between two of them.
const BETWEEN_READINGS: Duration = Duration::from_millis(25);

/// The threads or the guest that carry out the phases of a turn.
pub(super) enum Executor<'a> {
    Threads {
        point: &'a PlannedPoint,
        sessions: Vec<Box<dyn Session>>,
        idle: IdleSessions,
        store: Arc<dyn Store>,
    },
    Guest {
        point: &'a PlannedPoint,
        guest: Box<GuestExecutor>,
    },
}

/// The reader that looks for what the threads have stored and deleted, through the threads' own sessions. Where the
/// store keeps flags it stores a sample again with other flags, so that lost flags show.
fn reader<'r>(
    point: &'r PlannedPoint,
    sessions: &'r mut [Box<dyn Session>],
    store: &dyn Store,
    state: &'r KeyState,
    set_options: SetOptions,
    stop: &'r AtomicBool,
) -> Reader<'r> {
    let (keys, values) = (&point.keys, &point.values);
    let flags_again = set_options.flags ^ u32::from(store.capabilities().flags);
    let mut operations = point.phases.iter().flat_map(|phase| &phase.operations);
    let together =
        if operations.any(|it| it.is_of_many_keys() && it.reads()) { point.multiget } else { 1 };
    Reader { keys, values, state, sessions, set_options, flags_again, together, stop }
}

/// Sessions that are connected and say nothing, and what they cost.
type IdleSessions = (Vec<Box<dyn Session>>, Option<Idle>);

/// Opens connections that say nothing, and measures by how much the servers grow.
fn idle(target: &Target, connections: u32) -> Result<IdleSessions> {
    if connections == 0 {
        return Ok((Vec::new(), None));
    }
    let before = settled_memory(target);
    let mut sessions = target.sessions(connections)?;
    let engine = target.planned.engine.scheme;
    for session in &mut sessions {
        let operation = "idle connections";
        let pipeline = session.pipeline().ok_or(Error::Unsupported { engine, operation })?;
        pipeline.connect()?;
    }
    let grown = settled_memory(target).zip(before).and_then(|(now, then)| now.checked_sub(then));
    let server_bytes = grown.filter(|bytes| *bytes > 0);
    Ok((sessions, Some(Idle { connections, server_bytes })))
}

/// The memory of a target's servers, once two readings agree: a server may accept a connection later than its client
/// sees it open.
fn settled_memory(target: &Target) -> Option<u64> {
    let read = || Some(Servers::read(&target.info.server_pids)?.rss_bytes);
    let mut last = read()?;
    for _ in 0..SETTLING_READINGS {
        std::thread::sleep(BETWEEN_READINGS);
        let now = read()?;
        if now == last {
            break;
        }
        last = now;
    }
    Some(last)
}

impl<'a> Executor<'a> {
    /// Gets ready for these phases. A guest is sent all of them before the first. `None` when the run was stopped meanwhile.
    pub(super) fn start(
        target: &Target,
        point: &'a PlannedPoint,
        plans: &[PhasePlan<'_>],
        state: &KeyState,
        stop: &AtomicBool,
    ) -> Result<Option<Self>> {
        if let Some(guest) = &target.guest {
            let guest = GuestExecutor::start(guest, point, plans, state, stop)?;
            return Ok(guest.map(|guest| Self::Guest { point, guest: Box::new(guest) }));
        }
        let sessions = target.sessions(point.sessions())?;
        let idle = idle(target, point.idle_connections)?;
        Ok(Some(Self::Threads { point, sessions, idle, store: Arc::clone(&target.store) }))
    }

    /// The connections that are open and say nothing.
    pub(super) fn idle(&self) -> Option<Idle> {
        match self {
            Self::Threads { idle, .. } => idle.1,
            Self::Guest { .. } => None,
        }
    }

    /// The number of requests that may be under way at once.
    pub(super) fn at_once(&self) -> u32 {
        match self {
            Self::Threads { point, .. } => point.at_once(),
            Self::Guest { point, .. } => point.guest_processes(),
        }
    }

    /// Carries out a phase, by its number among the phases of the turn; `replays` where it replays a trace. `None` when the
    /// run was stopped meanwhile and the phase has no result.
    pub(super) fn run(
        &mut self,
        number: usize,
        plan: &PhasePlan<'_>,
        state: &KeyState,
        replays: bool,
        stop: &AtomicBool,
    ) -> Result<Option<PhaseResult>> {
        match self {
            Self::Threads { point, sessions, .. } => {
                let dataset = Dataset { keys: &point.keys, values: &point.values, state };
                Ok(Some(run_phase(plan, dataset, sessions, replays, stop)))
            }
            Self::Guest { point, guest } => guest.run(point, number, state, stop),
        }
    }

    /// Reads back acknowledged sets. A sample of the keys is set and read once more, which shows whether an overwrite
    /// takes effect.
    pub(super) fn read_back(
        &mut self,
        state: &KeyState,
        set_options: SetOptions,
        stop: &AtomicBool,
    ) -> Result<ReadBack> {
        match self {
            Self::Threads { point, sessions, store, .. } => {
                reader(point, sessions, &**store, state, set_options, stop).stored()
            }
            Self::Guest { point, guest } => guest.read_back(point, state, stop),
        }
    }

    /// Looks for keys that are still there although their delete was acknowledged.
    pub(super) fn read_back_deletes(
        &mut self,
        state: &KeyState,
        set_options: SetOptions,
        stop: &AtomicBool,
    ) -> Result<ReadBack> {
        match self {
            Self::Threads { point, sessions, store, .. } => {
                reader(point, sessions, &**store, state, set_options, stop).deleted()
            }
            Self::Guest { point, guest } => guest.read_back_deletes(point, state, stop),
        }
    }

    /// Ends the executor in an orderly way.
    pub(super) fn finish(self) -> Result<()> {
        match self {
            Self::Threads { .. } => Ok(()),
            Self::Guest { guest, .. } => guest.finish(),
        }
    }

    /// The process id of a guest's program, which is the parent of its processes.
    pub(super) fn guest_pid(&self) -> Option<u32> {
        match self {
            Self::Threads { .. } => None,
            Self::Guest { guest, .. } => Some(guest.pid()),
        }
    }

    /// Memory of the processes at work. For this process it is the memory in use, and its mapped files where the target has
    /// files. For a guest it is the resident memory.
    pub(super) fn memory_bytes(&self, files: bool) -> Option<u64> {
        match self {
            Self::Threads { .. } => own_memory(files),
            Self::Guest { guest, .. } => guest.rss_bytes(),
        }
    }

    /// Major page faults of the processes at work, so far.
    pub(super) fn major_faults(&self) -> u64 {
        match self {
            Self::Threads { .. } => major_faults(),
            Self::Guest { guest, .. } => guest.major_faults(),
        }
    }

    /// Connections that have been opened so far.
    pub(super) fn connections(&self, stats: Option<&Stats>) -> Option<u64> {
        match self {
            Self::Threads { .. } => stats?.connections,
            Self::Guest { guest, .. } => guest.connections(),
        }
    }

    /// Round trips so far: requests that were sent and answered. A guest does not report them.
    pub(super) fn wire_requests(&self, stats: Option<&Stats>) -> Option<u64> {
        match self {
            Self::Threads { .. } => stats?.requests_sent,
            Self::Guest { .. } => None,
        }
    }

    /// Entries dropped to make room, as the store counts them; of a cache in a guest's memory, as the guest counts them.
    pub(super) fn evictions(&self, stats: &Stats) -> Option<u64> {
        match self {
            Self::Threads { .. } => stats.evictions,
            Self::Guest { guest, .. } => guest.evictions().or(stats.evictions),
        }
    }

    /// The counters of each tier of a stack so far; empty for a store without tiers.
    pub(super) fn tiers(&self) -> Vec<TierStats> {
        match self {
            Self::Threads { store, .. } => store.tiers(),
            Self::Guest { guest, .. } => guest.tiers(),
        }
    }
}
