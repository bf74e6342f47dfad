//! A guest's program, spoken to as `docs/guests.md` describes: for the suite that tests each language's program.
//!
//! A comparison's own code starts the programs and writes the plans.

use std::collections::{BTreeMap, HashSet};
use std::io::{self, Read};
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::sync::Arc;
use std::thread::{self, JoinHandle};
use std::time::Duration;

use larder_report::Operation;
use larder_store::{Catalog, Error, Result, Store, StoreUrl};
use larder_workload::{Access, Composer, HEADER_LEN, KeySpace, Lengths, Sizes, Values};
use serde_json::{Value as Json, json};

use super::files::{self, Terms};
use super::judge::{Judge, Record, Sources};
use super::process::{GOES_ON, GuestProcess, fault};
use super::records;
pub use super::script::Step;
use super::script::{Act, Script};
use super::store::{Demand, GuestStore};
use super::{Keeps, find};
use crate::measure::Tally;

/// The seed of the values of a plan by hand.
const SEED: u64 = 0xc0ff_ee07;

/// A program of a guest, and the servers that it speaks to.
#[derive(Debug)]
pub struct Program {
    // Dropped first, because the program works in the folders of the store.
    process: GuestProcess,
    store: GuestStore,
    replays: bool,
    loaded: Option<Loaded>,
    receiver: Option<Receiver>,
}

/// The plan that a program has loaded.
#[derive(Debug)]
struct Loaded {
    folder: PathBuf,
    plan: Arc<(Script, KeySpace, Values)>,
    /// The keys with a change that was not acknowledged.
    uncertain: HashSet<u32>,
    /// The counts of each process, counted from 0, in each phase that is over.
    counts: BTreeMap<(usize, usize), Json>,
}

/// Receives the records of a phase while it goes on.
#[derive(Debug)]
struct Receiver {
    phase: usize,
    /// The phase is over when this is closed.
    phase_is_on: UnixStream,
    thread: JoinHandle<io::Result<Vec<std::result::Result<Record, String>>>>,
}

impl Program {
    /// Starts the program that a URL names, and the servers that it needs.
    ///
    /// # Errors
    /// A requirement is missing, the program cannot be started, or its greeting breaks the protocol.
    pub fn start(url: &str, catalog: &Catalog) -> Result<Self> {
        let url = StoreUrl::parse(url)?;
        let cache = find(url.scheme()).ok_or_else(|| Error::InvalidUrl {
            url: url.to_string(),
            reason: "no guest has this scheme".into(),
        })?;
        let store = GuestStore::open(cache, &url, catalog, Demand::default())?;
        let (process, _) = store.shared().start()?;
        let replays = cache.keeps == Keeps::Nothing;
        Ok(Self { process, store, replays, loaded: None, receiver: None })
    }

    /// Its process id.
    pub fn pid(&self) -> u32 {
        self.process.pid()
    }

    /// The process ids of the servers that were started for it.
    pub fn server_pids(&self) -> Vec<u32> {
        self.store.info().server_pids
    }

    /// Writes a command, and the bytes that follow its line.
    ///
    /// # Errors
    /// The program has ended or reads no more.
    pub fn tell(&mut self, command: &str, parts: &[&[u8]]) -> Result<()> {
        if let Some(phase) = command.strip_prefix("run ").and_then(|phase| phase.parse().ok()) {
            let received = self.receive(phase);
            self.receiver = received.map_err(|error| self.failed(error.to_string()))?;
        }
        let line = format!("{command}\n");
        let parts: Vec<&[u8]> =
            std::iter::once(line.as_bytes()).chain(parts.iter().copied()).collect();
        self.process.tell(&parts, &GOES_ON).map(drop)
    }

    /// The next line that it answers.
    ///
    /// # Errors
    /// The program has ended, is silent for too long, or its line is not JSON.
    pub fn answer(&mut self) -> Result<Json> {
        let answer = self.process.answer(&GOES_ON)?;
        Ok(answer.expect("no caller asks it to stop"))
    }

    /// The answer to a command, without the signs of life before it.
    ///
    /// # Errors
    /// As [`tell`](Self::tell) and [`answer`](Self::answer).
    pub fn ask(&mut self, command: &str, parts: &[&[u8]]) -> Result<Json> {
        self.tell(command, parts)?;
        loop {
            let answer = self.answer()?;
            if answer.get("alive").is_none() {
                self.keep_records().map_err(|error| self.failed(error.to_string()))?;
                return Ok(answer);
            }
        }
    }

    fn failed(&self, what: String) -> Error {
        fault(self.process.engine(), what)
    }

