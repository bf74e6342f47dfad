//! A scenario resolved: every point of the sweep with its keys, values and phases.

mod backward;
mod capacities;
mod describe;
mod identity;
mod load;
mod outline;
mod pace;
mod part;
mod phases;
mod point;
mod readers;
mod replay_limit;
mod slice;
mod source;
mod targets;

use std::collections::BTreeMap;
use std::time::Duration;

use larder_report::figures::count;
use larder_report::{ArticleForm, Slice};
use larder_store::{ByteSize, Catalog, Span};

use crate::environment::available_memory;
use crate::error::{Result, usage};
use crate::scenario::{ArticleSpec, Scenario};
use capacities::with_capacities;
use larder_workload::trace::TraceSource;
use larder_workload::{KeyPattern, Until, WorkloadSpec};
use part::{Common, PlannedPart};

pub(crate) use capacities::size_option;
pub use identity::PlanIdentity;
pub use load::Load;
pub use phases::PlannedPhase;
pub(crate) use point::MAX_VALUE;
pub use point::PlannedPoint;
pub use replay_limit::ReplayLimit;
pub use slice::SliceSpec;
pub use source::DEFAULT_VALUE_SIZE;
pub(crate) use source::sizes_and_keys;
pub use targets::{PlannedTarget, plan_targets};

/// The default number of rounds: with ten a side, two targets that differ in every round reach p = 0.00001.
const DEFAULT_ROUNDS: u32 = 10;
/// The most rounds: each has its own versions.
const MAX_ROUNDS: u32 = 1000;
/// The default time for the rounds where they end by the precision of the rates.
const DEFAULT_MAX_TIME: Duration = Duration::from_mins(5);
/// The default length of keys, in bytes.
pub const DEFAULT_KEY_SIZE: u32 = 32;
/// The memory that the run itself needs for every key, in bytes: its place in the order, its versions, its count.
const BYTES_A_KEY: u64 = 16;

/// A scenario resolved for this machine.
#[derive(Debug)]
pub struct Plan {
    /// The scenario's name.
    pub scenario: String,
    /// The subject of the scenario, in a line.
    pub summary: String,
    /// The seed from which every draw follows.
    pub seed: u64,
    /// The number of times that each cell is measured; with `until`, the least number.
    pub rounds: u32,
    /// The precision that the rates must reach before a point ends.
    pub until: Option<Until>,
    /// The time after which no further round begins.
    pub max_time: Option<Duration>,
    /// The longest time of the rounds; see [`fit`](crate::fit).
    pub within: Option<Duration>,
    /// The time for which all work is done unmeasured first.
    pub warmup: Option<Duration>,
    /// The most memory of the whole run; see [`limit_memory`](crate::limit_memory).
    pub memory: Option<ByteSize>,
    /// The targets that are compared.
    pub targets: Vec<PlannedTarget>,
    /// The points of the sweep.
    pub points: Vec<PlannedPoint>,
    /// The workload in words, by the names of its options.
    pub workload: BTreeMap<String, String>,
    /// Notes for the reader, in sentences.
    pub notes: Vec<String>,
    /// The form in which the scenario is run.
    pub form: ArticleForm,
    /// The options that make the workload another than the scenario's; see [`Scenario::with_workload`].
    pub changed: Vec<String>,
    /// The work of the article that this form leaves out or does in another way; see [`Scenario::cut`].
    pub cut: Option<String>,
    /// The checks that this form of the scenario makes fire, where it lists them.
    pub checks: Option<Vec<String>>,
    /// The article that the scenario repeats.
    pub article: Option<ArticleSpec>,
    /// The slice whose rounds are carried out here; `None` for all rounds.
    pub slice: Option<Slice>,
    /// The traces that are replayed, each once.
    pub traces: Vec<TraceSource>,
}

