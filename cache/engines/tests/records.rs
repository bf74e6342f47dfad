//! The engines whose entries are records of a database that one process has open, under faults.
#![expect(clippy::unwrap_used, reason = "a step that fails fails the test")]

#[expect(
    dead_code,
    reason = "not all of what embedded engines are tried by fits one that a process has for itself"
)]
mod embedded;

use std::collections::HashSet;
use std::fs;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use embedded::process::OtherWriter;
use embedded::{TestDir, open, open_session, url};
use larder_engines::ENGINES;
use larder_store::{Durability, Engine, Error, Put, Result, SetOptions, SetOutcome};
use larder_testkit::{has_program, nightly_if, trial_where};
use libtest_mimic::{Arguments, Trial};

/// The work of a trial, on a store of this scheme with these options.
type Work = fn(&str, &str);

const BATCHES: &str = "batches_of_threads_are_stored_whole";
const EXPIRY: &str = "expired_entries_are_given_back";
const GROUP: &str = "writes_of_threads_that_share_a_sync_are_all_acknowledged";
const KEPT: &str = "a_killed_process_leaves_its_acknowledged_entries";
const WHOLE: &str = "a_killed_process_leaves_whole_values";
const ONE: &str = "a_store_belongs_to_one_process_at_a_time";

const TRIALS: &[(&str, &str, &str, Work)] = &[
    ("bdb", "sync=write", KEPT, killed_and_kept),
    ("bdb", "type=hash", WHOLE, killed),
    ("bdb", "", ONE, one_store_at_a_time),
    ("bdb", "", EXPIRY, expired_entries_are_given_back),
    ("bdb", "", BATCHES, many_batches),
    ("bdb", "type=hash", BATCHES, many_batches),
    ("redb", "sync=group", KEPT, killed_and_kept),
    ("redb", "checkpoint=10ms", WHOLE, killed),
    ("redb", "", ONE, one_store_at_a_time),
    ("redb", "", EXPIRY, expired_entries_are_given_back),
    ("redb", "", BATCHES, many_batches),
    ("redb", "sync=group", GROUP, many_batches),
    ("redb", "", "durability_follows_from_the_options", durability_follows),
    ("redb", "", "a_text_is_refused_and_left_alone", text_for_a_file),
    #[cfg(feature = "redb")]
    ("redb", "", "a_file_of_another_program_is_refused_and_left_alone", foreign_file),
    ("fjall", "", KEPT, killed_and_kept),
    ("fjall", "", ONE, one_store_at_a_time),
    ("fjall", "", EXPIRY, expired_entries_are_given_back),
    ("fjall", "memtable=1m", EXPIRY, expired_entries_are_given_back),
    ("fjall", "", BATCHES, many_batches),
    ("fjall", "sync=group", GROUP, many_batches),
    ("fjall", "", "durability_follows_from_the_options", durability_follows),
    ("fjall", "", "a_folder_of_another_program_is_refused_and_left_alone", foreign_folder),
    ("fjall", "", "a_folder_that_was_never_finished_is_made_anew", unfinished_folder),
    ("fjall", "", "a_journal_with_a_torn_end_costs_its_last_batch", torn_journal),
];

fn main() -> ExitCode {
    // In the process that a test about kills starts, this call does not return.
    embedded::write_until_killed();
    let is_built = |scheme: &str| ENGINES.find(scheme).is_ok_and(Engine::is_built);
    let trials = TRIALS.iter().filter(|(scheme, ..)| is_built(scheme)).map(trial).collect();
    libtest_mimic::run(&Arguments::from_args(), trials).exit_code()
}

fn trial(&(scheme, query, name, work): &(&'static str, &'static str, &str, Work)) -> Trial {
    let recipes = ENGINES.find(scheme).unwrap().recipes;
    let needs = move || recipes.iter().try_for_each(has_program);
    let separator = if query.is_empty() { "" } else { "?" };
    let name = format!("{scheme}:{separator}{query}::{name}");
    nightly_if(!recipes.is_empty(), trial_where(needs, &name, move || work(scheme, query)))
}

fn killed_and_kept(scheme: &str, query: &str) {
    a_killed_process_leaves_whole_values(scheme, query, true);
}

fn killed(scheme: &str, query: &str) {
    a_killed_process_leaves_whole_values(scheme, query, false);
}

