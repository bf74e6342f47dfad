//! Replays of recordings: sizes that change, TTLs on a scaled clock, and keys that were asked for together.

#![expect(clippy::unwrap_used, reason = "a test without what it needs has failed")]

mod support;

use std::collections::{HashMap, HashSet};
use std::fmt::Write;
use std::path::PathBuf;

use larder_engines::ENGINES;
use larder_report::{Operation, Run};
use larder_store::StoreUrl;
use larder_testkit::{Random, stores};
use support::cell;
use tempfile::TempDir;

/// A trace in a folder of its own.
struct Recorded {
    _folder: TempDir,
    path: PathBuf,
}

impl Recorded {
    fn new(csv: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("recorded.csv");
        std::fs::write(&path, csv).unwrap();
        Self { _folder: folder, path }
    }

    /// The workload of a replay of one round.
    fn workload(&self, more: &str) -> String {
        let path = self.path.display();
        format!("rounds = 1\nkey-pattern = 'trace:{path}'\n{more}")
    }

    /// The run of a replay of one round.
    fn run(&self, targets: &[&str], more: &str) -> Run {
        support::run(&ENGINES, targets, &self.workload(more))
    }
}

#[test]
fn values_have_the_sizes_that_they_had_then() {
    let mut csv = "key,op,size\n".to_owned();
    let mut stored = 0;
    for n in 0..600_u64 {
        // Short values have no header, so every kind of verification is met.
        let size = [5, 5000, 23, 24, 900, 1, 0][usize::try_from(n % 7).unwrap()];
        let key = n % 11;
        // A size of 0 is none, and the last one of the key goes on.
        writeln!(csv, "k{key},set,{size}\nk{key},get,").unwrap();
        stored += size;
    }
    let run = Recorded::new(&csv).run(&["moka:", "lmdb:"], "");
    for target in ["moka:", "lmdb:"] {
        let (sets, gets) = (cell(&run, target, Operation::Set), cell(&run, target, Operation::Get));
        assert_eq!((gets.counts.hits, gets.counts.wrong), (600, 0), "{:?}", gets.wrong_examples);
        assert!(sets.bytes > stored && sets.bytes == gets.bytes, "{} of {stored}", sets.bytes);
        assert!(sets.counts.read_back + gets.counts.read_back > 0);
    }
    assert!(!run.notes.iter().any(|note| note.contains("size")), "{:?}", run.notes);
    // A size that is typed goes for all.
    let typed = Recorded::new(&csv).run(&["moka:"], "data-size = '100'");
    assert_eq!(cell(&typed, "moka:", Operation::Set).bytes, 600 * 100);
    // Fills take the size of the set that was recorded behind them.
    let csv = "key,op,size\na,get,\na,set,700\na,delete,\na,get,\na,set,20\na,get,\n";
    let filled = Recorded::new(csv).run(&["moka:"], "on-miss = 'fill'");
    let reads = cell(&filled, "moka:", Operation::GetOrSet);
    assert_eq!((reads.counts.hits, reads.counts.misses, reads.counts.wrong), (1, 2, 0));
    assert_eq!(reads.bytes, 700 + 20 + 20);
}

#[test]
fn keys_that_were_asked_for_together_are_again() {
    let mut csv = "key,op,request\n".to_owned();
    for key in 0..20 {
        writeln!(csv, "k{key},set,{key}").unwrap();
    }
    // Ten requests of one key, ten of three and ten of eight.
    let mut request = 100;
    for n_keys in [1, 3, 8] {
        for n in 0..10 {
            request += 1;
            for key in 0..n_keys {
                writeln!(csv, "k{},get,{request}", (n + key) % 20).unwrap();
            }
        }
    }
    let recorded = Recorded::new(&csv);
    // With more operations than it has, the trace comes round.
    for (more, rounds) in [("", 1), ("threads = 3", 1), ("requests = 1000", 7)] {
        let run = recorded.run(&["moka:", "sqlite:"], more);
        for target in ["moka:", "sqlite:"] {
            let (alone, together) =
                (cell(&run, target, Operation::Get), cell(&run, target, Operation::GetMany));
            let counts = (alone.counts.ops, together.counts.ops);
            assert_eq!(counts, (rounds * 10, rounds * 110), "{target} {more}");
            assert_eq!(together.counts.wrong + alone.counts.wrong, 0);
            // A time is that of a request.
            assert_eq!(together.latency_count, Some(rounds * 20), "{target} {more}");
        }
        assert_eq!(run.workload["operations"], "recorded (10 get, 110 get_many, 20 set)");
    }
    let only_together = "key,op,request\na,get,1\nb,get,1\nc,get,2\na,get,2\n";
    let run = Recorded::new(only_together).run(&["moka:"], "");
    let read = cell(&run, "moka:", Operation::GetMany);
    assert_eq!((read.counts.hits, read.latency_count), (4, Some(2)));
}

