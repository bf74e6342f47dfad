//! A guest's turn: a program that has read the plan and carries it out phase by phase while this process waits.

use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

use larder_host::disk;
use larder_report::figures::count;
use larder_store::{Error, Result, Span, TierStats};

use super::files::{self, Terms};
use super::process::GuestProcess;
use super::readback::Back;
use super::reply::{Loaded, Progress, Ran, Reply};
use super::result::{self, Frame};
use super::script::{Act, Script};
use super::session::rounded_up;
use super::store::{GuestStore, Shared};
use super::wrong::Words;
use crate::measure::{
    Dataset, KeyState, PhasePlan, PhaseResult, ReadBack, Scheduled, deleted, now_ns, samples,
    seconds, set_again,
};
use crate::plan::PlannedPoint;
use crate::usage::{Servers, major_faults_of};
use larder_workload::NOTHING;

/// The most that a phase may take, in multiples of its time limit. A single process stops its clock while it prepares
/// and counts operations. For fast operations that takes several times as long as the operations.
pub(super) const PAUSES: u32 = 20;
/// The time that a phase may take beyond that, for a slow operation.
pub(super) const OVERTIME: Duration = Duration::from_secs(30);

/// A program that carries out a turn.
#[derive(Debug)]
pub(crate) struct GuestExecutor {
    // Dropped first, because the program works in the folders of `shared`.
    pub(super) process: GuestProcess,
    pub(super) shared: Arc<Shared>,
    script: Script,
    folder: std::path::PathBuf,
    /// The bytes that the program has to read before it can begin.
    plan_bytes: u64,
    /// The TTL of the values that it stores.
    pub(super) ttl: Option<Duration>,
    /// Processes race in a phase, so that it is unknown which of the deleted keys are gone.
    races: bool,
    /// Phases that have been carried out.
    n_done: usize,
    /// The program has loaded this plan, and not the plan of a read-back.
    pub(super) is_loaded: bool,
    /// Resident memory of its processes at the last report.
    rss_bytes: Option<u64>,
    /// Connections opened so far; `None` if the program does not tell.
    connections: Option<u64>,
    /// The counters of the tiers of a stack so far, the nearest first.
    tiers: Vec<TierStats>,
    /// Entries dropped so far to make room; `None` if the program does not tell.
    pub(super) evictions: Option<u64>,
}

