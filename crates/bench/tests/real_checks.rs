//! Checks on real engines and servers: each fires where the comparison misleads, and is silent beside it where it does
//! not.

#![expect(clippy::unwrap_used, reason = "a test without what it needs has failed")]

mod failing_servers;
mod support;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use larder_engines::ENGINES;
use larder_host::disk::file_system;
use larder_report::{Operation, Run, Severity, groups};
use larder_testkit::{has_program, trial_where};
use libtest_mimic::Arguments;
use support::{cell, findings};

fn main() -> ExitCode {
    let mut trials = vec![
        trial_where(memcached, "reconnect_sees_a_connection_for_each_operation", reconnect),
        trial_where(memcached, "oversize_sees_a_value_beyond_the_item_limit", oversize),
        trial_where(memcached, "capacity_sees_a_working_set_that_does_not_fit", capacity),
        trial_where(innodb, "truncated_sees_a_column_that_cuts_values_short", truncated),
        trial_where(|| Ok(()), "ack_parity_sees_a_sync_beside_memory", ack_parity),
        trial_where(memcached, "reach_parity_sees_a_server_beside_a_map", reach_parity),
        trial_where(memcached, "tier_dead_sees_an_l1_whose_items_are_too_small", tier_dead),
        trial_where(two_file_systems, "fs_kind_sees_files_in_memory", fs_kind),
        trial_where(stand_in_for_mongodb, "stand_in_sees_who_answers_for_mongodb", stand_in),
    ];
    trials.extend(failing_servers::trials());
    libtest_mimic::run(&Arguments::from_args(), trials).exit_code()
}

fn memcached() -> Result<(), String> {
    has_program(&ENGINES.find("memcached").unwrap().recipes[0])
}

fn stand_in_for_mongodb() -> Result<(), String> {
    let recipes = ENGINES.find("mongodb").unwrap().recipes;
    recipes.iter().find(|recipe| recipe.server == "stand-in").map(has_program).unwrap()
}

fn innodb() -> Result<(), String> {
    let recipes = ENGINES.find("memcached").unwrap().recipes;
    has_program(recipes.iter().find(|recipe| recipe.server == "innodb").unwrap())
}

const MEMORY: &str = "/dev/shm";

/// A folder on a disk: the temporary one is often in memory, the one with the build seldom.
fn on_disk() -> Option<PathBuf> {
    let folders = [std::env::temp_dir(), env!("CARGO_TARGET_TMPDIR").into()];
    folders.into_iter().find(|folder| file_system(folder).is_ok_and(|kind| !kind.is_memory()))
}

fn two_file_systems() -> Result<(), String> {
    if !file_system(Path::new(MEMORY)).is_ok_and(|kind| kind.is_memory()) {
        return Err(format!("{MEMORY} is not in memory here"));
    }
    on_disk().map(drop).ok_or_else(|| "no folder on a disk".into())
}

fn run(targets: &[&str], workload: &str) -> Run {
    let run = support::run(&ENGINES, targets, &format!("rounds = 2\n{workload}"));
    assert!(run.targets.iter().all(|target| target.reason.is_none()), "{:#?}", run.targets);
    run
}

/// The check fires with this severity and these words on one run and is silent on the other.
fn fires(id: &str, severity: Severity, words: &str, tripped: &Run, sound: &Run) {
    let found = findings(tripped, id);
    assert!(!found.is_empty(), "{id} does not fire: {:#?}", tripped.checks);
    assert!(found.iter().all(|found| found.severity == severity), "{found:#?}");
    assert!(found.iter().any(|found| found.text.contains(words)), "{found:#?}");
    let silent = findings(sound, id);
    assert!(silent.is_empty(), "{id} fires without cause: {silent:#?}");
}

fn reconnect() {
    let tripped = run(&["memcached:?connect=operation"], "keys = 150");
    let sound = run(&["memcached:", "memcached:?nodes=3"], "keys = 150\nthreads = 2");
    fires("RECONNECT", Severity::Warn, "300 operations", &tripped, &sound);
}