#[test]
fn keys_that_were_asked_for_together_are_filled_one_by_one() {
    // Five requests of four keys, of which the last two find all of them.
    let csv = "key,op,request\na,get,1\nb,get,1\nc,get,1\nd,get,1\na,get,2\ne,get,2\nf,get,2\nb,get,2\n\
               a,delete,3\na,get,4\nc,get,4\ng,get,4\nh,get,4\ne,get,5\nf,get,5\ng,get,5\nh,get,5\n\
               a,get,6\nb,get,6\nc,get,6\nd,get,6\n";
    let recorded = Recorded::new(csv);
    for (more, requests) in [("", 5), ("threads = 1\nrequests = 210", 50)] {
        let run = recorded.run(&["moka:", "sqlite:"], &format!("on-miss = 'fill'\n{more}"));
        for target in ["moka:", "sqlite:"] {
            let filled = cell(&run, target, Operation::GetOrSet);
            let counts = filled.counts;
            assert_eq!((counts.ops, counts.wrong), (requests * 4, 0), "{target}");
            assert_eq!((filled.latency_count, counts.errors), (Some(requests), 0), "{target}");
            // The delete takes one key away each time.
            let missed = 9 + (requests / 5 - 1);
            assert_eq!((counts.misses, counts.hits), (missed, counts.ops - missed), "{target}");
            assert_eq!(counts.failed_fills, 0, "{target}");
        }
    }
}

#[test]
fn recorded_ttls_are_on_the_clock_of_the_replay() {
    // At ten times the pace, a TTL of 5 s lasts half a second, and one of an hour is beyond the end.
    let csv = "time,key,op,size,ttl\n0,short,set,100,5\n0,long,set,100,3600\n0,ever,set,100,\n0,touched,set,100,5\n\
               1,touched,touch,,3600\n9,short,get,,\n9,long,get,,\n9,ever,get,,\n9,touched,get,,\n";
    let recorded = Recorded::new(csv);
    let run = recorded.run(&["moka:", "file:"], "replay = '10x'");
    for target in ["moka:", "file:"] {
        let gets = cell(&run, target, Operation::Get).counts;
        assert_eq!((gets.hits, gets.misses, gets.wrong, gets.outlived), (3, 1, 0, 0), "{target}");
    }
    assert_eq!(run.workload["replay"], "10x");
    assert!(!run.notes.iter().any(|note| note.contains("TTL")), "{:?}", run.notes);
    // As fast as a target answers, the recorded times decide.
    for more in ["", "threads = 3"] {
        let run = recorded.run(&["moka:", "sqlite:"], more);
        for target in ["moka:", "sqlite:"] {
            let deletes = cell(&run, target, Operation::Delete).counts;
            assert_eq!((deletes.ops, deletes.errors), (1, 0), "{target}");
        }
        let note = "TTLs that are over by the recorded times end by 1 delete, ";
        assert!(run.notes.iter().any(|told| told.starts_with(note)), "{:?}", run.notes);
    }
    let run = recorded.run(&["moka:", "sqlite:"], "");
    for target in ["moka:", "sqlite:"] {
        let gets = cell(&run, target, Operation::Get);
        assert_eq!((gets.counts.hits, gets.counts.misses, gets.counts.wrong), (3, 1, 0));
        assert_eq!(gets.hit_limit, Some(0.75));
    }
    // A TTL of the workload takes the place of the recorded ones.
    let run = recorded.run(&["moka:"], "ttl = '1h'");
    assert_eq!(cell(&run, "moka:", Operation::Get).counts.hits, 4);
    // Without times, nothing says when a TTL is over.
    let run = Recorded::new("key,op,ttl\na,set,5\na,get,\n").run(&["moka:"], "");
    assert_eq!(cell(&run, "moka:", Operation::Get).counts.hits, 1);
    let note = "recorded TTLs are not replayed, because the trace has no times";
    assert!(run.notes.iter().any(|told| told.starts_with(note)), "{:?}", run.notes);
}

