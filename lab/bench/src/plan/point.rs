//! One point of the sweep: its keys, values and phases.

use std::time::Duration;

use larder_report::figures::count;
use larder_report::{CAPACITY, Operation, Point, PointValue};
use larder_store::{ByteSize, SetOptions, Span};
use rand::SeedableRng;
use rand::seq::SliceRandom;
use rand_xoshiro::Xoshiro256PlusPlus;

use super::DEFAULT_KEY_SIZE;
use super::load::Load;
use super::pace::PlannedPace;
use super::phases::{PlannedPhase, plan_phases};
use super::readers::Readers;
use super::source::{Replayed, Source};
use super::targets::PlannedTarget;
use crate::error::{Result, usage};
use crate::measure::{KeySource, Recording, Work};
use crate::scenario::size_coordinate;
use larder_workload::{
    Bound, Capacity, Distribution, KeyPattern, KeySpace, Lengths, Picker, SizeSpec, Sizes, Values,
    WorkloadSpec,
};

/// The largest value that a plan takes.
pub(crate) const MAX_VALUE: usize = 1 << 30;
/// The longest key that a plan takes.
const MAX_KEY: usize = 64 << 10;
/// The most threads, and the most processes of a guest, that a plan takes.
const MAX_THREADS: u32 = 1024;

/// The buffers of a server for each connection, in bytes: 16 KiB for requests and 16 KiB for answers.
const CONNECTION_BUFFERS: u64 = 32 << 10;

/// One point of the sweep.
#[derive(Debug)]
pub struct PlannedPoint {
    /// Its coordinates.
    pub point: Point,
    /// The names of the targets on which the point is not measured.
    pub left_out: Vec<String>,
    /// Threads: as many as were asked for, and no more than connections.
    pub threads: u32,
    /// The connections that the threads drive; `None` where each thread has one session, and waits for its answers.
    pub load: Option<Load>,
    /// Further connections that are opened and say nothing.
    pub idle_connections: u32,
    /// Connections that come and go each second while a measured phase lasts.
    pub connect_rate: Option<u32>,
    /// Processes of a guest, which has no threads; `None` for as many as other targets have threads.
    pub processes: Option<u32>,
    /// The keys.
    pub keys: KeySpace,
    /// The values.
    pub values: Values,
    /// The phases of a turn, in order.
    pub phases: Vec<PlannedPhase>,
    /// Keys a request; 1 reads one by one.
    pub multiget: usize,
    /// Keys a request of sets; 1 stores one by one.
    pub multiset: usize,
    /// Keys of a group, where groups are read.
    pub group: Option<u32>,
    /// The options of every set.
    pub set_options: SetOptions,
    /// The capacity of a target in bytes, where one was asked for; otherwise a target has room for everything.
    pub capacity: Option<u64>,
    /// The time that it takes to load a value that a get-or-set missed.
    pub load_time: Option<Duration>,
    /// The schedule of the measured phases (an open loop). `None` in a closed loop, where each thread begins its next
    /// operation when its last one is over.
    pub(crate) pace: Option<PlannedPace>,
    /// Whether threads stay on their processors.
    pub pin: bool,
    /// The size of all values and keys, in bytes, without any store's own overhead.
    pub working_set_bytes: u64,
    /// The number of different keys that are stored.
    pub items: u64,
    picker: Picker,
    /// The number of applications. Each has keys of its own that all of its threads read. `None` where the threads share
    /// the keys.
    applications: Option<u32>,
    /// Draws groups.
    group_picker: Option<Picker>,
    replayed: Option<Replayed>,
    /// The part of each recorded TTL that an entry gets; `None` where recorded TTLs are not replayed.
    ttl_scale: Option<f64>,
    /// Every key once, shuffled; `None` where the pattern asks for order.
    order: Option<Vec<u32>>,
}