impl Plan {
    /// Resolves a scenario. `typed` says whether its targets were typed by the person who runs it.
    pub fn new(scenario: &Scenario, typed: bool, catalog: &Catalog) -> Result<Self> {
        let workloads = scenario.workloads();
        // Settings of the whole run are the same in all of them.
        let spec = &workloads[0].1;
        let seed = spec.seed.unwrap_or(1);
        let targets = plan_targets(&scenario.targets, typed, catalog)?;
        let rounds = spec.rounds.map_or(DEFAULT_ROUNDS, |rounds| rounds.0);
        if rounds > MAX_ROUNDS {
            return Err(usage(format!("--rounds {rounds}: at most {MAX_ROUNDS}")));
        }
        for (_, spec) in &workloads {
            spans_last(spec)?;
            keys_say_how_much(spec)?;
        }
        // On a server that Larder did not start, the run's keys have a prefix that no other client uses.
        let shared = targets.iter().any(PlannedTarget::is_external);
        let prefix =
            if shared { format!("larder:{:08x}:", rand::random::<u32>()) } else { "k".to_owned() };
        let has_guest = targets.iter().any(PlannedTarget::is_guest);
        let common = Common { prefix: &prefix, has_guest, hit_limit: scenario.hit_limit, seed };
        let mut parts = Vec::new();
        for (name, spec) in &workloads {
            let mut part = PlannedPart::new(*name, spec, &common)?;
            // Targets that were typed are measured on every part.
            if !typed {
                let names = targets.iter().map(|target| &target.name);
                let left_out = scenario.left_out(*name, names);
                if left_out.len() == targets.len() {
                    let (scenario, name) = (&scenario.name, name.unwrap_or_default());
                    return Err(usage(format!(
                        "scenario `{scenario}`: no target of this form measures part `{name}`"
                    )));
                }
                part.leave_out(&left_out);
            }
            parts.push(part);
        }
        let words = PlannedPart::words(&parts, scenario);
        let mut notes: Vec<String> = Vec::new();
        notes.extend(spec.memory.map(|limit| {
            format!(
                "client, servers and guests had {limit} of memory together, including their files in the page cache \
                 and in memory file systems, and no swap beyond it"
            )
        }));
        for note in parts.iter().flat_map(|part| &part.notes) {
            if !notes.contains(note) {
                notes.push(note.clone());
            }
        }
        let points: Vec<PlannedPoint> = parts.into_iter().flat_map(|part| part.points).collect();
        let targets = with_capacities(targets, &points, scenario.sizes, catalog)?;
        let mut traces = Vec::new();
        for (_, spec) in &workloads {
            if let Some(KeyPattern::Trace(trace)) = &spec.key_pattern
                && !traces.contains(trace)
            {
                traces.push(trace.clone());
            }
        }
        let mut plan = Self {
            scenario: scenario.name.clone(),
            summary: scenario.summary.clone(),
            seed,
            rounds,
            until: spec.until,
            max_time: spec.max_time.map(|Span(time)| time).or(spec.until.map(|_| DEFAULT_MAX_TIME)),
            within: spec.within.map(|Span(within)| within),
            warmup: spec.warmup.map(|Span(warmup)| warmup),
            memory: spec.memory,
            targets,
            points,
            workload: words,
            notes,
            form: scenario.form,
            changed: scenario.changed.clone(),
            cut: scenario.cut.clone(),
            checks: scenario.checks.clone(),
            article: scenario.article.clone(),
            slice: None,
            traces,
        };
        plan.note_mixes();
        plan.note_order();
        plan.check_processes()?;
        plan.note_repetition();
        Ok(plan)
    }

    /// The number of keys, where all points have the same.
    pub(crate) fn keys(&self) -> Option<u32> {
        let mut counts = self.points.iter().map(|point| point.keys.count());
        let first = counts.next()?;
        counts.all(|count| count == first).then_some(first)
    }

    /// The most rounds that a point may have.
    pub fn most_rounds(&self) -> u32 {
        if self.until.is_some() { MAX_ROUNDS } else { self.rounds }
    }

    /// The number of turns that are carried out: rounds × points × targets, without the points that a part leaves out;
    /// with `until`, the least.
    pub fn turns(&self) -> u64 {
        let of = |target| self.points_of(target).count() as u64;
        u64::from(self.own_rounds()) * self.targets.iter().map(of).sum::<u64>()
    }

    /// The points that are measured on a target.
    pub fn points_of(&self, target: &PlannedTarget) -> impl Iterator<Item = &PlannedPoint> {
        self.points.iter().filter(|point| point.is_for(target))
    }

    /// Refuses processes without a guest, and guests with more processes than keys to write. Notes where guests have more or fewer processes than
    /// other targets have threads.
    fn check_processes(&mut self) -> Result<()> {
        let n_guests = self.targets.iter().filter(|target| target.is_guest()).count();
        if n_guests == 0 {
            let processes = self.points.iter().find_map(|point| point.processes);
            return processes.map_or(Ok(()), |processes| {
                Err(usage(format!(
                    "--processes {processes}: they are a guest's, such as those of perl+memcached:, and no target is one; \
                     leave the option out, or take --threads {processes}"
                )))
            });
        }
        self.points.iter().try_for_each(PlannedPoint::one_process_a_key)?;
        let differs = |point: &&PlannedPoint| point.guest_processes() != point.threads;
        if n_guests < self.targets.len()
            && let Some(point) = self.points.iter().find(differs)
        {
            self.notes.push(format!(
                "guests work with {} at every point, and are not compared with targets of another number of threads",
                count(point.guest_processes(), "process")
            ));
        }
        Ok(())
    }