impl GuestExecutor {
    /// Writes down the whole turn, starts a program and has it read the turn. `None` when the run was stopped.
    pub(crate) fn start(
        store: &GuestStore,
        point: &PlannedPoint,
        plans: &[PhasePlan<'_>],
        state: &KeyState,
        stop: &AtomicBool,
    ) -> Result<Option<Self>> {
        let shared = Arc::clone(store.shared());
        let mut script = Script::new(point.keys.count(), point.guest_processes());
        let drawn = state.blank();
        for (plan, phase) in plans.iter().zip(&point.phases) {
            let dataset = Dataset { keys: &point.keys, values: &point.values, state: &drawn };
            script.draw(plan, phase.measured, dataset);
        }
        let ttl = plans.first().and_then(|plan| plan.set_options.ttl);
        shared.rest();
        let (process, _) = shared.start()?;
        let folder = shared.new_folder("turn");
        let tiers = shared.tiers();
        let mut executor = Self {
            shared,
            process,
            script,
            folder,
            plan_bytes: 0,
            ttl,
            races: plans.iter().any(|plan| plan.work.races(point.guest_processes())),
            n_done: 0,
            is_loaded: true,
            rss_bytes: None,
            connections: Some(0),
            tiers,
            evictions: None,
        };
        executor.plan_bytes =
            write(&executor.shared, &executor.script, &executor.folder, point, ttl)?;
        let loaded = have_read(&mut executor.process, &executor.folder, executor.plan_bytes, stop)?;
        executor.rss_bytes =
            Servers::read(&[executor.process.pid()]).map(|program| program.rss_bytes);
        Ok(loaded.map(|Loaded { evictions, .. }| Self { evictions, ..executor }))
    }

    /// Has the program carry out a phase; `None` when the run was stopped meanwhile, which kills the program.
    pub(crate) fn run(
        &mut self,
        point: &PlannedPoint,
        number: usize,
        state: &KeyState,
        stop: &AtomicBool,
    ) -> Result<Option<PhaseResult>> {
        let is_before_it = self.is_loaded
            || have_read(&mut self.process, &self.folder, self.plan_bytes, stop)?.is_some();
        if !is_before_it {
            return Ok(None);
        }
        self.is_loaded = true;
        self.n_done = number + 1;
        let act = &self.script.phases[number];
        // Processes that share the work end with it, and the kernel's figures of them are lost.
        let alone = (act.shares.len() == 1).then(|| self.process.pid());
        let before = alone.and_then(Scheduled::of);
        let began_ns = now_ns();
        let longest = act.time_limit.map(|limit| limit * PAUSES + OVERTIME);
        let Some(over) = wait_for(&mut self.process, number, longest, stop)? else {
            return Ok(None);
        };
        over.or_failed(&self.process)?.add_to(&mut self.evictions);
        let frame = Frame { began_ns, ended_ns: now_ns() };
        let words = words(&self.script, point, state);
        let scheduled = alone.and_then(Scheduled::of).zip(before);
        let ran: Vec<Ran> = (0..act.shares.len())
            .map(|process| self.ran(&self.folder, number, process))
            .collect::<Result<_>>()?;
        let mut result = result::add_up(act, &ran, frame, &words).map_err(|what| {
            self.process.fault(&format!("gave an inconsistent answer: phase {number}, {what}"))
        })?;
        result.client_wait_s = scheduled.map(|(after, before)| {
            let timed: u64 = ran.iter().map(|ran| ran.cpu_user_ns + ran.cpu_system_ns).sum();
            seconds(after.since(before).waited_in(timed))
        });
        self.script.settle(number, &result::done(&ran), state);
        self.rss_bytes = ran.iter().map(|ran| ran.rss_bytes).max();
        self.connections =
            self.connections.zip(result::connections(&ran)).map(|(before, more)| before + more);
        let names = self.shared.tier_names();
        result::add_tiers(&mut self.tiers, &names, &ran).map_err(|what| {
            self.process.fault(&format!("gave an inconsistent answer: phase {number}, {what}"))
        })?;
        Ok(Some(result))
    }

    /// Has the program read back acknowledged values with a plan of its own, then set some of them again and read them.
    pub(crate) fn read_back(
        &mut self,
        point: &PlannedPoint,
        state: &KeyState,
        stop: &AtomicBool,
    ) -> Result<ReadBack> {
        let sampled: Vec<(u32, u32)> = samples(&point.keys, &point.values, state).collect();
        let mut script = self.script.reading(&sampled);
        // Later reads have a plan without the new values, so keys are set again only when no read follows.
        let is_over = !self.script.phases[self.n_done..].iter().any(Act::reads);
        let again = set_again(&sampled, state.base()).filter(|_| is_over);
        let versions = script.overwrite(again, &point.values);
        let Some(mut back) = Back::begin(self, script, point, state, stop)? else {
            return Ok(ReadBack::default());
        };
        let mut found = back.read()?;
        if !versions.is_empty() {
            found.add_overwritten(&back.overwrite(&versions)?);
        }
        Ok(found)
    }

    /// Has the program look for keys whose delete was acknowledged, with a plan of its own.
    pub(crate) fn read_back_deletes(
        &mut self,
        point: &PlannedPoint,
        state: &KeyState,
        stop: &AtomicBool,
    ) -> Result<ReadBack> {
        let gone = deleted(&point.keys, &point.values, state);
        let gone: Vec<(u32, u32)> = gone.map(|key| (key, NOTHING)).collect();
        if self.races || gone.is_empty() {
            return Ok(ReadBack::default());
        }
        let script = self.script.reading(&gone);
        match Back::begin(self, script, point, state, stop)? {
            None => Ok(ReadBack::default()),
            Some(mut back) => {
                let mut found = back.read()?;
                let counts = &mut found.counts;
                counts.deletes_read_back = std::mem::take(&mut counts.read_back);
                counts.read_back_absent = 0;
                Ok(found)
            }
        }
    }

    /// Ends the program. A program that does not end when asked has failed.
    pub(crate) fn finish(self) -> Result<()> {
        // The plan may be large, and the next turn has its own.
        let _ = fs::remove_dir_all(&self.folder);
        self.process.end()
    }

    /// The process id of its program, from which all its processes descend.
    pub(crate) fn pid(&self) -> u32 {
        self.process.pid()
    }

    /// Resident memory of the largest of its processes, because a sum would count shared memory several times.
    pub(crate) fn rss_bytes(&self) -> Option<u64> {
        self.rss_bytes
    }

    /// Connections that it has opened so far.
    pub(crate) fn connections(&self) -> Option<u64> {
        self.connections
    }

    /// The counters of its tiers so far, the nearest first.
    pub(crate) fn tiers(&self) -> Vec<TierStats> {
        self.tiers.clone()
    }

    /// Entries that its cache has dropped so far to make room; `None` if the program does not know.
    pub(crate) fn evictions(&self) -> Option<u64> {
        self.evictions
    }

    /// Major page faults of its processes so far.
    pub(crate) fn major_faults(&self) -> u64 {
        major_faults_of(self.process.pid()).unwrap_or(0)
    }

    /// The record of a process about a phase.
    pub(super) fn ran(&self, folder: &Path, number: usize, process: usize) -> Result<Ran> {
        let file = folder.join(format!("ran-{number}-{process}.json"));
        let text = fs::read(&file).map_err(|error| {
            self.process.fault(&format!("wrote no record of process {process}: {error}"))
        })?;
        serde_json::from_slice(&text).map_err(|error| {
            self.process.fault(&format!("wrote an invalid record of process {process}: {error}"))
        })
    }
}

/// The report of a program about a phase that is over.
#[derive(Debug)]
pub(super) enum Over {
    Done {
        /// Entries dropped to make room.
        evictions: Option<u64>,
    },
    /// Everything failed, with the last of the errors.
    GaveUp(String),
}

impl Over {
    /// Turns a phase that was given up into an error.
    pub(super) fn or_failed(self, process: &GuestProcess) -> Result<Self> {
        match self {
            Self::Done { .. } => Ok(self),
            Self::GaveUp(what) => {
                Err(Error::Unavailable { engine: process.engine(), what, source: None })
            }
        }
    }

