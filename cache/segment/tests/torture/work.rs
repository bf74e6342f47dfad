//! The work of a worker until it is killed.

#![expect(clippy::unwrap_used, reason = "a worker without what it needs has failed")]
#![expect(clippy::cast_possible_truncation, reason = "a random number is cut anyway")]

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use larder_segment::{Cache, Condition, Cursor, Failed, Options, Outcome, Session, Set, Token};

use crate::ledger::{ANY, Ledger, Now, Tally};
use crate::stopwatch::Stopwatch;
use crate::values::{Kind, fill, kind, name, of_kind};
use crate::{COUNTERS, KEYS, OWN, WORKERS, mode, random, strangers};

/// The most operations after which it opens the file anew.
const REOPENED: u64 = 1 << 14;

pub(crate) struct Worker {
    pub(crate) session: Session,
    pub(crate) ledger: Ledger,
    pub(crate) number: usize,
    pub(crate) value: Vec<u8>,
    pub(crate) wanted: Vec<u8>,
    random: Box<dyn FnMut() -> u64>,
    path: PathBuf,
}

/// A session of the keys' namespace, or of none.
pub(crate) fn session_of(cache: &Arc<Cache>) -> Session {
    // Nobody holds the lock of the table for longer than this.
    let own = || cache.namespace_within(OWN, Duration::from_mins(1)).unwrap().session();
    if mode().is_named { own() } else { cache.session() }
}

/// Works for ever.
pub(crate) fn work(folder: &Path, number: usize) {
    let mut worker = Worker::open(folder, number);
    let mut stopwatch = Stopwatch::new(worker.ledger, number);
    loop {
        for _ in 0..=worker.any() as u64 % REOPENED {
            let any = worker.any_key();
            let what = worker.what(any);
            stopwatch.begin(what.key());
            let is_busy = worker.carry_out(what);
            stopwatch.end(what.key(), is_busy);
            worker.ledger.add(number, Tally::Operations);
        }
        worker.reopen();
    }
}

/// An operation with one of the worker's own keys, or with any key.
#[derive(Debug, Clone, Copy)]
enum What {
    Get(usize),
    GetMany,
    Set(usize),
    Append(usize),
    Delete(usize),
    Expire(usize),
    Touch(usize),
    Fill(usize),
    Load(usize),
    Count(usize),
    Maintain,
    Walk,
    Strangers,
    Clear,
}

impl What {
    fn key(self) -> u64 {
        match self {
            Self::GetMany | Self::Maintain | Self::Walk | Self::Strangers | Self::Clear => ANY,
            Self::Count(counter) => (KEYS + counter) as u64,
            Self::Get(key)
            | Self::Set(key)
            | Self::Append(key)
            | Self::Delete(key)
            | Self::Expire(key)
            | Self::Touch(key)
            | Self::Fill(key)
            | Self::Load(key) => key as u64,
        }
    }
}

impl Worker {
    pub(crate) fn open(folder: &Path, number: usize) -> Self {
        let path = folder.join("cache");
        let session = session_of(&Cache::open(&path, &mode().options).unwrap());
        Self {
            session,
            ledger: Ledger::open(folder),
            number,
            value: Vec::new(),
            wanted: Vec::new(),
            random: Box::new(random(u64::from(std::process::id()))),
            path,
        }
    }

    pub(crate) fn any(&mut self) -> usize {
        (self.random)() as usize
    }

    /// Any key. The key with which a worker was stopped is drawn more often, above all by its own
    /// worker.
    fn any_key(&mut self) -> usize {
        let stopped = (self.ledger.does(0, Now::Stopped) as usize).wrapping_sub(1);
        let seldom = if stopped % WORKERS == self.number { 2 } else { 8 };
        let again = stopped < KEYS && self.any().is_multiple_of(seldom);
        if again { stopped } else { self.any() % KEYS }
    }