impl PlannedPoint {
    /// The source of the keys of a phase's work.
    pub fn key_source(&self, work: &Work) -> KeySource<'_> {
        let picker = match (work, &self.group_picker) {
            (Work::Grouped, Some(groups)) => groups,
            _ => &self.picker,
        };
        KeySource {
            picker,
            group: self.group.unwrap_or(1),
            recording: self.replayed.as_ref().map(|replayed| Recording {
                trace: &replayed.trace,
                starts: replayed.starts.as_deref(),
                most_keys: replayed.most_keys,
                ttl_scale: self.ttl_scale,
                has_conditions: true,
                has_counters: true,
            }),
            applications: self.applications.filter(|_| work.only_reads()),
        }
    }

    /// The source of the keys of a phase's work as models follow it, and the number of its operations. They have no clock on
    /// which entries could expire: a replay on one has a delete of each in their place.
    pub(crate) fn modelled(&self, phase: &PlannedPhase) -> (KeySource<'_>, Option<u64>) {
        let mut source = self.key_source(&phase.work);
        let modelled = self.replayed.as_ref().and_then(|replayed| replayed.modelled.as_ref());
        let Some((trace, recording)) = modelled.zip(source.recording.as_mut()) else {
            return (source, phase.requests);
        };
        (recording.trace, recording.starts) = (trace, None);
        let rounds = phase.requests.unwrap_or(0) / self.replayed_len().max(1);
        (source, Some(rounds.max(1) * trace.len() as u64))
    }

    /// The operations of the trace that is replayed.
    fn replayed_len(&self) -> u64 {
        self.replayed.as_ref().map_or(0, |replayed| replayed.trace.len() as u64)
    }

    /// Whether entries have a TTL.
    pub(crate) fn has_ttls(&self) -> bool {
        self.set_options.ttl.is_some() || self.ttl_scale.is_some()
    }

    /// Whether a trace is replayed.
    pub(crate) fn replays(&self) -> bool {
        self.replayed.is_some()
    }

    /// Whether entries have the TTLs of a recording.
    pub(crate) fn replays_ttls(&self) -> bool {
        self.ttl_scale.is_some()
    }

    /// The keys that a recording counts.
    pub(crate) fn n_counters(&self) -> u64 {
        self.replayed.as_ref().map_or(0, |replayed| replayed.trace.n_counters())
    }

    /// The TTLs of entries: that of the plan, or those of the recording on its scaled clock.
    pub(crate) fn ttls(&self) -> impl Iterator<Item = Duration> + '_ {
        let replayed = self.replayed.as_ref().zip(self.ttl_scale);
        let recorded = replayed.into_iter().flat_map(|(replayed, scale)| {
            replayed.trace.ttls().map(move |ttl| Duration::from_secs(ttl.into()).mul_f64(scale))
        });
        self.set_options.ttl.into_iter().chain(recorded)
    }

    /// The requests that may be under way at once.
    pub(crate) fn at_once(&self) -> u32 {
        self.load.map_or(self.threads, |load| load.connections.saturating_mul(load.pipeline))
    }

    /// The requests that may be under way at once on a target.
    pub(crate) fn at_once_on(&self, target: &PlannedTarget) -> u32 {
        if target.is_guest() { self.guest_processes() } else { self.at_once() }
    }

    /// Whether the point is measured on a target; a target with a capacity must have the point's.
    pub fn is_for(&self, target: &PlannedTarget) -> bool {
        let is_asked = target.unbounded.is_some() || target.capacity == self.capacity;
        is_asked && !self.leaves_out(target)
    }

    /// Whether the point leaves out a target, whatever its capacity.
    pub(crate) fn leaves_out(&self, target: &PlannedTarget) -> bool {
        self.left_out.contains(&target.name)
    }

    /// The coordinates of the point without its capacity.
    pub(crate) fn without_capacity(&self) -> Point {
        let mut point = self.point.clone();
        point.remove(CAPACITY);
        point
    }

    /// The number of sessions that share the work: one a connection where threads drive connections, else one a thread.
    pub fn sessions(&self) -> u32 {
        self.load.map_or(self.threads, |load| load.connections)
    }

    /// The most connections to a server at once: those that work, those that say nothing, and those of a second that come
    /// and go.
    pub(crate) fn connections(&self) -> u32 {
        let come_and_go = self.connect_rate.unwrap_or(0);
        self.sessions().saturating_add(self.idle_connections).saturating_add(come_and_go)
    }

    /// Whether the point asks for connections in another number than one a thread, or for a pipeline.
    pub(crate) fn loads_connections(&self) -> bool {
        self.load.is_some() || self.idle_connections > 0 || self.connect_rate.is_some()
    }

    /// The number of processes of a guest that share the work.
    pub fn guest_processes(&self) -> u32 {
        self.processes.unwrap_or(self.threads)
    }

    /// Refuses more processes of a guest than [`one_writer_a_key`] lets write.
    pub(super) fn one_process_a_key(&self) -> Result<()> {
        one_writer_a_key(&self.phases, self.keys.count(), "processes", self.guest_processes())
    }

    /// The bound within which the highest rate of each target is searched for; `None` without a search.
    pub(crate) fn search(&self) -> Option<Bound> {
        self.pace.as_ref()?.search()
    }

    /// Whether the rounds themselves follow a schedule (an open loop).
    pub(crate) fn is_paced(&self) -> bool {
        self.pace.is_some() && self.search().is_none()
    }

    /// Every key once, in the order of the phases that visit every key; `None` is by index.
    pub fn order(&self) -> Option<&[u32]> {
        self.order.as_deref()
    }

    /// The operations that have cells, in the order of the phases.
    pub fn measured_operations(&self) -> Vec<Operation> {
        let measured = self.phases.iter().filter(|phase| phase.measured);
        let mut operations = Vec::new();
        for operation in measured.flat_map(|phase| &phase.operations) {
            if !operations.contains(operation) {
                operations.push(*operation);
            }
        }
        operations
    }

    /// Whether any phase asks for this operation.
    pub fn has(&self, operation: Operation) -> bool {
        self.phases.iter().any(|phase| phase.operations.contains(&operation))
    }

    /// The bound that a store must be given so that it holds all keys and values with its own overhead, in bytes.
    ///
    /// Twice the working set, for three reasons. A slab allocator wastes up to a class step, B-trees are half full
    /// after random inserts, and copy-on-write keeps old pages for a while. Then 200 bytes an item for headers and
    /// index, and 64 MiB for memory that is allocated in pages of a megabyte and more. Last, the buffers of connections:
    /// Redis counts them, and refuses writes or evicts entries for them.
    pub fn room_bytes(&self) -> u64 {
        let recorded = self.replayed.as_ref().map_or(1, |replayed| replayed.most_keys);
        let keys_a_request = self.multiget.max(self.multiset).max(recorded) as u64;
        let answers = u64::from(self.at_once()) * keys_a_request * self.values.longest() as u64;
        let buffers = u64::from(self.connections()) * CONNECTION_BUFFERS + answers;
        let buffers = if self.loads_connections() { buffers } else { 0 };
        2 * self.working_set_bytes + 200 * self.items + (64 << 20) + buffers
    }
}