#[test]
fn what_nobody_stored_is_not_filled() {
    // Every second read is of a key that is never there. The others are filled after their first miss.
    let mut csv = "key,op,size,result,request\n".to_owned();
    for n in 0..40 {
        let (absent, found) = (n % 4, n % 5);
        writeln!(csv, "absent{absent},get,,miss,{}", 10 * n).unwrap();
        let together = 10 * n + i32::from(n % 2 == 0);
        if n < 5 {
            writeln!(csv, "k{found},get,,miss,{together}\nk{found},set,100,stored,{}", 10 * n + 5)
                .unwrap();
        } else {
            writeln!(csv, "k{found},get,100,hit,{together}").unwrap();
        }
    }
    let recorded = Recorded::new(&csv);
    let targets = ["moka:", "sqlite:"];
    for more in ["", "threads = 2", "capacity = '1m'"] {
        let run = recorded.run(&targets, &format!("on-miss = 'fill'\n{more}"));
        for target in targets {
            if more.starts_with("capacity") && target == "sqlite:" {
                continue;
            }
            let reads = cell(&run, target, Operation::GetOrSet);
            let counts = reads.counts;
            assert_eq!((counts.ops, counts.wrong), (80, 0), "{target} {more}");
            // Two threads may miss one key at the same time.
            let is_alone = !more.starts_with("threads");
            assert!(counts.misses >= 45 && (counts.misses == 45 || !is_alone), "{target} {more}");
            assert_eq!(reads.hit_limit, Some(35.0 / 80.0), "{target} {more}");
            // The five that were stored have keys of two bytes.
            assert_eq!(reads.working_set_bytes, 5 * 102, "{target} {more}");
        }
        assert!(support::findings(&run, "OVER-LIMIT").is_empty(), "{:?}", run.checks);
        let note = "40 recorded reads found nothing, and nobody stored their keys afterwards";
        assert!(run.notes.iter().any(|told| told.starts_with(note)), "{:?}", run.notes);
    }
    let run = recorded.run(&["moka:"], "on-miss = 'fill'\ncapacity = '300'");
    let models = run.hit_curves[0].capacities[0];
    assert!(models.optimal <= 35.0 / 80.0 && models.lru <= models.optimal, "{models:?}");
    // Without results of reads, nobody knows.
    let csv = "key,op,size\na,get,\na,get,\nb,set,10\n";
    let run = Recorded::new(csv).run(&["moka:"], "on-miss = 'fill'");
    assert_eq!(cell(&run, "moka:", Operation::GetOrSet).counts.hits, 1);
}

#[test]
fn the_limit_of_hits_is_that_of_the_recorded_rows() {
    // Nobody knows whether the read at 60 s hit. Its entry was over.
    let csv =
        "time,key,op,ttl,result\n0,a,get,,miss\n0,a,set,10,stored\n5,a,get,,hit\n60,a,get,,\n";
    let run = Recorded::new(csv).run(&["moka:"], "on-miss = 'fill'");
    let reads = cell(&run, "moka:", Operation::GetOrSet);
    assert_eq!((reads.counts.ops, reads.counts.hits), (3, 1));
    assert!((reads.hit_limit.unwrap() - 1.0 / 3.0).abs() < 1e-9, "{:?}", reads.hit_limit);
    // Redis' `incr` stores an absent key, with its TTL.
    let csv = "key,op,ttl\na,incr,100\na,get,\n";
    let run = Recorded::new(csv).run(&["moka:"], "on-miss = 'fill'");
    let reads = cell(&run, "moka:", Operation::GetOrSet);
    assert_eq!((reads.counts.hits, reads.hit_limit), (1, Some(1.0)));
    assert!(support::findings(&run, "OVER-LIMIT").is_empty(), "{:?}", run.checks);
}

