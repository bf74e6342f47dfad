//! Drawn traces with TTLs, absent keys, deletes and values of several sizes, and the same traces in every format that is read.

mod capture;
mod formats;

use std::collections::HashMap;
use std::fmt::Write;

use larder_report::TraceInfo;
use larder_testkit::{Random, is_nightly};

use crate::Case;
use crate::scene::Scene;

pub(crate) const CASES: &[Case] = formats::CASES;

/// More than rounding moves a ratio of some hundred reads, and less than one read does.
pub(crate) const ROUNDING: f64 = 1e-6;

/// One operation of a recording.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Drawn {
    ms: u64,
    key: usize,
    operation: &'static str,
    /// The size of the value, where the operation tells it.
    size: Option<usize>,
    /// The size of the value that was read, or that an absent key would have.
    found: usize,
    /// In seconds; 0 where an entry is told to have none.
    ttl: Option<u64>,
    /// The answer; `None` in a recording without answers.
    result: Option<&'static str>,
}

/// An application with a look-aside cache, and the rows of its recording.
struct Application {
    random: Random,
    /// By key: when its entry expires, in thousandths of a second, and its size.
    cache: HashMap<usize, (u64, usize)>,
    now_ms: u64,
    rows: Vec<Drawn>,
}

impl Application {
    fn new(seed: u64) -> Self {
        Self { random: Random::new(seed), cache: HashMap::new(), now_ms: 0, rows: Vec::new() }
    }

    fn row(&mut self, key: usize, operation: &'static str, result: &'static str) -> &mut Drawn {
        let found = self.cache.get(&key).map_or(10 + key % 7, |(_, size)| *size);
        let (ms, size, ttl, result) = (self.now_ms, None, None, Some(result));
        self.rows.push(Drawn { ms, key, operation, size, found, ttl, result });
        self.rows.last_mut().unwrap()
    }

    fn is_there(&self, key: usize) -> bool {
        self.cache.get(&key).is_some_and(|(expires, _)| *expires > self.now_ms)
    }

    fn store(&mut self, key: usize, operation: &'static str) {
        let ttl_s = [0, 0, 3, 20, 600][self.random.below(5)];
        let size = 10 + 30 * self.random.below(5) + key % 3;
        let expires = if ttl_s == 0 { u64::MAX } else { self.now_ms + ttl_s * 1000 };
        self.cache.insert(key, (expires, size));
        let row = self.row(key, operation, "stored");
        row.size = Some(size);
        // An entry without a TTL has 0, or nothing.
        row.ttl = (ttl_s > 0 || !size.is_multiple_of(2)).then_some(ttl_s);
    }

    /// Changes or renews an entry that is there.
    fn change(&mut self, key: usize) {
        let changes = [
            ("touch", "touched"),
            ("gat", "hit"),
            ("replace", "stored"),
            ("cas", "stored"),
            ("append", "stored"),
        ];
        let (operation, result) = changes[self.random.below(changes.len())];
        let part = 5 + key % 4;
        let row = self.row(key, operation, result);
        if operation == "append" {
            // It keeps the TTL of the entry.
            row.size = Some(part);
            self.cache.entry(key).and_modify(|(_, size)| *size += part);
        } else {
            row.ttl = Some(50);
            let expires = self.now_ms + 50_000;
            self.cache.entry(key).and_modify(|(at, _)| *at = expires);
        }
    }

    /// One request of a user. Keys from 100 on are of rows that do not exist.
    fn request(&mut self) {
        // `trace info` counts time in parts of a second, of which these are multiples.
        self.now_ms += [0, 125, 250, 1000, 2500][self.random.below(5)];
        let key = self.random.below(30).min(self.random.below(60));
        match self.random.below(20) {
            0 => self.store(key, "set"),
            1 if !self.is_there(key) => self.store(key, "add"),
            2 => {
                let result = if self.is_there(key) { "deleted" } else { "not_found" };
                self.row(key, "delete", result);
                self.cache.remove(&key);
            }
            3 if self.is_there(key) => self.change(key),
            // Somebody else fills it, later or never.
            8 if !self.is_there(key) => drop(self.row(key, "get", "miss")),
            4..8 => drop(self.row(100 + key % 7, "get", "miss")),
            _ if self.is_there(key) => drop(self.row(key, "get", "hit")),
            _ => {
                self.row(key, "get", "miss");
                self.store(key, "set");
            }
        }
    }
}

/// A recording, in which each third one tells no answers.
pub(crate) fn drawn(seed: u64) -> Vec<Drawn> {
    let mut rows = answered(seed);
    if seed.is_multiple_of(3) {
        for row in &mut rows {
            row.result = None;
        }
    }
    rows
}

/// The same recording with its answers.
fn answered(seed: u64) -> Vec<Drawn> {
    let mut application = Application::new(seed);
    for _ in 0..300 {
        application.request();
    }
    application.rows
}

/// The recording as Larder's own CSV, with the names of other programs' columns.
pub(crate) fn native(rows: &[Drawn]) -> String {
    let has_results = rows.iter().any(|row| row.result.is_some());
    let mut csv = "time,key,op,size,ttl".to_owned();
    csv += if has_results { ",result\n" } else { "\n" };
    for Drawn { ms, key, operation, size, ttl, result, .. } in rows {
        let (seconds, ms) = (ms / 1000, ms % 1000);
        let (size, ttl) = (shown(*size), shown(*ttl));
        write!(csv, "{seconds}.{ms:03},k{key},{operation},{size},{ttl}").unwrap();
        let result = result.map_or_else(String::new, |result| format!(",{result}"));
        writeln!(csv, "{result}").unwrap();
    }
    csv
}

/// A value, or nothing.
fn shown(value: Option<impl ToString>) -> String {
    value.map_or_else(String::new, |value| value.to_string())
}

pub(crate) fn seeds(few: u64, many: u64) -> impl Iterator<Item = u64> {
    1..=if is_nightly() { many } else { few }
}

pub(crate) fn info(scene: &Scene, file: &str) -> TraceInfo {
    let answer = scene.larder(&["trace", "info", "--format", "json", file]);
    answer.ends_with(0);
    serde_json::from_str(&answer.out).unwrap()
}
