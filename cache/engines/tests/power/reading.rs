//! What a store finds in its files after a loss of power.
//!
//! A program of its own opens the store: it is this test program again. A damaged file may crash it, or hold it up for
//! ever, and the test then says so.

use std::fs::{self, File};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use larder_engines::ENGINES;
use larder_store::{SetOptions, Store, StoreUrl};
use larder_testkit::within;

use crate::promise::Fault;
use crate::values::{KEYS, State, name, state};

/// What the program is told: its URL, and the file for what it finds.
const URL: &str = "LARDER_POWER_READ";
const FOUND: &str = "LARDER_POWER_FOUND";

/// After this time the program hangs.
const LONGEST: Duration = Duration::from_mins(1);

/// What stands in the file for a key that is absent; no value is so long.
const ABSENT: u64 = u64::MAX;

/// Has the program open the store and read each key; it then changes every key as a new user would.
pub(crate) fn read(url: &str, scratch: &Path) -> Result<Vec<State>, Fault> {
    let [found, words] = ["found", "words"].map(|name| scratch.join(name));
    let mut program = Command::new(std::env::current_exe().unwrap())
        .env(URL, url)
        .env(FOUND, &found)
        .env("RUST_BACKTRACE", "0")
        .stdout(Stdio::null())
        .stderr(File::create(&words).unwrap())
        .spawn()
        .unwrap();
    let mut status = None;
    if !within(LONGEST, || {
        status = program.try_wait().unwrap();
        status.is_some()
    }) {
        program.kill().unwrap();
        program.wait().unwrap();
        return Err(Fault::Hangs);
    }
    let status = status.unwrap();
    if !status.success() {
        let words = fs::read_to_string(&words).unwrap();
        return Err(Fault::Damaged(format!("{status}: {}", words.trim())));
    }
    parse(&fs::read(&found).unwrap())
}

/// The states of all keys, of a file that the program has written.
fn parse(mut bytes: &[u8]) -> Result<Vec<State>, Fault> {
    let mut states = Vec::new();
    for key in 0..KEYS {
        let (len, rest) = bytes.split_first_chunk().unwrap();
        let len = u64::from_le_bytes(*len);
        let (value, rest) =
            rest.split_at(if len == ABSENT { 0 } else { usize::try_from(len).unwrap() });
        bytes = rest;
        let torn = || Fault::MadeUp(format!("key {key} has {len} bytes that were never written"));
        let is_right = |state: &State| state.is_empty() == (len == ABSENT);
        states.push(state(key, value).filter(is_right).ok_or_else(torn)?);
    }
    Ok(states)
}

/// In the program: reads the store, and returns whether this was its task.
pub(crate) fn read_if_asked() -> bool {
    let Ok(url) = std::env::var(URL) else { return false };
    let url = StoreUrl::parse(&url).unwrap();
    let store = ENGINES.open(&url).unwrap();
    let found: Vec<_> = read_all(&*store);
    let n_found = found.iter().flatten().count() as u64;
    let counted = store.stats().unwrap().items;
    assert!(
        counted.is_none_or(|n| n == n_found),
        "{counted:?} entries are counted, {n_found} found"
    );
    let mut bytes = Vec::new();
    for value in &found {
        let len = value.as_ref().map_or(ABSENT, |value| value.len() as u64);
        bytes.extend_from_slice(&len.to_le_bytes());
        bytes.extend_from_slice(value.as_deref().unwrap_or_default());
    }
    fs::write(std::env::var_os(FOUND).unwrap(), bytes).unwrap();

    let mut session = store.session().unwrap();
    let set = SetOptions::default();
    for key in 0..KEYS {
        session.set(&name(key), format!("new {key}").repeat(40).as_bytes(), &set).unwrap();
    }
    drop(session);
    store.close().unwrap();
    drop(store);
    let found = read_all(&*ENGINES.open(&url).unwrap());
    for (key, value) in found.into_iter().enumerate() {
        let is_new = value.is_some_and(|value| value == format!("new {key}").repeat(40).as_bytes());
        assert!(is_new, "key {key} was changed and closed, and is not as it was left");
    }
    true
}

/// The values of all keys.
fn read_all(store: &dyn Store) -> Vec<Option<Vec<u8>>> {
    let mut session = store.session().unwrap();
    let read = |key| {
        let mut value = Vec::new();
        let meta = session.get(&name(key), &mut value).unwrap();
        meta.map(|_| value)
    };
    (0..KEYS).map(read).collect()
}
