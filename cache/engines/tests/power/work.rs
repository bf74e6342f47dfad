//! The program whose power is cut: threads that change keys of a store and write down what was acknowledged.
//!
//! It is this test program again, under the layer of `cut.c`.

use std::path::Path;
use std::process::Command;
use std::thread;
use std::time::Duration;

use larder_engines::ENGINES;
use larder_host::scratch::ScratchDir;
use larder_store::{Put, Session, SetMode, SetOptions, Store, StoreUrl};
use larder_testkit::Random;

use crate::journal::{Action, Journal};
use crate::values::{KEYS, State, name, part, value};

/// What the layer and the program are told: the folder that is watched, and the journal.
const FOLDER: &str = "LARDER_POWER_FOLDER";
const JOURNAL: &str = "LARDER_POWER_JOURNAL";

/// What the program is told: its URL, its seed, and the longest pause between two changes.
const URL: &str = "LARDER_POWER_URL";
const SEED: &str = "LARDER_POWER_WORK";
const PAUSE: &str = "LARDER_POWER_PAUSE";

/// The source of the layer.
const SOURCE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/power/cut.c");

/// Each thread has keys of its own, so that the order of a key's changes is known.
const THREADS: u64 = 4;

/// So often the program opens the store and closes it.
const ROUNDS: usize = 2;

/// This many changes or batches a thread makes in a round.
const STEPS: usize = 80;

/// A value with this many parts gets no further one.
const PARTS: usize = 6;

/// Runs the program on a store in `folder`, and leaves its journal at this path.
pub(crate) fn record(url: &str, folder: &Path, journal: &Path, seed: u64, pause: Duration) {
    let scratch = ScratchDir::create("power").unwrap();
    let layer = scratch.path().join("cut.so");
    let mut compiler = Command::new("cc");
    compiler.args(["-O1", "-shared", "-fPIC", "-o"]).arg(&layer).args([
        SOURCE,
        "-ldl",
        "-lpthread",
    ]);
    assert!(compiler.status().unwrap().success(), "{SOURCE} does not compile");
    let mut program = Command::new(std::env::current_exe().unwrap());
    program.env("LD_PRELOAD", &layer).env(FOLDER, folder).env(JOURNAL, journal);
    program.env("RUST_BACKTRACE", "0").env(URL, url).env(SEED, seed.to_string());
    program.env(PAUSE, pause.as_micros().to_string());
    let output = program.output().unwrap();
    let words = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{url}, seed {seed}: {}: {words}", output.status);
}

/// In the program: changes keys, and returns whether this was its task.
pub(crate) fn work_if_asked() -> bool {
    let Ok(url) = std::env::var(URL) else { return false };
    let number = |name| std::env::var(name).unwrap().parse::<u64>().unwrap();
    let journal = &Journal::open(Path::new(&std::env::var_os(JOURNAL).unwrap()));
    let pause = usize::try_from(number(PAUSE)).unwrap();
    let url = StoreUrl::parse(&url).unwrap();
    let mut owners: Vec<Owner> = (0..THREADS)
        .map(|thread| Owner {
            keys: (0..KEYS).filter(|key| key % THREADS == thread).map(Key::new).collect(),
            random: Random::new(number(SEED) ^ thread << 32),
            pause,
        })
        .collect();
    for _ in 0..ROUNDS {
        let opened = ENGINES.open(&url).unwrap();
        let store = &*opened;
        thread::scope(|scope| {
            for owner in &mut owners {
                scope.spawn(move || owner.work(store, journal));
            }
        });
        journal.closing();
        store.close().unwrap();
        journal.closed();
        drop(opened);
    }
    true
}

/// A thread of the program.
struct Owner {
    keys: Vec<Key>,
    random: Random,
    pause: usize,
}

/// A key in the books of its thread.
struct Key {
    id: u64,
    /// The number of its last change.
    last: u64,
    state: State,
}

impl Key {
    fn new(id: u64) -> Self {
        Self { id, last: 0, state: State::new() }
    }
}

impl Owner {
    fn work(&mut self, store: &dyn Store, journal: &Journal) {
        let session = &mut *store.session().unwrap();
        let mut found = Vec::new();
        for Key { id, state, .. } in &self.keys {
            session.get(&name(*id), &mut found).unwrap();
            assert!(found == value(*id, state), "key {id} is not as it was left");
        }
        for _ in 0..STEPS {
            if self.random.below(6) == 0 {
                self.set_many(session, journal);
            } else {
                self.change_one(session, journal);
            }
            let pause = self.random.below(self.pause + 1) as u64;
            thread::sleep(Duration::from_micros(pause));
        }
    }

    fn change_one(&mut self, session: &mut dyn Session, journal: &Journal) {
        let Self { keys, random, .. } = self;
        let at = random.below(keys.len());
        let Key { id, last, state } = &mut keys[at];
        let action = match random.below(8) {
            0 => Action::Delete,
            1..4 if state.len() < PARTS => Action::Append,
            _ => Action::Set,
        };
        *last += 1;
        journal.begin(*id, *last, action);
        let was_there = !state.is_empty();
        let part = part(*id, *last);
        let mut set = |mode| {
            let options = SetOptions { mode, ..SetOptions::default() };
            session.set(&name(*id), &part, &options).unwrap().is_stored()
        };
        match action {
            Action::Set => {
                assert!(set(SetMode::Set));
                *state = vec![*last];
            }
            Action::Append => {
                assert_eq!(set(SetMode::Append), was_there);
                state.extend(was_there.then_some(*last));
            }
            Action::Delete => {
                assert_eq!(session.delete(&name(*id)).unwrap(), was_there);
                state.clear();
            }
        }
        journal.acknowledge(*id);
    }

    /// Sets some keys that follow each other, with one call.
    fn set_many(&mut self, session: &mut dyn Session, journal: &Journal) {
        let Self { keys, random, .. } = self;
        let from = random.below(keys.len() - 1);
        let to = keys.len().min(from + 2 + random.below(6));
        let keys = &mut keys[from..to];
        for Key { id, last, state } in &mut *keys {
            *last += 1;
            *state = vec![*last];
            journal.begin(*id, *last, Action::Set);
        }
        let entries: Vec<_> = keys.iter().map(|it| (name(it.id), part(it.id, it.last))).collect();
        let options = SetOptions::default();
        let puts: Vec<_> = entries.iter().map(|(key, value)| Put { key, value, options }).collect();
        session.set_many(&puts, &mut |_, outcome| assert!(outcome.unwrap().is_stored())).unwrap();
        for Key { id, .. } in keys {
            journal.acknowledge(*id);
        }
    }
}
