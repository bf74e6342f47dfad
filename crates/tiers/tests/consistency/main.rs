//! Processes of two hosts read and write the same keys, while processes are killed, the lowest tier stops, goes away and
//! comes back, and connections of the channel are cut. No read is older than the last acknowledged write plus the bound of
//! docs/tiers.md.
//!
//! Each run takes some seconds; `LARDER_CONSISTENCY=3600` makes each as long as that.

#![expect(clippy::unwrap_used, reason = "a test without what it needs has failed")]

mod history;
mod worker;

use std::fs;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::PathBuf;
use std::process::{Command, ExitCode};
use std::sync::Arc;
use std::thread::sleep;
use std::time::{Duration, Instant};

use history::{Event, Fault, faults};
use larder_engines::ENGINES;
use larder_host::scratch::ScratchDir;
use larder_store::{Store, StoreUrl};
use larder_testkit::{MEMCACHED, Memcached, Random, has_program, trial_where};
use libtest_mimic::{Arguments, Trial};
use worker::Worker;

const HOSTS: usize = 2;
const PER_HOST: usize = 2;

/// The time of a run.
const SECONDS: u64 = 8;

/// What the machine may add to a bound: processes that wait for a processor.
const SLACK: Duration = Duration::from_secs(4);

fn main() -> ExitCode {
    larder_host::relay::serve_if_asked();
    if let Some(code) = worker::work_if_asked() {
        return code;
    }
    let memcached = || has_program(&MEMCACHED);
    let redis = || has_program(&ENGINES.find("redis").unwrap().recipes[0]);
    let trials = vec![
        Trial::test("the_check_finds_what_breaks_the_promise", || {
            history::the_check_finds_what_breaks_the_promise();
            Ok(())
        }),
        trial_where(memcached, "without_a_channel_l1_ttl_is_the_bound", without_a_channel),
        trial_where(memcached, "a_bound_that_is_not_kept_is_found", without_a_bound),
        trial_where(redis, "with_messages_a_cut_of_the_channel_is_in_the_bound", with_messages),
        trial_where(redis, "with_tracking_a_killed_process_is_in_the_bound", with_tracking),
    ];
    libtest_mimic::run(&Arguments::from_args(), trials).exit_code()
}

fn seconds() -> Duration {
    let asked = std::env::var("LARDER_CONSISTENCY").ok().map(|text| text.parse().unwrap());
    Duration::from_secs(asked.unwrap_or(SECONDS))
}

/// A disturbance. It gets the number of the step and a source of randomness.
type Disturb<'a> = dyn FnMut(&mut Crew, &mut Random) + 'a;

/// The processes of all hosts, and their histories.
struct Crew {
    folder: ScratchDir,
    /// Below L1: the lowest tier and the options of the stack.
    below: String,
    workers: Vec<Worker>,
    histories: Vec<PathBuf>,
}

impl Crew {
    fn start(below: String) -> Self {
        let folder = ScratchDir::create("consistency").unwrap();
        let mut crew = Self { folder, below, workers: Vec::new(), histories: Vec::new() };
        for number in 0..HOSTS * PER_HOST {
            let worker = crew.worker(number % HOSTS);
            crew.workers.push(worker);
        }
        crew
    }

    fn worker(&mut self, host: usize) -> Worker {
        let path = |name: String| self.folder.path().join(name);
        let history = path(format!("history-{}", self.histories.len()));
        let l1 = path(format!("l1-{host}"));
        let url = format!("tiered:mmap:{}?size=1m|{}", l1.display(), self.below);
        let worker = Worker::start(&url, &history);
        self.histories.push(history);
        worker
    }

    /// Kills one process, and starts another of its host.
    fn kill_one(&mut self, draw: &mut Random) {
        let number = draw.below(self.workers.len());
        self.workers[number] = self.worker(number % HOSTS);
    }

    /// What all processes have written down.
    fn events(&self) -> Vec<Event> {
        let lines = |path: &PathBuf| {
            let text = fs::read_to_string(path).unwrap_or_default();
            text.lines().filter_map(Event::parse).collect::<Vec<_>>()
        };
        self.histories.iter().flat_map(lines).collect()
    }
}