    /// Notes that guests repeat their operations where time ends a phase.
    fn note_repetition(&mut self) {
        let ends_by_time = |phase: &PlannedPhase| {
            phase.measured && phase.requests.is_none() && phase.time_limit.is_some()
        };
        let has_guest = self.targets.iter().any(PlannedTarget::is_guest);
        if has_guest && self.points.iter().flat_map(|point| &point.phases).any(ends_by_time) {
            self.notes.push(
                "with --duration a guest repeats one list of operations, while other targets draw new ones: where \
                 reads miss or fill, or some keys are more frequent, --requests compares like with like"
                    .into(),
            );
        }
    }

    /// Notes that a trace does not keep its order where requests overtake each other, if its hits depend on it.
    fn note_order(&mut self) {
        let loses_order = |target: &PlannedTarget, point: &PlannedPoint| {
            let mut limits = point.phases.iter().filter_map(|phase| phase.hit_limit);
            point.at_once_on(target) > 1 && limits.any(|limit| limit.of(false, true).is_none())
        };
        let mut targets = self.targets.iter();
        if targets.any(|target| self.points_of(target).any(|point| loses_order(target, point))) {
            self.notes.push(
                "with several requests at once, those of one key may overtake each other: reads find what a delete or a TTL \
                 had ended in the trace, or what it stored later, so the result has no limit of hits; one thread and one \
                 connection keep the order"
                    .into(),
            );
        }
    }

    fn note_mixes(&mut self) {
        let mixed = |phase: &PlannedPhase| phase.measured && phase.operations.len() > 1;
        // In an open loop, the rate of each operation is over the whole time.
        let closed = self.points.iter().filter(|point| !point.is_paced());
        if closed.flat_map(|point| &point.phases).any(mixed) {
            let note = "in a mix, each operation's rate is over the time spent in that operation";
            self.notes.push(note.into());
        }
    }
}

/// The seed of every draw of a phase: the same for every target of a round, another in the next round.
pub(crate) fn phase_seed(seed: u64, round: u32, number: usize) -> u64 {
    seed ^ u64::from(round).rotate_left(32) ^ (number as u64).rotate_left(48)
}

/// Refuses times of zero.
fn spans_last(spec: &WorkloadSpec) -> Result<()> {
    let spans = [
        ("duration", spec.duration),
        ("load-time", spec.load_time),
        ("max-time", spec.max_time),
        ("ttl", spec.ttl),
        ("warmup", spec.warmup),
        ("within", spec.within),
    ];
    for (name, span) in spans {
        if span.is_some_and(|Span(span)| span.is_zero()) {
            return Err(usage(format!("--{name} 0s: give it a time, or leave it out")));
        }
    }
    Ok(())
}

/// Refuses a time for the rounds (`--within`) where fewer keys would not make the rounds shorter.
fn keys_say_how_much(spec: &WorkloadSpec) -> Result<()> {
    let Some(within) = spec.within else { return Ok(()) };
    let others = [
        ("requests", spec.requests.is_some()),
        ("duration", spec.duration.is_some()),
        ("until", spec.until.is_some()),
        ("rate", spec.rate.is_some()),
        ("scan", spec.scan.is_some()),
        ("search", spec.search.is_some()),
        ("replay", spec.replay.is_some_and(|replay| replay.speed().is_some())),
        ("capacity", spec.capacity.is_some()),
    ];
    match others.into_iter().find(|(_, is_given)| *is_given) {
        Some((name, _)) => Err(usage(format!(
            "--within {within} takes fewer keys, and --{name} says how much is measured: leave out one of them"
        ))),
        None => Ok(()),
    }
}

/// Refuses more keys than the run itself has memory to keep track of, before it takes that memory.
fn keys_fit(keys: u32) -> Result<()> {
    let needed = u64::from(keys) * BYTES_A_KEY;
    match available_memory() {
        Some(free) if needed > free / 2 => Err(usage(format!(
            "--keys {keys}: keeping track of them takes {} of memory, {} are free; use fewer keys",
            ByteSize(needed),
            ByteSize(free)
        ))),
        _ => Ok(()),
    }
}