    /// Begins to receive the records of a phase of the loaded plan; `None` without such a phase.
    fn receive(&self, phase: usize) -> io::Result<Option<Receiver>> {
        let Some(loaded) = &self.loaded else { return Ok(None) };
        let Some(act) = loaded.plan.0.phases.get(phase) else { return Ok(None) };
        let processes = 0..act.shares.len();
        let (phase_is_on, mut ends) = UnixStream::pair()?;
        let (plan, folder) = (Arc::clone(&loaded.plan), loaded.folder.clone());
        let (uncertain, replays) = (loaded.uncertain.clone(), self.replays);
        let thread = thread::spawn(move || {
            let (script, keys, values) = &*plan;
            let sources = Sources { script, keys, values, base: 0, replays };
            let judges = processes.map(|of| Judge::new(sources, phase, of, &uncertain)).collect();
            let work = || drop(ends.read(&mut [0]));
            records::receive(&folder, judges, work).map(|((), records)| records)
        });
        Ok(Some(Receiver { phase, phase_is_on, thread }))
    }

    /// Waits for the records of a phase that is over, and keeps their counts.
    fn keep_records(&mut self) -> io::Result<()> {
        let (Some(receiver), Some(loaded)) = (self.receiver.take(), &mut self.loaded) else {
            return Ok(());
        };
        let Receiver { phase, phase_is_on, thread } = receiver;
        drop(phase_is_on);
        let records = thread.join().expect("it does not panic")?;
        for (process, record) in records.into_iter().enumerate() {
            // A phase that was given up has no whole record.
            let Ok(record) = record else { continue };
            loaded.counts.insert((phase, process), counts_of(&record));
            loaded.uncertain.extend(record.uncertain);
        }
        Ok(())
    }

    /// The counts of a process in a phase of the loaded plan, both counted from 0; `None` where the phase is not over.
    pub fn counts(&self, phase: usize, process: usize) -> Option<&Json> {
        self.loaded.as_ref()?.counts.get(&(phase, process))
    }

    /// The value under a key; `None` for an absent key.
    ///
    /// # Errors
    /// As [`ask`](Self::ask); and when the cache has failed.
    pub fn get(&mut self, key: &[u8]) -> Result<Option<Vec<u8>>> {
        let answer = self.ask(&format!("get {}", key.len()), &[key])?;
        let found =
            answer.get("found").ok_or_else(|| fault(self.process.engine(), answer.to_string()))?;
        let Some(len) = found.as_u64() else { return Ok(None) };
        let mut value = Vec::new();
        self.process.bytes(usize::try_from(len).unwrap_or(usize::MAX), &mut value)?;
        Ok(Some(value))
    }

    /// Writes a plan into a new folder and has the program read it.
    ///
    /// # Errors
    /// The plan cannot be written or read.
    pub fn load(&mut self, plan: &HandPlan) -> Result<()> {
        let folder = self.store.shared().new_folder("plan");
        let pool = self.store.shared().pool_file(plan.values.pool())?;
        let terms = Terms { pool: &pool, ttl: plan.ttl, replays: self.replays };
        let failed = |error: io::Error| fault(self.process.engine(), error.to_string());
        files::write(&folder, &plan.script, &plan.keys, terms).map_err(failed)?;
        let answer = self.ask(&format!("load {}", folder.display()), &[])?;
        if answer["loaded"] == true {
            let read = (plan.script.clone(), plan.keys.clone(), plan.values.clone());
            self.loaded = Some(Loaded {
                folder,
                plan: Arc::new(read),
                uncertain: HashSet::new(),
                counts: BTreeMap::new(),
            });
            Ok(())
        } else {
            Err(fault(self.process.engine(), answer.to_string()))
        }
    }

    /// Closes its standard input, as the end of Larder does; returns its exit status.
    pub fn close(self) -> String {
        self.process.close()
    }

    /// Asks it to end, and waits until it has.
    ///
    /// # Errors
    /// The program does not end, or its exit code is not 0.
    pub fn end(self) -> Result<()> {
        self.process.end()
    }
}

/// The counts of a record, in words of their own.
fn counts_of(record: &Record) -> Json {
    let of = |tally: &Tally| {
        let counts = &tally.counts;
        let latencies = tally.latency.iter_recorded();
        let latencies = latencies.map(|at| (at.value_iterated_to(), at.count_at_value()));
        let timeline = tally.timeline(Duration::from_nanos(record.wall_ns));
        json!({
            "ops": counts.ops, "hits": counts.hits, "misses": counts.misses,
            "planned_misses": counts.planned_misses, "wrong": counts.wrong,
            "truncated": counts.truncated, "stale": counts.stale, "other_key": counts.other_key,
            "damaged": counts.damaged, "errors": counts.errors,
            "failed_fills": counts.failed_fills, "succeeded": tally.succeeded,
            "bytes": tally.bytes, "busy_ns": tally.busy_ns,
            "latencies": latencies.collect::<Vec<_>>(),
            "errors_by_kind": tally.errors_by_kind, "wrong_examples": tally.wrong_examples,
            "timeline": {
                "bin_ns": timeline.bin_ns, "ops": timeline.ops, "max_ns": timeline.max_ns,
            },
        })
    };
    let operations = record.tallies.iter();
    let operations: BTreeMap<&str, Json> =
        operations.map(|(operation, tally)| (operation.as_str(), of(tally))).collect();
    let ended = &record.ended;
    json!({
        "start_ns": record.start_ns, "wall_ns": record.wall_ns,
        "cpu_user_ns": ended.cpu_user_ns, "cpu_system_ns": ended.cpu_system_ns,
        "rss_bytes": ended.rss_bytes, "connections": ended.connections,
        "failed": record.not_stored, "first_error": record.tallies.first_error(),
        "operations": operations,
    })
}