/// The part of each recorded TTL that an entry gets: TTLs are on the clock on which a trace is replayed. As fast as a
/// target answers, there is no such clock.
fn ttl_scale(spec: &WorkloadSpec, source: &Source, pace: Option<&PlannedPace>) -> Option<f64> {
    let speed = pace?.speed()?;
    let has_ttls = source.stores() && source.trace()?.ttls().next().is_some();
    (has_ttls && spec.ttl.is_none()).then_some(1.0 / speed)
}

/// Where in the sweep a point lies.
pub(super) struct Coordinates<'a> {
    pub(super) data_size: &'a SizeSpec,
    pub(super) key_size: &'a SizeSpec,
    pub(super) keys: u32,
    pub(super) threads: u32,
    pub(super) connections: Option<u32>,
    pub(super) pipeline: Option<u32>,
    pub(super) rate: Option<u32>,
    pub(super) capacity: Option<Capacity>,
}

pub(super) fn plan_point(
    spec: &WorkloadSpec,
    source: &Source,
    at: &Coordinates<'_>,
    prefix: &str,
    seed: u64,
) -> Result<PlannedPoint> {
    let processes = spec.processes.map_or(1, |processes| processes.0);
    for (name, number) in [("threads", at.threads), ("processes", processes)] {
        if number > MAX_THREADS {
            return Err(usage(format!("--{name} {number}: at most {MAX_THREADS}")));
        }
    }
    let load = Load::of(spec, at.connections, at.pipeline, at.threads)?;
    let (sessions, n_sessions) = match load {
        Some(load) => ("connections", load.connections),
        None => ("threads", at.threads),
    };
    let readers = Readers::of(spec, source, at.threads)?;
    let asked_at = at;
    let at = &Coordinates {
        keys: readers.map_or(Ok(at.keys), |readers| readers.all_keys(at.keys))?,
        ..*at
    };
    let keys = plan_keys(spec, source, at, prefix, seed)?;
    let values = plan_values(spec, source, at, seed)?;
    // A trace needs no draws; its picker is never asked.
    let distribution = match &source.pattern {
        KeyPattern::Drawn(distribution) => distribution.clone(),
        KeyPattern::Trace(_) => Distribution::Uniform,
    };
    let in_order = matches!(source.pattern, KeyPattern::Drawn(Distribution::Sequential));
    let phases = plan_phases(spec, source, at.keys, readers)?;
    requests_fit(spec, source, at.keys, sessions, n_sessions, &phases)?;
    one_writer_a_key(&phases, at.keys, sessions, n_sessions)?;
    load.map_or(Ok(()), |load| load.has_work(spec, &phases))?;
    one_kind_to_search(spec, &phases)?;
    let pace =
        PlannedPace::of(spec, at.rate, source.replayed.as_ref().map(|replayed| &*replayed.trace))?;
    let ttl_scale = ttl_scale(spec, source, pace.as_ref());
    let stored = source.stored_keys(at.keys);
    let size = |key: u32| (keys.len_of(key) + values.largest_of(key)) as u64;
    let working_set_bytes = stored.clone().map(size).sum();
    let capacity = at.capacity.map(|capacity| capacity.bytes_of(working_set_bytes));
    let mut point = coordinates(source, asked_at, &keys, &values);
    point.extend(capacity.map(|bytes| (CAPACITY.into(), PointValue::Number(bytes))));
    Ok(PlannedPoint {
        left_out: Vec::new(),
        point,
        capacity,
        applications: readers.map(Readers::applications),
        threads: load.map_or(at.threads, |load| at.threads.min(load.connections)),
        load,
        idle_connections: spec.idle_connections.map_or(0, |idle| idle.0),
        connect_rate: spec.connect_rate.map(|rate| rate.0),
        processes: spec.processes.map(|processes| processes.0),
        working_set_bytes,
        items: stored.count() as u64,
        multiget: spec.group.or(spec.multiget).map_or(1, |keys| keys.0 as usize),
        multiset: spec.multiset.map_or(1, |keys| keys.0 as usize),
        group: spec.group.map(|size| size.0),
        group_picker: spec
            .group
            .map(|size| Picker::new(distribution.clone(), at.keys / size.0, seed)),
        set_options: SetOptions { ttl: spec.ttl.map(|Span(ttl)| ttl), ..SetOptions::default() },
        load_time: spec.load_time.map(|Span(time)| time),
        pace,
        pin: spec.pin.unwrap_or(false),
        phases,
        picker: Picker::new(distribution, at.keys, seed),
        replayed: source.replayed.clone(),
        ttl_scale,
        order: (!in_order).then(|| shuffled(at.keys, seed)),
        keys,
        values,
    })
}

