//! `larder serve` over a store of files is killed with SIGKILL under load and started anew over the same files, many times.
//!
//! Writers change their keys over connections. Each writer keeps in its books the state that was last acknowledged for
//! each key, and the states that it has sent since. After each kill all keys are read. A key must have its acknowledged
//! state or one of those in flight: no value may be wrong, older, or missing.
//!
//! Half of the kills happen while a second process has the files open. Then the next server takes over the locks of the
//! dead one; otherwise it is alone, and makes them anew. Some servers are also killed while they open the files.
//!
//! The time from each start to the first right answer is printed and not judged, because it is the machine's as well.
//! `LARDER_KILLS=1000` kills this many times.

#![expect(clippy::unwrap_used, reason = "a test without what it needs has failed")]
#![expect(clippy::print_stdout, reason = "so that the figures can be read")]

mod answers;
mod client;
mod figures;
mod ledger;
mod requests;
mod server;
mod values;
mod writer;

use std::io;
use std::path::Path;
use std::process::ExitCode;
use std::sync::atomic::Ordering;
use std::thread::{self, ScopedJoinHandle};
use std::time::{Duration, Instant};

use larder_host::scratch::ScratchDir;
use larder_testkit::{PATIENCE, Random};
use libtest_mimic::{Arguments, Trial};

use client::{Client, Found};
use figures::Figures;
use ledger::{Fault, Key, State};
use server::{Place, Server};
use values::{KEYS, WRITERS, name, named};
use writer::{Shared, Writer};

/// The stores: the URL without its path, its options, and the kills of the short form. A write that is synced takes long.
const STORES: [(&str, &str, usize); 5] = [
    ("mmap", "size=64m", 15),
    ("lmdb", "sync=nosync&checkpoint=20ms&size=64m", 5),
    ("lmdb", "sync=group&size=64m", 2),
    ("lmdb", "sync=each&size=64m", 1),
    ("file", "size=64m", 2),
];

/// Before a kill there are this many answers, doubled up to this many times, and at most as many again.
const ANSWERS: u64 = 100;
const DOUBLINGS: usize = 7;

/// The keys that are read together.
const TOGETHER: usize = 40;

fn main() -> ExitCode {
    let asked = std::env::var("LARDER_KILLS").ok();
    let asked = asked.map(|text| text.parse().expect("LARDER_KILLS: a number of kills"));
    let trials = STORES.map(|(scheme, options, short)| {
        let n_kills = asked.unwrap_or(short);
        Trial::test(
            format!("a_killed_server_keeps_what_it_acknowledged::{scheme}_{options}"),
            move || {
                survive(scheme, options, n_kills);
                Ok(())
            },
        )
    });
    // One at a time: a port that is free between two servers is no other trial's.
    let arguments = Arguments { test_threads: Some(1), ..Arguments::from_args() };
    libtest_mimic::run(&arguments, larder_testkit::nightly(trials).collect()).exit_code()
}

/// Kills servers this many times, or until a fault is found, and prints what came of it.
fn survive(scheme: &str, options: &str, n_kills: usize) {
    let shared = Path::new("/dev/shm");
    let is_shared = scheme == "mmap" && shared.is_dir();
    let parent = if is_shared { shared.into() } else { std::env::temp_dir() };
    let folder = ScratchDir::create_in("kills", &parent).unwrap();
    let mut run = Run::new(Place::new(folder.path(), scheme, options));
    let mut server = run.place.start();
    drop(server.connect(run.place.port));
    while run.figures.kills < n_kills && run.figures.faults.is_empty() {
        server = run.kill_and_restart(server);
    }
    run.figures.evictions = evictions(&mut server.connect(run.place.port)).unwrap();
    println!("{scheme}:?{options}\n{}", run.figures);
    assert!(run.figures.faults.is_empty(), "the answers above are not right");
    assert!(run.figures.changes > 0, "nothing was changed");
    assert!(run.figures.entries > 0, "nothing was kept");
}

struct Run {
    place: Place,
    writers: Vec<Writer>,
    random: Random,
    figures: Figures,
}

impl Run {
    fn new(place: Place) -> Self {
        let writers = (0..WRITERS).map(Writer::new).collect();
        Self { place, writers, random: Random::new(WRITERS as u64), figures: Figures::default() }
    }

    /// Kills a server under load; returns the next one, once all keys were read from it.
    fn kill_and_restart(&mut self, server: Server) -> Server {
        let neighbour = (self.random.below(2) == 0).then(|| self.place.start_neighbour());
        self.figures.beside += usize::from(neighbour.is_some());
        self.kill_under_load(server);
        if self.random.below(4) == 0 {
            self.kill_a_starting_server();
        }
        let began = Instant::now();
        let server = self.place.start();
        let mut client = server.connect(self.place.port);
        if self.read_first(&mut client).unwrap() {
            self.figures.warm.push(began.elapsed());
        }
        if self.random.below(2) == 0 {
            self.read_all_by_text(&mut client).unwrap();
        } else {
            self.read_all_by_meta(&mut client).unwrap();
        }
        server
    }