    /// Closes the file and opens it again, with a wrong idea of its size.
    fn reopen(&mut self) {
        // In between the session belongs to another cache, because it cannot be without one.
        let little = Cache::private(&Options::of_size(1 << 20)).unwrap();
        self.session = little.session();
        let size = [1 << 20, 8 << 20, 64 << 20][self.any() % 3];
        let cache = Cache::open(&self.path, &Options { size, ..mode().options }).unwrap();
        assert_eq!(cache.size(), mode().options.size, "opened as {size}");
        self.session = session_of(&cache);
        self.ledger.add(self.number, Tally::Opened);
    }

    fn what(&mut self, any: usize) -> What {
        let own = any / WORKERS * WORKERS + self.number;
        match self.any() % 4096 {
            0 if self.any().is_multiple_of(32) => What::Clear,
            1..600 => What::Set(own),
            600..750 => What::Delete(own),
            750..850 => What::Expire(any),
            850..1000 => What::Touch(any),
            1000..1100 => What::Append(of_kind(own, Kind::List)),
            1100..1250 => What::Fill(of_kind(any, Kind::Filled)),
            1250..1400 => What::Load(of_kind(any, Kind::Filled)),
            1400..1600 => What::Count(any % COUNTERS),
            1600..1700 => What::GetMany,
            1700..1750 => What::Maintain,
            1750..1770 => What::Walk,
            1770..1800 => What::Strangers,
            _ => What::Get(any),
        }
    }

    /// Carries out an operation; returns whether it ended without a lock.
    fn carry_out(&mut self, what: What) -> bool {
        let done = match what {
            What::Get(key) => {
                self.get(key);
                Ok(())
            }
            What::GetMany => {
                self.get_many();
                Ok(())
            }
            What::Maintain => {
                let budget = Duration::from_micros(self.any() as u64 % 1000);
                self.session.cache().maintain(budget);
                Ok(())
            }
            What::Walk => {
                self.walk();
                Ok(())
            }
            What::Strangers => self.be_a_stranger(),
            What::Clear => {
                self.clear();
                Ok(())
            }
            What::Set(key) if kind(key) == Kind::Filled => self.delete(key),
            What::Set(key) if kind(key) == Kind::List => self.append(key),
            What::Set(key) => self.set(key),
            What::Append(key) => self.append(key),
            What::Delete(key) => self.delete(key),
            What::Expire(key) => {
                self.ledger.begin_change(key);
                let expired = self.session.expire(&name(key), None);
                self.ledger.end_change(key);
                expired.map(drop)
            }
            What::Touch(key) => self.touch(key),
            What::Fill(key) => self.fill(key),
            What::Load(key) => self.load(key),
            What::Count(counter) => self.change_counter(counter),
        };
        match done {
            Ok(()) => false,
            Err(Failed::Busy { .. } | Failed::Leases) => {
                self.ledger.add(self.number, Tally::Busy);
                true
            }
            Err(error) => panic!("{error}"),
        }
    }

    fn get_many(&mut self) {
        let keys: Vec<usize> = (0..=self.any() % 32).map(|_| self.any() % KEYS).collect();
        let names: Vec<Vec<u8>> = keys.iter().map(|key| name(*key)).collect();
        let names: Vec<&[u8]> = names.iter().map(Vec::as_slice).collect();
        let oldest: Vec<u64> = keys.iter().map(|key| self.ledger.oldest(*key)).collect();
        let mut found = Vec::new();
        self.session.get_many(&names, &mut |i, value, _| found.push((i, value.to_vec())));
        for (i, value) in found {
            self.value = value;
            self.check(keys[i], oldest[i]);
        }
    }

    /// Looks at a few keys from anywhere on. Each is a key of the workers, whatever others store elsewhere.
    fn walk(&mut self) {
        let from = Cursor::from_u64(((self.any() as u64 % 64) << 48) | (self.any() as u64 % 4096));
        self.session.scan(from, 20, &mut |key, _| {
            let is_one = key.starts_with(b"key-") || key.starts_with(b"counter-");
            assert!(is_one, "{key:?} is no key of this namespace");
        });
    }