#[test]
fn a_trace_that_requests_cut_is_replayed_once() {
    let csv = "key,op,size\na,get,\na,set,9\nb,get,\nb,set,9\na,get,\nc,get,\n";
    // Of the first five, two are fills, which are left out.
    let run = Recorded::new(csv).run(&["moka:"], "on-miss = 'fill'\nrequests = 5");
    let reads = cell(&run, "moka:", Operation::GetOrSet);
    assert_eq!((reads.counts.ops, reads.counts.hits), (3, 1));
    assert!((reads.hit_limit.unwrap() - 1.0 / 3.0).abs() < 1e-9, "{:?}", reads.hit_limit);
}

/// What memcached itself would answer: `add` stores what is absent, the others what is present.
#[test]
fn stores_with_a_condition_are_carried_out_where_it_holds() {
    let csv = "key,op,size\n\
               a,add,100\na,add,200\na,get,\na,replace,300\na,get,\n\
               b,replace,100\nb,get,\nb,append,10\nb,incr,1\nb,cas,50\nb,get,\n\
               c,set,100\nc,incr,1\nc,delete,\nc,decr,1\nc,get,\nc,add,70\nc,get,\n";
    let recorded = Recorded::new(csv);
    let mut targets = vec!["moka:", "memory:", "sqlite:"];
    let mut loads = vec![];
    if ENGINES.open(&StoreUrl::parse("memcached:").unwrap()).is_ok() {
        targets.push("memcached:");
        loads.push((&["memcached:"][..], "connections = 1"));
    }
    for (targets, more) in [(&targets[..], "")].into_iter().chain(loads) {
        let run = recorded.run(targets, more);
        assert_eq!(run.notes.iter().filter(|note| note.contains("condition")).count(), 1);
        for target in targets {
            let of = |operation| cell(&run, target, operation).counts;
            let (sets, gets) = (of(Operation::Set), of(Operation::Get));
            assert_eq!((sets.ops, sets.misses, sets.errors), (8, 4, 0), "{target} {more}");
            assert_eq!((gets.hits, gets.misses, gets.wrong), (3, 3, 0), "{target} {more}");
            let counts = of(Operation::Incr);
            assert_eq!((counts.ops, counts.misses, counts.wrong), (3, 2, 0), "{target} {more}");
        }
    }
    // The store is no longer empty when the trace comes round.
    let again = recorded.run(&["moka:"], "requests = 180");
    let of = |operation| cell(&again, "moka:", operation).counts;
    assert_eq!((of(Operation::Set).ops, of(Operation::Get).wrong), (80, 0));
    assert_eq!((of(Operation::Incr).ops, of(Operation::Incr).wrong), (30, 0));
}

/// Counts, sets, removals and reads of a few keys, and how often each finds nothing in a store that keeps everything.
fn counting() -> (String, HashMap<Operation, (u64, u64)>) {
    let mut random = Random::new(25);
    let (mut csv, mut there) = ("key,op,size,ttl\n".to_owned(), HashSet::new());
    let mut told: HashMap<Operation, (u64, u64)> = HashMap::new();
    for _ in 0..3000 {
        let key = random.below(12);
        // Some of these keys are never counted.
        let verb = match (random.below(12), key < 8) {
            (0, _) => "set",
            (1, _) => "add",
            (2, _) => "replace",
            (3, _) => "delete",
            (4, _) => "append",
            (5..8, true) => "incr",
            (8, true) => "decr",
            (9, true) if key < 4 => "creating incr",
            _ => "get",
        };
        let is_there = there.contains(&key);
        let (operation, finds, stays) = match verb {
            "set" => (Operation::Set, true, true),
            "add" => (Operation::Set, !is_there, true),
            "replace" | "append" => (Operation::Set, is_there, is_there),
            "incr" | "decr" => (Operation::Incr, is_there, is_there),
            "creating incr" => (Operation::Incr, true, true),
            "delete" => (Operation::Delete, is_there, false),
            _ => (Operation::Get, is_there, is_there),
        };
        if stays {
            there.insert(key)
        } else {
            there.remove(&key)
        };
        let (ops, misses) = told.entry(operation).or_default();
        (*ops, *misses) = (*ops + 1, *misses + u64::from(!finds));
        let (verb, ttl) = verb.strip_prefix("creating ").map_or((verb, ""), |verb| (verb, "0"));
        writeln!(csv, "k{key},{verb},{},{ttl}", 5 + key * 90).unwrap();
    }
    (csv, told)
}