    fn kill_under_load(&mut self, server: Server) {
        let (port, shared) = (self.place.port, Shared::default());
        // As many kills come after few answers as after many.
        let answers = ANSWERS << self.random.below(DOUBLINGS + 1);
        let answers = answers + self.random.next_u64() % answers;
        let more = Duration::from_micros(self.random.next_u64() % 2000);
        let faults: Vec<Fault> = thread::scope(|scope| {
            let load = |writer| scope.spawn(|| Writer::load(writer, port, &shared));
            let running: Vec<_> = self.writers.iter_mut().map(load).collect();
            let began = Instant::now();
            while shared.answers.load(Ordering::Relaxed) < answers {
                // A writer that has ended has found a fault.
                if running.iter().any(ScopedJoinHandle::is_finished) || began.elapsed() > PATIENCE {
                    break;
                }
                thread::sleep(Duration::from_micros(200));
            }
            thread::sleep(more);
            shared.is_killed.store(true, Ordering::SeqCst);
            server.kill();
            running.into_iter().filter_map(|writer| writer.join().unwrap().err()).collect()
        });
        let figures = &mut self.figures;
        if shared.answers.load(Ordering::Relaxed) < answers && faults.is_empty() {
            figures.faults.push(Fault::wrong(format!("the load stood still for {PATIENCE:?}")));
        }
        figures.faults.extend(faults);
        figures.kills += 1;
        figures.changes += shared.changes.load(Ordering::Relaxed);
        figures.refused += shared.refused.load(Ordering::Relaxed);
        let keys = self.writers.iter().flat_map(|writer| &writer.keys);
        figures.in_flight += keys.map(Key::n_in_flight).sum::<usize>();
    }

    /// Kills a server at any moment until it would answer.
    fn kill_a_starting_server(&mut self) {
        let Some(warm) = self.figures.warm.last().copied() else { return };
        let server = self.place.start();
        let share = self.random.below(1000);
        thread::sleep(warm * u32::try_from(share).unwrap() / 1000);
        server.kill();
        self.figures.early_kills += 1;
    }

    /// Reads a key that has an entry, if there is one, and says whether it was found.
    fn read_first(&mut self, client: &mut Client) -> io::Result<bool> {
        let keys = self.writers.iter().flat_map(|writer| &writer.keys);
        let is_there = |key: &&Key| key.is_settled() && key.acknowledged() != State::Absent;
        let there: Vec<&Key> = keys.filter(is_there).collect();
        if there.is_empty() {
            return Ok(false);
        }
        let key = there[self.random.below(there.len())];
        client.send(format!("get {}\r\n", name(key.of)).as_bytes())?;
        let judged = client.entries()?.map_err(Fault::wrong).and_then(|entries| {
            let entry = entries.first().map_or(&Found::Absent, |(_, entry)| entry);
            key.judge(entry.state_of(key.of)?)
        });
        let is_right = judged.is_ok();
        self.figures.faults.extend(judged.err());
        Ok(is_right)
    }

    /// Reads all keys with `gets`, many at a time.
    fn read_all_by_text(&mut self, client: &mut Client) -> io::Result<()> {
        let keys: Vec<usize> = (0..KEYS).collect();
        for keys in keys.chunks(TOGETHER) {
            let names: Vec<String> = keys.iter().copied().map(name).collect();
            client.send(format!("gets {}\r\n", names.join(" ")).as_bytes())?;
            match client.entries()? {
                Ok(entries) => {
                    let mut found: Vec<Found> = keys.iter().map(|_| Found::Absent).collect();
                    for (name, entry) in entries {
                        let key = named(&name).filter(|key| keys.contains(key));
                        match key {
                            Some(key) => found[key - keys[0]] = entry,
                            None => self.figures.faults.push(Fault::wrong(name)),
                        }
                    }
                    keys.iter().zip(&found).for_each(|(key, found)| self.settle(*key, found));
                }
                Err(line) => self.figures.faults.push(Fault::wrong(line)),
            }
        }
        Ok(())
    }

    /// Reads all keys with `mg`, many requests at a time.
    fn read_all_by_meta(&mut self, client: &mut Client) -> io::Result<()> {
        let keys: Vec<usize> = (0..KEYS).collect();
        for keys in keys.chunks(TOGETHER) {
            let requests: Vec<String> =
                keys.iter().map(|key| format!("mg {} v c\r\n", name(*key))).collect();
            client.send(requests.concat().as_bytes())?;
            for key in keys {
                let found = client.meta_entry()?;
                self.settle(*key, &found);
            }
        }
        Ok(())
    }

    /// Judges what was found of a key after a kill.
    fn settle(&mut self, key: usize, found: &Found) {
        let books = &mut self.writers[key % WRITERS].keys[key / WRITERS];
        let judged = found.state_of(key).and_then(|state| books.settle(state));
        let judged = judged.and_then(|was_in_flight| {
            found.version().map_or(Ok(()), |version| books.judge_version(version))?;
            Ok(was_in_flight)
        });
        let figures = &mut self.figures;
        figures.reads += 1;
        figures.entries += usize::from(matches!(found, Found::Entry { .. }));
        match judged {
            Ok(was_in_flight) => figures.found += usize::from(was_in_flight),
            Err(fault) => figures.faults.push(fault),
        }
    }
}

/// The entries that the store has evicted, of which there should be none.
fn evictions(client: &mut Client) -> io::Result<u64> {
    client.send(b"stats\r\n")?;
    let mut evictions = 0;
    loop {
        let line = client.line()?;
        match line.strip_prefix("STAT evictions ") {
            Some(number) => evictions = number.parse().unwrap_or_default(),
            None if line == "END" => return Ok(evictions),
            None => {}
        }
    }
}