/// The coordinates by which reports tell this point from others. The number of keys is a coordinate only where it is
/// swept, because parts of a scenario differ in it without being compared by it.
fn coordinates(source: &Source, at: &Coordinates<'_>, keys: &KeySpace, values: &Values) -> Point {
    let data_size = if values.are_recorded() { recorded() } else { size_coordinate(at.data_size) };
    let key_size = if keys.are_recorded() { recorded() } else { size_coordinate(at.key_size) };
    let threads = PointValue::Number(at.threads.into());
    let mut point = Point::from([
        ("data_size".into(), data_size),
        ("key_size".into(), key_size),
        ("threads".into(), threads),
    ]);
    for (name, number) in
        [("connections", at.connections), ("pipeline", at.pipeline), ("rate", at.rate)]
    {
        point.extend(number.map(|number| (name.into(), PointValue::Number(number.into()))));
    }
    if source.keys.len() > 1 {
        point.insert("keys".into(), PointValue::Number(at.keys.into()));
    }
    point
}

/// Refuses to search for the rate of several phases at once.
fn one_kind_to_search(spec: &WorkloadSpec, phases: &[PlannedPhase]) -> Result<()> {
    let measured = phases.iter().filter(|phase| phase.measured).count();
    match spec.search {
        Some(bound) if measured != 1 => Err(usage(format!(
            "--search {bound}: a search needs one kind of work, and the plan measures {measured} one after the \
             other; take --operations get, or --ratio 1:10"
        ))),
        _ => Ok(()),
    }
}

/// Refuses more writing threads, connections or processes than keys: a key whose versions come from two of them cannot
/// be verified.
fn one_writer_a_key(phases: &[PlannedPhase], keys: u32, name: &str, number: u32) -> Result<()> {
    if number > keys && phases.iter().any(|phase| phase.work.writes_by_pattern()) {
        return Err(usage(format!(
            "--{name} {number} with --keys {keys}: each key has one writer; give at least {number} keys"
        )));
    }
    Ok(())
}

