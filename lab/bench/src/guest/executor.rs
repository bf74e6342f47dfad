//! A guest's turn: a program that has read the plan and carries it out phase by phase while this process waits.

use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

use larder_host::disk;
use larder_host::limits::raise_open_files;
use larder_report::figures::count;
use larder_store::{Error, Result, Span, TierStats};

use super::files::{self, Terms};
use super::judge::{Judge, Record, Sources};
use super::process::GuestProcess;
use super::readback::Back;
use super::records;
use super::reply::{Loaded, Progress, Reply};
use super::result::{self, Frame};
use super::script::{Act, Script};
use super::session::rounded_up;
use super::store::{GuestStore, Shared};
use crate::measure::{
    Dataset, KeyState, PhasePlan, PhaseResult, ReadBack, Scheduled, deleted, now_ns, samples,
    seconds, set_again,
};
use crate::plan::PlannedPoint;
use crate::usage::{Servers, major_faults_of};
use larder_workload::NOTHING;

/// The most that a phase may take, in multiples of its time limit. A single process stops its clock while it prepares
/// operations, and while Larder counts them. For fast operations that takes several times as long as the operations.
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
        // Each process has two pipes. Where the limit cannot be raised, opening them says so.
        let _ = raise_open_files();
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
        let longest = act.time_limit.map(|limit| limit * PAUSES + OVERTIME);
        let sources = sources(&self.shared, &self.script, point, state);
        let turn = Turn { folder: &self.folder, sources, number, longest };
        let Some((over, phase)) = turn.carry_out(&mut self.process, stop)? else {
            return Ok(None);
        };
        let scheduled = alone.and_then(Scheduled::of).zip(before);
        over.or_failed(&self.process)?.add_to(&mut self.evictions);
        let inconsistent = |what: String| {
            self.process.fault(&format!("gave an inconsistent answer: phase {number}, {what}"))
        };
        let (records, mut result) = phase.map_err(inconsistent)?;
        result.client_wait_s = scheduled.map(|(after, before)| {
            let timed: u64 = records
                .iter()
                .map(|Record { ended, .. }| ended.cpu_user_ns + ended.cpu_system_ns)
                .sum();
            seconds(after.since(before).waited_in(timed))
        });
        let names = self.shared.tier_names();
        result::add_tiers(&mut self.tiers, &names, &records).map_err(inconsistent)?;
        self.script.settle(number, &result::done(&records), state);
        self.script.uncertain.extend(records.iter().flat_map(|record| &record.uncertain));
        self.rss_bytes = records.iter().map(|record| record.ended.rss_bytes).max();
        self.connections =
            self.connections.zip(result::connections(&records)).map(|(before, more)| before + more);
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

/// The sources of a judgement of the program's records.
pub(super) fn sources<'a>(
    shared: &Shared,
    script: &'a Script,
    point: &'a PlannedPoint,
    state: &KeyState,
) -> Sources<'a> {
    let replays = !shared.capabilities.stores;
    Sources { script, keys: &point.keys, values: &point.values, base: state.base(), replays }
}

/// A phase that a program is to carry out.
#[derive(Debug)]
pub(super) struct Turn<'a> {
    /// The folder of its plan.
    pub(super) folder: &'a Path,
    pub(super) sources: Sources<'a>,
    /// The number of the phase in the plan, from 0.
    pub(super) number: usize,
    /// The most that it may take.
    pub(super) longest: Option<Duration>,
}

/// The records of a phase and their sum, or the reason why they cannot be true.
pub(super) type Recorded = std::result::Result<(Vec<Record>, PhaseResult), String>;

impl Turn<'_> {
    /// Has the program carry out the phase; `None` when the run was stopped meanwhile.
    pub(super) fn carry_out(
        &self,
        process: &mut GuestProcess,
        stop: &AtomicBool,
    ) -> Result<Option<(Over, Recorded)>> {
        let Self { folder, sources, number, longest } = *self;
        let act = &sources.script.phases[number];
        let processes = 0..act.shares.len();
        let began_ns = now_ns();
        let uncertain = &sources.script.uncertain;
        let judges = processes.map(|of| Judge::new(sources, number, of, uncertain)).collect();
        let work = || wait_for(process, number, longest, stop);
        let received = records::receive(folder, judges, work);
        let (over, records) = received.map_err(|error| {
            process.fault(&format!("cannot be heard: the pipes of its records: {error}"))
        })?;
        let Some(over) = over? else { return Ok(None) };
        let frame = Frame { began_ns, ended_ns: now_ns() };
        let checked = |(of, record): (usize, std::result::Result<Record, String>)| {
            let checked = record.and_then(|record| result::checked(act, of, record, frame));
            checked.map_err(|what| format!("process {of}: {what}"))
        };
        let records: std::result::Result<Vec<Record>, String> =
            records.into_iter().enumerate().map(checked).collect();
        let recorded = records.and_then(|records| {
            let result = result::add_up(act, &records, frame)?;
            Ok((records, result))
        });
        Ok(Some((over, recorded)))
    }
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
    let terms = Terms { pool: &pool, ttl, replays: !can.stores };
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