/// A local memcached before another one, as a stack; the values are larger than the local one takes.
fn tier_dead() {
    let large = "keys = 50\nrequests = 400\ndata-size = '30000'";
    let tripped = run(&["tiered:memcached:?item_size=16k|memcached:"], large);
    let sound = run(&["tiered:memcached:|memcached:"], large);
    let get = |run: &Run| cell(run, &run.targets[0].url, Operation::Get).clone();
    let (dead, live) = (get(&tripped), get(&sound));
    assert_eq!((dead.tiers[0].hits, dead.tiers[1].hits), (0, dead.counts.ops), "{:?}", dead.tiers);
    assert_eq!((live.tiers[0].hits, live.tiers[1].hits), (live.counts.ops, 0), "{:?}", live.tiers);
    let found = findings(&tripped, "TIER-DEAD");
    let get = found.iter().find(|found| found.operation == Some(Operation::Get)).unwrap();
    assert_eq!(get.severity, Severity::Error, "{get:?}");
    for words in [
        "L1 memcached: answered 0 of 800 reads of",
        "refused 800 of 800 values; L2 memcached: hit 800",
    ] {
        assert!(get.text.contains(words), "{}", get.text);
    }
    assert!(findings(&sound, "TIER-DEAD").is_empty(), "{:#?}", sound.checks);
}

fn oversize() {
    let tripped = run(&["memcached:"], "keys = 3\ndata-size = '2170k'");
    let sound = run(&["memcached:"], "keys = 3\ndata-size = '1k'");
    let words = "value 2.1 MiB > item limit 1 MiB";
    fires("OVERSIZE", Severity::Warn, words, &tripped, &sound);
}

fn capacity() {
    let large = "keys = 130\ndata-size = '800k'";
    let tripped = run(&["memcached:?m=64"], large);
    fires("CAPACITY", Severity::Warn, "> capacity 64 MiB", &tripped, &run(&["memcached:"], large));
    assert!(cell(&tripped, "memcached:?m=64", Operation::Set).counts.evictions > Some(0));
}

/// The plugin of article A004, as shipped: it acknowledges 2000 bytes and returns 1024.
fn truncated() {
    let large = "keys = 100\ndata-size = '2000'";
    let tripped = run(&["memcached:?server=innodb"], large);
    let sound = run(&["memcached:?server=innodb&column=4096"], large);
    fires("TRUNCATED", Severity::Error, "seen to be cut short", &tripped, &sound);
    let get = |run: &Run| cell(run, &run.targets[0].url, Operation::Get).counts;
    assert_eq!((get(&tripped).hits, get(&tripped).truncated), (0, get(&tripped).ops));
    let set = cell(&tripped, &tripped.targets[0].url, Operation::Set).counts;
    assert_eq!((set.read_back_wrong, set.truncated), (set.read_back, set.read_back));
    assert_eq!((get(&sound).hits, get(&sound).wrong), (get(&sound).ops, 0));
    let limit = |run: &Run| run.targets[0].limits.max_value_len;
    assert_eq!((limit(&tripped), limit(&sound)), (Some(1024), Some(4096)));
}

fn ack_parity() {
    let tripped = run(&["lmdb:?sync=on", "moka:"], "keys = 20");
    let words = "writes are fsync-each, those of moka: are volatile";
    fires("ACK-PARITY", Severity::Note, words, &tripped, &run(&["lmdb:"], "keys = 20"));
}

fn reach_parity() {
    let tripped = run(&["moka:", "memcached:"], "keys = 100");
    let sound = run(&["moka:", "moka:?name=b"], "keys = 100");
    fires("REACH-PARITY", Severity::Note, "serves a process", &tripped, &sound);
}

fn stand_in() {
    let tripped = run(&["mongodb:?server=stand-in"], "keys = 100");
    let words = "a stand-in: says nothing of MongoDB's speed";
    fires("STAND-IN", Severity::Warn, words, &tripped, &run(&["moka:"], "keys = 100"));
    assert!(findings(&tripped, "STAND-IN")[0].text.starts_with("mongo-java-server 1."));
    // What says nothing of MongoDB's speed is neither faster nor slower than another, nor ranked among them.
    let mixed = run(&["mongodb:?server=stand-in", "moka:"], "keys = 100");
    assert!(mixed.comparisons.is_empty(), "{:#?}", mixed.comparisons);
    let ranked: Vec<&str> = groups(&mixed)
        .iter()
        .flat_map(|group| group.ranked().map(|row| row.name).collect::<Vec<_>>())
        .collect();
    assert!(!ranked.is_empty() && ranked.iter().all(|name| *name == "moka:"), "{ranked:?}");
}

fn fs_kind() {
    let in_memory = format!("file:{MEMORY}");
    let on_disk = format!("file:{}", on_disk().unwrap().display());
    let (tripped, sound) = (run(&[&in_memory], "keys = 100"), run(&[&on_disk], "keys = 100"));
    fires("FS-KIND", Severity::Note, "files lie on tmpfs", &tripped, &sound);
    let mixed = run(&[&in_memory, &on_disk], "keys = 100");
    let found = findings(&mixed, "FS-KIND");
    assert!(found.iter().any(|found| found.text.contains("while file:")), "{found:#?}");
}