/// Lets the processes work, with a disturbance every now and then, and returns their history.
fn run(below: String, disturb: &mut Disturb<'_>) -> Vec<Event> {
    let mut crew = Crew::start(below);
    let (begun, mut draw) = (Instant::now(), Random::new(std::process::id().into()));
    while begun.elapsed() < seconds() {
        sleep(Duration::from_millis(300) + drawn(&mut draw, 700));
        disturb(&mut crew, &mut draw);
    }
    let have_ended = crew.workers.iter_mut().filter_map(|worker| (!worker.works()).then_some(()));
    assert_eq!(have_ended.count(), 0, "a process has failed");
    crew.workers.clear();
    let events = crew.events();
    let reads = events.iter().filter(|event| matches!(event, Event::Read { .. })).count();
    let done = |event: &&Event| matches!(event, Event::Ended { is_done: true, .. });
    let writes = events.iter().filter(done).count();
    assert!(reads > 1000 && writes > 100, "only {reads} reads and {writes} writes");
    events
}

fn judge(events: &[Event], bound: Duration) {
    let found = faults(events, nanos(bound + SLACK));
    let shown: Vec<&Fault> = found.iter().take(5).collect();
    assert!(found.is_empty(), "{} faults of {} events: {shown:?}", found.len(), events.len());
}

/// A time below so many milliseconds.
fn drawn(draw: &mut Random, millis: u64) -> Duration {
    Duration::from_millis(draw.next_u64() % millis)
}

fn nanos(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap()
}

fn signal(pid: u32, name: &str) {
    let sent = Command::new("kill").args([format!("-{name}"), pid.to_string()]).status();
    assert!(sent.unwrap().success());
}

/// Over a memcached that stops for a while, and that is killed and started anew.
fn memcached_run(options: &str) -> Vec<Event> {
    let mut server = Some(Memcached::start());
    let port = server.as_ref().unwrap().port;
    let below = format!("memcached://127.0.0.1:{port}?timeout=500ms|?{options}");
    run(below, &mut |crew, draw| match draw.below(4) {
        0 => {
            let pid = server.as_ref().unwrap().pid();
            signal(pid, "STOP");
            sleep(drawn(draw, 1500));
            signal(pid, "CONT");
        }
        1 => {
            drop(server.take());
            sleep(drawn(draw, 500));
            server = Some(Memcached::start_on(&port.to_string()));
        }
        _ => crew.kill_one(draw),
    })
}

fn without_a_channel() {
    let bound = Duration::from_millis(500);
    judge(&memcached_run("l1_ttl=500ms"), bound);
}

/// The same work with a longer time in L1 breaks the bound, and the check finds it: the processes of one host do not see
/// what the other writes.
fn without_a_bound() {
    let events = memcached_run("l1_ttl=1h");
    let found = faults(&events, nanos(Duration::from_millis(500)));
    assert!(found.iter().any(|fault| matches!(fault, Fault::TooOld { .. })), "no read is too old");
    assert!(!found.iter().any(|fault| matches!(fault, Fault::Invented { .. })), "{found:?}");
}

fn open(url: &str) -> Arc<dyn Store> {
    ENGINES.open(&StoreUrl::parse(url).unwrap()).unwrap()
}

/// Cuts the connections of all subscribers.
fn cut(redis: &str) {
    let mut client = TcpStream::connect(redis).unwrap();
    client.write_all(b"CLIENT KILL TYPE pubsub\r\n").unwrap();
    let mut answer = [0; 64];
    let len = client.read(&mut answer).unwrap();
    assert!(answer[..len].starts_with(b":"), "{answer:?}");
}

fn with_messages() {
    let (redis, server) = (open("redis:"), Memcached::start());
    let at = redis.info().settings["nodes"].clone();
    let below = format!("memcached://{}|?l1_ttl=1h&channel=redis://{at}", server.address());
    // No process is killed: what it had acknowledged and not yet published would be in the bound of an hour.
    let events = run(below, &mut |_, _| cut(&at));
    judge(&events, Duration::from_secs(2));
}

fn with_tracking() {
    let redis = open("redis:");
    let at = redis.info().settings["nodes"].clone();
    let below = format!("redis://{at}|?l1_ttl=1h&channel=tracking");
    let events = run(below, &mut |crew, draw| match draw.below(3) {
        0 => cut(&at),
        _ => crew.kill_one(draw),
    });
    judge(&events, Duration::from_secs(2));
}