/// Refuses requests of more keys than there are, or than a thread or connection reads: they would be smaller than the report says.
fn requests_fit(
    spec: &WorkloadSpec,
    source: &Source,
    keys: u32,
    sessions: &str,
    number: u32,
    phases: &[PlannedPhase],
) -> Result<()> {
    for (name, size, operation, verb) in [
        ("multiget", spec.multiget, Operation::GetMany, "reads"),
        ("multiset", spec.multiset, Operation::SetMany, "stores"),
    ] {
        let Some(size) = size.map(|keys| keys.0).filter(|size| *size > 1) else { continue };
        if size > keys {
            let whose = match source.replayed {
                Some(_) => "that this trace has",
                None => "of --keys",
            };
            return Err(usage(format!(
                "--{name} {size}: a request has at most the {keys} keys {whose}; use --{name} {keys} or fewer, or more \
                 keys"
            )));
        }
        let asked = phases.iter().filter(|phase| phase.operations.contains(&operation));
        let fewest = asked.filter_map(|phase| phase.requests).min().unwrap_or(u64::MAX);
        let needed = u64::from(size) * u64::from(number);
        if fewest < needed {
            let each = fewest / u64::from(number);
            let more = if operation == Operation::SetMany { "--keys" } else { "--requests" };
            return Err(usage(format!(
                "--{name} {size}: each of {} {verb} {each} keys a round, fewer than a request has; use {more} {needed} \
                 or more, or a smaller --{name}",
                count(number as usize, sessions.trim_end_matches('s'))
            )));
        }
    }
    Ok(())
}

fn plan_keys(
    spec: &WorkloadSpec,
    source: &Source,
    at: &Coordinates<'_>,
    prefix: &str,
    seed: u64,
) -> Result<KeySpace> {
    let recorded = source.trace().filter(|_| spec.key_size.is_none());
    let lengths = match recorded {
        Some(trace) => Lengths::Recorded {
            by_key: (0..at.keys).map(|key| trace.key_size(key).unwrap_or(0)).collect(),
            otherwise: DEFAULT_KEY_SIZE,
        },
        None => Lengths::Drawn(at.key_size.clone()),
    };
    let keys = KeySpace::new(prefix.as_bytes(), at.keys, lengths, seed);
    let (size, shortest) = (at.key_size, keys.shortest());
    if (size.largest(seed, at.keys.into()) as usize) < shortest {
        let whose = if prefix.len() > 1 { " with the run's own prefix" } else { "" };
        return Err(usage(format!(
            "--key-size {size}: {} keys{whose} need at least {shortest} bytes",
            at.keys
        )));
    }
    if keys.longest() > MAX_KEY {
        return Err(usage(format!("--key-size {size}: at most {}", ByteSize(MAX_KEY as u64))));
    }
    Ok(keys)
}

fn plan_values(
    spec: &WorkloadSpec,
    source: &Source,
    at: &Coordinates<'_>,
    seed: u64,
) -> Result<Values> {
    let recorded = source.trace().filter(|_| spec.data_size.is_none());
    let sizes = match recorded.map(|trace| (trace, trace.first_value_sizes())) {
        Some((trace, by_key)) if by_key.iter().any(Option::is_some) => Sizes::Recorded {
            by_key: by_key.into_iter().map(|size| size.unwrap_or(Sizes::UNKNOWN)).collect(),
            otherwise: at.data_size.clone(),
            largest: if source.stores() { trace.largest_of_several().into() } else { [].into() },
        },
        _ => Sizes::Drawn(at.data_size.clone()),
    };
    let counting = source.trace().filter(|trace| trace.n_counters() > 0);
    let longest = sizes.longest(at.keys, seed);
    if longest > MAX_VALUE {
        let limit = ByteSize(MAX_VALUE as u64);
        return Err(usage(format!("--data-size {}: at most {limit}", at.data_size)));
    }
    let values = if let Some(payload) = &source.payload {
        Values::payload(sizes, longest, payload, seed)
    } else {
        let share = spec.compressibility.map_or(0.0, |share| share.0);
        Values::random(sizes, longest, share, seed)
    };
    Ok(match counting {
        Some(trace) => values.with_counters(trace),
        None => values,
    })
}

/// Sizes as a trace has them.
fn recorded() -> PointValue {
    PointValue::Text("recorded".into())
}

/// Every number below `n` once (Fisher and Yates).
fn shuffled(n: u32, seed: u64) -> Vec<u32> {
    let mut order: Vec<u32> = (0..n).collect();
    order.shuffle(&mut Xoshiro256PlusPlus::seed_from_u64(seed));
    order
}