#[test]
fn counts_are_those_of_the_store_and_every_number_is_verified() {
    let (csv, told) = counting();
    let recorded = Recorded::new(&csv);
    let mut targets = vec!["moka:", "memory:", "sqlite:"];
    let mut loads = vec![];
    for url in ["memcached:", "memcached:?protocol=text", "redis:"] {
        if ENGINES.open(&StoreUrl::parse(url).unwrap()).is_ok() {
            targets.push(url);
            loads.push(url);
        }
    }
    for (targets, more) in [(&targets[..], ""), (&loads, "connections = 1")] {
        if targets.is_empty() {
            continue;
        }
        let run = recorded.run(targets, more);
        let notes = run.notes.join("\n");
        assert!(notes.contains("8 keys that they count have numbers of 19 digits"), "{notes}");
        for target in targets {
            for (operation, (ops, misses)) in &told {
                let cell = cell(&run, target, *operation);
                let counts = cell.counts;
                assert_eq!(
                    (counts.ops, counts.misses),
                    (*ops, *misses),
                    "{target} {operation} {more}"
                );
                let faults = (counts.wrong, counts.errors, counts.stored_misses);
                assert_eq!(faults, (0, 0, 0), "{target} {:?}", cell.wrong_examples);
            }
            let read_back: u64 = run.cells.iter().map(|cell| cell.counts.read_back).sum();
            assert!(read_back > 0, "{target}");
        }
    }
    let filled = recorded.run(&["moka:", "sqlite:"], "on-miss = 'fill'");
    for cell in &filled.cells {
        let faults = (cell.counts.wrong, cell.counts.errors);
        assert_eq!(faults, (0, 0), "{} {:?}", cell.operation, cell.wrong_examples);
    }
    // Where counts overtake each other, a number is only known to lie between bounds.
    loads.push("moka:");
    for more in ["threads = 3", "connections = 3\npipeline = 4"] {
        let targets = if more.starts_with("threads") { &loads } else { &loads[..loads.len() - 1] };
        if targets.is_empty() {
            continue;
        }
        let run = recorded.run(targets, more);
        for target in targets {
            for (operation, (ops, _)) in &told {
                let cell = cell(&run, target, *operation);
                assert_eq!(
                    (cell.counts.ops, cell.counts.wrong),
                    (*ops, 0),
                    "{:?}",
                    cell.wrong_examples
                );
            }
        }
    }
}

#[test]
fn a_store_that_counts_wrongly_is_found() {
    let mut csv = "key,op\n".to_owned();
    for key in 0..20 {
        writeln!(csv, "k{key},set").unwrap();
    }
    // Two threads take every second line each, so that a thread reads what it has counted.
    for n in (0..600).step_by(2) {
        let (one, other) = (n % 20, (n + 1) % 20);
        writeln!(csv, "k{one},incr\nk{other},incr\nk{one},get\nk{other},get").unwrap();
    }
    let recorded = Recorded::new(&csv);
    let targets = ["map:", "faulty:?fault=count-twice&every=7", "faulty:?fault=lose-count&every=7"];
    let wrong = |run: &Run, target: &str| {
        [Operation::Incr, Operation::Get].map(|operation| cell(run, target, operation).counts.wrong)
    };
    let run = support::run(&stores::ENGINES, &targets, &recorded.workload(""));
    assert_eq!(wrong(&run, "map:"), [0, 0]);
    // Each count that counts twice is found, and the next goes on from there.
    assert_eq!(wrong(&run, "faulty:?fault=count-twice&every=7"), [600 / 7, 0]);
    let [incr, get] = wrong(&run, "faulty:?fault=lose-count&every=7");
    assert_eq!(get, 600 / 7, "{incr}");
    let said =
        &cell(&run, "faulty:?fault=lose-count&every=7", Operation::Get).wrong_examples["damaged"];
    assert!(said.contains("which is not what was counted"), "{said}");
    // More than was counted is found whatever overtakes what.
    for more in ["threads = 2", "connections = 2\npipeline = 4"] {
        let run = support::run(&stores::ENGINES, &targets[..2], &recorded.workload(more));
        assert_eq!(wrong(&run, "map:"), [0, 0], "{more}");
        let [incr, get] = wrong(&run, "faulty:?fault=count-twice&every=7");
        assert!(incr > 0 && get > 0, "{more}: {incr} {get}");
    }
}

