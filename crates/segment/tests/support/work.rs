//! What a worker does until it is killed.

#![expect(clippy::unwrap_used, reason = "a worker without what it needs has failed")]
#![expect(clippy::print_stderr, reason = "so that a failure says more")]
#![expect(clippy::cast_possible_truncation, reason = "a random number is cut anyway")]

use std::path::Path;
use std::time::{Duration, Instant};

use larder_segment::{Cache, Failed, Session, Set};

use super::ledger::{Ledger, Tally};
use super::{KEYS, OPTIONS, WORKERS, random};

/// A value's bytes: most are short, some take several records.
fn length(key: usize, version: u64) -> usize {
    let mixed = (key as u64 ^ version << 20).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32;
    match mixed % 64 {
        0 => 20_000 + mixed as usize % 60_000,
        1..8 => 4000 + mixed as usize % 6000,
        _ => 24 + mixed as usize % 2000,
    }
}

/// The value of a key in a version: no two are alike in any eight bytes.
fn fill(key: usize, version: u64, value: &mut Vec<u8>) {
    value.clear();
    let words = length(key, version).div_ceil(8) as u64;
    for word in 0..words {
        let mixed = (version << 13 ^ key as u64).wrapping_mul(0x2545_f491_4f6c_dd1d);
        let what = if word == 0 { version } else { mixed.wrapping_add(word) };
        value.extend_from_slice(&what.to_le_bytes());
    }
}

/// Works for ever.
pub(crate) fn work(folder: &Path, number: usize) {
    let cache = Cache::open(&folder.join("cache"), &OPTIONS).unwrap();
    let ledger = Ledger::open(folder);
    let mut worker = Worker {
        session: cache.session(),
        ledger,
        value: Vec::new(),
        wanted: Vec::new(),
        random: Box::new(random(u64::from(std::process::id()))),
    };
    loop {
        worker.step(number);
    }
}

struct Worker {
    session: Session,
    ledger: Ledger,
    value: Vec<u8>,
    wanted: Vec<u8>,
    random: Box<dyn FnMut() -> u64>,
}

fn name(key: usize) -> Vec<u8> {
    format!("key-{key}").into_bytes()
}

impl Worker {
    fn step(&mut self, number: usize) {
        let any = (self.random)() as usize % KEYS;
        let own = any / WORKERS * WORKERS + number;
        let began = Instant::now();
        match (self.random)() % 4096 {
            0 if (self.random)().is_multiple_of(32) => self.clear(),
            1..800 => self.set(own),
            800..1000 => self.delete(own),
            1000..1100 => self.expire(own),
            _ => self.get(any),
        }
        self.ledger.add(Tally::Operations);
        if began.elapsed() > Duration::from_millis(100) {
            self.ledger.add(Tally::Long);
        }
    }

    fn get(&mut self, key: usize) {
        let oldest = self.ledger.oldest(key);
        let found = self.session.get(&name(key), &mut self.value).is_some();
        let newest = self.ledger.begun(key);
        if found {
            self.check(key, oldest, newest);
        }
    }

    fn check(&mut self, key: usize, oldest: u64, newest: u64) {
        self.ledger.add(Tally::Hits);
        let version = self.value.first_chunk().map_or(0, |word| u64::from_le_bytes(*word));
        fill(key, version, &mut self.wanted);
        if self.value != self.wanted || version > newest || version == 0 {
            self.ledger.add(Tally::Wrong);
            eprintln!("wrong: version {version} of key {key}, of {oldest} to {newest}");
        } else if version < oldest {
            self.ledger.add(Tally::Old);
            eprintln!("old: version {version} of key {key}, of {oldest} to {newest}");
        }
    }

    fn set(&mut self, key: usize) {
        let version = self.ledger.begin(key);
        fill(key, version, &mut self.value);
        match self.session.set(&name(key), &self.value, &Set::default()) {
            Ok(_) => self.ledger.stored(key, version),
            // Nothing is there now.
            Err(Failed::Busy) => {
                self.ledger.forbid_before(key, version + 1);
                self.ledger.add(Tally::Busy);
            }
            Err(error) => panic!("{error}"),
        }
    }

    fn delete(&mut self, key: usize) {
        let version = self.ledger.begin(key);
        self.session.delete(&name(key)).unwrap();
        self.ledger.forbid_before(key, version + 1);
    }

    fn expire(&mut self, key: usize) {
        let _ = self.session.expire(&name(key));
    }

    fn clear(&mut self) {
        let stored: Vec<u64> = (0..KEYS).map(|key| self.ledger.last_stored(key)).collect();
        self.session.cache().clear();
        for (key, version) in stored.into_iter().enumerate() {
            self.ledger.forbid_before(key, version + 1);
        }
    }
}