    pub(super) fn add_to(&self, evictions: &mut Option<u64>) {
        let Self::Done { evictions: more } = self else { return };
        *evictions = evictions.zip(*more).map(|(before, more)| before + more);
    }
}

/// The plan and the values that an explanation of a wrong value needs.
pub(super) fn words<'a>(
    script: &'a Script,
    point: &'a PlannedPoint,
    state: &KeyState,
) -> Words<'a> {
    Words { script, keys: &point.keys, values: &point.values, base: state.base() }
}

/// Writes a plan, and returns its bytes.
pub(super) fn write(
    shared: &Shared,
    script: &Script,
    folder: &Path,
    point: &PlannedPoint,
    ttl: Option<Duration>,
) -> Result<u64> {
    let can = shared.capabilities;
    let pool = shared.pool_file(point.values.pool())?;
    let ttl = ttl.map(|ttl| rounded_up(ttl, can));
    let terms = Terms { pool: &pool, seed: point.values.seed(), ttl, replays: !can.stores };
    let written = files::write(folder, script, &point.keys, terms)
        .map_err(|error| disk::io_error(shared.cache.engine.scheme, "writing", folder, error))?;
    Ok(written + point.values.pool().len() as u64)
}

/// Has the program read a written plan; `None` when the run was stopped meanwhile.
pub(super) fn have_read(
    process: &mut GuestProcess,
    folder: &Path,
    plan_bytes: u64,
    stop: &AtomicBool,
) -> Result<Option<Loaded>> {
    let command = format!("load {}\n", folder.display());
    if !process.tell(&[command.as_bytes()], stop)? {
        return Ok(None);
    }
    let patience = process.patience().for_bytes(plan_bytes);
    match process.answer_within(patience, stop)? {
        Some(Reply::Done(loaded @ Loaded { loaded: true, .. })) => Ok(Some(loaded)),
        Some(Reply::Done(Loaded { loaded: false, .. })) => {
            Err(process.fault("could not read its plan"))
        }
        Some(Reply::Failed { error, .. }) => {
            Err(process.fault(&format!("could not read its plan: {error}")))
        }
        None => Ok(None),
    }
}

/// Has the program run a phase, and waits for its end; `None` when the run was stopped meanwhile.
pub(super) fn wait_for(
    process: &mut GuestProcess,
    number: usize,
    longest: Option<Duration>,
    stop: &AtomicBool,
) -> Result<Option<Over>> {
    let began = Instant::now();
    let (mut operations, mut patience) = (0, process.patience());
    if !process.tell(&[format!("run {number}\n").as_bytes()], stop)? {
        return Ok(None);
    }
    loop {
        match process.answer(stop)? {
            None => return Ok(None),
            Some(Progress::Ran { ran, evictions }) if ran == number => {
                return Ok(Some(Over::Done { evictions }));
            }
            Some(Progress::Ran { ran, .. }) => {
                return Err(process.fault(&format!("ran phase {ran}, not {number}")));
            }
            Some(Progress::GaveUp { error }) => return Ok(Some(Over::GaveUp(error))),
            Some(Progress::Alive { alive }) if alive > operations => {
                operations = alive;
                patience.renew();
            }
            // The process that reports may still speak while the working processes hang.
            Some(Progress::Alive { .. }) if patience.left().is_none() => {
                return Err(process.fault(&format!(
                    "made no progress for {patience} after {}, and was killed",
                    count(operations, "operation")
                )));
            }
            Some(Progress::Alive { .. }) => {}
        }
        if let Some(longest) = longest.filter(|longest| began.elapsed() > *longest) {
            let longest = Span(longest);
            return Err(process.fault(&format!("did not end phase {number} within {longest}")));
        }
    }
}