#[test]
fn a_store_that_cannot_count_stores_other_numbers_instead() {
    let (csv, told) = counting();
    let targets = ["moka:", "moka:?compress=zstd:1k"];
    let run = Recorded::new(&csv).run(&targets, "");
    for target in targets {
        for (operation, (ops, misses)) in &told {
            let counts = cell(&run, target, *operation).counts;
            let found = (counts.ops, counts.misses, counts.wrong, counts.errors);
            assert_eq!(found, (*ops, *misses, 0, 0), "{target} {operation}");
        }
    }
    let lacks = |note: &&String| note.contains("cannot count: there each incr and decr stores");
    let notes: Vec<_> = run.notes.iter().filter(lacks).collect();
    assert!(notes.len() == 1 && notes[0].starts_with("moka:?compress"), "{notes:?}");
}

/// A miss is filled with a number, and what is counted is no fill.
#[test]
fn misses_of_counted_keys_are_filled_with_numbers() {
    let csv = "key,op,size\na,get,9\na,incr,\na,get,9\na,incr,\na,delete,\na,incr,\na,get,9\na,get,9\nb,get,50\n";
    let run = Recorded::new(csv).run(&["moka:", "sqlite:"], "on-miss = 'fill'");
    for target in ["moka:", "sqlite:"] {
        let of = |operation| cell(&run, target, operation).counts;
        let (reads, counts) = (of(Operation::GetOrSet), of(Operation::Incr));
        assert_eq!((reads.hits, reads.misses, reads.wrong), (2, 3, 0), "{target}");
        assert_eq!((counts.ops, counts.misses, counts.wrong), (3, 1, 0), "{target}");
    }
}

/// Twenty keys, each read every 20 s and stored for 30 s: every second read misses.
fn ending() -> String {
    let mut csv = "time,key,op,size,ttl,result\n".to_owned();
    for at in 0..400 {
        let (key, is_hit) = (at % 20, at / 20 % 2 == 1);
        if is_hit {
            writeln!(csv, "{at},k{key},get,,,hit").unwrap();
        } else {
            writeln!(csv, "{at},k{key},get,,,miss\n{at},k{key},set,50,30,stored").unwrap();
        }
    }
    csv
}

#[test]
fn requests_that_overtake_each_other_have_no_limit_that_their_order_makes() {
    let recorded = Recorded::new(&ending());
    let note = "with several requests at once, those of one key may overtake each other: ";
    let replayed = |target: &str, more: &str| {
        let workload = recorded.workload(&format!("on-miss = 'fill'\n{more}"));
        let run = support::run(&stores::ENGINES, &[target], &workload);
        assert!(support::findings(&run, "OVER-LIMIT").is_empty(), "{more}: {:?}", run.checks);
        let is_told = run.notes.iter().any(|told| told.starts_with(note));
        let reads = cell(&run, target, Operation::GetOrSet);
        (reads.counts.hits, reads.counts.ops, reads.hit_limit, is_told)
    };
    for more in ["", "connections = 1"] {
        assert_eq!(replayed("map:", more), (200, 400, Some(0.5), false), "{more}");
    }
    for more in ["threads = 2", "connections = 2", "connections = 1\npipeline = 4"] {
        let (_, n_reads, limit, is_told) = replayed("map:", more);
        assert_eq!((n_reads, limit, is_told), (400, None, true), "{more}");
    }
    // Where all reads fill and nothing ends, no order hits more.
    let recorded = Recorded::new("key,op\na,get\nb,get\na,get\na,get\n");
    let run = recorded.run(&["moka:"], "on-miss = 'fill'\nthreads = 2");
    assert_eq!(cell(&run, "moka:", Operation::GetOrSet).hit_limit, Some(0.5));
    assert!(!run.notes.iter().any(|told| told.starts_with(note)), "{:?}", run.notes);
}