/// A plan of chosen operations, where a comparison draws them.
#[derive(Debug)]
pub struct HandPlan {
    keys: KeySpace,
    values: Values,
    script: Script,
    texts: Vec<Vec<u8>>,
    /// The TTL of the values that it stores.
    pub ttl: Option<Duration>,
}

impl HandPlan {
    /// An empty plan for this many processes, with keys of this prefix and values of up to `longest` bytes.
    pub fn new(prefix: &str, keys: u32, processes: u32, longest: usize) -> Self {
        let length = |bytes: &str| bytes.parse().expect("a number of bytes");
        Self {
            keys: KeySpace::new(prefix.as_bytes(), keys, Lengths::Drawn(length("1")), SEED),
            values: Values::random(Sizes::Drawn(length("1")), longest, 0.0, SEED),
            script: Script::new(keys, processes),
            texts: Vec::new(),
            ttl: None,
        }
    }

    /// The key with this index.
    pub fn key(&self, index: u32) -> Vec<u8> {
        let mut key = Vec::new();
        self.keys.write(index, &mut key);
        key
    }

    /// Adds a newer value of a key; returns its number.
    pub fn value(&mut self, key: u32, len: usize) -> u32 {
        let version = u32::try_from(self.texts.len()).unwrap_or(u32::MAX) + 1;
        let text = self.stranger(key, version, len);
        let header = text.first_chunk().copied().unwrap_or([0; HEADER_LEN]);
        let (at, _) = self.values.recipe_of(key, version, len);
        self.texts.push(text);
        self.script.add(key, version, at, len, header)
    }

    /// The bytes of a value by its number.
    pub fn text(&self, number: u32) -> &[u8] {
        &self.texts[number as usize - 1]
    }

    /// The bytes of a version of a key that is of this run, but not of this plan.
    pub fn stranger(&self, key: u32, version: u32, len: usize) -> Vec<u8> {
        let bytes = u32::try_from(len).unwrap_or(u32::MAX);
        Composer::new(&self.values).compose(key, version, bytes).to_vec()
    }

    /// Adds a phase; returns its number.
    pub fn phase(&mut self, phase: HandPhase) -> usize {
        let mut steps = Vec::new();
        let mut shares = Vec::new();
        for share in phase.shares {
            let begin = steps.len();
            steps.extend(share);
            shares.push(begin..steps.len());
        }
        self.script.phases.push(Act {
            measured: true,
            operations: phase.operations,
            has_unfilled: false,
            steps,
            shares,
            time_limit: phase.time_limit,
            multiget: phase.multiget,
            again: phase.time_limit.is_some(),
        });
        self.script.phases.len() - 1
    }
}

/// A phase of a plan by hand.
#[derive(Debug)]
pub struct HandPhase {
    /// The operations that have counts of their own.
    pub operations: Vec<Operation>,
    /// The operations of each process.
    pub shares: Vec<Vec<Step>>,
    /// The number of gets in a request.
    pub multiget: usize,
    /// The time for which the operations are repeated; `None`: each is done once.
    pub time_limit: Option<Duration>,
}

impl HandPhase {
    /// The operations of one process, each operation once and with a request of its own.
    pub fn new(operations: &[Operation], steps: Vec<Step>) -> Self {
        Self { operations: operations.to_vec(), shares: vec![steps], multiget: 1, time_limit: None }
    }
}

impl Step {
    /// A get that expects this value of a key or a newer one; 0 is any, [`NOTHING`](larder_workload::NOTHING) no value.
    pub fn get(key: u32, value: u32) -> Self {
        Self { kind: Access::Get, key, value, under: key }
    }

    /// A set of a value.
    pub fn set(key: u32, value: u32) -> Self {
        Self { kind: Access::Set, key, value, under: key }
    }

    /// A get that on a miss stores a value under a key.
    pub fn get_or_set(key: u32, value: u32, under: u32) -> Self {
        Self { kind: Access::GetOrSet, key, value, under }
    }

    /// A delete.
    pub fn delete(key: u32) -> Self {
        Self { kind: Access::Delete, key, value: 0, under: key }
    }
}