/// Kills a writing process again and again. Every remaining value is whole; where a write waits for its log, every
/// acknowledged value remains.
fn a_killed_process_leaves_whole_values(scheme: &str, query: &str, keeps_all: bool) {
    let directory = TestDir::create();
    let url = url(scheme, directory.path(), query);
    let mut found = Vec::new();
    for n in 0..6 {
        let mut writer = OtherWriter::start(&url);
        writer.next_round();
        std::thread::sleep(Duration::from_millis(7 * n));
        let acknowledged = writer.kill();
        let mut session = open_session(&url);
        for i in 0..embedded::KEYS {
            if session.get(&embedded::key(i), &mut found).unwrap().is_some() {
                let round = embedded::round_of(i, &found);
                assert!(round >= acknowledged || !keeps_all, "key {i} is older than acknowledged");
            } else {
                assert!(!keeps_all, "key {i} is gone");
            }
        }
        session.set(b"after", b"the kill", &SetOptions::default()).unwrap();
        session.clear().unwrap();
    }
}

fn refusal(url: &str) -> (Error, String) {
    let error = open(url).map(drop).unwrap_err();
    let text = error.to_string();
    assert!(!text.contains('\n'), "{text}");
    (error, text)
}

fn one_store_at_a_time(scheme: &str, query: &str) {
    let directory = TestDir::create();
    let url = url(scheme, directory.path(), query);
    let mut session = open_session(&url);
    session.set(b"key", b"value", &SetOptions::default()).unwrap();
    let (error, text) = refusal(&url);
    assert!(matches!(error, Error::Unavailable { .. }), "{text}");
    assert!(text.contains("is open already; one store at a time"), "{text}");
    drop(session);
    let mut found = Vec::new();
    let before = open_session(&url).get(b"key", &mut found).unwrap().unwrap();
    assert_eq!(found, b"value");
    // No version comes again in a later process.
    let mut session = open_session(&url);
    let set = session.set(b"key", b"value", &SetOptions::default()).unwrap();
    assert!(matches!(set, SetOutcome::Stored(after) if after > before.version), "{set:?}");
}

/// Batches of several transactions each, in different orders of the same keys, so that they wait for each other.
fn many_batches(scheme: &str, query: &str) {
    const KEYS: u64 = 3000;
    let directory = TestDir::create();
    let store = &open(&url(scheme, directory.path(), query)).unwrap();
    let work = |thread: u64| {
        let mut session = store.session().unwrap();
        let keys: Vec<_> =
            (0..KEYS).map(|i| embedded::key(i * (1009 + 2 * thread) % KEYS)).collect();
        let value = thread.to_le_bytes();
        let options = SetOptions::default();
        let entry = |key| Put { key, value: &value, options };
        let entries: Vec<_> = keys.iter().map(|key| entry(key.as_slice())).collect();
        for _ in 0..3 {
            let mut n_stored = 0;
            let mut done = |i, outcome: Result<SetOutcome>| {
                assert_eq!(i, n_stored);
                assert!(outcome.unwrap().is_stored());
                n_stored += 1;
            };
            session.set_many(&entries, &mut done).unwrap();
            assert_eq!(n_stored, entries.len());
        }
    };
    std::thread::scope(|scope| {
        (0..3).for_each(|thread| drop(scope.spawn(move || work(thread))));
    });
    let mut session = store.session().unwrap();
    let keys: Vec<_> = (0..KEYS).map(embedded::key).collect();
    let keys: Vec<_> = keys.iter().map(Vec::as_slice).collect();
    let mut versions = HashSet::new();
    session
        .get_many(&keys, &mut |_, value, meta| {
            assert!(value.len() == 8 && versions.insert(meta.version));
        })
        .unwrap();
    assert_eq!(versions.len(), keys.len());
    let mut n_deleted = 0;
    session.delete_many(&keys, &mut |_, there| n_deleted += usize::from(there.unwrap())).unwrap();
    assert_eq!(n_deleted, keys.len());
}

fn expired_entries_are_given_back(scheme: &str, query: &str) {
    let store = open(&format!("{scheme}:?{query}")).unwrap();
    let mut session = store.session().unwrap();
    // Long enough for all the writes here, on a slow machine too.
    let short = SetOptions { ttl: Some(Duration::from_secs(2)), ..SetOptions::default() };
    for i in 0..300_u32 {
        session.set(&i.to_le_bytes(), b"value", &short).unwrap();
    }
    // These entries have another deadline, or no deadline, when the first deadline comes.
    let long = SetOptions { ttl: Some(Duration::from_secs(1000)), ..SetOptions::default() };
    session.set(&1_u32.to_le_bytes(), b"value", &long).unwrap();
    session.set(&2_u32.to_le_bytes(), b"value", &SetOptions::default()).unwrap();
    session.touch(&3_u32.to_le_bytes(), None).unwrap();
    session.delete(&4_u32.to_le_bytes()).unwrap();
    let expired = |n: u64| {
        let until = Instant::now() + Duration::from_mins(5);
        while store.stats().unwrap().expirations != Some(n) {
            assert!(Instant::now() < until, "{:?}", store.stats());
            std::thread::sleep(Duration::from_millis(20));
        }
    };
    expired(296);
    for i in 1..4_u32 {
        assert!(session.get(&i.to_le_bytes(), &mut Vec::new()).unwrap().is_some(), "key {i}");
    }
    // An entry that ends at once has an earlier deadline than those that were removed already.
    let past = SetOptions { ttl: Some(Duration::ZERO), ..SetOptions::default() };
    session.set(b"past", b"value", &past).unwrap();
    expired(297);
}

