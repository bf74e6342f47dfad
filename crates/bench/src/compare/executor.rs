//! The executor of a target's turn: threads of this process, each with a session, or the program of a guest. This
//! module decides which; the code around a phase need not know.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use larder_store::{Result, Session, SetOptions, Stats, Store, TierStats};

use crate::guest::GuestExecutor;
use crate::measure::{KeyState, PhasePlan, PhaseResult, ReadBack, Reader, run_phase};
use crate::plan::PlannedPoint;
use crate::target::Target;
use crate::usage::{major_faults, own_memory};

/// The executor of a turn.
pub(super) enum Executor<'a> {
    Threads { point: &'a PlannedPoint, sessions: Vec<Box<dyn Session>>, store: Arc<dyn Store> },
    Guest { point: &'a PlannedPoint, guest: Box<GuestExecutor> },
}

/// The reader of the values that the threads have stored, with the threads' sessions.
fn reader<'r>(
    point: &'r PlannedPoint,
    (sessions, store): (&'r mut [Box<dyn Session>], &dyn Store),
    (state, set_options, stop): (&'r KeyState, SetOptions, &'r AtomicBool),
) -> Reader<'r> {
    let (keys, values) = (&point.keys, &point.values);
    let flags_again = set_options.flags ^ u32::from(store.capabilities().flags);
    let mut operations = point.phases.iter().flat_map(|phase| &phase.operations);
    let together =
        if operations.any(|operation| operation.is_of_many_keys()) { point.multiget } else { 1 };
    Reader { keys, values, state, sessions, set_options, flags_again, together, stop }
}

impl<'a> Executor<'a> {
    /// Gets ready for these phases, which a guest must know beforehand. `None` when the run was stopped meanwhile.
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
        let sessions = target.sessions(point.threads)?;
        Ok(Some(Self::Threads { point, sessions, store: Arc::clone(&target.store) }))
    }

    /// How many threads or processes work at once.
    pub(super) fn len(&self) -> u32 {
        match self {
            Self::Threads { point, .. } => point.threads,
            Self::Guest { point, .. } => point.guest_processes(),
        }
    }

    /// Carries out a phase. `None` when the run was stopped meanwhile and the phase has no result.
    pub(super) fn run(
        &mut self,
        (number, plan): (usize, &PhasePlan<'_>),
        state: &KeyState,
        replays: bool,
        stop: &AtomicBool,
    ) -> Result<Option<PhaseResult>> {
        match self {
            Self::Threads { point, sessions, .. } => {
                let keys = (&point.keys, &point.values, state);
                Ok(Some(run_phase(plan, keys, sessions, replays, stop)))
            }
            Self::Guest { point, guest } => guest.run(point, number, state, stop),
        }
    }

    /// Reads back acknowledged sets, and sets some of the keys once more.
    pub(super) fn read_back(
        &mut self,
        state: &KeyState,
        set_options: SetOptions,
        stop: &AtomicBool,
    ) -> Result<ReadBack> {
        match self {
            Self::Threads { point, sessions, store } => {
                reader(point, (sessions, &**store), (state, set_options, stop)).stored()
            }
            Self::Guest { point, guest } => guest.read_back(point, state, stop),
        }
    }

    /// Looks for keys whose delete was acknowledged.
    pub(super) fn read_back_deletes(
        &mut self,
        state: &KeyState,
        set_options: SetOptions,
        stop: &AtomicBool,
    ) -> Result<ReadBack> {
        match self {
            Self::Threads { point, sessions, store } => {
                reader(point, (sessions, &**store), (state, set_options, stop)).deleted()
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

    /// The process id of a guest's program.
    pub(super) fn program(&self) -> Option<u32> {
        match self {
            Self::Threads { .. } => None,
            Self::Guest { guest, .. } => Some(guest.pid()),
        }
    }

    /// Memory of the processes at work. This process counts its memory in use, with its mapped files where the target
    /// has files. A guest counts its resident memory.
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

    /// Requests that were sent so far, each of which waits for its answer. A guest does not report them.
    pub(super) fn requests(&self, stats: Option<&Stats>) -> Option<u64> {
        match self {
            Self::Threads { .. } => stats?.requests_sent,
            Self::Guest { .. } => None,
        }
    }

    /// Entries dropped to make room, as counted by the store, or by the program that has them in its memory.
    pub(super) fn evictions(&self, stats: &Stats) -> Option<u64> {
        match self {
            Self::Threads { .. } => stats.evictions,
            Self::Guest { guest, .. } => guest.evictions().or(stats.evictions),
        }
    }

    /// The counters of the tiers of a stack so far.
    pub(super) fn tiers(&self) -> Vec<TierStats> {
        match self {
            Self::Threads { store, .. } => store.tiers(),
            Self::Guest { guest, .. } => guest.tiers(),
        }
    }
}