    /// Works beside the keys in namespaces that come and go.
    fn be_a_stranger(&mut self) -> Result<(), Failed> {
        let cache = Arc::clone(self.session.cache());
        let found = strangers::work(&cache, &mut self.random)?;
        for _ in 0..found.right {
            self.ledger.add(self.number, Tally::Strangers);
        }
        for _ in 0..found.wrong {
            self.ledger.add(self.number, Tally::Wrong);
        }
        Ok(())
    }

    /// Stores the next version: in any case, if there is one, if there is none, or if it is still the one that was read.
    fn set(&mut self, key: usize) -> Result<(), Failed> {
        let condition = match self.any() % 8 {
            0 => Condition::Present,
            1 => Condition::Absent,
            2 => {
                let Some(version) = self.get(key) else { return Ok(()) };
                Condition::Version(version)
            }
            _ => Condition::None,
        };
        let ttl = self.ttl();
        let version = self.ledger.begin(key);
        fill(key, version, &mut self.value);
        self.store(key, version, &Set { condition, ttl, flags: 0 })
    }

    /// Stores `value`.
    pub(crate) fn store(&mut self, key: usize, version: u64, set: &Set) -> Result<(), Failed> {
        let outcome = self.session.set(&name(key), &self.value, set);
        if matches!(outcome, Ok(Outcome::Stored(_))) {
            self.ledger.stored(key, version);
        }
        outcome.map(drop)
    }

    /// A time to live; mostly for ever.
    fn ttl(&mut self) -> Option<Duration> {
        let some = self.any().is_multiple_of(8);
        some.then(|| Duration::from_millis(1 << (self.any() % 14)))
    }

    /// A key that is filled has a new version elsewhere before it is deleted; other keys leave nothing.
    fn delete(&mut self, key: usize) -> Result<(), Failed> {
        let version = self.ledger.begin(key);
        self.ledger.begin_change(key);
        let deleted = self.session.delete(&name(key));
        self.ledger.end_change(key);
        deleted?;
        let left = u64::from(kind(key) != Kind::Filled);
        self.ledger.forbid_before(key, version + left);
        Ok(())
    }

    fn touch(&mut self, key: usize) -> Result<(), Failed> {
        let ttl = self.ttl();
        self.session.touch(&name(key), ttl).map(drop)
    }

    /// Fills a key with its version from elsewhere, unless it was deleted since that was looked up.
    fn fill(&mut self, key: usize) -> Result<(), Failed> {
        let token = self.session.token(&name(key));
        let version = self.ledger.begun(key);
        self.fill_under(token, key, version)
    }

    /// Fills a key with this version, which was looked up under the token. Version 0 is none.
    pub(crate) fn fill_under(
        &mut self,
        token: Token,
        key: usize,
        version: u64,
    ) -> Result<(), Failed> {
        if version == 0 {
            return Ok(());
        }
        fill(key, version, &mut self.value);
        self.ledger.begin_change(key);
        self.ledger.set_filling(self.number, key, version);
        let set = Set { condition: Condition::Unchanged(token), ..Set::default() };
        let outcome = self.session.set(&name(key), &self.value, &set);
        self.ledger.end_change(key);
        self.ledger.excuse_no_more(key, version);
        self.ledger.set_filling(self.number, 0, 0);
        let is_stored = matches!(outcome, Ok(Outcome::Stored(_)));
        self.ledger.add(self.number, if is_stored { Tally::Filled } else { Tally::Refused });
        outcome.map(drop)
    }

    fn clear(&mut self) {
        let stored: Vec<u64> = (0..KEYS).map(|key| self.ledger.last_stored(key)).collect();
        (0..KEYS).for_each(|key| self.ledger.begin_change(key));
        if self.any().is_multiple_of(2) {
            self.session.clear();
        } else {
            self.session.cache().clear();
        }
        (0..KEYS).for_each(|key| self.ledger.end_change(key));
        for (key, version) in stored.into_iter().enumerate().filter(|(_, version)| *version > 0) {
            self.ledger.forbid_before(key, version + 1);
        }
    }
}