fn durability_follows(scheme: &str, _: &str) {
    let folder = TestDir::create();
    let of = |query: &str| {
        let info = open(&url(scheme, folder.path(), query)).unwrap().info();
        (info.durability, info.file_system.unwrap().is_memory())
    };
    let unsynced = if scheme == "redb" { Durability::Volatile } else { Durability::OsCache };
    for (query, durability, in_memory) in [
        ("", Durability::FsyncBatch, unsynced),
        ("checkpoint=0", unsynced, unsynced),
        ("sync=group", Durability::FsyncEach, Durability::OsCache),
        ("sync=each", Durability::FsyncEach, Durability::OsCache),
    ] {
        let (found, is_memory) = of(query);
        assert_eq!(found, if is_memory { in_memory } else { durability }, "{query}");
    }
}

fn text_for_a_file(scheme: &str, query: &str) {
    let directory = TestDir::create();
    let file = directory.path().join("store");
    fs::write(&file, "somebody's text, which is no database").unwrap();
    let (_, text) = refusal(&url(scheme, directory.path(), query));
    assert!(text.contains("is not a file of redb; delete it or choose another file"), "{text}");
    assert_eq!(fs::read_to_string(&file).unwrap(), "somebody's text, which is no database");
}

#[cfg(feature = "redb")]
fn foreign_file(scheme: &str, query: &str) {
    use redb::{Database, ReadableDatabase, TableDefinition};

    const TABLE: TableDefinition<'_, &str, u64> = TableDefinition::new("theirs");
    let directory = TestDir::create();
    let file = directory.path().join("store");
    let theirs = Database::create(&file).unwrap();
    let txn = theirs.begin_write().unwrap();
    txn.open_table(TABLE).unwrap().insert("key", 7).unwrap();
    txn.commit().unwrap();
    drop(theirs);
    let (_, text) = refusal(&url(scheme, directory.path(), query));
    assert!(text.contains("is a database that larder did not make; choose another file"), "{text}");
    let theirs = Database::open(&file).unwrap();
    assert_eq!(theirs.begin_read().unwrap().list_tables().unwrap().count(), 1);
}

fn foreign_folder(scheme: &str, query: &str) {
    let directory = TestDir::create();
    let folder = directory.path().join("store");
    fs::create_dir(&folder).unwrap();
    let theirs = folder.join("version");
    fs::write(&theirs, "data").unwrap();
    let (_, text) = refusal(&url(scheme, directory.path(), query));
    assert!(text.contains("databases that larder did not make"), "{text}");
    assert_eq!(fs::read_dir(&folder).unwrap().count(), 1);
    assert_eq!(fs::read_to_string(&theirs).unwrap(), "data");
}

/// A kill while a folder is made may leave all but the file that fjall makes last.
fn unfinished_folder(scheme: &str, query: &str) {
    let directory = TestDir::create();
    let url = url(scheme, directory.path(), query);
    drop(open(&url).unwrap());
    fs::remove_file(directory.path().join("store/version")).unwrap();
    let mut session = open_session(&url);
    session.set(b"key", b"value", &SetOptions::default()).unwrap();
    drop(session);
    assert!(open_session(&url).get(b"key", &mut Vec::new()).unwrap().is_some());
}

/// A loss of power may keep the end of a write and lose its middle.
fn torn_journal(scheme: &str, query: &str) {
    let directory = TestDir::create();
    let url = url(scheme, directory.path(), query);
    let mut session = open_session(&url);
    let mut set = |key: &[u8]| session.set(key, &[7; 5000], &SetOptions::default()).unwrap();
    set(b"whole");
    set(b"torn");
    drop(session);
    let path = directory.path().join("store/0.jnl");
    let mut journal = fs::read(&path).unwrap();
    let last = journal.iter().rposition(|byte| *byte == 7).unwrap();
    journal[last - 1000] = 0;
    fs::write(&path, journal).unwrap();
    let mut session = open_session(&url);
    assert!(session.get(b"whole", &mut Vec::new()).unwrap().is_some());
    assert!(session.get(b"torn", &mut Vec::new()).unwrap().is_none());
    session.set(b"after", b"value", &SetOptions::default()).unwrap();
    drop(session);
    assert!(open_session(&url).get(b"after", &mut Vec::new()).unwrap().is_some());
}