#[test]
fn reads_of_one_key_and_of_several_have_their_limit_together() {
    let csv =
        "key,op,request\na,set,1\nb,set,2\na,get,3\nb,get,3\na,get,4\nb,get,4\nc,get,5\nd,get,6\n";
    let run = Recorded::new(csv).run(&["moka:", "memory:"], "");
    for target in ["moka:", "memory:"] {
        for (operation, hits) in [(Operation::Get, 0), (Operation::GetMany, 4)] {
            let reads = cell(&run, target, operation);
            assert_eq!(reads.counts.hits, hits, "{target} {operation}");
            let limit = reads.hit_limit.unwrap();
            assert!((limit - 4.0 / 6.0).abs() < 1e-9, "{target} {operation}: {limit}");
        }
    }
    assert!(support::findings(&run, "OVER-LIMIT").is_empty(), "{:?}", run.checks);
}

#[test]
fn the_hits_that_a_replay_on_a_clock_predicts_are_those_of_its_ttls() {
    // The entry is over at 30 s, and that of the read at 40 s lasts.
    let csv = "time,key,op,ttl\n0,a,get,\n0,a,set,30\n10,a,get,\n40,a,get,\n50,a,get,\n90,a,get,\n";
    let run = Recorded::new(csv).run(&["moka:"], "on-miss = 'fill'\nreplay = '1000x'");
    let reads = cell(&run, "moka:", Operation::GetOrSet);
    assert_eq!((reads.counts.ops, reads.predicted_hit_ratio), (5, Some(0.4)));
    assert_eq!(reads.hit_limit, None);
}

/// Operations of all kinds on a few keys, enough to be drawn in many blocks.
fn mixed(seed: u64) -> String {
    let mut random = Random::new(seed);
    let mut csv = "key,op,size,result\n".to_owned();
    for _ in 0..2500 {
        let (verb, result) = match random.below(20) {
            0 | 1 => ("set", ["stored", "error", ""][random.below(3)]),
            2 | 3 => ("delete", "deleted"),
            4..7 => (["append", "prepend", "replace", "cas"][random.below(4)], "stored"),
            7 => ("add", ["stored", "not_stored"][random.below(2)]),
            8 => ("touch", "touched"),
            9 => ("incr", "stored"),
            _ => ("get", ["hit", "miss", ""][random.below(3)]),
        };
        let key = random.below(20);
        let size = [0, 5, 400, 2000][random.below(4)];
        writeln!(csv, "k{key},{verb},{size},{result}").unwrap();
    }
    csv
}

#[test]
fn no_right_value_of_a_replay_is_called_wrong() {
    // A small cache misses what it had, and a fill of an older version is right there.
    let small = ["moka:?size=4k", "moka:?size=8k"];
    for seed in 1..9 {
        let recorded = Recorded::new(&mixed(seed));
        for (catalog, targets, more) in [
            (&ENGINES, &["moka:", "memory:", "sqlite:"][..], ""),
            (&ENGINES, &["moka:", "memory:"], "on-miss = 'fill'"),
            (&ENGINES, &small, "on-miss = 'fill'"),
            (&stores::ENGINES, &["map:"], "on-miss = 'fill'\nconnections = 1"),
            (&stores::ENGINES, &["map:"], "on-miss = 'fill'\nconnections = 2\npipeline = 3"),
            (&stores::ENGINES, &["map:"], "on-miss = 'fill'\nthreads = 2"),
        ] {
            for cell in support::run(catalog, targets, &recorded.workload(more)).cells {
                let faults = (cell.counts.wrong, cell.counts.read_back_wrong);
                let of = (seed, &cell.target, cell.operation, more);
                assert_eq!(faults, (0, 0), "{of:?}: {:?}", cell.wrong_examples);
            }
        }
    }
}
